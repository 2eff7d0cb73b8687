#include "settings.h"

#include <charconv>
#include <cstring>
#include <string_view>

#include "ridgeline/spool/environment.h"

namespace ridgeline::agent {
namespace {

namespace env = spool::environment;

template <typename Number>
void read_number(const char* (*lookup)(const char*), const char* name, Number least, Number most,
                 Number* value, std::vector<std::string>* complaints) {
  const char* text = lookup(name);
  if (text == nullptr || *text == 0) return;
  Number parsed = 0;
  const char* end = text + std::strlen(text);
  const auto [stop, code] = std::from_chars(text, end, parsed);
  if (code != std::errc{} || stop != end || parsed < least || parsed > most) {
    complaints->push_back(std::string(name) + "='" + text + "' is not a number from " +
                          std::to_string(least) + " to " + std::to_string(most) + "; using " +
                          std::to_string(*value));
    return;
  }
  *value = parsed;
}

std::vector<std::string> split(std::string_view text) {
  std::vector<std::string> parts;
  while (true) {
    const std::size_t comma = text.find(',');
    std::string_view part = text.substr(0, comma);
    while (!part.empty() && (part.front() == ' ' || part.front() == '\t')) part.remove_prefix(1);
    while (!part.empty() && (part.back() == ' ' || part.back() == '\t')) part.remove_suffix(1);
    if (!part.empty()) parts.emplace_back(part);
    if (comma == std::string_view::npos) return parts;
    text.remove_prefix(comma + 1);
  }
}

const char* why(ScheduleError error) {
  switch (error) {
    case ScheduleError::none:
      return "";
    case ScheduleError::empty:
      return "is empty";
    case ScheduleError::syntax:
      return "is not name=count";
    case ScheduleError::unknown_phase:
      return "names a phase other than warmup, timeline, sample, replay, cold, stalls, flops";
    case ScheduleError::bad_count:
      return "has a count that is no whole number above 0";
    case ScheduleError::too_many_phases:
      return "has too many phases";
  }
  return "is wrong";
}

}  // namespace

Settings read_settings(const char* (*lookup)(const char* name)) {
  Settings s;
  auto text = [&](const char* name, const char* fallback) {
    const char* value = lookup(name);
    return std::string(value != nullptr && *value != 0 ? value : fallback);
  };
  s.spool_directory = text(env::kSpoolDirectory, "");
  s.step_range = text(env::kStepRange, env::kDefaultStepRange);
  s.cupti_library = text(env::kCuptiLibrary, "");
  read_number<std::uint32_t>(lookup, env::kAloneSteps, 0, 10, &s.alone_steps, &s.complaints);
  std::uint32_t in_graphs = 0;
  read_number<std::uint32_t>(lookup, env::kAloneInGraphs, 0, 1, &in_graphs, &s.complaints);
  s.alone_in_graphs = in_graphs != 0;
  std::uint32_t keeps_records = 0;
  read_number<std::uint32_t>(lookup, env::kAloneKeepsRecords, 0, 1, &keeps_records, &s.complaints);
  s.alone_keeps_records = keeps_records != 0;
  std::string wrong;
  s.interventions = parse_interventions(text(env::kIntervene, ""), &wrong);
  if (!wrong.empty())
    s.complaints.push_back(std::string(env::kIntervene) + ": '" + wrong +
                           "' is not PATTERN or PATTERN=MICROSECONDS,...; no launch is delayed");
  read_number<std::uint64_t>(lookup, env::kInterveneSeed, 0, UINT64_MAX, &s.intervention_seed, &s.complaints);
  read_number<std::uint32_t>(lookup, env::kInterveneBlocks, 0, 1000, &s.intervention_blocks, &s.complaints);
  read_number<std::uint32_t>(lookup, env::kInterveneBlockMs, 1, 600'000, &s.intervention_block_ms,
                             &s.complaints);
  s.lock_directory = text(env::kLockDirectory, "");

  const std::string wanted = text(env::kSchedule, kDefaultSchedule);
  std::size_t at = 0;
  const auto error = parse_schedule(wanted, &s.schedule, &at);
  if (error != ScheduleError::none) {
    s.complaints.push_back(std::string(env::kSchedule) + "='" + wanted + "' " + why(error) +
                           " at character " + std::to_string(at + 1) + "; using " + kDefaultSchedule);
    s.schedule = default_schedule();
  }
  s.schedule_text = to_string(s.schedule);
  const std::string tiers = text(env::kTiers, "T0,T1,T2,T3");
  s.sampling_allowed = s.replay_allowed = s.third_tier_allowed = false;
  for (const std::string& tier : split(tiers)) {
    if (tier == "T2")
      s.replay_allowed = true;
    else if (tier == "T1")
      s.sampling_allowed = true;
    else if (tier == "T3")
      s.third_tier_allowed = true;
    else if (tier != "T0")
      s.complaints.push_back(std::string(env::kTiers) + ": '" + tier +
                             "' is not available; tiers are T0, T1, T2 and T3");
  }

  if (const char* parts = lookup(env::kReplayExclude)) s.replay_exclude = split(parts);
  read_number<std::uint32_t>(lookup, env::kReplayTimeOutMs, 100, 3'600'000, &s.replay_time_out_ms,
                             &s.complaints);
  read_number<std::uint32_t>(lookup, env::kBudgetMs, 0, 3'600'000, &s.budget_ms, &s.complaints);
  for (int i = 1; i <= env::kMaxConfigs; ++i) {
    const char* metrics = lookup((env::kMetricsPrefix + std::to_string(i)).c_str());
    if (metrics == nullptr || *metrics == 0) break;
    s.metric_sets.push_back(split(metrics));
  }

  read_number<std::uint64_t>(lookup, env::kBufferBytes, 4096, 64ull << 20, &s.buffer_bytes, &s.complaints);
  s.buffer_bytes = s.buffer_bytes / 8 * 8;
  read_number<std::int64_t>(lookup, env::kSampleIntervalNs, 0, 1'000'000'000, &s.sample_interval_ns,
                            &s.complaints);
  read_number<std::uint64_t>(lookup, env::kSampleBufferBytes, 0, 1ull << 40, &s.sample_buffer_bytes,
                             &s.complaints);
  read_number<std::uint32_t>(lookup, env::kBufferCount, 1, 4096, &s.buffer_count, &s.complaints);
  read_number<std::uint32_t>(lookup, env::kFlushPeriodMs, 10, 60'000, &s.flush_period_ms, &s.complaints);
  read_number<std::uint32_t>(lookup, env::kClockPeriodMs, 0, 60'000, &s.clock_period_ms, &s.complaints);
  read_number<std::uint64_t>(lookup, env::kSpoolLimitBytes, 8ull << 20, 1ull << 50, &s.spool_limit_bytes,
                             &s.complaints);
  constexpr std::uint64_t kYearMs = 366ull * 24 * 3600 * 1000;
  read_number<std::uint64_t>(lookup, env::kAfterMs, 0, kYearMs, &s.after_ms, &s.complaints);
  read_number<std::uint64_t>(lookup, env::kDurationMs, 0, kYearMs, &s.duration_ms, &s.complaints);
  s.wait = text(env::kWaitForSignal, "") == "1";
  return s;
}

}  // namespace ridgeline::agent
