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

// A line that a CI system would obey: GitHub's runner "::error::" where a line begins, blanks apart, and "##[error]"
// anywhere, others "##vso[" and "##teamcity[". "": there is none.
std::string obeyed_line(const std::string& text) {
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = std::min(text.find_first_of("\n\r", begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    const std::size_t first = line.find_first_not_of(" \t");
    if (first != std::string::npos && line.compare(first, 2, "::") == 0) return line;
    for (const char* command : {"##[", "##vso[", "##teamcity["}) {
      if (line.find(command) != std::string::npos) return line;
    }
    begin = end + 1;
  }
  return {};
}

TEST_F(HostileFiles, NoNameIsACommandOfALog) {
  for (const std::string& name :
       {std::string("kernel\n::error::forged\r::warning::forged ##[error]forged"),
        std::string("::error::forged"), std::string("void ::error::forged<int>(float)"),
        std::string("##[error]forged"), std::string("x ##vso[task.setvariable]forged"),
        std::string("##teamcity[buildProblem description='forged']"),
        std::string("a b c d e f g h i j k l m n o p q ::error::forged x y z")}) {
    FabricatedCapture forged;
    forged.extra_kernel = name;
    forged.start_offset_s = 60;
    std::filesystem::remove(file("forged.ridge"));
    write_fabricated_capture(file("forged.ridge"), forged);
    for (const char* format : {"text", "csv", "markdown", "json"}) {
      for (const char* columns : {"80", "100", "200"}) {
        // Only text is as wide as a terminal.
        if (format != std::string_view("text") && columns != std::string_view("80")) continue;
        setenv("COLUMNS", columns, 1);
        for (const char* verb : {"rank", "check", "steps", "info"}) {
          const std::string out = run({verb, "forged.ridge", "--format", format}).out;
          EXPECT_EQ(obeyed_line(out), "") << name << " " << verb << " " << format;
        }
        const std::string all = run({"rank", "forged.ridge", "--format", format, "--all"}).out;
        EXPECT_EQ(obeyed_line(all), "") << name << " " << format;
        if (name.find(' ') == std::string::npos) {
          EXPECT_NE(all.find("forged"), std::string::npos) << name << " " << format;
        }
        EXPECT_EQ(
            obeyed_line(
                run({"sql", "forged.ridge", "SELECT demangled_name FROM kernel", "--format", format}).out),
            "");
      }
      unsetenv("COLUMNS");
    }
    for (const char* format :
         {"text", "csv", "markdown", "json", "html", "comment", "junit", "gitlab-metrics", "bencher"}) {
      EXPECT_EQ(obeyed_line(run({"report", "forged.ridge", "--format", format, "-o", "-"}).out), "")
          << name << " " << format;
      EXPECT_EQ(obeyed_line(run({"compare", "c.ridge", "forged.ridge", "--format", format}).out), "")
          << name << " " << format;
    }
    // Of annotations each line is one, and none is the kernel's.
    const std::string annotations = run({"compare", "c.ridge", "forged.ridge", "--format", "github"}).out;
    EXPECT_EQ(annotations.find("::forged"), std::string::npos) << annotations;
    EXPECT_EQ(annotations.find("##["), std::string::npos) << annotations;
    std::filesystem::remove(file("h.db"));
    ASSERT_EQ(run({"history", "add", "h.db", "forged.ridge", "c.ridge"}).code, 0);
    for (const char* format : {"text", "markdown", "json", "csv"})
      EXPECT_EQ(obeyed_line(run({"history", "show", "h.db", "--format", format}).out), "")
          << name << " " << format;
    std::filesystem::remove(file("h.db"));
    EXPECT_EQ(obeyed_line(run({"rank", name}).err), "");
    EXPECT_EQ(obeyed_line(run({"rank", "c.ridge", "--sort", name}).err), "");
  }
}

}  // namespace
}  // namespace ridgeline::testing
