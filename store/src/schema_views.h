// schema_views.h: DDL of the public views. A column, once published, keeps its name, unit and meaning.
#pragma once

namespace ridgeline::store {

inline constexpr const char kViews[] = R"sql(
CREATE VIEW v_step AS              -- one row a step
SELECT s.id AS step_id,
       s.process_id,
       s.step_index,
       s.phase,
       s.status,
       s.reason,
       c.name AS configuration,    -- counters collected in a replay step
       s.host_start_ns, s.host_end_ns, s.gpu_start_ns, s.gpu_end_ns,
       -- Begin of this step's first kernel to that of the next step's; the last step of a phase: to the end of its own,
       -- because setting up the next phase's counters is no part of it.
       coalesce((SELECT n.gpu_start_ns FROM step n
                 WHERE n.process_id = s.process_id AND n.step_index = s.step_index + 1 AND n.phase = s.phase),
                s.gpu_end_ns) - s.gpu_start_ns AS duration_ns,
       (SELECT count(*) FROM launch l WHERE l.step_id = s.id) AS launches,
       s.source                    -- what marks the step: nvtx, period, window
FROM step s LEFT JOIN counter_configuration c ON c.id = s.configuration_id;

CREATE VIEW v_launch AS            -- one row a kernel execution, names resolved
SELECT l.id AS launch_id,
       l.process_id, l.device_id, l.context_id, l.stream_id, l.correlation_id,
       l.graph_id, l.graph_node_id,
       l.kernel_id, k.demangled_name AS kernel, k.normalised_name, k.class,
       s.step_index, s.phase, l.ordinal_in_step,
       p.value AS nvtx_path,
       l.start_ns, l.end_ns,
       CASE WHEN l.start_ns > 0 AND l.end_ns >= l.start_ns THEN l.end_ns - l.start_ns END AS duration_ns,
       l.host_start_ns, l.host_end_ns,
       l.grid_x, l.grid_y, l.grid_z, l.block_x, l.block_y, l.block_z,
       l.cluster_x, l.cluster_y, l.cluster_z,
       l.registers_per_thread, l.static_smem_bytes, l.dynamic_smem_bytes
FROM launch l
JOIN kernel k ON k.id = l.kernel_id
LEFT JOIN step s ON s.id = l.step_id
LEFT JOIN string p ON p.id = l.nvtx_path_id;

CREATE VIEW v_launch_metric AS     -- one row a measured value
SELECT m.launch_id, v.step_index, v.phase, v.ordinal_in_step, v.kernel,
       n.name AS metric, n.label, n.unit, m.tier, m.value, m.error, m.sample_count, m.concurrent
FROM launch_metric m
JOIN metric n ON n.id = m.metric_id
JOIN v_launch v ON v.launch_id = m.launch_id;

CREATE VIEW v_kernel_step AS       -- one row a kernel of a step: its launches taken together
SELECT step_index, phase, kernel_id, kernel, normalised_name, class,
       count(*) AS launches,
       sum(duration_ns) AS duration_ns,
       min(duration_ns) AS shortest_ns,
       max(duration_ns) AS longest_ns
FROM v_launch
WHERE step_index IS NOT NULL
GROUP BY process_id, step_index, kernel_id;

CREATE VIEW v_rank AS              -- kernels over the timeline steps, most time a step first
SELECT kernel_id, kernel, normalised_name, class,
       sum(launches) * 1.0 / (SELECT count(*) FROM step WHERE phase = 'timeline' AND status = 'ok') AS launches_per_step,
       sum(duration_ns) * 1.0 / (SELECT count(*) FROM step WHERE phase = 'timeline' AND status = 'ok') AS mean_ns_per_step,
       (SELECT avg(m.value) FROM launch_metric m JOIN launch l ON l.id = m.launch_id
          JOIN metric n ON n.id = m.metric_id
        WHERE l.kernel_id = v.kernel_id AND m.tier = 'T2' AND n.name = 'dram__bytes_read.sum') AS dram_read_bytes_per_launch,
       (SELECT avg(m.value) FROM launch_metric m JOIN launch l ON l.id = m.launch_id
          JOIN metric n ON n.id = m.metric_id
        WHERE l.kernel_id = v.kernel_id AND m.tier = 'T2' AND n.name = 'dram__bytes_write.sum') AS dram_written_bytes_per_launch
FROM v_kernel_step v
WHERE phase = 'timeline'
GROUP BY kernel_id
ORDER BY mean_ns_per_step DESC;

CREATE VIEW v_pm_sample AS         -- one row a metric of a periodic sample of a device
SELECT s.device_id,
       s.time_ns,                  -- end of the sample
       n.name AS metric, n.label, n.unit, s.value
FROM pm_sample s
JOIN metric n ON n.id = s.metric_id;

CREATE VIEW v_stall AS             -- one row a stall reason of an instruction, over all sampled steps
SELECT s.kernel_id, k.demangled_name AS kernel,
       s.pc_offset,                -- bytes from the function's start
       f.value AS file, l.line,    -- NULL: the machine code names no source line
       r.value AS stall_reason,    -- "..._not_issued": of the reason's samples those while the scheduler issued nothing
       s.samples
FROM stall_sample s
JOIN kernel k ON k.id = s.kernel_id
JOIN string r ON r.id = s.reason_id
LEFT JOIN source_line l ON l.kernel_id = s.kernel_id AND l.pc_offset = s.pc_offset
LEFT JOIN string f ON f.id = l.file_id;
)sql";

inline constexpr const char* kViewNames[] = {"v_stall",         "v_pm_sample", "v_rank", "v_kernel_step",
                                             "v_launch_metric", "v_launch",    "v_step"};

}  // namespace ridgeline::store
