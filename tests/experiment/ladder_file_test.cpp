#include "ridgeline/experiment/ladder_file.h"

#include <gtest/gtest.h>

#include <filesystem>

namespace ridgeline::experiment {
namespace {

const std::string kLadder =
    R"(command = ["./train", "--precision", "{precision}", "{graph}", "--out=run-{precision}", "--seed", "{seed}"]
[set]
precision = "fp32"
graph = []
steps = 40
[[rung]]
name = "TF32"
set = { precision = "tf32" }
[[rung]]
name = "graph"
set = { graph = ["--graph", "on"] }
needs = ["TF32"]
env = { MODE = "fast", OLD = "" }
[[rung]]
name = "batch"
[[rung.choice]]
name = "64"
args = ["-B", "64"]
[[rung.choice]]
name = "128"
args = ["-B", "128"]
)";

LadderFile parsed(const std::string& text) {
  auto file = parse_ladder_file(text, "dir/ladder.toml");
  EXPECT_TRUE(file) << file.failure().message;
  return std::move(file).value();
}

std::string refused(const std::string& text) {
  const auto file = parse_ladder_file(text, "l.toml");
  if (file) return "accepted";
  EXPECT_EQ(file.failure().kind, ErrorKind::usage);
  return file.failure().message;
}

TEST(LadderFile, CommandsOfItsArms) {
  const LadderFile file = parsed(kLadder);
  ASSERT_EQ(file.rungs.size(), 3U);
  EXPECT_EQ(file.name, "ladder");
  EXPECT_EQ(file.source(), comparison::LadderSource::recording);
  EXPECT_EQ(file.needs(), (std::vector<comparison::RungSet>{0, 1, 0}));
  using Words = std::vector<std::string>;
  const std::vector<std::size_t> choices = {0, 0, 1};
  EXPECT_EQ(command_of(file, 0, choices).value().program,
            (Words{"./train", "--precision", "fp32", "--out=run-fp32", "--seed", "{seed}"}));
  const LadderCommand top = command_of(file, 7, choices).value();
  EXPECT_EQ(top.program, (Words{"./train", "--precision", "tf32", "--graph", "on", "--out=run-tf32", "--seed",
                                "{seed}", "-B", "128"}));
  EXPECT_EQ(top.environment.at("MODE"), "fast");
  EXPECT_EQ(with_seed(top.program, 3).at(7), "3");
  EXPECT_EQ(command_text(command_of(file, 2, choices).value()),
            "env MODE=fast -u OLD ./train --precision fp32 --graph on --out=run-fp32 --seed '{seed}'");
}

TEST(LadderFile, BracesThatAreNoSettingStay) {
  const LadderFile file = parsed(
      "command = [\"p\", '{\"a\": 1}', \"{A}\", \"{}\", \"{\"]\n[[rung]]\nname = \"r\"\nargs = [\"x\"]\n");
  EXPECT_EQ(command_of(file, 1, {0}).value().program,
            (std::vector<std::string>{"p", "{\"a\": 1}", "{A}", "{}", "{", "x"}));
}

TEST(LadderFile, SettingsAndRungsCanBeChosen) {
  LadderFile file = parsed(kLadder);
  EXPECT_TRUE(set_setting(file, "precision=bf16"));
  EXPECT_TRUE(set_setting(file, "graph=--graph slow"));
  EXPECT_EQ(command_of(file, 0, {0, 0, 0}).value().program.at(3), "--graph");
  const auto wrong = set_setting(file, "moon=1");
  EXPECT_EQ(wrong.failure().message,
            "--set moon=1: give NAME=VALUE of a setting of dir/ladder.toml: graph, precision, steps");
  EXPECT_FALSE(set_setting(file, "precision"));
  EXPECT_EQ(keep_rungs(file, {"moon"}).failure().message,
            "--only: no rung 'moon' in dir/ladder.toml: TF32, graph, batch");
  ASSERT_TRUE(keep_rungs(file, {"graph"})) << "with what it needs";
  ASSERT_EQ(file.rungs.size(), 2U);
  EXPECT_EQ(file.rungs[1].needs, std::vector<std::size_t>{0});
}

TEST(LadderFile, CommitsAndPatchesNeedCheckouts) {
  const LadderFile file = parsed(
      "command = [\"p\"]\nbuild = \"make\"\n[[rung]]\nname = \"new\"\ncommit = \"v2\"\n[[rung]]\nname = "
      "\"fix\"\n"
      "patch = [\"fix.patch\"]\n");
  EXPECT_TRUE(file.has_checkouts());
  EXPECT_EQ(command_of(file, 0, {0, 0}).value().commit, "HEAD");
  const LadderCommand top = command_of(file, 3, {0, 0}).value();
  EXPECT_EQ(top.commit, "v2");
  ASSERT_EQ(top.patches.size(), 1U);
  EXPECT_EQ(top.patches[0], (std::filesystem::current_path() / "dir/fix.patch").string())
      << "from the file's folder";
}

TEST(LadderFile, PatternsOfTheOutput) {
  const LadderFile file = parsed(
      "command = [\"p\"]\n[output]\nstep_ms = 'step ([0-9.]+) ms'\nloss = 'loss (\\S+)'\nmemory_mib = "
      "'(\\d+) MiB'\nskip = 2\n"
      "[[rung]]\nname = \"r\"\nargs = [\"x\"]\n");
  EXPECT_EQ(file.source(), comparison::LadderSource::output);
  EXPECT_EQ(file.output.step_unit_ns, 1e6);
  EXPECT_EQ(file.output.memory_unit_bytes, 1048576);
  EXPECT_EQ(file.skip, 2);
}

// Each names file, line, what is wrong and what to do.
TEST(LadderFile, FaultsNameTheirLine) {
  const std::string rung = "[[rung]]\nname = \"r\"\nargs = [\"x\"]\n";
  EXPECT_NE(refused("").find("l.toml:1: command is missing"), std::string::npos) << refused("");
  EXPECT_EQ(refused("command = [\"p\"]\n"), "l.toml:1: no rung: give at least one [[rung]]");
  EXPECT_EQ(refused("command = \"p\"\n" + rung), "l.toml:1: command is not a list of texts");
  EXPECT_EQ(refused("command = [\"p\"]\nrounds = 1\n" + rung),
            "l.toml:2: rounds is not a number from 2 to 200");
  EXPECT_NE(refused("command = [\"p\"]\n\nmoon = 1\n" + rung)
                .find("l.toml:3: 'moon' is no key here: use build, command"),
            std::string::npos);
  EXPECT_EQ(refused("command = [\"p\"]\n[[rung]]\nname = \"r\"\n"),
            "l.toml:2: [rung] changes nothing: give args, set, env, commit, patch or [[rung.choice]]");
  EXPECT_EQ(refused("command = [\"p\"]\n[[rung]]\nargs = [\"x\"]\n"),
            "l.toml:2: [rung] name is missing: what the table calls it");
  EXPECT_EQ(refused("command = [\"p\"]\n" + rung + rung),
            "l.toml:6: [rung] name 'r' is another rung's: give each its own");
  EXPECT_EQ(refused("command = [\"p\"]\n[[rung]]\nname = \"r\"\nargs = [\"x\"]\nneeds = [\"s\"]\n"),
            "l.toml:5: [rung] needs names 's', which is no rung below this one");
  EXPECT_EQ(refused("command = [\"p\"]\n[output]\nloss = 'loss .*'\n" + rung),
            "l.toml:3: [output] loss must have one group, the number: (…); (?:…) groups without being one");
  EXPECT_NE(refused("command = [\"p\"]\n[output]\nloss = '('\n" + rung).find("loss is no regular expression"),
            std::string::npos);
  EXPECT_NE(refused("command = [\"p\"]\n[output]\nstep_ms = '(a)'\nstep_s = '(b)'\n" + rung).find("twice"),
            std::string::npos);
  EXPECT_NE(refused("command = [\"p\"]\nrecord = [\"-q\"]\n[output]\nstep_ms = '(a)'\n" + rung)
                .find("nothing is recorded"),
            std::string::npos);
  EXPECT_NE(refused("command = [\"p\"]\nbuild = \"make\"\n" + rung).find("no commit or patch"),
            std::string::npos);
  EXPECT_NE(refused("command = [\"p\"]\n[set]\nseed = 1\n" + rung).find("'seed' is taken"),
            std::string::npos);
  EXPECT_NE(
      refused("command = [\"p\"]\n[[rung]]\nname = \"r\"\n[[rung.choice]]\nname = \"a\"\nargs = [\"x\"]\n")
          .find("one choice is none"),
      std::string::npos);
  EXPECT_NE(refused("command = [").find("l.toml:1: "), std::string::npos);
  const LadderFile file = parsed("command = [\"p\"]\n[[rung]]\nname = \"r\"\nargs = [\"-{moon}\"]\n");
  EXPECT_EQ(command_of(file, 1, {0}).failure().message,
            "dir/ladder.toml:2: {moon} is no setting: give it a value in [set]");
  EXPECT_EQ(read_ladder_file("/no/such/file").failure().kind, ErrorKind::usage);
}

}  // namespace
}  // namespace ridgeline::experiment
