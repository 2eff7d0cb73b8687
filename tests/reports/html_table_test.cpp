// Tables as HTML: what is cut, marked, drawn as a bar.
#include "html_table.h"

#include <gtest/gtest.h>

#include <memory>
#include <regex>

namespace ridgeline::reports {
namespace {

struct HtmlRow {
  std::string name;
  double ratio = 0;
};

Table table_of(std::vector<HtmlRow> of, Elide elide = Elide::kernel_name) {
  const auto rows = std::make_shared<const std::vector<HtmlRow>>(std::move(of));
  std::vector<Column<HtmlRow>> columns = {
      {{.key = "name", .header = "name", .align = Align::left, .elide = elide, .min_width = 20},
       [](const HtmlRow& r) { return Cell::text(r.name); }},
      {{.key = "ratio", .header = "ratio", .unit = "%"},
       [](const HtmlRow& r) { return Cell::number(r.ratio, Form::percent); }},
      {{.key = "more", .header = "more", .drop_order = 2}, [](const HtmlRow&) { return Cell::text("m"); }}};
  return {std::move(columns), rows->size(), [rows](std::size_t i) -> const HtmlRow& { return (*rows)[i]; }};
}

// What stands in each cell of the body, tags and all.
std::vector<std::string> cells(const std::string& html) {
  std::vector<std::string> found;
  const std::regex cell("<td[^>]*>.*?</td>");
  for (std::sregex_iterator at(html.begin(), html.end(), cell), end; at != end; ++at)
    found.push_back(at->str());
  return found;
}

TEST(HtmlTable, ANameOfFiftyFourColumnsStandsWholeAndALongerOneIsItsTooltip) {
  const std::string fits(54, 'n'), longer(55, 'n');
  EXPECT_EQ(cells(html_table(table_of({{fits}}), {}))[0], "<td class=\"name\">" + fits + "</td>");
  const std::string cut = cells(html_table(table_of({{longer}}), {}))[0];
  EXPECT_NE(cut.find("title=\"" + longer + "\""), std::string::npos) << cut;
  EXPECT_NE(cut.find("…"), std::string::npos) << cut;
}

// What tells them apart is in the middle, where a name that is shortened alone is cut.
TEST(HtmlTable, DifferentNamesStayDifferentWhenTheyAreShortened) {
  const std::regex title(" title=\"[^\"]*\"");
  const auto shown = [&](const std::string& a, const std::string& b, Elide elide) {
    const std::vector<std::string> of = cells(html_table(table_of({{a}, {b}}, elide), {}));
    return std::pair(std::regex_replace(of[0], title, ""), std::regex_replace(of[3], title, ""));
  };
  const std::string front(30, 'f'), back(50, 'b');
  const auto kernels = shown("void " + front + "<1, " + back + ">()", "void " + front + "<2, " + back + ">()",
                             Elide::kernel_name);
  EXPECT_NE(kernels.first, kernels.second);
  const auto paths =
      shown("step / " + front + " / one / " + back, "step / " + front + " / two / " + back, Elide::start);
  EXPECT_NE(paths.first, paths.second);
}

TEST(HtmlTable, BarsAreAsLongAsTheirShare) {
  HtmlTable how;
  how.ratio_bars = {"ratio"};
  const std::vector<std::string> of = cells(html_table(table_of({{"a", 0.25}, {"b", 1.5}, {"c", -1}}), how));
  for (const auto& [cell, width] : {std::pair(1, "25.0"), {4, "100.0"}, {7, "0.0"}})
    EXPECT_NE(of[static_cast<std::size_t>(cell)].find(std::string("--w:") + width + "%"), std::string::npos)
        << of[static_cast<std::size_t>(cell)];
  how = {};
  how.largest_bars = {"ratio"};
  const std::vector<std::string> against = cells(html_table(table_of({{"a", 2}, {"b", 8}}), how));
  EXPECT_NE(against[1].find("--w:25.0%"), std::string::npos) << against[1];
  EXPECT_NE(against[4].find("--w:100.0%"), std::string::npos) << against[4];
}

TEST(HtmlTable, WhatANarrowScreenDoesWithoutIsMarkedInHeadAndCells) {
  HtmlTable how;
  how.optional = {"ratio"};
  const std::string html = html_table(table_of({{"a", 0.5}}), how);
  EXPECT_NE(html.find("<th>name</th><th class=\"r opt\">ratio<small>%</small></th>"), std::string::npos)
      << html;
  const std::vector<std::string> of = cells(html);
  ASSERT_EQ(of.size(), 3U);
  EXPECT_EQ(of[0].find("opt"), std::string::npos) << of[0];
  EXPECT_NE(of[1].find("class=\"r opt\""), std::string::npos) << of[1];
  EXPECT_NE(of[2].find("opt"), std::string::npos) << "as on a narrow terminal: " << of[2];
}

TEST(HtmlTable, RowsThatAreCutAreCounted) {
  Table table = table_of({{"a"}, {"b"}, {"c"}});
  table.keep(1);
  HtmlTable how;
  how.noun = "kernel";
  EXPECT_NE(html_table(table, how).find("<p class=\"soft\">2 more kernels not listed.</p>"),
            std::string::npos);
  EXPECT_EQ(html_table(table_of({{"a"}}), how).find("not listed"), std::string::npos);
}

}  // namespace
}  // namespace ridgeline::reports
