#include "ridgeline/reports/finding_text.h"

#include <gtest/gtest.h>

namespace ridgeline::reports {
namespace {

using analyzer::Finding;
using analyzer::FindingCode;

Finding finding(FindingCode code, std::int64_t count, std::vector<analyzer::Evidence> evidence = {}) {
  Finding f{.code = code, .count = count};
  f.evidence = std::move(evidence);
  return f;
}

TEST(FindingText, EveryCodeHasWordsAndNoneNeedsItsEvidence) {
  for (const auto& word : Vocabulary<FindingCode>::kWords) {
    Finding f = finding(word.value, 3);
    f.detail = "what was said";
    f.subject.name = "somebody";
    EXPECT_GT(finding_text(f).size(), 10u) << word.text;
  }
}

TEST(FindingText, RunsOfStepsAndTheirLimits) {
  Finding f = finding(
      FindingCode::steps_outlier, 4,
      {{"shortest_ns", 53.93e6, {}, {}}, {"longest_ns", 59.95e6, {}, {}}, {"median_ns", 50.88e6, {}, {}}});
  f.subject.steps = {16, 17, 18, 19};
  EXPECT_EQ(
      finding_text(f),
      "steps 16 to 19 took 53.930 ms to 59.950 ms against a median of 50.880 ms: something disturbed them");
  f.detail = "power limit";
  f.evidence.push_back({"lowest_hz", 1.29e9, {}, {}});
  f.evidence.push_back({"others_hz", 1.665e9, {}, {}});
  EXPECT_EQ(finding_text(f),
            "steps 16 to 19 took 53.930 ms to 59.950 ms against a median of 50.880 ms: the SM clock fell to "
            "1290 MHz "
            "in them (power limit), against 1665 MHz in the others");
  f.evidence.resize(3);
  f.detail = {};
  f.subject.steps = {16, 17, 20, 22};
  EXPECT_NE(finding_text(f).find("4 steps (16 to 17, 20, 22) took"), std::string::npos);
  f.subject.steps = {1, 3, 5, 7, 9, 11};
  EXPECT_NE(finding_text(f).find("(1, 3, 5, 7, 9, …)"), std::string::npos);
  f.count = 1;
  f.subject.steps = {7};
  EXPECT_NE(finding_text(f).find("step 7 took 53.930 ms against"), std::string::npos);
  EXPECT_NE(finding_text(f).find("disturbed it"), std::string::npos);
}

TEST(FindingText, OneOfSeveralProcessesIsNamed) {
  Finding tier = finding(FindingCode::tier_failed, 1, {});
  tier.subject.tier = Tier::t1;
  tier.subject.process_id = 2;
  tier.detail = "no samples";
  EXPECT_EQ(finding_text(tier), "T1 failed: no samples");
  tier.evidence = {{"processes", 4, {}, {}}};
  EXPECT_EQ(finding_text(tier), "T1 failed in process 2: no samples");
  tier.count = 3;
  EXPECT_EQ(finding_text(tier), "T1 failed in 3 processes: no samples");
  Finding message = finding(FindingCode::collector, 1, {{"processes", 4, {}, {}}});
  message.detail = "the buffer was full";
  EXPECT_EQ(finding_text(message), "the buffer was full") << "of no process";
  message.subject.process_id = 3;
  EXPECT_EQ(finding_text(message), "process 3: the buffer was full");
}

TEST(FindingText, OneCaseAndSeveral) {
  Finding replay = finding(
      FindingCode::t2_disagreement, 1,
      {{"replay_ns", 120e3, {}, {}}, {"timeline_ns", 100e3, {}, {}}, {"difference_ratio", 0.2, {}, {}}});
  replay.subject.name = "void kernel(float*)";
  EXPECT_EQ(finding_text(replay).rfind(
                "kernel took 120.0 µs in replay against 100.0 µs in the timeline (+20.0 %)", 0),
            0u)
      << finding_text(replay);
  replay.count = 9;
  EXPECT_EQ(finding_text(replay).rfind(
                "9 kernels ran faster or slower when serialised in replay; worst: kernel", 0),
            0u)
      << finding_text(replay);
  Finding failed = finding(FindingCode::steps_not_ok, 8);
  failed.subject.phase = Phase::replay;
  failed.subject.status = StepStatus::failed;
  failed.subject.steps = {3, 4, 5, 6, 7, 8, 9, 10};
  failed.detail = "no counters";
  EXPECT_EQ(finding_text(failed), "8 replay steps (3 to 10) are failed: no counters");
  Finding refused = finding(FindingCode::tier_refused, 2);
  refused.subject.tier = Tier::t2;
  refused.detail = "not permitted";
  EXPECT_EQ(finding_text(refused), "T2 refused in 2 processes: not permitted");
  refused.count = 1;
  EXPECT_EQ(finding_text(refused), "T2 refused: not permitted");
  Finding message = finding(FindingCode::collector, 3);
  message.detail = "careful";
  EXPECT_EQ(finding_text(message), "careful (3 times)");
}

TEST(FindingText, DifferencesKeepTheirSign) {
  Finding f = finding(FindingCode::t1_disagreement, 1,
                      {{"dram_t1_ratio", 0.35, Tier::t1, 0.005},
                       {"dram_t2_ratio", 0.40, Tier::t2, {}},
                       {"difference_ratio", -0.05, {}, {}},
                       {"launches", 2, {}, {}},
                       {"mean_ns", 1e6, {}, {}}});
  f.subject.name = "k";
  EXPECT_EQ(finding_text(f),
            "k: DRAM utilisation 35.0 % ± 0.5 by samples (T1) against 40.0 % by counters (T2), −5.0 points "
            "over 2 launches of 1.000 ms");
  f.evidence[0].error = 0.0004;
  EXPECT_NE(finding_text(f).find("35.0 % ± <0.1 by samples"), std::string::npos) << "as in the ranking";
}

TEST(FindingText, WhatRecordingCostsIsSaidWithItsInterval) {
  Finding price = finding(FindingCode::recording_price, 1,
                          {{"alone_ns", 35.4e6, {}, {}},
                           {"recorded_ns", 38.48e6, {}, {}},
                           {"difference_ratio", 0.087, {}, {}},
                           {"error_ratio", 0.006, {}, {}},
                           {"steps_alone", 9, {}, {}},
                           {"steps_recorded", 12, {}, {}},
                           {"launches", 4302, {}, {}}});
  EXPECT_EQ(finding_text(price),
            "alone 35.400 ms, recorded 38.480 ms a step (+8.7 % ± 0.6): no more than steps vary by; 9 and 12 "
            "steps");
  Finding shorter = price;
  shorter.evidence[2].value = -0.064;
  EXPECT_NE(
      finding_text(shorter).find("(−6.4 % ± 0.6): recording makes no step longer; those alone include what"),
      std::string::npos)
      << finding_text(shorter);
  price.magnitude_ns = 3.08e6;
  price.evidence.push_back({"gaps_ns", 3e6, {}, {}});
  price.evidence.push_back({"remained_ns", 860'000, {}, {}});
  EXPECT_EQ(finding_text(price),
            "alone 35.400 ms, recorded 38.480 ms a step (+8.7 % ± 0.6), 716 ns a launch, of which gaps that "
            "wait for "
            "launches 3.000 ms; 9 and 12 steps; alone without 860.0 µs of callbacks that remained; alone "
            "includes what CUPTI takes with its records off");
  price.evidence.push_back({"kept_ns", 3.4e6, {}, {}});
  EXPECT_NE(
      finding_text(price).find("remained; alone without 3.400 ms that CUPTI takes with its records off"),
      std::string::npos);
  price.evidence.back().value = 0;
  EXPECT_NE(finding_text(price).find("alone without 860.0 µs of callbacks that remained"), std::string::npos);
  EXPECT_EQ(finding_text(price).find("CUPTI"), std::string::npos) << "nothing of it reaches the step";
}

TEST(FindingText, WhatSetsThePaceIsSaidWithItsLargestCause) {
  Finding idle = finding(FindingCode::gpu_idle, 9,
                         {{"step_ns", 55.4e6, {}, {}},
                          {"host_bound_ns", 52e6, {}, {}},
                          {"unknown_ns", 1e6, {}, {}},
                          {"longest_host_bound_ns", 38.7e6, {}, {}}});
  idle.magnitude_ns = 53e6;
  idle.step_share = 0.957;
  EXPECT_EQ(finding_text(idle),
            "the GPU is idle for 95.7 % of the step, 53.000 ms of 55.400 ms: for 52.000 ms the CPU was late "
            "with the "
            "next launch; the longest gap lasts 38.700 ms")
      << "its cause is that of most of it, and has been said";
  Finding recorded = idle;
  recorded.evidence.push_back({"idle_alone_ratio", 0.952, {}, {}});
  EXPECT_TRUE(
      finding_text(recorded).starts_with("the GPU is idle for 95.7 % of the step, 53.000 ms of 55.400 ms "
                                         "(95.2 % without what recording adds): for "
                                         "52.000 ms the CPU"))
      << finding_text(recorded);
  EXPECT_EQ(idle_share_text(recorded), "95.7 % of the step (95.2 % without what recording adds)");
  EXPECT_EQ(idle_share_text(idle), "95.7 % of the step");
  idle.evidence.back().name = "longest_queued_ns";
  EXPECT_TRUE(finding_text(idle).ends_with(
      "; the longest gap lasts 38.700 ms (launched work waited for an event, a copy or a stream)"));
  idle.subject.name = "cudaStreamSynchronize";
  EXPECT_TRUE(finding_text(idle).ends_with("; the longest gap lasts 38.700 ms (cudaStreamSynchronize)"));
  Finding held = finding(FindingCode::saving_held_back, 1,
                         {{"saved_ns", 9.438e6, {}, {}},
                          {"reached_ns", 80'000, {}, {}},
                          {"without_gpu_ns", 37.3e6, {}, {}},
                          {"step_ns", 38.45e6, {}, {}},
                          {"target_ratio", 0.7, {}, {}}});
  EXPECT_EQ(finding_text(held),
            "kernels could take 9.438 ms less at 70 % of their roof, but only 80.0 µs of that reach the "
            "step: the CPU "
            "needs 37.300 ms of its 38.450 ms");
  held.evidence[2].value = 10e6;
  EXPECT_TRUE(
      finding_text(held).ends_with(": other streams or the CPU hold the rest back (without GPU work it takes "
                                   "10.000 ms of its 38.450 ms)"));
}

// A capture may hold messages of any length.
TEST(FindingText, AMessageOfAnyLengthIsBounded) {
  Finding message = finding(FindingCode::collector, 1);
  message.detail = "it began " + std::string(100'000, 'x') + " and ended";
  const std::string text = finding_text(message);
  EXPECT_LT(text.size(), 2'100u);
  EXPECT_GT(text.size(), 1'900u);
  EXPECT_EQ(text.substr(0, 9), "it began ");
  EXPECT_TRUE(text.ends_with(" and ended"));
}

}  // namespace
}  // namespace ridgeline::reports
