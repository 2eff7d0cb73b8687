// The verb `ladder` from outside: a program that is a shell script, signals, the documents that it leaves.
#include <signal.h>

#include <chrono>
#include <nlohmann/json.hpp>
#include <thread>

#include "program_testing.h"

namespace ridgeline::testing {
namespace {

class Ladder : public Program {
 protected:
  void SetUp() override {
    write("program",
          "#!/bin/sh\nms=100\nfor word in \"$@\"; do case $word in fast) ms=60;; hang) echo $$ > hangs; "
          "sleep 300;; esac; done\n"
          "for i in 1 2 3 4 5 6 7 8; do echo \"step $ms.$i ms\"; done\necho \"loss 3.$1\"\n");
    std::filesystem::permissions(file("program"), std::filesystem::perms::owner_all);
    write("ladder.toml", ladder("fast"));
    std::filesystem::remove_all(file("out"));
    std::filesystem::remove(file("hangs"));
  }
  static void write(const std::string& name, const std::string& text) { std::ofstream(file(name)) << text; }
  static std::string ladder(const std::string& word) {
    return "name = \"a shell program\"\ncommand = [\"./program\", \"{seed}\"]\n[output]\nstep_ms = 'step "
           "(\\S+) ms'\n"
           "loss = 'loss (\\S+)'\n[[rung]]\nname = \"faster\"\nargs = [\"" +
           word + "\"]\n[[rung]]\nname = \"nothing\"\nenv = { NOTHING = \"1\" }\n";
  }
};

TEST_F(Ladder, ClimbsAProgramAndLeavesItsDocuments) {
  const Outcome outcome = run({"ladder", "ladder.toml", "--rounds", "4", "-o", "out"});
  ASSERT_EQ(outcome.code, 0) << outcome.out << outcome.err;
  EXPECT_NE(outcome.out.find("faster"), std::string::npos);
  EXPECT_NE(outcome.out.find("From 100.450 ms to 60.450 ms a step: 1.66 times as fast"), std::string::npos)
      << outcome.out;
  EXPECT_NE(outcome.err.find("ridgeline ladder: round 1 took "), std::string::npos) << outcome.err;
  const auto json = nlohmann::json::parse(read_file(file("out/ladder.json")));
  EXPECT_EQ(json["format"], "ridgeline.ladder");
  EXPECT_EQ(json["source"], "output");
  EXPECT_EQ(json["order_seed"], 1) << "as its help says";
  ASSERT_EQ(json["rows"].size(), 3U);
  EXPECT_EQ(json["rows"][1]["verdict"], "faster");
  EXPECT_EQ(json["rows"][2]["verdict"], "no effect");
  EXPECT_EQ(json["rows"][1]["loss_verdict"], "equal");
  EXPECT_EQ(read_file(file("out/ladder.csv")).substr(0, 13), "rung,step_ns,");
  EXPECT_EQ(read_file(file("out/ladder.svg")).substr(0, 4), "<svg");
  EXPECT_NE(read_file(file("out/ladder.html")).find("What each rung is worth"), std::string::npos);
  // The same from the runs that were kept.
  const Outcome shown = run({"ladder", "--show", "out/runs.json"});
  EXPECT_EQ(shown.code, 0);
  EXPECT_EQ(shown.out, outcome.out);
  EXPECT_FALSE(std::filesystem::exists(file("ridgeline-ladder"))) << "nobody asked for documents";
  const Outcome again = run({"ladder", "--show", "out/runs.json", "-o", "again/below"});
  EXPECT_EQ(again.code, 0) << again.err;
  for (const char* document : {"ladder.json", "ladder.csv", "ladder.svg", "ladder.html"})
    EXPECT_EQ(read_file(file(std::string("again/below/") + document)),
              read_file(file(std::string("out/") + document)))
        << document;
  expect_error({"ladder", "--show", "out/runs.json", "-o", "out/runs.json"}, 2, "out/runs.json");
}

TEST_F(Ladder, APictureAsPixelsIsMadeOfTheOneAsLines) {
  ASSERT_EQ(run({"ladder", "ladder.toml", "--rounds", "3", "-o", "out"}).code, 0);
  std::filesystem::create_directories(file("tools"));
  write("tools/rsvg-convert",
        "#!/bin/sh\n[ \"$1\" = --version ] && exit 0\nprintf '\\211PNG\\r\\n\\032\\n'\ncat\n");
  std::filesystem::permissions(file("tools/rsvg-convert"), std::filesystem::perms::owner_all);
  const std::string path = "PATH=" + file("tools") + ":/usr/bin:/bin";
  const Outcome made = run({"ladder", "--show", "out/runs.json", "--png", "-o", "drawn"}, -1, {path});
  EXPECT_NE(made.err.find(".csv, .png and .json are in drawn"), std::string::npos) << made.err;
  EXPECT_EQ(read_file(file("drawn/ladder.png")), "\x89PNG\r\n\x1a\n" + read_file(file("drawn/ladder.svg")));
  // What is missing is said before anything runs.
  const Outcome none = run({"ladder", "ladder.toml", "--png", "-o", "none"}, -1, {"PATH=" + file("nowhere")});
  EXPECT_EQ(none.code, 4);
  EXPECT_NE(none.err.find("install librsvg2-bin"), std::string::npos) << none.err;
  EXPECT_FALSE(std::filesystem::exists(file("none")));
  expect_error({"ladder", "--show", "out/runs.json", "--png"}, 2, "name one with -o DIR");
}

TEST_F(Ladder, FitsIntoEightyColumns) {
  ASSERT_EQ(run({"ladder", "ladder.toml", "--rounds", "3", "-o", "out"}).code, 0);
  const Outcome shown = run({"ladder", "--show", "out/runs.json"}, -1, {"COLUMNS=80"});
  std::istringstream lines(shown.out);
  for (std::string line; std::getline(lines, line);) {
    const auto width = std::count_if(line.begin(), line.end(), [](char c) { return (c & 0xc0) != 0x80; });
    EXPECT_LE(width, 80) << line;
  }
  EXPECT_NE(shown.out.find("verdict"), std::string::npos) << shown.out;
}

TEST_F(Ladder, SaysWhatItWouldRun) {
  const Outcome outcome = run({"ladder", "ladder.toml", "--list", "-o", "out"});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  EXPECT_NE(outcome.out.find("a shell program: 4 programs for 2 rungs"), std::string::npos) << outcome.out;
  EXPECT_NE(outcome.out.find("env NOTHING=1 ./program '{seed}' fast"), std::string::npos) << outcome.out;
  EXPECT_FALSE(std::filesystem::exists(file("out")));
}

// The ladders that come with Ridgeline: every arm has a command.
TEST_F(Ladder, TheExamplesCanBePlanned) {
  for (const char* name : {"gpt2-ladder.toml", "pytorch-ladder.toml", "ranks-ladder.toml"}) {
    const Outcome outcome =
        run({"ladder", std::string(RIDGELINE_SOURCE_DIR) + "/examples/" + name, "--list"});
    EXPECT_EQ(outcome.code, 0) << outcome.err;
    EXPECT_GT(std::count(outcome.out.begin(), outcome.out.end(), '\n'), 15) << name;
  }
}

// Neither the program nor a file of the run that was under way stays, and what was measured before does.
TEST_F(Ladder, ThatIsStoppedLeavesNothingBehind) {
  write("ladder.toml", ladder("hang"));
  const pid_t child = fork();
  if (child == 0) {
    if (chdir(directory_.c_str()) != 0) _exit(126);
    static_cast<void>(!freopen("stopped.txt", "w", stderr));
    execl(RIDGELINE_PROGRAM, RIDGELINE_PROGRAM, "ladder", "ladder.toml", "-o", "out", nullptr);
    _exit(127);
  }
  for (int i = 0; i < 600 && read_file(file("hangs")).empty(); ++i)
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  const std::string hanging = read_file(file("hangs"));
  ASSERT_FALSE(hanging.empty()) << read_file(file("stopped.txt"));
  kill(child, SIGTERM);
  int status = 0;
  waitpid(child, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status)) << read_file(file("stopped.txt"));
  EXPECT_EQ(WTERMSIG(status), SIGTERM);
  EXPECT_NE(kill(std::stoi(hanging), 0), 0) << "the program has ended";
  for (const auto& entry : std::filesystem::directory_iterator(file("out")))
    EXPECT_NE(entry.path().extension(), ".ridge") << entry.path();
}

TEST_F(Ladder, FaultsAreOneLine) {
  expect_error({"ladder"}, 2, "name a ladder to climb");
  expect_error({"ladder", "none.toml"}, 2, "none.toml: cannot be read");
  write("bad.toml", "command = [\"p\"]\nmoon = 1\n");
  expect_error({"ladder", "bad.toml"}, 2, "bad.toml:2: 'moon' is no key here");
  expect_error({"ladder", "ladder.toml", "--only", "moon"}, 2, "no rung 'moon'");
  expect_error({"ladder", "ladder.toml", "--set", "moon=1"}, 2, "--set moon=1");
  expect_error({"ladder", "ladder.toml", "--budget", "soon"}, 2, "soon");
  expect_error({"ladder", "--show", "none.json"}, 4, "none.json");
  expect_error({"ladder", "--show", "text.ridge"}, 3, "not the runs of a ladder");
  expect_error({"ladder", "--show", "c.ridge"}, 3, "not the runs of a ladder");
}

}  // namespace
}  // namespace ridgeline::testing
