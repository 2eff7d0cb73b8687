#include "ridgeline/analyzer/values/finding.h"

#include <gtest/gtest.h>

#include "values/merge.h"

namespace ridgeline::analyzer {
namespace {

Finding of_kernel(const std::string& name, double magnitude_ns, Severity severity = Severity::info) {
  Finding finding{.severity = severity, .code = FindingCode::t2_disagreement};
  finding.subject.name = name;
  finding.magnitude_ns = magnitude_ns;
  finding.evidence = {{"replay_ns", magnitude_ns, Tier::t2, {}}};
  return finding;
}

TEST(Findings, OfOneKindAreOneWithTheWorstCase) {
  const Findings all =
      merged({of_kernel("a", 10), of_kernel("b", 30, Severity::warning), of_kernel("c", 20)});
  ASSERT_EQ(all.size(), 1U);
  EXPECT_EQ(all[0].subject.name, "b");
  EXPECT_EQ(all[0].count, 3);
  EXPECT_EQ(all[0].value("replay_ns"), 30);
  EXPECT_EQ(all[0].severity, Severity::warning);
  EXPECT_EQ(all[0].also, (std::vector<std::string>{"a", "c"}));
}

TEST(Findings, OfOtherWordsStayApart) {
  Findings messages;
  for (const char* text : {"x", "y", "x"}) {
    Finding finding{.severity = Severity::warning, .code = FindingCode::collector};
    finding.detail = text;
    messages.push_back(finding);
  }
  const Findings all = merged(messages);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].count, 2);
  EXPECT_EQ(all[1].count, 1);
}

TEST(Findings, ATierOfTwoProcessesIsOne) {
  Findings tiers;
  for (const store::Id process : {1, 2}) {
    for (const Tier tier : {Tier::t1, Tier::t2}) {
      Finding finding{.severity = Severity::warning, .code = FindingCode::tier_refused};
      finding.subject.process_id = process;
      finding.subject.tier = tier;
      tiers.push_back(finding);
    }
  }
  const Findings all = merged(tiers);
  ASSERT_EQ(all.size(), 2U);
  EXPECT_EQ(all[0].count, 2);
  EXPECT_EQ(all[1].subject.tier, Tier::t2);
}

TEST(Findings, CodesHaveTheirWords) {
  Finding finding{.code = FindingCode::missing};
  finding.missing = MissingReason::graph_node;
  EXPECT_EQ(code_word(finding), "missing.graph_node");
  EXPECT_EQ(code_word({.code = FindingCode::steps_outlier}), "steps.outlier");
  EXPECT_EQ(finding.value("nothing"), 0);
  EXPECT_EQ(finding.find("nothing"), nullptr);
}

}  // namespace
}  // namespace ridgeline::analyzer
