#include "ridgeline/base/text.h"

#include <gtest/gtest.h>

#include <csignal>

namespace ridgeline {
namespace {

TEST(Text, ValidUtf8StaysAndTheRestIsReplaced) {
  EXPECT_EQ(clean_text("gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80"),
            "gr\xc3\xbc\xc3\x9f \xe2\x82\xac \xf0\x9f\x98\x80");
  const std::string bad = "\xef\xbf\xbd";
  EXPECT_EQ(clean_text("a\xff"), "a" + bad);
  EXPECT_EQ(clean_text(std::string_view("a\0b", 3)), "a" + bad + "b");
  EXPECT_EQ(clean_text("\xc0\xaf"), bad + bad);            // overlong
  EXPECT_EQ(clean_text("\xed\xa0\x80"), bad + bad + bad);  // surrogate
  EXPECT_EQ(clean_text("\xe2\x82"), bad + bad);            // cut off
  EXPECT_EQ(clean_text(bad + "a"), bad + "a") << "the replacement itself is valid";
  EXPECT_EQ(clean_text("\xf5\x80\x80\x80"), bad + bad + bad + bad);
}

TEST(Text, OneLineHasNoControls) {
  EXPECT_EQ(one_line("a\nb\tc\x1b[0m \n"), "a b c [0m");
}

TEST(Text, ShellQuotingSurvivesAShell) {
  EXPECT_EQ(shell_quoted({"./a", "--x=1", "two words", "it's", ""}), "./a --x=1 'two words' 'it'\\''s' ''");
}

TEST(Text, SplitLeavesEmptyPartsOut) {
  EXPECT_EQ(split(":a::b:", ':'), (std::vector<std::string>{"a", "b"}));
  EXPECT_TRUE(split("", ':').empty());
}

TEST(Text, TheEndOfAProcessIsToldBySignalOrStatus) {
  EXPECT_EQ(describe_exit(3, std::nullopt), "exit status 3");
  EXPECT_EQ(describe_exit(std::nullopt, SIGKILL), "killed by signal 9 (Killed)");
  EXPECT_EQ(describe_exit(std::nullopt, std::nullopt), "unknown end");
}

TEST(Text, IsBoundedBetweenCharacters) {
  EXPECT_EQ(bounded_text("abc", 3), "abc");
  EXPECT_EQ(bounded_text("abcdefg", 6), "abc…");
  EXPECT_EQ(bounded_text("ab\u00e9\u00e9\u00e9\u00e9", 6), "ab…");
  EXPECT_EQ(bounded_text("ab\u00e9\u00e9\u00e9\u00e9", 7), "ab\u00e9…");
  EXPECT_EQ(bounded_text(std::string(100, 'x'), 10).size(), 10u);
}

}  // namespace
}  // namespace ridgeline
