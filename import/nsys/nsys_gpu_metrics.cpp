#include "nsys/nsys_gpu_metrics.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <set>

#include "ridgeline/base/text.h"
#include "traces/counter_series.h"

namespace ridgeline::import {

namespace {

constexpr const char* kSamples = "GPU_METRICS";
constexpr const char* kNames = "TARGET_INFO_GPU_METRICS";
constexpr std::size_t kMaxValues = 16'000'000;
constexpr std::int64_t kGpuMask = 0xff;  // of typeId
constexpr std::size_t kMaxNamed = 400;   // characters of a list of names

enum class GpuMetricUnit : std::uint8_t { percent, bytes_per_s, hz };

// What nsys calls it, whichever chip, and the counter that it is. Units are what it writes in brackets.
struct KnownGpuMetric {
  std::string_view name;
  std::string_view counter;
  bool moves_bytes = false;  // a share of the DRAM's peak or a rate: bytes of each sample
};
constexpr std::array kKnownGpuMetrics = {
    KnownGpuMetric{"SMs Active", "sm__cycles_active.avg.pct_of_peak_sustained_elapsed"},
    KnownGpuMetric{"SM Active", "sm__cycles_active.avg.pct_of_peak_sustained_elapsed"},
    KnownGpuMetric{"Tensor Active",
                   "sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed"},
    KnownGpuMetric{"DRAM Read Bandwidth", "dram__bytes_read.sum", true},
    KnownGpuMetric{"DRAM Read Throughput", "dram__bytes_read.sum", true},
    KnownGpuMetric{"DRAM Write Bandwidth", "dram__bytes_write.sum", true},
    KnownGpuMetric{"DRAM Write Throughput", "dram__bytes_write.sum", true},
    KnownGpuMetric{"GPC Clock Frequency", "gpc__cycles_elapsed.avg.per_second"},
};

struct Named {
  const KnownGpuMetric* known = nullptr;
  GpuMetricUnit unit = GpuMetricUnit::percent;
};

// "SMs Active [Throughput %]"; values of "[MHz]" are in Hz and of "[GB/s]" in bytes a second.
std::optional<Named> named_metric(std::string_view text) {
  const std::size_t bracket = text.rfind(" [");
  const std::string_view name = text.substr(0, bracket);
  const std::string_view unit = bracket == std::string_view::npos ? "" : text.substr(bracket);
  const auto known = std::find_if(kKnownGpuMetrics.begin(), kKnownGpuMetrics.end(),
                                  [&](const KnownGpuMetric& each) { return each.name == name; });
  if (known == kKnownGpuMetrics.end()) return std::nullopt;
  Named named{.known = &*known};
  if (unit.find('%') != std::string_view::npos) {
    named.unit = GpuMetricUnit::percent;
  } else if (unit.find("B/s") != std::string_view::npos && known->moves_bytes) {
    named.unit = GpuMetricUnit::bytes_per_s;
  } else if (unit.find("Hz") != std::string_view::npos && known->counter.ends_with(".per_second")) {
    named.unit = GpuMetricUnit::hz;
  } else {
    return std::nullopt;
  }
  if (named.unit == GpuMetricUnit::percent && known->counter.ends_with(".per_second")) return std::nullopt;
  return named;
}

class GpuMetricsReader {
 public:
  GpuMetricsReader(const NsysExport& from, const std::map<std::uint32_t, double>& peaks)
      : from_(from), peaks_(peaks) {}

  NsysGpuMetrics read(const std::function<std::int64_t(std::int64_t)>& at) {
    read_names();
    CounterSeries series(kMaxValues);
    std::int64_t seen = 0;
    std::int64_t left_out = 0;
    store::Statement row = from_.rows(kSamples, {{{"timestamp"}, ColumnKind::integer, ColumnNeed::required},
                                                 {{"typeId"}, ColumnKind::integer, ColumnNeed::required},
                                                 {{"metricId"}, ColumnKind::integer, ColumnNeed::required},
                                                 {{"value"}, ColumnKind::integer, ColumnNeed::required}});
    while (row.step()) {
      ++seen;
      const auto named = names_.find({row.int64(1), row.int64(2)});
      if (named == names_.end()) continue;
      const std::int64_t value = row.int64(3);
      // Broken samples are below zero.
      const bool sound = value >= 0 && (named->second.unit != GpuMetricUnit::percent || value <= 100);
      const auto gpu = static_cast<std::uint32_t>(row.int64(1) & kGpuMask);
      if (sound &&
          !series.add({at(row.int64(0)), gpu, named->second.known->counter, static_cast<double>(value)}))
        ++left_out;
      if (sound) units_[{gpu, std::string(named->second.known->counter)}] = named->second.unit;
    }
    result_.samples = series.samples();
    for (ForeignSamples& each : result_.samples) to_bytes(each);
    std::erase_if(result_.samples, [](const ForeignSamples& each) { return each.metrics.empty(); });
    say(seen, left_out);
    return std::move(result_);
  }

 private:
  void read_names() {
    if (!from_.has(kNames)) return;
    store::Statement row = from_.rows(kNames, {{{"typeId"}, ColumnKind::integer, ColumnNeed::required},
                                               {{"metricId"}, ColumnKind::integer, ColumnNeed::required},
                                               {{"metricName"}, ColumnKind::text, ColumnNeed::required}});
    while (row.step()) {
      const std::string name = one_line(row.text(2));
      if (const auto named = named_metric(name))
        names_[{row.int64(0), row.int64(1)}] = *named;
      else
        unknown_.insert(name);
    }
  }

  // Bytes of each sample, of rates and of shares of the peak.
  void to_bytes(ForeignSamples& samples) {
    const std::size_t metrics = samples.metrics.size();
    std::vector<bool> gone(metrics, false);
    for (std::size_t place = 0; place < metrics; ++place) {
      SampledMetric& metric = samples.metrics[place];
      const bool moves_bytes = metric.name.starts_with("dram__bytes");
      if (!moves_bytes) continue;
      double bytes_per_s = 1;
      if (units_[{samples.device, metric.name}] == GpuMetricUnit::percent) {
        const auto peak = peaks_.find(samples.device);
        gone[place] = peak == peaks_.end();
        if (!gone[place]) bytes_per_s = peak->second / 100;
      }
      for (std::size_t i = 0; i < samples.size(); ++i)
        samples.values[i * metrics + place] *=
            bytes_per_s * 1e-9 * static_cast<double>(samples.end_ns[i] - samples.start_ns[i]);
    }
    if (std::find(gone.begin(), gone.end(), true) == gone.end()) return;
    without_peak_ = true;
    for (std::size_t place = 0; place < metrics; ++place)
      if (gone[place]) samples.metrics[place].name.clear();  // a column without a name is left out
    if (std::all_of(samples.metrics.begin(), samples.metrics.end(),
                    [](const SampledMetric& metric) { return metric.name.empty(); }))
      samples.metrics.clear();
  }

  void say(std::int64_t seen, std::int64_t left_out) {
    if (without_peak_) result_.notes.emplace_back(ReasonCode::import_dram_without_peak);
    if (seen > 0 && result_.samples.empty()) {
      result_.notes.emplace_back(
          ReasonCode::import_samples_unused,
          std::vector<ReasonValue>{{"samples", seen}, {"cause", names_.empty() ? "no_metric" : "no_times"}});
    } else if (!unknown_.empty()) {
      std::string list;
      for (const std::string& name : unknown_) list.append(list.empty() ? "" : ", ").append(name);
      result_.notes.emplace_back(
          ReasonCode::import_metrics_unused,
          std::vector<ReasonValue>{{"metrics", unknown_.size()}, {"names", bounded_text(list, kMaxNamed)}});
    }
    if (left_out > 0)
      result_.notes.emplace_back(ReasonCode::import_samples_unused,
                                 std::vector<ReasonValue>{{"samples", left_out}, {"cause", "too_many"}});
  }

  const NsysExport& from_;
  const std::map<std::uint32_t, double>& peaks_;
  NsysGpuMetrics result_;
  std::map<std::pair<std::int64_t, std::int64_t>, Named> names_;
  std::map<std::pair<std::uint32_t, std::string>, GpuMetricUnit> units_;
  std::set<std::string> unknown_;
  bool without_peak_ = false;
};

}  // namespace

NsysGpuMetrics read_gpu_metrics(const NsysExport& from,
                                const std::map<std::uint32_t, double>& dram_bytes_per_s,
                                const std::function<std::int64_t(std::int64_t)>& at) {
  return GpuMetricsReader(from, dram_bytes_per_s).read(at);
}

}  // namespace ridgeline::import
