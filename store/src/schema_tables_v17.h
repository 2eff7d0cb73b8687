// schema_tables_v17.h: DDL of version 17: what the elements of a job's collectives are, and how many blocks move them.
#pragma once

namespace ridgeline::store {

inline constexpr const char kTablesV17[] = R"sql(
ALTER TABLE job_site ADD COLUMN element_type TEXT;  -- fp64, fp32, fp16, bf16, fp8_e4m3, fp8_e5m2, int64, int32, int8, uint64, uint32, uint8, by the kernel's name; NULL: it says none, or calls differ
ALTER TABLE job_site ADD COLUMN blocks INTEGER;     -- thread blocks of the kernel on each rank, for NCCL its channels; NULL: calls differ, or it was not kept
)sql";

}  // namespace ridgeline::store
