#include "tensor_operations.h"

#include <algorithm>
#include <map>

namespace ridgeline::analyzer {

namespace {

// Of the tensor pipe's cycles, as a ratio: less is none, for what samples see of neighbours is as much.
constexpr double kIdleTensorPipe = 0.02;
// More is not none, whatever the samples' error.
constexpr double kBusyTensorPipe = 0.05;

bool may_multiply(KernelClass kernel_class) {
  return kernel_class == KernelClass::gemm || kernel_class == KernelClass::attention ||
         kernel_class == KernelClass::other;
}

std::optional<double> counted_share(const ReplayValues& values) {
  for (const PipeMetric& pipe : known_pipe_metrics()) {
    if (pipe.roof != Roof::kTensor) continue;
    if (const auto share = value_of(values, pipe.metric)) return share->value / 100;
  }
  return std::nullopt;
}

}  // namespace

TensorOperations::TensorOperations(const Model& model) {
  std::map<store::Id, std::string_view> counters;
  for (const auto& [id, metric] : model.metrics) {
    if (counts_tensor_operations(metric.name)) counters.emplace(id, metric.name);
  }
  if (counters.empty()) return;
  std::set<std::string, std::less<>> read;
  for (const store::LaunchMetric& value : model.launch_metrics) {
    if (value.tier != Tier::t2) continue;
    const auto counter = counters.find(value.metric_id);
    if (counter == counters.end()) continue;
    (value.value > 0 ? in_use_ : read).emplace(counter->second);
  }
  if (in_use_.empty()) in_use_ = std::move(read);
}

std::vector<Operations> TensorOperations::of(const ReplayValues& values, const TierUtilisation& t1,
                                             KernelClass kernel_class) const {
  std::vector<Operations> found = operations_of(values);
  // A kernel has one type, hardly ever two: what is not 0 is all of it.
  const bool any =
      std::any_of(found.begin(), found.end(), [](const Operations& o) { return o.count.value > 0; });
  if (any || !may_multiply(kernel_class)) return found;
  if (const auto share = counted_share(values)) {
    if (*share > kIdleTensorPipe) found.clear();
    return found;
  }
  const bool all = std::all_of(in_use_.begin(), in_use_.end(), [&](const std::string& counter) {
    return value_of(values, counter).has_value();
  });
  const std::optional<Measured> sampled = t1.concurrent ? std::nullopt : t1.tensor_utilisation;
  const double doubt = sampled && sampled->error ? kStandardErrors95 * *sampled->error : 0;
  const bool sampled_idle = sampled && sampled->value + doubt < kIdleTensorPipe;
  const bool sampled_busy = sampled && sampled->value - doubt > kBusyTensorPipe;
  if (sampled_busy || (!all && !sampled_idle)) found.clear();
  return found;
}

}  // namespace ridgeline::analyzer
