// Exports of Nsight Systems in each schema from 2020 to 3.25: sums to the nanosecond and byte, three mutants of each.
#include <gtest/gtest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "ridgeline/import/trace_files.h"
#include "ridgeline/store/capture.h"
#include "ridgeline/store/database.h"
#include "support/accepted_import.h"
#include "support/temporary_directory.h"

namespace ridgeline::import {
namespace {

constexpr std::int64_t kSchemaGlobalPid = (std::int64_t{1} << 48) | (std::int64_t{77} << 24);

/// What differs between schemas. Versions are compared by `rank`, 0 for the oldest.
struct Schema {
  const char* version;  ///< "": none is written
  int rank;
};

std::ostream& operator<<(std::ostream& out, const Schema& schema) {
  return out << "schema " << schema.version;
}

// In order: columns came in the middle of tables, so that readers must go by name.
constexpr Schema kSchemas[] = {{"", 0},        {"2.9.1", 1},   {"3.0.0", 2},    {"3.1.2", 3},  {"3.1.7", 4},
                               {"3.4.0", 5},   {"3.13.2", 6},  {"3.16.1", 7},   {"3.17.2", 8}, {"3.20.2", 9},
                               {"3.20.3", 10}, {"3.24.0", 11}, {"3.24.14", 12}, {"3.25.0", 13}};

int rank_of(const std::string& version) {
  for (const Schema& schema : kSchemas)
    if (version == schema.version) return schema.rank;
  ADD_FAILURE() << version << " is no schema of the list";
  return 0;
}

struct Column {
  const char* name;
  std::int64_t value;
  const char* since = "";
  const char* type = "INTEGER";
};

// A table with the columns that the schema has, and one row a value of `moves`: those are added to start and end.
std::string table(const Schema& schema, const std::string& name, const std::vector<Column>& columns,
                  const std::vector<std::int64_t>& moves) {
  std::string declared, sql;
  for (const Column& column : columns) {
    if (rank_of(column.since) > schema.rank) continue;
    declared.append(declared.empty() ? "" : ", ").append("\"").append(column.name).append("\" ");
    declared += column.type;
  }
  sql = "CREATE TABLE " + name + "(" + declared + ");\n";
  for (std::size_t i = 0; i < moves.size(); ++i) {
    std::string values;
    for (const Column& column : columns) {
      if (rank_of(column.since) > schema.rank) continue;
      const std::string_view what = column.name;
      const std::int64_t value = what == "start" || what == "end" ? column.value + moves[i]
                                 : what == "correlationId" ? column.value + static_cast<std::int64_t>(i)
                                                           : column.value;
      values.append(values.empty() ? "" : ", ");
      values += std::string_view(column.type) == "TEXT" ? "'[1, 2]'" : std::to_string(value);
    }
    sql += "INSERT INTO " + name + " VALUES(" + values + ");\n";
  }
  return sql;
}

constexpr std::int64_t kKernelNs = 12'347, kCopyBytes = 4'099, kSetBytes = 513;

std::string export_of(const Schema& schema) {
  std::string sql;
  if (schema.rank > 0) {
    // Renamed with 3.4.
    const std::string meta = schema.rank >= rank_of("3.4.0") ? "META_DATA_EXPORT" : "EXPORT_META_DATA";
    sql += "CREATE TABLE " + meta + "(name TEXT, value TEXT);\nINSERT INTO " + meta +
           " VALUES('EXPORT_SCHEMA_VERSION', '" + schema.version + "');\n";
  }
  sql +=
      "CREATE TABLE StringIds(id INTEGER NOT NULL PRIMARY KEY, value TEXT NOT NULL);\n"
      "INSERT INTO StringIds VALUES(1, 'add'), (2, 'void add<float>(float*)'), (3, '_Z3addIfEvPT_'), "
      "(4, 'cudaLaunchKernel_v7000'), (5, 'cudaMemcpyAsync_v3020');\n";
  sql += table(schema, "TARGET_INFO_SESSION_START_TIME",
               {{"utcEpochNs", 1'700'000'000'000'000'000}, {"systemClockNs", 5, "3.24.14"}}, {0});
  sql +=
      schema.rank == 0
          ? "CREATE TABLE TARGET_INFO_CUDA_GPU(id INTEGER, name TEXT, memoryBandwidth INTEGER);\n"
            "INSERT INTO TARGET_INFO_CUDA_GPU VALUES(0, 'Test GPU', 360048000000);\n"
          : "CREATE TABLE TARGET_INFO_GPU(id INTEGER, name TEXT, memoryBandwidth INTEGER, smCount INTEGER);\n"
            "INSERT INTO TARGET_INFO_GPU VALUES(0, 'Test GPU', 360048000000, 28);\n";
  sql += table(schema, "CUPTI_ACTIVITY_KIND_RUNTIME",
               {{"start", 100},
                {"end", 900},
                {"eventClass", 0},
                {"globalTid", kSchemaGlobalPid + 5},
                {"correlationId", 10},
                {"nameId", 4},
                {"returnValue", 0},
                {"callchainId", 0}},
               {0, 20'000});
  sql += table(schema, "CUPTI_ACTIVITY_KIND_KERNEL",
               {{"start", 1'000},
                {"end", 1'000 + kKernelNs},
                {"deviceId", 0},
                {"contextId", 1},
                {"greenContextId", 0, "3.13.2"},
                {"streamId", 7},
                {"correlationId", 10},
                {"globalPid", kSchemaGlobalPid},
                {"demangledName", 2},
                {"shortName", 1},
                {"mangledName", 3, "2.9.1"},
                {"launchType", 0},
                {"cacheConfig", 0},
                {"registersPerThread", 32},
                {"gridX", 4},
                {"gridY", 2},
                {"gridZ", 1},
                {"blockX", 128},
                {"blockY", 1},
                {"blockZ", 1},
                {"clusterX", 2, "3.24.0"},
                {"clusterY", 1, "3.24.0"},
                {"clusterZ", 1, "3.24.0"},
                {"clusterSchedulingPolicy", 0, "3.24.0"},
                {"staticSharedMemory", 16},
                {"dynamicSharedMemory", 64},
                {"localMemoryPerThread", 0},
                {"localMemoryTotal", 0},
                {"gridId", 1},
                {"sharedMemoryExecuted", 1024},
                {"graphNodeId", 0, "2.9.1"},
                {"graphId", 0, "3.24.0"},
                {"sharedMemoryLimitConfig", 0, "2.9.1"},
                {"sharedMemoryRequestedPercentage", 0, "3.24.14"},
                {"tensorSizeMinusOneElements", 0, "3.25.0", "TEXT"}},
               {0, 20'000});
  sql += table(schema, "CUPTI_ACTIVITY_KIND_MEMCPY",
               {{"start", 15'000},
                {"end", 15'500},
                {"deviceId", 0},
                {"contextId", 1},
                {"greenContextId", 0, "3.13.2"},
                {"streamId", 7},
                {"correlationId", 20},
                {"globalPid", kSchemaGlobalPid},
                {"bytes", kCopyBytes},
                {"copyKind", 2},
                {"copyCount", 1, "3.17.2"}},
               {0});
  sql += table(schema, "CUPTI_ACTIVITY_KIND_MEMSET",
               {{"start", 16'000},
                {"end", 16'100},
                {"deviceId", 0},
                {"contextId", 1},
                {"streamId", 7},
                {"correlationId", 21},
                {"globalPid", kSchemaGlobalPid},
                {"value", 0},
                {"bytes", kSetBytes},
                {"memKind", 3}},
               {0});
  sql += table(schema, "CUPTI_ACTIVITY_KIND_SYNCHRONIZATION",
               {{"start", 17'000},
                {"end", 17'100},
                {"deviceId", 0},
                {"syncType", 4},
                {"deprecatedSyncType", 4, "3.24.0"},
                {"eventSyncId", 0, "3.24.0"},
                {"globalPid", kSchemaGlobalPid}},
               {0});
  return sql;
}

class NsysSchemas : public ::testing::TestWithParam<Schema> {
 protected:
  std::string path(const std::string& sql = "") {
    std::filesystem::remove(directory_ / "run");
    store::Database made(directory_ / "run", store::OpenMode::create);
    made.execute(export_of(GetParam()) + sql);
    return directory_ / "run";
  }
  Result<ImportSummary> import(const std::string& file) {
    return ridgeline::testing::expect_accepted_import(
        import_traces({file}, directory_ / "out.ridge", {.import = {.overwrite = true}, .step_range = ""}),
        directory_ / "out.ridge");
  }
  void expect_refused(const std::string& file, const std::string& said) {
    const Result<ImportSummary> result = import(file);
    ASSERT_FALSE(result.ok());
    const std::string& message = result.failure().message;
    EXPECT_EQ(result.failure().kind, ErrorKind::corrupt) << message;
    EXPECT_NE(message.find(said), std::string::npos) << message;
    EXPECT_EQ(message.find('\n'), std::string::npos) << message;
    EXPECT_FALSE(std::filesystem::exists(directory_ / "out.ridge"));
  }
  testing::TemporaryDirectory directory_;
};

TEST_P(NsysSchemas, AreImportedToTheNanosecondAndByte) {
  const Schema schema = GetParam();
  (void)import(path()).value();
  const store::Capture capture = std::move(store::Capture::open(directory_ / "out.ridge")).value();
  const auto launches = capture.launches();
  ASSERT_EQ(launches.size(), 2U);
  for (const store::Launch& launch : launches) {
    EXPECT_EQ(launch.end_ns - launch.start_ns, kKernelNs);
    EXPECT_EQ(launch.grid, (store::Dim3{4, 2, 1}));
    EXPECT_EQ(launch.block, (store::Dim3{128, 1, 1}));
    EXPECT_EQ(launch.stream_id, 7);
    EXPECT_EQ(launch.registers_per_thread, 32);
    EXPECT_EQ(launch.static_smem_bytes, 16);
    EXPECT_EQ(launch.dynamic_smem_bytes, 64);
    EXPECT_EQ(launch.thread_id, 5) << "its call is found";
    EXPECT_EQ(launch.cluster.has_value(), schema.rank >= rank_of("3.24.0"));
  }
  EXPECT_EQ(launches[1].start_ns, 1'700'000'000'000'000'000 + 21'000);
  const std::string mangled = capture.kernels().at(0).mangled_name;
  EXPECT_EQ(mangled, schema.rank == 0 ? "" : "_Z3addIfEvPT_");
  EXPECT_EQ(capture.kernels().at(0).demangled_name, "void add<float>(float*)");
  ASSERT_EQ(capture.memcpys().size(), 1U);
  EXPECT_EQ(capture.memcpys()[0].bytes, kCopyBytes);
  EXPECT_EQ(capture.memcpys()[0].end_ns - capture.memcpys()[0].start_ns, 500);
  ASSERT_EQ(capture.memsets().size(), 1U);
  EXPECT_EQ(capture.memsets()[0].bytes, kSetBytes);
  ASSERT_EQ(capture.devices().size(), 1U);
  EXPECT_EQ(capture.devices()[0].name, "Test GPU");
  EXPECT_EQ(capture.tier_statuses().at(0).status, TierOutcome::ok);
  const auto versions = capture.versions();
  const auto version = versions.find("nsight-systems-schema");
  EXPECT_EQ(version == versions.end() ? "" : version->second, schema.version);
}

TEST_P(NsysSchemas, MutantsEndInOneLine) {
  expect_refused(path("ALTER TABLE CUPTI_ACTIVITY_KIND_KERNEL DROP COLUMN \"end\";"),
                 "table CUPTI_ACTIVITY_KIND_KERNEL has no column end");
  expect_refused(path("UPDATE CUPTI_ACTIVITY_KIND_MEMCPY SET bytes = 'many';"),
                 "column bytes of table CUPTI_ACTIVITY_KIND_MEMCPY holds a value of type text");
  const std::string file = path();
  std::filesystem::resize_file(file, std::filesystem::file_size(file) / 2);
  expect_refused(file, "run");
}

INSTANTIATE_TEST_SUITE_P(From2020, NsysSchemas, ::testing::ValuesIn(kSchemas), [](const auto& of) {
  std::string name = *of.param.version == '\0' ? "BeforeVersions" : std::string("V") + of.param.version;
  for (char& c : name) c = c == '.' ? '_' : c;
  return name;
});

}  // namespace
}  // namespace ridgeline::import
