#include "trace/timeline_counters.h"

#include <algorithm>
#include <array>
#include <map>
#include <optional>

#include "ridgeline/analyzer/model/model.h"
#include "ridgeline/analyzer/utilisation/peaks.h"
#include "ridgeline/base/statistics.h"

namespace ridgeline::analyzer {
namespace {

using store::Id;

struct Known {
  std::string_view metric;
  const char* label;
  bool of_dram_peak;  // bytes, of the DRAM's peak
};
// In their order; others come after them and are not shown unless asked for.
constexpr std::array<Known, 13> kKnown = {{
    {"dram__bytes_read.sum", "DRAM read", true},
    {"dram__bytes_write.sum", "DRAM written", true},
    {"dram__throughput.avg.pct_of_peak_sustained_elapsed", "DRAM busy", false},
    {"sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed", "Tensor pipe", false},
    {"sm__inst_executed_pipe_tensor_realtime.avg.pct_of_peak_sustained_elapsed", "Tensor pipe", false},
    {"TPC.TriageCompute.sm__inst_executed_pipe_fma_realtime.avg.pct_of_peak_sustained_elapsed", "FMA pipe",
     false},
    {"sm__cycles_active.avg.pct_of_peak_sustained_elapsed", "SM active", false},
    {"lts__t_bytes.sum", "L2 traffic", false},
    {"nvltx__bytes_data_user.sum", "NVLink sent", false},
    {"nvlrx__bytes_data_user.sum", "NVLink received", false},
    {"pcie__read_bytes.sum", "PCIe received", false},
    {"pcie__write_bytes.sum", "PCIe sent", false},
    {"gpc__cycles_elapsed.avg.per_second", "GPC clock", false},
}};

std::size_t metric_order(const std::string& metric) {
  for (std::size_t i = 0; i < kKnown.size(); ++i) {
    if (kKnown[i].metric == metric) return i;
  }
  return kKnown.size();
}

std::int64_t median_interval(const std::vector<store::PmSample>& samples) {
  std::vector<std::int64_t> intervals;
  for (std::size_t i = 1; i < samples.size() && intervals.size() < 1000; ++i)
    intervals.push_back(samples[i].time_ns - samples[i - 1].time_ns);
  return intervals.empty() ? 0 : upper_median(std::move(intervals));
}

// A bytes' sample is what passed since the one before.
void fill(TimelineRow& row, const std::vector<store::PmSample>& samples, double scale, bool a_second) {
  const std::int64_t usual = std::max<std::int64_t>(median_interval(samples), 1);
  for (std::size_t i = 0; i < samples.size(); ++i) {
    const std::int64_t since =
        i == 0 ? usual : std::min(samples[i].time_ns - samples[i - 1].time_ns, 4 * usual);
    if (since <= 0) continue;
    const double value = a_second ? samples[i].value * 1e9 / static_cast<double>(since) : samples[i].value;
    row.counter.add(samples[i].time_ns, static_cast<float>(std::max(value * scale, 0.0)));
  }
  row.counter.finish(4 * usual);
}

void add_clocks(const store::Capture& capture, const std::map<Id, store::Device>& devices,
                const std::string& where, Id device, Timeline& data) {
  const std::vector<store::ClockSample> samples = capture.clock_samples();
  struct Line {
    const char* id;
    const char* label;
    CounterUnit unit;
    double scale;
    std::optional<double> (*value)(const store::ClockSample&);
    bool secondary;
  };
  static const std::array<Line, 4> kLines = {{
      {"sm_clock", "SM clock", CounterUnit::hertz, 1,
       [](const store::ClockSample& s) -> std::optional<double> {
         return s.sm_clock_hz ? std::optional(static_cast<double>(*s.sm_clock_hz)) : std::nullopt;
       },
       false},
      {"power", "Power", CounterUnit::watt, 1e-3,
       [](const store::ClockSample& s) -> std::optional<double> {
         return s.power_mw ? std::optional(static_cast<double>(*s.power_mw)) : std::nullopt;
       },
       false},
      {"memory_clock", "Memory clock", CounterUnit::hertz, 1,
       [](const store::ClockSample& s) -> std::optional<double> {
         return s.memory_clock_hz ? std::optional(static_cast<double>(*s.memory_clock_hz)) : std::nullopt;
       },
       true},
      {"temperature", "Temperature", CounterUnit::celsius, 1,
       [](const store::ClockSample& s) -> std::optional<double> {
         return s.temperature_c ? std::optional(static_cast<double>(*s.temperature_c)) : std::nullopt;
       },
       true},
  }};
  for (const Line& line : kLines) {
    TimelineRow row;
    row.kind = RowKind::counter;
    row.device_id = device;
    row.unit = line.unit;
    row.secondary = line.secondary;
    row.label = line.label + where;
    row.id = "clock/" + std::to_string(devices.at(device).device_index) + "/" + line.id;
    for (const store::ClockSample& sample : samples) {
      if (sample.device_id != device) continue;
      if (const auto value = line.value(sample))
        row.counter.add(sample.time_ns, static_cast<float>(*value * line.scale));
    }
    if (row.counter.empty()) continue;
    row.counter.finish(1'000'000'000);
    row.max = static_cast<double>(row.counter.max()) * 1.05;
    if (line.unit == CounterUnit::hertz && std::string_view(line.id) == "sm_clock" &&
        devices.at(device).max_sm_clock_hz)
      row.max = static_cast<double>(*devices.at(device).max_sm_clock_hz) * 1.05;
    data.rows.push_back(std::move(row));
  }
}

}  // namespace

void add_counter_rows(const store::Capture& capture, Timeline& data) {
  std::map<Id, store::Device> devices;
  for (const store::Device& device : capture.devices()) devices[device.id] = device;
  Model facts;
  facts.devices = capture.devices();
  facts.device_peaks = capture.device_peaks();
  std::vector<store::Metric> metrics = capture.metrics();
  std::stable_sort(metrics.begin(), metrics.end(),
                   [](const auto& a, const auto& b) { return metric_order(a.name) < metric_order(b.name); });
  const bool sampled = !capture.pm_windows().empty();
  for (const auto& [id, device] : devices) {
    const std::string where = devices.size() > 1 ? " · GPU " + std::to_string(device.device_index) : "";
    for (const store::Metric& metric : metrics) {
      if (!sampled) break;
      const std::vector<store::PmSample> samples = capture.pm_samples(id, metric.id);
      if (samples.empty()) continue;
      const std::size_t order = metric_order(metric.name);
      TimelineRow row;
      row.kind = RowKind::counter;
      row.device_id = id;
      row.label = (order < kKnown.size() ? kKnown[order].label : metric.label) + where;
      row.metric = metric.name;
      row.meaning = metric.meaning;
      row.id = "counter/" + std::to_string(device.device_index) + "/" + metric.name;
      row.secondary = order == kKnown.size();
      if (metric.unit == "percent") {
        fill(row, samples, 0.01, false);
      } else if (metric.unit == "bytes") {
        const auto peak = order < kKnown.size() && kKnown[order].of_dram_peak
                              ? choose_peak(facts, id, Quantity::dram_bytes_per_s, PeakSource::spec)
                              : Result<Peak>(Failure{});
        row.unit = peak ? CounterUnit::ratio : CounterUnit::bytes_per_s;
        fill(row, samples, peak ? 1 / peak.value().value : 1, true);
        if (!peak) row.max = static_cast<double>(row.counter.max()) * 1.05;
      } else if (metric.unit == "Hz") {
        row.unit = CounterUnit::hertz;
        fill(row, samples, 1, false);
        row.max = device.max_sm_clock_hz ? static_cast<double>(*device.max_sm_clock_hz) * 1.05
                                         : static_cast<double>(row.counter.max()) * 1.05;
      } else {
        continue;
      }
      data.rows.push_back(std::move(row));
    }
    add_clocks(capture, devices, where, id, data);
  }
}

}  // namespace ridgeline::analyzer
