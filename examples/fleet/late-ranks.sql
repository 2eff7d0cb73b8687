-- late-ranks.sql: which rank do the others wait for, in which share of the steps, by how much, on which host?
-- A rank's own part of a step is what is not spent in collectives with nothing beside them. A rank is late in a step if it is the
-- slowest and more than 2 % of the step behind the median rank.
WITH own AS (
  SELECT run, step_index, rank, host, duration_ns, compute_ns + copy_ns + idle_ns AS own_ns FROM job_step
), step AS (
  SELECT run, step_index, median(own_ns) AS usual_ns, max(own_ns) AS slowest_ns, median(duration_ns) AS duration_ns
  FROM own GROUP BY run, step_index
), late AS (
  SELECT own.run, own.rank, own.host, own.own_ns - step.usual_ns AS late_ns
  FROM own JOIN step ON own.run = step.run AND own.step_index = step.step_index
  WHERE own.own_ns = step.slowest_ns AND own.own_ns - step.usual_ns > 0.02 * step.duration_ns
)
SELECT late.run, late.rank, late.host, count(*) AS late_steps,
       1.0 * count(*) / (SELECT count(*) FROM step WHERE step.run = late.run) AS share,
       median(late_ns) AS late_ns
FROM late GROUP BY late.run, late.rank, late.host ORDER BY late_steps DESC, late.run, late.rank;
