#include "site_rows.h"

namespace ridgeline::store {

Launch launch_site_of(const Statement& row) {
  Launch site;
  site.process_id = row.int64(0);
  site.device_id = row.int64(1);
  site.context_id = row.int64(2);
  site.stream_id = row.int64(3);
  site.graph_id = row.optional_int64(4);
  site.graph_node_id = row.optional_int64(5);
  site.kernel_id = row.int64(6);
  site.thread_id = row.optional_int64(7);
  site.grid = {row.int64(8), row.int64(9), row.int64(10)};
  site.block = {row.int64(11), row.int64(12), row.int64(13)};
  if (!row.is_null(14)) site.cluster = Dim3{row.int64(14), row.int64(15), row.int64(16)};
  site.registers_per_thread = row.int64(17);
  site.static_smem_bytes = row.int64(18);
  site.dynamic_smem_bytes = row.int64(19);
  site.nvtx_path_id = row.optional_int64(20);
  return site;
}

NvtxRange range_site_of(const Statement& row) {
  NvtxRange site;
  site.process_id = row.int64(0);
  site.thread_id = row.int64(1);
  site.depth = static_cast<int>(row.int64(2));
  site.name_id = row.int64(3);
  site.path_id = row.int64(4);
  site.domain_id = row.optional_int64(5);
  return site;
}

}  // namespace ridgeline::store
