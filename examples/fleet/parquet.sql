-- parquet.sql: the same rows as Parquet, a folder a run, in less than a tenth of the room; with the extension httpfs also to an object store
-- ('s3://bucket/fleet/job_step'). After load.sql; the folder fleet-parquet must exist.
COPY (SELECT * FROM job_step) TO 'fleet-parquet/job_step' (FORMAT parquet, COMPRESSION zstd, PARTITION_BY (run));
COPY (SELECT * FROM job_collective) TO 'fleet-parquet/job_collective' (FORMAT parquet, COMPRESSION zstd, PARTITION_BY (run));
COPY (SELECT * FROM job_kernel) TO 'fleet-parquet/job_kernel' (FORMAT parquet, COMPRESSION zstd, PARTITION_BY (run));
