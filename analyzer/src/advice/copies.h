// copies.h: copies between host and device.
#pragma once

#include <cstdint>
#include <vector>

#include "advice/rule.h"

namespace ridgeline::analyzer {

struct HostCopy {
  std::uint32_t copy = 0;  ///< into Model::memcpys
  double exposed_ns = 0;   ///< while no kernel ran
  bool pageable = false;   ///< the CPU was held for it, and it was slow: its memory is not pinned
  [[nodiscard]] const store::Memcpy& of(const Model& model) const { return model.memcpys[copy]; }
};

/// Those of the scope with a kernel-free part, in order of time.
[[nodiscard]] std::vector<HostCopy> host_copies(const RuleInput& in);
/// Bytes a second that pinned memory reaches on the host link of the device.
[[nodiscard]] double pinned_rate(const RuleInput& in, store::Id device_id);

}  // namespace ridgeline::analyzer
