#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "findings/pace.h"
#include "generate/generate.h"
#include "generate/rank_job.h"
#include "ridgeline/analyzer/session/session.h"
#include "support/analysis_fields.h"
#include "support/temporary_directory.h"

namespace ridgeline::analyzer {
namespace {

using ridgeline::testing::accepted;

using ridgeline::testing::TemporaryDirectory;

Session made(const TemporaryDirectory& directory, generate::Shape shape, std::int64_t launches) {
  generate::Options options;
  options.shape = shape;
  options.launches = launches;
  options.replay_steps = 3;
  const std::string path = directory.file("made.ridge");
  generate::generate(options, *generate::make_capture_sink(path));
  return Session::open(path).value();
}

const Finding* finding(const Findings& findings, FindingCode code) {
  const auto found =
      std::find_if(findings.begin(), findings.end(), [&](const Finding& f) { return f.code == code; });
  return found == findings.end() ? nullptr : &*found;
}

// Like Hugging Face's GPT-2 in eager mode: the CPU needs 97 % of the step.
TEST(Reach, OfAProgramThatTheCpuPacesNextToNothingReachesTheStep) {
  TemporaryDirectory directory;
  Session session = made(directory, generate::Shape::eager, 1153 * 14);
  const auto ranking = session.ranking().value();
  ASSERT_TRUE(ranking->reach.has_value());
  const StepReach& reach = *ranking->reach;
  ASSERT_TRUE(reach.known());
  EXPECT_EQ(reach.launches_with_call, reach.launches);
  const auto step = static_cast<double>(reach.measured_ns);
  EXPECT_NEAR(reach.simulated_ns, step, 0.01 * step);
  EXPECT_NEAR(reach.without_gpu_ns / step, 0.97, 0.01);
  EXPECT_GT(ranking->totals.saved_target_ns, 0.15 * step) << "so much less time kernels would take";
  EXPECT_LT(reach.target_ns, 0.02 * step) << "and so much shorter the step would be";
  EXPECT_LE(reach.stretch_ns, step - reach.without_gpu_ns + 1000);
  double longest = 1e18;
  for (const RankingRow& row : ranking->rows) {
    ASSERT_TRUE(row.reached_target_ns.has_value());
    EXPECT_GE(*row.reached_target_ns, 0);
    EXPECT_LE(*row.reached_target_ns, std::min(row.saved_target_ns, reach.target_ns) + 1);
    const double rank = std::round(*row.reached_target_ns / 1000);
    EXPECT_LE(rank, longest) << "the order is that of what reaches the step";
    longest = rank;
  }
  const auto analysis = session.analysis().value();
  const Findings* findings = &analysis->quality.findings;
  const Finding* held = finding(*findings, FindingCode::saving_held_back);
  ASSERT_NE(held, nullptr);
  EXPECT_DOUBLE_EQ(held->value("saved_ns"), ranking->totals.saved_target_ns);
  EXPECT_DOUBLE_EQ(held->value("reached_ns"), reach.target_ns);
  EXPECT_EQ(held->severity, Severity::warning);
  const Finding* idle = finding(*findings, FindingCode::gpu_idle);
  ASSERT_NE(idle, nullptr);
  EXPECT_EQ(idle, findings->data()) << "said first";
  EXPECT_GT(idle->value("host_bound_ns"), 0.2 * step);
  // The verdict's promise is of the step, too.
  ASSERT_TRUE(analysis->check.missed_reached_ns.has_value());
  EXPECT_LE(*analysis->check.missed_reached_ns, reach.target_ns + 1);
}

TEST(Pace, CommunicationThatNothingHidesIsAFinding) {
  RepresentativeStep step;
  step.summary.phase = Phase::timeline;
  Accounting accounting;
  accounting.step_ns = 10'000'000;
  accounting.communication_sum_ns = 4'000'000;
  accounting.communication_exposed_ns = 2'500'000;
  const Findings much = accepted(pace_findings(step, accounting, {}));
  const Finding* found = finding(much, FindingCode::communication);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(code_word(*found), "pace.communication");
  EXPECT_EQ(found->severity, Severity::warning);
  EXPECT_DOUBLE_EQ(*found->step_share, 0.25);
  EXPECT_DOUBLE_EQ(found->value("communication_ns"), 4e6);
  accounting.communication_exposed_ns = 900'000;
  EXPECT_EQ(finding(accepted(pace_findings(step, accounting, {})), FindingCode::communication), nullptr)
      << "it does not dominate";
}

// Where a rank of a job waits, its capture says whom to ask.
TEST(Pace, CommunicationOfARankSaysHowManyRanksAreHere) {
  TemporaryDirectory directory;
  generate::RankJob job;
  job.steps = 6;
  job.cause = generate::RankCause::more_work;
  job.late_ns = 9e6;
  const generate::RankJobTruth truth = generate::generate_rank_job(job, directory.path());
  Session session = Session::open(truth.files.front()).value();
  const auto analysis = session.analysis().value();
  const Finding* found = finding(analysis->quality.findings, FindingCode::communication);
  ASSERT_NE(found, nullptr);
  EXPECT_EQ(found->value("ranks"), 1);
}

TEST(Reach, OfATokenNothingReachesTheStep) {
  TemporaryDirectory directory;
  Session session = made(directory, generate::Shape::decode, 755 * 14);
  const auto ranking = session.ranking().value();
  ASSERT_TRUE(ranking->reach && ranking->reach->known());
  EXPECT_LT(ranking->reach->target_ns, 10'000);
  EXPECT_GT(ranking->reach->without_gpu_ns, 0.99 * static_cast<double>(ranking->reach->measured_ns));
  // What the GPU itself could save says where to begin, not how long a kernel is that may be at its roof.
  std::size_t equals = 0;
  bool longer_behind = false;
  for (std::size_t i = 1; i < ranking->rows.size(); ++i) {
    const RankingRow &before = ranking->rows[i - 1], &row = ranking->rows[i];
    if (std::round(*before.reached_target_ns / 1000) != std::round(*row.reached_target_ns / 1000)) continue;
    ++equals;
    EXPECT_GE(before.saved_target_ns, row.saved_target_ns) << before.key << " before " << row.key;
    longer_behind = longer_behind || before.time_ns < row.time_ns;
  }
  EXPECT_GT(equals, 2u);
  EXPECT_TRUE(longer_behind) << "the order is not that of kernel time";
  const auto analysis = session.analysis().value();
  const Findings* findings = &analysis->quality.findings;
  const Finding* idle = finding(*findings, FindingCode::gpu_idle);
  ASSERT_NE(idle, nullptr);
  EXPECT_GT(*idle->step_share, 0.9);
  EXPECT_GT(idle->value("longest_host_bound_ns"), 38e6) << "the pause between two tokens";
}

TEST(Reach, APartOfAStepShortensTheWholeOfIt) {
  TemporaryDirectory directory;
  Session session = made(directory, generate::Shape::eager, 1153 * 14);
  const auto whole = session.ranking().value();
  const auto steps = session.steps().value();
  const RepresentativeStep& step = steps->representative;
  Scope first_half{.steps = StepSelection::one(step.summary.step_index)};
  first_half.window = TimeWindow{step.window_start_ns, (step.window_start_ns + step.window_end_ns) / 2};
  const auto part = session.ranking(first_half).value();
  ASSERT_TRUE(part->reach && part->reach->known());
  EXPECT_EQ(part->reach->measured_ns, whole->reach->measured_ns);
  EXPECT_NEAR(part->reach->without_gpu_ns, whole->reach->without_gpu_ns, 1);
  EXPECT_LT(part->totals.saved_target_ns, whole->totals.saved_target_ns);
  EXPECT_LE(part->reach->target_ns, whole->reach->target_ns + 1);
}

TEST(Reach, StepsTogetherAddUp) {
  TemporaryDirectory directory;
  Session session = made(directory, generate::Shape::decode, 755 * 14);
  const auto all = session.ranking({.steps = StepSelection::all_of(Phase::timeline)}).value();
  ASSERT_TRUE(all->reach.has_value());
  if (!all->reach->known()) {
    // The last of them is open: there is no next one whose start would end it.
    EXPECT_EQ(all->reach->why.front().cause, AbsenceCause::not_reproduced);
    return;
  }
  EXPECT_EQ(all->reach->measured_ns, all->totals.step_ns);
}

TEST(Reach, IsUnknownWhereWaitsOfTheCpuWereNotRecorded) {
  TemporaryDirectory directory;
  Session session = made(directory, generate::Shape::after, 6000);
  const auto ranking = session.ranking().value();
  ASSERT_TRUE(ranking->reach.has_value());
  ASSERT_FALSE(ranking->reach->known());
  EXPECT_EQ(ranking->reach->why.front().cause, AbsenceCause::waits_not_recorded);
  EXPECT_FALSE(ranking->rows.front().reached_target_ns.has_value());
  const auto analysis = session.analysis().value();
  EXPECT_FALSE(analysis->check.missed_reached_ns.has_value());
  EXPECT_EQ(finding(analysis->quality.findings, FindingCode::saving_held_back), nullptr);
  // The order is then that of kernel time saved.
  for (std::size_t i = 1; i < ranking->rows.size(); ++i)
    EXPECT_GE(ranking->rows[i - 1].saved_target_ns, ranking->rows[i].saved_target_ns);
}

TEST(Reach, RowsTooManyToSimulateAreLeftOut) {
  TemporaryDirectory directory;
  const std::string path = directory.file("made.ridge");
  generate::Options options;
  options.shape = generate::Shape::eager;
  options.launches = 1153 * 14;
  generate::generate(options, *generate::make_capture_sink(path));
  AnalysisOptions few;
  few.reach.max_visits = 100'000;
  Session session = Session::open(path, few).value();
  const auto ranking = session.ranking({}, RankingKey::launch).value();
  ASSERT_TRUE(ranking->reach && ranking->reach->known());
  EXPECT_GT(ranking->reach->rows_left_out, 0);
  EXPECT_LT(ranking->reach->rows_left_out, static_cast<std::int64_t>(ranking->rows.size()));
}

}  // namespace
}  // namespace ridgeline::analyzer
