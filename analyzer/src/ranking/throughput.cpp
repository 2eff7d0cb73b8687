#include "ridgeline/analyzer/ranking/throughput.h"

#include <algorithm>
#include <map>
#include <set>

#include "ridgeline/analyzer/ranking/launch_shape.h"

namespace ridgeline::analyzer {

namespace {

// What there is most of; empty of nothing.
template <typename Key>
std::optional<Key> most_of(const std::map<Key, double>& amounts) {
  const auto most = std::max_element(amounts.begin(), amounts.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  return most == amounts.end() ? std::nullopt : std::optional(most->first);
}

const store::Launch& site_of(const Model& model, const UtilisationAnalysis& utilisation,
                             const LaunchUtilisations::Group& group) {
  return model.launches.site(utilisation.launches.row(group.longest).launch);
}

// The peak of the type that most of the products' time is of, by their kernels' names; empty if none says.
std::optional<Quantity> quantity_in_names(const Model& model, const UtilisationAnalysis& utilisation) {
  std::map<Precision, double> times;
  for (const LaunchUtilisations::Group& group : utilisation.launches.groups()) {
    const Precision precision = precision_in_name(model.kernel_name(site_of(model, utilisation, group)));
    if (precision != Precision::any) times[precision] += static_cast<double>(group.time_ns);
  }
  const std::optional<Precision> most = most_of(times);
  return most ? flops_of(*most) : std::nullopt;
}

std::optional<Peak> peak_of(const Model& model, const UtilisationAnalysis& utilisation,
                            const std::set<store::Id>& devices, Quantity quantity, const PeakPolicy& policy) {
  std::optional<Peak> common;
  for (const store::Id device_id : devices) {
    // MFU is of the data sheet unless somebody asks for other roofs: it is read beside other cards' figures.
    const PeakSource source = policy.compute ? rate_source(model, device_id, policy) : PeakSource::spec;
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
  out.imported = model.imported();
  out.step_ns = ranking.totals.step_ns;
  out.size = size;
  const double seconds = static_cast<double>(out.step_ns) * 1e-9;
  if (out.step_ns > 0) {
    if (size.tokens) out.tokens_per_s = *size.tokens / seconds;
    if (size.samples) out.samples_per_s = *size.samples / seconds;
  }
  std::map<Quantity, double> types;  // operations by the peak of their type
  std::set<store::Id> devices;
  double operations = 0;
  bool complete = !utilisation.launches.empty();
  for (const LaunchUtilisations::Group& item : utilisation.launches.groups()) {
    devices.insert(site_of(model, utilisation, item).device_id);
    if (!item.values->tensor_ops) {
      // A launch that is too short to be counted does nothing to speak of.
      complete = complete && item.status == LaunchStatus::too_short;
      continue;
    }
    operations += item.values->tensor_ops->value;
    if (item.values->tensor_ops->value > 0)
      types[*item.values->tensor_quantity] += item.values->tensor_ops->value;
  }
  if (complete && !types.empty()) out.tensor_ops = operations;
  if (ranking.totals.work) out.declared_flops = ranking.totals.work->declared_flops;
  if (out.step_ns <= 0 || (!out.tensor_ops && !out.declared_flops)) return out;
  out.device_count = static_cast<std::int64_t>(devices.size());
  // What was not counted is of the type that the products' names say. FP32 is for a step whose tensor pipe is known
  // to have done nothing: of a step of which nothing is known no share of a peak is.
  const std::optional<Quantity> quantity = !types.empty() ? most_of(types)
                                           : complete     ? Quantity::fp32_flops_per_s
                                                          : quantity_in_names(model, utilisation);
  if (quantity) out.peak = peak_of(model, utilisation, devices, *quantity, peaks);
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
