#include "ridgeline/store/launch_site.h"

#include <limits>
#include <optional>

namespace ridgeline::store {

LaunchSiteKey launch_site_key(const Launch& launch) {
  static constexpr std::int64_t kAbsent = std::numeric_limits<std::int64_t>::min();
  const auto field = [](const std::optional<std::int64_t>& value) { return value.value_or(kAbsent); };
  const Dim3 cluster = launch.cluster.value_or(Dim3{kAbsent, 0, 0});
  return {launch.process_id,
          launch.device_id,
          launch.context_id,
          launch.stream_id,
          field(launch.graph_id),
          field(launch.graph_node_id),
          launch.kernel_id,
          field(launch.thread_id),
          launch.grid.x,
          launch.grid.y,
          launch.grid.z,
          launch.block.x,
          launch.block.y,
          launch.block.z,
          cluster.x,
          cluster.y,
          cluster.z,
          launch.registers_per_thread,
          launch.static_smem_bytes,
          launch.dynamic_smem_bytes,
          field(launch.nvtx_path_id)};
}

}  // namespace ridgeline::store
