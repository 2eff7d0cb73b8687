#include "convert_v3.h"

#include "launch_table.h"
#include "range_table.h"
#include "schema_tables_v3.h"
#include "step_sums.h"

namespace ridgeline::store {

namespace {

void move_launches(const Database& database, LaunchTable& table) {
  Statement row = database.prepare(
      "SELECT id, process_id, device_id, context_id, stream_id, correlation_id, graph_id, graph_node_id,"
      " kernel_id, start_ns, end_ns, host_start_ns, host_end_ns, thread_id, grid_x, grid_y, grid_z, block_x,"
      " block_y, block_z, cluster_x, cluster_y, cluster_z, registers_per_thread, static_smem_bytes,"
      " dynamic_smem_bytes, step_id, ordinal_in_step, nvtx_path_id FROM launch_v2 ORDER BY id");
  while (row.step()) {
    Launch launch;
    launch.id = row.int64(0);
    launch.process_id = row.int64(1);
    launch.device_id = row.int64(2);
    launch.context_id = row.int64(3);
    launch.stream_id = row.int64(4);
    launch.correlation_id = row.int64(5);
    launch.graph_id = row.optional_int64(6);
    launch.graph_node_id = row.optional_int64(7);
    launch.kernel_id = row.int64(8);
    launch.start_ns = row.int64(9);
    launch.end_ns = row.int64(10);
    launch.host_start_ns = row.optional_int64(11);
    launch.host_end_ns = row.optional_int64(12);
    launch.thread_id = row.optional_int64(13);
    launch.grid = {row.int64(14), row.int64(15), row.int64(16)};
    launch.block = {row.int64(17), row.int64(18), row.int64(19)};
    if (!row.is_null(20)) launch.cluster = Dim3{row.int64(20), row.int64(21), row.int64(22)};
    launch.registers_per_thread = row.int64(23);
    launch.static_smem_bytes = row.int64(24);
    launch.dynamic_smem_bytes = row.int64(25);
    launch.step_id = row.optional_int64(26);
    launch.ordinal_in_step = row.optional_int64(27);
    launch.nvtx_path_id = row.optional_int64(28);
    table.add_with_id(launch);
  }
}

void move_ranges(const Database& database, RangeTable& table) {
  Statement annotations = database.prepare(
      "SELECT nvtx_range_id, name, bytes, flops FROM annotation_v2 ORDER BY nvtx_range_id, id");
  bool more = annotations.step();
  const auto annotation = [&] {
    return Annotation{0, annotations.int64(0), annotations.text(1), annotations.optional_real(2),
                      annotations.optional_real(3)};
  };
  const auto add_work = [&] {
    table.add(annotation());
    more = annotations.step();
  };
  Statement row = database.prepare(
      "SELECT id, process_id, thread_id, parent_id, depth, name_id, path_id, domain_id, step_id, start_ns,"
      " end_ns FROM nvtx_range_v2 ORDER BY id");
  while (row.step()) {
    NvtxRange range;
    range.id = row.int64(0);
    range.process_id = row.int64(1);
    range.thread_id = row.int64(2);
    range.parent_id = row.optional_int64(3);
    range.depth = static_cast<int>(row.int64(4));
    range.name_id = row.int64(5);
    range.path_id = row.int64(6);
    range.domain_id = row.optional_int64(7);
    range.step_id = row.optional_int64(8);
    range.start_ns = row.int64(9);
    range.end_ns = row.optional_int64(10);
    while (more && annotations.int64(0) < range.id) add_work();  // of a range that is not there
    std::optional<Id> work;
    if (more && annotations.int64(0) == range.id) {
      work = table.work_id(annotation());
      more = annotations.step();
    }
    table.add_with_id(range, work);
    while (more && annotations.int64(0) == range.id) add_work();
  }
  while (more) add_work();
}

void add_copies(const Database& database, const char* table, StepSums& sums) {
  Statement row = database.prepare(std::string("SELECT step_id, start_ns, end_ns FROM ") + table +
                                   " WHERE step_id IS NOT NULL ORDER BY id");
  while (row.step()) sums.add_copy(row.int64(0), row.int64(1), row.int64(2));
}

}  // namespace

void convert_to_v3(Database& database) {
  {
    StepSums sums(database);
    LaunchTable launches(database, sums);
    RangeTable ranges(database, sums);
    Statement row = database.prepare("SELECT id, process_id, phase, status FROM step");
    while (row.step()) {
      Step step;
      step.process_id = row.int64(1);
      step.phase = row.word<Phase>(2, "step.phase");
      step.status = row.word<StepStatus>(3, "step.status");
      sums.add_step(row.int64(0), step);
      launches.add_step(row.int64(0), step);
    }
    move_launches(database, launches);
    add_copies(database, "memcpy", sums);
    add_copies(database, "memset", sums);
    move_ranges(database, ranges);
    launches.checkpoint();
    ranges.checkpoint();
    sums.finish();
  }
  database.execute("DROP TABLE annotation_v2; DROP TABLE nvtx_range_v2; DROP TABLE launch_v2;");
  database.execute(kIndexesV3);
}

}  // namespace ridgeline::store
