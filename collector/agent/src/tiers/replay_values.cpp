// Evaluation of what replay steps collected, on the agent's own thread.
#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <string_view>

#include "tiers/replay.h"

namespace ridgeline::agent {
namespace {

// More noted than this at once is not needed to know how wide a kind spreads.
constexpr std::size_t kMaxNoted = 1u << 16;
constexpr double kLongEnoughNs = 10'000;
constexpr std::string_view kDurationMetric = "gpu__time_duration.sum";

}  // namespace

void Replay::evaluate() noexcept {
  while (true) {
    Job job;
    {
      std::lock_guard<std::mutex> guard(jobs_mutex_);
      if (jobs_.empty() || gate_.closed()) return;
      job = std::move(jobs_.front());
      jobs_.pop_front();
    }
    try {
      if (job.record.status == spool::CounterStatus::ok) write_values(job);
      if (job.record.status == spool::CounterStatus::ok && job.record.config_id <= replay_sets_)
        sets_counted_.fetch_or(1u << (job.record.config_id - 1), std::memory_order_release);
    } catch (...) {
      job.record.status = spool::CounterStatus::failed;
      job.reason = "out of memory while evaluating the counters";
    }
    for (auto& segment : job.segments) session_.give_back(std::move(segment.image));
    job.record.reason = writer_.intern_reserved(job.reason);
    writer_.put_reserved(job.record);
    jobs_open_.fetch_sub(1, std::memory_order_release);
  }
}

void Replay::write_values(Job& job) {
  const auto fail = [&](const std::string& why) {
    job.record.status = spool::CounterStatus::mismatch;
    job.reason = why;
  };
  // First the counts, so that a step is written as a whole or not at all.
  std::uint32_t kernels = 0, graphs = 0, ranges = 0;
  for (const CounterSession::Segment& segment : job.segments) {
    CUpti_RangeProfiler_GetCounterDataInfo_Params info = {
        CUpti_RangeProfiler_GetCounterDataInfo_Params_STRUCT_SIZE};
    info.pCounterDataImage = segment.image.data();
    info.counterDataImageSize = segment.image.size();
    if (const CUptiResult r = api_.range_get_counter_data_info(&info); r != CUPTI_SUCCESS) {
      job.record.status = spool::CounterStatus::failed;
      job.reason = "reading counters failed: " + api_.error_text(r);
      return;
    }
    const auto found = static_cast<std::uint32_t>(info.numTotalRanges);
    ranges += found;
    if (found != segment.measured)
      return fail(std::to_string(found) + " measured ranges for " + std::to_string(segment.measured) +
                  " launches");
    (job.graphs ? graphs : kernels) += found;
  }
  job.record.ranges_received = ranges;
  const auto measured = static_cast<std::uint32_t>(std::count_if(
      job.launches.begin(), job.launches.end(), [](const SequenceEntry& e) { return e.measured; }));
  if (!job.graphs && kernels != measured)
    return fail(std::to_string(kernels) + " measured ranges for " + std::to_string(measured) + " launches");

  std::uint32_t next_launch = 0, measured_so_far = 0;
  for (const CounterSession::Segment& segment : job.segments)
    if (!(job.graphs ? write_graphs(job, segment)
                     : write_kernels(job, segment, &next_launch, &measured_so_far)))
      return fail("CUPTI names a range that has no launch");
  if (job.reason.empty() && job.unevaluated > 0)
    job.reason = std::to_string(job.unevaluated) + " launches could not be evaluated";
  if (job.reason.empty() && !job.in_doubt.empty())
    job.reason = std::to_string(job.in_doubt.size()) +
                 " launches ran beside a launch of another thread, and their counters cannot be told apart";
}

bool Replay::range_numbers(const CounterSession::Segment& segment, std::size_t ranges,
                           std::vector<std::uint32_t>* numbers) {
  numbers->clear();
  for (std::size_t range = 0; range < ranges; ++range) {
    CUpti_RangeProfiler_CounterData_GetRangeInfo_Params where = {
        CUpti_RangeProfiler_CounterData_GetRangeInfo_Params_STRUCT_SIZE};
    where.pCounterDataImage = segment.image.data();
    where.counterDataImageSize = segment.image.size();
    where.rangeIndex = range;
    where.rangeDelimiter = "/";
    if (api_.range_counter_data_get_range_info(&where) != CUPTI_SUCCESS || where.rangeName == nullptr)
      return false;
    char* end = nullptr;
    const unsigned long number = std::strtoul(where.rangeName, &end, 10);
    if (end == where.rangeName || *end != 0) return false;
    numbers->push_back(static_cast<std::uint32_t>(number));
  }
  return true;
}

bool Replay::write_kernels(Job& job, const CounterSession::Segment& segment, std::uint32_t* next_launch,
                           std::uint32_t* measured) {
  const CounterConfig& config = configs_[job.record.config_id - 1];
  const std::size_t metrics = config.metrics().size();
  std::vector<std::uint32_t> numbers;
  if (!range_numbers(segment, segment.measured, &numbers)) return false;
  // Automatic ranges are numbered in order of launch, over the whole session.
  const std::uint32_t first = numbers.empty() ? 0 : *std::min_element(numbers.begin(), numbers.end());
  std::vector<std::uint32_t> ordinals;  // of the measured launches of this segment
  for (; ordinals.size() < segment.measured && *next_launch < job.launches.size(); ++*next_launch)
    if (job.launches[*next_launch].measured) ordinals.push_back(*next_launch);
  std::vector<bool> taken(ordinals.size(), false);
  for (const std::uint32_t number : numbers) {
    if (number - first >= ordinals.size() || taken[number - first]) return false;
    taken[number - first] = true;
  }
  const std::uint32_t measured_before = *measured;
  *measured += segment.measured;
  std::vector<double> values(metrics);
  for (std::size_t range = 0; range < numbers.size(); ++range) {
    if (job.in_doubt.contains(measured_before + numbers[range] - first)) continue;
    const std::uint32_t ordinal = ordinals[numbers[range] - first];
    if (!config.evaluate(segment.image, range, values.data())) {
      std::fill(values.begin(), values.end(), std::numeric_limits<double>::quiet_NaN());
      ++job.unevaluated;
    }
    note_values(job, ordinal, config, values.data());
    const SequenceEntry& launch = job.launches[ordinal];
    spool::CounterValueRecord value{};
    value.config_id = job.record.config_id;
    value.step_index = job.step.index;
    value.step_ordinal = ordinal;
    value.kernel_id = launch.kernel_id;
    value.grid_x = launch.grid_x;
    value.grid_y = launch.grid_y;
    value.grid_z = launch.grid_z;
    for (std::size_t m = 0; m < metrics; ++m) {
      // A range of ours begins before its kernel and ends after it: its duration is not the kernel's.
      if (job.marked && config.metrics()[m].name == kDurationMetric) continue;
      value.metric_id = metric_ids_[first_metric_[job.record.config_id - 1] + m];
      value.value = values[m];
      writer_.put(value);
    }
  }
  return true;
}

void Replay::note_values(const Job& job, std::uint32_t ordinal, const CounterConfig& config,
                         const double* values) {
  if (job.step.phase != Phase::replay) return;
  double bytes = 0, tensor = std::numeric_limits<double>::quiet_NaN();
  for (std::size_t m = 0; m < config.metrics().size(); ++m) {
    const std::string_view name = config.metrics()[m].name;
    if (name == "dram__bytes_read.sum" || name == "dram__bytes_write.sum") bytes += values[m];
    if (name == "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed") tensor = values[m] / 100;
  }
  const auto [kind, duration_ns] = planned(job.by_size, job.launches[ordinal], ordinal);
  const counting::Kind before = ordinal > 0 ? job.launches[ordinal - 1].kind() : 0;
  if (!(duration_ns > 0) || !std::isfinite(bytes)) return;
  const double bytes_per_ns = bytes / duration_ns;
  // What a very short launch seems to reach is no measure for the others.
  if (duration_ns >= kLongEnoughNs) max_bytes_per_ns_ = std::max(max_bytes_per_ns_, bytes_per_ns);
  std::lock_guard<std::mutex> guard(noted_mutex_);
  if (noted_.size() >= kMaxNoted) return;
  noted_.push_back({kind, before, 0, bytes_per_ns / max_bytes_per_ns_});
  if (std::isfinite(tensor)) noted_.push_back({kind, before, 1, tensor});
}

bool Replay::write_graphs(Job& job, const CounterSession::Segment& segment) {
  const CounterConfig& config = configs_[job.record.config_id - 1];
  const std::size_t metrics = config.metrics().size();
  std::vector<std::uint32_t> numbers;
  if (!range_numbers(segment, segment.measured, &numbers)) return false;
  for (const std::uint32_t number : numbers)
    if (number >= job.graph_correlation_ids.size() || job.graph_correlation_ids[number] == 0) return false;
  std::vector<double> values(metrics);
  for (std::size_t range = 0; range < numbers.size(); ++range) {
    if (!config.evaluate(segment.image, range, values.data())) {
      ++job.unevaluated;
      continue;
    }
    spool::GraphCounterValueRecord value{};
    value.config_id = job.record.config_id;
    value.step_index = job.step.index;
    value.graph_launch = numbers[range];
    value.kernel = spool::kWholeGraph;
    value.correlation_id = job.graph_correlation_ids[numbers[range]];
    for (std::size_t m = 0; m < metrics; ++m) {
      value.metric_id = metric_ids_[first_metric_[job.record.config_id - 1] + m];
      value.value = values[m];
      writer_.put(value);
    }
  }
  return true;
}

}  // namespace ridgeline::agent
