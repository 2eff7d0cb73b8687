#include "ranking/rates.h"

#include <algorithm>
#include <string_view>

#include "ridgeline/analyzer/ranking/launch_shape.h"
#include "ridgeline/analyzer/utilisation/peaks.h"
#include "ridgeline/store/device_peaks.h"
#include "utilisation/timeline_clock.h"

namespace ridgeline::analyzer {

namespace {

// Whether a kernel's name says that it uses the tensor instructions of that architecture. Until Ampere's successor
// there was one kind of them; from 9.0 on each has its own, and those before it run at a lower rate.
bool has_native_instructions(std::string_view kernel, std::string_view compute_capability) {
  const std::size_t point = compute_capability.find('.');
  if (point == std::string_view::npos || point == 0) return false;
  if (point == 1 && compute_capability.front() < '9') return true;
  if (kernel.starts_with("nvjet_")) return true;
  if (compute_capability == "9.0" && kernel.find("wgmma") != std::string_view::npos) return true;
  std::string architecture = "sm";
  for (const char c : compute_capability) {
    if (c != '.') architecture += c;
  }
  return kernel.find(architecture) != std::string_view::npos;
}

}  // namespace

std::optional<TypedRate> sampled_ops_rate(const store::Device& device, std::string_view kernel,
                                          KernelClass kernel_class, const LaunchValues& values,
                                          std::int64_t time_ns) {
  const auto& busy = values.t1.tensor_utilisation;
  if (!busy || busy->value <= 0 || values.t1.concurrent || !values.t1.clock_hz || time_ns <= 0)
    return std::nullopt;
  if (kernel_class != KernelClass::gemm && kernel_class != KernelClass::attention) return std::nullopt;
  if (!has_native_instructions(kernel, device.compute_capability.value_or(""))) return std::nullopt;
  const Precision precision = precision_in_name(kernel);
  // Those of FP32 and FP64 are of other pipes, or of both.
  if (precision == Precision::any || precision == Precision::fp32 || precision == Precision::fp64)
    return std::nullopt;
  const std::optional<Quantity> quantity = flops_of(precision);
  if (!quantity) return std::nullopt;
  const auto peak = store::operations_at_clock(device, *quantity, *values.t1.clock_hz, "");
  if (!peak) return std::nullopt;
  return TypedRate{*quantity, busy->value * peak->value};
}

void RateSums::Operations::add(store::Id device_id, Quantity quantity, double operations, double in_ns) {
  count += operations;
  time_ns += in_ns;
  types[{device_id, quantity}] += operations;
}

void RateSums::add(const LaunchValues& values, std::int64_t time_ns, const store::Launch& site) {
  const auto time = static_cast<double>(time_ns);
  if (time <= 0) return;
  const auto weigh = [time](std::pair<double, double>& sum, const std::optional<double>& value) {
    if (!value) return;
    sum.first += time * *value;
    sum.second += time;
  };
  const store::Device* device = model_.device(site.device_id);
  if (values.in_situ_cycles)
    weigh(in_situ_, possible_clock(device, values.in_situ_cycles->value / time * 1e9));
  weigh(replay_, values.replay_clock_hz);
  if (values.tensor_ops) {
    if (values.tensor_ops->value > 0)
      counted_.add(site.device_id, *values.tensor_quantity, values.tensor_ops->value, time);
    return;
  }
  if (device == nullptr) return;
  if (const auto rate =
          sampled_ops_rate(*device, model_.kernel_name(site), model_.kernel_class(site), values, time_ns))
    sampled_.add(site.device_id, rate->quantity, rate->ops_per_s * time * 1e-9, time);
}

void RateSums::finish(const UtilisationAnalysis& utilisation, const PeakPolicy& policy,
                      RankingRow& row) const {
  const auto mean = [](const std::pair<double, double>& sum) {
    return sum.second > 0 ? std::optional(sum.first / sum.second) : std::nullopt;
  };
  row.replay_clock_hz = mean(replay_);
  row.sm_clock_hz = in_situ_.second > 0 ? mean(in_situ_) : row.replay_clock_hz;
  if (row.sm_clock_hz) row.clock_tier = in_situ_.second > 0 ? Tier::t1 : Tier::t2;
  const bool is_counted = !counted_.types.empty();
  const Operations& operations = is_counted ? counted_ : sampled_;
  const auto most = std::max_element(operations.types.begin(), operations.types.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most == operations.types.end()) return;
  const auto& [device_id, quantity] = most->first;
  row.tensor_quantity = quantity;
  row.tensor_ops_per_s = operations.count / operations.time_ns * 1e9;
  row.tensor_ops_tier = is_counted ? Tier::t2 : Tier::t1;
  const auto clock = utilisation.sm_clock_hz.find(device_id);
  const auto peak =
      choose_peak(model_, device_id, quantity, rate_source(model_, device_id, policy),
                  clock == utilisation.sm_clock_hz.end() ? std::nullopt : std::optional(clock->second));
  if (peak && peak.value().value > 0) row.tensor_spec_ratio = *row.tensor_ops_per_s / peak.value().value;
}

}  // namespace ridgeline::analyzer
