#include "ridgeline/analyzer/throughput.h"

#include <algorithm>
#include <map>
#include <set>

namespace ridgeline::analyzer {

namespace {

// The type that most operations are of; FP32 where the tensor pipe did nothing.
std::string main_quantity(const std::map<std::string, double>& operations) {
  const auto most = std::max_element(operations.begin(), operations.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == operations.end() ? "fp32_flops_per_s" : most->first;
}

std::optional<Peak> peak_of(const Model& model, const UtilisationAnalysis& utilisation,
                            const std::set<store::Id>& devices, const std::string& quantity,
                            PeakSource source) {
  std::optional<Peak> common;
  for (const store::Id device_id : devices) {
    const auto clock = utilisation.sm_clock_hz.find(device_id);
    const auto peak =
        choose_peak(model, device_id, quantity, source,
                    clock == utilisation.sm_clock_hz.end() ? std::nullopt : std::optional(clock->second));
    if (!peak || (common && common->value != peak.value().value)) return std::nullopt;
    common = peak.value();
  }
  return common;
}

}  // namespace

Throughput step_throughput(const Model& model, const UtilisationAnalysis& utilisation, const Ranking& ranking,
                           const PeakPolicy& peaks, const StepSize& size) {
  Throughput out;
  out.step_ns = ranking.totals.step_ns;
  out.size = size;
  const double seconds = static_cast<double>(out.step_ns) * 1e-9;
  if (out.step_ns > 0) {
    if (size.tokens) out.tokens_per_s = *size.tokens / seconds;
    if (size.samples) out.samples_per_s = *size.samples / seconds;
  }
  std::map<std::string, double> types;
  std::set<store::Id> devices;
  double operations = 0;
  bool complete = !utilisation.launches.empty();
  for (const LaunchUtilisations::Group& item : utilisation.launches.groups()) {
    devices.insert(model.launches.site(utilisation.launches.row(item.longest).launch).device_id);
    if (!item.values->tensor_ops) {
      // A launch that is too short to be counted does nothing to speak of.
      complete = complete && item.status == LaunchStatus::launch_bound;
      continue;
    }
    operations += item.values->tensor_ops->value;
    if (item.values->tensor_ops->value > 0)
      types[item.values->tensor_quantity] += item.values->tensor_ops->value;
  }
  if (complete && !types.empty()) out.tensor_ops = operations;
  if (ranking.totals.work) out.declared_flops = ranking.totals.work->declared_flops;
  if (out.step_ns <= 0 || (!out.tensor_ops && !out.declared_flops)) return out;
  out.device_count = static_cast<std::int64_t>(devices.size());
  out.peak = peak_of(model, utilisation, devices, main_quantity(types), rate_source(peaks));
  const auto rate = [&](const std::optional<double>& amount, std::optional<double>& per_s,
                        std::optional<double>& ratio) {
    if (!amount) return;
    per_s = *amount / seconds;
    if (out.peak) ratio = *per_s / (out.peak->value * static_cast<double>(out.device_count));
  };
  rate(out.declared_flops, out.declared_flops_per_s, out.mfu);
  rate(out.tensor_ops, out.tensor_ops_per_s, out.hardware);
  return out;
}

}  // namespace ridgeline::analyzer
