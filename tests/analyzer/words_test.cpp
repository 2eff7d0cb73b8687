// Words of the analysis that people read and scripts compare.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <string>

#include "ridgeline/analyzer/ranking/targets.h"
#include "ridgeline/analyzer/ranks/job_analysis.h"
#include "ridgeline/analyzer/session/headline.h"
#include "ridgeline/analyzer/session/session.h"
#include "ridgeline/analyzer/utilisation/bound.h"
#include "ridgeline/analyzer/values/roof.h"
#include "support/accepted_table.h"

namespace ridgeline::analyzer {
namespace {

TEST(Words, OfTheStagesOfAnAnalysis) {
  EXPECT_EQ(to_string(Stage::facts), "facts");
  EXPECT_EQ(to_string(Stage::steps), "steps");
  EXPECT_EQ(to_string(Stage::launches), "launches");
  EXPECT_EQ(to_string(Stage::counters), "counters");
  EXPECT_EQ(to_string(Stage::ranges), "ranges");
  EXPECT_EQ(to_string(Stage::utilisation), "utilisation");
  EXPECT_EQ(to_string(Stage::ranking), "ranking");
  EXPECT_EQ(to_string(Stage::samples), "samples");
  EXPECT_EQ(to_string(Stage::accounting), "accounting");
}

TEST(Words, OfTheLinesOfTheHeadline) {
  EXPECT_EQ(to_string(HeadlineKind::hidden_kernels), "hidden_kernels");
  EXPECT_EQ(to_string(HeadlineKind::idle), "idle");
  EXPECT_EQ(to_string(HeadlineKind::communication), "communication");
  EXPECT_EQ(to_string(HeadlineKind::kernels), "kernels");
  EXPECT_EQ(to_string(HeadlineKind::copies), "copies");
  EXPECT_EQ(to_string(HeadlineKind::verdict), "verdict");
  EXPECT_EQ(to_string(HeadlineKind::caveat), "caveat");
  EXPECT_EQ(to_string(HeadlineKind::advice), "advice");
}

// Roofs, verdicts, kinds of gaps and what they lead to, each with its word.
std::string words_table() {
  std::string table;
  for (int level = 0; level <= static_cast<int>(RoofLevel::launch); ++level) {
    for (int pipe = 0; pipe <= static_cast<int>(Pipe::xu); ++pipe) {
      const Roof roof{static_cast<RoofLevel>(level), static_cast<Pipe>(pipe)};
      if (pipe == 0 || roof.level == RoofLevel::pipe)
        table += fmt::format("roof {} {}: {}\n", level, pipe, to_string(roof));
    }
  }
  for (int precision = 0; precision <= static_cast<int>(Precision::tf32); ++precision) {
    const auto quantity = flops_of(static_cast<Precision>(precision));
    table += fmt::format("precision {}: [{}] {}\n", precision, to_string(static_cast<Precision>(precision)),
                         quantity ? ridgeline::to_string(*quantity) : "none");
  }
  for (const auto& word : Vocabulary<Quantity>::kWords) {
    const Roof roof = roof_of(word.value);
    const auto back = compute_roof(roof_name(word.value));
    table +=
        fmt::format("quantity {}: {} level {} pipe {} precision {} bandwidth {} flops {} back {}\n",
                    word.text, roof_name(word.value), static_cast<int>(roof.level),
                    static_cast<int>(roof.pipe), static_cast<int>(roof.precision), is_bandwidth(word.value),
                    is_flops(word.value), back ? (*back == roof ? "the same" : "another") : "none");
  }
  for (int verdict = 0; verdict <= static_cast<int>(KernelVerdict::not_measured); ++verdict)
    table += fmt::format("kernel {}: {}\n", verdict, to_string(static_cast<KernelVerdict>(verdict)));
  for (int verdict = 0; verdict <= static_cast<int>(OverallVerdict::not_enough_data); ++verdict)
    table += fmt::format("overall {}: {} exits with {}\n", verdict,
                         to_string(static_cast<OverallVerdict>(verdict)),
                         exit_code(static_cast<OverallVerdict>(verdict)));
  for (int bound = 0; bound <= static_cast<int>(KernelBound::unmeasured); ++bound)
    table += fmt::format("bound {}: {}\n", bound, to_string(static_cast<KernelBound>(bound)));
  for (const auto& word : Vocabulary<CollectiveFunction>::kWords)
    table += fmt::format("{}: {:g} of 1 rank, {:g} of 2, {:g} of 8\n", word.text, bus_factor(word.value, 1),
                         bus_factor(word.value, 2), bus_factor(word.value, 8));
  return table;
}

TEST(AcceptedTable, WordsOfTheAnalysis) {
  ridgeline::testing::expect_accepted("analysis-words.txt", words_table());
}

}  // namespace
}  // namespace ridgeline::analyzer
