// html_table.h: a table as HTML.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "ridgeline/reports/table.h"

namespace ridgeline::reports {

/// How a table of the report differs from the plain rendering. Sets are of column keys.
struct HtmlTable {
  std::set<std::string> hidden;      // not shown here
  std::set<std::string> optional;    // not shown on a narrow screen, like those that a narrow terminal drops
  std::set<std::string> wrapping;    // cells wrap
  std::set<std::string> ratio_bars;  // cells with a bar of 0..1
  std::set<std::string> largest_bars;   // cells with a bar against the column's largest value
  std::string name_key;                 // the column whose cells get a chip ...
  std::string class_key;                // ... in the colour of the class in this column
  std::string note_key;                 // and beneath them what this column says
  std::vector<std::string> also_shown;  // shown though not usual
  std::string noun = "row";             // what was cut, for the line that counts it
};

/// Well-formed; below it a line that says how many rows were cut, unless the totals do.
[[nodiscard]] std::string html_table(const Table& table, const HtmlTable& how);

}  // namespace ridgeline::reports
