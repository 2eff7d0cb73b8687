// step_tables.cpp: steps, their accounting and the gaps as tables.
#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <memory>
#include <optional>
#include <unordered_map>

#include "gap_text.h"
#include "link_columns.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/elide.h"
#include "ridgeline/reports/reason_text.h"
#include "ridgeline/reports/steps_document.h"
#include "ridgeline/reports/tables.h"

namespace ridgeline::reports {
namespace {

struct StepLine {
  const analyzer::StepSummary* step;
  bool chosen;                     // stands for all
  const analyzer::StepPace* pace;  // null: not asked for
};

Cell time_or_missing(std::int64_t ns) {
  return ns > 0 ? Cell::number(ns, Form::milliseconds) : Cell::missing();
}

// A step that is not ok, and the representative one, are marked.
Style style_of(const StepLine& l) {
  if (l.step->status != StepStatus::ok) return Style::bad;
  return l.chosen ? Style::strong : Style::plain;
}

using StepColumns = std::vector<Column<StepLine>>;

void add_names(StepColumns& columns) {
  columns.push_back(
      {{.key = "process_id", .header = "process", .help = "id of the process in the capture", .shown = false},
       [](const StepLine& l) { return Cell::number(l.step->process_id); }});
  columns.push_back(
      {{.key = "step_index", .header = "step", .help = "number of the step in its process, from 0"},
       [](const StepLine& l) { return Cell::number(l.step->step_index); }});
  columns.push_back(
      {{.key = "representative",
        .header = "",
        .help = "true: the step that is analysed stands for all",
        .align = Align::left},
       [](const StepLine& l) { return Cell::worded(l.chosen ? "◀" : "", l.chosen, Style::strong); }});
  columns.push_back(
      {{.key = "phase",
        .header = "phase",
        .help = "what the schedule did: `warmup`, `timeline`, `sample`, `replay`, `cold`, `stalls`, `flops`, "
                "`after`",
        .align = Align::left},
       [](const StepLine& l) { return Cell::text(std::string(to_string(l.step->phase))); }});
  columns.push_back({{.key = "configuration",
                      .header = "counters",
                      .help = "counters of a replay or cold step",
                      .align = Align::left,
                      .elide = Elide::end,
                      .min_width = 8,
                      .drop_order = 3},
                     [](const StepLine& l) { return Cell::text(l.step->configuration); }});
  columns.push_back(
      {{.key = "status",
        .header = "status",
        .help = "`ok`, `mismatch`, `failed`, `interrupted`",
        .align = Align::left},
       [](const StepLine& l) { return Cell::text(std::string(to_string(l.step->status)), style_of(l)); }});
}

void add_times(StepColumns& columns) {
  columns.push_back({{.key = "gpu_duration_ns",
                      .header = "GPU",
                      .unit = "ms",
                      .help = "from the step's first kernel to that of the next step",
                      .title = "GPU time"},
                     [](const StepLine& l) {
                       const std::int64_t ns = l.step->gpu_duration_ns;
                       if (ns <= 0) return Cell::missing();
                       return Cell::worded(
                           milliseconds(static_cast<double>(ns)) + (l.step->closed ? "" : "*"), ns,
                           style_of(l));
                     }});
  columns.push_back({{.key = "host_duration_ns",
                      .header = "host",
                      .unit = "ms",
                      .help = "of the step's range on the host",
                      .title = "host time",
                      .drop_order = 2},
                     [](const StepLine& l) {
                       return l.step->host_duration_ns
                                  ? Cell::number(*l.step->host_duration_ns, Form::milliseconds)
                                  : Cell::missing();
                     }});
  columns.push_back({{.key = "kernel_time_ns",
                      .header = "kernels",
                      .unit = "ms",
                      .help = "summed time of its kernels",
                      .title = "kernel time"},
                     [](const StepLine& l) { return time_or_missing(l.step->kernel_time_ns); }});
}

void add_launches(StepColumns& columns) {
  columns.push_back({{.key = "launches", .header = "launches", .help = "kernel launches of the step"},
                     [](const StepLine& l) { return Cell::number(l.step->launches); }});
  columns.push_back({{.key = "launches_without_time",
                      .header = "untimed",
                      .help = "launches without timestamps",
                      .drop_order = 9,
                      .shown = false},
                     [](const StepLine& l) { return Cell::number(l.step->launches_without_time); }});
  columns.push_back(
      {{.key = "kind",
        .header = "kind",
        .help = "steps that launch about the same are of one kind; 1 takes the most time, empty: of none",
        .drop_order = 4},
       [](const StepLine& l) {
         return l.step->kind < 0 ? Cell::missing() : Cell::number(std::int64_t{l.step->kind} + 1);
       }});
}

// Of a step.
template <typename T>
std::function<Cell(const StepLine&)> pace_cell(std::optional<T> analyzer::StepPace::*of, Form form) {
  return [of, form](const StepLine& l) {
    const std::optional<T> value = l.pace != nullptr ? l.pace->*of : std::nullopt;
    return value ? Cell::number(*value, form) : Cell::missing();
  };
}

void add_pace(StepColumns& columns) {
  using Pace = analyzer::StepPace;
  columns.push_back(
      {{.key = "steps_per_s", .header = "steps/s", .help = "1 ÷ GPU time", .drop_order = 9, .shown = false},
       pace_cell(&Pace::steps_per_s, Form::general)});
  columns.push_back({{.key = "tokens_per_s",
                      .header = "tokens/s",
                      .help = "tokens that the program declares for the step ÷ GPU time",
                      .drop_order = 6},
                     pace_cell(&Pace::tokens_per_s, Form::general)});
  columns.push_back({{.key = "samples_per_s",
                      .header = "samples/s",
                      .help = "samples that the program declares for the step ÷ GPU time",
                      .drop_order = 7},
                     pace_cell(&Pace::samples_per_s, Form::general)});
  columns.push_back(
      {{.key = "allocated_bytes",
        .header = "held",
        .unit = "GB",
        .help = "device memory: the most that the process held at once while its host was in the step, "
                "of what was seen to be taken",
        .title = "memory held",
        .drop_order = 5},
       pace_cell(&Pace::allocated_bytes, Form::gigabytes)});
}

void add_links(StepColumns& columns) {
  for (const LinkColumn& link : kLinkColumns)
    columns.push_back(
        {{.key = link.key,
          .header = link.header,
          .unit = "MB",
          .help = fmt::format("{} in the step's GPU time (T1); not sampled: missing", link.what),
          .drop_order = 8},
         [of = link.of](const StepLine& l) {
           return Cell::number(l.pace != nullptr ? l.pace->links.*of : std::nullopt, Form::megabytes);
         }});
}

void add_origin(StepColumns& columns) {
  columns.push_back({{.key = "reason",
                      .header = "reason",
                      .help = "why the status is not `ok`",
                      .align = Align::left,
                      .elide = Elide::end,
                      .min_width = 12,
                      .drop_order = 1},
                     [](const StepLine& l) { return Cell::text(reason_text(l.step->reason)); }});
  columns.push_back(
      {{.key = "closed",
        .header = "closed",
        .help = "false: gpu_duration_ns ends with the step's own work",
        .align = Align::left,
        .elide = Elide::end,
        .min_width = 6,
        .drop_order = 9,
        .shown = false},
       [](const StepLine& l) { return Cell::worded(l.step->closed ? "yes" : "no", l.step->closed); }});
  columns.push_back({{.key = "source",
                      .header = "found by",
                      .help = "what marks the step: `nvtx`, `period`, `window`",
                      .align = Align::left,
                      .drop_order = 2,
                      .shown = false},
                     [](const StepLine& l) { return Cell::text(std::string(to_string(l.step->source))); }});
}

StepColumns step_columns() {
  StepColumns columns;
  add_names(columns);
  add_times(columns);
  add_launches(columns);
  add_pace(columns);
  add_links(columns);
  add_origin(columns);
  return columns;
}

std::vector<Column<analyzer::PhaseSummary>> phase_columns() {
  using Summary = analyzer::PhaseSummary;
  const auto time = [](double analyzer::StepSpread::*of) {
    return [of](const Summary& p) {
      return p.spread.count > 0 ? Cell::number(p.spread.*of, Form::milliseconds) : Cell::missing();
    };
  };
  using Spread = analyzer::StepSpread;
  return {
      {{.key = "process_id", .header = "process", .help = "id of the process in the capture", .shown = false},
       [](const Summary& p) { return Cell::number(p.process_id); }},
      {{.key = "phase", .header = "phase", .help = "what the schedule did", .align = Align::left},
       [](const Summary& p) { return Cell::text(std::string(to_string(p.phase))); }},
      {{.key = "steps", .header = "steps", .help = "steps of the phase"},
       [](const Summary& p) { return Cell::number(p.steps); }},
      {{.key = "median_ns", .header = "median", .unit = "ms", .help = "median GPU time of a step"},
       time(&Spread::median_ns)},
      {{.key = "p10_ns", .header = "p10", .unit = "ms", .help = "a tenth of the steps took less"},
       time(&Spread::p10_ns)},
      {{.key = "p90_ns", .header = "p90", .unit = "ms", .help = "a tenth of the steps took more"},
       time(&Spread::p90_ns)},
      {{.key = "min_ns", .header = "min", .unit = "ms", .help = "the shortest", .drop_order = 1},
       time(&Spread::min_ns)},
      {{.key = "max_ns", .header = "max", .unit = "ms", .help = "the longest"}, time(&Spread::max_ns)},
      {{.key = "outliers",
        .header = "outliers",
        .help = "steps farther from the median than 5 scaled MADs and 5 % of it"},
       [](const Summary& p) { return Cell::number(static_cast<std::int64_t>(p.outliers.size())); }},
      {{.key = "not_ok", .header = "not ok", .help = "steps whose status is not `ok`"},
       [](const Summary& p) {
         return Cell::number(p.not_ok, Form::integer, p.not_ok > 0 ? Style::bad : Style::plain);
       }},
  };
}

struct Part {
  std::string key, label;
  std::int64_t ns;
  std::int64_t step_ns;
  std::string meaning;
};

std::vector<Column<Part>> part_columns(const std::string& noun = "step") {
  return {
      {{.key = "part",
        .header = "part",
        .help = "part of the step's time",
        .align = Align::left,
        .elide = Elide::end,
        .min_width = 20,
        .total = Total::all},
       [](const Part& p) { return Cell::worded(p.label, p.key); }},
      {{.key = "time_ns", .header = "time", .unit = "ms", .help = "its time", .total = Total::all},
       [](const Part& p) { return Cell::number(p.ns, Form::milliseconds); }},
      {{.key = "step_share_ratio",
        .header = noun,
        .unit = "%",
        .help = "that ÷ the step's time",
        .title = "of " + noun,
        .total = Total::all},
       [](const Part& p) {
         const double share =
             p.step_ns > 0 ? static_cast<double>(p.ns) / static_cast<double>(p.step_ns) : 0.0;
         return Cell::number(share, Form::percent);
       }},
      {{.key = "meaning",
        .header = "what it is",
        .help = "in words",
        .align = Align::left,
        .elide = Elide::end,
        .min_width = 20,
        .drop_order = 1},
       [](const Part& p) { return Cell::text(p.meaning); }},
  };
}

// Kernel time of a part of the program by what bounds it, or of the whole step.
struct BoundLine {
  const std::string* name;
  std::optional<std::int64_t> launches;
  const analyzer::BoundSplit* time;
  std::int64_t step_ns;
};

Column<BoundLine> bound_column(ColumnHead head, std::int64_t analyzer::BoundSplit::*of) {
  head.unit = "ms";
  head.total = Total::all;
  return {std::move(head),
          [of](const BoundLine& l) { return Cell::number(l.time->*of, Form::milliseconds); }};
}

std::vector<Column<BoundLine>> bound_columns(const std::string& noun = "step") {
  using Split = analyzer::BoundSplit;
  return {
      {{.key = "part",
        .header = "part",
        .help = "part of the program, by its NVTX ranges",
        .align = Align::left,
        .elide = Elide::middle,
        .min_width = 14,
        .total = Total::all},
       [](const BoundLine& l) { return Cell::text(*l.name); }},
      {{.key = "launches", .header = "launches", .help = "kernel launches of it", .drop_order = 3},
       [](const BoundLine& l) { return l.launches ? Cell::number(*l.launches) : Cell(); }},
      {{.key = "time_ns",
        .header = "time",
        .unit = "ms",
        .help = "its kernel time; launches that run at once share it, so that the parts add up",
        .total = Total::all},
       [](const BoundLine& l) { return Cell::number(l.time->total_ns(), Form::milliseconds); }},
      {{.key = "step_share_ratio",
        .header = noun,
        .unit = "%",
        .help = "that ÷ the step's time",
        .title = "of " + noun,
        .total = Total::all},
       [](const BoundLine& l) {
         const double step = static_cast<double>(l.step_ns);
         return Cell::number(step > 0 ? static_cast<double>(l.time->total_ns()) / step : 0.0, Form::percent);
       }},
      bound_column(
          {.key = "memory_ns",
           .header = "memory",
           .help = "of memory-bound launches: DRAM or L2 is the roof they are nearest to, at 60 % or more",
           .title = "memory-bound"},
          &Split::memory_ns),
      bound_column({.key = "compute_ns",
                    .header = "compute",
                    .help = "of compute-bound launches: that roof is a pipe or the issue slots",
                    .title = "compute-bound"},
                   &Split::compute_ns),
      bound_column({.key = "latency_ns",
                    .header = "latency",
                    .help = "of latency-bound launches: measured, and no roof is at 60 %",
                    .title = "latency-bound"},
                   &Split::latency_ns),
      bound_column({.key = "launch_bound_ns",
                    .header = "short",
                    .help = "of launches too short for any roof",
                    .title = "too short",
                    .drop_order = 1},
                   &Split::too_short_ns),
      bound_column({.key = "no_roof_ns",
                    .header = "no roof",
                    .help = "of launches to which no roof applies: communication, or no work to speak of",
                    .drop_order = 2},
                   &Split::no_roof_ns),
      bound_column({.key = "unmeasured_ns",
                    .header = "unknown",
                    .help = "of launches that were not measured",
                    .drop_order = 2},
                   &Split::unmeasured_ns),
  };
}

struct GapLine {
  const analyzer::Model* model = nullptr;
  const analyzer::Accounting* accounting = nullptr;
  analyzer::Gap gap;
  std::unordered_map<store::Id, std::string>* names = nullptr;  // of kernels, as far as they were asked for
};

// The gap follows the launch `before` and precedes the launch `after`.
std::string launch_name(const GapLine& line, const std::optional<analyzer::LaunchIndex>& launch) {
  if (!launch) return "";
  const store::Launch& site = line.model->launches.site(*launch);
  const auto [place, fresh] = line.names->try_emplace(site.kernel_id);
  if (fresh) place->second = kernel_display_name(line.model->kernel_name(site));
  return place->second;
}

// The first of the process that begins then or later.
template <typename Row>
auto first_from(const std::vector<Row>& rows, store::Id process_id, std::int64_t time_ns) {
  return std::lower_bound(
      rows.begin(), rows.end(), std::pair(process_id, time_ns),
      [](const Row& each, const auto& wanted) { return std::pair(each.process_id, each.start_ns) < wanted; });
}

// Of the gap's device, the one that begins then, or that ended then: one of the few that began last before.
template <typename Row>
const Row* beginning_at(const std::vector<Row>& rows, const analyzer::Accounting& accounting,
                        std::int64_t time_ns) {
  for (auto row = first_from(rows, accounting.process_id, time_ns);
       row != rows.end() && row->process_id == accounting.process_id && row->start_ns == time_ns; ++row) {
    if (row->device_id == accounting.device_id) return &*row;
  }
  return nullptr;
}

template <typename Row>
const Row* ending_at(const std::vector<Row>& rows, const analyzer::Accounting& accounting,
                     std::int64_t time_ns) {
  constexpr int kMaxExamined = 16;
  auto row = first_from(rows, accounting.process_id, time_ns);
  for (int i = 0; i < kMaxExamined && row != rows.begin(); ++i) {
    --row;
    if (row->process_id != accounting.process_id) break;
    if (row->device_id == accounting.device_id && row->end_ns == time_ns) return &*row;
  }
  return nullptr;
}

// A launch has its kernel's name in every format; what else there was is said to people.
Cell neighbour_cell(const GapLine& line, const std::optional<analyzer::LaunchIndex>& launch, bool behind) {
  if (launch) return Cell::text(launch_name(line, launch));
  const auto find = [&](const auto& rows) {
    return behind ? beginning_at(rows, *line.accounting, line.gap.end_ns)
                  : ending_at(rows, *line.accounting, line.gap.start_ns);
  };
  std::string words;
  if (const store::Memcpy* copy = find(line.model->memcpys); copy != nullptr) {
    words = "copy, " + std::string(to_string(copy->kind));
  } else if (find(line.model->memsets) != nullptr) {
    words = "memset";
  }
  return Cell::worded(words, std::string());
}

Column<GapLine> gap_path_column() {
  return {{.key = "nvtx_path",
           .header = "launched in",
           .help = "NVTX ranges in which the kernel behind the gap was launched",
           .align = Align::left,
           .elide = Elide::start,
           .min_width = 20,
           .drop_order = 9,
           .shown = false},
          [](const GapLine& l) {
            if (!l.gap.after) return Cell::missing();
            const std::string_view path = l.model->string(l.model->launches.site(*l.gap.after).nvtx_path_id);
            return path.empty() ? Cell::missing() : Cell::text(std::string(path));
          }};
}

// What is shown only if asked for: the call that waited and its thread.
void add_gap_waits(std::vector<Column<GapLine>>& columns, const std::string& unit, Form form) {
  const std::vector<Column<GapLine>> more = {
      {{.key = "synchronisation_ns",
        .header = "in waits",
        .unit = unit,
        .help = "part of the gap that the thread which ended it spent inside calls that wait for the device",
        .drop_order = 9,
        .shown = false},
       [form](const GapLine& l) { return Cell::number(l.gap.synchronisation_ns, form); }},
      {{.key = "call",
        .header = "call",
        .help = "the one of these calls that took most of it, by the runtime's name",
        .align = Align::left,
        .drop_order = 9,
        .shown = false},
       [](const GapLine& l) {
         return l.gap.wait ? Cell::text(std::string(to_string(l.gap.wait->call))) : Cell::missing();
       }},
      {{.key = "call_ns",
        .header = "call",
        .unit = unit,
        .help = "how long that call took in all, most of which may lie before the gap",
        .drop_order = 9,
        .shown = false},
       [form](const GapLine& l) {
         return l.gap.wait ? Cell::number(l.gap.wait->length_ns, form) : Cell::missing();
       }},
      {{.key = "thread_id",
        .header = "thread",
        .help = "that made the call which ended the gap",
        .drop_order = 9,
        .shown = false},
       [](const GapLine& l) {
         return l.gap.thread_id ? Cell::number(*l.gap.thread_id, Form::plain) : Cell::missing();
       }}};
  columns.insert(columns.end(), more.begin(), more.end());
}

// A column reads downwards: one unit for all lengths, which suits the longest.
std::vector<Column<GapLine>> gap_columns(std::int64_t longest_ns) {
  constexpr std::int64_t kMinForMillisecondsNs =
      10'000'000;  // above it microseconds have five digits and more
  const bool long_ones = longest_ns >= kMinForMillisecondsNs;
  const std::string unit = long_ones ? "ms" : "µs";
  const Form form = long_ones ? Form::milliseconds : Form::microseconds;
  std::vector<Column<GapLine>> columns = {
      {{.key = "duration_ns", .header = "gap", .unit = unit, .help = "how long the GPU did nothing"},
       [form](const GapLine& l) { return Cell::number(l.gap.end_ns - l.gap.start_ns, form); }},
      {{.key = "kind",
        .header = "kind",
        .help = "`launch_bound`, `host_bound`, `synchronisation`, `queued`, `unknown`, `tail`: as in "
                "`accounting`",
        .align = Align::left},
       [](const GapLine& l) {
         const std::string_view kind = to_string(l.gap.kind);
         return Cell::worded(gap_words(l.gap.kind), std::string(kind));
       }},
      {{.key = "cause",
        .header = "what the CPU did",
        .help =
            "the call that waited, its thread and how long it took in all; or that the thread ran other code",
        .align = Align::left,
        .elide = Elide::end,
        .min_width = 34},
       [](const GapLine& l) { return Cell::text(gap_cause(*l.model, *l.accounting, l.gap)); }},
      {{.key = "after_kernel",
        .header = "after",
        .help = "the kernel before the gap; for people also the copy or memset",
        .align = Align::left,
        .elide = Elide::kernel_name,
        .min_width = 20,
        .drop_order = 1},
       [](const GapLine& l) { return neighbour_cell(l, l.gap.before, false); }},
      {{.key = "before_kernel",
        .header = "before",
        .help = "the kernel behind the gap, likewise",
        .align = Align::left,
        .elide = Elide::kernel_name,
        .min_width = 20},
       [](const GapLine& l) { return neighbour_cell(l, l.gap.after, true); }},
      gap_path_column(),
      {{.key = "start_ns",
        .header = "start",
        .unit = "ns",
        .help = "when it began, on the run's clock",
        .drop_order = 9,
        .shown = false},
       [](const GapLine& l) { return Cell::number(l.gap.start_ns, Form::plain); }},
  };
  add_gap_waits(columns, unit, form);
  return columns;
}

}  // namespace

Table steps_table(const analyzer::StepAnalysis& steps) {
  static const std::vector<analyzer::StepPace> kNotAsked;
  return steps_table(steps, kNotAsked);
}

Table steps_table(const analyzer::StepAnalysis& steps, const std::vector<analyzer::StepPace>& pace) {
  Table table(step_columns(), steps.steps.size(), [&steps, &pace](std::size_t i) {
    const analyzer::StepSummary& step = steps.steps[i];
    const bool chosen =
        !steps.representative.whole_recording && step.step_id == steps.representative.summary.step_id;
    return StepLine{&step, chosen, i < pace.size() ? &pace[i] : nullptr};
  });
  // Columns that would be empty all the way down are noise.
  const auto any = [&](auto&& has) { return std::any_of(steps.steps.begin(), steps.steps.end(), has); };
  table.show("process_id",
             any([&](const auto& s) { return s.process_id != steps.steps.front().process_id; }));
  table.show("configuration", any([](const auto& s) { return !s.configuration.empty(); }));
  table.show("source", any([](const auto& s) { return s.source != StepSource::nvtx; }));
  table.show("reason", any([](const auto& s) { return !s.reason.empty(); }));
  const auto any_pace = [&](auto of) {
    return std::any_of(pace.begin(), pace.end(),
                       [&](const analyzer::StepPace& p) { return (p.*of).has_value(); });
  };
  table.show("tokens_per_s", any_pace(&analyzer::StepPace::tokens_per_s));
  table.show("samples_per_s", any_pace(&analyzer::StepPace::samples_per_s));
  table.show("allocated_bytes", any_pace(&analyzer::StepPace::allocated_bytes));
  for (const LinkColumn& link : kLinkColumns)
    table.show(link.key, std::any_of(pace.begin(), pace.end(), [&](const analyzer::StepPace& p) {
                 return (p.links.*link.of).has_value();
               }));
  return table;
}

Table phases_table(const std::vector<analyzer::PhaseSummary>& phases) {
  Table table(phase_columns(), phases.size(),
              [&phases](std::size_t i) -> const analyzer::PhaseSummary& { return phases[i]; });
  table.show("process_id", std::any_of(phases.begin(), phases.end(), [&](const auto& p) {
               return p.process_id != phases.front().process_id;
             }));
  return table;
}

Table accounting_table(const analyzer::Accounting& a) {
  auto parts = std::make_shared<std::vector<Part>>();
  const auto part = [&](const char* key, const char* label, std::int64_t ns, std::string meaning) {
    parts->push_back({key, label, ns, a.step_ns, std::move(meaning)});
  };
  part("kernels", "GPU busy", a.kernel_busy_ns,
       a.kernel_overlap_ns > 0 ? fmt::format("a kernel runs; kernels overlapped for {}",
                                             time_text(static_cast<double>(a.kernel_overlap_ns)))
                               : counted(a.launches, "launch", "launches") + ", none in parallel");
  part("copies_exposed", "copies", a.copy_exposed_ns,
       a.copy_hidden_ns > 0 ? fmt::format("no kernel runs beside; {} ran beside kernels",
                                          time_text(static_cast<double>(a.copy_hidden_ns)))
                            : "a copy runs and no kernel");
  part("memsets_exposed", "memsets", a.memset_exposed_ns, "a memset runs and nothing else");
  // What is recording's own is taken from the gaps that wait for launches, from each as much as its share of them.
  const std::int64_t recording = a.gap_recording_ns.value_or(0);
  const std::int64_t of_launching = a.gap_launch_bound_ns + a.gap_host_bound_ns;
  const auto of_launches = static_cast<std::int64_t>(
      of_launching > 0 ? static_cast<double>(recording) * static_cast<double>(a.gap_launch_bound_ns) /
                             static_cast<double>(of_launching)
                       : 0);
  part("gap_launch_bound", "gaps: launch-bound", a.gap_launch_bound_ns - of_launches,
       "a launch was being issued");
  part("gap_host_bound", "gaps: CPU-bound", a.gap_host_bound_ns - (recording - of_launches),
       "the CPU had not begun the next launch");
  if (a.gap_recording_ns)
    part("gap_recording", "gaps: recording", recording,
         fmt::format("they are longer for being recorded: alone this {} takes {}", scope_noun(a.scope),
                     time_text(a.alone_step_ns)));
  if (a.gap_synchronisation_ns)
    part("gap_synchronisation", "gaps: synchronisation", *a.gap_synchronisation_ns,
         "the launching thread was in a call that waits");
  part("gap_queued", "gaps: queued", a.gap_queued_ns, "the launch waited for an event or a stream");
  part("gap_unknown", "gaps: unknown", a.gap_unknown_ns, "the call behind what follows is not known");
  const std::string noun(scope_noun(a.scope));
  part("gap_tail", "gaps: tail", a.gap_tail_ns,
       fmt::format("the GPU was idle after the {}'s last work", noun));
  part("remainder", "remainder", a.remainder_ns, "the parts above do not explain it");
  const std::vector<Column<Part>> columns = part_columns(noun);
  Table table(columns, parts->size(), [parts](std::size_t i) -> const Part& { return (*parts)[i]; });
  table.add_total(total_cells(columns, Part{"step", noun, a.step_ns, a.step_ns, ""}, Total::all));
  return table;
}

Table bounds_table(const analyzer::Accounting& accounting, const std::vector<analyzer::TimePart>& parts) {
  const std::vector<Column<BoundLine>> columns = bound_columns(std::string(scope_noun(accounting.scope)));
  Table table(columns, parts.size(), [&accounting, &parts](std::size_t i) {
    return BoundLine{&parts[i].name, parts[i].launches, &parts[i].time, accounting.step_ns};
  });
  static const std::string kAll = "kernels";
  table.add_total(
      total_cells(columns, BoundLine{&kAll, {}, &accounting.kernels.total, accounting.step_ns}, Total::all));
  table.show("no_roof_ns", accounting.kernels.total.no_roof_ns > 0);
  table.show("unmeasured_ns", accounting.kernels.total.unmeasured_ns > 0);
  return table;
}

Table gaps_table(const analyzer::Model& model, const analyzer::Accounting& accounting, std::size_t sorted) {
  struct Length {
    std::int64_t ns;
    std::size_t gap;
  };
  auto order = std::make_shared<std::vector<Length>>();
  order->reserve(accounting.gaps.size());
  for (std::size_t i = 0; i < accounting.gaps.size(); ++i)
    order->push_back({accounting.gaps.length_ns(i), i});
  const auto longer = [](const Length& a, const Length& b) {
    return a.ns != b.ns ? a.ns > b.ns : a.gap < b.gap;
  };
  // A partial sort is the faster only as long as the part is small.
  if (sorted < order->size() / 8) {
    std::partial_sort(order->begin(), order->begin() + static_cast<std::ptrdiff_t>(sorted), order->end(),
                      longer);
  } else {
    std::sort(order->begin(), order->end(), longer);
  }
  // A row is asked for once for each of its cells, one row after the other.
  struct Known {
    std::unordered_map<store::Id, std::string> names;
    std::size_t row = SIZE_MAX;
    GapLine line;
  };
  auto known = std::make_shared<Known>();
  const std::int64_t longest_ns = order->empty() ? 0 : order->front().ns;
  return {gap_columns(longest_ns), order->size(),
          [order, known, &model, &accounting](std::size_t i) -> const GapLine& {
            if (known->row != i)
              known->line = {&model, &accounting, accounting.gaps[(*order)[i].gap], &known->names};
            known->row = i;
            return known->line;
          }};
}

}  // namespace ridgeline::reports
