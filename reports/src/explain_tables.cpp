// explain_tables.cpp: the figures of one kernel, each with its error and tier.
#include <fmt/format.h>

#include <cmath>
#include <memory>

#include "ranking_columns.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/explain_document.h"
#include "ridgeline/reports/tables.h"

namespace ridgeline::reports {
namespace {

using analyzer::KernelExplanation;
using analyzer::KernelLimit;
using analyzer::LaunchConfiguration;
using analyzer::Measured;
using analyzer::RankingRow;

// A figure of the kernel: its key has the unit.
struct Figure {
  std::string key, label;
  Form form = Form::general;
  double value = 0;
  std::optional<double> error;
  std::string tier;
};

std::string figure_words(const Figure& figure, double value) {
  switch (figure.form) {
    case Form::percent:
      return percent_text(value);
    case Form::milliseconds:
      return milliseconds(value) + " ms";
    case Form::megabytes:
      return bytes_text(value);
    case Form::megahertz:
      return clock_text(value);
    default:
      return integer(std::llround(value));
  }
}

// Of a metric that one of the tiers alone has it is that one; sums say none.
std::string tier_text(const analyzer::MetricEntry& entry, const Measured& value, TierSet row) {
  const auto comes_from = [](const analyzer::MetricSource& s) {
    return !s.counter.empty() || !s.hits.empty();
  };
  if (comes_from(entry.sampled) && !comes_from(entry.replayed)) return "T1";
  if (comes_from(entry.replayed) && !comes_from(entry.sampled)) return "T2";
  return to_string(value.tier.empty() ? row : value.tier);
}

// Without samples and counters it is by the driver's readings.
std::string clock_tier_text(TierSet tier) {
  return to_string(tier.empty() ? TierSet(Tier::t0) : tier);
}

class Figures {
 public:
  explicit Figures(const RankingRow& row) : row_(row) {}

  void number(std::string key, std::string label, Form form, std::optional<double> value, std::string tier,
              std::optional<double> error = {}) {
    if (value && std::isfinite(*value))
      list_.push_back({std::move(key), std::move(label), form, *value, error, std::move(tier)});
  }
  void measured(std::string key, std::string label, Form form, const std::optional<Measured>& value) {
    if (value)
      number(std::move(key), std::move(label), form, value->value, to_string(value->tier), value->error);
  }

  std::shared_ptr<const std::vector<Figure>> all() {
    times();
    roofs();
    for (const analyzer::Metric metric : analyzer::kAllMetrics) {
      const analyzer::MetricEntry& entry = metric.entry();
      const bool bytes = entry.unit == analyzer::MetricUnit::bytes;
      std::string label = metric_title(entry);
      if (const auto value = row_.metrics.of(metric)) {
        number(std::string(entry.key), std::move(label), bytes ? Form::megabytes : Form::percent,
               value->value, tier_text(entry, *value, row_.tier), value->error);
      }
    }
    number("theoretical_occupancy_ratio", "theoretical occupancy", Form::percent,
           row_.theoretical_occupancy_ratio, "T0");
    number("wave_waste_ratio", "last wave idle", Form::percent, row_.wave_waste_ratio, "T0");
    number("tile_waste_ratio", "tiles beyond the result", Form::percent, row_.tile_waste_ratio, "T0");
    number("sm_clock_hz", "SM clock", Form::megahertz, row_.sm_clock_hz, clock_tier_text(row_.clock_tier));
    number("clock_cost_ns", "costs by the clock", Form::milliseconds, row_.clock_cost_ns,
           clock_tier_text(row_.clock_tier));
    return std::make_shared<const std::vector<Figure>>(std::move(list_));
  }

 private:
  void times() {
    number("time_ns", "time", Form::milliseconds, static_cast<double>(row_.time_ns), "T0");
    number("step_share_ratio", "of the step", Form::percent, row_.step_share, "T0");
    number("calls", "launches", Form::integer, static_cast<double>(row_.calls), "T0");
    // Nothing saved and nothing known are not the same.
    if (!saving_is_known(row_)) return;
    number("saved_target_ns", "saving at the target", Form::milliseconds, row_.saved_target_ns,
           to_string(row_.tier), row_.saved_target_error_ns);
    number("reached_target_ns", "of that, reaches the step", Form::milliseconds, row_.reached_target_ns,
           "T0");
    number("saved_stretch_ns", "saving at the stretch goal", Form::milliseconds, row_.saved_stretch_ns,
           to_string(row_.tier));
  }
  void roofs() {
    measured("dram_t2_utilisation_ratio", "DRAM, counted", Form::percent, row_.dram_t2);
    measured("dram_t1_utilisation_ratio", "DRAM, sampled", Form::percent, row_.dram_t1);
    measured("dram_cold_utilisation_ratio", "DRAM, cold caches", Form::percent, row_.cold_dram);
    measured("dram_difference_ratio", "DRAM, sampled less counted", Form::percent, row_.dram_difference);
    measured("compute_t2_utilisation_ratio", "busiest pipe, counted", Form::percent, row_.compute_t2);
    measured("compute_t1_utilisation_ratio", "busiest pipe, sampled", Form::percent, row_.compute_t1);
    measured("tensor_t2_utilisation_ratio", "tensor pipe, counted", Form::percent, row_.tensor_t2);
    measured("tensor_t1_utilisation_ratio", "tensor pipe, sampled", Form::percent, row_.tensor_t1);
    number("dram_bytes", "DRAM traffic", Form::megabytes, row_.dram_bytes, to_string(row_.tier));
    number("replay_disagreement_ratio", "replay against timeline", Form::percent, row_.replay_disagreement,
           "T2");
  }

  const RankingRow& row_;
  std::vector<Figure> list_;
};

std::vector<Column<Figure>> figure_columns() {
  return {
      {{.key = "key",
        .header = "key",
        .help = "what the figure is, with its unit",
        .align = Align::left,
        .shown = false},
       [](const Figure& f) { return Cell::text(f.key); }},
      {{.key = "figure", .header = "figure", .help = "likewise in words", .align = Align::left},
       [](const Figure& f) { return Cell::text(f.label); }},
      {{.key = "value", .header = "value", .help = "in the unit of the key"},
       [](const Figure& f) { return Cell::worded(figure_words(f, f.value), f.value, Style::strong); }},
      {{.key = "error", .header = "±", .help = "its standard error, in the same unit; missing: not known"},
       [](const Figure& f) {
         return f.error ? Cell::worded(figure_words(f, *f.error), *f.error) : Cell::missing();
       }},
      {{.key = "tier",
        .header = "tier",
        .help = "what it rests on: `T0`, `T1`, `T2`, `T3`",
        .align = Align::left},
       [](const Figure& f) { return Cell::text(f.tier, Style::dim); }},
  };
}

std::string limit_mark(const KernelLimit& limit) {
  std::string mark;
  const auto add = [&](std::string_view word) { mark.append(mark.empty() ? "" : ", ").append(word); };
  if (limit.nearest) add("nearest");
  if (limit.as_near) add("as near");
  if (limit.bounds) add("bounds it");
  return mark;
}

std::string limiters_text(const analyzer::Occupancy& occupancy) {
  std::string text;
  for (const analyzer::OccupancyLimiter limiter : occupancy.limiters())
    text.append(text.empty() ? "" : ", ").append(to_string(limiter));
  return text;
}

std::string dim_text(const store::Dim3& dim) {
  return fmt::format("{},{},{}", dim.x, dim.y, dim.z);
}

// A source that hides a graph's kernels has their launch as a whole, of no size.
Cell dim_cell(const store::Dim3& dim) {
  return dim == store::Dim3{0, 0, 0} ? Cell::missing() : Cell::text(dim_text(dim));
}

std::vector<Column<LaunchConfiguration>> size_columns() {
  using C = LaunchConfiguration;
  return {
      {{.key = "grid", .header = "grid", .help = "blocks: x,y,z", .align = Align::left},
       [](const C& c) { return dim_cell(c.grid); }},
      {{.key = "block", .header = "block", .help = "threads: x,y,z", .align = Align::left},
       [](const C& c) { return dim_cell(c.block); }},
      {{.key = "cluster",
        .header = "cluster",
        .help = "blocks of a cluster: x,y,z",
        .align = Align::left,
        .drop_order = 2},
       [](const C& c) { return c.cluster ? Cell::text(dim_text(*c.cluster)) : Cell::missing(); }},
      {{.key = "registers", .header = "regs", .help = "registers a thread"},
       [](const C& c) { return Cell::number(c.registers_per_thread); }},
      {{.key = "static_smem_bytes",
        .header = "static",
        .unit = "B",
        .help = "static shared memory of a block",
        .drop_order = 3},
       [](const C& c) { return Cell::number(c.static_smem_bytes); }},
      {{.key = "dynamic_smem_bytes",
        .header = "dynamic",
        .unit = "B",
        .help = "dynamic shared memory of a block"},
       [](const C& c) { return Cell::number(c.dynamic_smem_bytes); }},
  };
}

}  // namespace

Table evidence_table(const analyzer::Analysis& analysis, const KernelExplanation& explanation) {
  const auto& rows = analysis.ranking.rows;
  const auto figures = explanation.row < rows.size() ? Figures(rows[explanation.row]).all()
                                                     : std::make_shared<const std::vector<Figure>>();
  return {figure_columns(), figures->size(), [figures](std::size_t i) { return (*figures)[i]; }};
}

Table limits_table(const KernelExplanation& explanation) {
  std::vector<Column<KernelLimit>> columns = {
      {{.key = "roof", .header = "roof", .help = "`DRAM`, `L2`, `issue` or a pipe", .align = Align::left},
       [](const KernelLimit& l) { return Cell::text(std::string(to_string(l.roof))); }},
      {{.key = "utilisation_ratio", .header = "used", .unit = "%", .help = "how near the kernel is to it"},
       [](const KernelLimit& l) { return Cell::number(l.use.value, Form::percent, Style::strong); }},
      {{.key = "error_ratio", .header = "±", .unit = "%", .help = "its standard error; missing: not known"},
       [](const KernelLimit& l) { return Cell::number(l.use.error, Form::percent); }},
      {{.key = "tier", .header = "tier", .help = "what it rests on", .align = Align::left},
       [](const KernelLimit& l) { return Cell::text(to_string(l.use.tier), Style::dim); }},
      {{.key = "mark",
        .header = "",
        .help = "`nearest`, `as near` (a tie) or `bounds it`",
        .align = Align::left},
       [](const KernelLimit& l) { return Cell::text(limit_mark(l)); }},
  };
  const auto& limits = explanation.hold.limits;
  return {std::move(columns), limits.size(), [&limits](std::size_t i) { return limits[i]; }};
}

Table configurations_table(const KernelExplanation& explanation) {
  using C = LaunchConfiguration;
  std::vector<Column<C>> columns = size_columns();
  columns.push_back({{.key = "calls", .header = "calls", .help = "launches of this kind"},
                     [](const C& c) { return Cell::number(c.calls); }});
  columns.push_back({{.key = "time_ns", .header = "time", .unit = "ms", .help = "of them together"},
                     [](const C& c) { return Cell::number(c.time_ns, Form::milliseconds); }});
  columns.push_back({{.key = "waves", .header = "waves", .help = "blocks ÷ what fits on the device at once"},
                     [](const C& c) { return Cell::number(c.waves, Form::ratio); }});
  columns.push_back({{.key = "idle_ratio",
                      .header = "idle",
                      .unit = "%",
                      .help = "of the last wave, places without a block; below one wave: SMs without one",
                      .drop_order = 4},
                     [](const C& c) { return Cell::number(c.idle_ratio, Form::percent); }});
  columns.push_back(
      {{.key = "occupancy_ratio", .header = "occup.", .unit = "%", .help = "theoretical occupancy"},
       [](const C& c) {
         return c.occupancy ? Cell::number(c.occupancy->ratio(), Form::percent) : Cell::missing();
       }});
  columns.push_back(
      {{.key = "occupancy_limiter",
        .header = "held by",
        .help = "what keeps an SM from holding more blocks: `warps`, `blocks`, `registers`, "
                "`shared memory`; all that limit alike",
        .align = Align::left,
        .drop_order = 1},
       [](const C& c) { return c.occupancy ? Cell::text(limiters_text(*c.occupancy)) : Cell::missing(); }});
  const auto& list = explanation.hold.configurations;
  return {std::move(columns), list.size(), [&list](std::size_t i) { return list[i]; }};
}

}  // namespace ridgeline::reports
