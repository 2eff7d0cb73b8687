#include "ridgeline/reports/what_if_document.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "documents_testing.h"

namespace ridgeline::reports {
namespace {

using analyzer::AbsenceCause;
using analyzer::GainRange;
using analyzer::PowerTerm;
using analyzer::WhatIf;

// Two changes of a step of 50 ms.
WhatIf made_answer() {
  WhatIf answer;
  answer.step_ns = 50e6;
  answer.check.steps = 20;
  answer.check.measured_ns = 50e6;
  answer.check.simulated_ns = 50.1e6;
  answer.check.order_recorded = true;
  analyzer::TransformAnswer faster;
  faster.transform = analyzer::Faster{"attention*", 1.5};
  faster.launches = faster.changed = 24;
  faster.before_ns = 6e6;
  faster.after_ns = 4e6;
  faster.gain = {2e6, 2e6, GainRange{1.8e6, 1.7e6, 1.9e6}, {}};
  analyzer::TransformAnswer fused;
  fused.transform = analyzer::Fused{"bias", "gelu"};
  fused.launches = fused.changed = 12;
  fused.before_ns = 1e6;
  fused.after_ns = 0.6e6;
  fused.shared_bytes = 3e6;
  fused.left = 2;
  fused.left_alone = analyzer::LeftAlone::traffic_unknown;
  fused.gain = {0.4e6, 0.4e6, GainRange{0.5e6, {}, {}}, {}};
  answer.transforms = {faster, fused};
  answer.together = {2.4e6, 2.4e6, GainRange{2.25e6, 2.1e6, 2.3e6}, {}};
  answer.power.state = PowerTerm::State::clear;
  answer.power.limited_ratio = 0.1;
  return answer;
}

class WhatIfDocumentTest : public ::testing::Test {
 protected:
  [[nodiscard]] std::string text(Format format) const {
    DocumentOptions how;
    how.format = format;
    return what_if_document(capture_.model, capture_.analysis, answer_, how).text();
  }
  WhatIf answer_ = made_answer();
  testing::TemporaryCapture capture_;
};

TEST_F(WhatIfDocumentTest, TheFourFiguresStandInTheirOrderWithUnits) {
  const std::string out = text(Format::text);
  const std::size_t bound = out.find("Amdahl's bound"), naive = out.find("Naive sum"),
                    simulated = out.find("Simulated "), power = out.find("After power");
  ASSERT_NE(power, std::string::npos) << out;
  EXPECT_LT(bound, naive);
  EXPECT_LT(naive, simulated);
  EXPECT_LT(simulated, power);
  EXPECT_NE(out.find("2.250"), std::string::npos);
  EXPECT_NE(out.find("between 2.100 and 2.300 ms"), std::string::npos);
  EXPECT_NE(out.find("the limit does not hold the clock"), std::string::npos);
  EXPECT_NE(out.find("bias and gelu fused: 2 of 12 pairs lose only the launch"), std::string::npos) << out;
  EXPECT_NE(
      text(Format::markdown).find("- Simulated: 2.250 ms, 4.5 % of the step (between 2.100 and 2.300 ms)"),
      std::string::npos);
}

TEST_F(WhatIfDocumentTest, RowsAreOfEachChangeAloneAndOfAllTogether) {
  const Table table = what_if_table(answer_);
  ASSERT_EQ(table.size(), 3U);
  EXPECT_EQ(table.cell(0, "what").words(), "attention* 1.5x as fast");
  EXPECT_EQ(table.cell(1, "what").words(), "bias and gelu fused");
  EXPECT_EQ(table.cell(2, "what").words(), "together");
  EXPECT_EQ(table.cell(0, "simulated_ns").words(), "1.800");
  EXPECT_EQ(table.cell(1, "left_because").words(), "traffic_unknown");
  EXPECT_EQ(table.cell(1, "simulated_low_ns").value(), Scalar());
  EXPECT_EQ(table.cell(2, "naive_ns").words(), "2.400");
  answer_.transforms.front().transform = analyzer::AsGraph{};
  answer_.transforms.front().before_ns = answer_.transforms.front().after_ns = 0;
  EXPECT_EQ(what_if_table(answer_).cell(0, "before_ns").words(), "") << "a graph changes no kernel's time";
  answer_.transforms.pop_back();
  EXPECT_EQ(what_if_table(answer_).size(), 1U) << "one change together with itself says nothing";
}

TEST_F(WhatIfDocumentTest, JsonHasWhatEveryFigureRestsOn) {
  const nlohmann::json document = nlohmann::json::parse(text(Format::json));
  EXPECT_EQ(document["format"], "ridgeline.what_if");
  EXPECT_EQ(document["rows"].size(), 3U);
  EXPECT_DOUBLE_EQ(document["together"]["simulated"]["value_ns"].get<double>(), 2.25e6);
  EXPECT_TRUE(document["together"]["after_power"].is_null());
  EXPECT_EQ(document["replay"]["known"], true);
  EXPECT_EQ(document["power"]["limit"], "clear");
  EXPECT_TRUE(document["power"]["alpha"].is_null());
}

TEST_F(WhatIfDocumentTest, WhatIsNotSimulatedSaysWhyAndWhere) {
  analyzer::Absence why;
  why.cause = AbsenceCause::not_reproduced;
  answer_.check.why = {why};
  answer_.check.worst = {"gemm", 17, 300'000};
  answer_.together.simulated.reset();
  const std::string out = text(Format::text);
  EXPECT_NE(out.find("cannot be said"), std::string::npos);
  const std::string sentence = no_replay_text(answer_.check);
  EXPECT_NE(sentence.find("does not give the recorded step"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("launch 17 (gemm), which begins 300.0 µs later"), std::string::npos) << sentence;
  EXPECT_NE(out.find("2.400"), std::string::npos) << "bound and sum all the same";
}

TEST_F(WhatIfDocumentTest, ThePowerLimitIsSaidWithItsExponents) {
  answer_.power.state = PowerTerm::State::holds;
  answer_.power.limited_ratio = 0.9;
  answer_.power.power_w = 695;
  answer_.power.alpha = {1.4, 2, 2.4};
  answer_.power.beta = {0.3, 0.5, 0.8};
  answer_.together.after_power = GainRange{1.7e6, 1e6, 2.2e6};
  const std::string sentence = power_term_text(answer_.power);
  EXPECT_NE(sentence.find("90 % of the samples, 695 W"), std::string::npos) << sentence;
  EXPECT_NE(sentence.find("alpha 2.0 (1.4 to 2.4)"), std::string::npos);
  EXPECT_NE(text(Format::text).find("between 1.000 and 2.200 ms"), std::string::npos);
  const nlohmann::json document = nlohmann::json::parse(text(Format::json));
  EXPECT_DOUBLE_EQ(document["power"]["beta"]["high"].get<double>(), 0.8);
  answer_.power.state = PowerTerm::State::unknown;
  EXPECT_NE(power_term_text(answer_.power).find("was not recorded"), std::string::npos);
}

TEST(TransformText, SaysEachInAFewWords) {
  EXPECT_EQ(transform_text(analyzer::AtRoof{0.85, "*"}), "every kernel at 85 % of the nearest roof");
  EXPECT_EQ(transform_text(analyzer::AtRoof{0.7, "k"}), "k at 70 % of the nearest roof");
  EXPECT_EQ(transform_text(analyzer::InPrecision{"k", analyzer::Precision::fp8}), "k in fp8");
  EXPECT_EQ(transform_text(analyzer::AsGraph{}), "launched as a graph");
  EXPECT_EQ(transform_text(analyzer::HiddenCopies{}), "copies hidden");
}

}  // namespace
}  // namespace ridgeline::reports
