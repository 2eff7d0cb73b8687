// A comparison's JSON is the comparison: what is read back renders as what was written.
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "comparison/made_runs.h"
#include "ridgeline/reports/compare_documents.h"

namespace ridgeline::reports {
namespace {

using comparison::Comparison;
using comparison::testing::made_side;
using comparison::testing::MadeKernel;
using comparison::testing::training_step;
using nlohmann::json;

std::string document_of(const Comparison& comparison, ReportFormat format) {
  return compare_document(comparison, format, {}).text();
}

std::vector<MadeKernel> changed() {
  std::vector<MadeKernel> kernels = training_step();
  kernels[1].time_us *= 1.3;
  kernels[1].code = "other";
  kernels[5].time_us *= 0.9;
  kernels[5].block = 512;
  kernels.insert(kernels.begin() + 6, {"step / forward / dropout", "dropout_kernel", 300, 1, "d1"});
  return kernels;
}

// With a value in whatever may have one: budgets, notices, counts, clocks, unpaired sides, other models.
std::vector<Comparison> comparisons() {
  auto a = made_side({.kernels = training_step(), .noise = 0.002}, 4, 1);
  auto b = made_side({.kernels = changed(), .noise = 0.002}, 4, 50);
  for (auto* side : {&a, &b}) {
    for (auto& run : *side) {
      run.power_w = 650;
      run.temperature_c = side == &a ? 60 : 75;
      run.git_commit = side == &a ? "aaaa" : "bbbb";
      run.git_dirty = side == &b;
      run.sites[0].dram_ratio = 0.4;
      run.sites[0].compute_ratio = 0.3;
      run.sites[0].dram_bytes = side == &a ? 1e9 : 1.1e9;
      run.sites[2].counts["smsp__inst_executed.sum"] = side == &a ? 1e6 : 2e6;
    }
  }
  comparison::ComparisonOptions options;
  options.budgets = {{.kernel = "adamw*", .max_time_ns = 1000.0, .reason = "agreed"},
                     {.kernel = "nobody", .min_utilisation_ratio = 0.5}};
  options.confirmation_pairs = 1;
  std::vector<Comparison> made = {comparison::compare(a, b, options).value()};
  made.push_back(comparison::compare({a[0]}, {b[0]}).value());
  made.push_back(comparison::compare(b, a, options).value());  // what was added is removed
  b.pop_back();
  b[0].versions["driver"] = "590";
  made.push_back(comparison::compare(a, b).value());
  for (auto& run : b) run.devices[0].name = "NVIDIA A100";
  made.push_back(comparison::compare(a, b).value());
  return made;
}

TEST(ParseComparison, RendersAsWhatWasWritten) {
  for (const Comparison& written : comparisons()) {
    const std::string text = document_of(written, ReportFormat::json);
    const auto read = parse_comparison(text, "made.json");
    ASSERT_TRUE(read.ok()) << read.failure().message;
    EXPECT_EQ(document_of(read.value(), ReportFormat::json), text);
    for (const ReportFormat format : {ReportFormat::text, ReportFormat::html, ReportFormat::junit,
                                      ReportFormat::csv, ReportFormat::bencher})
      EXPECT_EQ(document_of(read.value(), format), document_of(written, format));
    EXPECT_EQ(comparison::exit_code(read.value()), comparison::exit_code(written));
  }
}

TEST(ParseComparison, RefusesWhatIsNone) {
  for (const char* text : {"3", "[]", "null", "{}", "{\"format\": 3}", "{\"format\": \"ridgeline.rank\"}"}) {
    const auto read = parse_comparison(text, "made.json");
    ASSERT_FALSE(read.ok()) << text;
    EXPECT_NE(read.failure().message.find("no comparison"), std::string::npos) << read.failure().message;
    EXPECT_NE(read.failure().message.find("made.json"), std::string::npos) << read.failure().message;
  }
  json document = json::parse(document_of(comparisons().front(), ReportFormat::json));
  document["version"] = 2;
  EXPECT_NE(parse_comparison(document.dump(), "made.json").failure().message.find("another version"),
            std::string::npos);
  EXPECT_FALSE(parse_comparison("{\"format\"", "made.json").ok());
}

// A count that a document does not know is none; a word that is none is shown as far as it is short.
TEST(ParseComparison, TakesWhatIsNotKnownForNothingAndShowsAWordThatIsNone) {
  json document = json::parse(document_of(comparisons().front(), ReportFormat::json));
  for (const char* key : {"regressed", "improved", "same", "inconclusive", "added", "removed"})
    document["counts"][key] = nullptr;
  const Comparison none = parse_comparison(document.dump(), "made.json").value();
  for (const std::int64_t count :
       {none.regressed, none.improved, none.same, none.inconclusive, none.added, none.removed})
    EXPECT_EQ(count, 0);
  const auto complaint = [&](const std::string& word) {
    document["verdict"] = word;
    return parse_comparison(document.dump(), "made.json").failure().message;
  };
  const std::string forty(40, 'w');
  const std::string unknown = "'verdict' is '" + forty + "', which is not a known verdict of a comparison";
  EXPECT_NE(complaint(forty).find(unknown), std::string::npos) << complaint(forty);
  EXPECT_EQ(complaint(forty + "w").find(forty + "w"), std::string::npos) << complaint(forty + "w");
}

}  // namespace
}  // namespace ridgeline::reports
