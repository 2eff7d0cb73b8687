// sample_chart.cpp: DRAM and tensor pipe over the time of one sampled step, above the kernels that ran.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "charts.h"
#include "ridgeline/reports/format.h"
#include "ridgeline/reports/svg.h"

namespace ridgeline::reports {
namespace {

constexpr int kBins = 520;  // two pixels each

struct Window {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  [[nodiscard]] double length() const { return static_cast<double>(end_ns - start_ns); }
};

// The kernels' own extent: copies for a step may run while the step before is still computing.
Window kernels_window(const analyzer::Model& model, const analyzer::ModelStep& step) {
  Window window;
  for (const analyzer::LaunchIndex index : step.launches) {
    const store::Launch& launch = model.launches[index];
    if (!analyzer::has_time(launch)) continue;
    if (window.start_ns == 0 || launch.start_ns < window.start_ns) window.start_ns = launch.start_ns;
    window.end_ns = std::max(window.end_ns, launch.end_ns);
  }
  return window;
}

// Sums and counts of the samples that end in each bin of the window.
class Bins {
 public:
  explicit Bins(const Window& window) : window_(window), sum_(kBins, 0.0), count_(kBins, 0) {}

  void add(const analyzer::SampleTrace& trace) {
    const auto first = std::lower_bound(
        trace.samples.begin(), trace.samples.end(), window_.start_ns,
        [](const store::PmSample& sample, std::int64_t time_ns) { return sample.time_ns < time_ns; });
    for (auto it = first; it != trace.samples.end() && it->time_ns < window_.end_ns; ++it) {
      if (!std::isfinite(it->value)) continue;
      const double at = static_cast<double>(it->time_ns - window_.start_ns) / window_.length();
      const auto bin = std::min<std::size_t>(static_cast<std::size_t>(at * kBins), kBins - 1);
      sum_[bin] += it->value;
      ++count_[bin];
      ++samples_;
    }
  }

  // Mean by bin times `scale`; a bin without a sample takes the one before.
  [[nodiscard]] std::vector<double> means(double scale) const {
    std::vector<double> out(kBins, 0.0);
    double last = 0;
    for (std::size_t i = 0; i < kBins; ++i) {
      if (count_[i] > 0) last = sum_[i] / count_[i] * scale;
      out[i] = last;
    }
    return out;
  }
  [[nodiscard]] std::int64_t samples() const { return samples_; }

 private:
  Window window_;
  std::vector<double> sum_;
  std::vector<int> count_;
  std::int64_t samples_ = 0;
};

// Median time from one sample of the window to the next.
double spacing_ns(const analyzer::SampleTrace& trace, const Window& window) {
  std::vector<std::int64_t> gaps;
  for (std::size_t i = 1; i < trace.samples.size(); ++i) {
    if (trace.samples[i - 1].time_ns >= window.start_ns && trace.samples[i].time_ns < window.end_ns)
      gaps.push_back(trace.samples[i].time_ns - trace.samples[i - 1].time_ns);
  }
  const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2);
  std::nth_element(gaps.begin(), middle, gaps.end());
  return static_cast<double>(std::max<std::int64_t>(*middle, 1));
}

const analyzer::SampleTrace* trace_of(const analyzer::Model& model, store::Id device_id,
                                      std::string_view metric) {
  const auto found = std::find_if(
      model.sample_traces.begin(), model.sample_traces.end(),
      [&](const analyzer::SampleTrace& t) { return t.device_id == device_id && t.metric == metric; });
  return found == model.sample_traces.end() || found->samples.empty() ? nullptr : &*found;
}

struct Panel {
  std::string label;
  std::string css;
  std::vector<double> ratios;
};

}  // namespace

SampleChart sample_chart(const analyzer::Model& model, const analyzer::Analysis& analysis) {
  const store::Id device_id = analysis.accounting.device_id;
  const analyzer::SampleTrace* read = trace_of(model, device_id, "dram__bytes_read.sum");
  const analyzer::SampleTrace* written = trace_of(model, device_id, "dram__bytes_write.sum");
  if (analysis.utilisation.sample_steps.empty() || read == nullptr || written == nullptr) return {};
  const double peak = [&] {
    for (const analyzer::Peak& p : analysis.utilisation.peaks) {
      if (p.quantity == "dram_bytes_per_s") return p.value;
    }
    return 0.0;
  }();
  // The sampled step that the samples cover best.
  const analyzer::ModelStep* step = nullptr;
  Window window;
  std::int64_t most = 0;
  for (const analyzer::StepIndex index : analysis.utilisation.sample_steps) {
    const Window candidate = kernels_window(model, model.steps[index]);
    if (candidate.length() <= 0) continue;
    Bins bins(candidate);
    bins.add(*read);
    if (bins.samples() <= most) continue;
    most = bins.samples();
    step = &model.steps[index];
    window = candidate;
  }
  if (step == nullptr || peak <= 0 || most < 10) return {};
  const double interval_ns = spacing_ns(*read, window);

  std::vector<Panel> panels;
  Bins read_bins(window), written_bins(window);
  read_bins.add(*read);
  written_bins.add(*written);
  Panel dram{"DRAM", "m-dram", read_bins.means(1e9 / interval_ns / peak)};
  const std::vector<double> more = written_bins.means(1e9 / interval_ns / peak);
  for (std::size_t i = 0; i < dram.ratios.size(); ++i) dram.ratios[i] += more[i];
  panels.push_back(std::move(dram));
  for (const analyzer::PipeMetric& pipe : analyzer::known_sampled_pipe_metrics()) {
    const analyzer::SampleTrace* trace = trace_of(model, device_id, pipe.metric);
    if (trace == nullptr || pipe.pipe != "tensor") continue;
    Bins bins(window);
    bins.add(*trace);
    panels.push_back({"tensor pipe", "m-tensor", bins.means(0.01)});
    break;
  }

  constexpr double kLeft = 92, kTop = 10, kPanel = 96, kGap = 16, kStrip = 18;
  const double plot = kChartWidth - kLeft;
  const double strip_y = kTop + static_cast<double>(panels.size()) * (kPanel + kGap);
  Svg svg(kChartWidth, strip_y + kStrip + 26,
          fmt::format("DRAM and tensor pipe over step {}", step->step.step_index));
  for (std::size_t p = 0; p < panels.size(); ++p) {
    const double top = kTop + static_cast<double>(p) * (kPanel + kGap);
    const auto y = [&](double ratio) { return top + kPanel * (1 - std::clamp(ratio, 0.0, 1.0)); };
    for (const double ratio : {0.0, 0.5, 1.0}) {
      svg.line(kLeft, y(ratio), kChartWidth, y(ratio), "grid");
      svg.text(kLeft - 8, y(ratio) + 4, fmt::format("{:.0f} %", ratio * 100), "tick", Svg::Anchor::end);
    }
    svg.text(0, y(0.25) + 4, panels[p].label, "axis");  // between two ticks
    std::vector<std::pair<double, double>> points = {{kLeft, y(0)}};
    for (std::size_t i = 0; i < panels[p].ratios.size(); ++i)
      points.emplace_back(kLeft + plot * (static_cast<double>(i) + 0.5) / kBins, y(panels[p].ratios[i]));
    points.emplace_back(kChartWidth, y(0));
    svg.area(points, panels[p].css);
  }
  svg.text(0, strip_y + 13, "kernels", "axis");
  const auto x = [&](std::int64_t time_ns) {
    return kLeft + plot * static_cast<double>(time_ns - window.start_ns) / window.length();
  };
  // Launches of one class in a row are one rectangle.
  std::vector<const store::Launch*> launches;
  for (const analyzer::LaunchIndex index : step->launches) {
    if (analyzer::has_time(model.launches[index])) launches.push_back(&model.launches[index]);
  }
  std::sort(launches.begin(), launches.end(),
            [](const auto* a, const auto* b) { return a->start_ns < b->start_ns; });
  for (std::size_t i = 0; i < launches.size();) {
    const std::string kernel_class(model.kernel_class(*launches[i]));
    std::int64_t end_ns = launches[i]->end_ns;
    std::size_t last = i + 1;
    while (last < launches.size() && model.kernel_class(*launches[last]) == kernel_class) {
      end_ns = std::max(end_ns, launches[last]->end_ns);
      ++last;
    }
    svg.rect(
        x(launches[i]->start_ns), strip_y, std::max(x(end_ns) - x(launches[i]->start_ns), 0.4), kStrip,
        class_css(kernel_class),
        fmt::format("{}, {}", kernel_class, time_text(static_cast<double>(end_ns - launches[i]->start_ns))));
    i = last;
  }
  const double tick = nice_tick(window.length(), 8);
  constexpr double kHalfLabel = 24;  // a label in the middle of its tick would leave the picture
  for (double t = 0; t <= window.length(); t += tick) {
    const double at = kLeft + plot * t / window.length();
    const Svg::Anchor anchor = t == 0                          ? Svg::Anchor::start
                               : at + kHalfLabel > kChartWidth ? Svg::Anchor::end
                                                               : Svg::Anchor::middle;
    svg.text(at, strip_y + kStrip + 16, fmt::format("{:g} ms", t * 1e-6), "tick", anchor);
  }
  return {svg.finish(),
          fmt::format("Step {} as it ran, nothing serialised: {} samples, one every {}. The strip shows the "
                      "class of the kernel that ran.",
                      step->step.step_index, integer(most), time_text(interval_ns))};
}

}  // namespace ridgeline::reports
