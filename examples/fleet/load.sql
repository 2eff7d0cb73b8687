-- load.sql: the job views of many runs, as `ridgeline export --format csv` wrote them, as tables of DuckDB.
-- Each run is a folder: fleet/job_step/run=NAME/*.csv, likewise job_collective and job_kernel; more partitions
-- (cluster=, day=) become columns of themselves. Names and hashes stay texts, also where all of them are digits. Of Parquet: read_parquet('fleet/job_step/**/*.parquet').
CREATE OR REPLACE VIEW job_step AS
  SELECT * FROM read_csv('fleet/job_step/**/*.csv', types = {'host': 'VARCHAR'}, hive_partitioning = true, hive_types = {'run': VARCHAR});
CREATE OR REPLACE VIEW job_collective AS
  SELECT * FROM read_csv('fleet/job_collective/**/*.csv', types = {'host': 'VARCHAR', 'communicator': 'VARCHAR'}, hive_partitioning = true, hive_types = {'run': VARCHAR});
CREATE OR REPLACE VIEW job_kernel AS
  SELECT * FROM read_csv('fleet/job_kernel/**/*.csv', types = {'host': 'VARCHAR'}, hive_partitioning = true, hive_types = {'run': VARCHAR});
