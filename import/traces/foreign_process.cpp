#include "traces/foreign_process.h"

#include <fmt/format.h>

#include <algorithm>
#include <tuple>

#include "recording/activities.h"
#include "recording/step_rows.h"
#include "recording/step_search.h"
#include "ridgeline/base/text.h"
#include "ridgeline/steps/launch_key.h"
#include "ridgeline/steps/range_watch.h"
#include "traces/range_nesting.h"

namespace ridgeline::import {

std::uint32_t NameTable::number_of(std::string_view text, std::string_view domain) {
  std::string joined;
  if (!domain.empty()) {
    joined.append(text).append(1, '\0').append(domain);
    text = joined;
  }
  if (const auto known = numbers_.find(text); known != numbers_.end()) return known->second;
  const auto number = static_cast<std::uint32_t>(names_.size());
  numbers_.emplace(std::string(text), number);
  names_.emplace_back(std::string(text.substr(0, text.find('\0'))), std::string(domain));
  return number;
}

void ForeignProcess::shift(std::int64_t shift_ns) {
  log.shift(shift_ns);
  for (ForeignCall& call : calls) {
    call.enter_ns += shift_ns;
    call.exit_ns += shift_ns;
  }
  for (ForeignRange& range : ranges) {
    range.start_ns += shift_ns;
    range.end_ns += shift_ns;
  }
  for (ForeignSamples& each : samples) {
    for (std::int64_t& time : each.start_ns) time += shift_ns;
    for (std::int64_t& time : each.end_ns) time += shift_ns;
  }
  if (first_ns > last_ns) return;
  first_ns += shift_ns;
  last_ns += shift_ns;
}

namespace {

constexpr std::string_view kTorchStep = "ProfilerStep#";  // and a number: torch.profiler's own
constexpr std::string_view kUsualStep = "step";
constexpr std::size_t kMaxRangesSaid = 5;
constexpr std::size_t kMaxSampledSteps = 16;  // whose launches have values of samples
constexpr double kGoodSampling = 0.95;        // of the kernel time

// Nobody can be told to ask the agent for it.
Reason not_in_the_trace(Tier tier) {
  return Reason(ReasonCode::not_asked_for, {{"tier", to_string(tier)}, {"source", "trace"}});
}

class ForeignWriter {
 public:
  ForeignWriter(ForeignProcess& process, const std::string& step_range, store::CaptureWriter& writer,
                RecordedDevices& devices, ImportSummary& summary)
      : process_(process),
        step_range_(step_range),
        summary_(summary),
        rows_(writer, devices, summary),
        kernels_(rows_, [this](std::uint32_t id) { return name_of(id); }),
        ranges_(rows_, steps_),
        samples_(rows_) {}

  void write() {
    const std::vector<Path> paths = nest(process_);
    complete_calls();
    if (process_.first_ns <= process_.last_ns)
      steps_.windows.push_back({.open_ns = process_.first_ns,
                                .close_ns = process_.last_ns + 1,
                                .cause = WindowCause::start,
                                .gpu_start_ns = std::nullopt,
                                .gpu_end_ns = std::nullopt,
                                .synchronisation = process_.has_calls});
    choose_steps();
    first_pass();
    write_description(paths);
    TierOutcomes outcomes;
    write_steps(
        rows_, steps_, {}, [](const RecordedStep&, store::Step&) {}, outcomes);
    write_windows(rows_, steps_);
    write_messages();
    expect_samples();
    write_activities();
    write_samples();
    write_ranges();
    write_verdicts();
    rows_.writer().checkpoint();
    ++summary_.processes;
  }

 private:
  [[nodiscard]] KernelName name_of(std::uint32_t id) const {
    if (id < process_.kernels.size()) return process_.kernels[id];
    return {.text = fmt::format("unknown kernel {}", id), .mangled = false};
  }

  [[nodiscard]] const ForeignCall* call_of(std::uint32_t correlation_id) const {
    const auto found =
        std::lower_bound(process_.calls.begin(), process_.calls.end(), correlation_id,
                         [](const ForeignCall& call, std::uint32_t id) { return call.correlation_id < id; });
    return found != process_.calls.end() && found->correlation_id == correlation_id ? &*found : nullptr;
  }

  void sort_calls() {
    auto& calls = process_.calls;
    std::sort(calls.begin(), calls.end(), [](const ForeignCall& a, const ForeignCall& b) {
      return std::tuple(a.correlation_id, !a.timed, a.enter_ns) <
             std::tuple(b.correlation_id, !b.timed, b.enter_ns);
    });
    const auto same = [](const ForeignCall& a, const ForeignCall& b) {
      return a.correlation_id == b.correlation_id;
    };
    calls.erase(std::unique(calls.begin(), calls.end(), same), calls.end());
  }

  // One without times for each execution whose call the source does not have, so that it has a place in its step.
  void complete_calls() {
    sort_calls();
    std::vector<ForeignCall> missing;
    process_.log.visit(
        [&](const Execution& execution) {
          if (call_of(execution.correlation_id) != nullptr) return;
          missing.push_back({.enter_ns = execution.start_ns,
                             .correlation_id = execution.correlation_id,
                             .graph = execution.graph_node.has_value(),
                             .timed = false});
        },
        [](const Copy&) {}, [](const Wait&) {});
    if (missing.empty()) return;
    process_.calls.insert(process_.calls.end(), missing.begin(), missing.end());
    sort_calls();
  }

  [[nodiscard]] static Call call_from(const ForeignCall& from) {
    Call call{.correlation_id = from.correlation_id, .path_id = from.path, .graph = from.graph};
    if (from.timed) {
      call.thread_id = from.thread_id;
      call.enter_ns = from.enter_ns;
      call.exit_ns = from.exit_ns;
    }
    return call;
  }

  // Each call before what it launched, so that nothing has to wait for its other half.
  template <typename OnCall, typename OnExecution, typename OnCopy, typename OnWait>
  void visit(OnCall&& on_call, OnExecution&& on_execution, OnCopy&& on_copy, OnWait&& on_wait) {
    std::vector<bool> done(process_.calls.size());
    const auto give = [&](std::size_t at) {
      if (done[at]) return;
      done[at] = true;
      on_call(steps_.in_step(call_from(process_.calls[at])));
    };
    process_.log.visit(
        [&](const Execution& execution) {
          if (const ForeignCall* call = call_of(execution.correlation_id))
            give(static_cast<std::size_t>(call - process_.calls.data()));
          on_execution(execution);
        },
        on_copy, on_wait);
    for (std::size_t at = 0; at < process_.calls.size(); ++at) give(at);
  }

  [[nodiscard]] bool names_a_step(const std::string& name) const {
    if (step_range_.empty()) return name.starts_with(kTorchStep) || name == kUsualStep;
    return name == step_range_ || steps::FoldedName(name) == steps::FoldedName(step_range_) ||
           (name.starts_with(step_range_) && step_range_.ends_with('#'));
  }

  [[nodiscard]] bool has_times_of_calls() const {
    return std::any_of(process_.calls.begin(), process_.calls.end(),
                       [](const ForeignCall& call) { return call.timed; });
  }

  [[nodiscard]] std::vector<SearchedLaunch> searched_launches(bool with_call_only) const {
    std::vector<SearchedLaunch> launches;
    launches.reserve(process_.calls.size());
    std::vector<bool> done(process_.calls.size());
    process_.log.visit(
        [&](const Execution& execution) {
          const ForeignCall* call = call_of(execution.correlation_id);
          if (call == nullptr || (with_call_only && !call->timed)) return;
          const auto at = static_cast<std::size_t>(call - process_.calls.data());
          if (done[at]) return;
          done[at] = true;
          const steps::Key key =
              call->graph ? steps::graph_key(execution.graph_id)
                          : steps::key_of(execution.kernel, static_cast<std::uint32_t>(execution.grid.x),
                                          static_cast<std::uint32_t>(execution.grid.y),
                                          static_cast<std::uint32_t>(execution.grid.z));
          launches.push_back({call->enter_ns, call->correlation_id, execution.context_id, key, call->graph,
                              has_time(execution.start_ns, execution.end_ns) ? execution.start_ns : 0});
        },
        [](const Copy&) {}, [](const Wait&) {});
    std::sort(launches.begin(), launches.end(), [](const SearchedLaunch& a, const SearchedLaunch& b) {
      return std::tuple(a.time_ns, a.correlation_id) < std::tuple(b.time_ns, b.correlation_id);
    });
    return launches;
  }

  void choose_steps() {
    std::vector<const ForeignRange*> named;
    for (const ForeignRange& range : process_.ranges)
      if (!range.open && names_a_step(process_.names.text(range.name))) named.push_back(&range);
    if (!named.empty()) {
      ranges_without_launches_ = static_cast<std::int64_t>(named.size());
      // What was launched before a trace began and ran in it has no call there: nobody knows which step it was of.
      if (place_in(std::move(named), searched_launches(has_times_of_calls()))) return;
    }
    if (!step_range_.empty()) return;
    SearchedEvents events;
    events.launches = searched_launches(false);
    for (const ForeignRange& range : process_.ranges) {
      if (range.depth != 0 || range.apart || range.open || range.path == 0) continue;
      events.ranges.push_back({range.start_ns, range.end_ns, range.thread_id, range.path});
      events.names.try_emplace(range.path, process_.names.text(range.name));
    }
    find_steps(std::move(events), steps_);
  }

  // What is launched while one of the ranges is open, by whichever thread, is of that step. False: nothing is, and
  // they are no steps.
  [[nodiscard]] bool place_in(std::vector<const ForeignRange*> named,
                              const std::vector<SearchedLaunch>& launches) {
    std::sort(named.begin(), named.end(),
              [](const auto* a, const auto* b) { return a->start_ns < b->start_ns; });
    std::int64_t busy_until_ns = INT64_MIN;
    std::uint32_t index = 0;
    std::size_t placed = 0;
    auto launch = launches.begin();
    for (const ForeignRange* range : named) {
      if (range->start_ns < busy_until_ns) continue;  // inside another: of the steps, the outer ones count
      busy_until_ns = range->end_ns;
      RecordedStep& step = steps_.steps[index];
      step.index = step.position = index;
      step.start_ns = range->start_ns;
      step.end_ns = range->end_ns;
      std::uint32_t ordinal = 0;
      while (launch != launches.end() && launch->time_ns < range->start_ns) ++launch;
      for (; launch != launches.end() && launch->time_ns < range->end_ns; ++launch, ++placed) {
        steps_.placed[launch->correlation_id] = {index, launch->graph ? kNone : ordinal++};
        if (launch->graph) step.graph_calls.push_back({.correlation_id = launch->correlation_id});
      }
      std::sort(step.graph_calls.begin(), step.graph_calls.end(),
                [](const auto& a, const auto& b) { return a.correlation_id < b.correlation_id; });
      ++index;
    }
    if (placed == 0) {
      steps_.steps.clear();
      return false;
    }
    const double share = static_cast<double>(placed) / static_cast<double>(launches.size());
    const steps::FoldedName name(process_.names.text(named.front()->name));
    steps_.steps_found =
        Reason(ReasonCode::steps_by_range,
               {{"name", one_line(name.text())}, {"steps", index}, {"launches_ratio", share}});
    return true;
  }

  void first_pass() {
    RecordedSteps::LaunchPass pass(steps_);
    visit([&](const Call& call) { pass.add(call); },
          [&](const Execution& execution) {
            if (!has_time(execution.start_ns, execution.end_ns)) ++zero_timestamps_;
            pass.add(execution);
          },
          [](const Copy&) {}, [](const Wait&) {});
    pass.finish();
    process_.log.visit([](const Execution&) {}, [&](const Copy& copy) { steps_.add_copy(copy); },
                       [](const Wait&) {});
  }

  void write_description(const std::vector<Path>& paths) {
    rows_.begin(process_.row);
    store::CaptureWriter& writer = rows_.writer();
    if (!process_.host_name.empty()) writer.set_host(rows_.process_id(), process_.host_name);
    for (const auto& [number, each] : process_.devices) {
      rows_.add_device(number, each.device);
      for (const StatedPeak& peak : each.peaks)
        writer.add(store::DevicePeak{.device_id = rows_.device_id(number),
                                     .quantity = peak.quantity,
                                     .source = PeakSource::clock,
                                     .value = peak.value,
                                     .detail = peak.detail});
    }
    process_.collectives.write_groups(rows_, process_.row.rank, process_.world_ranks);
    for (const auto& [thread, name] : process_.threads)
      writer.add(
          store::Thread{.process_id = rows_.process_id(), .thread_id = thread, .name = one_line(name)});
    for (std::size_t i = 0; i < paths.size(); ++i)
      ranges_.define(static_cast<std::uint32_t>(i + 1), paths[i]);
  }

  void write_messages() {
    for (const ForeignLoss& loss : process_.losses) rows_.say(loss.severity, loss.what);
    if (steps_.steps_found) {
      Reason found = *steps_.steps_found;
      found.values.push_back({"imported", 1});
      rows_.say(Severity::info, found);
    } else if (!steps_.has_steps()) {
      rows_.say(Severity::warning, without_steps());
    }
  }

  [[nodiscard]] Reason without_steps() const {
    Reason reason(ReasonCode::no_steps,
                  {{"step_range", step_range_.empty() ? kUsualStep : std::string_view(step_range_)},
                   {"searched", step_range_.empty() ? 1 : 0},
                   {"stretches", 0},
                   {"imported", 1},
                   {"ranges", ranges_without_launches_}});
    struct Named {
      std::int64_t ranges = 0, duration_ns = 0;
    };
    std::map<std::string, Named> by_name;
    for (const ForeignRange& range : process_.ranges) {
      if (range.depth != 0) continue;
      Named& named = by_name[std::string(steps::FoldedName(process_.names.text(range.name)).text())];
      ++named.ranges;
      if (!range.open) named.duration_ns += range.end_ns - range.start_ns;
    }
    std::vector<std::pair<std::int64_t, std::string>> longest;
    for (const auto& [name, named] : by_name) longest.emplace_back(-named.duration_ns, name);
    std::sort(longest.begin(), longest.end());
    if (longest.size() > kMaxRangesSaid) longest.resize(kMaxRangesSaid);
    for (const auto& [duration_ns, name] : longest)
      reason.because.emplace_back(
          ReasonCode::range_seen,
          std::vector<ReasonValue>{{"name", one_line(name)}, {"ranges", by_name[name].ranges}});
    return reason;
  }

  void write_activities() {
    RecordedActivities activities(rows_, kernels_, steps_, ranges_, samples_,
                                  [](const Execution&, const Call*) { return std::uint64_t{0}; });
    visit([&](const Call& call) { activities.add(call); },
          [&](const Execution& execution) {
            activities.add(execution);  // its call is there: it has its row
            if (!execution.graph_node)
              process_.collectives.write(rows_, execution.correlation_id, activities.last_launch_id());
          },
          [&](const Copy& copy) { activities.add(copy); }, [&](const Wait& wait) { activities.add(wait); });
    activities.finish();
  }

  // Samples run along the whole timeline; launches of a few steps stand for all.
  void expect_samples() {
    std::erase_if(process_.samples, [&](ForeignSamples& each) { return !trim(each); });
    for (std::uint32_t window = 0; window < process_.samples.size(); ++window) {
      const ForeignSamples& from = process_.samples[window];
      const auto count = static_cast<std::int64_t>(from.size());
      SampledWindow to{.device = from.device,
                       .first_step = std::nullopt,
                       .last_step = std::nullopt,
                       .interval_ns = count > 1 ? (from.end_ns.back() - from.end_ns.front()) / (count - 1)
                                                : from.end_ns.front() - from.start_ns.front(),
                       .whole = true,
                       .reason = std::nullopt,
                       .metrics = from.metrics,
                       .samples = count,
                       .first_start_ns = from.start_ns.front(),
                       .last_end_ns = from.end_ns.back()};
      mark_sampled(to);
      rows_.say(Severity::info, Reason(ReasonCode::import_samples, {{"samples", count},
                                                                    {"interval_ns", to.interval_ns},
                                                                    {"metrics", from.metrics.size()}}));
      samples_.expect(window, std::move(to));
    }
    if (!steps_.has_steps()) samples_.take_all();
  }

  // To the time in which kernels ran, and to times that can be reckoned with. False: none is left.
  bool trim(ForeignSamples& from) {
    const std::size_t metrics = from.metrics.size();
    const std::size_t all = from.size();
    std::size_t kept = 0;
    for (std::size_t i = 0; i < all; ++i) {
      const std::int64_t start_ns = from.start_ns[i], end_ns = from.end_ns[i];
      if (!is_plausible_sample(start_ns, end_ns) || end_ns < process_.first_ns || start_ns > process_.last_ns)
        continue;
      from.start_ns[kept] = start_ns;
      from.end_ns[kept] = end_ns;
      std::copy_n(from.values.begin() + static_cast<std::ptrdiff_t>(i * metrics), metrics,
                  from.values.begin() + static_cast<std::ptrdiff_t>(kept * metrics));
      ++kept;
    }
    from.start_ns.resize(kept);
    from.end_ns.resize(kept);
    from.values.resize(kept * metrics);
    if (kept == 0)
      rows_.say(Severity::warning,
                Reason(ReasonCode::import_samples_unused, {{"samples", all}, {"cause", "no_times"}}));
    return kept > 0;
  }

  // Those in the middle of the steps that lie in the window's time.
  void mark_sampled(SampledWindow& window) {
    std::vector<RecordedStep*> inside;
    for (auto& [index, step] : steps_.steps) {
      if (step.gpu_start_ns && step.gpu_end_ns && *step.gpu_start_ns >= window.first_start_ns &&
          *step.gpu_end_ns <= window.last_end_ns)
        inside.push_back(&step);
    }
    if (inside.empty()) return;
    const std::size_t count = std::min(inside.size(), kMaxSampledSteps);
    const std::size_t first = (inside.size() - count) / 2;
    for (std::size_t i = first; i < first + count; ++i) inside[i]->sampled = true;
    window.first_step = inside[first]->number;
    window.last_step = inside[first + count - 1]->number;
  }

  void write_samples() {
    for (std::uint32_t window = 0; window < process_.samples.size(); ++window) {
      ForeignSamples from = std::move(process_.samples[window]);
      const std::size_t metrics = from.metrics.size();
      for (std::size_t i = 0; i < from.size(); ++i) {
        const auto begin = from.values.begin() + static_cast<std::ptrdiff_t>(i * metrics);
        samples_.add_sample(window, from.start_ns[i], from.end_ns[i],
                            {begin, begin + static_cast<std::ptrdiff_t>(metrics)});
      }
    }
    samples_.finish(sampling_);
  }

  [[nodiscard]] store::TierStatus sampling_status() const {
    store::TierStatus status{.process_id = rows_.process_id(), .tier = Tier::t1};
    if (!samples_.any_expected()) {
      status.status = TierOutcome::not_requested;
      status.reason = not_in_the_trace(Tier::t1);
    } else if (sampling_.covered_ns == 0) {
      status.status = TierOutcome::failed;
      status.reason = Reason(ReasonCode::no_samples, {}, {Reason(ReasonCode::none_told_apart)});
    } else if (const double covered =
                   static_cast<double>(sampling_.covered_ns) / static_cast<double>(sampling_.kernel_time_ns);
               covered < kGoodSampling) {
      status.status = TierOutcome::partial;
      status.reason = Reason(ReasonCode::samples_of_part, {{"covered_ratio", covered}});
    }
    return status;
  }

  void write_ranges() {
    for (const std::uint32_t at : by_end(process_.ranges)) {
      const ForeignRange& from = process_.ranges[at];
      Range range{.id = std::uint64_t{at} + 1,
                  .parent = from.parent,
                  .path = from.path,
                  .thread_id = from.thread_id,
                  .depth = from.depth,
                  .start_ns = from.start_ns};
      if (!from.open) range.end_ns = from.end_ns;
      ranges_.add(range, from.work == 0 ? nullptr : &process_.works[from.work - 1]);
    }
  }

  void write_verdicts() {
    store::Completeness counted;
    counted.process_id = rows_.process_id();
    counted.launches_seen = steps_.launches_seen;
    counted.kernel_records = steps_.kernel_records;
    counted.graph_launches = steps_.graph_launches;
    counted.graph_kernel_records = steps_.graph_kernel_records - process_.hidden_graphs;
    counted.zero_timestamps = zero_timestamps_;
    counted.truncated_bytes = process_.truncated_bytes;
    rows_.writer().add(counted);
    summary_.launches_seen += counted.launches_seen;
    std::vector<Reason> gaps;
    for (const ForeignLoss& loss : process_.losses)
      if (loss.of_timeline) gaps.emplace_back(loss.what);
    if (counted.kernel_records < counted.launches_seen)
      gaps.emplace_back(
          ReasonCode::launches_without_record,
          std::vector<ReasonValue>{{"launches", counted.launches_seen - counted.kernel_records}});
    store::TierStatus timeline{.process_id = rows_.process_id(), .tier = Tier::t0};
    if (!gaps.empty()) {
      timeline.status = TierOutcome::partial;
      timeline.reason = Reason::together(std::move(gaps));
    }
    rows_.writer().add(timeline);
    rows_.writer().add(sampling_status());
    for (const Tier tier : {Tier::t2, Tier::t3})
      rows_.writer().add(store::TierStatus{.process_id = rows_.process_id(),
                                           .tier = tier,
                                           .status = TierOutcome::not_requested,
                                           .reason = not_in_the_trace(tier)});
  }

  ForeignProcess& process_;
  const std::string& step_range_;
  ImportSummary& summary_;
  ProcessRows rows_;
  RecordedSteps steps_;
  RecordedKernels kernels_;
  RecordedRanges ranges_;
  SampledWindows samples_;
  SamplingOutcome sampling_;
  std::int64_t zero_timestamps_ = 0;
  std::int64_t ranges_without_launches_ = 0;  // named as steps are
};

}  // namespace

void write_process(ForeignProcess& process, const std::string& step_range, store::CaptureWriter& writer,
                   RecordedDevices& devices, ImportSummary& summary) {
  ForeignWriter(process, step_range, writer, devices, summary).write();
}

}  // namespace ridgeline::import
