#include "ranking_columns.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <initializer_list>
#include <optional>
#include <string>
#include <utility>

#include "cells.h"
#include "ridgeline/reports/absence_text.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/tables.h"

namespace ridgeline::reports {
namespace {

using analyzer::MetricGroup;
using analyzer::RankingKey;
using analyzer::RankingRow;
using analyzer::RoofLevel;

using RankingColumns = std::vector<Column<RankingLine>>;

// "70%", narrow enough for a column's head.
std::string compact(double ratio) {
  std::string text = target_text(ratio);
  text.erase(std::remove(text.begin(), text.end(), ' '), text.end());
  return text;
}

std::string group_header(RankingKey key) {
  switch (key) {
    case RankingKey::kernel:
      return "kernel";
    case RankingKey::kernel_and_grid:
      return "kernel and grid";
    case RankingKey::family:
      return "kernel family";
    case RankingKey::kernel_class:
      return "class";
    case RankingKey::nvtx_path:
      return "NVTX range";
    case RankingKey::phase:
      return "phase";
    case RankingKey::layer:
      return "layer";
    case RankingKey::launch:
      return "launch";
  }
  return "kernel";
}

Elide group_elision(RankingKey key) {
  switch (key) {
    case RankingKey::kernel:
    case RankingKey::kernel_and_grid:
    case RankingKey::family:
    case RankingKey::launch:  // the column has the name of its kernel alone
      return Elide::kernel_name;
    case RankingKey::kernel_class:
      return Elide::end;
    case RankingKey::nvtx_path:
      return Elide::start;
    case RankingKey::phase:
    case RankingKey::layer:
      return Elide::middle;
  }
  return Elide::middle;
}

// Colour of a utilisation that is the row's nearest roof, against the targets.
Style roof_style(const RankingLine& line, RoofLevel level) {
  const RankingRow& row = *line.row;
  if (!row.nearest || row.nearest->level != level || !row.nearest_roof_ratio) return Style::plain;
  return utilisation_style(*row.nearest_roof_ratio, line.options->target, line.options->stretch);
}

Cell saving(const RankingLine& line, std::optional<double> value, Form form) {
  return saving_is_known(*line.row) ? Cell::number(value, form) : Cell::missing();
}

// What a field of the row says, its standard error, and which tiers it rests on.
using Value = std::optional<analyzer::Measured>;
Column<RankingLine> value(ColumnHead head, Value RankingRow::*of) {
  return {std::move(head), [of](const RankingLine& l) { return value_of(l.row->*of); }};
}
Column<RankingLine> error(ColumnHead head, Value RankingRow::*of) {
  return {std::move(head), [of](const RankingLine& l) { return error_of(l.row->*of); }};
}
Column<RankingLine> tier(ColumnHead head, Value RankingRow::*of) {
  return {std::move(head), [of](const RankingLine& l) { return tier_of(l.row->*of); }};
}

template <typename Number>
Column<RankingLine> number(ColumnHead head, Number RankingRow::*of, Form form) {
  return {std::move(head), [of, form](const RankingLine& l) { return Cell::number(l.row->*of, form); }};
}

std::string reaching_title(analyzer::ScopeKind scope) {
  return "saving that reaches the " + std::string(simulated_noun(scope));
}

template <typename Number>
Column<RankingLine> saving(ColumnHead head, Number RankingRow::*of, Form form = Form::milliseconds) {
  return {std::move(head), [of, form](const RankingLine& l) { return saving(l, l.row->*of, form); }};
}

// Of a goal: how much less time the calls would take.
Column<RankingLine> saving_at(double goal, ColumnHead head, double RankingRow::*of) {
  head.header = "saving";
  head.unit = "ms @" + compact(goal);
  head.help = "how much less time the calls would take if each launch below " + target_text(goal) +
              " of its nearest roof reached it";
  head.title = "saving";
  head.total = Total::parts;
  return saving(std::move(head), of);
}

// Likewise for each second of a range or recording.
Column<RankingLine> saving_per_second(const RankingView& view, double goal, ColumnHead head,
                                      double RankingRow::*of) {
  head.header = "to win";
  head.unit = "ms/s @" + compact(goal);
  head.help =
      "that saving ÷ the time of the range or recording, for each second of it; not in a ranking of a step";
  head.title = "to win per second";
  head.shown = view.scope != analyzer::ScopeKind::step;
  head.total = Total::parts;
  return {std::move(head), [of, scope_ns = view.scope_ns](const RankingLine& l) {
            if (scope_ns <= 0) return Cell::missing();
            return saving(l, l.row->*of / static_cast<double>(scope_ns) * 1e9, Form::milliseconds);
          }};
}

// One column per key of a ranking by several; the first has the totals' names.
void add_keys(RankingColumns& columns, const analyzer::RankingKeys& keys) {
  for (std::size_t i = 0; i < keys.all().size(); ++i) {
    const RankingKey key = keys.all()[i];
    if (key == RankingKey::launch)
      continue;  // goes alone, but is among the keys of the table that declares all columns
    std::string word(to_string(key));
    std::replace(word.begin(), word.end(), '-', '_');
    columns.push_back(
        {{.key = "by_" + word,
          .header = group_header(key),
          .help = fmt::format("the {} of the row, in a ranking by several keys", group_header(key)),
          .align = Align::left,
          .elide = group_elision(key),
          .min_width = group_elision(key) == Elide::middle ? 10 : 20,
          .shown = !keys.has(RankingKey::launch),
          .total = i == 0 ? Total::parts : Total::none},
         [i](const RankingLine& l) {
           if (l.number == 0) return i == 0 ? Cell::text(l.row->key, Style::strong) : Cell();
           return i < l.row->keys.size() ? Cell::text(l.row->keys[i]) : Cell::missing();
         }});
  }
}

void add_names(RankingColumns& columns, const RankingView& view) {
  const analyzer::RankingKeys& keys = view.options.key;
  const bool several = keys.several();
  const bool by_launch = keys.has(RankingKey::launch);
  columns.push_back({extra({.key = "rank",
                            .header = "#",
                            .help = "1 is the row whose improvement would save most",
                            .title = "place in the ranking"}),
                     [](const RankingLine& l) {
                       return l.number > 0 ? Cell::number(static_cast<std::int64_t>(l.number)) : Cell();
                     }});
  if (by_launch) {
    columns.push_back(
        // Launches of one kernel look alike without it.
        {{.key = "ordinal", .header = "no.", .help = "position in the step, from 0"},
         [](const RankingLine& l) {
           if (l.row->launches.empty()) return Cell::missing();
           return Cell::number(l.utilisation->launches.row(l.row->launches.front()).ordinal);
         }});
  }
  if (several) add_keys(columns, keys);
  columns.push_back(
      {{.key = "key",
        .header = by_launch ? "launch"
                  : several ? "row"
                            : group_header(keys.all().front()),
        .help = "what the row stands for: kernel, class, range, ...; of several, \"layer 3 · forward\"",
        .align = Align::left,
        .elide = several ? Elide::middle : group_elision(keys.all().front()),
        .min_width = 24,
        .shown = !several || by_launch,
        .total = Total::parts},
       [by_launch](const RankingLine& l) {
         if (l.number == 0) return Cell::text(l.row->key, Style::strong);
         return Cell::text(by_launch ? l.row->kernel : l.row->key);
       }});
  columns.push_back({{.key = "kernel",
                      .header = "kernel",
                      .help = "demangled name; of the longest launch if the row mixes kernels",
                      .title = "full name of the kernel",
                      .align = Align::left,
                      .elide = Elide::kernel_name,
                      .min_width = 26,
                      .drop_order = 9,
                      .shown = false,
                      .repeats = keys == RankingKey::kernel || by_launch},
                     [](const RankingLine& l) { return Cell::text(l.row->kernel); }});
  columns.push_back({extra_text({.key = "normalised_name",
                                 .header = "family",
                                 .help = "the name without template arguments, likewise",
                                 .title = "name without template arguments"}),
                     [](const RankingLine& l) { return Cell::text(l.row->normalised_name); }});
  columns.push_back(
      {extra_text({.key = "class",
                   .header = "class",
                   .help = "gemm, attention, ..., likewise",
                   .title = "class of the kernel"}),
       [](const RankingLine& l) { return Cell::text(std::string(to_string(l.row->kernel_class))); }});
  // With samples beside the counters 80 columns no longer hold everything: tier and error stay.
  columns.push_back({{.key = "calls",
                      .header = "calls",
                      .help = "launches in the step",
                      .drop_order = by_launch      ? 7
                                    : view.sampled ? 6
                                                   : 2,
                      .total = Total::parts},
                     [](const RankingLine& l) { return Cell::number(l.row->calls); }});
}

void add_times(RankingColumns& columns, const RankingView& view) {
  const std::string noun(scope_noun(view.scope));
  columns.push_back(number({.key = "time_ns",
                            .header = "time",
                            .unit = "ms",
                            .help = "summed time of the calls (T0)",
                            .total = Total::parts},
                           &RankingRow::time_ns, Form::milliseconds));
  columns.push_back(number({.key = "step_share_ratio",
                            .header = noun,
                            .unit = "%",
                            .help = "that time ÷ the step's time",
                            .title = "of " + noun,
                            .total = Total::parts},
                           &RankingRow::step_share, Form::percent));
}

void add_roofs(RankingColumns& columns, const RankingView& view) {
  columns.push_back(
      {{.key = "dram_utilisation_ratio",
        .header = "DRAM",
        .unit = "%",
        .help = "bytes read and written ÷ time ÷ DRAM peak: by counters (T2), else by samples (T1)"},
       [](const RankingLine& l) {
         return value_of(l.row->dram, Form::percent, roof_style(l, RoofLevel::dram));
       }});
  columns.push_back(value({.key = "dram_t1_utilisation_ratio",
                           .header = "DRAM",
                           .unit = "T1 %",
                           .help = "DRAM utilisation by samples alone (T1)",
                           .drop_order = 4,
                           .shown = view.sampled},
                          &RankingRow::dram_t1));
  columns.push_back({{.key = "compute_utilisation_ratio",
                      .header = "pipe",
                      .unit = "%",
                      .help = "cycles of the busiest pipe ÷ cycles; compute_pipe names it",
                      .title = "busiest pipe"},
                     [](const RankingLine& l) {
                       return value_of(l.row->compute, Form::percent, roof_style(l, RoofLevel::pipe));
                     }});
  columns.push_back(
      {{.key = "limiter",
        .header = "nearest",
        .unit = "roof",
        .help = "nearest roof: `DRAM` or a pipe, whichever is used more (`≈`: another is as near, see "
                "`near_roofs`); `launch`: "
                "too short for any roof; `no roof`; `?`: not measured",
        .title = "nearest roof",
        .title_unit = "",
        .align = Align::left,
        .drop_order = 1},
       [](const RankingLine& l) { return Cell::worded(nearest_word(*l.row), nearest_roof_word(*l.row)); }});
  columns.push_back(
      {{.key = "bound",
        .header = "bound",
        .help =
            "what bounds most of the time: `memory` (DRAM or L2 at 60 % or more and nearest), `compute` (a "
            "pipe or "
            "the issue slots likewise), `latency` (no roof at 60 %), `launch_bound`, `no_roof`, `unmeasured`",
        .align = Align::left,
        .drop_order = 1},
       [](const RankingLine& l) {
         return Cell::worded(bound_word(*l.row), std::string(to_string(l.row->bound)));
       }});
  columns.push_back(
      number(extra({.key = "limiter_utilisation_ratio",
                    .header = "roof",
                    .unit = "%",
                    .help = "utilisation of the nearest roof: the larger of the two, of launches "
                            "long enough for a roof",
                    .title = "utilisation of the nearest roof"}),
             &RankingRow::nearest_roof_ratio, Form::percent));
  columns.push_back({{.key = "limiter_error_ratio",
                      .header = "±",
                      .unit = "%",
                      .help = "standard error of that utilisation",
                      .title = "± nearest roof",
                      .drop_order = view.sampled ? 2 : 4},
                     [](const RankingLine& l) {
                       if (!l.row->nearest) return Cell::missing();
                       return error_of(l.row->nearest->level == RoofLevel::dram ? l.row->dram
                                                                                : l.row->compute);
                     }});
}

void add_savings(RankingColumns& columns, const RankingView& view) {
  // A stretch of time is as long as it was asked for: there each second of it counts.
  const bool of_step = view.scope == analyzer::ScopeKind::step;
  columns.push_back(saving_at(view.options.target, {.key = "saved_target_ns", .shown = of_step},
                              &RankingRow::saved_target_ns));
  columns.push_back(
      saving({.key = "reached_target_ns",
              .header = "reaches",
              .unit = std::string(simulated_noun(view.scope)) + ", ms",
              .help = "what the step itself would be shorter by if this row alone reached the target, as "
                      "simulated; of all "
                      "rows: if all of them did",
              .title = reaching_title(view.scope),
              .title_unit = "ms @" + compact(view.options.target),
              .shown = view.simulated,
              .total = Total::all},
             &RankingRow::reached_target_ns));
  columns.push_back(saving_at(
      view.options.stretch, {.key = "saved_stretch_ns", .drop_order = view.sampled ? 5 : 0, .shown = of_step},
      &RankingRow::saved_stretch_ns));
  if (view.per_second) {
    columns.push_back(saving_per_second(view, view.options.target, {.key = "saved_target_ns_per_s"},
                                        &RankingRow::saved_target_ns));
    columns.push_back(saving_per_second(view, view.options.stretch,
                                        {.key = "saved_stretch_ns_per_s", .drop_order = view.sampled ? 5 : 0},
                                        &RankingRow::saved_stretch_ns));
  }
  columns.push_back(
      {{.key = "tier",
        .header = "tier",
        .help = "what the utilisations come from: `T2` counted in replayed steps, `T1` sampled in "
                "running ones, `T1,T2` both; `T0`: there is only time",
        .align = Align::left,
        .drop_order = view.sampled ? 3 : 5},
       [](const RankingLine& l) { return Cell::text(to_string(l.row->tier), Style::dim); }});
}

void add_other_savings(RankingColumns& columns, const RankingView& view) {
  const std::string at_target = " @" + compact(view.options.target);
  const std::string at_stretch = " @" + compact(view.options.stretch);
  columns.push_back(saving(
      extra({.key = "reached_stretch_ns",
             .header = "reaches",
             .unit = "step, ms",
             .help = "what the step itself would be shorter by if this row alone reached the stretch goal, "
                     "as simulated",
             .title = reaching_title(view.scope),
             .title_unit = "ms" + at_stretch,
             .total = Total::all}),
      &RankingRow::reached_stretch_ns));
  columns.push_back(saving(extra({.key = "saved_target_ratio",
                                  .header = "saving",
                                  .unit = "%",
                                  .help = "saving at the target ÷ the step's time",
                                  .title = "saving, of the step",
                                  .title_unit = "%" + at_target}),
                           &RankingRow::saved_target_share, Form::percent));
  columns.push_back(saving(extra({.key = "saved_stretch_ratio",
                                  .header = "stretch",
                                  .unit = "%",
                                  .help = "saving at the stretch goal ÷ the step's time",
                                  .title = "saving, of the step",
                                  .title_unit = "%" + at_stretch}),
                           &RankingRow::saved_stretch_share, Form::percent));
  columns.push_back(saving(
      extra({.key = "saved_target_latency_ns",
             .header = "potential",
             .unit = "ms",
             .help =
                 "of the saving at the target, that of latency-bound launches: no roof says what holds them",
             .title = "saving of latency-bound launches",
             .title_unit = "ms" + at_target}),
      &RankingRow::saved_target_latency_ns));
  columns.push_back(saving(
      extra({.key = "saved_target_exposed_ns",
             .header = "exposed",
             .unit = "ms",
             .help =
                 "of the saving at the target, what does not run beside other kernels: launches that run at "
                 "once share their time",
             .title = "saving beside no other kernel",
             .title_unit = "ms" + at_target}),
      &RankingRow::saved_target_exposed_ns));
  columns.push_back(saving(extra({.key = "saved_stretch_exposed_ns",
                                  .header = "exposed",
                                  .unit = "ms",
                                  .help = "the same at the stretch goal",
                                  .title = "saving beside no other kernel",
                                  .title_unit = "ms" + at_stretch}),
                           &RankingRow::saved_stretch_exposed_ns));
}

void add_bounds(RankingColumns& columns) {
  columns.push_back(
      {extra_text({.key = "bound_roof",
                   .header = "bound by",
                   .help =
                       "the roof that bounds a memory-bound or compute-bound row: `DRAM`, `L2`, `issue` or "
                       "a pipe",
                   .title = "roof that bounds it"}),
       [](const RankingLine& l) {
         return l.row->bound_roof ? Cell::text(std::string(to_string(*l.row->bound_roof))) : Cell::missing();
       }});
  columns.push_back(
      {extra_text({.key = "near_roofs",
                   .header = "tied",
                   .unit = "roofs",
                   .help = "roofs at most 3 points below the nearest, or above it (L2 and issue slots are no "
                           "targets), nearest first",
                   .title = "roofs about as near",
                   .title_unit = ""}),
       [](const RankingLine& l) {
         std::string text;
         for (const analyzer::Roof roof : l.row->near_roofs)
           text += (text.empty() ? "" : ", ") + std::string(to_string(roof));
         return text.empty() ? Cell::missing() : Cell::text(text);
       }});
}

void add_amounts(RankingColumns& columns) {
  columns.push_back(number(extra({.key = "saved_target_error_ns",
                                  .header = "± saving",
                                  .unit = "ms",
                                  .help = "standard error of the saving at the target"}),
                           &RankingRow::saved_target_error_ns, Form::milliseconds));
  columns.push_back(error(extra({.key = "dram_utilisation_error_ratio",
                                 .header = "± DRAM",
                                 .unit = "%",
                                 .help = "standard error of dram_utilisation_ratio"}),
                          &RankingRow::dram));
  columns.push_back(error(extra({.key = "compute_utilisation_error_ratio",
                                 .header = "± pipe",
                                 .unit = "%",
                                 .help = "standard error of compute_utilisation_ratio",
                                 .title = "± busiest pipe"}),
                          &RankingRow::compute));
  columns.push_back({extra_text({.key = "compute_pipe",
                                 .header = "busiest pipe",
                                 .help = "`tensor`, `fma`, `fp16`, `fp64`, `alu`, `xu`",
                                 .title = "which pipe is busiest"}),
                     [](const RankingLine& l) {
                       return Cell::text(l.row->busiest_pipe ? std::string(to_string(*l.row->busiest_pipe))
                                                             : "");
                     }});
  columns.push_back(number(extra({.key = "dram_bytes",
                                  .header = "DRAM",
                                  .unit = "bytes",
                                  .help = "measured traffic of all calls that have a value",
                                  .title = "DRAM traffic"}),
                           &RankingRow::dram_bytes, Form::general));
  columns.push_back(number(extra({.key = "tensor_ops",
                                  .header = "tensor",
                                  .unit = "ops",
                                  .help = "operations of the tensor pipe of all calls that have a value",
                                  .title = "operations of the tensor pipe",
                                  .title_unit = ""}),
                           &RankingRow::tensor_ops, Form::general));
}

// The time and the calls of launches by what is known of them, and why something is not.
void add_statuses(RankingColumns& columns) {
  struct Part {
    const char* name;
    const char* header;
    const char* help;
    std::int64_t RankingRow::*time_ns;
    std::int64_t RankingRow::*calls;
  };
  const std::array parts = {
      Part{"measured", "measured", "launches with both utilisations", &RankingRow::measured_time_ns,
           &RankingRow::measured_calls},
      Part{"launch_bound", "too short", "launches too short for any roof", &RankingRow::too_short_time_ns,
           &RankingRow::too_short_calls},
      Part{"no_roof", "no roof", "launches without a meaningful roof", &RankingRow::no_roof_time_ns,
           &RankingRow::no_roof_calls},
      Part{"unmeasured", "unmeasured", "launches without a utilisation", &RankingRow::unmeasured_time_ns,
           &RankingRow::unmeasured_calls},
  };
  for (const Part& part : parts) {
    columns.push_back(
        {extra({.key = std::string(part.name) + "_time_ns",
                .header = part.header,
                .unit = "ms",
                .help = std::string("time of the ") + part.help,
                .title = std::string("time of ") + part.help}),
         [of = part.time_ns](const RankingLine& l) { return Cell::number(l.row->*of, Form::milliseconds); }});
  }
  for (const Part& part : parts) {
    columns.push_back({extra({.key = std::string(part.name) + "_calls",
                              .header = part.header,
                              .unit = "calls",
                              .help = std::string("number of ") + part.help,
                              .title = part.help,
                              .title_unit = ""}),
                       [of = part.calls](const RankingLine& l) { return Cell::number(l.row->*of); }});
  }
  columns.push_back(
      {extra_text({.key = "missing",
                   .header = "missing",
                   .help = "why launches have no utilisation, as an identifier",
                   .title = "why there is no utilisation, as an identifier",
                   .repeats = true}),
       [](const RankingLine& l) { return Cell::text(std::string(to_string(l.row->missing))); }});
  columns.push_back({extra_text({.key = "reason",
                                 .header = "reason",
                                 .help = "the same in words",
                                 .title = "why there is no utilisation"}),
                     [](const RankingLine& l) { return Cell::text(absence_text(l.row->why)); }});
  columns.push_back(number(extra({.key = "replay_disagreement_ratio",
                                  .header = "replay",
                                  .unit = "+%",
                                  .help = "duration in replay ÷ in the timeline − 1",
                                  .title = "longer in replay",
                                  .title_unit = "%"}),
                           &RankingRow::replay_disagreement, Form::percent));
}

void add_dram_tiers(RankingColumns& columns) {
  columns.push_back(tier(extra_text({.key = "dram_tier",
                                     .header = "DRAM by",
                                     .help = "tier of dram_utilisation_ratio",
                                     .title = "tier of DRAM"}),
                         &RankingRow::dram));
  columns.push_back(tier(extra_text({.key = "compute_tier",
                                     .header = "pipe by",
                                     .help = "tier of compute_utilisation_ratio",
                                     .title = "tier of the busiest pipe"}),
                         &RankingRow::compute));
  columns.push_back(error(
      extra({.key = "dram_t1_error_ratio",
             .header = "±",
             .unit = "T1 %",
             .help = "standard error of dram_t1_utilisation_ratio; how steps differ is in it if several "
                     "were sampled",
             .title = "± DRAM"}),
      &RankingRow::dram_t1));
  columns.push_back(value(extra({.key = "dram_t2_utilisation_ratio",
                                 .header = "DRAM",
                                 .unit = "T2 %",
                                 .help = "DRAM utilisation by counters alone (T2)"}),
                          &RankingRow::dram_t2));
  columns.push_back(error(extra({.key = "dram_t2_error_ratio",
                                 .header = "±",
                                 .unit = "T2 %",
                                 .help = "standard error of dram_t2_utilisation_ratio",
                                 .title = "± DRAM"}),
                          &RankingRow::dram_t2));
  columns.push_back(value(extra({.key = "dram_difference_ratio",
                                 .header = "T1−T2",
                                 .unit = "points",
                                 .help = "samples − counters, over the launches that have both",
                                 .title = "DRAM, T1−T2"}),
                          &RankingRow::dram_difference));
  columns.push_back(error(extra({.key = "dram_difference_error_ratio",
                                 .header = "± T1−T2",
                                 .unit = "points",
                                 .help = "standard error of dram_difference_ratio",
                                 .title = "± DRAM, T1−T2"}),
                          &RankingRow::dram_difference));
}

void add_pipe_tiers(RankingColumns& columns) {
  columns.push_back(value(extra({.key = "compute_t1_utilisation_ratio",
                                 .header = "pipe",
                                 .unit = "T1 %",
                                 .help = "utilisation of the busiest pipe by samples alone (T1)",
                                 .title = "busiest pipe"}),
                          &RankingRow::compute_t1));
  columns.push_back(error(extra({.key = "compute_t1_error_ratio",
                                 .header = "± pipe",
                                 .unit = "T1 %",
                                 .help = "standard error of compute_t1_utilisation_ratio",
                                 .title = "± busiest pipe"}),
                          &RankingRow::compute_t1));
  columns.push_back(value(extra({.key = "compute_t2_utilisation_ratio",
                                 .header = "pipe",
                                 .unit = "T2 %",
                                 .help = "utilisation of the busiest pipe by counters alone (T2)",
                                 .title = "busiest pipe"}),
                          &RankingRow::compute_t2));
  columns.push_back(value(extra({.key = "tensor_t1_utilisation_ratio",
                                 .header = "tensor",
                                 .unit = "T1 %",
                                 .help = "utilisation of the tensor pipe by samples alone (T1)",
                                 .title = "tensor pipe"}),
                          &RankingRow::tensor_t1));
  columns.push_back(error(extra({.key = "tensor_t1_error_ratio",
                                 .header = "± tensor",
                                 .unit = "T1 %",
                                 .help = "standard error of tensor_t1_utilisation_ratio",
                                 .title = "± tensor pipe"}),
                          &RankingRow::tensor_t1));
  columns.push_back(value(extra({.key = "tensor_t2_utilisation_ratio",
                                 .header = "tensor",
                                 .unit = "T2 %",
                                 .help = "utilisation of the tensor pipe by counters alone (T2)",
                                 .title = "tensor pipe"}),
                          &RankingRow::tensor_t2));
  columns.push_back(
      value(extra({.key = "tensor_difference_ratio",
                   .header = "tensor",
                   .unit = "T1−T2",
                   .help = "tensor pipe by samples − by counters, in points, over the launches that "
                           "have both",
                   .title = "tensor pipe, T1−T2",
                   .title_unit = "points"}),
            &RankingRow::tensor_difference));
}

void add_tier_times(RankingColumns& columns) {
  columns.push_back(number(extra({.key = "t1_time_ns",
                                  .header = "by T1",
                                  .unit = "ms",
                                  .help = "time of the launches with a DRAM utilisation by samples",
                                  .title = "time of launches with samples"}),
                           &RankingRow::t1_time_ns, Form::milliseconds));
  columns.push_back(number(extra({.key = "t2_time_ns",
                                  .header = "by T2",
                                  .unit = "ms",
                                  .help = "time of the launches with a DRAM utilisation by counters",
                                  .title = "time of launches with counters"}),
                           &RankingRow::t2_time_ns, Form::milliseconds));
  columns.push_back(number(extra({.key = "t1_concurrent_time_ns",
                                  .header = "shared",
                                  .unit = "ms",
                                  .help = "part of t1_time_ns whose values are of several kernels at once",
                                  .title = "time sampled beside other kernels"}),
                           &RankingRow::t1_concurrent_time_ns, Form::milliseconds));
}

// What counters and samples say beside the roofs: a column a metric.
void add_metrics(RankingColumns& columns) {
  for (const analyzer::Metric metric : analyzer::kAllMetrics) {
    const analyzer::MetricEntry& entry = metric.entry();
    const bool bytes = entry.unit == analyzer::MetricUnit::bytes;
    columns.push_back({extra({.key = std::string(entry.key),
                              .header = std::string(entry.header),
                              .unit = bytes ? "MB" : "%",
                              .help = std::string(entry.help),
                              .title = metric_title(entry)}),
                       [metric, form = bytes ? Form::megabytes : Form::percent](const RankingLine& l) {
                         return value_of(l.row->metrics.of(metric), form);
                       }});
  }
}

// The keys, and those of the metrics of the groups after them.
std::vector<std::string> with_metrics(std::vector<std::string> keys,
                                      std::initializer_list<MetricGroup> groups) {
  for (const MetricGroup group : groups) {
    for (const analyzer::MetricEntry& entry : analyzer::kMetrics) {
      if (entry.group == group) keys.emplace_back(entry.key);
    }
  }
  return keys;
}

void add_cold(RankingColumns& columns) {
  columns.push_back(number(extra({.key = "cold_time_ns",
                                  .header = "cold",
                                  .unit = "ms",
                                  .help = "time with caches emptied before each launch (T3)",
                                  .title = "time with cold caches"}),
                           &RankingRow::cold_time_ns, Form::milliseconds));
  columns.push_back(number(extra({.key = "cold_in_situ_time_ns",
                                  .header = "in step",
                                  .unit = "ms",
                                  .help = "time of the same launches in the running step",
                                  .title = "time in the step"}),
                           &RankingRow::cold_in_situ_time_ns, Form::milliseconds));
  columns.push_back(value(extra({.key = "cold_dram_utilisation_ratio",
                                 .header = "DRAM",
                                 .unit = "cold %",
                                 .help = "DRAM utilisation with cold caches, over the time it took then",
                                 .title = "DRAM with cold caches",
                                 .title_unit = "%"}),
                          &RankingRow::cold_dram));
  columns.push_back(number(extra({.key = "cold_in_situ_dram_bytes",
                                  .header = "in step",
                                  .unit = "MB",
                                  .help = "DRAM traffic of the same launches in the running step",
                                  .title = "DRAM traffic in the step"}),
                           &RankingRow::cold_in_situ_dram_bytes, Form::megabytes));
  columns.push_back(number(extra({.key = "cold_dram_bytes",
                                  .header = "cold",
                                  .unit = "MB",
                                  .help = "DRAM traffic with cold caches",
                                  .title = "DRAM traffic with cold caches"}),
                           &RankingRow::cold_dram_bytes, Form::megabytes));
  columns.push_back({extra({.key = "cold_dram_bytes_ratio",
                            .header = "cold ÷",
                            .unit = "in step",
                            .help = "DRAM traffic with cold caches ÷ in the running step",
                            .title = "DRAM traffic, cold ÷ in the step",
                            .title_unit = ""}),
                     [](const RankingLine& l) {
                       const RankingRow& row = *l.row;
                       if (!row.cold_dram_bytes || row.cold_in_situ_dram_bytes.value_or(0) <= 0)
                         return Cell::missing();
                       return Cell::number(*row.cold_dram_bytes / *row.cold_in_situ_dram_bytes, Form::ratio);
                     }});
}

}  // namespace

bool saving_is_known(const RankingRow& row) {
  return row.measured_calls > 0 || (row.unmeasured_calls == 0 && row.no_roof_calls == 0);
}

std::vector<Column<RankingLine>> ranking_columns(const RankingView& view) {
  RankingColumns columns;
  add_names(columns, view);
  add_times(columns, view);
  add_roofs(columns, view);
  add_savings(columns, view);
  add_other_savings(columns, view);
  add_bounds(columns);
  add_amounts(columns);
  add_statuses(columns);
  add_dram_tiers(columns);
  add_pipe_tiers(columns);
  add_tier_times(columns);
  add_metrics(columns);
  add_rate_columns(columns);
  add_power_columns(columns);
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
      {"caches", with_metrics({"key", "calls", "time_ns", "dram_utilisation_ratio"},
                              {MetricGroup::dram, MetricGroup::caches, MetricGroup::occupancy})},
      {"sms", with_metrics({"key", "calls", "time_ns", "compute_utilisation_ratio"},
                           {MetricGroup::sms, MetricGroup::occupancy})},
      {"bounds",
       {"key", "time_ns", "limiter", "limiter_utilisation_ratio", "near_roofs", "bound", "bound_roof",
        "saved_target_ns", "saved_target_latency_ns", "saved_target_exposed_ns"},
       8},
      {"clock",
       {"key", "time_ns", "compute_utilisation_ratio", "limiter", "precision", "sm_clock_hz",
        "tensor_ops_per_s", "tensor_ops_tier", "tensor_spec_ratio", "clock_limit"}},
      {"power",
       {"key", "time_ns", "limiter", "limiter_utilisation_ratio", "sm_clock_hz", "clock_loss_ratio",
        "clock_cost_ns", "energy_j", "clock_limit"}},
      {"shape",
       {"key", "time_ns", "precision", "product", "tile", "alignment_elements", "waves", "wave_waste_ratio",
        "tile_waste_ratio", "theoretical_occupancy_ratio", "occupancy_ratio"},
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
