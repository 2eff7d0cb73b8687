#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "comparison/made_ladder.h"
#include "ridgeline/reports/ladder_documents.h"
#include "svg_shapes.h"
#include "xml_checker.h"

namespace ridgeline::reports {
namespace {

using comparison::LadderRecord;
using comparison::LadderResult;

struct Shown {
  LadderRecord record;
  LadderResult result;
};

// The second rung shares its effect with the first; the third slows down.
Shown shown(const std::function<void(LadderRecord&)>& change = {}) {
  testing::MadeLadder made{.saved = {0.2, 0.1, -0.05}, .noise = 0.001};
  made.together = [](comparison::RungSet on) {
    return ((on & 1) != 0 ? 0.2 : 0.0) + ((on & 2) != 0 ? ((on & 1) != 0 ? 0.02 : 0.1) : 0.0) -
           ((on & 4) != 0 ? 0.05 : 0.0);
  };
  Shown all{testing::made_record(made), {}};
  std::mt19937_64 random(1);
  testing::add_rounds(all.record, made, 6, random);
  all.record.rungs[0].name = "<b>&\"fused\"</b>";
  if (change) change(all.record);
  all.result = comparison::analyse_ladder(all.record).value();
  return all;
}

std::string text_of(const Shown& all) {
  return ladder_document(all.record, all.result, {}).text();
}

bool contains(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

TEST(LadderDocuments, SayWhatWasFound) {
  const Shown all = shown();
  const std::vector<std::string> notes = ladder_notes(all.record, all.result);
  ASSERT_EQ(notes.size(), 2U);
  EXPECT_TRUE(contains(notes[0], "times as fast (1.1")) << notes[0];
  EXPECT_TRUE(contains(notes[0], "95 % interval over 6 rounds")) << notes[0];
  EXPECT_TRUE(contains(notes[1], "rung 2 saves 2.0")) << notes[1];
  EXPECT_TRUE(contains(notes[1], "alone: they share an effect.")) << notes[1];
  const std::string text = text_of(all);
  EXPECT_TRUE(contains(text, "slower")) << text;
  EXPECT_TRUE(contains(text, "from recordings")) << text;
  EXPECT_FALSE(contains(text, "launches")) << "what no run knows has no column";
}

TEST(LadderDocuments, SayWhatWentWrong) {
  const Shown all = shown([](LadderRecord& record) {
    record.programs[2].failure = "ended with 3: no such kernel";
    std::erase_if(record.runs, [](const comparison::LadderRun& run) { return run.program == 2; });
    record.runs[0].settled = false;
    record.rungs[2].choices = {{"a", {4e7}}, {"b", {}}};
    record.rungs[2].chosen = 0;
    for (comparison::LadderRun& run : record.runs)
      run.loss = 3.0 + 0.01 * static_cast<double>(run.seed) + (run.program == 1 ? 0.2 : 0.0);
    record.end = comparison::LadderEnd::budget;
  });
  const std::string text = ladder_document(all.record, all.result, {.text = {.columns = 300}}).text();
  for (const char* part :
       {"Not measured: ./program 2 (ended with 3: no such kernel)", "In 1 of 42 runs neither the clock",
        "rung 3: a was chosen in rounds of its own, which count for nothing else (a 40.000 ms, b did not "
        "run).",
        "the loss differs by 6.", "no further one fitted in the time", "not run", "differs"})
    EXPECT_TRUE(contains(text, part)) << part << "\n" << text;
}

TEST(LadderDocuments, JsonHasWhatTheTableHas) {
  const Shown all = shown();
  const auto json =
      nlohmann::json::parse(ladder_document(all.record, all.result, {.format = Format::json}).text());
  EXPECT_EQ(json["format"], "ridgeline.ladder");
  ASSERT_EQ(json["rows"].size(), 4U);
  EXPECT_EQ(json["rows"][0]["rung"], "(bottom)");
  EXPECT_TRUE(json["rows"][0]["saved_ratio"].is_null());
  EXPECT_NEAR(json["rows"][1]["saved_ratio"], 1 - std::exp(-0.2), 0.002);
  EXPECT_NEAR(json["rows"][2]["interaction_ratio"], -0.08, 0.004);
  EXPECT_EQ(json["rows"][3]["verdict"], "slower");
  EXPECT_TRUE(json["rows"][1]["power_w"].is_null());
  EXPECT_NEAR(json["whole"]["speedup"], std::exp(0.17), 0.003);
  EXPECT_LT(json["whole"]["low_speedup"], json["whole"]["speedup"]);
}

TEST(LadderDocuments, PageAndPictureAreWellFormedWhateverTheNames) {
  const Shown all = shown([](LadderRecord& record) {
    record.name = "]]><script>";
    record.programs[1].command = "./train '<&>'";
    record.programs[0].kernels = {{"gemm<float>", 3}};
    record.programs[1].kernels = {{"gemm<half>", 3}};
  });
  for (const std::string& text :
       {ladder_html(all.record, all.result), ladder_svg(all.record, all.result, true),
        ladder_svg(all.record, all.result, false)}) {
    const testing::XmlResult checked = testing::check_xml(text);
    EXPECT_EQ(checked.error, "");
    EXPECT_FALSE(contains(text, "<script>"));
  }
  EXPECT_TRUE(contains(ladder_html(all.record, all.result), "gemm&lt;half&gt;"));
  testing::expect_inside(ladder_svg(all.record, all.result, false));
  EXPECT_TRUE(contains(ladder_svg(all.record, all.result, true), "<style>"));
  EXPECT_FALSE(contains(ladder_svg(all.record, all.result, false), "<style>")) << "the page has the colours";
}

}  // namespace
}  // namespace ridgeline::reports
