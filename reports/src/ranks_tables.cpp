// ranks_tables.cpp: ranks, steps, collectives, kernels and the account of a job as tables.
#include <fmt/format.h>

#include <algorithm>

#include "link_columns.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/ranks_document.h"

namespace ridgeline::reports {
namespace {

using analyzer::AccountPart;
using analyzer::AccountRow;
using analyzer::CollectiveClass;
using analyzer::CollectiveCost;
using analyzer::JobAnalysis;
using analyzer::JobStepCost;
using analyzer::KernelInterference;
using analyzer::KernelOverRanks;
using analyzer::LatenessCause;
using analyzer::LatenessParts;
using analyzer::RankCost;
using analyzer::WaitSource;

std::string cause_word(LatenessCause cause) {
  switch (cause) {
    case LatenessCause::more_work:
      return "more_work";
    case LatenessCause::more_cycles:
      return "more_cycles";
    case LatenessCause::lower_clock:
      return "lower_clock";
    case LatenessCause::host_gaps:
      return "host_gaps";
    case LatenessCause::copies:
      return "copies";
    case LatenessCause::slower_kernels:
      return "slower_kernels";
    case LatenessCause::unexplained:
      return "unexplained";
  }
  return "";
}

Cell cause_cell(const std::optional<LatenessCause>& cause) {
  if (!cause) return Cell::missing();
  const std::string word = cause_word(*cause);
  return Cell::worded(in_words(word), word, Style::bad);
}

std::string class_word(CollectiveClass kind) {
  switch (kind) {
    case CollectiveClass::transfer:
      return "transfer";
    case CollectiveClass::skew:
      return "skew";
    case CollectiveClass::mixed:
      return "mixed";
    case CollectiveClass::inconclusive:
      return "inconclusive";
    case CollectiveClass::not_known:
      return "not_known";
  }
  return "";
}

std::string part_word(AccountPart part) {
  switch (part) {
    case AccountPart::compute:
      return "compute";
    case AccountPart::copies:
      return "copies";
    case AccountPart::idle:
      return "idle";
    case AccountPart::exposed_wait:
      return "exposed_wait";
    case AccountPart::exposed_transfer:
      return "exposed_transfer";
    case AccountPart::duration:
      return "duration";
  }
  return "";
}

std::string part_text(AccountPart part) {
  switch (part) {
    case AccountPart::compute:
      return "kernels that compute";
    case AccountPart::copies:
      return "copies";
    case AccountPart::idle:
      return "idle";
    case AccountPart::exposed_wait:
      return "waiting for the last rank";
    case AccountPart::exposed_transfer:
      return "waiting for the transfer";
    case AccountPart::duration:
      return "step";
  }
  return "";
}

// A field in milliseconds.
template <typename Row>
std::function<Cell(const Row&)> ms(double Row::*field, Style style = Style::plain) {
  return [=](const Row& row) { return Cell::number(row.*field, Form::milliseconds, style); };
}
template <typename Row>
std::function<Cell(const Row&)> us(double Row::*field, Style style = Style::plain) {
  return [=](const Row& row) { return Cell::number(row.*field, Form::microseconds, style); };
}
template <typename Row>
std::function<Cell(const Row&)> count(std::int64_t Row::*field) {
  return [=](const Row& row) { return Cell::number(row.*field); };
}
std::function<Cell(const RankCost&)> part(double LatenessParts::*field) {
  return [=](const RankCost& row) {
    return row.late_steps > 0 ? Cell::number(row.parts.*field, Form::milliseconds) : Cell::missing();
  };
}

template <typename Row>
Table table_of(std::vector<Column<Row>> columns, const std::vector<Row>& rows) {
  return Table(std::move(columns), rows.size(), [&rows](std::size_t i) -> const Row& { return rows[i]; });
}

void add_rank_times(std::vector<Column<RankCost>>& columns) {
  columns.push_back({{.key = "duration_ns",
                      .header = "step",
                      .unit = "ms",
                      .help = "of a step, median over steps, as all times here",
                      .drop_order = 8},
                     ms(&RankCost::duration_ns)});
  columns.push_back(
      {{.key = "own_ns",
        .header = "own",
        .unit = "ms",
        .help = "what the others may wait for: kernels that compute, copies alone, and nothing"},
       ms(&RankCost::own_ns, Style::strong)});
  columns.push_back({{.key = "compute_ns",
                      .header = "compute",
                      .unit = "ms",
                      .help = "some kernel computes",
                      .drop_order = 5},
                     ms(&RankCost::compute_ns)});
  columns.push_back({{.key = "copy_ns",
                      .header = "copies",
                      .unit = "ms",
                      .help = "a copy runs, no kernel computes and no collective is waited for",
                      .drop_order = 6},
                     ms(&RankCost::copy_ns)});
  columns.push_back({{.key = "idle_ns",
                      .header = "idle",
                      .unit = "ms",
                      .help = "nothing computes or copies, and no collective is waited for",
                      .drop_order = 7},
                     ms(&RankCost::idle_ns)});
  columns.push_back({{.key = "exposed_wait_ns",
                      .header = "wait",
                      .unit = "ms",
                      .help = "waits for collectives that the last rank has not entered"},
                     ms(&RankCost::exposed_wait_ns)});
  columns.push_back({{.key = "exposed_transfer_ns",
                      .header = "transfer",
                      .unit = "ms",
                      .help = "waits for collectives that all have entered",
                      .drop_order = 3},
                     ms(&RankCost::exposed_transfer_ns)});
}

void add_rank_lateness(std::vector<Column<RankCost>>& columns) {
  columns.push_back(
      {{.key = "lateness_ns", .header = "later by", .unit = "ms", .help = "own time less that of the others"},
       ms(&RankCost::lateness_ns)});
  columns.push_back({{.key = "late_steps",
                      .header = "late",
                      .unit = "steps",
                      .help = "steps in which it is late enough to be named",
                      .drop_order = 2},
                     count(&RankCost::late_steps)});
  columns.push_back(
      {{.key = "cause",
        .header = "cause",
        .help = "what is most of its lateness in those: `more_work`, `more_cycles`, `lower_clock`, "
                "`host_gaps`, `copies`; `slower_kernels`: cycles or clock; `unexplained`: no part is",
        .align = Align::left},
       [](const RankCost& row) { return cause_cell(row.cause); }});
  columns.push_back({{.key = "last_share",
                      .header = "last",
                      .unit = "%",
                      .help = "of the collectives in which one can be told to enter last: this rank",
                      .drop_order = 4},
                     [](const RankCost& row) { return Cell::number(row.last_share, Form::percent); }});
  columns.push_back({{.key = "late_ns",
                      .header = "late by",
                      .unit = "ms",
                      .help = "its lateness in the steps in which it is late, median; then its parts, means",
                      .shown = false},
                     [](const RankCost& row) {
                       return row.late_steps > 0 ? Cell::number(row.late_ns, Form::milliseconds)
                                                 : Cell::missing();
                     }});
  constexpr std::pair<const char*, double LatenessParts::*> kParts[] = {
      {"more_work_ns", &LatenessParts::more_work_ns},
      {"more_cycles_ns", &LatenessParts::more_cycles_ns},
      {"lower_clock_ns", &LatenessParts::lower_clock_ns},
      {"slower_kernels_ns", &LatenessParts::slower_kernels_ns},
      {"host_gaps_ns", &LatenessParts::host_gaps_ns},
      {"copies_ns", &LatenessParts::copies_ns},
      {"rest_ns", &LatenessParts::rest_ns}};
  for (const auto& [key, field] : kParts) {
    const std::string name = std::string(key).substr(0, std::string(key).size() - 3);
    std::string words = name;
    std::replace(words.begin(), words.end(), '_', ' ');
    columns.push_back({{.key = key,
                        .header = name,
                        .unit = "ms",
                        .help = "part of it, as in `cause`",
                        .title = "late by " + words,
                        .shown = false},
                       part(field)});
  }
}

// Bytes over the device's links; `during`: of what they are the mean.
template <typename Row>
void add_links(std::vector<Column<Row>>& columns, const char* during) {
  for (const LinkColumn& link : kLinkColumns)
    columns.push_back(
        {{.key = link.key,
          .header = link.header,
          .unit = "MB",
          .help = fmt::format("{} by the rank's device {} (T1); not sampled: missing", link.what, during),
          .drop_order = 9},
         [of = link.of](const Row& row) { return Cell::number(row.link_bytes.*of, Form::megabytes); }});
}

// Columns of what nobody sampled are noise.
template <typename Row>
void show_links(Table& table, const std::vector<Row>& rows) {
  for (const LinkColumn& link : kLinkColumns)
    table.show(link.key, std::any_of(rows.begin(), rows.end(),
                                     [&](const Row& row) { return (row.link_bytes.*link.of).has_value(); }));
}

template <typename E>
Cell word_or_missing(std::optional<E> word) {
  return word ? Cell::text(std::string(to_string(*word))) : Cell::missing();
}

// Which collective it is.
void add_collective(std::vector<Column<CollectiveCost>>& columns) {
  using Row = CollectiveCost;
  columns.push_back(
      {{.key = "place", .header = "#", .help = "in the step's sequence of its communicator, from 0"},
       [](const Row& row) { return Cell::number(row.place, Form::plain); }});
  columns.push_back({{.key = "function",
                      .header = "function",
                      .help = "`all_reduce`, `all_gather`, `reduce_scatter`, `broadcast`, `reduce`, "
                              "`all_to_all`, `send_receive`; not known: missing",
                      .align = Align::left},
                     [](const Row& row) { return word_or_missing(row.function); }});
  columns.push_back(
      {{.key = "bytes", .header = "size", .unit = "MB", .help = "of the whole array; not known: missing"},
       [](const Row& row) {
         return row.bytes ? Cell::number(*row.bytes, Form::megabytes) : Cell::missing();
       }});
  columns.push_back(
      {{.key = "element_type",
        .header = "type",
        .help =
            "of its elements, by NCCL's profiler plugin, else by its kernel's name: `fp32`, `bf16` and "
            "the like; missing: neither says it, as of a gather, whose kernel moves bytes, or calls differ",
        .align = Align::left,
        .shown = false},
       [](const Row& row) { return word_or_missing(row.element_type); }});
  columns.push_back(
      {{.key = "blocks",
        .header = "blocks",
        .help = "thread blocks of its kernel on a rank, for NCCL its channels; missing: calls differ",
        .shown = false},
       [](const Row& row) { return row.blocks ? Cell::number(*row.blocks, Form::plain) : Cell::missing(); }});
  columns.push_back({{.key = "algorithm",
                      .header = "algorithm",
                      .help = "by NCCL's profiler plugin: `ring`, `tree`, `collnet_direct`, `collnet_chain`, "
                              "`nvls`, `nvls_tree`, `pat`; missing: not known, or calls differ",
                      .align = Align::left,
                      .shown = false},
                     [](const Row& row) { return word_or_missing(row.algorithm); }});
  columns.push_back({{.key = "protocol",
                      .header = "protocol",
                      .help = "likewise: `ll`, `ll128`, `simple`",
                      .align = Align::left,
                      .shown = false},
                     [](const Row& row) { return word_or_missing(row.protocol); }});
  columns.push_back(
      {{.key = "copies",
        .header = "copies",
        .help = "between devices that are the call on a rank, where the copy engines do it; missing: a "
                "kernel does, or calls differ",
        .shown = false},
       [](const Row& row) { return row.copies ? Cell::number(*row.copies, Form::plain) : Cell::missing(); }});
  columns.push_back({{.key = "communicator",
                      .header = "communicator",
                      .help = "its hash, or the stream where it is not known",
                      .align = Align::left,
                      .shown = false},
                     [](const Row& row) { return Cell::text(row.communicator); }});
  columns.push_back({{.key = "steps", .header = "steps", .help = "in which it was found", .shown = false},
                     count(&Row::steps)});
  columns.push_back(
      {{.key = "ranks", .header = "ranks", .help = "that have a record of it, the fewest", .shown = false},
       count(&Row::ranks)});
}

// Its time, and what of it is waiting, hidden and exposed.
void add_collective_times(std::vector<Column<CollectiveCost>>& columns) {
  using Row = CollectiveCost;
  columns.push_back(
      {{.key = "duration_ns",
        .header = "time",
        .unit = "µs",
        .help =
            "from a rank's entering to its leaving: mean over ranks, median over steps, as all times here"},
       us(&Row::duration_ns, Style::strong)});
  columns.push_back(
      {{.key = "wait_ns", .header = "wait", .unit = "µs", .help = "until the last rank has entered"},
       us(&Row::wait_ns)});
  columns.push_back({{.key = "transfer_ns",
                      .header = "transfer",
                      .unit = "µs",
                      .help = "shortest time of a rank in it: that of the last"},
                     us(&Row::transfer_ns)});
  columns.push_back({{.key = "hidden_ns",
                      .header = "hidden",
                      .unit = "µs",
                      .help = "kernels compute beside it",
                      .drop_order = 4},
                     us(&Row::hidden_ns)});
  columns.push_back(
      {{.key = "exposed_ns", .header = "exposed", .unit = "µs", .help = "none does"}, us(&Row::exposed_ns)});
  columns.push_back({{.key = "exposed_wait_ns",
                      .header = "exposed wait",
                      .unit = "µs",
                      .help = "of that, waiting",
                      .shown = false},
                     us(&Row::exposed_wait_ns)});
  columns.push_back({{.key = "exposed_transfer_ns",
                      .header = "exposed transfer",
                      .unit = "µs",
                      .help = "of that, the rest",
                      .shown = false},
                     us(&Row::exposed_transfer_ns)});
}

// How far apart the ranks enter, how fast it is, and which of the two its time is.
void add_collective_verdict(std::vector<Column<CollectiveCost>>& columns) {
  using Row = CollectiveCost;
  columns.push_back({{.key = "skew_ns",
                      .header = "skew",
                      .unit = "µs",
                      .help = "last entering less the first, on aligned clocks; not aligned: missing",
                      .drop_order = 3},
                     [](const Row& row) { return Cell::number(row.skew_ns, Form::microseconds); }});
  columns.push_back({{.key = "wait_error_ns",
                      .header = "±",
                      .unit = "µs",
                      .help = "how wrong that can be, from the clocks",
                      .drop_order = 2},
                     [](const Row& row) { return Cell::number(row.wait_error_ns, Form::microseconds); }});
  columns.push_back(
      {{.key = "wait_source",
        .header = "waits from",
        .help = "`clocks`: from the last entering; `durations`: from the shortest time, where clocks are off "
                "by more than that",
        .align = Align::left,
        .shown = false},
       [](const Row& row) { return Cell::text(row.source == WaitSource::clocks ? "clocks" : "durations"); }});
  columns.push_back(
      {{.key = "algorithm_bytes_per_s",
        .header = "algorithm",
        .unit = "GB/s",
        .help = "size over transfer; size not known: missing",
        .shown = false},
       [](const Row& row) { return Cell::number(row.algorithm_bytes_per_s, Form::gigabytes); }});
  columns.push_back(
      {{.key = "bus_bytes_per_s",
        .header = "bus",
        .unit = "GB/s",
        .help = "that times what the function moves on the links for each byte, as nccl-tests have it"},
       [](const Row& row) { return Cell::number(row.bus_bytes_per_s, Form::gigabytes); }});
  columns.push_back(
      {{.key = "link_ratio",
        .header = "of link",
        .unit = "%",
        .help = "the bus bandwidth, of what NVLink was measured to carry one way (`ridgeline ceilings`)",
        .drop_order = 10},
       [](const Row& row) { return Cell::number(row.link_ratio, Form::percent); }});
  columns.push_back(
      {{.key = "class",
        .header = "is",
        .help = "`transfer` or `skew`: more than two thirds of its time; `mixed`; "
                "`inconclusive`: ranks enter less apart than clocks can tell; `not_known`",
        .align = Align::left},
       [](const Row& row) { return Cell::worded(in_words(class_word(row.kind)), class_word(row.kind)); }});
  columns.push_back({{.key = "last_rank",
                      .header = "last",
                      .unit = "rank",
                      .help = "enters last most often; cannot be told: missing"},
                     [](const Row& row) {
                       return row.last_rank < 0 ? Cell::missing() : Cell::number(row.last_rank, Form::plain);
                     }});
  columns.push_back(
      {{.key = "last_share", .header = "in", .unit = "%", .help = "of the steps", .drop_order = 1},
       [](const Row& row) {
         return row.last_rank < 0 ? Cell::missing() : Cell::number(row.last_share, Form::percent);
       }});
}

}  // namespace

Result<RanksView> parse_ranks_view(std::string_view text) {
  constexpr std::pair<std::string_view, RanksView> kViews[] = {{"rank", RanksView::rank},
                                                               {"step", RanksView::step},
                                                               {"collective", RanksView::collective},
                                                               {"kernel", RanksView::kernel},
                                                               {"account", RanksView::account}};
  for (const auto& [word, view] : kViews) {
    if (word == text) return view;
  }
  return Failure{ErrorKind::usage,
                 fmt::format("no rows by '{}': use rank, step, collective, kernel or account", text)};
}

Table rank_costs_table(const JobAnalysis& analysis) {
  std::vector<Column<RankCost>> columns;
  columns.push_back({{.key = "rank", .header = "rank", .help = "of the job"},
                     [](const RankCost& row) { return Cell::number(row.rank, Form::plain); }});
  columns.push_back({{.key = "host",
                      .header = "host",
                      .help = "whose clock its times are on",
                      .align = Align::left,
                      .elide = Elide::middle,
                      .min_width = 12,
                      .drop_order = 3},
                     [](const RankCost& row) { return Cell::text(row.host); }});
  add_rank_times(columns);
  add_rank_lateness(columns);
  columns.push_back({{.key = "sm_clock_hz",
                      .header = "clock",
                      .unit = "MHz",
                      .help = "SM clock, median over steps; not sampled: missing",
                      .drop_order = 2},
                     [](const RankCost& row) { return Cell::number(row.sm_clock_hz, Form::megahertz); }});
  columns.push_back(
      {{.key = "clock_error_ns",
        .header = "±",
        .unit = "µs",
        .help = "how far its aligned times may be off; not aligned: missing",
        .drop_order = 1},
       [](const RankCost& row) { return Cell::number(row.clock_error_ns, Form::microseconds); }});
  add_links(columns, "in a sampled step, mean over those");
  Table table = table_of(std::move(columns), analysis.rank_costs);
  show_links(table, analysis.rank_costs);
  return table;
}

Table job_steps_table(const JobAnalysis& analysis) {
  std::vector<Column<JobStepCost>> columns;
  columns.push_back({{.key = "step_index", .header = "step", .help = "as the ranks count them"},
                     [](const JobStepCost& row) { return Cell::number(row.step_index, Form::plain); }});
  columns.push_back({{.key = "duration_ns", .header = "time", .unit = "ms", .help = "median over ranks"},
                     ms(&JobStepCost::duration_ns, Style::strong)});
  columns.push_back({{.key = "exposed_ns",
                      .header = "exposed",
                      .unit = "ms",
                      .help = "collectives with no kernel beside them, waited for or not, mean over ranks"},
                     ms(&JobStepCost::exposed_ns)});
  columns.push_back({{.key = "exposed_wait_ns",
                      .header = "wait",
                      .unit = "ms",
                      .help = "waiting for the last rank, mean over ranks"},
                     ms(&JobStepCost::exposed_wait_ns)});
  columns.push_back({{.key = "exposed_transfer_ns",
                      .header = "transfer",
                      .unit = "ms",
                      .help = "waiting for the transfer, mean over ranks"},
                     ms(&JobStepCost::exposed_transfer_ns)});
  columns.push_back({{.key = "slowest_rank",
                      .header = "slowest",
                      .unit = "rank",
                      .help = "rank that needs longest for its own part"},
                     [](const JobStepCost& row) { return Cell::number(row.slowest_rank, Form::plain); }});
  columns.push_back({{.key = "lateness_ns", .header = "later by", .unit = "ms", .help = "than the others"},
                     ms(&JobStepCost::lateness_ns)});
  columns.push_back(
      {{.key = "late", .header = "late", .help = "whether that is enough to be named", .shown = false},
       [](const JobStepCost& row) { return Cell::worded(row.late ? "yes" : "no", row.late); }});
  columns.push_back({{.key = "cause", .header = "cause", .help = "as of ranks", .align = Align::left},
                     [](const JobStepCost& row) { return cause_cell(row.cause); }});
  return table_of(std::move(columns), analysis.step_costs);
}

Table collectives_table(const JobAnalysis& analysis) {
  std::vector<Column<CollectiveCost>> columns;
  add_collective(columns);
  add_collective_times(columns);
  add_collective_verdict(columns);
  add_links(columns, "while such a collective ran, mean over ranks and sampled steps");
  columns.push_back(
      {{.key = "nvlink_ratio",
        .header = "sent/due",
        .help = "bytes sent over NVLink for each that the function has a rank send: more is protocol, "
                "and whatever else was sent",
        .drop_order = 9},
       [](const CollectiveCost& row) { return Cell::number(row.nvlink_ratio, Form::ratio); }});
  columns.push_back({{.key = "link_calls",
                      .header = "sampled",
                      .unit = "calls",
                      .help = "collectives of all ranks that those bytes are of",
                      .shown = false},
                     count(&CollectiveCost::link_calls)});
  Table table = table_of(std::move(columns), analysis.collectives);
  show_links(table, analysis.collectives);
  const auto show_if_any = [&](const char* key, std::optional<double> CollectiveCost::*of) {
    table.show(key, std::any_of(analysis.collectives.begin(), analysis.collectives.end(),
                                [&](const CollectiveCost& row) { return (row.*of).has_value(); }));
  };
  show_if_any("link_ratio", &CollectiveCost::link_ratio);
  show_if_any("nvlink_ratio", &CollectiveCost::nvlink_ratio);
  return table;
}

Table kernels_over_ranks_table(const JobAnalysis& analysis) {
  using Row = KernelOverRanks;
  std::vector<Column<Row>> columns;
  columns.push_back({{.key = "kernel",
                      .header = "kernel",
                      .help = "that computes",
                      .align = Align::left,
                      .elide = Elide::kernel_name},
                     [](const Row& row) { return Cell::text(row.kernel); }});
  columns.push_back(
      {{.key = "launches", .header = "launches", .help = "in a step, median over ranks", .drop_order = 2},
       [](const Row& row) { return Cell::number(row.launches, Form::general); }});
  columns.push_back({{.key = "median_ns",
                      .header = "median",
                      .unit = "ms",
                      .help = "time in a step, of the rank in the middle"},
                     ms(&Row::median_ns, Style::strong)});
  columns.push_back({{.key = "best_ns", .header = "best", .unit = "ms", .help = "of the rank with the least"},
                     ms(&Row::best_ns)});
  columns.push_back(
      {{.key = "worst_ns", .header = "worst", .unit = "ms", .help = "of the rank with the most"},
       ms(&Row::worst_ns)});
  columns.push_back({{.key = "worst_rank", .header = "rank", .help = "with the most"},
                     [](const Row& row) { return Cell::number(row.worst_rank, Form::plain); }});
  columns.push_back({{.key = "spread_ratio",
                      .header = "spread",
                      .unit = "%",
                      .help = "of the middle 80 % of ranks, over the median",
                      .drop_order = 3},
                     [](const Row& row) { return Cell::number(row.spread_ratio, Form::percent); }});
  columns.push_back(
      {{.key = "ranks", .header = "ranks", .help = "that launch it", .drop_order = 1}, count(&Row::ranks)});
  return table_of(std::move(columns), analysis.kernels);
}

Table interference_table(const JobAnalysis& analysis) {
  using Row = KernelInterference;
  std::vector<Column<Row>> columns;
  columns.push_back({{.key = "kernel",
                      .header = "kernel beside",
                      .help = "that computes beside collectives",
                      .align = Align::left,
                      .elide = Elide::kernel_name},
                     [](const Row& row) { return Cell::text(row.kernel); }});
  columns.push_back({{.key = "function",
                      .header = "function",
                      .help = "of the collective that a launch is longest beside; not known: missing",
                      .align = Align::left},
                     [](const Row& row) { return word_or_missing(row.function); }});
  columns.push_back(
      {{.key = "factor_ratio",
        .header = "slower",
        .unit = "×",
        .help = "its time beside collectives over what the same work takes beside none; no "
                "controls: missing"},
       [](const Row& row) { return Cell::number(row.factor_ratio, Form::ratio, Style::strong); }});
  columns.push_back({{.key = "cost_ns",
                      .header = "cost",
                      .unit = "ms",
                      .help = "so much longer launches with controls took than these: in a step of a rank, "
                              "mean, as the next two"},
                     [](const Row& row) { return Cell::number(row.cost_ns, Form::milliseconds); }});
  columns.push_back(
      {{.key = "beside_ns", .header = "beside", .unit = "ms", .help = "it ran so long beside collectives"},
       ms(&Row::beside_ns)});
  columns.push_back({{.key = "controlled_ns",
                      .header = "compared",
                      .unit = "ms",
                      .help = "of that, of launches with controls",
                      .drop_order = 2},
                     ms(&Row::controlled_ns)});
  columns.push_back({{.key = "launches",
                      .header = "launches",
                      .help = "beside collectives, of all ranks and steps",
                      .drop_order = 1},
                     count(&Row::launches)});
  columns.push_back(
      {{.key = "compared", .header = "with", .help = "of these, with controls", .drop_order = 3},
       count(&Row::compared)});
  columns.push_back({{.key = "controls",
                      .header = "controls",
                      .help = "launches of the same kinds beside no collective",
                      .drop_order = 4},
                     count(&Row::controls)});
  return table_of(std::move(columns), analysis.interference.kernels);
}

Table job_account_table(const JobAnalysis& analysis) {
  std::vector<Column<AccountRow>> columns;
  columns.push_back(
      {{.key = "part",
        .header = "part",
        .help = "`compute`, `copies`, `idle`, `exposed_wait`, `exposed_transfer`; they add up to `duration`",
        .align = Align::left},
       [](const AccountRow& row) { return Cell::worded(part_text(row.part), part_word(row.part)); }});
  columns.push_back(
      {{.key = "time_ns", .header = "time", .unit = "ms", .help = "in a step, mean over ranks and steps"},
       ms(&AccountRow::time_ns, Style::strong)});
  columns.push_back({{.key = "alone_ns",
                      .header = "alone",
                      .unit = "ms",
                      .help = "of the run of one rank alone; none was given: missing"},
                     [](const AccountRow& row) { return Cell::number(row.alone_ns, Form::milliseconds); }});
  columns.push_back(
      {{.key = "difference_ns", .header = "more", .unit = "ms", .help = "the first less the second"},
       [](const AccountRow& row) {
         return row.alone_ns ? Cell::number(row.time_ns - *row.alone_ns, Form::milliseconds)
                             : Cell::missing();
       }});
  return table_of(std::move(columns), analysis.account);
}

}  // namespace ridgeline::reports
