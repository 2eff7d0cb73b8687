// declared_work_table.cpp: declared work beside what was measured, as a table.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "ridgeline/reports/tables.h"

namespace ridgeline::reports {
namespace {

using analyzer::DeclaredWork;
using WorkColumns = std::vector<Column<DeclaredWork>>;

Column<DeclaredWork> number(ColumnHead head, std::int64_t DeclaredWork::*of, Form form = Form::integer) {
  return {std::move(head), [of, form](const DeclaredWork& w) { return Cell::number(w.*of, form); }};
}
Column<DeclaredWork> number(ColumnHead head, std::optional<double> DeclaredWork::*of, Form form) {
  return {std::move(head), [of, form](const DeclaredWork& w) { return Cell::number(w.*of, form); }};
}

// Of ranges by path the path says the operation; operations of all paths have none.
void add_names(WorkColumns& columns, bool by_path) {
  columns.push_back(
      {{.key = "path",
        .header = "NVTX range",
        .help = "open ranges, outermost first",
        .align = Align::left,
        .elide = Elide::middle,
        .shown = by_path},
       [](const DeclaredWork& w) { return w.path.empty() ? Cell::missing() : Cell::text(w.path); }});
  columns.push_back({{.key = "operation",
                      .header = "operation",
                      .help = "the range's own name without its layer",
                      .align = Align::left,
                      .elide = Elide::middle,
                      .shown = !by_path},
                     [](const DeclaredWork& w) { return Cell::text(w.operation); }});
  columns.push_back({{.key = "name",
                      .header = "declared as",
                      .help = "name of the declaration",
                      .align = Align::left,
                      .elide = Elide::middle,
                      .min_width = 8,
                      .drop_order = 9,
                      .shown = false},
                     [](const DeclaredWork& w) { return Cell::text(w.name); }});
}

void add_amounts(WorkColumns& columns, bool counted) {
  columns.push_back(number({.key = "ranges", .header = "ranges", .help = "declaring ranges", .drop_order = 2},
                           &DeclaredWork::ranges));
  columns.push_back(
      number({.key = "launches", .header = "launches", .help = "launches in them", .drop_order = 4},
             &DeclaredWork::launches));
  columns.push_back(
      number({.key = "kernels", .header = "kernels", .help = "different kernels in them", .drop_order = 4},
             &DeclaredWork::kernels));
  columns.push_back(number({.key = "time_ns", .header = "time", .unit = "ms", .help = "their time"},
                           &DeclaredWork::time_ns, Form::milliseconds));
  columns.push_back(number({.key = "declared_bytes",
                            .header = "minimum",
                            .unit = "GB",
                            .help = "minimum traffic: declared bytes",
                            .title = "minimum traffic",
                            .drop_order = 3},
                           &DeclaredWork::declared_bytes, Form::gigabytes));
  columns.push_back(number({.key = "measured_bytes",
                            .header = "measured",
                            .unit = "GB",
                            .help = "measured DRAM traffic",
                            .title = "measured traffic",
                            .drop_order = 3},
                           &DeclaredWork::measured_bytes, Form::gigabytes));
  columns.push_back(number({.key = "bytes_ratio",
                            .header = "bytes",
                            .unit = "×",
                            .help = "measured ÷ minimum traffic",
                            .title = "traffic"},
                           &DeclaredWork::bytes_ratio, Form::ratio));
  columns.push_back(number({.key = "declared_flops",
                            .header = "minimum",
                            .unit = "TFLOP",
                            .help = "declared operations",
                            .title = "minimum work",
                            .drop_order = 5},
                           &DeclaredWork::declared_flops, Form::tera));
  columns.push_back(number({.key = "measured_tensor_ops",
                            .header = "tensor",
                            .unit = "TFLOP",
                            .help = "operations of the tensor pipe",
                            .drop_order = 6},
                           &DeclaredWork::measured_tensor_ops, Form::tera));
  columns.push_back(number({.key = "measured_fp_ops",
                            .header = "other",
                            .unit = "TFLOP",
                            .help = "operations of counted instructions",
                            .drop_order = 9,
                            .shown = counted},
                           &DeclaredWork::measured_fp_ops, Form::tera));
  columns.push_back(
      number({.key = "ops_ratio", .header = "FLOP", .unit = "×", .help = "measured ÷ declared operations"},
             &DeclaredWork::ops_ratio, Form::ratio));
}

void add_roofline(WorkColumns& columns) {
  columns.push_back(number({.key = "minimum_ns",
                            .header = "roofline",
                            .unit = "ms",
                            .help = "roofline time: the shortest that the declared work takes at the roofs",
                            .title = "roofline time"},
                           &DeclaredWork::minimum_ns, Form::milliseconds));
  columns.push_back({{.key = "minimum_limiter",
                      .header = "roof",
                      .help = "which roof that is: `DRAM` or `FLOP`",
                      .align = Align::left,
                      .drop_order = 1},
                     [](const DeclaredWork& w) { return minimum_roof_cell(w); }});
  columns.push_back(number({.key = "minimum_ratio",
                            .header = "eff.",
                            .unit = "%",
                            .help = "roofline efficiency: roofline time ÷ time",
                            .title = "roofline efficiency"},
                           &DeclaredWork::minimum_ratio, Form::percent));
}

}  // namespace

Table declared_work_table(const std::vector<DeclaredWork>& work) {
  const bool by_path = !work.empty() && !work.front().path.empty();
  const bool counted =
      std::any_of(work.begin(), work.end(), [](const auto& w) { return w.measured_fp_ops.has_value(); });
  WorkColumns columns;
  add_names(columns, by_path);
  add_amounts(columns, counted);
  add_roofline(columns);
  return {std::move(columns), work.size(), [&work](std::size_t i) -> const DeclaredWork& { return work[i]; }};
}

}  // namespace ridgeline::reports
