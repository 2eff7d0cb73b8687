// What the steps of a capture got done in their time.
#include "ridgeline/queries/step_pace_query.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "generate/generate.h"
#include "generate/rank_job.h"
#include "ridgeline/analyzer/session/session.h"
#include "ridgeline/queries/capture_queries.h"
#include "support/temporary_directory.h"

namespace ridgeline::queries {
namespace {

const std::string kBundledCapture = std::string(RIDGELINE_SOURCE_DIR) + "/examples/gpt2-h200.ridge";

TEST(StepPaceQuery, OfTheBundledCaptureHasTokensASecondAndNoMemory) {
  const store::Capture capture = store::Capture::open(kBundledCapture).value();
  analyzer::Session session = analyzer::Session::open(kBundledCapture).value();
  const auto steps = session.steps().value();
  const auto pace = ask_step_pace(capture, *steps).value();
  ASSERT_EQ(pace.size(), steps->steps.size());
  std::size_t with_tokens = 0;
  for (std::size_t i = 0; i < pace.size(); ++i) {
    EXPECT_EQ(pace[i].step_id, steps->steps[i].step_id);
    EXPECT_FALSE(pace[i].allocated_bytes) << "it is older than the table of calls that take memory";
    if (!pace[i].tokens_per_s) continue;
    ++with_tokens;
    EXPECT_EQ(pace[i].size.tokens, 32768);
    EXPECT_NEAR(*pace[i].tokens_per_s, 32768e9 / static_cast<double>(steps->steps[i].gpu_duration_ns), 1e-3);
  }
  EXPECT_GT(with_tokens, 10U);
  std::stop_source stopped;
  stopped.request_stop();
  EXPECT_EQ(ask_step_pace(capture, *steps, stopped.get_token()).failure().kind, ErrorKind::cancelled);
}

// Each tenth launch of the generator takes or returns a mebibyte, three of them at most.
TEST(StepPaceQuery, MemoryIsTheMostThatWasHeldInTheStep) {
  const testing::TemporaryDirectory folder;
  const std::string path = folder / "memory.ridge";
  ridgeline::generate::Options options;
  options.launches = 1200;
  options.launches_per_step = 100;
  options.order = true;
  ridgeline::generate::generate(options, *ridgeline::generate::make_capture_sink(path));
  const store::Capture capture = store::Capture::open(path).value();
  analyzer::Session session = analyzer::Session::open(path).value();
  const auto steps = session.steps().value();
  const auto pace = ask_step_pace(capture, *steps).value();
  ASSERT_EQ(pace.size(), steps->steps.size());
  std::int64_t most = 0;
  for (const analyzer::StepPace& one : pace) {
    ASSERT_TRUE(one.allocated_bytes);
    EXPECT_FALSE(one.tokens_per_s) << "the program declares none";
    most = std::max(most, *one.allocated_bytes);
  }
  EXPECT_EQ(most, 3145728);
  CaptureQueries queries(path);
  const std::string text = queries.ask(StepsQuery{}, {}).value().document.text();
  EXPECT_NE(text.find("Device memory that it held: "), std::string::npos) << text;
  EXPECT_EQ(text.find("Pace, "), std::string::npos) << "steps a second are the GPU times once more";
}

// Two sampled steps behind four of the timeline: bytes over the links are of those, and of no other.
TEST(StepPaceQuery, BytesOverTheLinksAreOfSampledSteps) {
  const testing::TemporaryDirectory folder;
  ridgeline::generate::RankJob job;
  job.steps = 4;
  job.sampled_steps = 2;
  const auto truth = ridgeline::generate::generate_rank_job(job, folder.path());
  const std::string& path = truth.files.front();
  const store::Capture capture = store::Capture::open(path).value();
  analyzer::Session session = analyzer::Session::open(path).value();
  const auto steps = session.steps().value();
  const auto pace = ask_step_pace(capture, *steps).value();
  ASSERT_EQ(pace.size(), 6U);
  const double due = 6 * static_cast<double>(truth.bucket_bytes);  // of two ranks each sends every byte once
  for (std::size_t i = 0; i < pace.size(); ++i) {
    const store::LinkBytes& links = pace[i].links;
    EXPECT_EQ(links.nvlink_sent_bytes.has_value(), i >= 4) << "step " << i;
    if (i < 4) continue;
    EXPECT_NEAR(*links.nvlink_sent_bytes, ridgeline::generate::kLinkOverhead * due, 0.02 * due);
    EXPECT_EQ(links.nvlink_sent_bytes, links.nvlink_received_bytes);
    ASSERT_TRUE(links.pcie_received_bytes.has_value());
    EXPECT_GT(*links.pcie_received_bytes, 0);
    EXPECT_LT(*links.pcie_received_bytes, 2 * 65'536) << "tokens come before the first kernel of their step";
    EXPECT_EQ(links.pcie_sent_bytes, 0);
  }
  CaptureQueries queries(path);
  const std::string text = queries.ask(StepsQuery{}, {}).value().document.text();
  EXPECT_NE(text.find("NVLink out"), std::string::npos) << text;
  EXPECT_EQ(text.find("tokens/s"), std::string::npos) << "columns of what nobody knows are left out";
}

TEST(StepPaceQuery, TheStepsDocumentHasIt) {
  CaptureQueries queries(kBundledCapture);
  reports::DocumentOptions how;
  how.format = reports::Format::json;
  const auto document = nlohmann::json::parse(queries.ask(StepsQuery{}, how).value().document.text());
  std::size_t with_tokens = 0;
  for (const auto& row : document["rows"]) {
    EXPECT_TRUE(row["allocated_bytes"].is_null());
    if (!row["tokens_per_s"].is_null()) ++with_tokens;
  }
  EXPECT_GT(with_tokens, 10U);
  const std::string text = queries.ask(StepsQuery{}, {}).value().document.text();
  EXPECT_NE(text.find("Pace, the median of 12 steps: "), std::string::npos) << text;
  EXPECT_NE(text.find("tokens/s"), std::string::npos);
  EXPECT_EQ(text.find("Device memory that it held"), std::string::npos);
}

}  // namespace
}  // namespace ridgeline::queries
