#include "advice/idle.h"

#include <algorithm>

#include "ridgeline/analyzer/model/nvtx_path.h"
#include "ridgeline/analyzer/model/scope.h"

namespace ridgeline::analyzer {

namespace {

constexpr std::int64_t kLongestLaunchNs = 300'000;  // a gap that is longer is no late launch
constexpr std::int64_t kLoadsCodeNs = 1'000'000;
constexpr std::int64_t kBatchGapNs = 100'000;
constexpr std::int64_t kInTimeNs = 10'000;
constexpr double kMaxOfGap = 0.5;
constexpr double kMaxReturned = 0.25;  // of a copy to the device, what one from it may have held

bool is_copy_call(SynchronisationCall call) {
  return call == SynchronisationCall::async_copy_to_device || call == SynchronisationCall::copy_to_device ||
         call == SynchronisationCall::async_copy_to_host;
}

// A graph is made whole before it is launched: what its launch takes is for its nodes, each time.
bool loads_code(const AdviceInput& input, const Gap& gap) {
  if (!gap.after || input.model.launches.site(*gap.after).graph_id) return false;
  const Launches::Row& row = input.model.launches.row(*gap.after);
  if (row.host_start_ns == Launches::Row::kAbsent || row.host_end_ns == Launches::Row::kAbsent) return false;
  const std::int64_t inside_ns =
      std::min(row.host_end_ns, gap.end_ns) - std::max(row.host_start_ns, gap.start_ns);
  return row.host_end_ns - row.host_start_ns >= kLoadsCodeNs && inside_ns * 2 > gap.end_ns - gap.start_ns;
}

bool by_the_cpu(GapKind kind) {
  return kind == GapKind::launch_bound || kind == GapKind::host_bound || kind == GapKind::synchronisation;
}

// The call was made when there still was work: what lies between is what two kernels of a stream have between them.
bool called_in_time(const AdviceInput& input, const Gap& gap) {
  if (!gap.after) return false;
  const Launches::Row& row = input.model.launches.row(*gap.after);
  return row.host_start_ns != Launches::Row::kAbsent && row.host_start_ns < gap.start_ns - kInTimeNs;
}

// The gap ends with a copy to the device of what the program did not get from it just before. A batch is new; what is
// reduced between processes on the CPU, updated there, or answers what the GPU said, is about as much as went to the
// CPU before it in the same step. A loss that is read is a few bytes beside a batch.
bool ends_with_new_data(const AdviceInput& input, const Gap& gap) {
  std::int64_t to_device = 0, from_device = 0;
  for (const store::Memcpy& copy : input.model.memcpys) {
    if (copy.process_id != input.accounting.process_id) continue;
    if (copy.kind == CopyKind::host_to_device && copy.start_ns == gap.end_ns)
      to_device = std::max(to_device, copy.bytes);
    else if (copy.kind == CopyKind::device_to_host && copy.start_ns < gap.end_ns)
      from_device = std::max(from_device, copy.bytes);
  }
  return to_device > 0 && static_cast<double>(from_device) < kMaxReturned * static_cast<double>(to_device);
}

// The times of ranges that load data, of all threads of the process, joined and in order.
std::vector<TimeWindow> loading_times(const AdviceInput& input) {
  std::vector<TimeWindow> all;
  for (const store::NvtxRange& range : input.model.nvtx_ranges) {
    if (range.process_id != input.accounting.process_id || !range.end_ns) continue;
    if (loads_data(input.model.string(range.name_id))) all.push_back({range.start_ns, *range.end_ns});
  }
  std::sort(all.begin(), all.end());
  std::vector<TimeWindow> joined;
  for (const TimeWindow& one : all) {
    if (!joined.empty() && one.start_ns <= joined.back().end_ns)
      joined.back().end_ns = std::max(joined.back().end_ns, one.end_ns);
    else
      joined.push_back(one);
  }
  return joined;
}

bool mostly_inside(const std::vector<TimeWindow>& times, const Gap& gap) {
  auto first = std::partition_point(times.begin(), times.end(),
                                    [&](const TimeWindow& one) { return one.end_ns <= gap.start_ns; });
  std::int64_t inside_ns = 0;
  for (; first != times.end() && first->start_ns < gap.end_ns; ++first)
    inside_ns += std::min(first->end_ns, gap.end_ns) - std::max(first->start_ns, gap.start_ns);
  return static_cast<double>(inside_ns) > kMaxOfGap * static_cast<double>(gap.end_ns - gap.start_ns);
}

IdleCause cause_of(const AdviceInput& input, const Idle& idle) {
  const Gap& gap = idle.what;
  const std::int64_t length_ns = gap.end_ns - gap.start_ns;
  if (idle.in_loader_range) return IdleCause::loader;
  if (gap.wait) return is_copy_call(gap.wait->call) ? IdleCause::copy : IdleCause::wait;
  if (loads_code(input, gap)) return IdleCause::loading;
  if (length_ns >= kBatchGapNs && gap.kind == GapKind::host_bound && ends_with_new_data(input, gap))
    return IdleCause::loader;
  if (!by_the_cpu(gap.kind) || length_ns > kLongestLaunchNs || called_in_time(input, gap))
    return IdleCause::other;
  if (gap.after && input.model.launches.site(*gap.after).graph_id) return IdleCause::other;
  return IdleCause::launches;
}

}  // namespace

std::vector<Idle> idle_times(const AdviceInput& input) {
  std::vector<Idle> all;
  if (!has_own_pace(input)) return all;
  const std::vector<TimeWindow> loading = loading_times(input);
  all.reserve(input.accounting.gaps.size());
  std::uint32_t index = 0;
  for (const Gap gap : input.accounting.gaps) {
    Idle idle{.gap = index++, .what = gap};
    idle.in_loader_range = mostly_inside(loading, gap);
    idle.cause = cause_of(input, idle);
    all.push_back(idle);
  }
  return all;
}

double recorded_share(const AdviceInput& input) {
  const Accounting& a = input.accounting;
  const std::int64_t by_cpu_ns = a.gap_launch_bound_ns + a.gap_host_bound_ns;
  if (!a.gap_recording_ns || by_cpu_ns <= 0) return 0;
  return std::clamp(static_cast<double>(*a.gap_recording_ns) / static_cast<double>(by_cpu_ns), 0.0, 1.0);
}

}  // namespace ridgeline::analyzer
