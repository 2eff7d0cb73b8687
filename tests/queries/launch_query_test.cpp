// One launch: its step, its ranges, its call and how long it waited.
#include "ridgeline/queries/launch_query.h"

#include <gtest/gtest.h>

#include <stop_token>

#include "ridgeline/store/activity.h"

namespace ridgeline::queries {
namespace {

TEST(LaunchQuery, SaysWhereEachLaunchOfAStepBelongsAndHowLongItWaited) {
  const std::string path = std::string(RIDGELINE_SOURCE_DIR) + "/examples/gpt2-h200.ridge";
  const store::Capture capture = store::Capture::open(path).value();
  const analyzer::Model model = analyzer::load_recording(capture);
  std::vector<store::Launch> launches;
  const store::Id step = model.steps.at(model.steps.size() / 2).step.id;
  store::Activity(capture).for_each_launch({.step_ids = std::vector<store::Id>{step}},
                                           [&](const store::Launch& launch) { launches.push_back(launch); });
  ASSERT_GT(launches.size(), 100U);
  int queued = 0;
  for (const store::Launch& launch : launches) {
    const Result<LaunchFacts> facts =
        ask_launch(capture, model, {launch.device_id, launch.kernel_id, launch.start_ns});
    ASSERT_TRUE(facts) << facts.failure().message;
    EXPECT_EQ(facts.value().launch.id, launch.id);
    EXPECT_EQ(facts.value().step_index, model.steps.at(model.steps.size() / 2).step.step_index);
    EXPECT_EQ(facts.value().nvtx_path, model.string(launch.nvtx_path_id));
    ASSERT_TRUE(facts.value().queued_ns);
    EXPECT_GE(*facts.value().queued_ns, 0);
    EXPECT_GE(launch.start_ns, *launch.host_end_ns - *facts.value().call_ns) << "not before its call";
    if (*facts.value().queued_ns == 0) continue;
    ++queued;
    EXPECT_EQ(*launch.host_start_ns + *facts.value().call_ns + *facts.value().queued_ns, launch.start_ns);
  }
  EXPECT_GT(queued, 100) << "the CPU runs ahead";
  const store::Launch& first = launches.front();
  EXPECT_EQ(ask_launch(capture, model, {first.device_id, first.kernel_id, first.start_ns + 1}).failure().kind,
            ErrorKind::no_data);
  std::stop_source stopped;
  stopped.request_stop();
  EXPECT_FALSE(
      ask_launch(capture, model, {first.device_id, first.kernel_id, first.start_ns}, stopped.get_token()));
}

}  // namespace
}  // namespace ridgeline::queries
