// step_tables.cpp: steps, their accounting, gaps, launches and declared work as tables.
#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ridgeline/reports/context.h"
#include "ridgeline/reports/elide.h"
#include "ridgeline/reports/format.h"
#include "ridgeline/reports/tables.h"

namespace ridgeline::reports {
namespace {

Column number_column(std::string key, std::string header, std::string unit, int drop_order = 0,
                     bool shown = true) {
  return {std::move(key), std::move(header), std::move(unit), Align::right, Elide::never, 24, drop_order,
          shown};
}

Column text_column(std::string key, std::string header, Elide elide, int least_width, int drop_order = 0,
                   bool shown = true) {
  return {std::move(key), std::move(header), "", Align::left, elide, least_width, drop_order, shown};
}

Cell in_milliseconds(std::int64_t ns) {
  return {milliseconds(static_cast<double>(ns)), ns, Style::plain};
}
Cell in_microseconds(std::int64_t ns) {
  return {microseconds(static_cast<double>(ns)), ns, Style::plain};
}

Cell time_or_missing(std::int64_t ns) {
  return ns > 0 ? in_milliseconds(ns) : Cell::missing();
}

Cell optional_ratio(const std::optional<analyzer::Measured>& measured) {
  return measured ? Cell::of_number(percent(measured->value), measured->value) : Cell::missing();
}

Cell optional_error(const std::optional<analyzer::Measured>& measured) {
  return measured && measured->error ? Cell::of_number(percent(*measured->error), *measured->error)
                                     : Cell::missing();
}

// "T2", "T1", or "T2/T1" where DRAM and compute come from different ones; "T0": time only.
std::string tiers_of(const analyzer::LaunchUtilisation& u) {
  const std::string dram = u.dram_utilisation ? u.dram_utilisation->tier : "";
  const std::string compute = u.compute_utilisation ? u.compute_utilisation->tier : "";
  if (dram.empty() && compute.empty()) return "T0";
  if (dram.empty() || compute.empty() || dram == compute) return dram.empty() ? compute : dram;
  return dram + "/" + compute;
}

Cell optional_number(const std::optional<double>& value) {
  return value ? Cell::of_number(fmt::format("{:.4g}", *value), *value) : Cell::missing();
}

Cell optional_number(const std::optional<analyzer::Measured>& value) {
  return value ? optional_number(std::optional<double>(value->value)) : Cell::missing();
}

std::string dimensions(const store::Dim3& d) {
  if (d.z != 1) return fmt::format("{}×{}×{}", d.x, d.y, d.z);
  return d.y != 1 ? fmt::format("{}×{}", d.x, d.y) : fmt::format("{}", d.x);
}

std::string launch_name(const analyzer::Model& model, const std::optional<analyzer::LaunchIndex>& launch) {
  return launch ? kernel_display_name(model.kernel_name(model.launches[*launch])) : "";
}

}  // namespace

Table steps_table(const analyzer::StepAnalysis& steps) {
  Table table;
  table.columns = {
      number_column("process_id", "process", "", 9, false),
      number_column("step_index", "step", ""),
      {"representative", "", "", Align::left, Elide::never, 0, 0, true},
      text_column("phase", "phase", Elide::never, 0),
      text_column("configuration", "counters", Elide::end, 8, 3),
      text_column("status", "status", Elide::never, 0),
      number_column("gpu_duration_ns", "GPU", "ms"),
      number_column("host_duration_ns", "host", "ms", 2),
      number_column("kernel_time_ns", "kernels", "ms"),
      number_column("launches", "launches", ""),
      number_column("launches_without_time", "untimed", "", 9, false),
      text_column("sequence", "sequence", Elide::end, 8, 4),
      text_column("reason", "reason", Elide::end, 12, 1),
      text_column("closed", "closed", Elide::end, 6, 9, false),
      text_column("source", "found by", Elide::never, 0, 2, false),
  };
  const bool several = std::any_of(
      steps.steps.begin(), steps.steps.end(),
      [&](const analyzer::StepSummary& step) { return step.process_id != steps.steps.front().process_id; });
  table.columns[0].shown = several;
  // Columns that would be empty all the way down are noise.
  const auto any = [&](auto&& has) { return std::any_of(steps.steps.begin(), steps.steps.end(), has); };
  table.columns[table.column("configuration")].shown =
      any([](const auto& s) { return !s.configuration.empty(); });
  table.columns[table.column("source")].shown = any([](const auto& s) { return s.source != "nvtx"; });
  table.columns[table.column("reason")].shown = any([](const auto& s) { return !s.reason.empty(); });

  for (const analyzer::StepSummary& step : steps.steps) {
    const bool chosen =
        !steps.representative.whole_recording && step.step_id == steps.representative.summary.step_id;
    const Style style = step.status == "ok" ? (chosen ? Style::strong : Style::plain) : Style::bad;
    table.rows.push_back({
        Cell::of_integer(step.process_id),
        Cell::of_integer(step.step_index),
        {chosen ? "◀" : "", chosen, Style::strong},
        Cell::of_text(step.phase),
        Cell::of_text(step.configuration),
        Cell::of_text(step.status, style),
        {step.gpu_duration_ns > 0
             ? milliseconds(static_cast<double>(step.gpu_duration_ns)) + (step.closed ? "" : "*")
             : kMissing,
         step.gpu_duration_ns > 0 ? Scalar(step.gpu_duration_ns) : Scalar(), style},
        step.host_duration_ns ? in_milliseconds(*step.host_duration_ns) : Cell::missing(),
        time_or_missing(step.kernel_time_ns),
        Cell::of_integer(step.launches),
        Cell::of_integer(step.launches_without_time),
        {step.majority_sequence ? "same" : "other",
         std::string(step.majority_sequence ? "majority" : "other"), Style::plain},
        Cell::of_text(step.reason),
        {step.closed ? "yes" : "no", step.closed, Style::plain},
        Cell::of_text(step.source),
    });
  }
  return table;
}

Table accounting_table(const analyzer::Accounting& a) {
  Table table;
  table.columns = {
      text_column("part", "part", Elide::end, 20),
      number_column("time_ns", "time", "ms"),
      number_column("step_share_ratio", "step", "%"),
      text_column("meaning", "what it is", Elide::end, 20, 1),
  };
  const auto share = [&](std::int64_t ns) {
    return a.step_ns > 0 ? static_cast<double>(ns) / static_cast<double>(a.step_ns) : 0.0;
  };
  const auto row = [&](const char* part, const char* label, std::int64_t ns, std::string meaning) {
    table.rows.push_back({{label, std::string(part), Style::plain},
                          in_milliseconds(ns),
                          Cell::of_number(percent(share(ns)), share(ns)),
                          Cell::of_text(std::move(meaning))});
  };
  row("kernels", "kernels", a.kernel_busy_ns,
      a.kernel_overlap_ns > 0 ? fmt::format("at least one runs; {} more in parallel",
                                            time_text(static_cast<double>(a.kernel_overlap_ns)))
                              : counted(a.launches, "launch", "launches") + ", none in parallel");
  row("copies_exposed", "copies", a.copy_exposed_ns,
      a.copy_hidden_ns > 0
          ? fmt::format("no kernel runs; {} more hidden", time_text(static_cast<double>(a.copy_hidden_ns)))
          : "while no kernel runs");
  row("memsets_exposed", "memsets", a.memset_exposed_ns, "while nothing else runs");
  row("gap_launch_bound", "gaps: launch", a.gap_launch_bound_ns, "the next launch was being issued");
  row("gap_host_bound", "gaps: host", a.gap_host_bound_ns, "the host had not come to the next launch");
  row("gap_queued", "gaps: queued", a.gap_queued_ns, "issued, but waiting for an event or a stream");
  row("gap_unknown", "gaps: unknown", a.gap_unknown_ns, "no host time is known for what follows");
  row("gap_tail", "gaps: tail", a.gap_tail_ns, "after the last work of the step");
  row("remainder", "remainder", a.remainder_ns, "what the parts above do not explain");
  table.totals.push_back({{"step", std::string("step"), Style::strong},
                          in_milliseconds(a.step_ns),
                          Cell::of_number(percent(share(a.step_ns)), share(a.step_ns)),
                          Cell::of_text("")});
  return table;
}

Table gaps_table(const analyzer::Model& model, const analyzer::Accounting& accounting, std::size_t count) {
  Table table;
  table.columns = {
      number_column("duration_ns", "gap", "µs"),
      text_column("kind", "kind", Elide::never, 0),
      text_column("after_kernel", "after", Elide::kernel_name, 20),
      text_column("before_kernel", "before", Elide::kernel_name, 20),
      number_column("start_ns", "start", "ns", 9, false),
  };
  std::vector<std::size_t> order(accounting.gaps.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    const analyzer::Gap& x = accounting.gaps[a];
    const analyzer::Gap& y = accounting.gaps[b];
    return x.end_ns - x.start_ns > y.end_ns - y.start_ns;
  });
  if (order.size() > count) order.resize(count);
  for (const std::size_t i : order) {
    const analyzer::Gap& gap = accounting.gaps[i];
    // The gap follows the launch `before` and precedes the launch `after`.
    table.rows.push_back({in_microseconds(gap.end_ns - gap.start_ns),
                          {in_words(to_string(gap.kind)), std::string(to_string(gap.kind)), Style::plain},
                          Cell::of_text(launch_name(model, gap.before)),
                          Cell::of_text(launch_name(model, gap.after)),
                          {fmt::format("{}", gap.start_ns), gap.start_ns, Style::plain}});
  }
  return table;
}

Table launches_table(const analyzer::Model& model, const analyzer::Analysis& analysis) {
  const bool sampled = !analysis.utilisation.sample_steps.empty();
  const bool cold = !analysis.utilisation.cold_steps.empty();
  Table table;
  table.columns = {
      number_column("ordinal", "no.", ""),
      text_column("kernel", "kernel", Elide::kernel_name, 26),
      text_column("class", "class", Elide::end, 8, 3),
      text_column("nvtx_path", "range", Elide::middle, 16, 4),
      number_column("start_offset_ns", "start", "µs"),
      number_column("duration_ns", "time", "µs"),
      text_column("grid", "grid", Elide::never, 0, 2),
      text_column("block", "block", Elide::never, 0, 2),
      number_column("stream_id", "stream", "", 5),
      number_column("dram_utilisation_ratio", "DRAM", "%"),
      number_column("compute_utilisation_ratio", "comp", "%"),
      text_column("status", "status", Elide::never, 0),
      text_column("reason", "reason", Elide::end, 12, 6),
      number_column("dram_bytes", "DRAM", "bytes", 9, false),
      number_column("tensor_ops", "tensor", "ops", 9, false),
      number_column("registers_per_thread", "registers", "", 9, false),
      number_column("static_smem_bytes", "static smem", "bytes", 9, false),
      number_column("dynamic_smem_bytes", "dynamic smem", "bytes", 9, false),
      text_column("tier", "tier", Elide::never, 0, 5, sampled),
      number_column("dram_error_ratio", "± DRAM", "%", 9, false),
      number_column("compute_error_ratio", "± comp", "%", 9, false),
      number_column("dram_t1_utilisation_ratio", "DRAM T1", "%", 4, sampled),
      number_column("dram_t1_error_ratio", "± T1", "%", 4, sampled),
      number_column("dram_t1_samples", "samples", "T1", 9, false),
      number_column("dram_t2_utilisation_ratio", "DRAM T2", "%", 9, false),
      number_column("compute_t1_utilisation_ratio", "comp T1", "%", 9, false),
      number_column("compute_t2_utilisation_ratio", "comp T2", "%", 9, false),
      number_column("l2_utilisation_ratio", "L2", "%", 9, false),
      number_column("l2_bytes", "L2", "bytes", 9, false),
      number_column("l2_hit_ratio", "L2 hit", "%", 9, false),
      number_column("l1_bytes", "L1", "bytes", 9, false),
      number_column("l1_hit_ratio", "L1 hit", "%", 9, false),
      number_column("occupancy_ratio", "occupancy", "%", 9, false),
      number_column("cold_duration_ns", "cold", "µs", 9, cold),
      number_column("cold_dram_utilisation_ratio", "DRAM cold", "%", 9, cold),
      number_column("cold_dram_bytes", "DRAM cold", "bytes", 9, false),
  };
  const std::int64_t origin = analysis.steps.representative.window_start_ns;
  for (const analyzer::LaunchUtilisation& u : analysis.utilisation.launches) {
    const store::Launch& launch = model.launches[u.launch];
    const bool timed = analyzer::has_time(launch);
    table.rows.push_back({
        Cell::of_integer(u.ordinal),
        Cell::of_text(std::string(model.kernel_name(launch))),
        Cell::of_text(std::string(model.kernel_class(launch))),
        Cell::of_text(std::string(model.string(launch.nvtx_path_id))),
        timed ? in_microseconds(launch.start_ns - origin) : Cell::missing(),
        timed ? in_microseconds(u.duration_ns) : Cell::missing(),
        Cell::of_text(dimensions(launch.grid)),
        Cell::of_text(dimensions(launch.block)),
        Cell::of_integer(launch.stream_id),
        optional_ratio(u.dram_utilisation),
        optional_ratio(u.compute_utilisation),
        {in_words(to_string(u.status)), std::string(to_string(u.status)),
         u.status == analyzer::LaunchStatus::unmeasured ? Style::fair : Style::plain},
        Cell::of_text(u.reason),
        optional_number(u.dram_bytes),
        optional_number(u.tensor_ops),
        Cell::of_integer(launch.registers_per_thread),
        Cell::of_integer(launch.static_smem_bytes),
        Cell::of_integer(launch.dynamic_smem_bytes),
        Cell::of_text(tiers_of(u), Style::dim),
        optional_error(u.dram_utilisation),
        optional_error(u.compute_utilisation),
        optional_ratio(u.t1.dram_utilisation),
        optional_error(u.t1.dram_utilisation),
        u.t1.dram_utilisation ? Cell::of_integer(u.t1.dram_utilisation->sample_count) : Cell::missing(),
        optional_ratio(u.t2.dram_utilisation),
        optional_ratio(u.t1.compute_utilisation),
        optional_ratio(u.t2.compute_utilisation),
        optional_ratio(u.l2_utilisation),
        optional_number(u.l2_bytes),
        optional_ratio(u.l2_hit_ratio),
        optional_number(u.l1_bytes),
        optional_ratio(u.l1_hit_ratio),
        optional_ratio(u.occupancy_ratio),
        u.cold.duration ? Cell::of_number(microseconds(u.cold.duration->value), u.cold.duration->value)
                        : Cell::missing(),
        optional_ratio(u.cold.dram_utilisation),
        optional_number(u.cold.dram_bytes),
    });
  }
  return table;
}

Table comparison_table(const analyzer::Quality& quality) {
  Table table;
  table.columns = {
      text_column("kernel", "kernel", Elide::kernel_name, 26),
      number_column("calls", "calls", "", 2),
      number_column("mean_ns", "mean", "µs"),
      number_column("t1_ratio", "DRAM T1", "%"),
      number_column("t1_error_ratio", "± T1", "%"),
      number_column("t1_samples", "samples", "T1", 3),
      number_column("t2_ratio", "DRAM T2", "%"),
      number_column("t2_error_ratio", "± T2", "%"),
      number_column("difference_ratio", "T1−T2", "points"),
      text_column("verdict", "", Elide::never, 0, 1),
  };
  for (const analyzer::TierComparison& c : quality.comparisons) {
    table.rows.push_back(
        {Cell::of_text(c.kernel),
         Cell::of_integer(c.calls),
         Cell::of_number(microseconds(c.mean_ns), c.mean_ns),
         optional_ratio(c.t1),
         optional_error(c.t1),
         Cell::of_integer(c.t1.sample_count),
         optional_ratio(c.t2),
         optional_error(c.t2),
         Cell::of_number(percent(c.difference.value), c.difference.value,
                         c.flagged ? Style::bad : Style::plain),
         {c.flagged ? "disagree" : "agree", !c.flagged, c.flagged ? Style::bad : Style::good}});
  }
  return table;
}

Table declared_work_table(const std::vector<analyzer::DeclaredWork>& work) {
  Table table;
  table.columns = {
      text_column("path", "range", Elide::middle, 24),
      text_column("operation", "operation", Elide::middle, 24),
      text_column("name", "declared as", Elide::middle, 8, 9),
      number_column("ranges", "ranges", "", 2),
      number_column("launches", "launches", "", 4),
      number_column("kernels", "kernels", "", 4),
      number_column("time_ns", "time", "ms"),
      number_column("declared_bytes", "needs", "GB", 3),
      number_column("measured_bytes", "moves", "GB", 3),
      number_column("bytes_ratio", "bytes", "×"),
      number_column("declared_flops", "needs", "TFLOP", 5),
      number_column("measured_tensor_ops", "tensor", "TFLOP", 6),
      number_column("measured_fp_ops", "other", "TFLOP", 9),
      number_column("ops_ratio", "FLOP", "×"),
      number_column("minimum_ns", "least", "ms"),
      text_column("minimum_limiter", "by", Elide::never, 0, 1),
      number_column("minimum_ratio", "eff.", "%"),
  };
  // Of ranges by path the path says the operation; operations of all paths have none.
  const bool by_path = !work.empty() && !work.front().path.empty();
  table.columns[table.column(by_path ? "operation" : "path")].shown = false;
  table.columns[table.column("name")].shown = false;
  table.columns[table.column("measured_fp_ops")].shown =
      std::any_of(work.begin(), work.end(), [](const auto& w) { return w.measured_fp_ops.has_value(); });
  for (const analyzer::DeclaredWork& w : work) {
    const auto ratio = [](const std::optional<double>& value) {
      return value ? Cell::of_number(fixed(*value, 2), *value) : Cell::missing();
    };
    const auto scaled = [](const std::optional<double>& value, double scale) {
      return value ? Cell::of_number(fixed(*value * scale, 3), *value) : Cell::missing();
    };
    table.rows.push_back(
        {w.path.empty() ? Cell::missing() : Cell::of_text(w.path), Cell::of_text(w.operation),
         Cell::of_text(w.name), Cell::of_integer(w.ranges), Cell::of_integer(w.launches),
         Cell::of_integer(w.kernels), in_milliseconds(w.time_ns), scaled(w.declared_bytes, 1e-9),
         scaled(w.measured_bytes, 1e-9), ratio(w.bytes_ratio), scaled(w.declared_flops, 1e-12),
         scaled(w.measured_tensor_ops, 1e-12), scaled(w.measured_fp_ops, 1e-12), ratio(w.ops_ratio),
         w.minimum_ns ? Cell::of_number(milliseconds(*w.minimum_ns), *w.minimum_ns) : Cell::missing(),
         minimum_limiter_cell(w),
         w.minimum_ratio ? Cell::of_number(percent(*w.minimum_ratio), *w.minimum_ratio) : Cell::missing()});
  }
  return table;
}

}  // namespace ridgeline::reports
