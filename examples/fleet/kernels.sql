-- kernels.sql: which kernels take longer on some ranks than on others, on which rank most, and on how many hosts?
-- Time in a step: of a rank the median over steps, then over ranks.
WITH of_rank AS (
  SELECT run, kernel, rank, min(host) AS host, median(time_ns) AS time_ns FROM job_kernel GROUP BY run, kernel, rank
), of_kernel AS (
  SELECT run, kernel, median(time_ns) AS median_ns, max(time_ns) AS worst_ns, count(*) AS ranks FROM of_rank GROUP BY run, kernel
)
SELECT of_kernel.run, of_kernel.kernel, of_kernel.ranks, of_kernel.median_ns, of_kernel.worst_ns,
       min(of_rank.rank) AS worst_rank,
       (SELECT count(DISTINCT slow.host) FROM of_rank slow WHERE slow.run = of_kernel.run AND slow.kernel = of_kernel.kernel
        AND slow.time_ns > 1.05 * of_kernel.median_ns) AS slow_hosts
FROM of_kernel JOIN of_rank ON of_rank.run = of_kernel.run AND of_rank.kernel = of_kernel.kernel AND of_rank.time_ns = of_kernel.worst_ns
GROUP BY of_kernel.run, of_kernel.kernel, of_kernel.ranks, of_kernel.median_ns, of_kernel.worst_ns
ORDER BY of_kernel.run, of_kernel.worst_ns - of_kernel.median_ns DESC;
