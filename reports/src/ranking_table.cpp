// ranking_table.cpp: the ranking and the target check as tables.
#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <numeric>
#include <tuple>

#include "ridgeline/reports/context.h"
#include "ridgeline/reports/format.h"
#include "ridgeline/reports/tables.h"

namespace ridgeline::reports {
namespace {

using analyzer::Measured;
using analyzer::RankKey;
using analyzer::RankRow;

Column number_column(std::string key, std::string header, std::string unit, int drop_order = 0) {
  return {
      std::move(key), std::move(header), std::move(unit), Align::right, Elide::never, 24, drop_order, true};
}

// Shown only if asked for.
Column extra_column(std::string key, std::string header, std::string unit) {
  Column column = number_column(std::move(key), std::move(header), std::move(unit), 9);
  column.shown = false;
  return column;
}

Column data_column(std::string key, std::string header) {
  return {std::move(key), std::move(header), "", Align::left, Elide::middle, 16, 9, false};
}

Cell ratio_cell(const std::optional<double>& ratio, Style style = Style::plain) {
  return ratio ? Cell::of_number(percent(*ratio), *ratio, style) : Cell::missing();
}

Cell value_of(const std::optional<Measured>& measured, Style style = Style::plain) {
  return measured ? Cell::of_number(percent(measured->value), measured->value, style) : Cell::missing();
}

Cell error_of(const std::optional<Measured>& measured) {
  if (!measured || !measured->error) return Cell::missing();
  return Cell::of_number(percent(*measured->error), *measured->error);
}

Cell nanoseconds(double ns) {
  return Cell::of_number(milliseconds(ns), ns);
}
Cell nanoseconds(std::int64_t ns) {
  return {milliseconds(static_cast<double>(ns)), ns, Style::plain};
}

Cell count_or_empty(const std::optional<double>& value) {
  return value ? Cell::of_number(fmt::format("{:.4g}", *value), *value) : Cell::missing();
}

Cell bytes_or_empty(const std::optional<double>& bytes) {
  return bytes ? Cell::of_number(fixed(*bytes * 1e-6, 2), *bytes) : Cell::missing();
}

Cell nanoseconds_or_empty(const std::optional<double>& ns) {
  return ns ? nanoseconds(*ns) : Cell::missing();
}

Cell tier_of(const std::optional<Measured>& measured) {
  return measured ? Cell::of_text(measured->tier, Style::dim) : Cell::missing();
}

// Columns of the tiers beside the shown values, by group.
const std::vector<ColumnGroup>& tier_groups() {
  static const std::vector<ColumnGroup> kGroups = {
      {"tiers",
       {"key", "calls", "time_ns", "dram_t1_utilisation_ratio", "dram_t1_error_ratio",
        "dram_t2_utilisation_ratio", "dram_t2_error_ratio", "dram_difference_ratio",
        "compute_t1_utilisation_ratio", "compute_t2_utilisation_ratio", "tier"}},
      {"caches",
       {"key", "calls", "time_ns", "dram_utilisation_ratio", "l2_utilisation_ratio", "l2_bytes",
        "l2_hit_ratio", "l1_bytes", "l1_hit_ratio", "occupancy_ratio"}},
      {"cold",
       {"key", "calls", "time_ns", "cold_time_ns", "dram_utilisation_ratio", "cold_dram_utilisation_ratio",
        "cold_in_situ_dram_bytes", "cold_dram_bytes", "cold_dram_bytes_ratio"}},
      {"work",
       {"key", "other_kernels", "range_time_ns", "declared_bytes", "range_dram_bytes", "bytes_ratio",
        "declared_flops", "ops_ratio", "minimum_ns", "minimum_limiter", "minimum_ratio"}},
  };
  return kGroups;
}

void add_tier_columns(Table& table) {
  table.columns.push_back(data_column("dram_tier", "DRAM by"));
  table.columns.push_back(data_column("compute_tier", "comp by"));
  for (auto [key, header, unit] : {
           std::tuple{"dram_t1_error_ratio", "± T1", "%"},
           {"dram_t2_utilisation_ratio", "DRAM T2", "%"},
           {"dram_t2_error_ratio", "± T2", "%"},
           {"dram_difference_ratio", "T1−T2", "points"},
           {"dram_difference_error_ratio", "± diff", "points"},
           {"compute_t1_utilisation_ratio", "comp T1", "%"},
           {"compute_t1_error_ratio", "± comp T1", "%"},
           {"compute_t2_utilisation_ratio", "comp T2", "%"},
           {"t1_time_ns", "by T1", "ms"},
           {"t2_time_ns", "by T2", "ms"},
           {"t1_concurrent_time_ns", "shared", "ms"},
           {"l2_utilisation_ratio", "L2", "%"},
           {"l2_bytes", "L2", "MB"},
           {"l2_hit_ratio", "L2 hit", "%"},
           {"l1_bytes", "L1", "MB"},
           {"l1_hit_ratio", "L1 hit", "%"},
           {"occupancy_ratio", "occup.", "%"},
           {"cold_time_ns", "cold", "ms"},
           {"cold_in_situ_time_ns", "in situ", "ms"},
           {"cold_dram_utilisation_ratio", "DRAM cold", "%"},
           {"cold_in_situ_dram_bytes", "in situ", "MB"},
           {"cold_dram_bytes", "cold", "MB"},
           {"cold_dram_bytes_ratio", "cold ÷", "in situ"},
       }) {
    table.columns.push_back(extra_column(key, header, unit));
  }
}

void add_tier_cells(const RankRow& row, std::vector<Cell>& cells) {
  cells.push_back(tier_of(row.dram));
  cells.push_back(tier_of(row.compute));
  cells.push_back(error_of(row.dram_t1));
  cells.push_back(value_of(row.dram_t2));
  cells.push_back(error_of(row.dram_t2));
  cells.push_back(value_of(row.dram_difference));
  cells.push_back(error_of(row.dram_difference));
  cells.push_back(value_of(row.compute_t1));
  cells.push_back(error_of(row.compute_t1));
  cells.push_back(value_of(row.compute_t2));
  cells.push_back(nanoseconds(row.t1_time_ns));
  cells.push_back(nanoseconds(row.t2_time_ns));
  cells.push_back(nanoseconds(row.t1_concurrent_time_ns));
  cells.push_back(value_of(row.l2));
  cells.push_back(bytes_or_empty(row.l2_bytes));
  cells.push_back(value_of(row.l2_hit_ratio));
  cells.push_back(bytes_or_empty(row.l1_bytes));
  cells.push_back(value_of(row.l1_hit_ratio));
  cells.push_back(value_of(row.occupancy));
  cells.push_back(nanoseconds_or_empty(row.cold_time_ns));
  cells.push_back(nanoseconds_or_empty(row.cold_in_situ_time_ns));
  cells.push_back(value_of(row.cold_dram));
  cells.push_back(bytes_or_empty(row.cold_in_situ_dram_bytes));
  cells.push_back(bytes_or_empty(row.cold_dram_bytes));
  const bool both = row.cold_dram_bytes && row.cold_in_situ_dram_bytes && *row.cold_in_situ_dram_bytes > 0;
  const double ratio = both ? *row.cold_dram_bytes / *row.cold_in_situ_dram_bytes : 0;
  cells.push_back(both ? Cell::of_number(fixed(ratio, 2), ratio) : Cell::missing());
}

// What the program declared for the ranges of a row, beside what all launches of those ranges did. Shown on
// demand: the group has to fit 80 columns.
void add_work_columns(Table& table) {
  for (auto [key, header, unit] : {
           std::tuple{"ranges", "ranges", ""},
           {"range_launches", "range", "calls"},
           {"range_time_ns", "range", "ms"},
           {"other_kernels", "with", ""},
           {"declared_bytes", "needs", "GB"},
           {"range_dram_bytes", "moves", "GB"},
           {"bytes_ratio", "bytes", "×"},
           {"declared_flops", "needs", "TFLOP"},
           {"range_tensor_ops", "tensor", "TFLOP"},
           {"range_fp_ops", "other", "TFLOP"},
           {"ops_ratio", "FLOP", "×"},
           {"minimum_ns", "least", "ms"},
       }) {
    table.columns.push_back(extra_column(key, header, unit));
  }
  table.columns.push_back({"minimum_limiter", "by", "", Align::left, Elide::never, 0, 9, false});
  table.columns.push_back(extra_column("minimum_ratio", "eff.", "%"));
  table.columns.push_back(extra_column("undeclared_calls", "undecl.", "calls"));
}

// The cells of those columns, in their order.
std::vector<Cell> work_cells(const std::optional<analyzer::WorkSum>& work, std::int64_t calls,
                             const analyzer::RankOptions& options) {
  std::vector<Cell> cells;
  if (!work) {
    cells.assign(14, Cell::missing());
    cells.push_back(Cell::of_integer(calls));
    return cells;
  }
  const auto scaled = [](const std::optional<double>& value, double scale, int decimals) {
    return value ? Cell::of_number(fixed(*value * scale, decimals), *value) : Cell::missing();
  };
  const std::int64_t others = work->kernels - 1;
  cells.push_back(Cell::of_integer(work->ranges));
  cells.push_back(Cell::of_integer(work->launches));
  cells.push_back(nanoseconds(work->time_ns));
  cells.push_back(
      {others > 0 ? fmt::format("+{}", others) : "", std::max<std::int64_t>(0, others), Style::plain});
  cells.push_back(scaled(work->declared_bytes, 1e-9, 3));
  cells.push_back(scaled(work->measured_bytes, 1e-9, 3));
  cells.push_back(scaled(work->bytes_ratio, 1, 2));
  cells.push_back(scaled(work->declared_flops, 1e-12, 3));
  cells.push_back(scaled(work->measured_tensor_ops, 1e-12, 3));
  cells.push_back(scaled(work->measured_fp_ops, 1e-12, 3));
  cells.push_back(scaled(work->ops_ratio, 1, 2));
  cells.push_back(nanoseconds_or_empty(work->minimum_ns));
  cells.push_back(minimum_limiter_cell(*work));
  const double reached = work->minimum_ratio.value_or(0);
  cells.push_back(
      ratio_cell(work->minimum_ratio, utilisation_style(reached, options.target, options.stretch)));
  cells.push_back(Cell::of_integer(work->undeclared_launches));
  return cells;
}

// "70%", narrow enough for a column's head.
std::string compact(double ratio) {
  std::string text = target_text(ratio);
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  return text;
}

// Error of the limiting utilisation, the one the ranking rests on.
Cell limiter_error(const RankRow& row) {
  if (row.limiter_kind == analyzer::LimiterKind::dram) return error_of(row.dram);
  if (row.limiter_kind == analyzer::LimiterKind::compute) return error_of(row.compute);
  return Cell::missing();
}

std::string group_header(RankKey key) {
  switch (key) {
    case RankKey::kernel:
      return "kernel";
    case RankKey::kernel_and_grid:
      return "kernel and grid";
    case RankKey::family:
      return "kernel family";
    case RankKey::kernel_class:
      return "class";
    case RankKey::nvtx_path:
      return "range";
    case RankKey::launch:
      return "launch";
  }
  return "kernel";
}

Elide group_elision(RankKey key) {
  switch (key) {
    case RankKey::kernel:
    case RankKey::kernel_and_grid:
    case RankKey::family:
      return Elide::kernel_name;
    case RankKey::kernel_class:
      return Elide::end;
    case RankKey::nvtx_path:
      return Elide::start;
    default:
      return Elide::middle;
  }
}

}  // namespace

Cell minimum_limiter_cell(const analyzer::WorkSum& work) {
  switch (work.minimum_limiter) {
    case analyzer::LimiterKind::dram:
      return Cell::of_text("DRAM");
    case analyzer::LimiterKind::compute:
      return Cell::of_text("FLOP");
    case analyzer::LimiterKind::none:
      break;
  }
  return Cell::missing();
}

Style utilisation_style(double ratio, double target, double stretch) {
  return ratio >= stretch ? Style::good : ratio >= target ? Style::plain : Style::bad;
}

std::string limiter_word(const RankRow& row) {
  const std::int64_t largest =
      std::max({row.measured_time_ns, row.launch_bound_time_ns, row.no_roof_time_ns, row.unmeasured_time_ns});
  if (row.limiter && row.measured_time_ns == largest) {
    if (row.limiter_kind == analyzer::LimiterKind::dram) return "DRAM";
    if (row.limiter_kind == analyzer::LimiterKind::compute)
      return row.compute_pipe.empty() ? "compute" : row.compute_pipe;
  }
  if (row.launch_bound_time_ns == largest && largest > 0) return "launch";
  if (row.no_roof_time_ns == largest && largest > 0) return "no roof";
  return "?";
}

Table ranking_table(const analyzer::UtilisationAnalysis& utilisation, const analyzer::Ranking& ranking,
                    std::int64_t top) {
  const analyzer::RankOptions& options = ranking.options;
  const bool by_launch = options.key == RankKey::launch;
  const bool sampled = !utilisation.sample_steps.empty();
  Table table;
  table.groups = tier_groups();
  table.columns.push_back({"rank", "#", "", Align::right, Elide::never, 0, 9, false});
  if (by_launch) table.columns.push_back({"ordinal", "no.", "", Align::right, Elide::never, 0, 8, true});
  table.columns.push_back(
      {"key", group_header(options.key), "", Align::left, group_elision(options.key), 26, 0, true});
  table.columns.push_back({"kernel", "kernel", "", Align::left, Elide::kernel_name, 26, 9, false});
  table.columns.push_back(data_column("normalised_name", "family"));
  table.columns.push_back(data_column("class", "class"));
  // With samples beside the counters 80 columns no longer hold everything: tier and error stay.
  table.columns.push_back(number_column("calls", "calls", "", by_launch ? 7 : sampled ? 6 : 2));
  table.columns.push_back(number_column("time_ns", "time", "ms"));
  table.columns.push_back(number_column("step_share_ratio", "step", "%"));
  table.columns.push_back(number_column("dram_utilisation_ratio", "DRAM", "%"));
  table.columns.push_back(number_column("dram_t1_utilisation_ratio", "T1", "%"));
  table.columns.back().shown = sampled;
  table.columns.push_back(number_column("compute_utilisation_ratio", "comp", "%"));
  table.columns.push_back({"limiter", "limit", "", Align::left, Elide::never, 0, 1, true});
  table.columns.push_back(number_column("limiter_utilisation_ratio", "limit", "%", 9));
  table.columns.back().shown = false;
  table.columns.push_back(number_column("limiter_error_ratio", "±", "%", sampled ? 2 : 4));
  table.columns.push_back(number_column("saved_target_ns", "ms less", "at " + compact(options.target)));
  table.columns.push_back(
      number_column("saved_stretch_ns", "ms less", "at " + compact(options.stretch), sampled ? 5 : 0));
  table.columns.push_back({"tier", "tier", "", Align::left, Elide::never, 0, sampled ? 3 : 5, true});
  for (const char* key :
       {"saved_target_ratio", "saved_stretch_ratio", "saved_target_error_ns", "dram_utilisation_error_ratio",
        "compute_utilisation_error_ratio", "compute_pipe", "dram_bytes", "tensor_ops", "measured_time_ns",
        "launch_bound_time_ns", "no_roof_time_ns", "unmeasured_time_ns", "measured_calls",
        "launch_bound_calls", "no_roof_calls", "unmeasured_calls", "missing", "reason",
        "replay_disagreement_ratio"}) {
    table.columns.push_back(data_column(key, key));
  }
  add_tier_columns(table);
  add_work_columns(table);

  const std::size_t count = top > 0
                                ? std::min<std::size_t>(ranking.rows.size(), static_cast<std::size_t>(top))
                                : ranking.rows.size();
  for (std::size_t i = 0; i < count; ++i) {
    const RankRow& row = ranking.rows[i];
    const auto style = [&](const std::optional<Measured>& of, analyzer::LimiterKind kind) {
      return of && row.limiter_kind == kind && row.limiter
                 ? utilisation_style(*row.limiter, options.target, options.stretch)
                 : Style::plain;
    };
    std::vector<Cell> cells;
    cells.push_back(Cell::of_integer(static_cast<std::int64_t>(i) + 1));
    if (by_launch) {
      cells.push_back(row.launches.empty()
                          ? Cell::missing()
                          : Cell::of_integer(utilisation.launches[row.launches.front()].ordinal));
    }
    cells.push_back(Cell::of_text(by_launch ? row.kernel : row.key));
    cells.push_back(Cell::of_text(row.kernel));
    cells.push_back(Cell::of_text(row.normalised_name));
    cells.push_back(Cell::of_text(row.kernel_class));
    cells.push_back(Cell::of_integer(row.calls));
    cells.push_back(nanoseconds(row.time_ns));
    cells.push_back(ratio_cell(row.step_share));
    cells.push_back(value_of(row.dram, style(row.dram, analyzer::LimiterKind::dram)));
    cells.push_back(value_of(row.dram_t1));
    cells.push_back(value_of(row.compute, style(row.compute, analyzer::LimiterKind::compute)));
    cells.push_back(Cell::of_text(limiter_word(row)));
    cells.push_back(ratio_cell(row.limiter));
    cells.push_back(limiter_error(row));
    // Nothing saved and nothing known are not the same.
    const bool known = row.unmeasured_calls < row.calls;
    cells.push_back(known ? nanoseconds(row.saved_target_ns) : Cell::missing());
    cells.push_back(known ? nanoseconds(row.saved_stretch_ns) : Cell::missing());
    cells.push_back(Cell::of_text(row.tier, Style::dim));
    cells.push_back(known ? ratio_cell(row.saved_target_share) : Cell::missing());
    cells.push_back(known ? ratio_cell(row.saved_stretch_share) : Cell::missing());
    cells.push_back(row.saved_target_error_ns ? nanoseconds(*row.saved_target_error_ns) : Cell::missing());
    cells.push_back(error_of(row.dram));
    cells.push_back(error_of(row.compute));
    cells.push_back(Cell::of_text(row.compute_pipe));
    cells.push_back(count_or_empty(row.dram_bytes));
    cells.push_back(count_or_empty(row.tensor_ops));
    for (const std::int64_t ns :
         {row.measured_time_ns, row.launch_bound_time_ns, row.no_roof_time_ns, row.unmeasured_time_ns}) {
      cells.push_back(nanoseconds(ns));
    }
    for (const std::int64_t calls :
         {row.measured_calls, row.launch_bound_calls, row.no_roof_calls, row.unmeasured_calls}) {
      cells.push_back(Cell::of_integer(calls));
    }
    cells.push_back(Cell::of_text(std::string(to_string(row.missing))));
    cells.push_back(Cell::of_text(row.reason));
    cells.push_back(ratio_cell(row.replay_disagreement));
    add_tier_cells(row, cells);
    std::ranges::move(work_cells(row.work, row.calls, options), std::back_inserter(cells));
    table.rows.push_back(std::move(cells));
  }

  const auto total_row = [&](const std::string& name, std::int64_t calls, double time_ns, double share,
                             double target_ns, double stretch_ns) {
    std::vector<Cell> cells(table.columns.size(), Cell{});
    cells[table.column("key")] = Cell::of_text(name, Style::strong);
    cells[table.column("calls")] = Cell::of_integer(calls);
    cells[table.column("time_ns")] = nanoseconds(time_ns);
    cells[table.column("step_share_ratio")] = ratio_cell(share);
    const bool known = ranking.totals.measured_calls > 0;
    cells[table.column("saved_target_ns")] = known ? nanoseconds(target_ns) : Cell::missing();
    cells[table.column("saved_stretch_ns")] = known ? nanoseconds(stretch_ns) : Cell::missing();
    table.totals.push_back(std::move(cells));
  };
  if (count < ranking.rows.size()) {
    RankRow rest;
    for (std::size_t i = count; i < ranking.rows.size(); ++i) {
      const RankRow& row = ranking.rows[i];
      rest.calls += row.calls;
      rest.time_ns += row.time_ns;
      rest.step_share += row.step_share;
      rest.saved_target_ns += row.saved_target_ns;
      rest.saved_stretch_ns += row.saved_stretch_ns;
    }
    total_row(fmt::format("{} more", ranking.rows.size() - count), rest.calls,
              static_cast<double>(rest.time_ns), rest.step_share, rest.saved_target_ns,
              rest.saved_stretch_ns);
  }
  const analyzer::RankTotals& t = ranking.totals;
  const double step_share =
      t.step_ns > 0 ? static_cast<double>(t.time_ns) / static_cast<double>(t.step_ns) : 0.0;
  total_row("all", t.calls, static_cast<double>(t.time_ns), step_share, t.saved_target_ns,
            t.saved_stretch_ns);
  // Kernels of one range share its sums, so that the rows of these columns do not add up; the step's ranges
  // do.
  std::vector<Cell> work = work_cells(t.work, t.calls, options);
  std::ranges::move(work, table.totals.back().begin() + static_cast<std::ptrdiff_t>(table.column("ranges")));
  table.totals.back()[table.column("other_kernels")] = Cell{};
  return table;
}

Table check_table(const analyzer::TargetCheck& check, const analyzer::Ranking& ranking, bool all) {
  Table table;
  table.columns.push_back({"key", "kernel", "", Align::left, Elide::kernel_name, 28, 0, true});
  table.columns.push_back({"verdict", "verdict", "", Align::left, Elide::never, 0, 0, true});
  table.columns.push_back(number_column("step_share_ratio", "step", "%"));
  table.columns.push_back(number_column("time_ns", "time", "ms", 3));
  table.columns.push_back(number_column("utilisation_ratio", "of peak", "%"));
  table.columns.push_back(number_column("required_ratio", "needs", "%"));
  table.columns.push_back({"limiter", "limit", "", Align::left, Elide::never, 0, 2, true});
  table.columns.push_back(data_column("text", "why"));
  table.columns.push_back(data_column("budget", "budget"));
  table.columns.push_back(data_column("budget_reason", "budget's reason"));

  std::vector<std::size_t> order(check.kernels.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  const auto missed = [&](std::size_t i) {
    return check.kernels[i].verdict == analyzer::KernelVerdict::missed;
  };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    if (missed(a) != missed(b)) return missed(a);
    return ranking.rows[check.kernels[a].row].step_share > ranking.rows[check.kernels[b].row].step_share;
  });
  for (const std::size_t i : order) {
    const analyzer::KernelCheck& kernel = check.kernels[i];
    if (!all && kernel.verdict == analyzer::KernelVerdict::below_min_share) continue;
    const RankRow& row = ranking.rows[kernel.row];
    Style style = Style::plain;
    if (kernel.verdict == analyzer::KernelVerdict::missed) style = Style::bad;
    if (kernel.verdict == analyzer::KernelVerdict::stretch) style = Style::good;
    if (kernel.verdict == analyzer::KernelVerdict::not_measured) style = Style::fair;
    const analyzer::KernelBudget* budget = kernel.budget ? &check.options.budgets[*kernel.budget] : nullptr;
    table.rows.push_back(
        {Cell::of_text(row.key),
         {in_words(to_string(kernel.verdict)), std::string(to_string(kernel.verdict)), style},
         ratio_cell(row.step_share),
         nanoseconds(row.time_ns),
         ratio_cell(row.limiter),
         ratio_cell(kernel.required),
         Cell::of_text(limiter_word(row)),
         Cell::of_text(kernel.text),
         budget ? Cell::of_text(budget->kernel) : Cell::missing(),
         budget ? Cell::of_text(budget->reason) : Cell::missing()});
  }
  return table;
}

}  // namespace ridgeline::reports
