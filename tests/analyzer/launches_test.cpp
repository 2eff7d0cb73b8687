#include "ridgeline/analyzer/model/launches.h"

#include <gtest/gtest.h>

namespace ridgeline::analyzer {
namespace {

store::Launch some_launch(store::Id id, store::Id process_id, std::int64_t start_ns, std::int64_t end_ns) {
  store::Launch launch;
  launch.id = id;
  launch.process_id = process_id;
  launch.device_id = 2;
  launch.stream_id = 7;
  launch.kernel_id = 3;
  launch.start_ns = start_ns;
  launch.end_ns = end_ns;
  launch.grid = {4, 5, 6};
  launch.block = {128, 2, 1};
  return launch;
}

TEST(Launches, ReadAsTheyWereAdded) {
  store::Launch full = some_launch(11, 1, 100, 150);
  full.host_start_ns = 90;
  full.host_end_ns = 95;
  full.thread_id = 77;
  full.cluster = store::Dim3{2, 1, 1};
  full.graph_id = 8;
  full.graph_node_id = 9;
  full.registers_per_thread = 64;
  full.static_smem_bytes = 1024;
  full.dynamic_smem_bytes = 2048;
  full.nvtx_path_id = 5;
  full.step_id = 21;
  full.ordinal_in_step = 3;
  const store::Launch bare = some_launch(12, 1, 0, 0);
  Launches launches;
  launches.push_back(full);
  launches.push_back(bare);
  launches.push_back(full);
  ASSERT_EQ(launches.size(), 3U);
  EXPECT_EQ(launches.sites().size(), 2U) << "the first and the third are of one site";
  const store::Launch first = launches[0];
  EXPECT_EQ(first.id, 11);
  EXPECT_EQ(first.process_id, 1);
  EXPECT_EQ(first.start_ns, 100);
  EXPECT_EQ(first.end_ns, 150);
  EXPECT_EQ(first.host_start_ns, 90);
  EXPECT_EQ(first.host_end_ns, 95);
  EXPECT_EQ(first.thread_id, 77);
  EXPECT_EQ(first.cluster, (store::Dim3{2, 1, 1}));
  EXPECT_EQ(first.graph_id, 8);
  EXPECT_EQ(first.graph_node_id, 9);
  EXPECT_EQ(first.grid, (store::Dim3{4, 5, 6}));
  EXPECT_EQ(first.registers_per_thread, 64);
  EXPECT_EQ(first.dynamic_smem_bytes, 2048);
  EXPECT_EQ(first.nvtx_path_id, 5);
  EXPECT_EQ(first.step_id, 21);
  EXPECT_EQ(first.ordinal_in_step, 3);
  const store::Launch second = launches[1];
  EXPECT_FALSE(second.host_start_ns || second.host_end_ns || second.step_id || second.ordinal_in_step ||
               second.thread_id || second.cluster || second.graph_id || second.nvtx_path_id);
}

TEST(Launches, SortedByProcessThenStartThenId) {
  Launches launches;
  for (const auto& [id, process, start_ns] :
       {std::tuple{4, 2, 10}, std::tuple{3, 1, 20}, std::tuple{2, 1, 30}, std::tuple{1, 1, 20}})
    launches.push_back(some_launch(id, process, start_ns, start_ns + 5));
  launches.sort();
  std::vector<store::Id> ids;
  for (const store::Launch& launch : launches) ids.push_back(launch.id);
  EXPECT_EQ(ids, (std::vector<store::Id>{1, 3, 2, 4}));
}

TEST(Launches, NearHoldsAllThatOverlapAWindow) {
  Launches launches;
  launches.push_back(some_launch(1, 1, 100, 400));  // the longest: 300 ns
  for (std::int64_t i = 0; i < 50; ++i) launches.push_back(some_launch(2 + i, 1, 200 + 10 * i, 205 + 10 * i));
  launches.push_back(some_launch(90, 2, 350, 360));
  launches.sort();
  for (std::int64_t start_ns = 0; start_ns < 800; start_ns += 7) {
    const Launches::Range near = launches.near(1, start_ns, start_ns + 20);
    for (std::size_t i = 0; i < launches.size(); ++i) {
      const store::Launch launch = launches[i];
      if (launch.process_id == 1 && launch.end_ns > start_ns && launch.start_ns < start_ns + 20) {
        EXPECT_GE(i, near.first);
        EXPECT_LT(i, near.last);
      }
    }
    for (std::size_t i = near.first; i < near.last; ++i) EXPECT_EQ(launches[i].process_id, 1);
    EXPECT_LE(near.last - near.first, 34U) << "320 ns of launches 10 ns apart";
  }
}

TEST(Launches, NotesOfEachWhatOthersWouldCountOver) {
  Launches launches;
  store::Launch launch = some_launch(1, 1, 100, 400);
  launch.step_id = 7;
  launches.push_back(launch);
  launch = some_launch(2, 1, 500, 550);
  launch.step_id = 9;
  launch.host_start_ns = -12'000;
  launches.push_back(launch);
  launches.push_back(some_launch(3, 1, 0, 0));  // of no step, without a time
  launch.id = 4;
  launch.host_start_ns.reset();
  launches.push_back(launch);
  EXPECT_EQ(launches.step_ids(), (std::vector<store::Id>{0, 7, 9}));
  EXPECT_EQ(launches.step_sizes(), (std::vector<std::size_t>{1, 1, 2}));
  EXPECT_EQ(launches.farthest_time_ns(), 12'000U) << "before the clock's zero it is as far";
  EXPECT_EQ(launches.total_ns(), 400);
}

}  // namespace
}  // namespace ridgeline::analyzer
