// headline_test.cpp: which lines a headline has, and in which order.
#include "ridgeline/analyzer/session/headline.h"

#include <gtest/gtest.h>

#include "support/analysis_fields.h"

namespace ridgeline::analyzer {
namespace {

using ridgeline::testing::accepted;

Finding found(FindingCode code, double step_share = 0) {
  Finding finding{.severity = Severity::warning, .code = code};
  if (step_share > 0) finding.step_share = step_share;
  return finding;
}

std::vector<HeadlineKind> kinds(const Analysis& analysis) {
  std::vector<HeadlineKind> out;
  for (const HeadlineLine& line : accepted(headline(analysis))) out.push_back(line.kind);
  return out;
}

Analysis busy() {
  Analysis analysis;
  analysis.accounting.step_ns = 100;
  analysis.accounting.kernel_busy_ns = 60;
  analysis.advice.step_ns = 100;
  return analysis;
}

using Kinds = std::vector<HeadlineKind>;

TEST(Headline, KernelsThenTheirVerdictThenWhatToDo) {
  EXPECT_EQ(kinds(busy()), (Kinds{HeadlineKind::kernels, HeadlineKind::verdict, HeadlineKind::advice}));
}

TEST(Headline, AnIdleGpuStandsInThePlaceOfTheKernels) {
  Analysis analysis = busy();
  analysis.quality.findings = {found(FindingCode::steps_few), found(FindingCode::gpu_idle, 0.4)};
  EXPECT_EQ(kinds(analysis), (Kinds{HeadlineKind::idle, HeadlineKind::verdict, HeadlineKind::advice}));
}

TEST(Headline, TheLargerOfIdleAndCommunicationIsFirst) {
  Analysis analysis = busy();
  analysis.quality.findings = {found(FindingCode::gpu_idle, 0.2), found(FindingCode::communication, 0.3)};
  EXPECT_EQ(kinds(analysis), (Kinds{HeadlineKind::communication, HeadlineKind::idle, HeadlineKind::verdict,
                                    HeadlineKind::advice}));
  analysis.quality.findings.front().step_share = 0.4;
  EXPECT_EQ(kinds(analysis).front(), HeadlineKind::idle);
  analysis.quality.findings.front().step_share = 0.3;
  EXPECT_EQ(kinds(analysis).front(), HeadlineKind::idle) << "of equals the first found";
}

TEST(Headline, CopiesWhereTheyTakeMoreThanKernels) {
  Analysis analysis = busy();
  analysis.accounting.copy_exposed_ns = 40;
  analysis.accounting.memset_exposed_ns = 20;
  EXPECT_EQ(kinds(analysis).front(), HeadlineKind::kernels) << "of equals the kernels";
  analysis.accounting.memset_exposed_ns = 21;
  EXPECT_EQ(kinds(analysis).front(), HeadlineKind::copies);
}

TEST(Headline, CaveatsFollowTheVerdictAndHiddenKernelsComeBeforeAll) {
  Analysis analysis = busy();
  analysis.quality.findings = {found(FindingCode::saving_held_back, 0.1),
                               found(FindingCode::gpu_idle, 0.3),
                               found(FindingCode::recording_price),
                               {.severity = Severity::error,
                                .code = FindingCode::collector,
                                .detail = Reason(ReasonCode::import_hidden_graphs, {})},
                               found(FindingCode::collector)};
  EXPECT_EQ(kinds(analysis), (Kinds{HeadlineKind::hidden_kernels, HeadlineKind::idle, HeadlineKind::verdict,
                                    HeadlineKind::caveat, HeadlineKind::caveat, HeadlineKind::advice}));
  const std::vector<HeadlineLine> lines = accepted(headline(analysis));
  EXPECT_EQ(lines[3].finding->code, FindingCode::saving_held_back);
  EXPECT_EQ(lines[4].finding->code, FindingCode::recording_price);
  const Findings findings = accepted(headline_findings(analysis.quality));
  ASSERT_EQ(findings.size(), 4U) << "each once, the last is of no line";
  EXPECT_EQ(findings.front().code, FindingCode::collector);
  EXPECT_FALSE(is_of_headline(analysis.quality.findings.back()));
  analysis.quality.findings[2].severity = Severity::info;
  EXPECT_EQ(accepted(headline(analysis)).size(), 5U) << "a price within what steps vary by is none";
}

TEST(Headline, SaysNothingOfWhatIsNotKnown) {
  EXPECT_EQ(kinds({}), Kinds{HeadlineKind::verdict});
  Analysis analysis;
  analysis.accounting.step_ns = 100;
  EXPECT_EQ(kinds(analysis), Kinds{HeadlineKind::verdict}) << "nothing ran";
}

}  // namespace
}  // namespace ridgeline::analyzer
