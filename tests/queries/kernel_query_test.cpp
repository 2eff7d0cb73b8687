// One kernel: which one a text means, what is said of it, and how Nsight Compute is told to profile it.
#include "ridgeline/queries/kernel_query.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>

#include "reports/fabricated_capture.h"
#include "ridgeline/queries/capture_queries.h"
#include "support/temporary_directory.h"

namespace ridgeline::queries {
namespace {

using nlohmann::json;

analyzer::Ranking ranking_of(const std::vector<std::string>& kernels) {
  analyzer::Ranking ranking;
  for (const std::string& kernel : kernels) {
    analyzer::RankingRow row;
    row.key = row.kernel = kernel;
    ranking.rows.push_back(row);
  }
  return ranking;
}

TEST(FunctionName, IsWithoutReturnTypeNamespacesAndArguments) {
  EXPECT_EQ(function_name("nvjet_sm90_tst_128x160_64x5_1x1_v_bz_bias_TNT"),
            "nvjet_sm90_tst_128x160_64x5_1x1_v_bz_bias_TNT");
  EXPECT_EQ(function_name("void a::(anonymous namespace)::k<__nv_bfloat16, 3, false>(float*, long)"), "k");
  EXPECT_EQ(function_name("void a::k<(a::Kind)1, b::C<(a::Kind)1, 2> >(a::Maps, b::X)"), "k");
  EXPECT_EQ(function_name("k(int)"), "k");
  EXPECT_EQ(
      function_name("void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "
                    "std::array<char*, 1ul> >(int, at::native::FillFunctor<float>, std::array<char*, 1ul>)"),
      "vectorized_elementwise_kernel");
  EXPECT_EQ(function_name(""), "");
}

TEST(ChooseKernel, TakesNumbersNamesPatternsAndParts) {
  const auto ranking =
      ranking_of({"void a::attention_forward<64>(int)", "void a::attention_backward<64>(int)",
                  "void b::layernorm<float>(float*)", "layernorm"});
  EXPECT_EQ(choose_kernel(ranking, "2").value(), 1U);
  EXPECT_EQ(choose_kernel(ranking, "#3").value(), 2U);
  EXPECT_EQ(choose_kernel(ranking, "layernorm").value(), 3U) << "a name in full goes before a part of one";
  EXPECT_EQ(choose_kernel(ranking, "b::layernorm<float>").value(), 2U);
  EXPECT_EQ(choose_kernel(ranking, "attention_back*").value(), 1U);
  EXPECT_EQ(choose_kernel(ranking, "FORWARD").value(), 0U);
}

TEST(ChooseKernel, SaysWhatATextCouldHaveMeant) {
  const auto ranking =
      ranking_of({"void a::attention_forward<64>(int)", "void a::attention_backward<64>(int)"});
  const Failure several = choose_kernel(ranking, "attention").failure();
  EXPECT_EQ(several.kind, ErrorKind::usage);
  EXPECT_NE(several.message.find("#1 a::attention_forward<64>"), std::string::npos) << several.message;
  EXPECT_NE(several.message.find("#2 a::attention_backward<64>"), std::string::npos) << several.message;
  EXPECT_NE(choose_kernel(ranking, "softmax").failure().message.find("no kernel is called 'softmax'"),
            std::string::npos);
  EXPECT_EQ(choose_kernel({}, "softmax").failure().message,
            "no kernel is called 'softmax': the ranking has none");
  EXPECT_EQ(choose_kernel(ranking, "3").failure().message, "there is no kernel number 3: the ranking has 2");
  EXPECT_EQ(choose_kernel(ranking, "0").failure().kind, ErrorKind::usage);
  EXPECT_EQ(choose_kernel(ranking, "").failure().kind, ErrorKind::usage);
}

class KernelQueryTest : public ::testing::Test {
 protected:
  [[nodiscard]] json document(const CaptureQuery& query, const testing::FabricatedCapture& of = {}) {
    std::filesystem::remove(capture_);
    testing::write_fabricated_capture(capture_, of);
    reports::DocumentOptions how;
    how.format = reports::Format::json;
    return json::parse(CaptureQueries(capture_).ask(query, how).value().document.text());
  }
  testing::TemporaryDirectory folder_;
  std::string capture_ = folder_ / "c.ridge";
};

TEST_F(KernelQueryTest, AnExplanationHasTheFiguresOfTheRanking) {
  const json explained = document(ExplainQuery{"1"});
  const json ranked = document(RankingQuery{});
  const json& row = ranked["rows"][0];
  EXPECT_EQ(explained["kernel"]["kernel"], row["kernel"]);
  EXPECT_EQ(explained["kernel"]["rank"], 1);
  EXPECT_EQ(explained["kernel"]["of"], ranked["rows"].size());
  std::map<std::string, json> figures;
  for (const json& figure : explained["rows"]) figures[figure["key"]] = figure;
  for (const char* key : {"time_ns", "saved_target_ns", "reached_target_ns", "dram_bytes", "dram_read_bytes",
                          "compute_t2_utilisation_ratio", "l2_hit_ratio", "sm_clock_hz"}) {
    ASSERT_EQ(figures.contains(key), !row[key].is_null()) << key << " is absent where it was not measured";
    if (!row[key].is_null()) {
      EXPECT_DOUBLE_EQ(figures[key]["value"].get<double>(), row[key].get<double>()) << key;
    }
  }
  EXPECT_EQ(figures["saved_target_ns"]["error"], row["saved_target_error_ns"]);
  EXPECT_EQ(figures["time_ns"]["tier"], "T0");
  EXPECT_EQ(figures["dram_t2_utilisation_ratio"]["tier"], "T2");
  std::int64_t calls = 0, time_ns = 0;
  for (const json& one : explained["configurations"]) {
    calls += one["calls"].get<std::int64_t>();
    time_ns += one["time_ns"].get<std::int64_t>();
  }
  EXPECT_EQ(calls, row["calls"]);
  EXPECT_EQ(time_ns, row["time_ns"]);
  EXPECT_LE(explained["spread"]["min_ns"], explained["spread"]["median_ns"]);
  EXPECT_LE(explained["spread"]["median_ns"], explained["spread"]["max_ns"]);
}

TEST_F(KernelQueryTest, EveryRoofThatIsAsNearIsNamed) {
  CaptureQueries queries(std::string(RIDGELINE_SOURCE_DIR) + "/examples/gpt2-h200.ridge");
  reports::DocumentOptions all;
  all.format = reports::Format::json;
  const json ranked = json::parse(queries.ask(RankingQuery{}, all).value().document.text());
  int ties = 0;
  for (const json& row : ranked["rows"]) {
    reports::DocumentOptions how;
    how.format = reports::Format::json;
    const ExplainQuery query{"#" + std::to_string(row["rank"].get<int>())};
    const json explained = json::parse(queries.ask(query, how).value().document.text());
    double last = 2;
    int as_near = 0, nearest = 0;
    for (const json& limit : explained["limits"]) {
      EXPECT_LE(limit["utilisation_ratio"].get<double>(), last + 1e-9) << "nearest first";
      last = limit["utilisation_ratio"].get<double>();
      const std::string mark = limit["mark"];
      as_near += mark.find("as near") != std::string::npos ? 1 : 0;
      nearest += mark.find("nearest") != std::string::npos ? 1 : 0;
    }
    EXPECT_EQ(as_near, static_cast<int>(explained["kernel"]["near_roofs"].size()));
    EXPECT_LE(nearest, 1);
    ties += as_near;
  }
  EXPECT_GT(ties, 0) << "the capture has kernels between two roofs";
}

// The window says it, and `explain` begins with it.
TEST_F(KernelQueryTest, WhyIsTheSameSentenceForEveryClient) {
  const std::string bundled = std::string(RIDGELINE_SOURCE_DIR) + "/examples/gpt2-h200.ridge";
  analyzer::Session session = analyzer::Session::open(bundled).value();
  const Overview overview = ask_overview(session).value();
  CaptureQueries queries(bundled);
  reports::DocumentOptions how;
  how.format = reports::Format::json;
  for (std::size_t row = 0; row < overview.step->ranking->rows.size(); ++row) {
    const KernelWhy why = why_kernel(*overview.step, row);
    const json explained =
        json::parse(queries.ask(ExplainQuery{"#" + std::to_string(row + 1)}, how).value().document.text());
    EXPECT_EQ(explained["holds"][0].get<std::string>(), why.sentence);
    ASSERT_FALSE(why.hold.configurations.empty());
    std::int64_t calls = 0;
    for (const analyzer::LaunchConfiguration& of : why.hold.configurations) calls += of.calls;
    EXPECT_EQ(calls, overview.step->ranking->rows[row].calls);
  }
}

TEST_F(KernelQueryTest, WhatWasNotMeasuredIsAbsentAndSaid) {
  testing::FabricatedCapture refused;
  refused.tier_refused = true;
  const json explained = document(ExplainQuery{"1"}, refused);
  EXPECT_TRUE(explained["limits"].empty());
  for (const json& figure : explained["rows"]) EXPECT_EQ(figure["tier"], "T0") << figure;
  EXPECT_NE(explained["holds"][0].get<std::string>().find("was not measured"), std::string::npos);
}

TEST_F(KernelQueryTest, TheLaunchesToSkipAreThoseBeforeTheStep) {
  const json ncu = document(NcuCommandQuery{"adamw"})["ncu"];
  const auto capture = store::Capture::open(capture_).value();
  const std::string name = ncu["kernel"].get<std::string>();
  const auto count = [&](const std::string& where) {
    const auto rows =
        capture.query("SELECT count(*) FROM v_launch WHERE kernel = '" + name + "' AND " + where).value();
    return std::get<std::int64_t>(rows.rows.at(0).at(0));
  };
  const std::string before = "step_index < " + std::to_string(ncu["step_index"].get<std::int64_t>());
  EXPECT_GT(ncu["launch_skip"].get<std::int64_t>(), 0);
  EXPECT_EQ(ncu["launch_skip"].get<std::int64_t>(), count(before));
  EXPECT_EQ(ncu["recorded_launches"].get<std::int64_t>(), count("1"));
  const std::string command = ncu["command"];
  EXPECT_NE(command.find("--kernel-name 'regex:^" + ncu["function"].get<std::string>() + "$'"),
            std::string::npos)
      << command;
  EXPECT_TRUE(command.ends_with("./gpt2_train --model 124M --batch 32 --length 1024 --precision bf16"))
      << command;
}

TEST_F(KernelQueryTest, NodesOfAGraphAreProfiledAsSuch) {
  testing::FabricatedCapture graphs;
  graphs.graphs = true;
  const json ncu = document(NcuCommandQuery{"flash_fprop"}, graphs)["ncu"];
  EXPECT_NE(ncu["command"].get<std::string>().find("--graph-profiling node"), std::string::npos);
}

}  // namespace
}  // namespace ridgeline::queries
