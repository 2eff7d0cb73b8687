// launch_tables.cpp: launches, the tiers side by side, and declared work as tables.
#include <fmt/format.h>

#include <algorithm>

#include "cells.h"
#include "ridgeline/reports/absence_text.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/tables.h"

namespace ridgeline::reports {
namespace {

using analyzer::DeclaredWork;
using analyzer::LaunchUtilisation;
using analyzer::TierComparison;

// "T2", "T1", or "T2/T1" where DRAM and compute come from different ones; "T0": time only.
std::string tiers_of(const LaunchUtilisation& u) {
  const TierSet dram = u.values->dram_utilisation ? u.values->dram_utilisation->tier : TierSet();
  const TierSet compute = u.values->compute_utilisation ? u.values->compute_utilisation->tier : TierSet();
  if (dram.empty() && compute.empty()) return to_string(TierSet(Tier::t0));
  if (dram.empty() || compute.empty() || dram == compute) return to_string(dram.empty() ? compute : dram);
  return to_string(dram) + "/" + to_string(compute);
}

std::string dimensions(const store::Dim3& d) {
  if (d.z != 1) return fmt::format("{}×{}×{}", d.x, d.y, d.z);
  return d.y != 1 ? fmt::format("{}×{}", d.x, d.y) : fmt::format("{}", d.x);
}

struct LaunchLine {
  const analyzer::Model* model;
  LaunchUtilisation u;
  store::Launch launch;
  std::int64_t origin_ns;
};

// A column of what one of the measurements says; shown only if asked for.
Column<LaunchLine> measured(ColumnHead head, std::optional<analyzer::Measured> analyzer::LaunchValues::*of,
                            Form form) {
  head.shown = false;
  head.drop_order = 9;
  return {std::move(head), [of, form](const LaunchLine& l) { return value_of((*l.u.values).*of, form); }};
}

std::vector<Column<LaunchLine>> launch_columns(bool sampled, bool cold) {
  using U = analyzer::LaunchValues;
  std::vector<Column<LaunchLine>> columns = {
      {{.key = "ordinal", .header = "no.", .help = "position in the step, from 0"},
       [](const LaunchLine& l) { return Cell::number(l.u.ordinal); }},
      {{.key = "kernel",
        .header = "kernel",
        .help = "demangled name",
        .align = Align::left,
        .elide = Elide::kernel_name,
        .least_width = 26},
       [](const LaunchLine& l) { return Cell::text(std::string(l.model->kernel_name(l.launch))); }},
      {{.key = "class",
        .header = "class",
        .help = "gemm, attention, ...",
        .align = Align::left,
        .elide = Elide::end,
        .least_width = 8,
        .drop_order = 3},
       [](const LaunchLine& l) {
         return Cell::text(std::string(to_string(l.model->kernel_class(l.launch))));
       }},
      {{.key = "nvtx_path",
        .header = "NVTX range",
        .help = "ranges that were open at the launch",
        .align = Align::left,
        .elide = Elide::middle,
        .least_width = 16,
        .drop_order = 4},
       [](const LaunchLine& l) { return Cell::text(std::string(l.model->string(l.launch.nvtx_path_id))); }},
      {{.key = "start_offset_ns",
        .header = "start",
        .unit = "µs",
        .help = "begin, from the begin of the step"},
       [](const LaunchLine& l) {
         return analyzer::has_time(l.launch)
                    ? Cell::number(l.launch.start_ns - l.origin_ns, Form::microseconds)
                    : Cell::missing();
       }},
      {{.key = "duration_ns", .header = "time", .unit = "µs", .help = "duration (T0)"},
       [](const LaunchLine& l) {
         return analyzer::has_time(l.launch) ? Cell::number(l.u.duration_ns, Form::microseconds)
                                             : Cell::missing();
       }},
      {{.key = "grid", .header = "grid", .help = "blocks", .align = Align::left, .drop_order = 2},
       [](const LaunchLine& l) { return Cell::text(dimensions(l.launch.grid)); }},
      {{.key = "block",
        .header = "block",
        .help = "threads of a block",
        .align = Align::left,
        .drop_order = 2},
       [](const LaunchLine& l) { return Cell::text(dimensions(l.launch.block)); }},
      {{.key = "stream_id", .header = "stream", .help = "CUPTI's id of the stream", .drop_order = 5},
       [](const LaunchLine& l) { return Cell::number(l.launch.stream_id); }},
      {{.key = "dram_utilisation_ratio",
        .header = "DRAM",
        .unit = "%",
        .help = "DRAM utilisation: by counters (T2), else by samples (T1)"},
       [](const LaunchLine& l) { return value_of(l.u.values->dram_utilisation); }},
      {{.key = "compute_utilisation_ratio",
        .header = "pipe",
        .unit = "%",
        .help = "utilisation of the busiest pipe, likewise",
        .title = "busiest pipe"},
       [](const LaunchLine& l) { return value_of(l.u.values->compute_utilisation); }},
      {{.key = "status",
        .header = "status",
        .help = "`measured`, `launch_bound`, `no_roof`, `unmeasured`",
        .align = Align::left},
       [](const LaunchLine& l) {
         const std::string_view status = to_string(l.u.status);
         const bool unmeasured = l.u.status == LaunchStatus::unmeasured;
         return Cell::worded(l.u.status == LaunchStatus::launch_bound ? "launch-bound" : in_words(status),
                             std::string(status), unmeasured ? Style::fair : Style::plain);
       }},
      {{.key = "reason",
        .header = "reason",
        .help = "what is missing and why",
        .align = Align::left,
        .elide = Elide::end,
        .least_width = 12,
        .drop_order = 6},
       [](const LaunchLine& l) { return Cell::text(absence_text(l.u.values->why)); }},
      measured({.key = "dram_bytes", .header = "DRAM", .unit = "bytes", .help = "bytes read and written"},
               &U::dram_bytes, Form::general),
      measured(
          {.key = "dram_read_bytes", .header = "read", .unit = "bytes", .help = "bytes read from DRAM (T2)"},
          &U::dram_read_bytes, Form::general),
      measured({.key = "dram_write_bytes",
                .header = "written",
                .unit = "bytes",
                .help = "bytes written to DRAM (T2)"},
               &U::dram_write_bytes, Form::general),
      measured(
          {.key = "tensor_ops", .header = "tensor", .unit = "ops", .help = "operations of the tensor pipe"},
          &U::tensor_ops, Form::general),
      {{.key = "registers_per_thread",
        .header = "registers",
        .help = "registers of a thread",
        .drop_order = 9,
        .shown = false},
       [](const LaunchLine& l) { return Cell::number(l.launch.registers_per_thread); }},
      {{.key = "static_smem_bytes",
        .header = "static smem",
        .unit = "bytes",
        .help = "static shared memory of a block",
        .drop_order = 9,
        .shown = false},
       [](const LaunchLine& l) { return Cell::number(l.launch.static_smem_bytes); }},
      {{.key = "dynamic_smem_bytes",
        .header = "dynamic smem",
        .unit = "bytes",
        .help = "dynamic shared memory of a block",
        .drop_order = 9,
        .shown = false},
       [](const LaunchLine& l) { return Cell::number(l.launch.dynamic_smem_bytes); }},
      {{.key = "tier",
        .header = "tier",
        .help = "of the utilisations; `T2/T1`: DRAM by one, compute by the other",
        .align = Align::left,
        .drop_order = 5,
        .shown = sampled},
       [](const LaunchLine& l) { return Cell::text(tiers_of(l.u), Style::dim); }},
      {{.key = "dram_error_ratio",
        .header = "± DRAM",
        .unit = "%",
        .help = "standard error of dram_utilisation_ratio",
        .drop_order = 9,
        .shown = false},
       [](const LaunchLine& l) { return error_of(l.u.values->dram_utilisation); }},
      {{.key = "compute_error_ratio",
        .header = "± pipe",
        .unit = "%",
        .help = "standard error of compute_utilisation_ratio",
        .drop_order = 9,
        .shown = false},
       [](const LaunchLine& l) { return error_of(l.u.values->compute_utilisation); }},
      {{.key = "dram_t1_utilisation_ratio",
        .header = "DRAM",
        .unit = "T1 %",
        .help = "DRAM utilisation by samples alone (T1)",
        .drop_order = 4,
        .shown = sampled},
       [](const LaunchLine& l) { return value_of(l.u.values->t1.dram_utilisation); }},
      {{.key = "dram_t1_error_ratio",
        .header = "±",
        .unit = "T1 %",
        .help = "standard error of dram_t1_utilisation_ratio",
        .drop_order = 4,
        .shown = sampled},
       [](const LaunchLine& l) { return error_of(l.u.values->t1.dram_utilisation); }},
      {{.key = "dram_t1_samples",
        .header = "samples",
        .unit = "T1",
        .help = "samples it rests on",
        .drop_order = 9,
        .shown = false},
       [](const LaunchLine& l) {
         return l.u.values->t1.dram_utilisation ? Cell::number(l.u.values->t1.dram_utilisation->sample_count)
                                                : Cell::missing();
       }},
      {{.key = "dram_t2_utilisation_ratio",
        .header = "DRAM",
        .unit = "T2 %",
        .help = "DRAM utilisation by counters alone (T2)",
        .drop_order = 9,
        .shown = false},
       [](const LaunchLine& l) { return value_of(l.u.values->t2.dram_utilisation); }},
      {{.key = "compute_t1_utilisation_ratio",
        .header = "pipe",
        .unit = "T1 %",
        .help = "utilisation of the busiest pipe by samples alone",
        .drop_order = 9,
        .shown = false},
       [](const LaunchLine& l) { return value_of(l.u.values->t1.compute_utilisation); }},
      {{.key = "compute_t2_utilisation_ratio",
        .header = "pipe",
        .unit = "T2 %",
        .help = "utilisation of the busiest pipe by counters alone",
        .drop_order = 9,
        .shown = false},
       [](const LaunchLine& l) { return value_of(l.u.values->t2.compute_utilisation); }},
      measured({.key = "l2_utilisation_ratio", .header = "L2", .unit = "%", .help = "L2 traffic ÷ its peak"},
               &U::l2_utilisation, Form::percent),
      measured({.key = "l2_bytes", .header = "L2", .unit = "bytes", .help = "traffic between L1 and L2"},
               &U::l2_bytes, Form::general),
      measured({.key = "l2_hit_ratio",
                .header = "L2 hit",
                .unit = "%",
                .help = "sectors found in L2 ÷ sectors asked for"},
               &U::l2_hit_ratio, Form::percent),
      measured({.key = "l1_bytes", .header = "L1", .unit = "bytes", .help = "traffic of the L1 caches"},
               &U::l1_bytes, Form::general),
      measured({.key = "l1_hit_ratio",
                .header = "L1 hit",
                .unit = "%",
                .help = "sectors found in L1 ÷ sectors asked for"},
               &U::l1_hit_ratio, Form::percent),
      measured({.key = "occupancy_ratio", .header = "occupancy", .unit = "%", .help = "achieved occupancy"},
               &U::occupancy_ratio, Form::percent),
      {{.key = "cold_duration_ns",
        .header = "cold",
        .unit = "µs",
        .help = "duration with cold caches (T3)",
        .drop_order = 9,
        .shown = cold},
       [](const LaunchLine& l) { return value_of(l.u.values->cold.duration, Form::microseconds); }},
      {{.key = "cold_dram_utilisation_ratio",
        .header = "DRAM",
        .unit = "cold %",
        .help = "DRAM utilisation with cold caches, over that duration",
        .drop_order = 9,
        .shown = cold},
       [](const LaunchLine& l) { return value_of(l.u.values->cold.dram_utilisation); }},
      {{.key = "cold_dram_bytes",
        .header = "DRAM",
        .unit = "cold B",
        .help = "DRAM traffic with cold caches",
        .drop_order = 9,
        .shown = false},
       [](const LaunchLine& l) { return value_of(l.u.values->cold.dram_bytes, Form::general); }},
  };
  return columns;
}

std::vector<Column<TierComparison>> comparison_columns() {
  return {
      {{.key = "kernel",
        .header = "kernel",
        .help = "demangled name",
        .align = Align::left,
        .elide = Elide::kernel_name,
        .least_width = 26},
       [](const TierComparison& c) { return Cell::text(c.kernel); }},
      {{.key = "calls", .header = "calls", .help = "launches in the step", .drop_order = 2},
       [](const TierComparison& c) { return Cell::number(c.calls); }},
      {{.key = "mean_ns", .header = "mean", .unit = "µs", .help = "mean duration of a launch"},
       [](const TierComparison& c) { return Cell::number(c.mean_ns, Form::microseconds); }},
      {{.key = "t1_ratio", .header = "DRAM T1", .unit = "%", .help = "DRAM utilisation by samples"},
       [](const TierComparison& c) { return Cell::number(c.t1.value, Form::percent); }},
      {{.key = "t1_error_ratio", .header = "± T1", .unit = "%", .help = "its standard error"},
       [](const TierComparison& c) { return error_of(c.t1); }},
      {{.key = "t1_samples",
        .header = "samples",
        .unit = "T1",
        .help = "samples it rests on",
        .drop_order = 3},
       [](const TierComparison& c) { return Cell::number(c.t1.sample_count); }},
      {{.key = "t2_ratio", .header = "DRAM T2", .unit = "%", .help = "DRAM utilisation by counters"},
       [](const TierComparison& c) { return Cell::number(c.t2.value, Form::percent); }},
      {{.key = "t2_error_ratio", .header = "± T2", .unit = "%", .help = "its standard error"},
       [](const TierComparison& c) { return error_of(c.t2); }},
      {{.key = "difference_ratio", .header = "T1−T2", .unit = "points", .help = "samples − counters"},
       [](const TierComparison& c) {
         return Cell::number(c.difference.value, Form::percent, c.flagged ? Style::bad : Style::plain);
       }},
      {{.key = "verdict", .header = "", .help = "true: the two agree", .align = Align::left, .drop_order = 1},
       [](const TierComparison& c) {
         return Cell::worded(c.flagged ? "disagree" : "agree", !c.flagged,
                             c.flagged ? Style::bad : Style::good);
       }},
  };
}

// Of ranges by path the path says the operation; operations of all paths have none.
std::vector<Column<DeclaredWork>> work_columns(bool by_path, bool counted) {
  return {
      {{.key = "path",
        .header = "NVTX range",
        .help = "open ranges, outermost first",
        .align = Align::left,
        .elide = Elide::middle,
        .shown = by_path},
       [](const DeclaredWork& w) { return w.path.empty() ? Cell::missing() : Cell::text(w.path); }},
      {{.key = "operation",
        .header = "operation",
        .help = "the range's own name without its layer",
        .align = Align::left,
        .elide = Elide::middle,
        .shown = !by_path},
       [](const DeclaredWork& w) { return Cell::text(w.operation); }},
      {{.key = "name",
        .header = "declared as",
        .help = "name of the declaration",
        .align = Align::left,
        .elide = Elide::middle,
        .least_width = 8,
        .drop_order = 9,
        .shown = false},
       [](const DeclaredWork& w) { return Cell::text(w.name); }},
      {{.key = "ranges", .header = "ranges", .help = "declaring ranges", .drop_order = 2},
       [](const DeclaredWork& w) { return Cell::number(w.ranges); }},
      {{.key = "launches", .header = "launches", .help = "launches in them", .drop_order = 4},
       [](const DeclaredWork& w) { return Cell::number(w.launches); }},
      {{.key = "kernels", .header = "kernels", .help = "different kernels in them", .drop_order = 4},
       [](const DeclaredWork& w) { return Cell::number(w.kernels); }},
      {{.key = "time_ns", .header = "time", .unit = "ms", .help = "their time"},
       [](const DeclaredWork& w) { return Cell::number(w.time_ns, Form::milliseconds); }},
      {{.key = "declared_bytes",
        .header = "minimum",
        .unit = "GB",
        .help = "minimum traffic: declared bytes",
        .title = "minimum traffic",
        .drop_order = 3},
       [](const DeclaredWork& w) { return Cell::number(w.declared_bytes, Form::gigabytes); }},
      {{.key = "measured_bytes",
        .header = "measured",
        .unit = "GB",
        .help = "measured DRAM traffic",
        .title = "measured traffic",
        .drop_order = 3},
       [](const DeclaredWork& w) { return Cell::number(w.measured_bytes, Form::gigabytes); }},
      {{.key = "bytes_ratio",
        .header = "bytes",
        .unit = "×",
        .help = "measured ÷ minimum traffic",
        .title = "traffic"},
       [](const DeclaredWork& w) { return Cell::number(w.bytes_ratio, Form::ratio); }},
      {{.key = "declared_flops",
        .header = "minimum",
        .unit = "TFLOP",
        .help = "declared operations",
        .title = "minimum work",
        .drop_order = 5},
       [](const DeclaredWork& w) { return Cell::number(w.declared_flops, Form::tera); }},
      {{.key = "measured_tensor_ops",
        .header = "tensor",
        .unit = "TFLOP",
        .help = "operations of the tensor pipe",
        .drop_order = 6},
       [](const DeclaredWork& w) { return Cell::number(w.measured_tensor_ops, Form::tera); }},
      {{.key = "measured_fp_ops",
        .header = "other",
        .unit = "TFLOP",
        .help = "operations of counted instructions",
        .drop_order = 9,
        .shown = counted},
       [](const DeclaredWork& w) { return Cell::number(w.measured_fp_ops, Form::tera); }},
      {{.key = "ops_ratio", .header = "FLOP", .unit = "×", .help = "measured ÷ declared operations"},
       [](const DeclaredWork& w) { return Cell::number(w.ops_ratio, Form::ratio); }},
      {{.key = "minimum_ns",
        .header = "roofline",
        .unit = "ms",
        .help = "roofline time: the shortest that the declared work takes at the roofs",
        .title = "roofline time"},
       [](const DeclaredWork& w) { return Cell::number(w.minimum_ns, Form::milliseconds); }},
      {{.key = "minimum_limiter",
        .header = "roof",
        .help = "which roof that is: `DRAM` or `FLOP`",
        .align = Align::left,
        .drop_order = 1},
       [](const DeclaredWork& w) { return minimum_limiter_cell(w); }},
      {{.key = "minimum_ratio",
        .header = "eff.",
        .unit = "%",
        .help = "roofline efficiency: roofline time ÷ time",
        .title = "roofline efficiency"},
       [](const DeclaredWork& w) { return Cell::number(w.minimum_ratio, Form::percent); }},
  };
}

}  // namespace

Table launches_table(const analyzer::Model& model, const analyzer::Analysis& analysis) {
  const auto& launches = analysis.utilisation.launches;
  const std::int64_t origin_ns = analysis.steps.representative.window_start_ns;
  return {
      launch_columns(!analysis.utilisation.sample_steps.empty(), !analysis.utilisation.cold_steps.empty()),
      launches.size(), [&model, &launches, origin_ns](std::size_t i) {
        LaunchUtilisation u = launches[i];
        const store::Launch launch = model.launches[u.launch];
        return LaunchLine{&model, std::move(u), launch, origin_ns};
      }};
}

Table comparison_table(const analyzer::Quality& quality) {
  const auto& all = quality.comparisons;
  return {comparison_columns(), all.size(),
          [&all](std::size_t i) -> const TierComparison& { return all[i]; }};
}

Table declared_work_table(const std::vector<DeclaredWork>& work) {
  const bool by_path = !work.empty() && !work.front().path.empty();
  const bool counted =
      std::any_of(work.begin(), work.end(), [](const auto& w) { return w.measured_fp_ops.has_value(); });
  return {work_columns(by_path, counted), work.size(),
          [&work](std::size_t i) -> const DeclaredWork& { return work[i]; }};
}

}  // namespace ridgeline::reports
