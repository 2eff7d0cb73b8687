#include "ridgeline/reports/table.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <set>
#include <sstream>
#include <utility>

#include "ridgeline/base/units.h"
#include "ridgeline/reports/elide.h"
#include "ridgeline/reports/tables.h"

namespace ridgeline::reports {
namespace {

struct Row {
  std::string kernel;
  Cell time;
  std::string note;
  Cell extra;
  std::string hidden;
};

std::vector<Column<Row>> sample_columns() {
  return {{{.key = "kernel",
            .header = "kernel",
            .align = Align::left,
            .elide = Elide::kernel_name,
            .min_width = 20,
            .total = Total::parts},
           [](const Row& r) { return Cell::text(r.kernel); }},
          {{.key = "time_ns", .header = "time", .unit = "ms", .total = Total::parts},
           [](const Row& r) { return r.time; }},
          {{.key = "note",
            .header = "note",
            .align = Align::left,
            .elide = Elide::end,
            .min_width = 10,
            .drop_order = 1},
           [](const Row& r) { return Cell::text(r.note); }},
          {{.key = "extra", .header = "extra", .drop_order = 2}, [](const Row& r) { return r.extra; }},
          {{.key = "hidden",
            .header = "hidden",
            .align = Align::left,
            .elide = Elide::end,
            .min_width = 10,
            .drop_order = 9,
            .shown = false},
           [](const Row& r) { return Cell::text(r.hidden); }}};
}

const std::vector<Row>& sample_rows() {
  static const std::vector<Row> kRows = {
      {"void add<float>(int)", Cell::number(std::int64_t{1500000}, Form::milliseconds, Style::good),
       "a, \"b\"", Cell::number(std::int64_t{1234567}), "h"},
      {"\x1b[31mevil|<b>\xff", Cell::missing(), "x\ny", Cell::number(0.25, Form::ratio), ""}};
  return kRows;
}

Table sample(std::vector<Column<Row>> columns = sample_columns()) {
  const Row sum{"all of it", Cell::number(std::int64_t{1500000}, Form::milliseconds), "", {}, ""};
  const Table::Cells totals = total_cells(columns, sum, Total::all);
  Table table(std::move(columns), sample_rows().size(),
              [](std::size_t i) -> const Row& { return sample_rows()[i]; });
  table.add_total(totals);
  return table;
}

std::string csv(const Table& table) {
  return Document([&](const Sink& out) { write_csv(table, out); }).text();
}

std::string json_text(const Table& table) {
  return Document([&](const Sink& out) { write_rows_json(table, out); }).text();
}

Table picked(Table table, std::string_view keys) {
  table.select(keys);
  return table;
}

std::vector<std::string> lines(const std::string& text) {
  std::vector<std::string> out;
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);) out.push_back(line);
  return out;
}

TEST(RenderText, NoLineIsWiderThanPromised) {
  auto columns_of = sample_columns();
  for (int i = 0; i < 12; ++i) {
    columns_of.push_back({{.key = "more" + std::to_string(i),
                           .header = "a_header_" + std::to_string(i),
                           .unit = "unit",
                           .drop_order = 3 + i},
                          [i](const Row&) { return Cell::number(std::int64_t{1000000 + i}); }});
  }
  const Table table = sample(columns_of);
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
  EXPECT_EQ(csv(sample()),
            "kernel,time_ns,note,extra,hidden\r\n"
            "void add<float>(int),1500000,\"a, \"\"b\"\"\",1234567,h\r\n"
            "\\x1b[31mevil|<b>\xef\xbf\xbd,,x\\ny,0.25,\r\n");
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
  const auto rows = nlohmann::json::parse(json_text(sample()));
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0]["time_ns"], 1500000);
  EXPECT_EQ(rows[0]["hidden"], "h");
  EXPECT_TRUE(rows[1]["time_ns"].is_null());
  EXPECT_EQ(rows[1]["kernel"], "\x1b[31mevil|<b>\xef\xbf\xbd");
  for (const char c : json_text(sample())) EXPECT_TRUE(c == '\n' || (c >= 0x20 && c < 0x7f));
}

TEST(Wrapped, ANumberStaysWithItsUnit) {
  EXPECT_EQ(wrapped("a median of 50.884 ms: something", 18), "a median of\n50.884 ms:\nsomething");
  EXPECT_EQ(wrapped("of 989.4 TFLOP/s, spec", 15), "of\n989.4 TFLOP/s,\nspec");
  EXPECT_EQ(wrapped("about 12 % of it", 9), "about\n12 % of\nit");
  EXPECT_EQ(wrapped("steps 16 to 19 took", 9), "steps 16\nto 19\ntook");
}

TEST(SelectColumns, KeepsOrderAndNamesTheUnknown) {
  const Table two = picked(sample(), "hidden, time_ns");
  ASSERT_EQ(two.columns().size(), 2u);
  EXPECT_EQ(two.columns()[0].key, "hidden");
  EXPECT_TRUE(two.columns()[0].shown);
  EXPECT_EQ(two.cell(0, 1).words(), "1.500");
  EXPECT_EQ(two.total(0, 1).words(), "1.500") << "totals follow their columns";
  for (const char* keys : {"nope", "", "time_ns,", ",time_ns"}) {
    try {
      (void)picked(sample(), keys);
      FAIL() << keys;
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::usage);
      EXPECT_NE(std::string(error.what()).find("`ridgeline columns` lists"), std::string::npos);
    }
  }
}

TEST(SelectColumns, SuggestsKeysThatHoldWhatWasAskedFor) {
  const auto told = [](const auto& ask) -> std::string {
    try {
      ask();
    } catch (const Error& error) {
      return error.what();
    }
    return "";
  };
  EXPECT_NE(told([] { (void)picked(sample(), "tim"); }).find("(time_ns?)"), std::string::npos);
  EXPECT_EQ(told([] { (void)picked(sample(), "nope"); }).find('?'), std::string::npos);
  EXPECT_NE(told([] {
              Table table = sample();
              table.sort("-hid");
            }).find("(hidden?)"),
            std::string::npos);
}

TEST(SelectColumns, OfAGroupTheLastOnesGoWhereTheWidthDoesNotSuffice) {
  Table table = sample();
  table.set_groups({{"some", {"kernel", "extra", "time_ns", "note"}, 2}});
  const Table narrow = picked(table, "some");
  EXPECT_EQ(narrow.columns()[1].drop_order, 0);
  EXPECT_EQ(narrow.columns()[3].drop_order, table.columns()[2].drop_order);
  const std::string text = render_text(narrow, {32, false});
  EXPECT_NE(text.find("extra"), std::string::npos) << text;
  EXPECT_NE(text.find("Not shown at this width: note"), std::string::npos) << text;
}

TEST(SelectColumns, AllForPeopleIsWithoutWhatRepeats) {
  auto columns = sample_columns();
  columns[4].head.repeats = true;
  Table table = sample(columns);
  table.select("all", true);
  EXPECT_EQ(table.columns().size(), 4u);
  Table asked = sample(columns);
  asked.select("all,hidden", true);
  EXPECT_EQ(asked.columns().size(), 5u);
  EXPECT_EQ(picked(sample(columns), "all").columns().size(), 5u);
}

TEST(SelectColumns, TakesGroupsOnceAndKeepsTheUsualOnesDroppable) {
  Table table = sample();
  table.set_groups({{"pair", {"kernel", "hidden"}}});
  const Table three = picked(table, "pair,kernel,note");
  ASSERT_EQ(three.columns().size(), 3u);
  EXPECT_EQ(three.columns()[1].key, "hidden");
  EXPECT_EQ(three.columns()[2].key, "note");
  const Table usual = picked(table, "default");
  EXPECT_EQ(usual.columns().size(), 4u);
  EXPECT_EQ(usual.columns()[3].drop_order, table.columns()[3].drop_order);
  EXPECT_EQ(picked(table, "all").columns().size(), 5u);
  EXPECT_EQ(picked(table, "default,hidden").columns().size(), 5u);
  EXPECT_THROW((void)picked(table, "nope"), Error);
}

// Rows a, b, c, d with a number each; c has none.
Table numbered() {
  static const std::vector<Row> kRows = {{"a", Cell::number(std::int64_t{2}), "", {}, ""},
                                         {"b", Cell::number(3.5, Form::ratio), "", {}, ""},
                                         {"c", Cell::missing(), "", {}, ""},
                                         {"d", Cell::number(std::int64_t{-1}), "", {}, ""}};
  Table table(sample_columns(), kRows.size(), [](std::size_t i) -> const Row& { return kRows[i]; });
  table.set_rest([](std::span<const std::size_t> cut) {
    Table::Cells cells(5);
    for (const std::size_t i : cut) cells[0] = Cell::text(cells[0].words() + kRows[i].kernel);
    return cells;
  });
  return table;
}

std::string first_column(const Table& table) {
  std::string out;
  for (std::size_t i = 0; i < table.size(); ++i) out += table.cell(i, "kernel").words();
  return out;
}

TEST(SortTable, UpwardAndDownwardWithTheMissingLast) {
  for (const auto& [key, wanted] : {std::pair{"time_ns", "dabc"},
                                    {"-time_ns", "badc"},
                                    {"time", "dabc"},
                                    {" -time ", "badc"},
                                    {"-kernel", "dcba"}}) {
    Table table = numbered();
    table.sort(key);
    EXPECT_EQ(first_column(table), wanted) << key;
  }
}

TEST(SortTable, NumbersInNamesCountByTheirValue) {
  const std::vector<std::string> names = {
      "layer 10", "layer 2 · forward", "layer 2",    "k128x64", "layer 02",
      "layer 1",  "k64x128",           "layer 10 b", "layer",   "k64x64"};
  Table table(std::vector<Column<std::string>>{{{.key = "kernel", .header = "kernel", .help = "k"},
                                                [](const std::string& name) { return Cell::text(name); }}},
              names.size(), [&names](std::size_t i) -> const std::string& { return names[i]; });
  table.sort("kernel");
  std::vector<std::string> sorted;
  for (std::size_t i = 0; i < table.size(); ++i) sorted.push_back(table.cell(i, "kernel").words());
  EXPECT_EQ(sorted, (std::vector<std::string>{"k64x64", "k64x128", "k128x64", "layer", "layer 1", "layer 02",
                                              "layer 2", "layer 2 · forward", "layer 10", "layer 10 b"}));
}

TEST(SortTable, EqualRowsKeepTheirOrder) {
  Table table = numbered();
  table.sort("-note");
  EXPECT_EQ(first_column(table), "abcd");
}

TEST(SortTable, UnknownKeyIsAUsageErrorThatSaysWhereTheKeysAre) {
  try {
    numbered().sort("nope");
    FAIL();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_NE(std::string(error.what()).find("no column 'nope': `ridgeline columns`"), std::string::npos);
  }
}

TEST(KeepRows, CountsAndSumsThoseThatTheOrderPutsLast) {
  Table table = numbered();
  table.sort("-time");
  table.keep(2);
  EXPECT_EQ(first_column(table), "ba");
  EXPECT_EQ(table.left_out(), 2u);
  ASSERT_EQ(table.total_count(), 1u);
  EXPECT_EQ(table.total(0, 0).words(), "dc");
  table.keep(2);
  EXPECT_EQ(table.total_count(), 1u) << "nothing more is cut";
}

TEST(WriteRows, EachRowIsMadeWhenItIsWritten) {
  std::size_t made = 0;
  std::size_t behind = 0;  // rows that were made and not yet written
  std::vector<Column<std::size_t>> columns = {{{.key = "n", .header = "n"}, [](const std::size_t& n) {
                                                 return Cell::number(static_cast<std::int64_t>(n));
                                               }}};
  const Table table(std::move(columns), 1000, [&](std::size_t i) {
    ++made;
    return i;
  });
  for (const bool as_json : {false, true}) {
    made = behind = 0;
    std::size_t pieces = 0, longest = 0;
    const Sink sink = [&](std::string_view piece) {
      ++pieces;
      longest = std::max(longest, piece.size());
      behind = std::max(behind, made > pieces ? made - pieces : 0);
    };
    if (as_json)
      write_rows_json(table, sink);
    else
      write_csv(table, sink);
    EXPECT_EQ(made, 1000u);
    EXPECT_LE(behind, 1u);
    EXPECT_LT(longest, 30u);
  }
}

TEST(FullWidth, ShowsEveryColumn) {
  const Table all = picked(sample(), "all");
  const std::string text = render_text(all, {full_width(all), false});
  EXPECT_EQ(text.find("Not shown"), std::string::npos);
  EXPECT_EQ(text.find("…"), std::string::npos) << text;
}

TEST(Cell, NoNumberIsMissing) {
  for (const double value : {std::nan(""), HUGE_VAL, -HUGE_VAL}) {
    const Cell cell = Cell::number(value, Form::ratio);
    EXPECT_TRUE(std::holds_alternative<std::monostate>(cell.value()));
    EXPECT_EQ(cell.words(), kMissing);
  }
  EXPECT_EQ(Cell::number(std::optional<double>(), Form::percent).words(), kMissing);
  EXPECT_EQ(Cell().words(), "") << "no cell is not a missing value";
}

TEST(Cell, WordsInItsForm) {
  const auto words = [](double value, Form form) { return Cell::number(value, form).words(); };
  EXPECT_EQ(words(1'234'567, Form::milliseconds), "1.235");
  EXPECT_EQ(words(1'234'567, Form::microseconds), "1234.6");
  EXPECT_EQ(words(0.1234, Form::percent), "12.3");
  EXPECT_EQ(words(0.126, Form::ratio), "0.13");
  EXPECT_EQ(words(2'345'678, Form::megabytes), "2.35");
  EXPECT_EQ(words(2'345'678'000, Form::gigabytes), "2.346");
  EXPECT_EQ(words(1.5e12, Form::tera), "1.500");
  EXPECT_EQ(words(123456, Form::general), "1.235e+05");
  EXPECT_EQ(Cell::number(std::int64_t{INT64_MAX}, Form::plain).words(), "9223372036854775807");
  EXPECT_EQ(Cell::number(std::int64_t{1234}).words(), "1,234");
  EXPECT_EQ(Cell::worded("two", std::int64_t{2}).words(), "two");
}

TEST(DeclaredTables, EveryColumnHasAMeaningAndItsOwnKey) {
  for (const DeclaredTable& declared : declared_tables()) {
    std::set<std::string> keys;
    for (const ColumnHead& c : declared.table.columns()) {
      EXPECT_TRUE(keys.insert(c.key).second) << declared.name << " " << c.key;
      EXPECT_FALSE(c.help.empty()) << declared.name << " " << c.key;
    }
    for (const ColumnGroup& group : declared.table.groups()) {
      for (const std::string& key : group.keys) EXPECT_TRUE(keys.count(key)) << group.name << " " << key;
    }
  }
}

TEST(DeclaredTables, TheDocumentListsTheirColumns) {
  std::ifstream file(RIDGELINE_SOURCE_DIR "/docs/json.md");
  const std::string document{std::istreambuf_iterator<char>(file), {}};
  for (const char* name : {"rank", "check", "phases", "steps", "bounds", "gaps", "work", "launches"}) {
    const auto& all = declared_tables();
    const auto declared = std::find_if(all.begin(), all.end(), [&](const auto& t) { return t.name == name; });
    ASSERT_NE(declared, all.end()) << name;
    EXPECT_NE(document.find(std::string("<!-- columns: ") + name + " -->\n" +
                            columns_markdown(declared->table) + "<!-- end of columns -->"),
              std::string::npos)
        << name << " is out of date: scripts/columns-doc > /tmp/json.md && mv /tmp/json.md docs/json.md";
  }
}

TEST(Wrapped, BreaksAtWordsOnly) {
  EXPECT_EQ(wrapped("one two three", 8), "one two\nthree");
  EXPECT_EQ(wrapped("one two three", 8, 2), "one two\n  three");
  EXPECT_EQ(wrapped("", 8), "");
  EXPECT_EQ(wrapped("at 8.5 % of it", 6), "at\n8.5 %\nof it") << "a number stays with its per cent sign";
  for (const std::string& line : lines(wrapped(std::string(300, 'x') + " y", 40, 2)))
    EXPECT_LE(display_width(line), 40);
}

// Every column but the last starts at one place in all rows.
TEST(RenderText, WordsStandBelowTheirHeader) {
  struct Pair {
    std::string name, what, more;
  };
  static const std::vector<Pair> kPairs = {{"a", "x", "m"}, {"longer", "yyyyyy", "n"}};
  const auto column = [](const char* key, std::string Pair::*field) {
    return Column<Pair>{{.key = key, .header = key, .align = Align::left, .elide = Elide::end},
                        [field](const Pair& p) { return Cell::text(p.*field); }};
  };
  const std::vector<Column<Pair>> columns = {column("one", &Pair::name), column("two", &Pair::what),
                                             column("end", &Pair::more)};
  const Table table(columns, kPairs.size(), [](std::size_t i) -> const Pair& { return kPairs[i]; });
  std::istringstream lines(render_text(table, {100, false}));
  std::vector<std::string> shown;
  for (std::string line; std::getline(lines, line);) shown.push_back(line);
  const std::size_t place = shown.at(0).find("end");
  bool m = false, n = false;
  for (const std::string& line : shown) {
    m = m || line.find('m') == place;
    n = n || line.find('n', 6) == place;
  }
  EXPECT_TRUE(m && n) << shown.at(0);
}

TEST(Tables, KindsOfGapsHaveWords) {
  using analyzer::GapKind;
  EXPECT_EQ(gap_words(GapKind::launch_bound), "launch-bound");
  EXPECT_EQ(gap_words(GapKind::host_bound), "CPU-bound");
  EXPECT_EQ(gap_words(GapKind::queued), "queued");
  EXPECT_EQ(gap_words(GapKind::unknown), "unknown");
  EXPECT_EQ(gap_words(GapKind::tail), "tail");
}

}  // namespace
}  // namespace ridgeline::reports
