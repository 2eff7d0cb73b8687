// The verb `history`: add, show, accept, merge, and the page.
#include <nlohmann/json.hpp>

#include "program_testing.h"
#include "xml_checker.h"

namespace ridgeline::testing {
namespace {

class HistoryVerb : public Program {
 protected:
  static void SetUpTestSuite() {
    Program::SetUpTestSuite();
    for (int i = 1; i <= 14; ++i) {
      FabricatedCapture how;
      how.run = i;
      how.timeline_steps = 3;
      how.replay_steps = 0;
      how.git_commit = std::string(3, static_cast<char>('a' + i)) + "0123456789012345678901234567890123456";
      how.start_offset_s = i * 3600;
      if (i > 7) {
        how.slow_kernel = "layernorm_backward";
        how.slow_factor = 1.5;
      }
      write_fabricated_capture(file("h" + std::to_string(i) + ".ridge"), how);
    }
  }
};

TEST_F(HistoryVerb, KeepsResultsAndFindsTheCommitThatChangedThem) {
  std::vector<std::string> arguments = {"history", "add", "h.db"};
  for (int i = 1; i <= 14; ++i) arguments.push_back("h" + std::to_string(i) + ".ridge");
  const Outcome added = run(arguments);
  EXPECT_EQ(added.code, 0) << added.err;
  EXPECT_NE(added.out.find("14 runs added"), std::string::npos) << added.out;
  EXPECT_NE(run(arguments).out.find("0 runs added, 14"), std::string::npos);

  const Outcome shown = run({"history", "show", "h.db", "--format", "json", "--html", "h.html"});
  ASSERT_EQ(shown.code, 0) << shown.err;
  const auto document = nlohmann::json::parse(shown.out);
  EXPECT_EQ(document["format"], "ridgeline.history");
  bool found = false;
  for (const auto& row : document["rows"]) {
    if (row["series"].get<std::string>().find("layernorm_backward") == std::string::npos) continue;
    found = true;
    EXPECT_EQ(row["commit"].get<std::string>().substr(0, 3), "iii");
    EXPECT_NEAR(row["change_ratio"].get<double>(), 0.5, 0.02);
  }
  EXPECT_TRUE(found) << shown.out;
  // Of the newest run, which is like the six before it.
  ASSERT_EQ(document["newest"].size(), 1u);
  EXPECT_EQ(document["newest"][0]["verdict"], "undecided");
  EXPECT_EQ(document["newest"][0]["runs_before"], 6);
  EXPECT_EQ(run({"history", "show", "h.db"}).out.find("Newest run ooo01"), 0u);
  const std::string page = read_file(file("h.html"));
  EXPECT_EQ(check_xml(page.substr(page.find("<html"))).error, "");

  EXPECT_EQ(run({"history", "accept", "h.db", "--commit", "iii", "--reason", "needed for accuracy"}).code, 0);
  EXPECT_NE(run({"history", "show", "h.db"}).out.find("needed for"), std::string::npos);
  EXPECT_EQ(run({"history", "add", "other.db", "h1.ridge", "c.ridge"}).code, 0);
  EXPECT_NE(run({"history", "merge", "h.db", "other.db"}).out.find("1 run added, 15"), std::string::npos);
}

TEST_F(HistoryVerb, RefusesWhatItCannotRead) {
  expect_error({"history", "show", "none.db"}, 4, "none.db");
  expect_error({"history", "show", "other.ridge"}, 3, "no history");
  expect_error({"history", "add", "new.db", "text.ridge"}, 3, "text.ridge");
  expect_error({"history"}, 2, "history");
  // What cannot be read leaves all out.
  ASSERT_EQ(run({"history", "add", "all.db", "h1.ridge"}).code, 0);
  expect_error({"history", "add", "all.db", "h2.ridge", "text.ridge"}, 3, "text.ridge");
  EXPECT_NE(run({"history", "add", "all.db", "h1.ridge"}).out.find("0 runs added, 1 in"), std::string::npos);
  expect_error({"history", "accept", "h2.db", "--commit", "x"}, 2, "--reason");
}

}  // namespace
}  // namespace ridgeline::testing
