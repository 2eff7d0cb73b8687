// gather_plan.h: when ranks hand on the parameters that each has updated (ZeRO-1, ZeRO-2), bucket by bucket. Host only.
//
// The next forward pass begins with the embeddings and reads vectors from its first layernorm on: buckets that hold any
// are updated first and gathered beside the updates of the others. What a layer's matrices lie in is needed layer by
// layer, so that the others may be gathered beside the forward pass of the layers below.
#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "gpt2/model/device_layout.h"
#include "gpt2/model/gradient_buckets.h"

namespace ridgeline::gpt2 {

/// What the gathers of the layers' matrices run beside.
enum class GatherPlace {
  update,   // the updates of other buckets
  forward,  // the next step's first forward pass
};

/// Buckets are named by their index.
struct GatherPlan {
  /// In the order in which they are updated and gathered: that in which a forward pass reads them.
  std::vector<std::size_t> order;
  /// Of each bucket: it is gathered once it has been updated.
  std::vector<bool> at_once;
  /// Of each layer, then of the classifier: what must have been gathered before its forward pass, with all that come
  /// before it in `order`; none where the layers below have waited for as much.
  std::vector<std::optional<std::size_t>> before_layer;
};

/// Of all parameters; `buckets` as gradient_buckets() has them.
GatherPlan gather_plan(const DeviceLayout& layout, int layers, const std::vector<GradientBucket>& buckets,
                       GatherPlace place);
/// Of the weights in FP8: the layers' matrices and, with `classifier`, wte, which the forward pass then reads last.
/// Buckets that hold none are left out of the order.
GatherPlan fp8_gather_plan(const DeviceLayout& layout, int layers, const std::vector<GradientBucket>& buckets,
                           GatherPlace place, bool classifier);

}  // namespace ridgeline::gpt2
