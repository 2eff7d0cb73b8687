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
       coalesce(w.text, w.code) AS reason,  -- why not ok: the source's words, else the code; its values: reason_value
       c.name AS configuration,    -- counters collected in a replay step
       s.host_start_ns, s.host_end_ns, s.gpu_start_ns, s.gpu_end_ns,
       -- Begin of this step's first kernel to that of the next step's; the last step of a phase: to the end of its own,
       -- because setting up the next phase's counters is no part of it.
       coalesce((SELECT n.gpu_start_ns FROM step n
                 WHERE n.process_id = s.process_id AND n.step_index = s.step_index + 1 AND n.phase = s.phase),
                s.gpu_end_ns) - s.gpu_start_ns AS duration_ns,
       s.launches,
       s.source,                   -- what marks the step: nvtx, period, window
       s.kernel_time_ns            -- sum of its launches' durations
FROM step s LEFT JOIN counter_configuration c ON c.id = s.configuration_id LEFT JOIN reason w ON w.id = s.reason_id;

CREATE VIEW v_tier AS              -- one row a tier of a process: whether it ran, and if not, why
SELECT t.process_id, t.tier, t.status,
       w.code AS reason_code,      -- the values are in reason_value, what explains it further in reason, below it
       w.text AS reason_text,      -- the source's own words; NULL: it has none
       t.reason_id
FROM tier_status t LEFT JOIN reason w ON w.id = t.reason_id;

CREATE VIEW v_message AS           -- one row a message of the collector
SELECT m.id AS message_id, m.process_id, m.time_ns, m.severity,
       w.code AS reason_code,      -- as in v_tier
       w.text AS reason_text,
       m.reason_id
FROM message m LEFT JOIN reason w ON w.id = m.reason_id;

CREATE VIEW v_launch AS            -- one row a kernel execution, names resolved
SELECT r.id AS launch_id,
       t.process_id, t.device_id, t.context_id, t.stream_id,
       c.base_correlation_id + (r.id & 1023) * c.correlation_stride + r.correlation_offset AS correlation_id,
       t.graph_id, t.graph_node_id,
       t.kernel_id, k.demangled_name AS kernel, k.normalised_name, k.class,
       s.step_index, s.phase, c.base_ordinal + (r.id & 1023) + r.ordinal_offset AS ordinal_in_step,
       p.value AS nvtx_path,
       coalesce(c.base_ns + (r.id & 1023) * c.stride_ns + r.start_offset_ns, 0) AS start_ns,
       coalesce(c.base_ns + (r.id & 1023) * c.stride_ns + r.start_offset_ns, 0) + r.duration_ns AS end_ns,
       CASE WHEN c.base_ns + (r.id & 1023) * c.stride_ns + r.start_offset_ns > 0 AND r.duration_ns >= 0
            THEN r.duration_ns END AS duration_ns,
       c.base_host_ns + (r.id & 1023) * c.host_stride_ns + r.host_offset_ns AS host_start_ns,
       coalesce(c.base_host_ns + (r.id & 1023) * c.host_stride_ns + r.host_offset_ns,
                c.base_ns + (r.id & 1023) * c.stride_ns + r.start_offset_ns, c.base_ns) + r.host_duration_ns AS host_end_ns,
       t.grid_x, t.grid_y, t.grid_z, t.block_x, t.block_y, t.block_z,
       t.cluster_x, t.cluster_y, t.cluster_z,
       t.registers_per_thread, t.static_smem_bytes, t.dynamic_smem_bytes
FROM launch_row r
JOIN launch_chunk c ON c.id = r.id >> 10
JOIN launch_site t ON t.id = r.site_id
JOIN kernel k ON k.id = t.kernel_id
LEFT JOIN step s ON s.id = c.base_step_id + r.step_offset AND r.id BETWEEN s.first_launch_id AND s.last_launch_id
LEFT JOIN string p ON p.id = t.nvtx_path_id;

CREATE VIEW v_launch_metric AS     -- one row a measured value
SELECT m.launch_id, s.step_index, s.phase, c.base_ordinal + (r.id & 1023) + r.ordinal_offset AS ordinal_in_step,
       k.demangled_name AS kernel,
       n.name AS metric, n.label, n.unit, m.tier, m.value, m.error, m.sample_count, m.concurrent
FROM launch_metric m
JOIN metric n ON n.id = m.metric_id
JOIN launch_row r ON r.id = m.launch_id
JOIN launch_chunk c ON c.id = r.id >> 10
JOIN launch_site t ON t.id = r.site_id
JOIN kernel k ON k.id = t.kernel_id
LEFT JOIN step s ON s.id = c.base_step_id + r.step_offset AND m.launch_id BETWEEN s.first_launch_id AND s.last_launch_id;

CREATE VIEW v_kernel_step AS       -- one row a kernel of a step: its launches taken together
SELECT step_index, phase, kernel_id, kernel, normalised_name, class,
       count(*) AS launches,
       sum(duration_ns) AS duration_ns,
       min(duration_ns) AS shortest_ns,
       max(duration_ns) AS longest_ns
FROM v_launch
WHERE step_index IS NOT NULL
GROUP BY process_id, step_index, kernel_id;

CREATE VIEW v_rank AS              -- kernels over the timeline steps, most time in the step that stands for all first
WITH counted AS MATERIALIZED (     -- of the kernels' launches with counters
  SELECT t.kernel_id,
         avg(CASE n.name WHEN 'dram__bytes_read.sum' THEN m.value END) AS dram_read_bytes,
         avg(CASE n.name WHEN 'dram__bytes_write.sum' THEN m.value END) AS dram_written_bytes
  FROM launch_metric m
  JOIN metric n ON n.id = m.metric_id
  JOIN launch_row r ON r.id = m.launch_id
  JOIN launch_site t ON t.id = r.site_id
  WHERE m.tier = 'T2' AND n.name IN ('dram__bytes_read.sum', 'dram__bytes_write.sum')
  GROUP BY t.kernel_id),
ok AS MATERIALIZED (SELECT count(*) AS steps FROM step WHERE phase = 'timeline' AND status = 'ok'),
-- The step that `ridgeline rank` is about: of the busiest process, the lower median of those that launched what most
-- did, closed by a next one if any is.
usable AS MATERIALIZED (
  SELECT s.id, s.step_index, s.sequence_hash, s.first_launch_id, s.last_launch_id,
         coalesce(n.gpu_start_ns > s.gpu_start_ns, 0) AS closed,
         coalesce(n.gpu_start_ns, s.gpu_end_ns) - s.gpu_start_ns AS duration_ns,
         count(*) OVER (PARTITION BY s.sequence_hash) AS votes
  FROM step s LEFT JOIN step n ON n.process_id = s.process_id AND n.step_index = s.step_index + 1 AND n.phase = s.phase
  WHERE s.phase = 'timeline' AND s.status = 'ok' AND s.launches > 0 AND s.kernel_end_ns > 0
    AND s.process_id = (SELECT t.process_id FROM site_total w JOIN launch_site t ON t.id = w.site_id
                        GROUP BY t.process_id ORDER BY sum(w.kernel_time_ns) DESC, t.process_id LIMIT 1)),
alike AS MATERIALIZED (
  SELECT * FROM usable
  WHERE sequence_hash = (SELECT sequence_hash FROM usable ORDER BY votes DESC, step_index LIMIT 1)),
chosen AS MATERIALIZED (
  SELECT id, first_launch_id, last_launch_id FROM alike
  WHERE closed = (SELECT max(closed) FROM alike)
  ORDER BY duration_ns, step_index LIMIT 1
  OFFSET (SELECT (count(*) - 1) / 2 FROM alike WHERE closed = (SELECT max(closed) FROM alike))),
ran AS MATERIALIZED (
  SELECT t.kernel_id, t.device_id, c.base_ns + (r.id & 1023) * c.stride_ns + r.start_offset_ns AS start_ns,
         c.base_ns + (r.id & 1023) * c.stride_ns + r.start_offset_ns + r.duration_ns AS end_ns
  FROM chosen s
  JOIN launch_row r ON r.id BETWEEN s.first_launch_id AND s.last_launch_id
  JOIN launch_chunk c ON c.id = r.id >> 10 AND c.base_step_id + r.step_offset = s.id
  JOIN launch_site t ON t.id = r.site_id
  WHERE c.base_ns + (r.id & 1023) * c.stride_ns + r.start_offset_ns > 0 AND r.duration_ns >= 0),
-- Launches that run at once share the time: up to each moment, the time that one launch running all along would have.
-- Beginnings and ends are sorted; joining launches to moments would take the square of a long step.
event AS (
  SELECT kernel_id, device_id, start_ns AS at_ns, 1 AS begun, 0 AS duration_ns FROM ran UNION ALL
  SELECT kernel_id, device_id, end_ns, -1, end_ns - start_ns FROM ran),
running AS (
  SELECT kernel_id, device_id, at_ns, begun, duration_ns, sum(begun) OVER before AS launches,
         lead(at_ns) OVER before - at_ns AS length_ns
  FROM event WINDOW before AS (PARTITION BY device_id ORDER BY at_ns ROWS UNBOUNDED PRECEDING)),
shared AS (
  SELECT kernel_id, begun, duration_ns,
         coalesce(sum(CASE WHEN launches > 0 THEN length_ns * 1.0 / launches ELSE 0 END) OVER (
           PARTITION BY device_id ORDER BY at_ns RANGE BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING), 0) AS share_ns
  FROM running),
in_step AS MATERIALIZED (
  SELECT kernel_id, sum(begun > 0) AS launches, sum(duration_ns) AS time_ns, sum(-begun * share_ns) AS exposed_ns
  FROM shared GROUP BY kernel_id)
SELECT k.id AS kernel_id, k.demangled_name AS kernel, k.normalised_name, k.class,
       sum(w.launches) * 1.0 / ok.steps AS launches_per_step,
       sum(CASE WHEN w.timed_launches > 0 THEN w.kernel_time_ns END) * 1.0 / ok.steps AS mean_ns_per_step,
       counted.dram_read_bytes AS dram_read_bytes_per_launch,
       counted.dram_written_bytes AS dram_written_bytes_per_launch,
       in_step.launches AS calls,         -- in the step that stands for all, as `ridgeline rank` has it
       in_step.time_ns AS time_ns,        -- likewise; NULL: not launched in it
       in_step.exposed_ns AS exposed_ns   -- of that, not hidden: launches that ran at once share their time
FROM ok
JOIN site_total w
JOIN launch_site t ON t.id = w.site_id
JOIN kernel k ON k.id = t.kernel_id
LEFT JOIN counted ON counted.kernel_id = k.id
LEFT JOIN in_step ON in_step.kernel_id = k.id
WHERE w.phase = 'timeline'
GROUP BY k.id
ORDER BY time_ns DESC NULLS LAST, mean_ns_per_step DESC;

CREATE VIEW v_pm_sample AS         -- one row a metric of a periodic sample of a device
SELECT s.device_id,
       s.time_ns,                  -- end of the sample
       n.name AS metric, n.label, n.unit, s.value
FROM pm_sample s
JOIN metric n ON n.id = s.metric_id;

CREATE VIEW v_synchronisation AS   -- one row a call on which a thread waited for the device
SELECT w.process_id, s.step_index, w.thread_id,
       t.name AS thread,           -- NULL: it has none of its own
       c.value AS call, w.start_ns, w.start_ns + w.duration_ns AS end_ns, w.duration_ns
FROM synchronisation w
JOIN string c ON c.id = w.call_id
LEFT JOIN thread t ON t.process_id = w.process_id AND t.thread_id = w.thread_id
LEFT JOIN step s ON s.id = w.step_id;

CREATE VIEW v_process AS           -- one row a process: who ran where
SELECT p.id AS process_id, p.pid, p.parent_pid, p.command, p.rank,
       n.host_name AS host,        -- NULL: not known
       p.start_ns, p.end_ns
FROM process p LEFT JOIN node n ON n.id = p.node_id;

CREATE VIEW v_stream AS            -- one row a stream
SELECT process_id, context_id, stream_id, kind, priority FROM stream;

CREATE VIEW v_stream_wait AS       -- one row a wait of a stream for an event
SELECT w.process_id, s.step_index, w.time_ns, w.thread_id, w.context_id, w.stream_id, w.event,
       w.correlation_id,           -- what the stream is given after this call waits …
       w.source_id AS source_correlation_id,  -- … for what the source stream was given before this one; NULL: for nothing
       r.context_id AS source_context_id, r.stream_id AS source_stream_id
FROM stream_call w
JOIN string c ON c.id = w.call_id AND c.value = 'event_wait'
LEFT JOIN stream_call r ON r.process_id = w.process_id AND r.correlation_id = w.source_id
LEFT JOIN step s ON s.id = w.step_id;

CREATE VIEW v_host_function AS     -- one row a call after which a stream waits for the host or for memory
SELECT f.process_id, s.step_index,
       c.value AS call,            -- host_function, host_callback, memory_wait, memory_operations, semaphore_wait
       f.time_ns, f.thread_id, f.context_id, f.stream_id, f.correlation_id
FROM stream_call f
JOIN string c ON c.id = f.call_id
 AND c.value IN ('host_function', 'host_callback', 'memory_wait', 'memory_operations', 'semaphore_wait')
LEFT JOIN step s ON s.id = f.step_id;

CREATE VIEW v_graph_edge AS        -- one row a dependency between two nodes of a CUDA graph that was launched
SELECT e.process_id, t.graph, e.from_node_id, f.value AS from_kind, e.to_node_id, k.value AS to_kind, e.programmatic
FROM graph_edge e
JOIN graph_node t ON t.process_id = e.process_id AND t.node_id = e.to_node_id
JOIN graph_node n ON n.process_id = e.process_id AND n.node_id = e.from_node_id
JOIN string k ON k.id = t.kind_id
JOIN string f ON f.id = n.kind_id;

CREATE VIEW v_memory_use AS        -- one row a call that took or returned device memory
SELECT m.process_id, m.device_id, s.step_index, m.time_ns, c.value AS call,
       CASE WHEN c.value LIKE 'free%' THEN -m.bytes ELSE m.bytes END AS change_bytes,  -- NULL: what was returned had been taken unseen
       m.allocated_bytes,          -- held afterwards, of what was seen
       m.allocation_id,            -- returned: correlation_id of the call that took it
       m.correlation_id
FROM memory_call m
JOIN string c ON c.id = m.call_id
LEFT JOIN step s ON s.id = m.step_id;

CREATE VIEW v_collective AS        -- one row a launch of a kernel that communicates between devices
SELECT l.launch_id, l.process_id, p.rank, n.host_name AS host, l.device_id, l.stream_id,
       row_number() OVER (PARTITION BY l.process_id, l.device_id, l.stream_id ORDER BY l.correlation_id, l.launch_id) - 1
         AS ordinal,               -- among those of its stream, in the order in which they were launched
       l.kernel, l.step_index, l.ordinal_in_step, l.start_ns, l.end_ns, l.duration_ns, l.nvtx_path,
       c.function, c.bytes,        -- as in the table collective; NULL: not known
       g.hash AS communicator, c.ordinal AS ordinal_in_communicator,
       c.element_type, c.channels, c.algorithm, c.protocol,
       c.source, c.bytes_source, c.element_type_source, c.channels_source, c.algorithm_source  -- who said so
FROM v_launch l
JOIN process p ON p.id = l.process_id
LEFT JOIN node n ON n.id = p.node_id
LEFT JOIN collective c ON c.launch_id = l.launch_id
LEFT JOIN communicator g ON g.id = c.communicator_id
WHERE l.class = 'communication';

CREATE VIEW v_copied_collective AS -- one row a collective that the copy engines did, without a kernel
SELECT m.process_id, p.rank, n.host_name AS host, m.device_id, m.stream_id, s.step_index,
       min(m.start_ns) AS start_ns, max(m.end_ns) AS end_ns, max(m.end_ns) - min(m.start_ns) AS duration_ns,
       count(*) AS copies,         -- between devices; what a rank copies within its own is not among them
       c.function, c.bytes,        -- as in the table collective_copy
       g.hash AS communicator, c.ordinal AS ordinal_in_communicator
FROM collective_copy c
JOIN memcpy m ON m.id = c.memcpy_id
JOIN process p ON p.id = m.process_id
LEFT JOIN node n ON n.id = p.node_id
LEFT JOIN step s ON s.id = m.step_id
LEFT JOIN communicator g ON g.id = c.communicator_id
GROUP BY c.first_memcpy_id;

CREATE VIEW v_job_step AS          -- one row a step of a rank of a merged job
SELECT s.rank, r.host, s.step_index, s.start_ns, s.duration_ns,
       s.compute_ns, s.exposed_ns, s.copy_ns, s.idle_ns,  -- they add up to duration_ns
       s.communication_ns, s.launches, s.sm_clock_hz
FROM job_step s JOIN job_rank r ON r.rank = s.rank;

CREATE VIEW v_job_collective AS    -- one row a collective as one rank of a merged job ran it
SELECT c.rank, r.host, c.step_index, c.position, g.hash AS communicator, t.function, t.bytes, t.element_type, t.blocks, t.algorithm, t.protocol,
       t.copies, c.ordinal,
       s.start_ns + c.start_offset_ns AS start_ns,                 -- on the rank's own clock
       s.start_ns + c.start_offset_ns + c.duration_ns AS end_ns, c.duration_ns
FROM job_call c
JOIN job_rank r ON r.rank = c.rank
JOIN job_step s ON s.rank = c.rank AND s.step_index = c.step_index
JOIN job_site t ON t.id = c.site_id
JOIN job_communicator g ON g.id = t.communicator_id;

CREATE VIEW v_job_kernel AS        -- one row a kernel of a step of a rank of a merged job
SELECT k.rank, r.host, k.step_index, n.name AS kernel, k.launches, k.blocks, k.time_ns
FROM job_kernel_step k
JOIN job_rank r ON r.rank = k.rank
JOIN job_kernel n ON n.id = k.kernel_id;

CREATE VIEW v_ceiling AS           -- one row a roof that was measured on a device, or a term of its energy model
SELECT c.device_id, d.name AS device, d.uuid, c.level, c.kind, c.state, c.read_share, c.value, c.unit,
       c.spread_ratio,             -- how far rounds were apart
       c.sm_clock_hz, c.power_w, c.joules_each, c.conditions
FROM ceiling c JOIN device d ON d.id = c.device_id;

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

-- As these tables were up to version 2, so that queries on them go on working.
CREATE VIEW launch AS              -- one row a kernel execution
SELECT r.id, t.process_id, t.device_id, t.context_id, t.stream_id,
       c.base_correlation_id + (r.id & 1023) * c.correlation_stride + r.correlation_offset AS correlation_id,
       t.graph_id, t.graph_node_id, t.kernel_id,
       coalesce(c.base_ns + (r.id & 1023) * c.stride_ns + r.start_offset_ns, 0) AS start_ns,
       coalesce(c.base_ns + (r.id & 1023) * c.stride_ns + r.start_offset_ns, 0) + r.duration_ns AS end_ns,
       c.base_host_ns + (r.id & 1023) * c.host_stride_ns + r.host_offset_ns AS host_start_ns,
       coalesce(c.base_host_ns + (r.id & 1023) * c.host_stride_ns + r.host_offset_ns,
                c.base_ns + (r.id & 1023) * c.stride_ns + r.start_offset_ns, c.base_ns) + r.host_duration_ns AS host_end_ns,
       t.thread_id,
       t.grid_x, t.grid_y, t.grid_z, t.block_x, t.block_y, t.block_z,
       t.cluster_x, t.cluster_y, t.cluster_z,
       t.registers_per_thread, t.static_smem_bytes, t.dynamic_smem_bytes,
       c.base_step_id + r.step_offset AS step_id,
       c.base_ordinal + (r.id & 1023) + r.ordinal_offset AS ordinal_in_step,
       t.nvtx_path_id
FROM launch_row r
JOIN launch_chunk c ON c.id = r.id >> 10
JOIN launch_site t ON t.id = r.site_id;

CREATE VIEW nvtx_range AS          -- one row a push/pop or start/end range
SELECT r.id, t.process_id, t.thread_id, r.id - r.parent_offset AS parent_id, t.depth, t.name_id, t.path_id,
       t.domain_id, r.step_id,
       c.base_ns + r.start_offset_ns AS start_ns,
       c.base_ns + r.start_offset_ns + r.duration_ns AS end_ns
FROM range_row r
JOIN range_chunk c ON c.id = r.id >> 10
JOIN range_site t ON t.id = r.site_id;

CREATE VIEW annotation AS          -- one row a declaration of work for a range
SELECT r.id AS nvtx_range_id, w.name, w.bytes, w.flops, w.tokens, w.samples, w.m, w.n, w.k
FROM range_row r JOIN declared_work w ON w.id = r.work_id
UNION ALL
SELECT m.range_id, w.name, w.bytes, w.flops, w.tokens, w.samples, w.m, w.n, w.k
FROM range_work m JOIN declared_work w ON w.id = m.work_id;
)sql";

inline constexpr const char* kViewNames[] = {"v_job_step",
                                             "v_copied_collective",
                                             "v_job_collective",
                                             "v_job_kernel",
                                             "v_ceiling",
                                             "v_collective",
                                             "v_memory_use",
                                             "v_graph_edge",
                                             "v_host_function",
                                             "v_stream_wait",
                                             "v_stream",
                                             "v_process",
                                             "v_message",
                                             "v_tier",
                                             "v_synchronisation",
                                             "v_stall",
                                             "v_pm_sample",
                                             "v_rank",
                                             "v_kernel_step",
                                             "v_launch_metric",
                                             "v_launch",
                                             "v_step",
                                             "launch",
                                             "nvtx_range",
                                             "annotation"};

}  // namespace ridgeline::store
