#include "gpt2/model/gather_plan.h"

#include <algorithm>

namespace ridgeline::gpt2 {
namespace {

// Puts buckets in order as elements are said to be read.
class Planner {
 public:
  Planner(const std::vector<GradientBucket>& buckets, GatherPlace place) : buckets_(buckets) {
    plan_.at_once.assign(buckets.size(), place == GatherPlace::update);
  }

  // The last bucket that this read adds to the order; edges lie beside those of tensors, so that a bucket may have come
  // with the read before.
  std::optional<std::size_t> read(std::int64_t begin, std::int64_t end, bool at_once) {
    std::optional<std::size_t> last;
    for (std::size_t bucket = buckets_.size(); bucket-- > 0;) {  // the backward pass's order, from its end
      if (buckets_[bucket].begin >= end || buckets_[bucket].end <= begin) continue;
      if (std::find(plan_.order.begin(), plan_.order.end(), bucket) != plan_.order.end()) continue;
      plan_.order.push_back(bucket);
      if (at_once) plan_.at_once[bucket] = true;
      if (!plan_.at_once[bucket]) last = bucket;
    }
    return last;
  }
  void read_layers(const DeviceLayout& layout, int layers) {
    for (int layer = 0; layer < layers; ++layer) {
      const std::int64_t end =
          layer + 1 < layers ? layout.offset(Tensor::qkvw, layer + 1) : layout.vectors_start();
      plan_.before_layer.push_back(read(layout.offset(Tensor::qkvw, layer), end, false));
    }
  }
  GatherPlan& plan() { return plan_; }

 private:
  const std::vector<GradientBucket>& buckets_;
  GatherPlan plan_;
};

}  // namespace

GatherPlan gather_plan(const DeviceLayout& layout, int layers, const std::vector<GradientBucket>& buckets,
                       GatherPlace place) {
  Planner planner(buckets, place);
  planner.read(0, layout.embeddings_end(), true);
  planner.read(layout.vectors_start(), layout.total(), true);
  planner.read_layers(layout, layers);
  planner.plan().before_layer.emplace_back();
  return planner.plan();
}

GatherPlan fp8_gather_plan(const DeviceLayout& layout, int layers, const std::vector<GradientBucket>& buckets,
                           GatherPlace place, bool classifier) {
  Planner planner(buckets, place);
  planner.read_layers(layout, layers);
  planner.plan().before_layer.push_back(classifier ? planner.read(0, layout.count(Tensor::wte), false)
                                                   : std::nullopt);
  return planner.plan();
}

}  // namespace ridgeline::gpt2
