// What a user's folder may hold that a verb must neither write over, wait for, nor print as it is.
#include <sys/stat.h>

#include "program_testing.h"

namespace ridgeline::testing {
namespace {

class HostileFiles : public Program {
 protected:
  static void write(const std::string& name, const std::string& text) {
    std::ofstream(file(name), std::ios::binary) << text;
  }
};

TEST_F(HostileFiles, NoOutputReplacesWhatIsKept) {
  ASSERT_EQ(run({"history", "add", "h.db", "c.ridge"}).code, 0);
  write("ridgeline.toml", "build = \"make\"\n");
  write("rules.toml", "[[rule]]\nkernel = 'a'\nbecomes = 'b'\n");
  write("noise.toml", "format = 'ridgeline.noise'\nversion = 1\npairs = 10\nstep_ratio = 0.01\n");
  write("budget.json", "{\"format\": \"ridgeline.budget\", \"version\": 1, \"kernels\": []}");
  write("h.db-journal", "");
  const std::pair<const char*, const char*> kept[] = {
      {"h.db", "is a history"},
      {"other.ridge", "is an SQLite database"},
      {"c.ridge", "is a capture"},
      {"ridgeline.toml", "is a project file or a file of rules"},
      {"rules.toml", "is a project file"},
      {"noise.toml", "is a noise floor"},
      {"budget.json", "is a budget file"},
      {"h.db-journal", "is the journal of a database"}};
  for (const auto& [name, what] : kept) {
    const std::string before = read_file(file(name));
    const std::string written = std::string("markdown=") + name;
    for (const char* verb : {"rank", "check", "steps", "info", "report"})
      expect_error({verb, "fast.ridge", "-o", name}, 2, what);
    expect_error({"report", "fast.ridge", "-o", "r.html", "--write", written}, 2, what);
    expect_error({"compare", "c.ridge", "fast.ridge", "--any-environment", "-o", name}, 2, what);
    expect_error({"compare", "c.ridge", "fast.ridge", "--any-environment", "--write", written}, 2, what);
    expect_error({"sql", "c.ridge", "SELECT 1", "-o", name}, 2, what);
    expect_error({"history", "show", "h.db", "-o", name}, 2, what);
    expect_error({"history", "show", "h.db", "--html", name}, 2, what);
    if (std::string(name) != "noise.toml") expect_error({"calibrate", "-o", name, "--", "true"}, 2, what);
    if (std::string(name) != "c.ridge") expect_error({"record", "-f", "-o", name, "--", "true"}, 2, what);
    EXPECT_EQ(read_file(file(name)), before) << name;
  }
  EXPECT_EQ(run({"history", "show", "h.db"}).code, 0);
  for (const char* name :
       {"ridgeline.toml", "rules.toml", "noise.toml", "budget.json", "h.db-journal", "h.db"})
    std::filesystem::remove(file(name));
}

TEST_F(HostileFiles, PipesAreRefusedNotWaitedFor) {
  ASSERT_EQ(mkfifo(file("pipe").c_str(), 0600), 0);
  expect_error({"rank", "pipe"}, 3, "pipe");
  expect_error({"report", "pipe"}, 3, "pipe");
  expect_error({"compare", "c.ridge", "pipe"}, 3, "pipe");
  expect_error({"history", "add", "pipe", "c.ridge"}, 4, "pipe");
  expect_error({"history", "add", "h2.db", "pipe"}, 3, "pipe");
  expect_error({"history", "show", "pipe"}, 4, "pipe");
  expect_error({"history", "merge", "h2.db", "pipe"}, 4, "pipe");
  expect_error({"check", "c.ridge", "--budget", "pipe"}, 4, "pipe");
  expect_error({"compare", "c.ridge", "fast.ridge", "--match", "pipe"}, 2, "pipe");
  expect_error({"compare", "c.ridge", "fast.ridge", "--noise", "pipe"}, 2, "pipe");
  expect_error({"report", "c.ridge", "--project", "pipe"}, 2, "pipe");
  std::filesystem::rename(file("pipe"),
                          file("ridgeline.toml"));  // as compare and report read it without being asked
  expect_error({"compare", "c.ridge", "fast.ridge"}, 2, "ridgeline.toml");
  expect_error({"report", "c.ridge"}, 2, "ridgeline.toml");
  std::filesystem::remove(file("ridgeline.toml"));
}

TEST_F(HostileFiles, WhatAShellHandsOverIsRead) {
  const std::string command =
      "cd '" + directory_.string() + "' && '" + RIDGELINE_PROGRAM +
      "' check fast.ridge --budget <(echo '{\"format\": \"ridgeline.budget\", \"version\": 1, "
      "\"kernels\": []}') >handed.txt 2>&1";
  write("handed.sh", command);
  EXPECT_EQ(std::system(("bash '" + file("handed.sh") + "'").c_str()), 0) << read_file(file("handed.txt"));
}

TEST_F(HostileFiles, NoNameBeginsALineOfALog) {
  FabricatedCapture forged;
  forged.extra_kernel = "kernel\n::error::forged\r::warning::forged ##[error]forged";
  write_fabricated_capture(file("forged.ridge"), forged);
  for (const char* verb : {"rank", "check", "steps"}) {
    for (const char* format : {"csv", "text", "markdown"}) {
      const std::string out = run({verb, "forged.ridge", "--format", format, "--all"}).out;
      EXPECT_EQ(out.find("\n::"), std::string::npos) << verb << " " << format;
      EXPECT_EQ(out.find("\r::"), std::string::npos) << verb << " " << format;
      if (std::string(format) == "csv") {
        EXPECT_EQ(out.find("##["), std::string::npos) << verb;
      }
    }
  }
  EXPECT_NE(run({"rank", "forged.ridge", "--format", "csv"}).out.find("kernel\\n::error::forged"),
            std::string::npos);
}

}  // namespace
}  // namespace ridgeline::testing
