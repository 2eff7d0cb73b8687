// Reading the samples of a window, and which of its steps have them.
#include <sys/mman.h>

#include <algorithm>
#include <chrono>
#include <functional>
#include <limits>
#include <new>
#include <thread>

#include "ridgeline/base/signal_mask.h"
#include "tiers/available_memory.h"
#include "tiers/device_sampling.h"

namespace ridgeline::agent {
namespace {

constexpr std::size_t kFewSamples = 1000;  // not worth a thread

}  // namespace

void DeviceSampling::read() noexcept {
  if (!read_) {
    try {
      read_ = read_samples();
    } catch (...) {
      window_.status = WindowStatus::failed;
      reason_ = "out of memory while the samples were read";
    }
    if (!read_ && window_.status != WindowStatus::failed) return;
    read_ = true;
    window_.decode_ns = api_.now_ns() - window_.stop_ns;
    count_sampled_steps();
    if (none_came_)
      message(missing_ > 0 ? Severity::info : Severity::warning, spool::Topic::sampling,
              "no sampled counters: " + reason_);
  }
  close_soon();
}

// A step that the host was ahead with began on the device later than on the host, which its first kernel tells.
void DeviceSampling::count_sampled_steps() noexcept {
  if (!none_came_ && (window_.status == WindowStatus::failed || first_sample_ns_ == 0)) return;
  // What the clocks of kernels and samples may differ by, and a few intervals: as the import judges a step.
  const std::int64_t slack_ns = 20'000 + 4 * window_.interval_ns;
  // A window by time ends with a launch, which may come long after it has lasted long enough.
  const bool lasted = by_time() && window_.stop_ns - went_on_ns_ >= step_ns_;
  std::uint32_t whole = 0;
  std::int64_t late_ns = 0;
  CutWindow cut{window_, spool::kNoStep, spool::kNoStep};
  for (const MeasuredStep& step : measured_) {
    const std::int64_t first_kernel_ns = timeline_.first_start_ns(device_id_, step.mark);
    const std::int64_t began_ns = std::max(step.began_ns, first_kernel_ns);
    if (none_came_) {  // they may come any time from then on
      late_ns = 2 * (window_.stop_ns - went_on_ns_);
    } else if (first_sample_ns_ > began_ns + slack_ns + allowed_late_ns_) {
      late_ns = first_sample_ns_ - went_on_ns_;
    } else if (step.through || lasted) {
      ++whole;
      if (cut.first_whole == spool::kNoStep) cut.first_whole = step.index;
      cut.last_whole = step.index;
    }
  }
  if (late_ns > 0) start_.was_late_by(late_ns);
  if (whole > 0) narrow_cut_windows();
  if (whole >= asked_steps_) return;
  const std::uint32_t missing = asked_steps_ - whole;
  if (ran_out_ && !measured_.empty())  // the steps take longer than was known
    step_ns_ =
        std::max(step_ns_, (window_.stop_ns - went_on_ns_) / static_cast<std::int64_t>(measured_.size()));
  const bool fewer_fit = plan_.sampled_steps < asked_steps_;
  if (late_ns == 0 && !ran_out_ && !fewer_fit) return;  // not for want of time: the program ended
  if (!start_.has_room(plan_for(start_.phase_for(missing, step_ns_), step_ns_), step_ns_)) return;
  missing_ = missing;
  if (whole == measured_.size()) return;
  cut.record.reason = writer_.intern_reserved(reason_);
  try {
    cut_windows_.push_back(cut);
  } catch (...) {  // out of memory: its cut steps stay among those that were to be sampled
  }
}

// Other steps were sampled in place of those that are not whole in these.
void DeviceSampling::narrow_cut_windows() noexcept {
  for (CutWindow& cut : cut_windows_) {
    cut.record.first_step = cut.first_whole;
    cut.record.last_step = cut.last_whole;
    writer_.put_reserved(cut.record);
  }
  cut_windows_.clear();
}

void DeviceSampling::Unmap::operator()(std::uint8_t* memory) const noexcept {
  munmap(memory, bytes);
}

std::vector<double> DeviceSampling::evaluate(std::size_t count) const {
  const std::size_t metrics = config_.metrics().size();
  if (count < 2) return {};
  std::vector<double> values((count - 1) * metrics);
  const auto part = [&](const CounterConfig& config, std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end && !gate_.closed(); ++i) {
      double* row = values.data() + (i - 1) * metrics;
      if (!config.evaluate(image_.get(), image_.get_deleter().bytes, i, row))
        std::fill(row, row + metrics, std::numeric_limits<double>::quiet_NaN());
    }
  };
  const std::size_t share = (count - 1) / (helpers_.size() + 1) + 1;
  std::size_t begin = 1;
  std::vector<std::thread> threads;
  try {
    const AllSignalsBlocked whole;  // the program's are not for these threads
    threads.reserve(helpers_.size());
    for (const CounterConfig& helper : helpers_) {
      if (count - begin <= kFewSamples) break;
      threads.emplace_back(part, std::cref(helper), begin, std::min(begin + share, count));
      begin = std::min(begin + share, count);
    }
  } catch (...) {  // no more threads: this one does the rest
  }
  part(config_, begin, count);
  for (std::thread& t : threads) t.join();
  return values;
}

// False if it failed and closed the session. All samples at once: what does not fit into the first image
// after a stop, CUPTI drops.
bool DeviceSampling::read_samples() {
  const auto expected =
      static_cast<std::uint64_t>((window_.stop_ns - window_.start_ns) / window_.interval_ns + 1);
  QuietHold hold(captures_, host_waits_, kCapturePatience);
  if (!hold) return false;
  CUpti_PmSampling_GetCounterDataSize_Params size = {CUpti_PmSampling_GetCounterDataSize_Params_STRUCT_SIZE};
  size.pPmSamplingObject = session_;
  size.pMetricNames = config_.metric_names();
  size.numMetrics = config_.metrics().size();
  size.maxSamples =
      static_cast<std::uint32_t>(std::min<std::uint64_t>(expected + expected / 50 + 512, 1u << 20));
  if (const CUptiResult r = api_.pm_get_counter_data_size(&size); r != CUPTI_SUCCESS)
    return fail("sizing the samples", r), false;
  // The program may have taken meanwhile what was there when the window was planned.
  if (const auto available = available_memory(); available && !fits_memory(size.counterDataSize, *available))
    return give_up_for_memory(size.counterDataSize, *available), false;
  void* memory =
      mmap(nullptr, size.counterDataSize, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) throw std::bad_alloc();
  madvise(memory, size.counterDataSize, MADV_HUGEPAGE);
  image_ =
      std::unique_ptr<std::uint8_t[], Unmap>(static_cast<std::uint8_t*>(memory), Unmap{size.counterDataSize});
  CUpti_PmSampling_CounterDataImage_Initialize_Params init = {
      CUpti_PmSampling_CounterDataImage_Initialize_Params_STRUCT_SIZE};
  init.pPmSamplingObject = session_;
  init.counterDataSize = image_.get_deleter().bytes;
  init.pCounterData = image_.get();
  if (const CUptiResult r = api_.pm_counter_data_image_initialize(&init); r != CUPTI_SUCCESS)
    return fail("initialising the samples", r), false;
  CUpti_PmSampling_DecodeData_Params decode = {CUpti_PmSampling_DecodeData_Params_STRUCT_SIZE};
  decode.pPmSamplingObject = session_;
  decode.pCounterDataImage = image_.get();
  decode.counterDataImageSize = image_.get_deleter().bytes;
  const CUptiResult decoded = api_.pm_decode_data(&decode);
  const bool overflow = decoded == CUPTI_ERROR_OUT_OF_MEMORY || decode.overflow != 0;
  if (decoded != CUPTI_SUCCESS && !overflow) return fail("reading the samples", decoded), false;

  hold.release();
  CUpti_PmSampling_GetCounterDataInfo_Params info = {CUpti_PmSampling_GetCounterDataInfo_Params_STRUCT_SIZE};
  info.pCounterDataImage = image_.get();
  info.counterDataImageSize = image_.get_deleter().bytes;
  if (const CUptiResult r = api_.pm_get_counter_data_info(&info); r != CUPTI_SUCCESS)
    return fail("reading the samples", r), false;
  const std::size_t metrics = config_.metrics().size();
  const std::vector<double> values = evaluate(info.numCompletedSamples);
  if (gate_.closed()) {  // half of them are missing
    window_.status = WindowStatus::failed;
    reason_ = kEndedEarly;
    return true;
  }
  // The first sample holds what was counted before sampling started.
  for (std::size_t i = 1; i < info.numCompletedSamples; ++i) {
    CUpti_PmSampling_CounterData_GetSampleInfo_Params when = {
        CUpti_PmSampling_CounterData_GetSampleInfo_Params_STRUCT_SIZE};
    when.pPmSamplingObject = session_;
    when.pCounterDataImage = image_.get();
    when.counterDataImageSize = image_.get_deleter().bytes;
    when.sampleIndex = i;
    if (api_.pm_get_sample_info(&when) != CUPTI_SUCCESS) continue;
    if (first_sample_ns_ == 0) first_sample_ns_ = static_cast<std::int64_t>(when.startTimestamp);
    spool::PmSampleRecord record{};
    record.window_id = window_.window_id;
    record.value_count = static_cast<std::uint32_t>(metrics);
    record.start_ns = static_cast<std::int64_t>(when.startTimestamp);
    record.end_ns = static_cast<std::int64_t>(when.endTimestamp);
    if (writer_.put(record, values.data() + (i - 1) * metrics,
                    static_cast<std::uint32_t>(metrics * sizeof(double))))
      ++window_.samples;
  }
  const bool cut = decode.decodeStopReason == CUPTI_PM_SAMPLING_DECODE_STOP_REASON_COUNTER_DATA_FULL;
  if (overflow || cut) {
    window_.status = window_.samples > 0 ? WindowStatus::overflow : WindowStatus::failed;
    reason_ =
        (overflow ? "the hardware buffer of " + std::to_string(plan_.buffer_bytes >> 20) + " MiB was full, "
                  : std::string("the device sampled faster than it was asked to, ")) +
        std::to_string(window_.samples) +
        " samples could be read; sample fewer steps or at a longer interval";
    message(Severity::warning, spool::Topic::sampling, "the sampling of counters ended early: " + reason_);
  } else if (window_.samples == 0) {
    window_.status = WindowStatus::failed;
    reason_ = "CUPTI gave no samples in the " + whole_milliseconds(window_.stop_ns - went_on_ns_) +
              " of the window, after a start that took " + whole_milliseconds(went_on_ns_ - window_.start_ns);
    none_came_ = true;
  }
  return true;
}

}  // namespace ridgeline::agent
