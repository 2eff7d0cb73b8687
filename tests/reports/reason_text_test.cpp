// The sentence of every reason.
#include "ridgeline/reports/reason_text.h"

#include <gtest/gtest.h>

#include <set>

namespace ridgeline::reports {
namespace {

// A capture may hold a code without its values: words come of it all the same.
TEST(ReasonText, EveryCodeHasItsOwnWordsAndNoneNeedsItsValues) {
  std::set<std::string> words;
  int in_own_words = 0;
  for (const auto& word : Vocabulary<ReasonCode>::kWords) {
    const std::string text = reason_text(Reason(word.value, {}, {"because of this", "and that"}));
    in_own_words += text == "(text lost)";
    words.insert(text);
  }
  // Those that a source says itself have no others: 25 of them, and text_lost.
  EXPECT_EQ(in_own_words, 26);
  EXPECT_EQ(words.size(), std::size(Vocabulary<ReasonCode>::kWords) - 25);
}

TEST(ReasonText, ASourcesOwnWordsAreTakenAsTheyAre) {
  EXPECT_EQ(reason_text("as it was"), "as it was");
  EXPECT_EQ(reason_text(Reason::said(ReasonCode::counters_refused, "run as root", {{"cause", "permission"}})),
            "run as root");
  EXPECT_EQ(reason_text({}), "");
}

TEST(ReasonText, WhatIsBelowFollows) {
  const Reason first = Reason(ReasonCode::no_samples, {}, {Reason(ReasonCode::samples_undecoded)});
  EXPECT_EQ(reason_text(Reason(ReasonCode::no_sampled_values, {{"steps", 4}}, {first})),
            "none of 4 sample steps gave values: no samples: the recording ended before they were decoded");
  EXPECT_EQ(reason_text(Reason::together({Reason(ReasonCode::records_dropped, {{"records", 4}}),
                                          Reason(ReasonCode::bytes_unreadable, {{"bytes", 7}})})),
            "4 records dropped by the driver; 7 bytes of the spool unreadable");
  EXPECT_EQ(reason_text(Reason(ReasonCode::tier, {{"tier", "T2"}, {"outcome", "failed"}}, {"x"})),
            "tier T2 failed: x");
}

TEST(ReasonText, OfAProgramWithoutStepsTheRangesThatWereSeen) {
  Reason none(ReasonCode::no_steps, {{"step_range", "step"}, {"searched", 1}});
  const std::string without = reason_text(none);
  EXPECT_NE(without.find("no period of the launches was found"), std::string::npos) << without;
  EXPECT_NE(without.find("; the program opened no range at all"), std::string::npos) << without;
  const std::string imported =
      reason_text(Reason(ReasonCode::no_steps, {{"step_range", "step"}, {"searched", 1}, {"imported", 1}}));
  EXPECT_EQ(
      imported,
      "no range named \"step\" is in the trace and no period of the launches was found: it counts as one "
      "step; ridgeline import --step-range NAME names the ranges that are its steps; the trace has no range "
      "at all");
  Reason named(ReasonCode::no_steps,
               {{"step_range", "step"}, {"searched", 0}, {"imported", 1}, {"ranges", 2}},
               {Reason(ReasonCode::range_seen, {{"name", "fit"}, {"ranges", 3}})});
  EXPECT_EQ(
      reason_text(named),
      "nothing that is recorded was launched in the ranges named \"step\" of the trace (2): it counts as "
      "one step; ridgeline import --step-range NAME names the ranges that are its steps; outermost ranges: "
      "\"fit\" (3)");
  EXPECT_EQ(reason_text(
                Reason(ReasonCode::steps_by_range,
                       {{"name", "ProfilerStep##"}, {"steps", 3}, {"launches_ratio", 1.0}, {"imported", 1}})),
            "steps are the ranges \"ProfilerStep##\" of the trace: 3 steps, 100 % of the launches in them; "
            "ridgeline import --step-range NAME names others");
  EXPECT_EQ(
      reason_text(Reason(ReasonCode::steps_by_period, {{"steps", 43},
                                                       {"launches", 85},
                                                       {"periods", 1},
                                                       {"step_ns", 40'760'000},
                                                       {"varies", 0},
                                                       {"imported", 1}})),
      "no range of the trace is known as its step; by the period of the launches the import found 43 of 85 "
      "launches, 40.76 ms each: ridgeline import --step-range NAME names others");
  EXPECT_EQ(
      reason_text(Reason(ReasonCode::import_hidden_graphs, {{"launches", 2}, {"duration_ns", 3104}})),
      "2 launches of CUDA graphs, 3.1 µs of GPU time, are in the file without their kernels: record with "
      "nsys profile --cuda-graph-trace=node");
  none.because = {Reason(ReasonCode::range_seen, {{"name", "fit"}, {"ranges", 3}}),
                  Reason(ReasonCode::range_seen, {{"name", "load"}, {"ranges", 1}})};
  EXPECT_NE(reason_text(none).find("outermost ranges seen: \"fit\" (3), \"load\" (1)"), std::string::npos);
}

TEST(ReasonText, APartOfACaptureIsCounted) {
  const Reason part(ReasonCode::part_of_capture, {{"name", "whole.ridge"},
                                                  {"steps", 1},
                                                  {"of_steps", 12},
                                                  {"launches", 30},
                                                  {"of_launches", 360},
                                                  {"duration_ns", 2'000'000}});
  EXPECT_EQ(
      reason_text(part),
      "this is a part of whole.ridge: 1 of 12 steps and 30 of 360 launches, those of a stretch of 2.000 ms "
      "and the steps that measured");
}

}  // namespace
}  // namespace ridgeline::reports
