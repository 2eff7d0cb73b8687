-- collectives.sql: what does each collective of the step cost: waiting for the last rank, transfer, bus bandwidth?
-- No clocks are compared: the shortest duration of a rank is the transfer, what others take longer they waited. Only steps in which
-- all ranks of a run have the call, with the same function and bytes.
WITH call AS (
  SELECT run, communicator, step_index, position, min(function) AS function, min(bytes) AS bytes, count(*) AS ranks,
         min(duration_ns) AS transfer_ns, avg(duration_ns) AS duration_ns
  FROM job_collective GROUP BY run, communicator, step_index, position
  HAVING count(DISTINCT function) = 1 AND count(DISTINCT bytes) = 1
), whole AS (
  SELECT run, communicator, max(ranks) AS ranks FROM call GROUP BY run, communicator
)
SELECT call.run, call.communicator, call.position, min(call.function) AS function, min(call.bytes) AS bytes, count(*) AS steps,
       median(call.duration_ns - call.transfer_ns) AS wait_ns, median(call.transfer_ns) AS transfer_ns,
       min(call.bytes) / median(call.transfer_ns) * 1e9 *
         CASE min(call.function) WHEN 'all_reduce' THEN 2.0 * (max(whole.ranks) - 1) / max(whole.ranks)
                                 WHEN 'broadcast' THEN 1 WHEN 'reduce' THEN 1 WHEN 'send_receive' THEN 1
                                 ELSE 1.0 * (max(whole.ranks) - 1) / max(whole.ranks) END AS bus_bytes_per_s
FROM call JOIN whole ON call.run = whole.run AND call.communicator = whole.communicator AND call.ranks = whole.ranks
GROUP BY call.run, call.communicator, call.position ORDER BY call.run, call.communicator, call.position;
