// Merged jobs and what is known of collectives: written, read, absent in older captures.
#include "ridgeline/store/job.h"

#include <gtest/gtest.h>

#include "capture_testing.h"
#include "ridgeline/store/capture_part.h"
#include "ridgeline/store/collectives.h"
#include "ridgeline/store/schema.h"

namespace ridgeline::store {
namespace {

using ridgeline::testing::TemporaryDirectory;

Job small_job() {
  Job job;
  job.ranks = {{0, "alpha", "train #", 2, "NVIDIA H200", "a.ridge", 1},
               {1, std::nullopt, "train #", 2, {}, "b.ridge", 1, StepSource::period}};
  job.clocks = {{"alpha", ClockStatus::reference, 0, 0.0, 10, 0, 0, 0},
                {"rank 1", ClockStatus::aligned, -500, 1.5, 10, -20, 30, 7}};
  job.communicators = {{1, "c0ffee", 2, "world"}};
  job.sites = {{1, 1, CollectiveFunction::all_reduce, 4096, ElementType::bf16, 24, CollectiveAlgorithm::tree,
                CollectiveProtocol::ll128},
               {2, 1, std::nullopt, std::nullopt}};
  job.sites[1].copies = 3;
  job.kernels = {{1, "gemm"}};
  job.steps = {{0, 4, 1000, 100, 60, 30, 6, 4, 40, 2, 3, 1.7e9, 1},
               {1, 4, 990, 100, 60, 30, 6, 4, 40, 0, 3, std::nullopt, 0}};
  job.calls = {{0, 4, 0, 1, 17, 20, 40, 5, {0, 10, 30}, 12}, {1, 4, 0, 2, std::nullopt, 25, 35, 0, {}}};
  job.kernel_steps = {{0, 4, 1, 3, 96, 60}, {1, 4, 1, 3, 96, 60}};
  job.traffic = {{0, std::nullopt, 2, 200, {9000.5, 8000, 70, std::nullopt}},
                 {0, 1, 4, 160, {4500, 4400, std::nullopt, std::nullopt}}};
  job.steps[0].beside_ns = 25;
  job.steps[0].beside_controlled_ns = 20;
  job.steps[0].beside_cost_ns = -1.25;
  job.interference = {{0, 1, std::nullopt, 1, 0, 0, 5, 0, 0},
                      {0, 1, CollectiveFunction::all_reduce, 3, 2, 9, 20, 20, -1.25}};
  job.links.resize(2);
  job.links[0].kind = "from_peer";
  job.links[0].value = 3.9e11;
  job.links[1].kind = "to_peer";
  job.links[1].value = 4e11;
  for (Ceiling& link : job.links) {
    link.level = CeilingLevel::nvlink;
    link.unit = "bytes_per_s";
    link.conditions = "256 MiB";
  }
  return job;
}

// Takes off what version 20 adds to job_rank, what 19 adds to job_site, and what 18 does.
constexpr const char* kWithoutSources = "ALTER TABLE job_rank DROP COLUMN step_source; ";
constexpr const char* kWithoutCopies =
    "DROP VIEW v_job_collective; ALTER TABLE job_site DROP COLUMN copies; ";
constexpr const char* kWithoutDetails =
    "ALTER TABLE job_site DROP COLUMN algorithm; ALTER TABLE job_site DROP COLUMN protocol; ";

// The file of it after this SQL.
std::string changed_job(const TemporaryDirectory& directory, const std::string& change) {
  const std::string path = directory.file("job.ridge");
  store::Run run;
  run.clock = "cupti";
  write_job(path, run, small_job()).value();
  Database(path, OpenMode::read_write).execute(change);
  return path;
}

TEST(Lengths, AreReadAsTheyWereAdded) {
  const std::vector<std::int64_t> values = {0,         1, 127, 128, 16'383, 16'384, 999'999'999'999'999,
                                            INT64_MAX, 0};
  Lengths lengths;
  EXPECT_TRUE(lengths.empty());
  EXPECT_EQ(lengths.begin(), lengths.end());
  for (const std::int64_t value : values) lengths.push_back(value);
  lengths.shrink_to_fit();
  EXPECT_EQ(std::vector<std::int64_t>(lengths.begin(), lengths.end()), values);
  EXPECT_EQ(*lengths.begin()++, 0);
  EXPECT_FALSE(lengths.empty());
  EXPECT_NE(lengths, Lengths{});
  EXPECT_THROW(lengths.push_back(-1), std::invalid_argument);
}

TEST(StoredJobs, ComeBackAsTheyWere) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("job.ridge");
  store::Run run;
  run.command_line = "train #";
  run.ridgeline_version = "0.1.0";
  run.clock = "cupti";
  write_job(path, run, small_job()).value();
  EXPECT_TRUE(is_job(path).value());
  const Job job = read_job(path).value();
  ASSERT_EQ(job.ranks.size(), 2U);
  EXPECT_EQ(job.ranks[0].host, "alpha");
  EXPECT_EQ(job.ranks[1].host, std::nullopt);
  EXPECT_EQ(job.ranks[1].file, "b.ridge");
  EXPECT_EQ(job.ranks[0].step_source, std::nullopt);
  EXPECT_EQ(job.ranks[1].step_source, StepSource::period);
  ASSERT_EQ(job.clocks.size(), 2U);
  EXPECT_EQ(job.clocks[1].status, ClockStatus::aligned);
  EXPECT_EQ(job.clocks[1].offset_ns, -500);
  EXPECT_EQ(job.clocks[1].high_ns, 30);
  EXPECT_EQ(job.sites[0].function, CollectiveFunction::all_reduce);
  EXPECT_EQ(job.sites[1].function, std::nullopt);
  EXPECT_EQ(job.sites[0].element_type, ElementType::bf16);
  EXPECT_EQ(job.sites[0].blocks, 24);
  EXPECT_EQ(job.sites[0].copies, std::nullopt);
  EXPECT_EQ(job.sites[1].element_type, std::nullopt);
  EXPECT_EQ(job.sites[1].blocks, std::nullopt);
  EXPECT_EQ(job.sites[0].algorithm, CollectiveAlgorithm::tree);
  EXPECT_EQ(job.sites[0].protocol, CollectiveProtocol::ll128);
  EXPECT_EQ(job.sites[1].algorithm, std::nullopt);
  EXPECT_EQ(job.sites[1].protocol, std::nullopt);
  EXPECT_EQ(job.sites[1].copies, 3);
  EXPECT_EQ(job.calls[0].hidden_ns, (Lengths{0, 10, 30}));
  EXPECT_EQ(job.calls[0].kernels_before_end, 5);
  EXPECT_EQ(job.calls[0].ready_offset_ns, 12);
  EXPECT_EQ(job.calls[1].ready_offset_ns, std::nullopt);
  EXPECT_EQ(job.steps[0].copy_beside_ns, 2);
  EXPECT_TRUE(job.calls[1].hidden_ns.empty());
  EXPECT_EQ(job.steps[0].sm_clock_hz, 1.7e9);
  EXPECT_EQ(job.steps[1].sm_clock_hz, std::nullopt);
  EXPECT_EQ(job.kernel_steps[1].blocks, 96);
  ASSERT_EQ(job.traffic.size(), 2U);
  EXPECT_EQ(job.traffic[0].site_id, std::nullopt);
  EXPECT_EQ(job.traffic[0].count, 2);
  EXPECT_EQ(job.traffic[0].bytes, small_job().traffic[0].bytes);
  EXPECT_EQ(job.traffic[1].site_id, 1);
  EXPECT_EQ(job.traffic[1].time_ns, 160);
  EXPECT_EQ(job.steps[0].beside_ns, 25);
  EXPECT_EQ(job.steps[0].beside_controlled_ns, 20);
  EXPECT_EQ(job.steps[0].beside_cost_ns, -1.25);
  EXPECT_EQ(job.steps[1].beside_cost_ns, std::nullopt);
  ASSERT_EQ(job.interference.size(), 2U);
  EXPECT_EQ(job.interference[0].function, std::nullopt);
  EXPECT_EQ(job.interference[1].function, CollectiveFunction::all_reduce);
  EXPECT_EQ(job.interference[1].controls, 9);
  EXPECT_EQ(job.interference[1].cost_ns, -1.25);
  ASSERT_EQ(job.links.size(), 2U);
  for (std::size_t i = 0; i < 2; ++i) {
    EXPECT_EQ(job.links[i].level, CeilingLevel::nvlink);
    EXPECT_EQ(job.links[i].kind, small_job().links[i].kind);
    EXPECT_EQ(job.links[i].state, CeilingState::burst);
    EXPECT_EQ(job.links[i].value, small_job().links[i].value);
    EXPECT_EQ(job.links[i].unit, "bytes_per_s");
    EXPECT_EQ(job.links[i].conditions, "256 MiB");
  }
  const Capture capture = Capture::open(path).value();
  EXPECT_TRUE(capture.verify().damage.empty());
  const auto table =
      capture.query("SELECT rank, function, end_ns, element_type, blocks FROM v_job_collective ORDER BY rank")
          .value();
  EXPECT_EQ(std::get<std::int64_t>(table.rows[0][2]), 1060);
  EXPECT_EQ(std::get<std::string>(table.rows[0][3]), "bf16");
  EXPECT_EQ(std::get<std::int64_t>(table.rows[0][4]), 24);
}

TEST(StoredJobs, WhatCannotBeIsDamage) {
  for (const char* change :
       {"UPDATE job_call SET hidden = '1 x' WHERE rank = 0",
        "UPDATE job_call SET hidden = '9999999999999999999'",
        "UPDATE job_call SET duration_ns = -1",
        "UPDATE job_call SET start_offset_ns = 9223372036854775807",
        "UPDATE job_call SET ready_offset_ns = 9223372036854775807",
        "UPDATE job_step SET start_ns = 9223372036854775807",
        "UPDATE job_step SET idle_ns = -5",
        "UPDATE job_kernel_step SET time_ns = 9223372036854775807",
        "UPDATE job_rank SET world_size = 4000000000",
        "UPDATE job_traffic SET count = -1 WHERE rank = 0",
        "UPDATE job_step SET beside_ns = -1",
        "UPDATE job_step SET beside_cost_ns = 1e30",
        "UPDATE job_interference SET compared = -1",
        "UPDATE job_interference SET cost_ns = -1e30",
        "UPDATE job_interference SET function = 'shout' WHERE function IS NULL",
        "PRAGMA foreign_keys = OFF; UPDATE job_interference SET kernel_id = 99 WHERE function IS NULL",
        "UPDATE job_traffic SET nvlink_sent_bytes = 1e30",
        "UPDATE job_traffic SET pcie_sent_bytes = -1",
        "PRAGMA foreign_keys = OFF; UPDATE job_traffic SET site_id = 99 WHERE site_id = 1",
        "PRAGMA foreign_keys = OFF; UPDATE job_call SET site_id = 99",
        "PRAGMA foreign_keys = OFF; UPDATE job_site SET communicator_id = 99",
        "UPDATE job_site SET element_type = 'fp3'",
        "UPDATE job_site SET blocks = -1",
        "UPDATE job_site SET algorithm = 'star'",
        "UPDATE job_site SET protocol = 'RING'",
        "UPDATE job_site SET copies = 0",
        "PRAGMA foreign_keys = OFF; UPDATE job_kernel_step SET kernel_id = 99 WHERE rank = 0",
        "UPDATE job_clock SET drift_ppb = 1e300 WHERE status = 'aligned'"}) {
    SCOPED_TRACE(change);
    const TemporaryDirectory directory;
    const auto job = read_job(changed_job(directory, change));
    ASSERT_FALSE(job.ok());
    EXPECT_EQ(job.failure().kind, ErrorKind::corrupt);
  }
}

TEST(StoredJobs, OfVersion17HaveNoAlgorithms) {
  const TemporaryDirectory directory;
  const std::string path =
      changed_job(directory, std::string(kWithoutCopies) + kWithoutDetails +
                                 "PRAGMA user_version = " + std::to_string(kCollectiveDetailsAreKept - 1));
  const Job job = read_job(path).value();
  ASSERT_EQ(job.sites.size(), 2U);
  EXPECT_EQ(job.sites[0].element_type, ElementType::bf16);
  EXPECT_EQ(job.sites[0].algorithm, std::nullopt);
  EXPECT_EQ(job.sites[0].protocol, std::nullopt);
}

TEST(StoredJobs, OfVersion16HaveNoTypesOfElements) {
  const TemporaryDirectory directory;
  const std::string path = changed_job(
      directory,
      std::string(kWithoutCopies) + kWithoutDetails +
          "ALTER TABLE job_site DROP COLUMN element_type; ALTER TABLE job_site DROP COLUMN blocks; "
          "PRAGMA user_version = " +
          std::to_string(kElementTypesAreKept - 1));
  const Job job = read_job(path).value();
  ASSERT_EQ(job.sites.size(), 2U);
  EXPECT_EQ(job.sites[0].bytes, small_job().sites[0].bytes);
  EXPECT_EQ(job.sites[0].element_type, std::nullopt);
  EXPECT_EQ(job.sites[0].blocks, std::nullopt);
}

TEST(StoredJobs, OfVersion19DoNotSayWhatMarksTheirSteps) {
  const TemporaryDirectory directory;
  const std::string path = changed_job(directory, std::string(kWithoutSources) + "PRAGMA user_version = " +
                                                      std::to_string(kStepsOfRanksAreKnown - 1));
  const Job job = read_job(path).value();
  ASSERT_EQ(job.ranks.size(), 2U);
  EXPECT_EQ(job.ranks[1].file, "b.ridge");
  EXPECT_EQ(job.ranks[1].step_source, std::nullopt);
}

TEST(StoredJobs, OfVersion18HaveNoCopies) {
  const TemporaryDirectory directory;
  const std::string path = changed_job(directory, std::string(kWithoutCopies) + "PRAGMA user_version = " +
                                                      std::to_string(kCopiedCollectivesAreKept - 1));
  const Job job = read_job(path).value();
  ASSERT_EQ(job.sites.size(), 2U);
  EXPECT_EQ(job.sites[0].blocks, 24);
  EXPECT_EQ(job.sites[1].copies, std::nullopt);
}

TEST(StoredJobs, OfVersion13HaveNoTimesOfReadiness) {
  const TemporaryDirectory directory;
  const std::string path =
      changed_job(directory, "ALTER TABLE job_call DROP COLUMN ready_offset_ns; PRAGMA user_version = " +
                                 std::to_string(kReadyTimesAreKept - 1));
  const Job job = read_job(path).value();
  ASSERT_EQ(job.calls.size(), 2U);
  EXPECT_EQ(job.calls[0].hidden_ns, (Lengths{0, 10, 30}));
  EXPECT_EQ(job.calls[0].ready_offset_ns, std::nullopt);
}

TEST(StoredJobs, OfVersion14HaveNoTraffic) {
  const TemporaryDirectory directory;
  const std::string path = changed_job(
      directory, "DROP TABLE job_traffic; PRAGMA user_version = " + std::to_string(kJobTrafficIsKept - 1));
  EXPECT_TRUE(read_job(path).value().traffic.empty());
}

TEST(StoredJobs, OfVersion15HaveNoInterference) {
  const TemporaryDirectory directory;
  const std::string path = changed_job(directory, "DROP TABLE job_interference; PRAGMA user_version = " +
                                                      std::to_string(kInterferenceIsKept - 1));
  const Job job = read_job(path).value();
  EXPECT_TRUE(job.interference.empty());
  EXPECT_EQ(job.steps[0].beside_ns, std::nullopt);
  EXPECT_EQ(job.steps[0].beside_cost_ns, std::nullopt);
}

TEST(StoredJobs, ACaptureOfOneRankIsNone) {
  const TemporaryDirectory directory;
  const std::string path = testing::write_file(directory);
  EXPECT_FALSE(is_job(path).value());
  EXPECT_EQ(read_job(path).failure().kind, ErrorKind::no_data);
}

TEST(StoredCollectives, ComeBackAndAreNoneBeforeTheirVersion) {
  const TemporaryDirectory directory;
  const std::string path = directory.file("a.ridge");
  {
    auto writer = CaptureWriter::create(path);
    ASSERT_TRUE(writer.ok());
    const auto ids = testing::write_sample(writer.value());
    const Id group = writer.value().add(
        Communicator{.process_id = ids.process, .hash = "f00d", .ranks = 8, .rank = 3, .name = "data"});
    writer.value().add(Collective{.launch_id = ids.launch,
                                  .communicator_id = group,
                                  .ordinal = 12,
                                  .function = CollectiveFunction::reduce_scatter,
                                  .bytes = 1 << 20,
                                  .source = CollectiveSource::nvtx,
                                  .bytes_source = CollectiveSource::plugin,
                                  .element_type = ElementType::int8,
                                  .element_type_source = CollectiveSource::plugin,
                                  .channels = 12,
                                  .channels_source = CollectiveSource::kernel,
                                  .algorithm = CollectiveAlgorithm::pat,
                                  .protocol = CollectiveProtocol::ll,
                                  .algorithm_source = CollectiveSource::program});
    writer.value().finish();
  }
  {
    const Capture capture = Capture::open(path).value();
    ASSERT_EQ(communicators(capture).size(), 1U);
    EXPECT_EQ(communicators(capture)[0].name, "data");
    ASSERT_EQ(collectives(capture).size(), 1U);
    EXPECT_EQ(collectives(capture)[0].function, CollectiveFunction::reduce_scatter);
    EXPECT_EQ(collectives(capture)[0].source, CollectiveSource::nvtx);
    EXPECT_EQ(collectives(capture)[0].bytes_source, CollectiveSource::plugin);
    EXPECT_EQ(collectives(capture)[0].element_type, ElementType::int8);
    EXPECT_EQ(collectives(capture)[0].element_type_source, CollectiveSource::plugin);
    EXPECT_EQ(collectives(capture)[0].channels, 12);
    EXPECT_EQ(collectives(capture)[0].channels_source, CollectiveSource::kernel);
    EXPECT_EQ(collectives(capture)[0].algorithm, CollectiveAlgorithm::pat);
    EXPECT_EQ(collectives(capture)[0].protocol, CollectiveProtocol::ll);
    EXPECT_EQ(collectives(capture)[0].algorithm_source, CollectiveSource::program);
    const std::string part_path = directory.file("part.ridge");
    ASSERT_TRUE(write_part(capture, {150, 350}, part_path).ok());
    const Capture part = Capture::open(part_path).value();
    ASSERT_EQ(collectives(part).size(), 1U);
    EXPECT_EQ(collectives(part)[0].bytes, 1 << 20);
    ASSERT_EQ(communicators(part).size(), 1U);
    EXPECT_EQ(collectives(part)[0].communicator_id, communicators(part)[0].id);
  }
  {
    Database database(path, OpenMode::read_write);
    testing::drop_jobs(database);
    database.execute("DELETE FROM table_rows; PRAGMA user_version = " + std::to_string(kJobsAreKept - 1));
  }
  const Capture older = Capture::open(path).value();
  EXPECT_TRUE(communicators(older).empty());
  EXPECT_TRUE(collectives(older).empty());
}

}  // namespace
}  // namespace ridgeline::store
