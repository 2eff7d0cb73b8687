#include "ranking_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "cells.h"
#include "ridgeline/reports/absence_text.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/tables.h"

namespace ridgeline::reports {
namespace {

using analyzer::RankKey;
using analyzer::RankRow;
using analyzer::RoofLevel;

using Columns = std::vector<Column<RankLine>>;

// "70%", narrow enough for a column's head.
std::string compact(double ratio) {
  std::string text = target_text(ratio);
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  return text;
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
      return "NVTX range";
    case RankKey::phase:
      return "phase";
    case RankKey::layer:
      return "layer";
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

// Colour of a utilisation that is the row's nearest roof, against the targets.
Style roof_style(const RankLine& line, RoofLevel level) {
  const RankRow& row = *line.row;
  if (!row.nearest || row.nearest->level != level || !row.limiter) return Style::plain;
  return utilisation_style(*row.limiter, line.options->target, line.options->stretch);
}

// Nothing saved and nothing known are not the same.
Cell saving(const RankLine& line, double value, Form form) {
  return line.row->unmeasured_calls < line.row->calls ? Cell::number(value, form) : Cell::missing();
}

void add_names(Columns& columns, const RankView& view) {
  const RankKey key = view.options.key;
  const bool by_launch = key == RankKey::launch;
  columns.push_back(
      {extra({.key = "rank", .header = "#", .help = "1 is the row whose improvement would save most"}),
       [](const RankLine& l) {
         return l.number > 0 ? Cell::number(static_cast<std::int64_t>(l.number)) : Cell();
       }});
  if (by_launch) {
    columns.push_back(
        // Launches of one kernel look alike without it.
        {{.key = "ordinal", .header = "no.", .help = "position in the step, from 0"}, [](const RankLine& l) {
           if (l.row->launches.empty()) return Cell::missing();
           return Cell::number(l.utilisation->launches.row(l.row->launches.front()).ordinal);
         }});
  }
  columns.push_back({{.key = "key",
                      .header = group_header(key),
                      .help = "what the row stands for: kernel, class, range, ...",
                      .align = Align::left,
                      .elide = group_elision(key),
                      .least_width = 24,
                      .total = Total::parts},
                     [by_launch](const RankLine& l) {
                       if (l.number == 0) return Cell::text(l.row->key, Style::strong);
                       return Cell::text(by_launch ? l.row->kernel : l.row->key);
                     }});
  columns.push_back({{.key = "kernel",
                      .header = "kernel",
                      .help = "demangled name; of the longest launch if the row mixes kernels",
                      .align = Align::left,
                      .elide = Elide::kernel_name,
                      .least_width = 26,
                      .drop_order = 9,
                      .shown = false,
                      .repeats = key == RankKey::kernel || by_launch},
                     [](const RankLine& l) { return Cell::text(l.row->kernel); }});
  columns.push_back({extra_text({.key = "normalised_name",
                                 .header = "family",
                                 .help = "the name without template arguments, likewise"}),
                     [](const RankLine& l) { return Cell::text(l.row->normalised_name); }});
  columns.push_back(
      {extra_text({.key = "class", .header = "class", .help = "gemm, attention, ..., likewise"}),
       [](const RankLine& l) { return Cell::text(std::string(to_string(l.row->kernel_class))); }});
  // With samples beside the counters 80 columns no longer hold everything: tier and error stay.
  columns.push_back({{.key = "calls",
                      .header = "calls",
                      .help = "launches in the step",
                      .drop_order = by_launch      ? 7
                                    : view.sampled ? 6
                                                   : 2,
                      .total = Total::parts},
                     [](const RankLine& l) { return Cell::number(l.row->calls); }});
}

void add_main(Columns& columns, const RankView& view) {
  const bool sampled = view.sampled;
  const std::string target = target_text(view.options.target), stretch = target_text(view.options.stretch);
  const auto saved_help = [](const std::string& goal) {
    return "how much less time the calls would take if each launch below " + goal +
           " of its nearest roof reached it";
  };
  columns.push_back({{.key = "time_ns",
                      .header = "time",
                      .unit = "ms",
                      .help = "summed time of the calls (T0)",
                      .total = Total::parts},
                     [](const RankLine& l) { return Cell::number(l.row->time_ns, Form::milliseconds); }});
  columns.push_back({{.key = "step_share_ratio",
                      .header = "step",
                      .unit = "%",
                      .help = "that time ÷ the step's time",
                      .title = "of step",
                      .total = Total::parts},
                     [](const RankLine& l) { return Cell::number(l.row->step_share, Form::percent); }});
  columns.push_back(
      {{.key = "dram_utilisation_ratio",
        .header = "DRAM",
        .unit = "%",
        .help = "bytes read and written ÷ time ÷ DRAM peak: by counters (T2), else by samples (T1)"},
       [](const RankLine& l) {
         return value_of(l.row->dram, Form::percent, roof_style(l, RoofLevel::dram));
       }});
  columns.push_back({{.key = "dram_t1_utilisation_ratio",
                      .header = "DRAM",
                      .unit = "T1 %",
                      .help = "DRAM utilisation by samples alone (T1)",
                      .drop_order = 4,
                      .shown = sampled},
                     [](const RankLine& l) { return value_of(l.row->dram_t1); }});
  columns.push_back({{.key = "compute_utilisation_ratio",
                      .header = "pipe",
                      .unit = "%",
                      .help = "cycles of the busiest pipe ÷ cycles; compute_pipe names it",
                      .title = "busiest pipe"},
                     [](const RankLine& l) {
                       return value_of(l.row->compute, Form::percent, roof_style(l, RoofLevel::pipe));
                     }});
  columns.push_back(
      {{.key = "limiter",
        .header = "nearest",
        .unit = "roof",
        .help = "nearest roof: `DRAM` or a pipe, whichever is used more (`≈`: another is as near, see "
                "`near_roofs`); `launch`: launch-bound, "
                "too short for any roof; `no roof`; `?`: not measured",
        .align = Align::left,
        .drop_order = 1},
       [](const RankLine& l) { return Cell::worded(nearest_word(*l.row), limiter_word(*l.row)); }});
  columns.push_back(
      {{.key = "bound",
        .header = "bound",
        .help =
            "what bounds most of the time: `memory` (DRAM or L2 at 60 % or more and nearest), `compute` (a "
            "pipe or "
            "the issue slots likewise), `latency` (no roof at 60 %), `launch_bound`, `no_roof`, `unmeasured`",
        .align = Align::left,
        .drop_order = 1},
       [](const RankLine& l) {
         return Cell::worded(bound_word(*l.row), std::string(to_string(l.row->bound)));
       }});
  columns.push_back(
      {extra({.key = "limiter_utilisation_ratio",
              .header = "SOL",
              .unit = "%",
              .help = "utilisation of the nearest roof (SOL): the larger of the two, of launches "
                      "long enough for a roof"}),
       [](const RankLine& l) { return Cell::number(l.row->limiter, Form::percent); }});
  columns.push_back({{.key = "limiter_error_ratio",
                      .header = "±",
                      .unit = "%",
                      .help = "standard error of that utilisation",
                      .title = "± SOL",
                      .drop_order = sampled ? 2 : 4},
                     [](const RankLine& l) {
                       if (!l.row->nearest) return Cell::missing();
                       return error_of(l.row->nearest->level == RoofLevel::dram ? l.row->dram
                                                                                : l.row->compute);
                     }});
  columns.push_back(
      {{.key = "saved_target_ns",
        .header = "saving",
        .unit = "ms @" + compact(view.options.target),
        .help = saved_help(target),
        .title = "saving",
        .total = Total::parts},
       [](const RankLine& l) { return saving(l, l.row->saved_target_ns, Form::milliseconds); }});
  columns.push_back(
      {{.key = "reached_target_ns",
        .header = "reaches",
        .unit = "step, ms",
        .help = "what the step itself would be shorter by if this row alone reached the target, as "
                "simulated; of all "
                "rows: if all of them did",
        .title = "of it reaches the step",
        .shown = view.simulated,
        .total = Total::all},
       [](const RankLine& l) { return Cell::number(l.row->reached_target_ns, Form::milliseconds); }});
  columns.push_back(
      {{.key = "saved_stretch_ns",
        .header = "saving",
        .unit = "ms @" + compact(view.options.stretch),
        .help = saved_help(stretch),
        .title = "saving",
        .drop_order = sampled ? 5 : 0,
        .total = Total::parts},
       [](const RankLine& l) { return saving(l, l.row->saved_stretch_ns, Form::milliseconds); }});
  columns.push_back(
      {{.key = "tier",
        .header = "tier",
        .help = "what the utilisations come from: `T2` counted in replayed steps, `T1` sampled in "
                "running ones, `T1,T2` both; `T0`: there is only time",
        .align = Align::left,
        .drop_order = sampled ? 3 : 5},
       [](const RankLine& l) { return Cell::text(to_string(l.row->tier), Style::dim); }});
}

void add_parts(Columns& columns) {
  columns.push_back(
      {extra({.key = "reached_stretch_ns",
              .header = "reaches",
              .unit = "step, ms",
              .help = "what the step itself would be shorter by if this row alone reached the stretch goal, "
                      "as simulated",
              .total = Total::all}),
       [](const RankLine& l) { return Cell::number(l.row->reached_stretch_ns, Form::milliseconds); }});
  columns.push_back({extra({.key = "saved_target_ratio",
                            .header = "saving",
                            .unit = "%",
                            .help = "saving at the target ÷ the step's time"}),
                     [](const RankLine& l) { return saving(l, l.row->saved_target_share, Form::percent); }});
  columns.push_back({extra({.key = "saved_stretch_ratio",
                            .header = "stretch",
                            .unit = "%",
                            .help = "saving at the stretch goal ÷ the step's time"}),
                     [](const RankLine& l) { return saving(l, l.row->saved_stretch_share, Form::percent); }});
  columns.push_back(
      {extra(
           {.key = "saved_target_latency_ns",
            .header = "potential",
            .unit = "ms",
            .help =
                "of the saving at the target, that of latency-bound launches: no roof says what holds them"}),
       [](const RankLine& l) { return saving(l, l.row->saved_target_latency_ns, Form::milliseconds); }});
  columns.push_back(
      {extra({.key = "saved_target_exposed_ns",
              .header = "not hidden",
              .unit = "ms",
              .help =
                  "of the saving at the target, what does not run beside other kernels: launches that run at "
                  "once share their time"}),
       [](const RankLine& l) { return saving(l, l.row->saved_target_exposed_ns, Form::milliseconds); }});
  columns.push_back(
      {extra({.key = "saved_stretch_exposed_ns",
              .header = "not hidden",
              .unit = "ms",
              .help = "the same at the stretch goal"}),
       [](const RankLine& l) { return saving(l, l.row->saved_stretch_exposed_ns, Form::milliseconds); }});
  columns.push_back(
      {extra_text({.key = "bound_roof",
                   .header = "bound by",
                   .help =
                       "the roof that bounds a memory-bound or compute-bound row: `DRAM`, `L2`, `issue` or "
                       "a pipe"}),
       [](const RankLine& l) {
         return l.row->bound_roof ? Cell::text(std::string(to_string(*l.row->bound_roof))) : Cell::missing();
       }});
  columns.push_back(
      {extra_text({.key = "near_roofs",
                   .header = "as near",
                   .help = "roofs at most 3 points below the nearest, or above it (L2 and issue slots are no "
                           "targets), nearest first"}),
       [](const RankLine& l) {
         std::string text;
         for (const analyzer::Roof roof : l.row->near_roofs)
           text += (text.empty() ? "" : ", ") + std::string(to_string(roof));
         return text.empty() ? Cell::missing() : Cell::text(text);
       }});
  columns.push_back(
      {extra({.key = "saved_target_error_ns",
              .header = "± saving",
              .unit = "ms",
              .help = "standard error of the saving at the target"}),
       [](const RankLine& l) { return Cell::number(l.row->saved_target_error_ns, Form::milliseconds); }});
  columns.push_back({extra({.key = "dram_utilisation_error_ratio",
                            .header = "± DRAM",
                            .unit = "%",
                            .help = "standard error of dram_utilisation_ratio"}),
                     [](const RankLine& l) { return error_of(l.row->dram); }});
  columns.push_back({extra({.key = "compute_utilisation_error_ratio",
                            .header = "± pipe",
                            .unit = "%",
                            .help = "standard error of compute_utilisation_ratio"}),
                     [](const RankLine& l) { return error_of(l.row->compute); }});
  columns.push_back({extra_text({.key = "compute_pipe",
                                 .header = "busiest pipe",
                                 .help = "`tensor`, `fma`, `fp16`, `fp64`, `alu`, `xu`"}),
                     [](const RankLine& l) {
                       return Cell::text(l.row->busiest_pipe ? std::string(to_string(*l.row->busiest_pipe))
                                                             : "");
                     }});
  columns.push_back({extra({.key = "dram_bytes",
                            .header = "DRAM",
                            .unit = "bytes",
                            .help = "measured traffic of all calls that have a value"}),
                     [](const RankLine& l) { return Cell::number(l.row->dram_bytes, Form::general); }});
  columns.push_back({extra({.key = "tensor_ops",
                            .header = "tensor",
                            .unit = "ops",
                            .help = "operations of the tensor pipe of all calls that have a value"}),
                     [](const RankLine& l) { return Cell::number(l.row->tensor_ops, Form::general); }});

  struct Part {
    const char* name;
    const char* header;
    const char* help;
    std::int64_t RankRow::*time_ns;
    std::int64_t RankRow::*calls;
  };
  const Part parts[] = {
      {"measured", "measured", "launches with both utilisations", &RankRow::measured_time_ns,
       &RankRow::measured_calls},
      {"launch_bound", "launch-bound", "launches too short for any roof", &RankRow::launch_bound_time_ns,
       &RankRow::launch_bound_calls},
      {"no_roof", "no roof", "launches without a meaningful roof", &RankRow::no_roof_time_ns,
       &RankRow::no_roof_calls},
      {"unmeasured", "unmeasured", "launches without a utilisation", &RankRow::unmeasured_time_ns,
       &RankRow::unmeasured_calls},
  };
  for (const Part& part : parts) {
    columns.push_back(
        {extra({.key = std::string(part.name) + "_time_ns",
                .header = part.header,
                .unit = "ms",
                .help = std::string("time of the ") + part.help}),
         [of = part.time_ns](const RankLine& l) { return Cell::number(l.row->*of, Form::milliseconds); }});
  }
  for (const Part& part : parts) {
    columns.push_back({extra({.key = std::string(part.name) + "_calls",
                              .header = part.header,
                              .unit = "calls",
                              .help = std::string("number of ") + part.help}),
                       [of = part.calls](const RankLine& l) { return Cell::number(l.row->*of); }});
  }
  columns.push_back({extra_text({.key = "missing",
                                 .header = "missing",
                                 .help = "why launches have no utilisation, as an identifier",
                                 .repeats = true}),
                     [](const RankLine& l) { return Cell::text(std::string(to_string(l.row->missing))); }});
  columns.push_back({extra_text({.key = "reason", .header = "reason", .help = "the same in words"}),
                     [](const RankLine& l) { return Cell::text(absence_text(l.row->why)); }});
  columns.push_back(
      {extra({.key = "replay_disagreement_ratio",
              .header = "replay",
              .unit = "+%",
              .help = "duration in replay ÷ in the timeline − 1"}),
       [](const RankLine& l) { return Cell::number(l.row->replay_disagreement, Form::percent); }});
}

void add_tiers(Columns& columns) {
  columns.push_back(
      {extra_text({.key = "dram_tier", .header = "DRAM by", .help = "tier of dram_utilisation_ratio"}),
       [](const RankLine& l) { return tier_of(l.row->dram); }});
  columns.push_back(
      {extra_text({.key = "compute_tier", .header = "pipe by", .help = "tier of compute_utilisation_ratio"}),
       [](const RankLine& l) { return tier_of(l.row->compute); }});
  columns.push_back(
      {extra({.key = "dram_t1_error_ratio",
              .header = "±",
              .unit = "T1 %",
              .help = "standard error of dram_t1_utilisation_ratio; how steps differ is in it if several "
                      "were sampled"}),
       [](const RankLine& l) { return error_of(l.row->dram_t1); }});
  columns.push_back({extra({.key = "dram_t2_utilisation_ratio",
                            .header = "DRAM",
                            .unit = "T2 %",
                            .help = "DRAM utilisation by counters alone (T2)"}),
                     [](const RankLine& l) { return value_of(l.row->dram_t2); }});
  columns.push_back({extra({.key = "dram_t2_error_ratio",
                            .header = "±",
                            .unit = "T2 %",
                            .help = "standard error of dram_t2_utilisation_ratio"}),
                     [](const RankLine& l) { return error_of(l.row->dram_t2); }});
  columns.push_back({extra({.key = "dram_difference_ratio",
                            .header = "T1−T2",
                            .unit = "points",
                            .help = "samples − counters, over the launches that have both"}),
                     [](const RankLine& l) { return value_of(l.row->dram_difference); }});
  columns.push_back({extra({.key = "dram_difference_error_ratio",
                            .header = "± T1−T2",
                            .unit = "points",
                            .help = "standard error of dram_difference_ratio"}),
                     [](const RankLine& l) { return error_of(l.row->dram_difference); }});
  columns.push_back({extra({.key = "compute_t1_utilisation_ratio",
                            .header = "pipe",
                            .unit = "T1 %",
                            .help = "utilisation of the busiest pipe by samples alone (T1)"}),
                     [](const RankLine& l) { return value_of(l.row->compute_t1); }});
  columns.push_back({extra({.key = "compute_t1_error_ratio",
                            .header = "± pipe",
                            .unit = "T1 %",
                            .help = "standard error of compute_t1_utilisation_ratio"}),
                     [](const RankLine& l) { return error_of(l.row->compute_t1); }});
  columns.push_back({extra({.key = "compute_t2_utilisation_ratio",
                            .header = "pipe",
                            .unit = "T2 %",
                            .help = "utilisation of the busiest pipe by counters alone (T2)"}),
                     [](const RankLine& l) { return value_of(l.row->compute_t2); }});
  columns.push_back({extra({.key = "tensor_t1_utilisation_ratio",
                            .header = "tensor",
                            .unit = "T1 %",
                            .help = "utilisation of the tensor pipe by samples alone (T1)"}),
                     [](const RankLine& l) { return value_of(l.row->tensor_t1); }});
  columns.push_back({extra({.key = "tensor_t1_error_ratio",
                            .header = "± tensor",
                            .unit = "T1 %",
                            .help = "standard error of tensor_t1_utilisation_ratio"}),
                     [](const RankLine& l) { return error_of(l.row->tensor_t1); }});
  columns.push_back({extra({.key = "tensor_t2_utilisation_ratio",
                            .header = "tensor",
                            .unit = "T2 %",
                            .help = "utilisation of the tensor pipe by counters alone (T2)"}),
                     [](const RankLine& l) { return value_of(l.row->tensor_t2); }});
  columns.push_back({extra({.key = "tensor_difference_ratio",
                            .header = "tensor",
                            .unit = "T1−T2",
                            .help = "tensor pipe by samples − by counters, in points, over the launches that "
                                    "have both"}),
                     [](const RankLine& l) { return value_of(l.row->tensor_difference); }});
  columns.push_back({extra({.key = "t1_time_ns",
                            .header = "by T1",
                            .unit = "ms",
                            .help = "time of the launches with a DRAM utilisation by samples"}),
                     [](const RankLine& l) { return Cell::number(l.row->t1_time_ns, Form::milliseconds); }});
  columns.push_back({extra({.key = "t2_time_ns",
                            .header = "by T2",
                            .unit = "ms",
                            .help = "time of the launches with a DRAM utilisation by counters"}),
                     [](const RankLine& l) { return Cell::number(l.row->t2_time_ns, Form::milliseconds); }});
  columns.push_back(
      {extra({.key = "t1_concurrent_time_ns",
              .header = "shared",
              .unit = "ms",
              .help = "part of t1_time_ns whose values are of several kernels at once"}),
       [](const RankLine& l) { return Cell::number(l.row->t1_concurrent_time_ns, Form::milliseconds); }});
}

// Bytes moved by all calls of a row; shown only if asked for.
Column<RankLine> traffic(ColumnHead head, std::optional<double> analyzer::RankRow::*of) {
  head.unit = "MB";
  return {extra(std::move(head)),
          [of](const RankLine& l) { return Cell::number((*l.row).*of, Form::megabytes); }};
}

void add_caches(Columns& columns) {
  using Row = analyzer::RankRow;
  columns.push_back(traffic(
      {.key = "dram_read_bytes", .header = "read", .help = "bytes read from DRAM (T2)", .title = "DRAM read"},
      &Row::dram_read_bytes));
  columns.push_back(traffic({.key = "dram_write_bytes",
                             .header = "written",
                             .help = "bytes written to DRAM (T2)",
                             .title = "DRAM written"},
                            &Row::dram_write_bytes));
  columns.push_back({extra({.key = "l2_utilisation_ratio",
                            .header = "L2",
                            .unit = "%",
                            .help = "L2 traffic ÷ its peak: by counters, else by samples"}),
                     [](const RankLine& l) { return value_of(l.row->l2); }});
  columns.push_back(
      traffic({.key = "l2_bytes", .header = "L2", .help = "traffic between L1 and L2"}, &Row::l2_bytes));
  columns.push_back({extra({.key = "l2_hit_ratio",
                            .header = "L2 hit",
                            .unit = "%",
                            .help = "sectors found in L2 ÷ sectors asked for"}),
                     [](const RankLine& l) { return value_of(l.row->l2_hit_ratio); }});
  columns.push_back(
      traffic({.key = "l1_bytes", .header = "L1", .help = "traffic of the L1 caches (T2)"}, &Row::l1_bytes));
  columns.push_back({extra({.key = "l1_hit_ratio",
                            .header = "L1 hit",
                            .unit = "%",
                            .help = "sectors found in L1 ÷ sectors asked for (T2)"}),
                     [](const RankLine& l) { return value_of(l.row->l1_hit_ratio); }});
  columns.push_back(
      {extra({.key = "occupancy_ratio",
              .header = "occup.",
              .unit = "%",
              .help = "achieved occupancy: resident warps ÷ the most, while an SM was active (T2)",
              .title = "achieved occupancy"}),
       [](const RankLine& l) { return value_of(l.row->occupancy); }});
  columns.push_back(
      {extra(
           {.key = "issue_utilisation_ratio",
            .header = "issue",
            .unit = "%",
            .help = "issue slots in which an instruction was issued, of those of the cycles that passed (T2)",
            .title = "issue slots used"}),
       [](const RankLine& l) { return value_of(l.row->issue); }});
  columns.push_back(
      {extra({.key = "sm_active_ratio",
              .header = "SM act.",
              .unit = "%",
              .help = "cycles in which an SM had a warp, of those that passed; mean over the SMs",
              .title = "SMs active"}),
       [](const RankLine& l) { return value_of(l.row->sm_active); }});
}

void add_cold(Columns& columns) {
  columns.push_back(
      {extra({.key = "cold_time_ns",
              .header = "cold",
              .unit = "ms",
              .help = "time with caches emptied before each launch (T3)"}),
       [](const RankLine& l) { return Cell::number(l.row->cold_time_ns, Form::milliseconds); }});
  columns.push_back(
      {extra({.key = "cold_in_situ_time_ns",
              .header = "in step",
              .unit = "ms",
              .help = "time of the same launches in the running step"}),
       [](const RankLine& l) { return Cell::number(l.row->cold_in_situ_time_ns, Form::milliseconds); }});
  columns.push_back({extra({.key = "cold_dram_utilisation_ratio",
                            .header = "DRAM",
                            .unit = "cold %",
                            .help = "DRAM utilisation with cold caches, over the time it took then"}),
                     [](const RankLine& l) { return value_of(l.row->cold_dram); }});
  columns.push_back(traffic({.key = "cold_in_situ_dram_bytes",
                             .header = "in step",
                             .help = "DRAM traffic of the same launches in the running step"},
                            &analyzer::RankRow::cold_in_situ_dram_bytes));
  columns.push_back(
      traffic({.key = "cold_dram_bytes", .header = "cold", .help = "DRAM traffic with cold caches"},
              &analyzer::RankRow::cold_dram_bytes));
  columns.push_back({extra({.key = "cold_dram_bytes_ratio",
                            .header = "cold ÷",
                            .unit = "in step",
                            .help = "DRAM traffic with cold caches ÷ in the running step"}),
                     [](const RankLine& l) {
                       const RankRow& row = *l.row;
                       if (!row.cold_dram_bytes || row.cold_in_situ_dram_bytes.value_or(0) <= 0)
                         return Cell::missing();
                       return Cell::number(*row.cold_dram_bytes / *row.cold_in_situ_dram_bytes, Form::ratio);
                     }});
}

}  // namespace

std::vector<Column<RankLine>> ranking_columns(const RankView& view) {
  Columns columns;
  add_names(columns, view);
  add_main(columns, view);
  add_parts(columns);
  add_tiers(columns);
  add_caches(columns);
  add_rate_columns(columns);
  add_shape_columns(columns);
  add_cold(columns);
  add_work_columns(columns);
  return columns;
}

const std::vector<ColumnGroup>& ranking_groups() {
  static const std::vector<ColumnGroup> kGroups = {
      {"tiers",
       {"key", "calls", "time_ns", "dram_t1_utilisation_ratio", "dram_t1_error_ratio",
        "dram_t2_utilisation_ratio", "dram_t2_error_ratio", "dram_difference_ratio",
        "tensor_t1_utilisation_ratio", "tensor_t2_utilisation_ratio", "tensor_difference_ratio", "tier"}},
      {"caches",
       {"key", "calls", "time_ns", "dram_utilisation_ratio", "dram_read_bytes", "dram_write_bytes",
        "l2_utilisation_ratio", "l2_bytes", "l2_hit_ratio", "l1_bytes", "l1_hit_ratio", "occupancy_ratio"}},
      {"sms",
       {"key", "calls", "time_ns", "compute_utilisation_ratio", "issue_utilisation_ratio", "sm_active_ratio",
        "occupancy_ratio"}},
      {"bounds",
       {"key", "time_ns", "limiter", "limiter_utilisation_ratio", "near_roofs", "bound", "bound_roof",
        "saved_target_ns", "saved_target_latency_ns", "saved_target_exposed_ns"},
       8},
      {"clock",
       {"key", "time_ns", "compute_utilisation_ratio", "limiter", "precision", "sm_clock_hz",
        "tensor_ops_per_s", "tensor_spec_ratio", "clock_limit"}},
      {"shape",
       {"key", "time_ns", "precision", "product", "tile", "waves", "wave_waste_ratio", "tile_waste_ratio",
        "theoretical_occupancy_ratio", "occupancy_ratio"},
       7},
      {"cold",
       {"key", "calls", "time_ns", "cold_time_ns", "dram_utilisation_ratio", "cold_dram_utilisation_ratio",
        "cold_in_situ_dram_bytes", "cold_dram_bytes", "cold_dram_bytes_ratio"}},
      {"work",
       {"key", "other_kernels", "range_time_ns", "declared_bytes", "range_dram_bytes", "bytes_ratio",
        "declared_flops", "ops_ratio", "minimum_ns", "minimum_limiter", "minimum_ratio"}},
  };
  return kGroups;
}

}  // namespace ridgeline::reports
