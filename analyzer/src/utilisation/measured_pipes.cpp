#include "measured_pipes.h"

#include "ridgeline/store/device_peaks.h"

namespace ridgeline::analyzer {

std::optional<Quantity> operations_of_pipe(Roof pipe, std::optional<Quantity> tensor) {
  if (pipe == Roof::kTensor) return tensor;
  if (pipe == Roof::kFma) return Quantity::fp32_flops_per_s;
  if (pipe == Roof::kFp64) return Quantity::fp64_flops_per_s;
  return std::nullopt;
}

void hold_pipes_against_roofs(Roofs& roofs, store::Id device_id, std::optional<double> clock_hz,
                              std::optional<Quantity> tensor, std::optional<double> tensor_ratio,
                              TierUtilisation& out) {
  if (!out.compute_utilisation) return;
  const double of_cycles = out.compute_utilisation->value;
  const auto held = [&](Roof pipe, double share) {
    if (pipe == Roof::kTensor && tensor_ratio) return *tensor_ratio;
    const std::optional<Quantity> quantity = operations_of_pipe(pipe, tensor);
    const Peak* roof = quantity ? roofs.measured_operations(device_id, *quantity) : nullptr;
    const store::Device* device = roofs.device(device_id);
    if (roof == nullptr || device == nullptr || !clock_hz) return share;
    const auto full = store::operations_at_clock(*device, *quantity, *clock_hz, "");
    return full ? share * full->value / roof->value : share;
  };
  out.cycles_of_pipes = out.pipes;
  double most = 0;
  for (const Roof roof : kRoofs) {
    const std::optional<double> share = roof.level == RoofLevel::pipe ? out.pipes.of(roof) : std::nullopt;
    if (!share) continue;
    const double ratio = held(roof, *share);
    out.pipes.set(roof, ratio);
    if (ratio <= most) continue;
    most = ratio;
    out.busiest_pipe = roof;
  }
  out.compute_utilisation->value = most;
  std::optional<double>& error = out.compute_utilisation->error;
  if (error && of_cycles > 0) error = *error / of_cycles * most;
}

}  // namespace ridgeline::analyzer
