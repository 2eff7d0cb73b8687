// ncu_import.cpp: a copy of a capture with what Nsight Compute counted of its launches.
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <set>
#include <tuple>

#include "ncu/ncu_csv.h"
#include "ncu/ncu_join.h"
#include "ncu/ncu_report.h"
#include "recording/draft.h"
#include "ridgeline/base/file.h"
#include "ridgeline/base/text.h"
#include "ridgeline/import/ncu_results.h"
#include "ridgeline/store/activity.h"
#include "ridgeline/store/added_counters.h"
#include "ridgeline/store/capture.h"

namespace ridgeline::import {

namespace {

constexpr const char* kConfiguration = "Nsight Compute";
constexpr std::size_t kMaxListed = 8;
constexpr std::size_t kMaxListedText = 400;

// The launches that are joined onto.
struct JoinedStep {
  store::Id process_id = 0;
  std::optional<store::Id> step_id;  // empty: the recording has no steps, and all launches are meant
  std::vector<store::Launch> launches;
};

// What the step costs that most steps are like: the lower median of those that launched what most did.
std::optional<store::Id> representative_step(const store::Capture& capture, const store::Activity& activity,
                                             store::Id process_id) {
  std::map<store::Id, store::Step> steps;
  for (const store::Step& step : capture.steps()) {
    if (step.process_id == process_id && step.phase == Phase::timeline && step.status == StepStatus::ok)
      steps.emplace(step.id, step);
  }
  std::map<std::uint64_t, std::vector<store::StepTotal>> alike;
  for (const store::StepTotal& total : activity.step_totals())
    if (steps.contains(total.step_id) && total.launches > 0) alike[total.sequence_hash].push_back(total);
  if (alike.empty()) return std::nullopt;
  auto& most = std::max_element(alike.begin(), alike.end(), [](const auto& a, const auto& b) {
                 return a.second.size() < b.second.size();
               })->second;
  std::sort(most.begin(), most.end(), [](const store::StepTotal& a, const store::StepTotal& b) {
    return a.kernel_end_ns - a.kernel_start_ns < b.kernel_end_ns - b.kernel_start_ns;
  });
  return most[(most.size() - 1) / 2].step_id;
}

JoinedStep step_to_join(const store::Capture& capture) {
  const store::Activity activity(capture);
  JoinedStep chosen;
  std::int64_t longest_ns = -1;
  for (const store::ProcessTotal& total : activity.process_totals()) {
    if (total.launches == 0 || total.kernel_time_ns <= longest_ns) continue;
    longest_ns = total.kernel_time_ns;
    chosen.process_id = total.process_id;
  }
  if (longest_ns < 0)
    throw Error(ErrorKind::no_data, fmt::format("{} has no launch to join onto", capture.path()));
  chosen.step_id = representative_step(capture, activity, chosen.process_id);
  store::ActivityFilter filter;
  filter.process_id = chosen.process_id;
  if (chosen.step_id) filter.step_ids = {*chosen.step_id};
  activity.for_each_launch(filter, [&](const store::Launch& launch) { chosen.launches.push_back(launch); });
  std::sort(
      chosen.launches.begin(), chosen.launches.end(), [](const store::Launch& a, const store::Launch& b) {
        return std::tie(a.correlation_id, a.start_ns, a.id) < std::tie(b.correlation_id, b.start_ns, b.id);
      });
  return chosen;
}

Reason left_over_reason(ReasonCode code, const std::vector<NcuLeftOver>& all) {
  std::int64_t launches = 0;
  for (const NcuLeftOver& each : all) launches += each.launches;
  Reason reason(code, {{"launches", launches}, {"kernels", all.size()}});
  for (std::size_t i = 0; i < std::min(all.size(), kMaxListed); ++i)
    reason.because.emplace_back(
        ReasonCode::counters_of_kernel,
        std::vector<ReasonValue>{
            {"name", all[i].name}, {"launches", all[i].launches}, {"candidates", all[i].candidates}});
  return reason;
}

std::string listed_left_over(const std::vector<NcuLeftOver>& all) {
  std::string text;
  for (std::size_t i = 0; i < std::min(all.size(), kMaxListed); ++i)
    text.append(text.empty() ? "" : ", ").append(all[i].name);
  return bounded_text(text, kMaxListedText);
}

class NcuJoiner {
 public:
  NcuJoiner(const std::string& draft, const JoinOptions& options) : draft_(draft), options_(options) {}

  void read(const std::vector<std::string>& paths) {
    std::optional<DecimalMark> mark;
    if (options_.locale == NcuLocale::point) mark = DecimalMark::point;
    if (options_.locale == NcuLocale::comma) mark = DecimalMark::comma;
    for (const std::string& path : paths) {
      if (!is_ncu_report(path)) {
        take(read_ncu_csv(path, mark).value());
        continue;
      }
      const std::string table = draft_ + ".ncu.csv";
      const UnfinishedFiles gone({table});
      export_ncu_report(path, table).value();
      Result<NcuResults> results = read_ncu_csv(table, DecimalMark::point);
      gone.remove();
      if (!results.ok())
        throw Error(results.failure().kind,
                    fmt::format("what Nsight Compute says of {}: {}", path, results.failure().message));
      take(std::move(results).value());
    }
  }

  // Onto the draft, which is a copy of the capture.
  JoinSummary join(const std::string& source) {
    store::prepare_for_counters(draft_);
    store::AddedCounters added;
    {
      const store::Capture capture = store::Capture::open(draft_).value();
      const JoinedStep step = step_to_join(capture);
      std::map<store::Id, store::Kernel> kernels;
      for (store::Kernel& kernel : capture.kernels()) kernels.emplace(kernel.id, std::move(kernel));
      fill(step, kernels, source, added);
    }
    store::add_counters(draft_, added);
    summary_.launches = static_cast<std::int64_t>(all_.launches.size());
    return std::move(summary_);
  }

 private:
  // Metrics of several files are one by name.
  void take(NcuResults results) {
    std::vector<std::uint32_t> numbers;
    for (NcuMetric& metric : results.metrics) {
      const auto [found, fresh] =
          metric_numbers_.try_emplace(metric.name, static_cast<std::uint32_t>(all_.metrics.size()));
      if (fresh) all_.metrics.push_back(metric);
      if (all_.metrics[found->second].unit.empty()) all_.metrics[found->second].unit = metric.unit;
      numbers.push_back(found->second);
    }
    for (NcuLaunch& launch : results.launches) {
      for (NcuValue& value : launch.values) value.metric = numbers[value.metric];
      all_.launches.push_back(std::move(launch));
    }
    for (std::string& name : results.unreadable) unreadable_.insert(std::move(name));
  }

  void say(Severity severity, Reason what, const JoinedStep& step, store::AddedCounters& added) {
    added.messages.push_back(
        {.process_id = step.process_id, .time_ns = std::nullopt, .severity = severity, .what = what});
    summary_.messages.push_back(std::move(what));
  }

  void fill(const JoinedStep& step, const std::map<store::Id, store::Kernel>& kernels,
            const std::string& source, store::AddedCounters& added) {
    const NcuJoin join = join_ncu(all_, kernels, step.launches, step.step_id.has_value());
    if (join.pairs.empty())
      throw Error(
          ErrorKind::no_data,
          fmt::format("none of {} launches in {} has a launch of its name, grid and block in the step: {}",
                      all_.launches.size(), source,
                      join.ambiguous.empty() ? listed_left_over(join.unmatched)
                                             : fmt::format("{} may be {}", join.ambiguous.front().name,
                                                           join.ambiguous.front().candidates)));
    // Passes over one launch are averaged.
    std::map<std::pair<store::Id, std::uint32_t>, std::pair<double, std::int64_t>> sums;
    for (const NcuJoin::Pair& pair : join.pairs)
      for (const NcuValue& value : all_.launches[pair.profiled].values) {
        auto& [sum, count] = sums[{pair.launch_id, value.metric}];
        sum += value.value;
        ++count;
      }
    for (const NcuMetric& metric : all_.metrics) added.metrics.push_back({metric.name, metric.unit});
    std::set<std::uint32_t> used;
    for (const auto& [key, sum] : sums) {
      added.values.push_back({key.first, key.second, sum.first / static_cast<double>(sum.second)});
      used.insert(key.second);
    }
    std::set<store::Id> joined_kernels;
    std::map<store::Id, store::Id> kernel_of;
    for (const store::Launch& launch : step.launches) kernel_of[launch.id] = launch.kernel_id;
    for (const NcuJoin::Pair& pair : join.pairs) joined_kernels.insert(kernel_of[pair.launch_id]);
    if (step.step_id) added.steps.push_back(*step.step_id);
    added.configuration = kConfiguration;
    summary_.joined = static_cast<std::int64_t>(join.pairs.size());
    const Reason joined(ReasonCode::counters_joined, {{"source", source},
                                                      {"launches", join.pairs.size()},
                                                      {"of_launches", all_.launches.size()},
                                                      {"kernels", joined_kernels.size()},
                                                      {"metrics", used.size()},
                                                      {"by_order", join.by_order}});
    added.status = {
        .process_id = step.process_id, .tier = Tier::t2, .status = TierOutcome::partial, .reason = joined};
    say(Severity::info, joined, step, added);
    if (!join.by_kind.empty())
      say(Severity::info, left_over_reason(ReasonCode::counters_by_kind, join.by_kind), step, added);
    if (!join.ambiguous.empty())
      say(Severity::warning, left_over_reason(ReasonCode::counters_ambiguous, join.ambiguous), step, added);
    if (!join.unmatched.empty())
      say(Severity::warning, left_over_reason(ReasonCode::counters_unmatched, join.unmatched), step, added);
    if (!unreadable_.empty()) {
      std::string names;
      for (const std::string& name : unreadable_) names.append(names.empty() ? "" : ", ").append(name);
      say(Severity::warning,
          Reason(ReasonCode::counters_unreadable,
                 {{"metrics", unreadable_.size()}, {"names", bounded_text(names, kMaxListedText)}}),
          step, added);
    }
  }

  std::string draft_;
  JoinOptions options_;
  NcuResults all_;
  std::map<std::string, std::uint32_t> metric_numbers_;
  std::set<std::string> unreadable_;
  JoinSummary summary_;
};

void copy_capture(const std::string& capture, const std::string& draft) {
  (void)store::Capture::open(capture).value();  // says what is wrong with it, in its own name
  std::error_code code;
  if (!std::filesystem::copy_file(capture, draft, code))
    throw Error(ErrorKind::io, fmt::format("{} cannot be copied: {}", capture, code.message()));
  std::filesystem::permissions(draft, std::filesystem::perms::owner_write, std::filesystem::perm_options::add,
                               code);
}

}  // namespace

Result<JoinSummary> join_ncu_results(const std::vector<std::string>& paths, const std::string& capture,
                                     const std::string& output, const JoinOptions& options) {
  if (paths.empty()) return Failure{ErrorKind::usage, "no file to join"};
  for (const std::string& path : paths) {
    std::error_code code;
    if (!std::filesystem::exists(path, code))
      return Failure{ErrorKind::usage, fmt::format("{}: no such file", path)};
    if (!std::filesystem::is_regular_file(path, code))
      return Failure{ErrorKind::usage, fmt::format("{} is no file: name a result of Nsight Compute", path)};
  }
  if (Result<void> checked = check_output(output, options.overwrite); !checked.ok()) return checked.failure();
  const FileSizeSignalIgnored ignored;
  try {
    Draft draft(output);
    NcuJoiner joiner(draft.path(), options);
    joiner.read(paths);
    copy_capture(capture, draft.path());
    JoinSummary summary = joiner.join(std::string(base_name(paths.front())));
    if (Result<void> published = draft.publish(options.overwrite); !published.ok())
      return published.failure();
    summary.capture_path = output;
    return summary;
  } catch (const Error& error) {
    return Failure{error.kind(), error.message()};
  }
}

}  // namespace ridgeline::import
