// launch_tables.cpp: launches, and the tiers side by side, as tables.
#include <fmt/format.h>

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cells.h"
#include "column_heads.h"
#include "ridgeline/reports/absence_text.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/tables.h"

namespace ridgeline::reports {
namespace {

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

using LaunchColumns = std::vector<Column<LaunchLine>>;
using Values = analyzer::LaunchValues;
using OfTier = analyzer::TierUtilisation;
using Value = std::optional<analyzer::Measured>;

Column<LaunchLine> number(ColumnHead head, std::int64_t store::Launch::*of) {
  return {std::move(head), [of](const LaunchLine& l) { return Cell::number(l.launch.*of); }};
}

// What is shown of a launch, or what one tier says; and its standard error.
Column<LaunchLine> value(ColumnHead head, Value Values::*of, Form form = Form::percent) {
  return {std::move(head), [of, form](const LaunchLine& l) { return value_of((*l.u.values).*of, form); }};
}
Column<LaunchLine> error(ColumnHead head, Value Values::*of) {
  return {std::move(head), [of](const LaunchLine& l) { return error_of((*l.u.values).*of); }};
}
Column<LaunchLine> value(ColumnHead head, OfTier Values::*tier, Value OfTier::*of,
                         Form form = Form::percent) {
  return {std::move(head),
          [tier, of, form](const LaunchLine& l) { return value_of((*l.u.values).*tier.*of, form); }};
}
Column<LaunchLine> error(ColumnHead head, OfTier Values::*tier, Value OfTier::*of) {
  return {std::move(head), [tier, of](const LaunchLine& l) { return error_of((*l.u.values).*tier.*of); }};
}

// A column for each metric of the group that has one.
void add_metrics(LaunchColumns& columns, analyzer::MetricGroup group) {
  for (const analyzer::Metric metric : analyzer::kAllMetrics) {
    const analyzer::MetricEntry& entry = metric.entry();
    if (entry.group != group || entry.launch_header.empty()) continue;
    const bool bytes = entry.unit == analyzer::MetricUnit::bytes;
    columns.push_back({extra({.key = std::string(entry.key),
                              .header = std::string(entry.launch_header),
                              .unit = bytes ? "bytes" : "%",
                              .help = std::string(entry.launch_help)}),
                       [metric, form = bytes ? Form::general : Form::percent](const LaunchLine& l) {
                         return value_of(l.u.values->metrics.of(metric), form);
                       }});
  }
}

void add_names(LaunchColumns& columns) {
  columns.push_back({{.key = "ordinal", .header = "no.", .help = "position in the step, from 0"},
                     [](const LaunchLine& l) { return Cell::number(l.u.ordinal); }});
  columns.push_back(
      {{.key = "kernel",
        .header = "kernel",
        .help = "demangled name",
        .align = Align::left,
        .elide = Elide::kernel_name,
        .min_width = 26},
       [](const LaunchLine& l) { return Cell::text(std::string(l.model->kernel_name(l.launch))); }});
  columns.push_back({{.key = "class",
                      .header = "class",
                      .help = "gemm, attention, ...",
                      .align = Align::left,
                      .elide = Elide::end,
                      .min_width = 8,
                      .drop_order = 3},
                     [](const LaunchLine& l) {
                       return Cell::text(std::string(to_string(l.model->kernel_class(l.launch))));
                     }});
  columns.push_back(
      {{.key = "nvtx_path",
        .header = "NVTX range",
        .help = "ranges that were open at the launch",
        .align = Align::left,
        .elide = Elide::middle,
        .min_width = 16,
        .drop_order = 4},
       [](const LaunchLine& l) { return Cell::text(std::string(l.model->string(l.launch.nvtx_path_id))); }});
}

void add_launch(LaunchColumns& columns) {
  columns.push_back({{.key = "start_offset_ns",
                      .header = "start",
                      .unit = "µs",
                      .help = "start time, relative to the step's start"},
                     [](const LaunchLine& l) {
                       return analyzer::has_time(l.launch)
                                  ? Cell::number(l.launch.start_ns - l.origin_ns, Form::microseconds)
                                  : Cell::missing();
                     }});
  columns.push_back({{.key = "duration_ns", .header = "time", .unit = "µs", .help = "duration (T0)"},
                     [](const LaunchLine& l) {
                       return analyzer::has_time(l.launch) ? Cell::number(l.u.duration_ns, Form::microseconds)
                                                           : Cell::missing();
                     }});
  columns.push_back(
      {{.key = "grid", .header = "grid", .help = "blocks", .align = Align::left, .drop_order = 2},
       [](const LaunchLine& l) { return Cell::text(dimensions(l.launch.grid)); }});
  columns.push_back({{.key = "block",
                      .header = "block",
                      .help = "threads of a block",
                      .align = Align::left,
                      .drop_order = 2},
                     [](const LaunchLine& l) { return Cell::text(dimensions(l.launch.block)); }});
  columns.push_back(
      number({.key = "stream_id", .header = "stream", .help = "CUPTI's id of the stream", .drop_order = 5},
             &store::Launch::stream_id));
}

void add_verdict(LaunchColumns& columns) {
  columns.push_back(value({.key = "dram_utilisation_ratio",
                           .header = "DRAM",
                           .unit = "%",
                           .help = "DRAM utilisation: by counters (T2), else by samples (T1)"},
                          &Values::dram_utilisation));
  columns.push_back(value({.key = "compute_utilisation_ratio",
                           .header = "pipe",
                           .unit = "%",
                           .help = "utilisation of the busiest pipe, likewise",
                           .title = "busiest pipe"},
                          &Values::compute_utilisation));
  columns.push_back({{.key = "status",
                      .header = "status",
                      .help = "`measured`, `launch_bound`, `no_roof`, `unmeasured`",
                      .align = Align::left},
                     [](const LaunchLine& l) {
                       const std::string_view status = to_string(l.u.status);
                       const bool unmeasured = l.u.status == LaunchStatus::unmeasured;
                       return Cell::worded(
                           l.u.status == LaunchStatus::too_short ? "too short" : in_words(status),
                           std::string(status), unmeasured ? Style::fair : Style::plain);
                     }});
  columns.push_back({{.key = "reason",
                      .header = "reason",
                      .help = "what is missing and why",
                      .align = Align::left,
                      .elide = Elide::end,
                      .min_width = 12,
                      .drop_order = 6},
                     [](const LaunchLine& l) { return Cell::text(absence_text(l.u.values->why)); }});
}

void add_amounts(LaunchColumns& columns) {
  columns.push_back(
      value(extra({.key = "dram_bytes", .header = "DRAM", .unit = "bytes", .help = "bytes read and written"}),
            &Values::dram_bytes, Form::general));
  add_metrics(columns, analyzer::MetricGroup::dram);
  columns.push_back(value(
      extra(
          {.key = "tensor_ops", .header = "tensor", .unit = "ops", .help = "operations of the tensor pipe"}),
      &Values::tensor_ops, Form::general));
  columns.push_back(
      number(extra({.key = "registers_per_thread", .header = "registers", .help = "registers of a thread"}),
             &store::Launch::registers_per_thread));
  columns.push_back(number(extra({.key = "static_smem_bytes",
                                  .header = "static smem",
                                  .unit = "bytes",
                                  .help = "static shared memory of a block"}),
                           &store::Launch::static_smem_bytes));
  columns.push_back(number(extra({.key = "dynamic_smem_bytes",
                                  .header = "dynamic smem",
                                  .unit = "bytes",
                                  .help = "dynamic shared memory of a block"}),
                           &store::Launch::dynamic_smem_bytes));
}

void add_tiers(LaunchColumns& columns, bool sampled) {
  columns.push_back({{.key = "tier",
                      .header = "tier",
                      .help = "of the utilisations; `T2/T1`: DRAM by one, compute by the other",
                      .align = Align::left,
                      .drop_order = 5,
                      .shown = sampled},
                     [](const LaunchLine& l) { return Cell::text(tiers_of(l.u), Style::dim); }});
  columns.push_back(error(extra({.key = "dram_error_ratio",
                                 .header = "± DRAM",
                                 .unit = "%",
                                 .help = "standard error of dram_utilisation_ratio"}),
                          &Values::dram_utilisation));
  columns.push_back(error(extra({.key = "compute_error_ratio",
                                 .header = "± pipe",
                                 .unit = "%",
                                 .help = "standard error of compute_utilisation_ratio"}),
                          &Values::compute_utilisation));
  columns.push_back(value({.key = "dram_t1_utilisation_ratio",
                           .header = "DRAM",
                           .unit = "T1 %",
                           .help = "DRAM utilisation by samples alone (T1)",
                           .drop_order = 4,
                           .shown = sampled},
                          &Values::t1, &OfTier::dram_utilisation));
  columns.push_back(error({.key = "dram_t1_error_ratio",
                           .header = "±",
                           .unit = "T1 %",
                           .help = "standard error of dram_t1_utilisation_ratio",
                           .drop_order = 4,
                           .shown = sampled},
                          &Values::t1, &OfTier::dram_utilisation));
  columns.push_back(
      {extra({.key = "dram_t1_samples", .header = "samples", .unit = "T1", .help = "samples it rests on"}),
       [](const LaunchLine& l) {
         const Value& dram = l.u.values->t1.dram_utilisation;
         return dram ? Cell::number(dram->sample_count) : Cell::missing();
       }});
  columns.push_back(value(extra({.key = "dram_t2_utilisation_ratio",
                                 .header = "DRAM",
                                 .unit = "T2 %",
                                 .help = "DRAM utilisation by counters alone (T2)"}),
                          &Values::t2, &OfTier::dram_utilisation));
  columns.push_back(value(extra({.key = "compute_t1_utilisation_ratio",
                                 .header = "pipe",
                                 .unit = "T1 %",
                                 .help = "utilisation of the busiest pipe by samples alone"}),
                          &Values::t1, &OfTier::compute_utilisation));
  columns.push_back(value(extra({.key = "compute_t2_utilisation_ratio",
                                 .header = "pipe",
                                 .unit = "T2 %",
                                 .help = "utilisation of the busiest pipe by counters alone"}),
                          &Values::t2, &OfTier::compute_utilisation));
}

void add_cold(LaunchColumns& columns, bool cold) {
  columns.push_back(value({.key = "cold_duration_ns",
                           .header = "cold",
                           .unit = "µs",
                           .help = "duration with cold caches (T3)",
                           .drop_order = 9,
                           .shown = cold},
                          &Values::cold, &OfTier::duration, Form::microseconds));
  columns.push_back(value({.key = "cold_dram_utilisation_ratio",
                           .header = "DRAM",
                           .unit = "cold %",
                           .help = "DRAM utilisation with cold caches, over that duration",
                           .drop_order = 9,
                           .shown = cold},
                          &Values::cold, &OfTier::dram_utilisation));
  columns.push_back(value(extra({.key = "cold_dram_bytes",
                                 .header = "DRAM",
                                 .unit = "cold B",
                                 .help = "DRAM traffic with cold caches"}),
                          &Values::cold, &OfTier::dram_bytes, Form::general));
}

LaunchColumns launch_columns(bool sampled, bool cold) {
  LaunchColumns columns;
  add_names(columns);
  add_launch(columns);
  add_verdict(columns);
  add_amounts(columns);
  add_tiers(columns, sampled);
  add_metrics(columns, analyzer::MetricGroup::caches);
  add_metrics(columns, analyzer::MetricGroup::occupancy);
  add_metrics(columns, analyzer::MetricGroup::sms);
  add_cold(columns, cold);
  return columns;
}

std::vector<Column<TierComparison>> comparison_columns() {
  return {
      {{.key = "kernel",
        .header = "kernel",
        .help = "demangled name",
        .align = Align::left,
        .elide = Elide::kernel_name,
        .min_width = 26},
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

}  // namespace

Table launches_table(const analyzer::Model& model, const analyzer::Analysis& analysis) {
  const auto& launches = analysis.utilisation.launches;
  const std::int64_t origin_ns = analysis.steps.representative.window_start_ns;
  return {launch_columns(analysis.utilisation.sampled, !analysis.utilisation.cold_steps.empty()),
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

}  // namespace ridgeline::reports
