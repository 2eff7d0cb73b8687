/// reason.h: why something is missing, refused or as it is: a code with its values. Programs compare codes and values;
/// the sentence is made where somebody reads it (reports/reason_text.h). What a source says in its own words, the
/// agent's text of a refusal for one, is kept beside the code and never searched.
#pragma once

#include <compare>
#include <concepts>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "ridgeline/base/vocabulary.h"

namespace ridgeline {

/// The words are stable: captures hold them. After each: its values, and what is below it.
enum class ReasonCode : std::uint8_t {
  none_given,  ///< a sentence alone, of a source or a capture without codes
  no_reason,   ///< the source says none
  text_lost,   ///< the source's words found no room in the spool
  several,     ///< those below, together
  tier,        ///< `tier`, `outcome`; below: why

  /// What the agent says: in its own words, with `cause` (a RefusalCause) and `cupti_result` where it has them.
  collector,  ///< of no other kind
  cupti_missing,
  subscriber_taken,
  timeline_refused,
  counters_refused,
  metric_unavailable,
  replay,
  nvtx_missing,
  clocks_missing,
  forked,
  configuration,
  sampling,
  sampling_refused,
  replay_exclusion,
  replay_time_out,
  steps,
  window,
  stalls,
  flops,
  spool_full,
  nvtx_paths,
  price,  ///< what recording costs was not measured
  turns,  ///< when this process had the GPU's counters, which it shares with others

  /// What the launcher says, and what is wrong with its files; verbatim.
  launcher,
  file_unreadable,
  end_not_seen,  ///< the launcher did not see the program end

  /// What became of a process.
  launches_without_record,  ///< `launches`
  records_without_launch,   ///< `records`: kernels of launches that were not seen
  records_of_one_call,   ///< `records`: kernels with the id of one call, far more than it can have launched
  records_dropped,       ///< `records`
  records_without_room,  ///< `records`
  records_without_time,  ///< `records`
  bytes_unreadable,      ///< `bytes`
  process_unfinished,    ///< `pid`; below: what is missing
  spool_damaged,         ///< `pid`, `bytes`, `more`: findings beside the one that is quoted
  spool_cut,             ///< `pid`, `records`, `expected`
  names_lost,            ///< `names`
  range_paths_full,      ///< `limit`
  ranges_unbalanced,     ///< `calls`
  nccl_profiler_taken,   ///< `by`: what NCCL has for a profiler plugin already
  part_of_capture,       ///< `name`, `steps`, `of_steps`, `launches`, `of_launches`, `duration_ns`

  /// Steps.
  /// `step_range`, `searched` (0 or 1), `stretches`, `imported` (0 or 1), `ranges` of that name without a launch;
  /// below: the ranges that were seen
  no_steps,
  range_seen,       ///< `name`, `ranges`
  no_range_seen,    ///< `step_range`
  steps_by_period,  ///< found by the import: `steps`, `launches`, `periods`, `step_ns`, `varies`, `imported`
  steps_by_range,   ///< found by the import: `name`, `steps`, `launches_ratio`, `imported`
  too_few_steps,    ///< `steps`, `first_step`, `tier`
  step_open,        ///< the recording ended inside it
  step_killed,      ///< `missing`, `launches`
  window_open,      ///< the program was killed before it closed
  step_superseded,  ///< it was taken for a step until others were found
  /// What recording costs: pace of steps alone and recorded. `alone_ns`, `recorded_ns`, `error_ns` (95 %),
  /// `steps_alone`, `steps_recorded`, `launches` a step, `by_period` (0 or 1); taken off a step alone: `remained_ns` of
  /// callbacks, `kept_ns` that CUPTI takes of launches when its records are off (`kept_known`: 1 if that was measured,
  /// or nothing of it reaches the step)
  recording_price,
  another_launch,  ///< `position`, `counted`, `counted_grid`, `ran`, `ran_grid`

  /// Samples (T1).
  not_asked_for,  ///< `tier`
  no_samples,     ///< below: why
  samples_undecoded,
  samples_elsewhere,
  samples_unread,
  samples_of_part_of_step,  ///< `covered_ratio`; below: why
  no_sampled_values,        ///< `steps`; below: why
  none_told_apart,
  sampled_steps_lost,       ///< `ok`, `steps`; below: why the first
  samples_of_part,          ///< `covered_ratio`
  sampled_metric_left_out,  ///< `metric`, `missing`, `samples`
  samples_uncorrelated,     ///< `correlation`

  /// Counters (T2, T3) and stalls.
  no_counters,  ///< below: why
  counters_unread,
  counters_of_step,       ///< `step`, the first, and `steps` if there are several; below: what was said of it
  counted_steps_lost,     ///< `ok`, `steps`, `tier`; below: why the first
  no_counted_values,      ///< `steps`, `tier`; below: why
  values_without_launch,  ///< `values`
  values_without_metric,  ///< `values`
  values_not_evaluated,   ///< `values`
  no_stall_samples,
  stall_samples_dropped,    ///< `dropped`, `received`
  stall_samples_nameless,   ///< `samples`
  stall_samples_ambiguous,  ///< `samples`

  /// What another profiler's file does not have, and what of it is not taken over.
  import_without_names,    ///< of kernels and ranges
  import_without_calls,    ///< of the host
  import_without_devices,  ///< what they are called, and their peaks
  import_hidden_graphs,    ///< `launches`, `duration_ns`
  import_cut,              ///< `end` (list, gzip, damage), `events`
  import_malformed,        ///< `events`
  import_left_out,         ///< below: of what, each an import_left_out_events
  import_left_out_events,  ///< `category`, `events`
  import_samples,          ///< `samples`, `interval_ns`, `metrics`
  import_samples_unused,   ///< `samples`, `cause` (no_device, no_metric, no_times, too_many)
  import_metrics_unused,   ///< `metrics`, `names`
  import_dram_without_peak,

  /// Counters of another run, joined onto launches of a capture.
  counters_joined,      ///< `source`, `launches`, `of_launches`, `kernels`, `metrics`, `by_order`
  counters_unmatched,   ///< `launches`; below: of what, each a counters_of_kernel
  counters_ambiguous,   ///< `launches`; below: likewise, with `candidates`
  counters_by_kind,     ///< `kernels`; below: likewise: there are not as many launches in the step
  counters_of_kernel,   ///< `name`, `launches`, `candidates`
  counters_unreadable,  ///< `metrics`, `names`
};

template <>
struct Vocabulary<ReasonCode> {
  using Code = ReasonCode;
  static constexpr std::string_view kName = "code of a reason";
  static constexpr Word<Code> kWords[] = {
      {Code::none_given, "none_given"},
      {Code::no_reason, "no_reason"},
      {Code::text_lost, "text_lost"},
      {Code::several, "several"},
      {Code::tier, "tier"},
      {Code::collector, "collector"},
      {Code::cupti_missing, "cupti_missing"},
      {Code::subscriber_taken, "subscriber_taken"},
      {Code::timeline_refused, "timeline_refused"},
      {Code::counters_refused, "counters_refused"},
      {Code::metric_unavailable, "metric_unavailable"},
      {Code::replay, "replay"},
      {Code::nvtx_missing, "nvtx_missing"},
      {Code::clocks_missing, "clocks_missing"},
      {Code::forked, "forked"},
      {Code::configuration, "configuration"},
      {Code::sampling, "sampling"},
      {Code::sampling_refused, "sampling_refused"},
      {Code::replay_exclusion, "replay_exclusion"},
      {Code::replay_time_out, "replay_time_out"},
      {Code::steps, "steps"},
      {Code::window, "window"},
      {Code::stalls, "stalls"},
      {Code::flops, "flops"},
      {Code::spool_full, "spool_full"},
      {Code::nvtx_paths, "nvtx_paths"},
      {Code::price, "price"},
      {Code::turns, "turns"},
      {Code::launcher, "launcher"},
      {Code::file_unreadable, "file_unreadable"},
      {Code::end_not_seen, "end_not_seen"},
      {Code::launches_without_record, "launches_without_record"},
      {Code::records_without_launch, "records_without_launch"},
      {Code::records_of_one_call, "records_of_one_call"},
      {Code::records_dropped, "records_dropped"},
      {Code::records_without_room, "records_without_room"},
      {Code::records_without_time, "records_without_time"},
      {Code::bytes_unreadable, "bytes_unreadable"},
      {Code::process_unfinished, "process_unfinished"},
      {Code::spool_damaged, "spool_damaged"},
      {Code::spool_cut, "spool_cut"},
      {Code::names_lost, "names_lost"},
      {Code::range_paths_full, "range_paths_full"},
      {Code::ranges_unbalanced, "ranges_unbalanced"},
      {Code::nccl_profiler_taken, "nccl_profiler_taken"},
      {Code::part_of_capture, "part_of_capture"},
      {Code::no_steps, "no_steps"},
      {Code::range_seen, "range_seen"},
      {Code::no_range_seen, "no_range_seen"},
      {Code::steps_by_period, "steps_by_period"},
      {Code::steps_by_range, "steps_by_range"},
      {Code::too_few_steps, "too_few_steps"},
      {Code::step_open, "step_open"},
      {Code::step_killed, "step_killed"},
      {Code::window_open, "window_open"},
      {Code::step_superseded, "step_superseded"},
      {Code::recording_price, "recording_price"},
      {Code::another_launch, "another_launch"},
      {Code::not_asked_for, "not_asked_for"},
      {Code::no_samples, "no_samples"},
      {Code::samples_undecoded, "samples_undecoded"},
      {Code::samples_elsewhere, "samples_elsewhere"},
      {Code::samples_unread, "samples_unread"},
      {Code::samples_of_part_of_step, "samples_of_part_of_step"},
      {Code::no_sampled_values, "no_sampled_values"},
      {Code::none_told_apart, "none_told_apart"},
      {Code::sampled_steps_lost, "sampled_steps_lost"},
      {Code::samples_of_part, "samples_of_part"},
      {Code::sampled_metric_left_out, "sampled_metric_left_out"},
      {Code::samples_uncorrelated, "samples_uncorrelated"},
      {Code::no_counters, "no_counters"},
      {Code::counters_unread, "counters_unread"},
      {Code::counters_of_step, "counters_of_step"},
      {Code::counted_steps_lost, "counted_steps_lost"},
      {Code::no_counted_values, "no_counted_values"},
      {Code::values_without_launch, "values_without_launch"},
      {Code::values_without_metric, "values_without_metric"},
      {Code::values_not_evaluated, "values_not_evaluated"},
      {Code::no_stall_samples, "no_stall_samples"},
      {Code::stall_samples_dropped, "stall_samples_dropped"},
      {Code::stall_samples_nameless, "stall_samples_nameless"},
      {Code::stall_samples_ambiguous, "stall_samples_ambiguous"},
      {Code::import_without_names, "import_without_names"},
      {Code::import_without_calls, "import_without_calls"},
      {Code::import_without_devices, "import_without_devices"},
      {Code::import_hidden_graphs, "import_hidden_graphs"},
      {Code::import_cut, "import_cut"},
      {Code::import_malformed, "import_malformed"},
      {Code::import_left_out, "import_left_out"},
      {Code::import_left_out_events, "import_left_out_events"},
      {Code::import_samples, "import_samples"},
      {Code::import_samples_unused, "import_samples_unused"},
      {Code::import_metrics_unused, "import_metrics_unused"},
      {Code::import_dram_without_peak, "import_dram_without_peak"},
      {Code::counters_joined, "counters_joined"},
      {Code::counters_unmatched, "counters_unmatched"},
      {Code::counters_ambiguous, "counters_ambiguous"},
      {Code::counters_by_kind, "counters_by_kind"},
      {Code::counters_of_kernel, "counters_of_kernel"},
      {Code::counters_unreadable, "counters_unreadable"},
  };
};

/// A value of a reason. The unit is the name's suffix, as everywhere; a count has none.
struct ReasonValue {
  std::string name;
  std::variant<std::int64_t, double, std::string> value;

  template <std::integral Number>
  ReasonValue(std::string_view its_name, Number number)
      : name(its_name), value(static_cast<std::int64_t>(number)) {}
  ReasonValue(std::string_view its_name, double number) : name(its_name), value(number) {}
  ReasonValue(std::string_view its_name, std::string_view text) : name(its_name), value(std::string(text)) {}
  bool operator==(const ReasonValue&) const = default;
};

struct Reason {
  ReasonCode code = ReasonCode::none_given;
  std::string text;  ///< the source's own words, verbatim; "" if the code says all
  std::vector<ReasonValue> values;
  std::vector<Reason> because;  ///< what explains this one further

  Reason() = default;
  /// A sentence alone: implicit, since that is what older captures and other programs have.
  Reason(std::string sentence) : text(std::move(sentence)) {}
  Reason(const char* sentence) : text(sentence) {}
  explicit Reason(ReasonCode its_code, std::vector<ReasonValue> its_values = {},
                  std::vector<Reason> explained_by = {})
      : code(its_code), values(std::move(its_values)), because(std::move(explained_by)) {}
  /// In a source's own words.
  [[nodiscard]] static Reason said(ReasonCode code, std::string text, std::vector<ReasonValue> values = {});
  /// One stands for itself.
  [[nodiscard]] static Reason together(std::vector<Reason> parts);

  /// Says nothing.
  [[nodiscard]] bool empty() const { return code == ReasonCode::none_given && text.empty(); }
  /// A value of that name; 0 or "" without it.
  [[nodiscard]] std::int64_t number(std::string_view name) const;
  [[nodiscard]] double real(std::string_view name) const;
  [[nodiscard]] std::string_view word(std::string_view name) const;
  [[nodiscard]] bool has(std::string_view name) const { return find(name) != nullptr; }
  /// It is this one, or this one is somewhere below it.
  [[nodiscard]] bool holds(const Reason& part) const;

  friend bool operator==(const Reason& a, const Reason& b);
  friend std::weak_ordering operator<=>(const Reason& a, const Reason& b);

 private:
  [[nodiscard]] const ReasonValue* find(std::string_view name) const;
};

}  // namespace ridgeline
