// schema_tables_v20.h: DDL of version 20: which call a copied collective is, and what marks the steps of a job's rank.
#pragma once

namespace ridgeline::store {

inline constexpr const char kTablesV20[] = R"sql(
ALTER TABLE collective_copy ADD COLUMN ordinal INTEGER;  -- as in collective; NULL: not known
ALTER TABLE job_rank ADD COLUMN step_source TEXT;        -- as step.source: of its timeline steps; NULL: not known, or steps differ
)sql";

}  // namespace ridgeline::store
