// schema_tables_v14.h: DDL of version 14: when a collective could have begun.
#pragma once

namespace ridgeline::store {

inline constexpr const char kTablesV14[] = R"sql(
ALTER TABLE job_call ADD COLUMN ready_offset_ns INTEGER;  -- from job_step.start_ns: the last kernel that computes and that it follows by order of calls or by edges of its CUDA graph ended then; NULL: not known
)sql";

}  // namespace ridgeline::store
