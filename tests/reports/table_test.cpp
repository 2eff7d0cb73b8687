#include "ridgeline/reports/table.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "ridgeline/reports/elide.h"
#include "ridgeline/reports/format.h"

namespace ridgeline::reports {
namespace {

Table sample() {
  Table table;
  table.columns = {{"kernel", "kernel", "", Align::left, Elide::kernel_name, 20, 0, true},
                   {"time_ns", "time", "ms", Align::right, Elide::never, 0, 0, true},
                   {"note", "note", "", Align::left, Elide::end, 10, 1, true},
                   {"extra", "extra", "", Align::right, Elide::never, 0, 2, true},
                   {"hidden", "hidden", "", Align::left, Elide::end, 10, 9, false}};
  table.rows = {{Cell::of_text("void add<float>(int)"),
                 {"1.500", std::int64_t{1500000}, Style::good},
                 Cell::of_text("a, \"b\""),
                 Cell::of_integer(1234567),
                 Cell::of_text("h")},
                {Cell::of_text("\x1b[31mevil|<b>\xff"), Cell::missing(), Cell::of_text("x\ny"),
                 Cell::of_number("0.25", 0.25), Cell::of_text("")}};
  table.totals = {{Cell::of_text("all of it"), {"1.500", std::int64_t{1500000}, Style::plain}, {}, {}, {}}};
  return table;
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) out.push_back(line);
  return out;
}

TEST(RenderText, NoLineIsWiderThanPromised) {
  Table table = sample();
  for (int i = 0; i < 12; ++i) {
    table.columns.push_back({"more" + std::to_string(i), "a_header_" + std::to_string(i), "unit",
                             Align::right, Elide::never, 0, 3 + i, true});
    for (auto& row : table.rows) row.push_back(Cell::of_integer(1000000 + i));
    for (auto& row : table.totals) row.push_back({});
  }
  for (int columns = 20; columns <= 220; ++columns) {
    for (const std::string& line : lines(render_text(table, {columns, false}))) {
      EXPECT_LE(display_width(line), columns) << line;
    }
  }
}

TEST(RenderText, AlignsAndAccountsForDroppedColumns) {
  const std::string wide = render_text(sample(), {100, false});
  EXPECT_NE(wide.find("kernel"), std::string::npos);
  EXPECT_NE(wide.find("add<float>"), std::string::npos);
  EXPECT_EQ(wide.find("void"), std::string::npos);
  EXPECT_NE(wide.find("1,234,567"), std::string::npos);
  EXPECT_NE(wide.find("all of it"), std::string::npos) << "a total is not a kernel name";
  EXPECT_EQ(wide.find("hidden"), std::string::npos);
  EXPECT_EQ(wide.find('\x1b'), std::string::npos);
  const std::string narrow = render_text(sample(), {36, false});
  EXPECT_NE(narrow.find("Not shown at this width: extra."), std::string::npos) << narrow;
}

TEST(RenderText, ColoursOnlyWhenAsked) {
  EXPECT_EQ(render_text(sample(), {100, false}).find("\x1b["), std::string::npos);
  const std::string coloured = render_text(sample(), {100, true});
  EXPECT_NE(coloured.find("\x1b[32m"), std::string::npos);
  EXPECT_EQ(coloured.find("\x1b[31mevil"), std::string::npos) << "a capture's own escape got through";
}

TEST(RenderCsv, QuotesAndEndsLinesAsRfc4180) {
  EXPECT_EQ(render_csv(sample()),
            "kernel,time_ns,note,extra,hidden\r\n"
            "void add<float>(int),1500000,\"a, \"\"b\"\"\",1234567,h\r\n"
            "\\x1b[31mevil|<b>\xef\xbf\xbd,,\"x\ny\",0.25,\r\n");
}

TEST(RenderMarkdown, EveryRowHasEveryColumn) {
  const auto all = lines(render_markdown(sample()));
  ASSERT_EQ(all.size(), 5u);
  EXPECT_EQ(all[0], "| kernel | time (ms) | note | extra |");
  EXPECT_EQ(all[1], "| --- | ---: | --- | ---: |");
  EXPECT_EQ(all[2], "| `add<float>` | 1.500 | a, \"b\" | 1,234,567 |");
  EXPECT_EQ(all[4], "| **all of it** | **1.500** |  |  |");
}

TEST(RowsJson, HoldsValuesNotTexts) {
  const auto rows = nlohmann::json::parse(json_text(rows_json(sample())));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["time_ns"], 1500000);
  EXPECT_EQ(rows[0]["hidden"], "h");
  EXPECT_TRUE(rows[1]["time_ns"].is_null());
  EXPECT_EQ(rows[1]["kernel"], "\x1b[31mevil|<b>\xef\xbf\xbd");
  for (const char c : json_text(rows_json(sample()))) EXPECT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7f));
}

TEST(SelectColumns, KeepsOrderAndNamesTheUnknown) {
  const Table picked = select_columns(sample(), "hidden, time_ns").value();
  ASSERT_EQ(picked.columns.size(), 2u);
  EXPECT_EQ(picked.columns[0].key, "hidden");
  EXPECT_TRUE(picked.columns[0].shown);
  EXPECT_EQ(picked.rows[0][1].text, "1.500");
  for (const char* keys : {"nope", "", "time_ns,", ",time_ns"}) {
    const auto failed = select_columns(sample(), keys);
    ASSERT_FALSE(failed.ok()) << keys;
    EXPECT_EQ(failed.failure().kind, ErrorKind::usage);
    EXPECT_NE(failed.failure().message.find("kernel,time_ns,note,extra,hidden"), std::string::npos);
  }
}

TEST(SelectColumns, TakesGroupsOnceAndKeepsTheUsualOnesDroppable) {
  Table table = sample();
  table.groups = {{"pair", {"kernel", "hidden"}}};
  const Table picked = select_columns(table, "pair,kernel,note").value();
  ASSERT_EQ(picked.columns.size(), 3u);
  EXPECT_EQ(picked.columns[1].key, "hidden");
  EXPECT_EQ(picked.rows[0].size(), 3u);
  const Table usual = select_columns(table, "default").value();
  EXPECT_EQ(usual.columns.size(), 4u);
  EXPECT_EQ(usual.columns[3].drop_order, table.columns[3].drop_order);
  EXPECT_EQ(select_columns(table, "all").value().columns.size(), 5u);
  EXPECT_EQ(select_columns(table, "default,hidden").value().columns.size(), 5u);
  EXPECT_NE(select_columns(table, "nope").failure().message.find("default, all, pair"), std::string::npos);
}

TEST(FullWidth, ShowsEveryColumn) {
  const Table all = select_columns(sample(), "all").value();
  const std::string text = render_text(all, {full_width(all), false});
  EXPECT_EQ(text.find("Not shown"), std::string::npos);
  EXPECT_EQ(text.find("…"), std::string::npos) << text;
}

TEST(Cell, NoNumberIsMissing) {
  for (const double value : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    EXPECT_TRUE(std::holds_alternative<std::monostate>(Cell::of_number("x", value).value));
  }
}

TEST(Format, RoundsAsPeopleExpect) {
  EXPECT_EQ(integer(0), "0");
  EXPECT_EQ(integer(-1234567), "-1,234,567");
  EXPECT_EQ(integer(INT64_MIN), "-9,223,372,036,854,775,808");
  EXPECT_EQ(integer(-100), "-100");
  EXPECT_EQ(milliseconds(57'812'345), "57.812");
  EXPECT_EQ(fixed(-0.0001, 2), "0.00");
  EXPECT_EQ(fixed(std::nan(""), 2), kMissing);
  EXPECT_EQ(percent(0.7), "70.0");
  EXPECT_EQ(time_text(812), "812 ns");
  EXPECT_EQ(time_text(12'300), "12.3 µs");
  EXPECT_EQ(bandwidth_text(4.8e12), "4.80 TB/s");
  EXPECT_EQ(bytes_text(12), "12 B");
  EXPECT_EQ(utc_text(1'795'222'442'000'000'000), "2026-11-21 00:54:02 UTC");
}

TEST(Wrapped, BreaksAtWordsOnly) {
  EXPECT_EQ(wrapped("one two three", 8), "one two\nthree");
  EXPECT_EQ(wrapped("one two three", 8, 2), "one two\n  three");
  EXPECT_EQ(wrapped("", 8), "");
  for (const std::string& line : lines(wrapped(std::string(300, 'x') + " y", 40, 2)))
    EXPECT_LE(display_width(line), 40);
}

}  // namespace
}  // namespace ridgeline::reports
