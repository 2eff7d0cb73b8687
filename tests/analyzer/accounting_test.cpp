#include "ridgeline/analyzer/accounting.h"

#include <gtest/gtest.h>

#include <random>

#include "fabricated_model.h"

namespace ridgeline::analyzer {
namespace {

using testing::FabricatedModel;

Accounting account(FabricatedModel& f, const AccountingOptions& options = {}) {
  f.done();
  return account_step(f.model, analyze_steps(f.model).value(), options);
}

void host(store::Launch& launch, std::int64_t start_ns, std::int64_t end_ns) {
  launch.host_start_ns = start_ns;
  launch.host_end_ns = end_ns;
}

TEST(Accounting, OverlappingStreamsCountOnceInTheUnion) {
  FabricatedModel f;
  f.step(Phase::timeline);
  f.launch("a", 1000, 1600);
  f.launch("b", 1400, 1800).stream_id = 9;
  f.copy(1700, 2000, 64);  // 100 hidden, 200 exposed
  f.set(1950, 2050, 32);   // 50 exposed
  f.launch("c", 2050, 2100);
  const Accounting a = account(f);
  EXPECT_EQ(a.step_ns, 1100);
  EXPECT_EQ(a.kernel_sum_ns, 600 + 400 + 50);
  EXPECT_EQ(a.kernel_busy_ns, 850);
  EXPECT_EQ(a.kernel_overlap_ns, 200);
  EXPECT_EQ(a.copy_sum_ns, 300);
  EXPECT_EQ(a.copy_exposed_ns, 200);
  EXPECT_EQ(a.copy_hidden_ns, 100);
  EXPECT_EQ(a.copy_bytes, 64);
  EXPECT_EQ(a.memset_sum_ns, 100);
  EXPECT_EQ(a.memset_exposed_ns, 50);
  EXPECT_EQ(a.memset_bytes, 32);
  EXPECT_EQ(a.gap_total_ns, 0);
  EXPECT_EQ(a.remainder_ns, 0);
  EXPECT_EQ(a.stream_count, 3);
  EXPECT_EQ(a.foreign_busy_ns, 0);
}

TEST(Accounting, GapsAreNamedByWhatTheHostWasDoing) {
  FabricatedModel f;
  f.step(Phase::timeline);
  host(f.launch("a", 100'000, 110'000), 90'000, 91'000);
  host(f.launch("called late", 130'000, 140'000), 120'000, 125'000);   // 20 µs: call began after 110
  host(f.launch("being called", 143'000, 150'000), 139'000, 141'000);  // 3 µs: call spans 140
  host(f.launch("queued", 152'000, 160'000), 142'000, 143'000);        // 2 µs: start-up latency
  host(f.launch("waited", 190'000, 200'000), 143'000, 144'000);        // 30 µs: waited for something
  f.launch("no host time", 207'000, 210'000);                          // 7 µs
  f.copy(214'000, 220'000, 1);                                         // 4 µs, copies have no host time
  f.step(Phase::timeline);
  f.launch("a", 231'000, 240'000);  // 11 µs tail
  const Accounting a = account(f);
  EXPECT_EQ(a.step_ns, 131'000);
  EXPECT_EQ(a.gap_host_bound_ns, 20'000);
  EXPECT_EQ(a.gap_launch_bound_ns, 3'000 + 2'000);
  EXPECT_EQ(a.gap_queued_ns, 30'000);
  EXPECT_EQ(a.gap_unknown_ns, 7'000 + 4'000);
  EXPECT_EQ(a.gap_tail_ns, 11'000);
  EXPECT_EQ(a.gap_total_ns, 77'000);
  EXPECT_EQ(a.remainder_ns, 0);
  EXPECT_FALSE(a.gap_synchronisation_ns.has_value());
  ASSERT_EQ(a.gaps.size(), 7U);
  const GapKind kinds[] = {GapKind::host_bound, GapKind::launch_bound, GapKind::launch_bound, GapKind::queued,
                           GapKind::unknown,    GapKind::unknown,      GapKind::tail};
  for (std::size_t i = 0; i < 7; ++i) EXPECT_EQ(to_string(a.gaps[i].kind), to_string(kinds[i])) << i;
  EXPECT_EQ(f.model.kernel_name(f.model.launches[*a.gaps[0].after]), "called late");
  EXPECT_EQ(f.model.kernel_name(f.model.launches[*a.gaps[0].before]), "a");
  EXPECT_FALSE(a.gaps[5].after.has_value());
}

TEST(Accounting, CommunicationIsHiddenUnderOtherKernels) {
  FabricatedModel f;
  f.step(Phase::timeline);
  f.kernel("ncclAllReduce", "communication");
  f.launch("gemm", 1000, 1500);
  f.launch("ncclAllReduce", 1300, 1700).stream_id = 9;
  f.launch("ncclAllReduce", 1650, 1800).stream_id = 10;
  const Accounting a = account(f);
  EXPECT_EQ(a.communication_sum_ns, 550);
  EXPECT_EQ(a.communication_hidden_ns, 200);
  EXPECT_EQ(a.communication_exposed_ns, 300);
  EXPECT_EQ(a.kernel_busy_ns, 800);
}

TEST(Accounting, WorkOfTheStepBeforeReachesIn) {
  FabricatedModel f;
  f.step(Phase::timeline);
  f.launch("a", 1000, 1100);
  f.step(Phase::timeline);
  f.launch("a", 2000, 2100);
  f.step(Phase::timeline);
  f.launch("a", 3000, 3100);
  // A copy of the first step that ends in the second.
  store::Memcpy late{.id = 1, .process_id = 1, .device_id = 1};
  late.start_ns = 1900;
  late.end_ns = 2300;
  late.step_id = 1;
  f.model.memcpys.push_back(late);
  f.done();
  const auto steps = analyze_steps(f.model, {.step_index = 1}).value();
  const Accounting a = account_step(f.model, steps);
  EXPECT_EQ(a.step_ns, 1000);
  EXPECT_EQ(a.copy_sum_ns, 300);
  EXPECT_EQ(a.copy_exposed_ns, 200);
  EXPECT_EQ(a.foreign_busy_ns, 300);
  EXPECT_EQ(a.gap_tail_ns, 700);
  EXPECT_EQ(a.remainder_ns, 0);
}

TEST(Accounting, AStepWithoutExtentHasNothingToAccountFor) {
  FabricatedModel f;
  f.step(Phase::timeline);
  f.launch("a", 1000, 1100);
  StepAnalysis steps = analyze_steps(f.done()).value();
  steps.representative.window_start_ns = steps.representative.window_end_ns = 1000;
  const Accounting a = account_step(f.model, steps);
  EXPECT_EQ(a.step_ns, 0);
  EXPECT_EQ(a.launches, 0);
  EXPECT_EQ(a.kernel_busy_ns, 0);
}

TEST(Accounting, LaunchesWithoutTimeAreCountedApart) {
  FabricatedModel f;
  f.step(Phase::timeline);
  f.launch("a", 1000, 1100);
  f.launch("b", 0, 0);
  const Accounting a = account(f);
  EXPECT_EQ(a.launches, 2);
  EXPECT_EQ(a.launches_without_time, 1);
  EXPECT_EQ(a.kernel_sum_ns, 100);
}

TEST(Accounting, TheBusiestDeviceOrTheOneAskedFor) {
  FabricatedModel f;
  f.model.devices.push_back({.id = 2, .device_index = 1, .name = "Other"});
  f.step(Phase::timeline);
  f.launch("a", 1000, 1100);
  f.launch("b", 1000, 1500).device_id = 2;
  EXPECT_EQ(account(f).device_id, 2);
  EXPECT_EQ(account(f).kernel_busy_ns, 500);
  const Accounting one = account_step(f.model, analyze_steps(f.model).value(), {}, 1);
  EXPECT_EQ(one.kernel_busy_ns, 100);
  EXPECT_EQ(one.gap_tail_ns, 400);
}

// Whatever happens on however many streams, the parts are the step.
TEST(Accounting, RandomTimelinesAddUp) {
  std::mt19937 random(3);
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<unsigned>(n));
  };
  for (int round = 0; round < 200; ++round) {
    FabricatedModel f;
    f.kernel("nccl", "communication");
    std::int64_t at = 1000;
    for (int step = 0; step < 4; ++step) {
      f.step(Phase::timeline);
      for (int i = 0; i < 12; ++i) {
        const std::int64_t start = at + below(400);
        const std::int64_t end = start + below(120);
        switch (below(5)) {
          case 0:
            f.copy(start, end, 1);
            break;
          case 1:
            f.set(start, end, 1);
            break;
          case 2:
            f.launch("nccl", start, end);
            break;
          default: {
            store::Launch& launch = f.launch("k", start, end);
            if (below(4) != 0) host(launch, start - below(300), start - below(50));
            launch.stream_id = below(3);
          }
        }
      }
      f.launch("last", at + 390, at + 400 + below(200));
      at += 500;
    }
    f.done();
    for (std::int64_t step = 0; step < 4; ++step) {
      const auto steps = analyze_steps(f.model, {.step_index = step}).value();
      const Accounting a = account_step(f.model, steps);
      EXPECT_EQ(a.remainder_ns, 0);
      EXPECT_EQ(a.step_ns, a.kernel_busy_ns + a.copy_exposed_ns + a.memset_exposed_ns + a.gap_total_ns);
      EXPECT_EQ(a.gap_total_ns, a.gap_launch_bound_ns + a.gap_host_bound_ns + a.gap_queued_ns +
                                    a.gap_unknown_ns + a.gap_tail_ns);
      EXPECT_GE(a.kernel_overlap_ns, 0);
      EXPECT_LE(a.communication_exposed_ns + a.communication_hidden_ns, a.communication_sum_ns);
      for (const Gap& gap : a.gaps) {
        EXPECT_LT(gap.start_ns, gap.end_ns);
        EXPECT_GE(gap.start_ns, steps.representative.window_start_ns);
        EXPECT_LE(gap.end_ns, steps.representative.window_end_ns);
      }
    }
  }
}

}  // namespace
}  // namespace ridgeline::analyzer
