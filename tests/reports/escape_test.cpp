#include "ridgeline/reports/escape.h"

#include <gtest/gtest.h>

namespace ridgeline::reports {
namespace {

TEST(TerminalSafe, LeavesNoControlCharacter) {
  EXPECT_EQ(terminal_safe("plain <text> & ümlaut"), "plain <text> & ümlaut");
  EXPECT_EQ(terminal_safe("\x1b[31mred\x1b]0;title\x07"), "\\x1b[31mred\\x1b]0;title\\x07");
  EXPECT_EQ(terminal_safe("a\nb\tc\r"), "a\\nb\\tc\\r");
  EXPECT_EQ(terminal_safe("\xc2\x9b"
                          "31m"),
            "\\x9b31m");  // C1 control as UTF-8
  EXPECT_EQ(terminal_safe("a\xe2\x80\xae"
                          "b"),
            "a\\u{202e}b");  // right-to-left override
  EXPECT_EQ(terminal_safe("a\xe2\x80\x8b"
                          "b"),
            "a\\u{200b}b");  // zero-width space
  EXPECT_EQ(terminal_safe(std::string("a\0b", 3)), "a\\x00b");
  for (int byte = 0; byte < 256; ++byte) {
    for (const char c : terminal_safe(std::string(1, static_cast<char>(byte)))) {
      EXPECT_FALSE((c >= 0 && c < 0x20) || c == 0x7f) << byte;
    }
  }
}

TEST(ValidUtf8, ReplacesWhatIsNot) {
  const std::string kReplacement = "\xef\xbf\xbd";
  EXPECT_EQ(valid_utf8("ok ✓"), "ok ✓");
  EXPECT_EQ(valid_utf8("\xff"), kReplacement);
  EXPECT_EQ(valid_utf8("\xc0\xaf"), kReplacement + kReplacement);                     // overlong '/'
  EXPECT_EQ(valid_utf8("\xed\xa0\x80"), kReplacement + kReplacement + kReplacement);  // surrogate
  EXPECT_EQ(valid_utf8("a\xe2\x82"), "a" + kReplacement + kReplacement);              // cut short
  EXPECT_EQ(valid_utf8("\xf4\x90\x80\x80").size(), 12u);                              // above U+10FFFF
}

TEST(HtmlEscape, NeutralisesMarkup) {
  EXPECT_EQ(html_escape("<script>alert('x & \"y\"')</script>"),
            "&lt;script&gt;alert(&#39;x &amp; &quot;y&quot;&#39;)&lt;/script&gt;");
  EXPECT_EQ(html_escape("\x01\x1b"), "\\x01\\x1b");  // no XML allows these
  EXPECT_EQ(html_escape("a\nb\t"), "a&#10;b\t");
}

// GitHub's runner looks for "##[" anywhere in a line, Azure's and TeamCity's own likewise.
TEST(Commands, OfLogsAreWrittenOtherwise) {
  EXPECT_EQ(terminal_safe("a ##[error]b ##vso[c ##teamcity[d"),
            "a #\\x23[error]b #\\x23vso[c #\\x23teamcity[d");
  EXPECT_EQ(terminal_safe("###[x] ## [y] ##Z[ # [ ##"), "##\\x23[x] ## [y] ##Z[ # [ ##");
  EXPECT_EQ(html_escape("##[error]b"), "#&#35;[error]b");
  EXPECT_EQ(json_log_safe("{\"a\": \"##[error]b\"}"), "{\"a\": \"#\\u0023[error]b\"}");
  EXPECT_EQ(markdown_code("##[error]b"), "`#\\x23[error]b`");
}

TEST(LogLine, IsNoCommand) {
  EXPECT_EQ(log_line("::error::x"), "…:error::x");
  EXPECT_EQ(log_line(" \t ::error title=a::x"), " \t …:error title=a::x");
  EXPECT_EQ(log_line("a::b"), "a::b");
  EXPECT_EQ(log_line(""), "");
  EXPECT_EQ(log_line(":"), ":");
}

TEST(CsvField, FollowsRfc4180) {
  EXPECT_EQ(csv_field("plain"), "plain");
  EXPECT_EQ(csv_field("a,b"), "\"a,b\"");
  EXPECT_EQ(csv_field("say \"hi\""), "\"say \"\"hi\"\"\"");
  EXPECT_EQ(csv_field("two\nlines"), "two\\nlines") << "a row is a line";
  EXPECT_EQ(csv_field("old\rMac\t"), "old\\rMac\\t");
  // What a CI's log would obey.
  EXPECT_EQ(csv_field("k\n::error::x"), "k\\n::error::x");
  EXPECT_EQ(csv_field("::error::x"), "\"::error::x\"");
  EXPECT_EQ(csv_field("  ::error::x"), "\"  ::error::x\"");
  EXPECT_EQ(csv_field("ns::kernel"), "ns::kernel");
  EXPECT_EQ(csv_field("a ##[error]b ##vso[c"), "a #\\x23[error]b #\\x23vso[c");
  EXPECT_EQ(csv_field(" padded"), "\" padded\"");
  EXPECT_EQ(csv_field(""), "");
  EXPECT_EQ(csv_field("\x1b[2J"), "\\x1b[2J");
}

TEST(CsvField, WhatASpreadsheetWouldRunIsText) {
  for (const char* first : {"=", "+", "-", "@"}) {
    const std::string formula = std::string(first) + "cmd|' /C calc'!A1";
    EXPECT_EQ(csv_field(formula), "'" + formula);
  }
  EXPECT_EQ(csv_field("=a,b"), "\"'=a,b\"");
  EXPECT_EQ(csv_field("a=b"), "a=b");
}

TEST(MarkdownCell, StaysInsideItsCell) {
  EXPECT_EQ(markdown_cell("a|b"), "a\\|b");
  EXPECT_EQ(markdown_cell("<img src=x>"), "&lt;img src=x&gt;");
  EXPECT_EQ(markdown_cell("[x](y)\n# z"), "\\[x\\](y)\\\\n\\# z");
  EXPECT_EQ(markdown_code("f<a|b>"), "`f<a\\|b>`");
  EXPECT_EQ(markdown_code("a`b"), "``a`b``");
  EXPECT_EQ(markdown_code("`"), "`` ` ``");
  EXPECT_EQ(markdown_code(""), "");
}

}  // namespace
}  // namespace ridgeline::reports
