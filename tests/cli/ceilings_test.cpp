#include <sys/stat.h>

#include <nlohmann/json.hpp>

#include "program_testing.h"

namespace ridgeline::testing {
namespace {

const std::string kMade = std::string(RIDGELINE_SOURCE_DIR) + "/tests/ceilings/made.json";

class CeilingsVerb : public Program {
 protected:
  // Stands in for the benchmarks: leaves the made figures.
  static std::string stand_in() {
    const std::string path = file("benchmarks");
    std::ofstream(path) << "#!/bin/sh\nwhile [ $# -gt 0 ]; do [ \"$1\" = -o ] && cp " << kMade
                        << " \"$2\"; shift; done\n";
    chmod(path.c_str(), 0755);
    return path;
  }
};

TEST_F(CeilingsVerb, AMachineFileIsPrintedInEveryFormat) {
  const Outcome text = run({"ceilings", "--show", kMade});
  EXPECT_EQ(text.code, 0) << text.err;
  EXPECT_NE(text.out.find("NVIDIA H200, power limit 700 W"), std::string::npos) << text.out;
  EXPECT_NE(text.out.find("compute.fp32 burst is void"), std::string::npos) << text.out;
  const auto json = nlohmann::json::parse(run({"ceilings", "--show", kMade, "--format", "json"}).out);
  EXPECT_EQ(json["format"], "ridgeline.ceilings");
  EXPECT_EQ(json["rows"].size(), 19u);
  EXPECT_EQ(json["rows"][0]["roof"], "dram.read");
  EXPECT_EQ(json["rows"][0]["value"], 4.5e12);
  EXPECT_EQ(json["voids"][0]["rule"], "rounds_disagree");
  EXPECT_EQ(json["energy"]["idle_w"], 105.0);
  EXPECT_EQ(
      run({"ceilings", "--show", kMade, "--format", "csv", "--columns", "roof,state,value", "--top", "1"})
          .out,
      "roof,state,value\r\ndram.read,burst,4500000000000\r\n");
  EXPECT_NE(run({"ceilings", "--show", kMade, "--format", "markdown"}).out.find("| dram.read |"),
            std::string::npos);
}

TEST_F(CeilingsVerb, WhatWasMeasuredIsKeptUnderTheDataFolder) {
  setenv("XDG_DATA_HOME", file("data").c_str(), 1);
  const Outcome outcome = run({"ceilings", "--program", stand_in()});
  unsetenv("XDG_DATA_HOME");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  const std::string kept =
      file("data") + "/ridgeline/ceilings/GPU-00112233-4455-6677-8899-aabbccddeeff-700W.json";
  EXPECT_EQ(outcome.err, "ridgeline ceilings: kept in " + kept + "\n");
  EXPECT_EQ(read_file(kept), read_file(kMade));
}

TEST_F(CeilingsVerb, APartIsKeptOnlyWhereItIsSaidTo) {
  setenv("XDG_DATA_HOME", file("part").c_str(), 1);
  EXPECT_EQ(run({"ceilings", "--program", stand_in(), "--only", "dram"}).code, 0);
  EXPECT_EQ(run({"ceilings", "--program", stand_in(), "--no-save"}).code, 0);
  EXPECT_FALSE(std::filesystem::exists(file("part")));
  const Outcome saved =
      run({"ceilings", "--program", stand_in(), "--only", "dram", "--save", file("saved.json")});
  unsetenv("XDG_DATA_HOME");
  EXPECT_EQ(saved.code, 0) << saved.err;
  EXPECT_EQ(read_file(file("saved.json")), read_file(kMade));
}

TEST_F(CeilingsVerb, FiguresOfWhichNoneIsARoofAreNotKept) {
  auto json = nlohmann::ordered_json::parse(read_file(kMade));
  for (auto& roof : json["roofs"]) {
    for (auto& reading : roof["readings"])
      reading["void"] = {{{"rule", "foreign_process"}, {"detail", "another one was there"}}};
  }
  std::ofstream(file("void.json")) << json.dump();
  const std::string path = file("void-benchmarks");
  std::ofstream(path) << "#!/bin/sh\nwhile [ $# -gt 0 ]; do [ \"$1\" = -o ] && cp " << file("void.json")
                      << " \"$2\"; shift; done\n";
  chmod(path.c_str(), 0755);
  const Outcome outcome = run({"ceilings", "--program", path, "--save", file("kept.json")});
  EXPECT_EQ(outcome.code, 3);
  EXPECT_NE(outcome.err.find("not kept: no figure is a roof"), std::string::npos) << outcome.err;
  EXPECT_FALSE(std::filesystem::exists(file("kept.json")));
}

TEST_F(CeilingsVerb, WhatIsWrongIsOneLineWithItsExitCode) {
  const Outcome none = run({"ceilings", "--program", file("no-such-program")});
  EXPECT_EQ(none.code, 4);
  EXPECT_NE(none.err.find("no-such-program was not built"), std::string::npos) << none.err;
  const Outcome missing = run({"ceilings", "--show", file("no-such.json")});
  EXPECT_EQ(missing.code, 4) << missing.err;
  const Outcome other = run({"ceilings", "--show", file("text.ridge")});
  EXPECT_EQ(other.code, 3);
  EXPECT_NE(other.err.find("not a file of measured ceilings"), std::string::npos) << other.err;
  const Outcome kept = run({"ceilings", "--program", stand_in(), "--save", file("c.ridge")});
  EXPECT_EQ(kept.code, 2) << "a capture is not written over";
  EXPECT_EQ(run({"ceilings", "--show", kMade, "--columns", "moon"}).code, 2);
}

}  // namespace
}  // namespace ridgeline::testing
