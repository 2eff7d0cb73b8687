// roofline_table.cpp: where each kernel of a scope stands under its roofs, as a table.
#include <algorithm>
#include <optional>
#include <utility>
#include <vector>

#include "ridgeline/base/units.h"
#include "ridgeline/reports/roofline_document.h"
#include "roofline_parts.h"

namespace ridgeline::reports {
namespace {

using analyzer::RooflinePoint;
using PointColumns = std::vector<Column<RooflinePoint>>;

Column<RooflinePoint> number(ColumnHead head, std::optional<double> RooflinePoint::*of, Form form) {
  return {std::move(head), [of, form](const RooflinePoint& p) { return Cell::number(p.*of, form); }};
}

std::optional<double> share_at(const RooflinePoint& point, analyzer::RoofLevel level) {
  const std::optional<double> time = time_at(point, level);
  return time && point.covered_ns > 0 ? std::optional(*time / point.covered_ns) : std::nullopt;
}

void add_names(PointColumns& columns) {
  columns.push_back({{.key = "kernel",
                      .header = "kernel",
                      .help = "kernel, or what the rows are",
                      .align = Align::left,
                      .elide = Elide::kernel_name},
                     [](const RooflinePoint& p) { return Cell::text(p.key); }});
  columns.push_back(
      {{.key = "class",
        .header = "class",
        .help = "what the kernel does",
        .align = Align::left,
        .drop_order = 9,
        .shown = false},
       [](const RooflinePoint& p) { return Cell::text(std::string(to_string(p.kernel_class))); }});
  columns.push_back(
      {{.key = "calls", .header = "calls", .help = "launches", .drop_order = 8, .total = Total::all},
       [](const RooflinePoint& p) { return Cell::number(p.calls); }});
  columns.push_back(
      {{.key = "time_ns", .header = "time", .unit = "ms", .help = "their time", .total = Total::all},
       [](const RooflinePoint& p) { return Cell::number(p.time_ns, Form::milliseconds); }});
  columns.push_back({{.key = "step_share_ratio",
                      .header = "share",
                      .unit = "%",
                      .help = "time ÷ the step's",
                      .drop_order = 6,
                      .total = Total::all},
                     [](const RooflinePoint& p) { return Cell::number(p.step_share, Form::percent); }});
}

void add_light(PointColumns& columns) {
  columns.push_back(
      {number({.key = "sol_ns",
               .header = "at roofs",
               .unit = "ms",
               .help = "speed of light: of each launch the longest of its times at its roofs, summed",
               .title = "time at the roofs",
               .total = Total::all},
              &RooflinePoint::sol_ns, Form::milliseconds)});
  columns.push_back({{.key = "headroom_ns",
                      .header = "headroom",
                      .unit = "ms",
                      .help = "what its launches take above that; of launches whose roofs are known",
                      .total = Total::all},
                     [](const RooflinePoint& p) {
                       return p.sol_ns ? Cell::number(p.headroom_ns, Form::milliseconds) : Cell::missing();
                     }});
  columns.push_back({{.key = "sol_ratio",
                      .header = "of roofs",
                      .unit = "%",
                      .help = "time at the roofs ÷ time, over the same launches",
                      .total = Total::all},
                     [](const RooflinePoint& p) {
                       return p.sol_ns && p.covered_ns > 0
                                  ? Cell::number(*p.sol_ns / p.covered_ns, Form::percent)
                                  : Cell::missing();
                     }});
  columns.push_back(
      {{.key = "filled_ratio",
        .header = "grid",
        .unit = "%",
        .help = "what its grid allows: time at the roofs ÷ the same where a grid of fewer blocks than SMs "
                "has that many SMs",
        .title = "its grid allows",
        .drop_order = 5,
        .total = Total::all},
       [](const RooflinePoint& p) {
         return p.sol_ns && p.filled_ns.value_or(0) > 0
                    ? Cell::number(*p.sol_ns / *p.filled_ns, Form::percent)
                    : Cell::missing();
       }});
  columns.push_back(
      {{.key = "bound",
        .header = "roof",
        .help = "the roof that most of the time at the roofs is of",
        .align = Align::left,
        .total = Total::all},
       [](const RooflinePoint& p) { return p.bound ? Cell::text(roof_words(*p.bound)) : Cell::missing(); }});
}

void add_levels(PointColumns& columns) {
  struct Level {
    analyzer::RoofLevel level;
    const char *ratio, *time, *header, *what;
    int drop;
  };
  for (const Level& l :
       {Level{analyzer::RoofLevel::dram, "dram_ratio", "dram_ns", "DRAM",
              "DRAM's roof, at its share of reads", 0},
        Level{analyzer::RoofLevel::l2, "l2_ratio", "l2_ns", "L2", "the L2 cache's roof", 3},
        Level{analyzer::RoofLevel::l1, "l1_ratio", "l1_ns", "L1", "the L1 caches' roof", 4},
        Level{analyzer::RoofLevel::pipe, "pipe_ratio", "pipe_ns", "pipe",
              "the nearest pipe's roof, all precisions that share it together", 0},
        Level{analyzer::RoofLevel::issue, "issue_ratio", "issue_ns", "issue", "the issue slots", 7}}) {
    columns.push_back({{.key = l.ratio,
                        .header = l.header,
                        .unit = "%",
                        .help = std::string("time at ") + l.what + " ÷ time",
                        .drop_order = l.drop,
                        .total = Total::all},
                       [level = l.level](const RooflinePoint& p) {
                         return Cell::number(share_at(p, level), Form::percent);
                       }});
    columns.push_back({{.key = l.time,
                        .header = l.header,
                        .unit = "ms",
                        .help = std::string("time at ") + l.what,
                        .title = std::string(l.header) + " time",
                        .shown = false,
                        .total = Total::all},
                       [level = l.level](const RooflinePoint& p) {
                         return Cell::number(time_at(p, level), Form::milliseconds);
                       }});
  }
}

void add_place(PointColumns& columns) {
  columns.push_back(number({.key = "intensity_flop_per_byte",
                            .header = "AI",
                            .unit = "FLOP/B",
                            .help = "arithmetic intensity: operations ÷ DRAM bytes, over launches with both",
                            .title = "arithmetic intensity",
                            .drop_order = 2,
                            .total = Total::all},
                           &RooflinePoint::intensity_flop_per_byte, Form::general));
  columns.push_back(number({.key = "l2_intensity_flop_per_byte",
                            .header = "AI L2",
                            .unit = "FLOP/B",
                            .help = "likewise of the traffic between L1 and L2",
                            .shown = false,
                            .total = Total::all},
                           &RooflinePoint::l2_intensity, Form::general));
  columns.push_back(number({.key = "l1_intensity_flop_per_byte",
                            .header = "AI L1",
                            .unit = "FLOP/B",
                            .help = "likewise of the traffic of the L1 caches",
                            .shown = false,
                            .total = Total::all},
                           &RooflinePoint::l1_intensity, Form::general));
  columns.push_back(number({.key = "flops_per_s",
                            .header = "TFLOP/s",
                            .help = "operations ÷ time, over the same launches",
                            .drop_order = 2,
                            .total = Total::all},
                           &RooflinePoint::flops_per_s, Form::tera));
  columns.push_back(
      {{.key = "operations",
        .header = "counted by",
        .help = "where the operations come from: `counted` (tensor pipe), `instructions`, `declared`, "
                "`formula` (2·m·n·k), `none`",
        .title = "source of operations",
        .align = Align::left,
        .drop_order = 6},
       [](const RooflinePoint& p) { return Cell::text(std::string(to_string(p.operations)), Style::dim); }});
  columns.push_back({{.key = "precision",
                      .header = "type",
                      .help = "type that most operations are of",
                      .align = Align::left,
                      .drop_order = 7,
                      .shown = false},
                     [](const RooflinePoint& p) {
                       return p.quantity ? Cell::text(std::string(analyzer::roof_name(*p.quantity)))
                                         : Cell::missing();
                     }});
  columns.push_back(number({.key = "dram_bytes_per_s",
                            .header = "DRAM",
                            .unit = "GB/s",
                            .help = "DRAM bytes ÷ time, over the launches that have them",
                            .title = "DRAM traffic",
                            .shown = false,
                            .total = Total::all},
                           &RooflinePoint::dram_bytes_per_s, Form::gigabytes));
  columns.push_back(number({.key = "read_share",
                            .header = "reads",
                            .unit = "%",
                            .help = "DRAM bytes read of those moved",
                            .shown = false,
                            .total = Total::all},
                           &RooflinePoint::read_share, Form::percent));
}

const PointColumns& point_columns() {
  static const PointColumns kAllColumns = [] {
    PointColumns columns;
    add_names(columns);
    add_light(columns);
    add_levels(columns);
    add_place(columns);
    return columns;
  }();
  return kAllColumns;
}

}  // namespace

std::optional<double> time_at(const RooflinePoint& point, analyzer::RoofLevel level) {
  std::optional<double> longest;
  for (const analyzer::RoofTime& time : point.roofs) {
    if (time.roof.level == level) longest = std::max(longest.value_or(0), time.time_ns);
  }
  return longest;
}

std::string roof_words(const analyzer::Roof& roof) {
  if (roof.level != analyzer::RoofLevel::pipe || roof.precision == analyzer::Precision::any)
    return std::string(to_string(roof));
  return std::string(to_string(roof)) + " " + std::string(to_string(roof.precision));
}

Table roofline_table(const analyzer::Roofline& roofline) {
  Table table(point_columns(), roofline.points.size(),
              [&roofline](std::size_t i) -> const RooflinePoint& { return roofline.points[i]; });
  Table::Cells all = total_cells(point_columns(), roofline.step, Total::all);
  all[table.column("kernel")] = Cell::text("all");
  table.add_total(std::move(all));
  return table;
}

}  // namespace ridgeline::reports
