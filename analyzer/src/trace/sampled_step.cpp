#include "ridgeline/analyzer/trace/sampled_step.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "ridgeline/base/statistics.h"

namespace ridgeline::analyzer {

namespace {

constexpr std::int64_t kMinSamples = 10;

TimeWindow kernels_window(const Model& model, const ModelStep& step) {
  TimeWindow window;
  for (const LaunchIndex index : step.launches) {
    const Launches::Row& launch = model.launches.row(index);
    if (!has_time(launch)) continue;
    if (window.start_ns == 0 || launch.start_ns < window.start_ns) window.start_ns = launch.start_ns;
    window.end_ns = std::max(window.end_ns, launch.end_ns);
  }
  return window;
}

// Sums and counts of the samples that end in each bin of the window.
class Bins {
 public:
  Bins(const TimeWindow& window, std::size_t bins) : window_(window), sum_(bins, 0.0), count_(bins, 0) {}

  void add(const SampleTrace& trace) {
    const auto first = std::lower_bound(
        trace.samples.begin(), trace.samples.end(), window_.start_ns,
        [](const store::PmSample& sample, std::int64_t time_ns) { return sample.time_ns < time_ns; });
    for (auto it = first; it != trace.samples.end() && it->time_ns < window_.end_ns; ++it) {
      if (!std::isfinite(it->value)) continue;
      const double at =
          static_cast<double>(it->time_ns - window_.start_ns) / static_cast<double>(window_.length_ns());
      const auto bin =
          std::min(static_cast<std::size_t>(at * static_cast<double>(sum_.size())), sum_.size() - 1);
      sum_[bin] += it->value;
      ++count_[bin];
      ++samples_;
    }
  }

  // Mean by bin times `scale`; a bin without a sample takes the one before.
  [[nodiscard]] std::vector<double> means(double scale) const {
    std::vector<double> out(sum_.size(), 0.0);
    double last = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
      if (count_[i] > 0) last = sum_[i] / count_[i] * scale;
      out[i] = last;
    }
    return out;
  }
  [[nodiscard]] std::int64_t samples() const { return samples_; }

 private:
  TimeWindow window_;
  std::vector<double> sum_;
  std::vector<int> count_;
  std::int64_t samples_ = 0;
};

// Median time from one sample of the window to the next.
double spacing_ns(const SampleTrace& trace, const TimeWindow& window) {
  std::vector<std::int64_t> gaps;
  for (std::size_t i = 1; i < trace.samples.size(); ++i) {
    if (trace.samples[i - 1].time_ns >= window.start_ns && trace.samples[i].time_ns < window.end_ns)
      gaps.push_back(trace.samples[i].time_ns - trace.samples[i - 1].time_ns);
  }
  return static_cast<double>(std::max<std::int64_t>(upper_median(std::move(gaps)), 1));
}

const SampleTrace* trace_of(const std::vector<SampleTrace>& traces, store::Id device_id,
                            std::string_view metric) {
  const auto found = std::find_if(traces.begin(), traces.end(), [&](const SampleTrace& t) {
    return t.device_id == device_id && t.metric == metric;
  });
  return found == traces.end() || found->samples.empty() ? nullptr : &*found;
}

std::vector<ClassRun> class_runs(const Model& model, const ModelStep& step) {
  std::vector<LaunchIndex> launches;
  for (const LaunchIndex index : step.launches) {
    if (has_time(model.launches.row(index))) launches.push_back(index);
  }
  std::sort(launches.begin(), launches.end(), [&](LaunchIndex a, LaunchIndex b) {
    return model.launches.row(a).start_ns < model.launches.row(b).start_ns;
  });
  std::vector<ClassRun> runs;
  for (const LaunchIndex index : launches) {
    const Launches::Row& launch = model.launches.row(index);
    const KernelClass kernel_class = model.kernel_class(model.launches.site(index));
    if (runs.empty() || runs.back().kernel_class != kernel_class)
      runs.push_back({kernel_class, launch.start_ns, launch.end_ns});
    runs.back().end_ns = std::max(runs.back().end_ns, launch.end_ns);
  }
  return runs;
}

}  // namespace

std::vector<std::string_view> sampled_step_metrics() {
  std::vector<std::string_view> metrics = {"dram__bytes_read.sum", "dram__bytes_write.sum"};
  for (const PipeMetric& pipe : known_sampled_pipe_metrics()) {
    if (pipe.roof == Roof::kTensor) metrics.push_back(pipe.metric);
  }
  return metrics;
}

std::optional<SampledStep> sampled_step(const Model& model, const UtilisationAnalysis& utilisation,
                                        const std::vector<SampleTrace>& traces, store::Id device_id,
                                        std::size_t bins) {
  const SampleTrace* read = trace_of(traces, device_id, "dram__bytes_read.sum");
  const SampleTrace* written = trace_of(traces, device_id, "dram__bytes_write.sum");
  const auto peak = std::find_if(utilisation.peaks.begin(), utilisation.peaks.end(),
                                 [](const Peak& p) { return p.quantity == Quantity::dram_bytes_per_s; });
  if (read == nullptr || written == nullptr || bins == 0 || peak == utilisation.peaks.end() ||
      peak->value <= 0)
    return std::nullopt;
  SampledStep out;
  const ModelStep* step = nullptr;
  for (const StepIndex index : utilisation.sample_steps) {
    const TimeWindow candidate = kernels_window(model, model.steps[index]);
    if (candidate.length_ns() <= 0) continue;
    Bins covered(candidate, bins);
    covered.add(*read);
    if (covered.samples() <= out.samples) continue;
    out.samples = covered.samples();
    out.window = candidate;
    step = &model.steps[index];
  }
  if (step == nullptr || out.samples < kMinSamples) return std::nullopt;
  out.step_index = step->step.step_index;
  out.interval_ns = spacing_ns(*read, out.window);
  const double scale = 1e9 / out.interval_ns / peak->value;
  Bins read_bins(out.window, bins);
  Bins written_bins(out.window, bins);
  read_bins.add(*read);
  written_bins.add(*written);
  out.dram_ratio = read_bins.means(scale);
  const std::vector<double> more = written_bins.means(scale);
  for (std::size_t i = 0; i < bins; ++i) out.dram_ratio[i] += more[i];
  for (const PipeMetric& pipe : known_sampled_pipe_metrics()) {
    const SampleTrace* trace = trace_of(traces, device_id, pipe.metric);
    if (trace == nullptr || pipe.roof != Roof::kTensor) continue;
    Bins tensor(out.window, bins);
    tensor.add(*trace);
    out.tensor_ratio = tensor.means(0.01);
    break;
  }
  out.classes = class_runs(model, *step);
  return out;
}

}  // namespace ridgeline::analyzer
