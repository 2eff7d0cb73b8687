#include "ridgeline/analyzer/accounting/accounting.h"

#include <gtest/gtest.h>

#include <random>

#include "fabricated_model.h"
#include "support/analysis_fields.h"

namespace ridgeline::analyzer {
namespace {

using ridgeline::testing::accepted;

using testing::FabricatedModel;

Accounting account(FabricatedModel& f, const AccountingOptions& options = {}) {
  f.done();
  return accepted(account_step(f.model, analyze_steps(f.model).value(), options));
}

void host(store::Launch& launch, std::int64_t start_ns, std::int64_t end_ns) {
  launch.host_start_ns = start_ns;
  launch.host_end_ns = end_ns;
}

void record_waits(FabricatedModel& f) {
  f.model.recording_windows.push_back({.process_id = 1, .start_ns = 1, .synchronisation = true});
}

void wait(FabricatedModel& f, std::int64_t thread_id, std::int64_t start_ns, std::int64_t end_ns,
          SynchronisationCall call = SynchronisationCall::stream, std::int64_t correlation_id = 0) {
  f.model.synchronisations.push_back({1, thread_id, start_ns, end_ns - start_ns, call, correlation_id, {}});
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

// A step of one kernel, [1000, 2000), and the first kernel of the next at 6000, whose call is made at 5900 by thread 7.
FabricatedModel step_with_a_gap() {
  FabricatedModel f;
  f.step(Phase::timeline);
  host(f.launch("a", 1000, 2000), 900, 910);
  f.step(Phase::timeline);
  store::Launch& next = f.launch("a", 6000, 7000);
  host(next, 5900, 5910);
  next.thread_id = 7;
  return f;
}

Accounting account_first(FabricatedModel& f, const AccountingOptions& options = {}) {
  f.done();
  return accepted(account_step(f.model, analyze_steps(f.model, {.step_index = 0}).value(), options));
}

TEST(Accounting, TheGapAtTheStepsEndIsWhatTheNextStepsFirstLaunchWaitedFor) {
  for (const StepSource source : {StepSource::nvtx, StepSource::period}) {
    FabricatedModel f = step_with_a_gap();
    for (ModelStep& step : f.model.steps) step.step.source = source;
    const Accounting a = account_first(f);
    EXPECT_EQ(a.step_ns, 5000);
    EXPECT_EQ(a.gap_host_bound_ns, 4000) << "a program that sleeps keeps the device waiting";
    EXPECT_EQ(a.gap_tail_ns, 0);
    ASSERT_EQ(a.gaps.size(), 1U);
    EXPECT_EQ(a.gaps[0].kind, GapKind::host_bound);
    EXPECT_EQ(a.gaps[0].thread_id, 7);
    ASSERT_TRUE(a.gaps[0].after.has_value());
    EXPECT_EQ(f.model.launches[*a.gaps[0].after].start_ns, 6000);
    EXPECT_FALSE(a.gap_synchronisation_ns.has_value()) << "waits were not recorded";
  }
}

TEST(Accounting, AtTheStepsEndALaunchThatWasQueuedOrUnderWayIsSeenToo) {
  FabricatedModel f = step_with_a_gap();
  host(f.launches[1], 1500, 1600);
  EXPECT_EQ(account_first(f, {.launch_latency_ns = 3999, .bounds = {}}).gap_queued_ns, 4000);
  f = step_with_a_gap();
  host(f.launches[1], 1500, 2100);
  EXPECT_EQ(account_first(f).gap_launch_bound_ns, 4000);
  f = step_with_a_gap();
  f.launches[1].host_start_ns.reset();
  EXPECT_EQ(account_first(f).gap_tail_ns, 4000) << "nothing is known of its call";
}

TEST(Accounting, AGapIsTheCallInWhichTheLaunchingThreadWaited) {
  FabricatedModel f = step_with_a_gap();
  record_waits(f);
  wait(f, 7, 950, 5000);                                      // 3000 of the gap, most of the call before it
  wait(f, 7, 5100, 5300, SynchronisationCall::event);         // 200
  wait(f, 7, 5850, 5950, SynchronisationCall::copy_to_host);  // 50 of it before the launch's call
  wait(f, 8, 2000, 5900, SynchronisationCall::device);        // of a thread that launches nothing
  wait(f, 7, 100, 200, SynchronisationCall::device);          // long ago
  const Accounting a = account_first(f);
  EXPECT_EQ(a.gap_synchronisation_ns, 3000 + 200 + 50);
  EXPECT_EQ(a.gap_host_bound_ns, 4000 - 3250);
  EXPECT_EQ(a.gap_total_ns, 4000);
  EXPECT_EQ(a.remainder_ns, 0);
  ASSERT_EQ(a.gaps.size(), 1U);
  const Gap& gap = a.gaps[0];
  EXPECT_EQ(to_string(gap.kind), "synchronisation");
  EXPECT_EQ(gap.synchronisation_ns, 3250);
  ASSERT_TRUE(gap.wait.has_value());
  EXPECT_EQ(gap.wait->call, SynchronisationCall::stream);
  EXPECT_EQ(gap.wait->length_ns, 4050);
  EXPECT_EQ(longest_gap(a)->start_ns, gap.start_ns);
}

TEST(Accounting, AShortWaitBeforeALongPauseIsTheHostsGap) {
  FabricatedModel f = step_with_a_gap();
  record_waits(f);
  wait(f, 7, 950, 3999);
  Accounting a = account_first(f);
  EXPECT_EQ(a.gap_synchronisation_ns, 1999);
  EXPECT_EQ(a.gap_host_bound_ns, 2001);
  EXPECT_EQ(a.gaps.at(0).kind, GapKind::host_bound) << "less than half of it";
  EXPECT_EQ(a.gaps.at(0).wait->length_ns, 3049);
  f = step_with_a_gap();
  record_waits(f);
  wait(f, 7, 950, 4000);
  EXPECT_EQ(account_first(f).gaps.at(0).kind, GapKind::synchronisation) << "half of it";
}

TEST(Accounting, WaitsOfATimeInWhichTheyWereNotRecordedAreNotKnown) {
  FabricatedModel f = step_with_a_gap();
  record_waits(f);
  f.model.recording_windows[0].end_ns = 1000;  // where the step begins
  EXPECT_FALSE(account_first(f).gap_synchronisation_ns.has_value());
  f.model.recording_windows[0].end_ns = 1001;
  EXPECT_EQ(account_first(f).gap_synchronisation_ns, 0);
  f.model.recording_windows[0].process_id = 2;
  EXPECT_FALSE(account_first(f).gap_synchronisation_ns.has_value());
  f.model.recording_windows[0] = {
      .process_id = 1, .start_ns = 6000, .synchronisation = true};  // where it ends
  EXPECT_FALSE(account_first(f).gap_synchronisation_ns.has_value());
}

TEST(Accounting, AGapBeforeACopyIsExplainedByTheCopysCall) {
  FabricatedModel f;
  f.step(Phase::timeline);
  f.launch("a", 10'000, 20'000);
  f.copy(50'000, 51'000, 1).correlation_id = 77;
  f.step(Phase::timeline);
  f.launch("a", 51'000, 60'000);
  EXPECT_EQ(account_first(f).gap_unknown_ns, 30'000);
  record_waits(f);
  wait(f, 7, 45'000, 52'000, SynchronisationCall::copy_to_device, 77);
  wait(f, 7, 15'000, 21'000, SynchronisationCall::event);
  const Accounting a = account_first(f);
  EXPECT_EQ(a.gap_unknown_ns, 0);
  EXPECT_EQ(a.gap_host_bound_ns, 29'000);
  EXPECT_EQ(a.gap_synchronisation_ns, 1000) << "the copy's own call is not what it waited for";
  EXPECT_EQ(a.gaps.at(0).thread_id, 7);
}

TEST(Accounting, AGapBeforeAFillIsTheHostsIfTheLaunchBehindItWasCalledAfterTheDeviceFellIdle) {
  const auto made = [](std::int64_t fill, std::int64_t call, std::int64_t gap_ns = 30'000) {
    FabricatedModel f;
    f.step(Phase::timeline);
    f.launch("a", 10'000, 20'000).correlation_id = 5;
    f.set(20'000 + gap_ns, 21'000 + gap_ns, 1).correlation_id = fill;
    store::Launch& earlier = f.launch("on another stream", 21'500 + gap_ns, 22'000 + gap_ns);
    earlier.correlation_id = 4;
    host(earlier, 100, 200);
    f.step(Phase::timeline);
    store::Launch& behind = f.launch("a", 22'000 + gap_ns, 60'000);
    behind.correlation_id = 7;
    host(behind, call, call + 10);
    behind.thread_id = 7;
    return f;
  };
  FabricatedModel f = made(6, 49'000);
  const Accounting a = account_first(f);
  EXPECT_EQ(a.gap_host_bound_ns, 30'000);
  EXPECT_EQ(a.gaps.at(0).thread_id, 7);
  f = made(6, 20'000);
  EXPECT_EQ(account_first(f).gap_unknown_ns, 30'000)
      << "called before: the fill was, too, and waited for something";
  f = made(8, 49'000);
  EXPECT_EQ(account_first(f).gap_unknown_ns, 30'000) << "that launch was called before the fill";
  f = made(6, 24'000, 5000);
  EXPECT_EQ(account_first(f).gap_unknown_ns, 5000) << "short enough for work that was queued";
  f = made(6, 24'000, 5001);
  EXPECT_EQ(account_first(f).gap_host_bound_ns, 5001);
}

TEST(Accounting, WaitsOfSeveralStepsAddUp) {
  Accounting sum, known, unknown;
  known.gap_synchronisation_ns = 5;
  add_to(sum, unknown);
  EXPECT_FALSE(sum.gap_synchronisation_ns.has_value());
  add_to(sum, known);
  add_to(sum, unknown);
  add_to(sum, known);
  EXPECT_EQ(sum.gap_synchronisation_ns, 10);
}

TEST(Accounting, TheLongestGapIsTheFirstOfThoseThatAreEquallyLong) {
  Accounting a;
  EXPECT_FALSE(longest_gap(a).has_value());
  a.gaps = {{.start_ns = 0, .end_ns = 5}, {.start_ns = 10, .end_ns = 17}, {.start_ns = 20, .end_ns = 27}};
  EXPECT_EQ(longest_gap(a)->start_ns, 10) << "the first of the longest";
}

TEST(Accounting, CommunicationIsHiddenUnderOtherKernels) {
  FabricatedModel f;
  f.step(Phase::timeline);
  f.kernel("ncclAllReduce", KernelClass::communication);
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
  const Accounting a = accepted(account_step(f.model, steps));
  EXPECT_EQ(a.step_ns, 1000);
  EXPECT_EQ(a.copy_sum_ns, 300);
  EXPECT_EQ(a.copy_exposed_ns, 200);
  EXPECT_EQ(a.foreign_busy_ns, 300);
  EXPECT_EQ(a.gap_tail_ns, 700);
  EXPECT_EQ(a.remainder_ns, 0);
}

// Somebody put the window's end there: the gap goes on behind it, and what ended it says what it was.
TEST(Accounting, AWindowThatEndsInAGapNamesItByWhatCameBehind) {
  const auto cut = [](const auto& add_work) {
    FabricatedModel f;
    f.step(Phase::timeline);
    host(f.launch("a", 1000, 1100), 900, 910);
    add_work(f);
    StepAnalysis steps = analyze_steps(f.done()).value();
    steps.representative.scope = ScopeKind::window;
    steps.representative.window_start_ns = 1050;
    steps.representative.window_end_ns = 20000;
    return accepted(account_step(f.model, steps));
  };
  const Accounting late = cut([](FabricatedModel& f) { host(f.launch("b", 60000, 61000), 59000, 59100); });
  EXPECT_EQ(late.gap_host_bound_ns, 18900);
  EXPECT_EQ(late.gap_tail_ns, 0);
  ASSERT_EQ(late.gaps.size(), 1U);
  EXPECT_TRUE(late.gaps[0].after.has_value());
  const Accounting queued = cut([](FabricatedModel& f) { host(f.launch("b", 60000, 61000), 950, 960); });
  EXPECT_EQ(queued.gap_queued_ns, 18900);
  // A copy came first; the launch behind it was called late, so the copy was too.
  const Accounting copied = cut([](FabricatedModel& f) {
    f.copy(50000, 51000, 64).correlation_id = 5;
    store::Launch& next = f.launch("b", 60000, 61000);
    next.correlation_id = 6;
    host(next, 49000, 49100);
  });
  EXPECT_EQ(copied.gap_host_bound_ns, 18900);
  ASSERT_EQ(copied.gaps.size(), 1U);
  EXPECT_FALSE(copied.gaps[0].after.has_value()) << "a copy, no launch";
  EXPECT_EQ(cut([](FabricatedModel&) {}).gap_tail_ns, 18900) << "nothing came";
  // What another process or device copies ended no gap of this one: the launch behind it did.
  const auto ended_by_a_launch = [&](const auto& change) {
    const Accounting beside = cut([&](FabricatedModel& f) {
      change(f.copy(50000, 51000, 64));
      host(f.launch("b", 60000, 61000), 49000, 49100);
    });
    return beside.gaps.at(0).after.has_value();
  };
  EXPECT_FALSE(ended_by_a_launch([](store::Memcpy&) {}));
  EXPECT_TRUE(ended_by_a_launch([](store::Memcpy& copy) { copy.process_id = 2; }));
  EXPECT_TRUE(ended_by_a_launch([](store::Memcpy& copy) { copy.device_id = 2; }));
}

TEST(Accounting, AStepWithoutExtentHasNothingToAccountFor) {
  FabricatedModel f;
  f.step(Phase::timeline);
  f.launch("a", 1000, 1100);
  StepAnalysis steps = analyze_steps(f.done()).value();
  steps.representative.window_start_ns = steps.representative.window_end_ns = 1000;
  const Accounting a = accepted(account_step(f.model, steps));
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
  const Accounting one = accepted(account_step(f.model, analyze_steps(f.model).value(), {}, 1));
  EXPECT_EQ(one.kernel_busy_ns, 100);
  EXPECT_EQ(one.gap_tail_ns, 400);
  // It is the sum of times that counts, not when or how often.
  f.launch("c", 3000, 3150);
  f.launch("c", 4000, 4150);
  EXPECT_EQ(account(f).device_id, 2);
  f.launch("c", 5000, 5150);
  EXPECT_EQ(account(f).device_id, 1) << "100 and three times 150 are more than 500";
}

// Whatever happens on however many streams, the parts are the step.
TEST(Accounting, RandomTimelinesAddUp) {
  std::mt19937 random(3);
  const auto below = [&](std::int64_t n) {
    return static_cast<std::int64_t>(random() % static_cast<unsigned>(n));
  };
  for (int round = 0; round < 200; ++round) {
    FabricatedModel f;
    f.kernel("nccl", KernelClass::communication);
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
            if (below(4) != 0) {
              const std::int64_t entered = start - below(300);
              host(launch, entered, start - below(50));
            }
            if (below(3) != 0) launch.thread_id = below(3);
            launch.stream_id = below(3);
          }
        }
      }
      f.launch("last", at + 390, at + 400 + below(200));
      at += 500;
    }
    if (round % 2 == 0) record_waits(f);
    for (std::int64_t thread = 1; thread < 3; ++thread) {
      for (std::int64_t start = 1000 + below(100); start < at; start += 100 + below(100))
        wait(f, thread, start, start + below(100));
    }
    f.done();
    for (std::int64_t step = 0; step < 4; ++step) {
      const auto steps = analyze_steps(f.model, {.step_index = step}).value();
      const Accounting a = accepted(account_step(f.model, steps));
      EXPECT_EQ(a.remainder_ns, 0);
      EXPECT_EQ(a.step_ns, a.kernel_busy_ns + a.copy_exposed_ns + a.memset_exposed_ns + a.gap_total_ns);
      EXPECT_EQ(a.gap_total_ns, a.gap_launch_bound_ns + a.gap_host_bound_ns + a.gap_queued_ns +
                                    a.gap_unknown_ns + a.gap_tail_ns + a.gap_synchronisation_ns.value_or(0));
      EXPECT_EQ(a.gap_synchronisation_ns.has_value(), round % 2 == 0);
      EXPECT_GE(a.gap_host_bound_ns, 0);
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
