// ranking_work_columns.cpp: the ranking's columns of declared work.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ranking_columns.h"
#include "ridgeline/reports/tables.h"

namespace ridgeline::reports {
namespace {

using analyzer::WorkSum;

template <typename Get>
Cell work_cell(const RankingLine& line, Get get) {
  return line.row->work ? get(*line.row->work) : Cell::missing();
}

template <typename Number>
Column<RankingLine> number(ColumnHead head, Number WorkSum::*of, Form form = Form::integer) {
  return {std::move(head), [of, form](const RankingLine& l) {
            return work_cell(l, [&](const WorkSum& w) { return Cell::number(w.*of, form); });
          }};
}

// What is said of a row's ranges: of all rows together it is of all ranges.
ColumnHead range_head(ColumnHead head) {
  head = extra(std::move(head));
  head.total = Total::all;
  return head;
}

void add_work_amounts(std::vector<Column<RankingLine>>& columns) {
  columns.push_back(number(range_head({.key = "ranges",
                                       .header = "ranges",
                                       .help = "innermost declaring ranges that the launches are in",
                                       .title = "declaring ranges"}),
                           &WorkSum::ranges));
  columns.push_back(number(range_head({.key = "range_launches",
                                       .header = "range",
                                       .unit = "calls",
                                       .help = "all launches of those ranges",
                                       .title = "launches of these ranges",
                                       .title_unit = ""}),
                           &WorkSum::launches));
  columns.push_back(number(range_head({.key = "range_time_ns",
                                       .header = "range",
                                       .unit = "ms",
                                       .help = "their time",
                                       .title = "time of these ranges"}),
                           &WorkSum::time_ns, Form::milliseconds));
  columns.push_back({extra({.key = "other_kernels",
                            .header = "with",
                            .help = "other kernels among them",
                            .title = "other kernels in these ranges"}),
                     [](const RankingLine& l) {
                       return work_cell(l, [](const WorkSum& w) {
                         const std::int64_t others = std::max<std::int64_t>(0, w.kernels - 1);
                         return Cell::worded(others > 0 ? fmt::format("+{}", others) : "", others);
                       });
                     }});
  columns.push_back(number(range_head({.key = "declared_bytes",
                                       .header = "minimum",
                                       .unit = "GB",
                                       .help = "minimum traffic: bytes that those ranges declare",
                                       .title = "minimum traffic"}),
                           &WorkSum::declared_bytes, Form::gigabytes));
  columns.push_back(number(range_head({.key = "range_dram_bytes",
                                       .header = "measured",
                                       .unit = "GB",
                                       .help = "measured DRAM traffic of those ranges",
                                       .title = "measured traffic"}),
                           &WorkSum::measured_bytes, Form::gigabytes));
  columns.push_back(number(range_head({.key = "bytes_ratio",
                                       .header = "bytes",
                                       .unit = "×",
                                       .help = "measured ÷ minimum traffic",
                                       .title = "traffic, measured ÷ minimum",
                                       .title_unit = ""}),
                           &WorkSum::bytes_ratio, Form::ratio));
  columns.push_back(number(range_head({.key = "declared_flops",
                                       .header = "minimum",
                                       .unit = "TFLOP",
                                       .help = "operations that those ranges declare",
                                       .title = "minimum work"}),
                           &WorkSum::declared_flops, Form::tera));
  columns.push_back(number(range_head({.key = "range_tensor_ops",
                                       .header = "tensor",
                                       .unit = "TFLOP",
                                       .help = "operations of the tensor pipe in those ranges",
                                       .title = "tensor operations of these ranges"}),
                           &WorkSum::measured_tensor_ops, Form::tera));
  columns.push_back(
      number(range_head({.key = "range_fp_ops",
                         .header = "other",
                         .unit = "TFLOP",
                         .help = "operations of counted instructions in those ranges (`record --sass-flops`)",
                         .title = "other operations of these ranges"}),
             &WorkSum::measured_fp_ops, Form::tera));
  columns.push_back(
      number(range_head({.key = "ops_ratio",
                         .header = "FLOP",
                         .unit = "×",
                         .help = "measured ÷ declared operations; those of the tensor pipe, of counted "
                                 "instructions where there are none",
                         .title = "work, measured ÷ minimum",
                         .title_unit = ""}),
             &WorkSum::ops_ratio, Form::ratio));
}

void add_roofline(std::vector<Column<RankingLine>>& columns) {
  columns.push_back(
      number(range_head({.key = "minimum_ns",
                         .header = "roofline",
                         .unit = "ms",
                         .help = "roofline time: the shortest that the declared work takes at the roofs",
                         .title = "roofline time"}),
             &WorkSum::minimum_ns, Form::milliseconds));
  ColumnHead by = range_head({.key = "minimum_limiter",
                              .header = "roof",
                              .help = "the roof that the roofline time is at: `DRAM` or `FLOP`",
                              .title = "roof of the roofline time"});
  by.align = Align::left;
  columns.push_back({by, [](const RankingLine& l) { return work_cell(l, minimum_roof_cell); }});
  columns.push_back({range_head({.key = "minimum_ratio",
                                 .header = "eff.",
                                 .unit = "%",
                                 .help = "roofline efficiency: roofline time ÷ range_time_ns",
                                 .title = "roofline efficiency"}),
                     [](const RankingLine& l) {
                       return work_cell(l, [&](const WorkSum& w) {
                         return Cell::number(w.minimum_ratio, Form::percent,
                                             utilisation_style(w.minimum_ratio.value_or(0), l.options->target,
                                                               l.options->stretch));
                       });
                     }});
  columns.push_back({range_head({.key = "undeclared_calls",
                                 .header = "undecl.",
                                 .unit = "calls",
                                 .help = "launches of the row in no declaring range",
                                 .title = "launches in no declaring range",
                                 .title_unit = ""}),
                     [](const RankingLine& l) {
                       return Cell::number(l.row->work ? l.row->work->undeclared_launches : l.row->calls);
                     }});
}

}  // namespace

// What the program declared for the ranges of a row, beside what all launches of those ranges did. Shown on
// demand: the group has to fit 80 columns. Kernels of one range share its sums, so that the rows of these
// columns do not add up; the step's ranges do.
void add_work_columns(std::vector<Column<RankingLine>>& columns) {
  add_work_amounts(columns);
  add_roofline(columns);
}

}  // namespace ridgeline::reports
