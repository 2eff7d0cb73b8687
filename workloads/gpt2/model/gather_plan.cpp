#include "gpt2/model/gather_plan.h"

namespace ridgeline::gpt2 {

GatherPlan gather_plan(const DeviceLayout& layout, int layers, const std::vector<GradientBucket>& buckets,
                       GatherPlace place) {
  GatherPlan plan;
  plan.at_once.resize(buckets.size());
  plan.before_layer.resize(static_cast<std::size_t>(layers));
  for (std::size_t bucket = buckets.size(); bucket-- > 0;) {  // the backward pass's order, from its end
    plan.order.push_back(bucket);
    // Edges lie beside those of layers: of two buckets each holds elements of the layer between them.
    plan.at_once[bucket] = place == GatherPlace::update || buckets[bucket].begin < layout.embeddings_end() ||
                           buckets[bucket].end > layout.vectors_start();
  }
  std::size_t next = 0;  // in the order
  for (int layer = 0; layer < layers; ++layer) {
    const std::int64_t end =
        layer + 1 < layers ? layout.offset(Tensor::qkvw, layer + 1) : layout.vectors_start();
    std::optional<std::size_t>& before = plan.before_layer[static_cast<std::size_t>(layer)];
    for (; next < plan.order.size(); ++next) {
      const std::size_t bucket = plan.order[next];
      if (plan.at_once[bucket]) continue;
      if (buckets[bucket].begin >= end) break;
      before = bucket;
    }
  }
  return plan;
}

}  // namespace ridgeline::gpt2
