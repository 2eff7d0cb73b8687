// What every verb prints of small recordings, in every format and at several widths, with each of its options: what is
// printed, what is said and what it ends with.
#include <sys/ioctl.h>
#include <termios.h>

#include <algorithm>
#include <memory>
#include <set>
#include <sstream>
#include <thread>

#include "fabricated_capture.h"
#include "generate/generate.h"
#include "generate/rank_job.h"
#include "in_process.h"
#include "progress.h"
#include "ridgeline/comparison/ladder.h"
#include "ridgeline/reports/tables.h"
#include "support/accepted_cases.h"

namespace ridgeline::cli {
namespace {

using testing::AcceptedCases;
using testing::FabricatedCapture;

using Commands = std::vector<Words>;

Words operator+(Words words, const Words& more) {
  words.insert(words.end(), more.begin(), more.end());
  return words;
}

// Each of the first with each of the second behind it.
Commands operator*(const Commands& some, const Commands& others) {
  Commands all;
  for (const Words& first : some)
    for (const Words& second : others) all.push_back(first + second);
  return all;
}
Commands operator+(Commands some, const Commands& others) {
  some.insert(some.end(), others.begin(), others.end());
  return some;
}

// Each word alone.
Commands each(const Words& words) {
  Commands all;
  for (const std::string& word : words) all.push_back({word});
  return all;
}

// Three rungs over so many rounds: the first helps, the second does nothing, the third may not run.
std::string ladder_of_three(std::int64_t rounds, bool third_runs) {
  comparison::LadderRecord record;
  record.name = "a made ladder";
  record.begun = "2026-11-25 20:00:00 UTC";
  record.end = comparison::LadderEnd::budget;
  record.rounds = rounds;
  record.seconds = 61.5;
  for (const char* name : {"first", "second | <b>", "third"})
    record.rungs.push_back({name, "set=1", {}, {}, {}});
  record.rungs[2].needs = {0};
  record.rungs[1].choices = {{"one", {4e7, 4.1e7}}, {"two", {3.5e7, 3.6e7}}};
  record.rungs[1].chosen = 1;
  record.arms = comparison::ladder_design({0, 0, 1}, record.questions).value().arms;
  std::uint64_t state = 12345;
  for (std::size_t arm = 0; arm < record.arms.size(); ++arm) {
    const comparison::RungSet on = record.arms[arm];
    const bool runs = third_runs || (on & 4) == 0;
    record.program_of_arm.push_back(arm);
    record.programs.push_back(
        {"./train " + std::to_string(on), runs ? "" : "ended with 3", {{"gemm", 12.0}}});
    if ((on & 1) != 0) record.programs.back().kernels["fused"] = 3;
    for (std::int64_t round = 1; round <= rounds && runs; ++round) {
      state = state * 6364136223846793005ULL + 1442695040888963407ULL;
      comparison::LadderRun one;
      one.program = arm;
      one.round = round;
      one.seed = 1 + round % 3;
      one.step_ns = ((on & 1) != 0 ? 35e6 : 50e6) + static_cast<double>(state >> 48U);
      one.steps = 20;
      one.discarded = 5;
      one.settled = round > 1;
      one.sm_clock_hz = 1.98e9;
      one.power_w = 650.0 + static_cast<double>(arm);
      one.joules_per_step = 30.5;
      one.peak_memory_bytes = 1e10;
      one.loss = 3.5 + 0.01 * static_cast<double>(one.seed);
      one.launches = 300;
      one.device = "NVIDIA H200";
      record.runs.push_back(one);
    }
  }
  return comparison::ladder_text(record);
}

const Commands kFormats = {{},
                           {"--format", "json"},
                           {"--format", "csv"},
                           {"--format", "markdown"},
                           {"-o", "out.json"},
                           {"--output", "out.txt"}};
const Commands kRows = {{"--top", "1", "--verbose"},       {"--top", "2", "--format", "json"},
                        {"--top", "3", "--format", "csv"}, {"--columns", "default,all"},
                        {"--columns", "no_such"},          {"--sort", "no_such"}};

const Words kRanks = {"ranks/rank0000.ridge", "ranks/rank0001.ridge", "ranks/rank0002.ridge"};
const Words kSides = {"a1.ridge", "a2.ridge", "a3.ridge", "--against", "b1.ridge", "b2.ridge", "b3.ridge"};

void make(const Words& names);

// Recordings and other files by name, made when a command first names one.
const std::map<std::string, std::function<void()>>& makers() {
  const auto fabricated = [](const std::string& name, const std::function<void(FabricatedCapture&)>& change) {
    return std::pair(name, std::function<void()>([=] {
                       FabricatedCapture how;
                       how.layers = 1;
                       how.warmup_steps = 1;
                       how.timeline_steps = 2;
                       how.replay_steps = 2;
                       how.codes = true;
                       change(how);
                       testing::write_fabricated_capture(name, how);
                     }));
  };
  const auto written = [](const std::string& name, const std::string& text) {
    return std::pair(name, std::function<void()>([=] { std::ofstream(name) << text; }));
  };
  static const std::map<std::string, std::function<void()>> kMakers = [&] {
    std::map<std::string, std::function<void()>> all;
    all.insert(fabricated("whole.ridge", [](FabricatedCapture& how) {
      how.timeline_steps = 3;
      how.sample_steps = 2;
      how.cold_steps = 1;
      how.declared = true;
    }));
    all.insert(fabricated("two.ridge", [](FabricatedCapture& how) {
      how.ranks = 2;
      how.overlap = true;
    }));
    all.insert(fabricated("refused.ridge", [](FabricatedCapture& how) {
      how.tier_refused = true;
      how.losses = true;
    }));
    all.insert(fabricated("nosteps.ridge", [](FabricatedCapture& how) {
      how.step_ranges = false;
      how.fast = true;
    }));
    for (int number = 1; number <= 3; ++number) {
      all.insert(fabricated("a" + std::to_string(number) + ".ridge", [=](FabricatedCapture& how) {
        how.run = number;
        how.replay_steps = 0;
        how.start_offset_s = 3600 * number;
        how.git_commit = std::string(40, static_cast<char>('a' + number));
      }));
      all.insert(fabricated("b" + std::to_string(number) + ".ridge", [=](FabricatedCapture& how) {
        how.run = 20 + number;
        how.replay_steps = 0;
        how.start_offset_s = 3600 * (10 + number);
        how.slow_kernel = "layernorm_backward";
        how.slow_factor = 1.5;
        how.git_commit = std::string(40, static_cast<char>('0' + number));
      }));
    }
    all["eager.ridge"] = [] {
      const auto sink = generate::make_capture_sink("eager.ridge");
      generate::generate({.shape = generate::Shape::eager,
                          .launches = 90,
                          .launches_per_step = 30,
                          .processes = 2,
                          .replay_steps = 1,
                          .sample_steps = 1,
                          .ranges = true,
                          .annotations = true,
                          .order = true,
                          .outlier_every = 3},
                         *sink);
    };
    all["ranks/rank0000.ridge"] = [] {
      std::filesystem::create_directory("ranks");
      generate::generate_rank_job({.ranks = 3,
                                   .ranks_per_host = 2,
                                   .steps = 4,
                                   .layers = 2,
                                   .cause = generate::RankCause::more_work,
                                   .late_ns = 500'000,
                                   .clock_offset_ns = 4e6,
                                   .clock_drift_ppb = 20'000},
                                  "ranks");
    };
    all["job.ridge"] = [] {
      make(kRanks);
      static_cast<void>(run(Words{"merge"} + kRanks + Words{"-o", "job.ridge"}));
    };
    all["kept.db"] = [] {
      const Words runs = {"a1.ridge", "a2.ridge", "a3.ridge", "b1.ridge", "b2.ridge", "b3.ridge"};
      make(runs);
      static_cast<void>(run(Words{"history", "add", "kept.db"} + runs));
    };
    all["spool"] = [] {
      std::filesystem::create_directory("spool");
      const auto sink = generate::make_spool_sink("spool");
      generate::generate({.shape = generate::Shape::decode,
                          .launches = 60,
                          .launches_per_step = 20,
                          .replay_steps = 1,
                          .sample_steps = 1,
                          .ranges = true},
                         *sink);
    };
    all["trace.json"] = [] {
      make({"whole.ridge"});
      static_cast<void>(
          run({"export", "whole.ridge", "-o", "trace.json", "--format", "chrome", "--steps", "2..3"}));
    };
    all["compared.json"] = [] {
      make(kSides);
      std::ofstream("compared.json") << run(Words{"compare"} + kSides + Words{"--format", "json"}).out;
    };
    all["ceilings.json"] = [] {
      std::filesystem::copy_file(std::string(RIDGELINE_SOURCE_DIR) + "/tests/ceilings/made.json",
                                 "ceilings.json");
    };
    all.insert(written("runs.json", ladder_of_three(4, false)));
    all.insert(written("two-rounds.json", ladder_of_three(2, true)));
    all.insert(written("three-rounds.json", ladder_of_three(3, true)));
    all.insert(written("text.txt", "no capture\n"));
    all.insert(written("other.json", " \n{\"format\": \"other\"}"));
    all.insert(written("project.toml",
                       "[[budget]]\nkernel = \"*layernorm_backward*\"\nmax_time_us = 5\nreason = \"agreed\"\n"
                       "[[budget]]\nkernel = \"no such kernel\"\nmax_time_us = 1\n"));
    all.insert(written(
        "l.toml",
        "name = \"one\"\ncommand = [\"true\", \"{batch}\", \"{seed}\"]\nrounds = 4\n[set]\nbatch = "
        "8\n[output]\n"
        "step_ms = 'step (\\S+) ms'\n[[rung]]\nname = \"first\"\nargs = [\"a\"]\n[[rung]]\nname = "
        "\"second\"\n"
        "set = { batch = 16 }\n[[rung]]\nname = \"third\"\nenv = { X = \"1\" }\nneeds = [\"first\"]\n"));
    return all;
  }();
  return kMakers;
}

void make(const Words& names) {
  for (const std::string& name : names) {
    const auto maker = makers().find(name);
    if (maker != makers().end() && !std::filesystem::exists(name)) maker->second();
  }
}

class Verbs : public ::testing::Test {
 protected:
  static void SetUpTestSuite() {
    before_ = std::filesystem::current_path();
    folder_ = std::make_unique<testing::TemporaryDirectory>();
  }
  static void TearDownTestSuite() { folder_.reset(); }
  void SetUp() override { work_in(folder_->path()); }
  void TearDown() override { std::filesystem::current_path(before_); }

  // Holds what these print, all in one.
  static void hold(const Commands& commands) {
    AcceptedCases::expect([&] {
      std::string text;
      for (const Words& words : commands) {
        make(words);
        text += told(words);
      }
      return text;
    });
  }
  // What was written is a part of it, and is not there for the next.
  static std::string told(const Words& words) {
    const std::set<std::filesystem::path> before = entries();
    const Ended end = run(words);
    std::string text = "$";
    for (const std::string& word : words) text += " " + word;
    text += ": " + std::to_string(end.code) + "\n" + end.out + end.err;
    for (const std::filesystem::path& path : entries()) {
      if (before.contains(path)) continue;
      std::set<std::filesystem::path> files = {path};
      if (std::filesystem::is_directory(path)) {
        for (const auto& file : std::filesystem::recursive_directory_iterator(path))
          files.insert(file.path());
      }
      for (const std::filesystem::path& file : files) text += file_text(file);
      std::filesystem::remove_all(path);
    }
    return text;
  }
  static std::set<std::filesystem::path> entries() {
    std::set<std::filesystem::path> all;
    for (const auto& entry : std::filesystem::directory_iterator(".")) all.insert(entry.path());
    return all;
  }
  static std::string file_text(const std::filesystem::path& path) {
    const bool is_binary =
        path.extension() == ".ridge" || path.extension() == ".db" || std::filesystem::is_directory(path);
    if (is_binary) return "wrote " + path.string() + "\n";
    std::ifstream in(path, std::ios::binary);
    return "wrote " + path.string() + ":\n" + std::string(std::istreambuf_iterator<char>(in), {}) + "\n";
  }
  // Of these words in all formats, with every width and with what rows there are.
  static void hold_all(const Words& words, const Commands& more = {}) {
    hold(Commands{words} * kFormats);
    hold(Commands{words} * kRows);
    for (const char* width : {"80", "200"}) {
      ::setenv("COLUMNS", width, 1);
      hold({words + Words{"--all"}});
    }
    ::unsetenv("COLUMNS");
    if (!more.empty()) hold(Commands{words} * more);
  }
  // Of a file that a command may replace.
  static std::string copy(const std::string& from, const std::string& to) {
    make({from});
    std::filesystem::copy_file(from, to, std::filesystem::copy_options::overwrite_existing);
    return to;
  }
  // By every column that the verb's table has, four shown at a time.
  static Commands by_every_column(const Words& words) {
    make(words);
    std::istringstream header(run(words + Words{"--columns", "all", "--format", "csv"}).out);
    std::string line;
    std::getline(header, line, '\r');
    std::istringstream in(line);
    Words keys;
    for (std::string key; std::getline(in, key, ',');) keys.push_back(key);
    EXPECT_GT(keys.size(), 4U) << words.front();
    Commands all;
    for (std::size_t i = 0; i < keys.size(); i += 4) {
      std::string shown = keys[i];
      for (std::size_t k = i + 1; k < std::min(i + 4, keys.size()); ++k) shown += "," + keys[k];
      all.push_back(
          words + Words{"--columns", shown, "--sort",
                        (i % 8 == 0 ? "-" : "") + keys[i + i / 4 % std::min<std::size_t>(4, keys.size() - i)],
                        "--format", i % 3 == 0 ? "text" : "csv"});
    }
    return all;
  }

  inline static std::unique_ptr<testing::TemporaryDirectory> folder_;
  inline static std::filesystem::path before_;
};

// Of AnalysisArguments: each alone and some together.
const Commands kScopes = {{"--step", "2"},
                          {"--step", "99"},
                          {"--step-kind", "1"},
                          {"--step-kind", "2"},
                          {"--step-kind", "99"},
                          {"--step", "2", "--step-kind", "2"},
                          {"--range", "forward"},
                          {"--range", "forward / layer *", "--step", "2"},
                          {"--range", "no such"},
                          {"--window", "0..1s"},
                          {"--window", "100ms..160ms"},
                          {"--window", "1000s..1001s"},
                          {"--window", "0..1s", "--step", "1"},
                          {"--window", "0..1s", "--step-kind", "2"},
                          {"--window", "0..1s", "--step-kind", "1"},
                          {"--process", "1"},
                          {"--process", "2"},
                          {"--process", "0"}};
const Commands kFewScopes = {
    {"--step", "2"}, {"--range", "forward"}, {"--window", "0..1s"}, {"--process", "2"}};
const Commands kTargets = {{"--target", "0.9"},
                           {"--target", "0.9", "--stretch", "0.9"},
                           {"--target", "0.9", "--stretch", "0.89"},
                           {"--target", "50%", "--stretch", "60%"},
                           {"--stretch", "0.7"},
                           {"--stretch", "0.69"},
                           {"--roof", "spec"},
                           {"--roof", "burst"},
                           {"--roof", "counter"},
                           {"--ceilings", "ceilings.json"},
                           {"--ceilings", "ceilings.json", "--roof", "burst"},
                           {"--ceilings", "text.txt"},
                           {"--dram-peak", "counter"},
                           {"--compute-peak", "spec"},
                           {"--dram-peak", "clock", "--roof", "spec"},
                           {"--compute-peak", "none"}};
const Commands kBy = each({"kernel", "kernel-grid", "family", "class", "nvtx", "op", "phase", "layer",
                           "launch", "layer,phase", "phase,kernel", "layer,", "nonsense", "kernel,kernel"});

TEST_F(Verbs, RankOfAWholeRecording) {
  hold_all({"rank", "whole.ridge"}, kScopes);
  hold(Commands{{"rank", "whole.ridge"}} * kTargets);
  Commands by;
  for (const Words& word : kBy) by.push_back(Words{"rank", "whole.ridge", "--verbose", "--by"} + word);
  hold(by);
  hold(Commands{{"rank", "whole.ridge"}} *
       Commands{{"--stalls"},
                {"--stalls", "--format", "json"},
                {"--min-share", "0"},
                {"--min-share", "0%"},
                {"--min-share", "5%", "--all"},
                {"--min-share", "100%"},
                {"--min-share", "0.00"},
                {"--ranks"},
                {"--ranks", "--by", "kernel"},
                {"--by", "layer,kernel", "--min-share", "1%", "--sort", "-time"},
                {"--columns", "tiers,bounds,clock"},
                {"--columns", "power,sms,shape,caches,cold,work"}});
}

TEST_F(Verbs, RankByEveryColumn) {
  for (const Words& words : Commands{{"rank", "whole.ridge"}, {"rank", "eager.ridge", "--by", "launch"}}) {
    Commands part;
    const Commands all = by_every_column(words);
    for (std::size_t i = 0; i < all.size(); ++i) {
      part.push_back(all[i]);
      if (part.size() < 8 && i + 1 < all.size()) continue;
      hold(part);
      part.clear();
    }
  }
}

TEST_F(Verbs, RankOfOthers) {
  for (const char* capture : {"two.ridge", "refused.ridge", "nosteps.ridge", "eager.ridge"})
    hold(Commands{{"rank", capture}} *
         (Commands{{"--format", "json"}, {"--by", "class", "--verbose"}} + kFewScopes));
  hold({{"rank", "job.ridge"},
        {"rank", "job.ridge", "--ranks"},
        {"rank", "job.ridge", "--ranks", "--format", "json"},
        {"rank", "job.ridge", "--ranks", "--stalls"},
        {"rank", "job.ridge", "--ranks", "--top", "1", "--sort", "-time"},
        {"rank", "text.txt"},
        {"rank", "none.ridge"},
        {"rank", "."},
        {"rank", "whole.ridge", "--", "x"},
        {"rank"},
        {"rank", "whole.ridge", "refused.ridge"},
        {"rank", "whole.ridge", "-o", "whole.ridge"},
        {"rank", "whole.ridge", "-o", "."},
        {"rank", "whole.ridge", "-o", "no/such/folder"}});
}

TEST_F(Verbs, CheckJudges) {
  hold_all({"check", "whole.ridge"}, kFewScopes);
  hold(Commands{{"check", "whole.ridge"}} * (kTargets + Commands{{"--min-share", "0"},
                                                                 {"--min-share", "0.2"},
                                                                 {"--max-unmeasured", "0"},
                                                                 {"--max-unmeasured", "1"},
                                                                 {"--budget", "project.toml"},
                                                                 {"--budget", "project.toml", "--all"},
                                                                 {"--budget", "none.toml"},
                                                                 {"--budget", "text.txt"},
                                                                 {"--sort", "-time", "--all"}}));
  hold(Commands{{"check", "two.ridge"},
                {"check", "refused.ridge"},
                {"check", "nosteps.ridge"},
                {"check", "eager.ridge"},
                {"check", "job.ridge"}} *
       Commands{{}, {"--format", "json"}, {"--all", "--target", "1%"}});
}

TEST_F(Verbs, AdviseSaysWhatToDo) {
  hold_all({"advise", "whole.ridge"}, kFewScopes);
  Commands rules;
  for (const auto& word : Vocabulary<analyzer::AdviceRule>::kWords)
    rules.push_back({"advise", "eager.ridge", "--rule", std::string(word.text)});
  hold(rules + Commands{{"advise", "whole.ridge", "--rule", "nonsense"}});
  for (const char* capture : {"two.ridge", "refused.ridge", "nosteps.ridge", "eager.ridge"})
    hold(Commands{{"advise", capture}} * Commands{{}, {"--all", "--format", "json"}, {"--all", "--verbose"}});
}

TEST_F(Verbs, ExplainAndNcuCommand) {
  hold_all({"explain", "whole.ridge", "1"});
  Commands kernels;
  for (const char* kernel :
       {"1", "2", "5", "0", "-1", "999", "layernorm", "*layernorm*", "a?amw*", "nonsense", "*", "", "gemm"})
    for (const char* verb : {"explain", "ncu-command"})
      kernels.push_back({verb, kernels.size() % 3 == 0 ? "eager.ridge" : "whole.ridge", kernel});
  hold(kernels);
  hold(Commands{{"explain", "whole.ridge", "1"}, {"ncu-command", "whole.ridge", "2"}} * kFewScopes);
  hold(Commands{{"ncu-command", "whole.ridge", "1"}} *
       (kFormats +
        Commands{{"--launches", "1"}, {"--launches", "2"}, {"--launches", "0"}, {"--launches", "1000"}}));
}

TEST_F(Verbs, StepsAreListed) {
  hold_all({"steps", "whole.ridge"}, kFewScopes);
  for (const char* capture : {"two.ridge", "refused.ridge", "nosteps.ridge", "eager.ridge"})
    hold(Commands{{"steps", capture}} *
         Commands{{"--format", "json"}, {"--all", "--verbose"}, {"--process", "2"}});
  hold({{"steps", "job.ridge"},
        {"steps", "job.ridge", "--ranks"},
        {"steps", "job.ridge", "--ranks", "--format", "csv"},
        {"steps", "job.ridge", "--ranks", "--step", "1"}});
}

TEST_F(Verbs, RooflinesAreDrawn) {
  hold_all({"roofline", "whole.ridge"}, kFewScopes);
  hold(Commands{{"roofline", "whole.ridge"}} * Commands{{"--format", "svg"},
                                                        {"--format", "svg", "--theme", "dark"},
                                                        {"--format", "svg", "--theme", "light"},
                                                        {"--format", "html"},
                                                        {"--format", "svg", "--time"},
                                                        {"--format", "html", "--time"},
                                                        {"--theme", "dark"},
                                                        {"--theme", "light"},
                                                        {"--time"},
                                                        {"-o", "x.svg"},
                                                        {"-o", "x.html"},
                                                        {"-o", "x.htm"},
                                                        {"--match", "*norm*"},
                                                        {"--match", "nothing"},
                                                        {"--by", "class"},
                                                        {"--by", "layer", "--format", "svg"},
                                                        {"--by", "x"},
                                                        {"-o", "x.svg", "--format", "csv"}});
  for (const char* capture : {"two.ridge", "refused.ridge", "nosteps.ridge", "eager.ridge"})
    hold(Commands{{"roofline", capture}} * Commands{{"--format", "json"}, {"--format", "svg"}});
}

TEST_F(Verbs, WhatIfIsAnswered) {
  hold_all({"what-if", "whole.ridge", "*layernorm*=1.5x"}, kFewScopes);
  hold(Commands{{"what-if", "eager.ridge"}} *
       (Commands{{},
                 {"*=2"},
                 {"*=0"},
                 {"*=x"},
                 {"=2"},
                 {"--graph"},
                 {"--hide-copies"},
                 {"--graph", "--hide-copies", "*=1.1x"},
                 {"--at-roof", "85"},
                 {"--at-roof", "*gemm*=90"},
                 {"--at-roof", "0"},
                 {"--at-roof", "101"},
                 {"--fuse", "gelu,bias"},
                 {"--fuse", "gelu"},
                 {"--fuse-kept", "gelu*,*bias*"},
                 {"--precision", "*gemm*=bf16"},
                 {"--precision", "gemm=int3"},
                 {"--at-roof", "80", "*=1.2x", "--precision", "*=fp8", "--format", "json"}}));
}

TEST_F(Verbs, InfoSaysWhatWasRecorded) {
  for (const char* capture :
       {"whole.ridge", "two.ridge", "refused.ridge", "nosteps.ridge", "eager.ridge", "job.ridge"})
    hold(Commands{{"info", capture}} * Commands{{"--format", "json"}, {"--all"}, {"--verify"}});
  hold({{"info", "text.txt"}, {"info", "text.txt", "--verify"}, {"info", "none.ridge"}});
}

TEST_F(Verbs, RanksOfAJob) {
  hold_all({"ranks", "job.ridge"});
  for (const char* by : {"rank", "step", "collective", "kernel", "account", "nonsense"})
    hold(Commands{{"ranks", "job.ridge", "--by", by}} * Commands{{},
                                                                 {"--format", "json"},
                                                                 {"--format", "csv", "--columns", "all"},
                                                                 {"--top", "1"},
                                                                 {"--verbose", "--all"}});
}

TEST_F(Verbs, RanksOfAJobOtherwise) {
  hold(Commands{{"ranks", "job.ridge"}} * Commands{{"--format", "html"},
                                                   {"-o", "x.html"},
                                                   {"--ceilings", "ceilings.json"},
                                                   {"--alone", kRanks[0]},
                                                   {"--alone", "text.txt"},
                                                   {"--ceilings", "none"}});
  for (const char* change :
       {"overlap", "links=2", "links=0", "bucket=25MB", "no-skew,links=2", "buckets", "nonsense"})
    hold(Commands{{"ranks", "job.ridge", "--what-if", change}} * Commands{{},
                                                                          {"--format", "json"},
                                                                          {"--format", "html"},
                                                                          {"--ceilings", "ceilings.json"},
                                                                          {"--what-if", "overlap"}});
  hold({{"ranks", "two.ridge"}, {"ranks", "whole.ridge"}, {"ranks", "text.txt"}, {"ranks", kRanks[0]}});
}

TEST_F(Verbs, MergeMakesAJob) {
  const std::string job = copy("job.ridge", "replaced.ridge"), text = copy("text.txt", "replaced.txt");
  hold({Words{"merge"} + kRanks + Words{"-o", "new.ridge"},
        {"merge", kRanks[0], "-o", "new.ridge"},
        {"merge", kRanks[0], kRanks[2], "-o", "new.ridge"},
        {"merge", kRanks[0], kRanks[0], "-o", "new.ridge"},
        {"merge", kRanks[1], "whole.ridge", "-o", "new.ridge"},
        {"merge", "text.txt", "-o", "new.ridge"},
        {"merge", "job.ridge", "-o", "new.ridge"},
        {"merge", kRanks[0], kRanks[1], "-q", "-o", "new.ridge"},
        {"merge", kRanks[0], kRanks[1], "-o", job},
        {"merge", job, "-f", "-o", job},
        {"merge", kRanks[0], kRanks[1], "-f", "-o", job},
        {"info", job},
        {"merge", kRanks[0], "-f", "-o", text},
        {"merge", kRanks[0], "-f", "-o", "project.toml"},
        {"merge", kRanks[0], "-o", "no/such"}});
}

const Commands kReports = {{"--format", "text"},
                           {"--format", "markdown"},
                           {"--format", "comment"},
                           {"--format", "json"},
                           {"--format", "csv"},
                           {"--format", "html", "-o", "-"},
                           {"--format", "junit"},
                           {"--format", "github"},
                           {"--format", "gitlab-metrics"},
                           {"--format", "bencher"},
                           {"--format", "pdf"},
                           {"-o", "x.md"},
                           {"-o", "x.json"},
                           {"-o", "x.csv"},
                           {"-o", "x.html"},
                           {"--format", "comment", "--link", "http://x"}};
const Commands kCompared = {{"--confirm", "1"},
                            {"--confirm", "2"},
                            {"--confirm", "3"},
                            {"--unpaired"},
                            {"--any-order"},
                            {"--strict"},
                            {"--any-environment"},
                            {"--step-threshold", "50%"},
                            {"--kernel-threshold", "0.9"},
                            {"--step-threshold", "0"},
                            {"--fail-on", "none"},
                            {"--fail-on", "inconclusive,unmatched"},
                            {"--fail-on", "regression,none"},
                            {"--fail-on", "x"},
                            {"--project", "project.toml"},
                            {"--project", "none.toml"},
                            {"--match", "none.toml"},
                            {"--noise", "none.toml"},
                            {"--top", "1", "--all"},
                            {"--all"},
                            {"--sort", "-share"},
                            {"--columns", "all", "--format", "csv"},
                            {"--write", "junit=a.xml", "--write", "csv=a.csv"},
                            {"--write", "junit=a.xml", "-o", "./a.xml"},
                            {"--write", "junit"},
                            {"--write", "junit="},
                            {"--write", "pdf=x"},
                            {"--write", "csv=whole.ridge"}};

TEST_F(Verbs, CompareSaysWhatChanged) {
  make({"whole.ridge"});  // which --write is not to replace
  hold(Commands{Words{"compare"} + kSides} *
       Commands{{"-o", "x.md"}, {"--format", "csv"}, {"--format", "junit"}, {"--format", "pdf"}});
  hold(Commands{{"compare", "a1.ridge", "b1.ridge"}} * kCompared);
  hold(Commands{Words{"compare"} + kSides} * Commands{{"--confirm", "1"},
                                                      {"--confirm", "2"},
                                                      {"--unpaired"},
                                                      {"--any-order", "--strict"},
                                                      {"--project", "project.toml"},
                                                      {"--fail-on", "none"}});
  hold(Commands{{"compare", "a1.ridge", "b1.ridge"}, {"compare", "a1.ridge", "a1.ridge"}} *
       Commands{{}, {"--format", "json"}});
  hold({{"compare", "a1.ridge"},
        {"compare", "a1.ridge", "a2.ridge", "b1.ridge"},
        {"compare", "whole.ridge", "two.ridge"},
        {"compare", "a1.ridge", "text.txt"},
        {"compare", "whole.ridge", "eager.ridge", "--any-environment"},
        {"compare", "a1.ridge", "a2.ridge", "a3.ridge", "--against", "b1.ridge"}});
  for (const char* width : {"80", "200"}) {
    ::setenv("COLUMNS", width, 1);
    hold({Words{"compare"} + kSides + Words{"--all"}});
  }
  ::unsetenv("COLUMNS");
}

TEST_F(Verbs, ReportsOfCaptures) {
  hold(Commands{{"report", "whole.ridge"}} * kReports);
  for (const char* capture : {"two.ridge", "refused.ridge", "nosteps.ridge", "eager.ridge"})
    hold(Commands{{"report", capture}} * Commands{{}, {"--format", "github"}});
  hold(Commands{{"report", "whole.ridge", "--format", "text"}} * kFewScopes);
  hold(Commands{{"report", "whole.ridge"}} *
       Commands{{},
                {"--fail-on", "target", "-o", "x.json"},
                {"--fail-on", "unmeasured", "-o", "x.json"},
                {"--fail-on", "budget,target,unmeasured", "--project", "project.toml", "-o", "x.json"},
                {"--fail-on", "regression"},
                {"--confirm", "1"},
                {"--unpaired"},
                {"--noise", "x"},
                {"--format", "github", "--project", "project.toml"},
                {"--format", "junit", "--project", "project.toml", "--fail-on", "none"}});
}

TEST_F(Verbs, ReportsOfSides) {
  hold(Commands{Words{"report"} + kSides} * Commands{{},
                                                     {"--step", "1"},
                                                     {"--range", "x"},
                                                     {"--target", "0.5"},
                                                     {"--fail-on", "none", "-o", "x.json"},
                                                     {"--fail-on", "x"},
                                                     {"--write", "junit=a.xml", "-o", "x.md"},
                                                     {"--roof", "spec", "--format", "text"},
                                                     {"--roof", "x"}});
  const Commands kept = {{"report", "compared.json"}};
  hold(kept * kReports);
  hold(kept * Commands{{"--fail-on", "none", "--format", "text"},
                       {"--step", "1"},
                       {"--confirm", "1"},
                       {"--all", "--format", "text"}});
  hold({{"report", "other.json"},
        {"report", "text.txt"},
        {"report", "none.json"},
        {"report", "."},
        {"report"}});
}

TEST_F(Verbs, HistoryIsShown) {
  hold_all({"history", "show", "kept.db"});
  hold(Commands{{"history", "show", "kept.db"}} * Commands{{"--kernels", "0"},
                                                           {"--kernels", "1"},
                                                           {"--kernels", "100", "--all"},
                                                           {"--kernels", "-1"},
                                                           {"--html", "x.html"},
                                                           {"--html", "kept.db"}});
  hold(by_every_column({"history", "show", "kept.db"}));
  hold({{"history", "show", "none.db"},
        {"history", "show", "text.txt"},
        {"history", "add", "kept.db", "none.ridge"},
        {"history", "add", "kept.db", "a1.ridge"},
        {"history", "add", "new.db", "a1.ridge", "--policy", "x", "--name", "y"},
        {"history", "merge", "new.db", "kept.db"},
        {"history", "merge", "kept.db", "text.txt"},
        {"history"},
        {"history", "x"},
        {"history", "accept", "kept.db", "--commit", "zzz", "--reason", "x"},
        {"history", "accept", "none.db", "--commit", "111", "--reason", "x"},
        {"history", "accept", "kept.db"}});
}

TEST_F(Verbs, LaddersAreShown) {
  hold_all({"ladder", "--show", "runs.json"});
  hold(by_every_column({"ladder", "--show", "three-rounds.json"}));
  hold(Commands{{"ladder", "--show", "runs.json"}} * (Commands{{"-o", "out"},
                                                               {"-o", "out/below", "--top", "1"},
                                                               {"-o", "text.txt"},
                                                               {"--columns", "ways,machine"}}));
  hold(Commands{{"ladder", "l.toml", "--list"}} * Commands{{},
                                                           {"--cumulative"},
                                                           {"--shapley"},
                                                           {"--only", "second"},
                                                           {"--only", "third"},
                                                           {"--only", "none"},
                                                           {"--set", "batch=4"},
                                                           {"--set", "batch=4", "--set", "batch=2"},
                                                           {"--set", "none=1"},
                                                           {"--set", "batch"}});
  hold({{"ladder"},
        {"ladder", "l.toml", "--show", "runs.json"},
        {"ladder", "none.toml"},
        {"ladder", "text.txt"},
        {"ladder", "--show", "two-rounds.json"},
        {"ladder", "--show", "three-rounds.json"},
        {"ladder", "--show", "three-rounds.json", "--format", "json"},
        {"ladder", "--show", "text.txt"},
        {"ladder", "--show", "none.json"},
        {"ladder", "l.toml", "--budget", "abc"},
        {"ladder", "l.toml", "--budget", "0"}});
}

TEST_F(Verbs, CeilingsAreShown) {
  hold_all({"ceilings", "--show", "ceilings.json"});
  hold(by_every_column({"ceilings", "--show", "ceilings.json"}));
  hold({{"ceilings", "--show", "text.txt"},
        {"ceilings", "--show", "none.json"},
        {"ceilings", "--program", "none"},
        {"ceilings", "--show", "ceilings.json", "--save", "whole.ridge"},
        {"ceilings", "--program", "none", "--save", "x"}});
}

TEST_F(Verbs, SqlAndColumnsAndExports) {
  const std::string query = "SELECT step_index, phase, status FROM v_step ORDER BY step_id";
  hold(Commands{{"sql", "whole.ridge", query}} * (kFormats * Commands{{},
                                                                      {"--max-rows", "0"},
                                                                      {"--max-rows", "1"},
                                                                      {"--max-rows", "3"},
                                                                      {"--max-rows", "10"},
                                                                      {"--max-rows", "11"}}));
  hold({{"sql"},
        {"sql", "whole.ridge"},
        {"sql", "whole.ridge", "SELEKT"},
        {"sql", "whole.ridge", "DELETE FROM launch"},
        {"sql", "--schema"},
        {"sql", "whole.ridge", "SELECT * FROM v_gap", "--format", "csv"},
        {"sql", "none.ridge", "SELECT 1"},
        {"sql", "whole.ridge", "SELECT 1 WHERE 0"},
        {"sql", "whole.ridge", "SELECT 1 WHERE 0", "--max-rows", "0"},
        {"sql", "--schema", "-o", "x.sql"}});
  for (const char* width : {"80", "200"}) {
    ::setenv("COLUMNS", width, 1);
    Commands columns = {{"columns"}, {"columns", "nonsense"}};
    for (const reports::DeclaredTable& each : reports::declared_tables()) {
      columns.push_back({"columns", each.name});
      columns.push_back({"columns", each.name, "--markdown"});
    }
    hold(columns);
  }
  ::unsetenv("COLUMNS");
  for (const char* capture : {"two.ridge", "eager.ridge"})
    hold(Commands{{"export", capture, "-o", "-"}} *
         Commands{{"--format", "chrome"},
                  {"--format", "csv"},
                  {"--format", "csv", "--view", "v_step"},
                  {"--format", "csv", "--view", "none"},
                  {"--format", "chrome", "--steps", "2"},
                  {"--format", "chrome", "--steps", "2..3", "--strip"},
                  {"--format", "chrome", "--range", "forward"},
                  {"--format", "chrome", "--steps", "90..91"},
                  {"--format", "parquet"},
                  {"--steps", "2..2"},
                  {"--format", "csv", "--steps", "2..3", "--strip"}});
  hold({{"export", "text.txt", "-o", "-"},
        {"export", "whole.ridge", "-o", "whole.ridge"},
        {"export", "whole.ridge"},
        {"export", "whole.ridge", "-o", "x.json", "--format", "chrome", "--steps", "2"}});
}

TEST_F(Verbs, ImportMakesACapture) {
  const std::string text = copy("text.txt", "kept.txt");
  hold({{"import", "spool"},
        {"import", "spool", "-o", "new.ridge"},
        {"import", "spool", "-o", "new.ridge", "-q"},
        {"import", "spool", "-o", "whole.ridge"},
        {"import", "spool", "-o", "new.ridge", "--step-range", "step"},
        {"import", "spool", "-o", text, "-f"}});
  hold({{"import", "trace.json"},
        {"import", "trace.json", "-o", "new.ridge", "--step-range", "forward"},
        {"import", "trace.json", "trace.json"},
        {"import", "trace.json", "--format", "json"},
        {"import", "trace.json", "--ncu-locale", "point"},
        {"import", "text.txt"},
        {"import", "none"},
        {"import", "trace.json", "--onto", "whole.ridge"},
        {"import", "trace.json", "--onto", "whole.ridge", "--step-range", "x"},
        {"import", "."},
        {"import", "trace.json", "-o", text, "-f"},
        {"import", "spool", "trace.json"}});
}

TEST_F(Verbs, WhatIsNoVerbAndWhatIsNoOption) {
  hold({{},
        {"--"},
        {"--", "rank"},
        {"--help"},
        {"--version"},
        {"-x"},
        {"--first=1"},
        {"--first", "rank"},
        {"--first", "nothing"},
        {"nothing"},
        {"rank", "--help"},
        {"rank", "-h"},
        {"rank", "--hel"},
        {"rank", "x", "--bad=1"},
        {"rank", "x", "y", "z"},
        {"rank", "--top"},
        {"--help", "rank"},
        {"rank", "info"},
        {"rank", "none.ridge", "info"},
        {"info", "none.ridge", "--top", "1"},
        {"history", "--help"},
        {"history", "show", "--help"},
        {"record"},
        {"record", "--"},
        {"record", "--cold"},
        {"calibrate"},
        {"calibrate", "--pairs", "2"},
        {"doctor", "--columns", "x"},
        {"columns", "--", "x"},
        {"info", "x", "--", "y"},
        {"record", "-o", "project.toml", "--", "true"},
        {"record", "--agent", "text.txt", "--", "true"},
        {"record", "--tiers", "T1", "--", "true"},
        {"record", "--after", "x", "--", "true"},
        {"mcp", "--time-limit", "0"},
        {"mcp", "--root", "none"}});
  // Of no verb the list has all verbs; of each its own.
  const std::string list = run({"nothing"}).err;
  Commands help;
  std::istringstream names(list.substr(list.find("use one of ") + 11));
  for (std::string name; names >> name;) {
    if (name.back() == ',') name.pop_back();
    if (name != "gui") help.push_back({name, "--help"});
  }
  hold(help);
  for (const char* width : {"", "x", "0", "-1", "79", "81", "199", "201", "1e3", "120 "}) {
    ::setenv("COLUMNS", width, 1);
    hold({{"what-if", "--help"}});
  }
  ::unsetenv("COLUMNS");
}

// A terminal of that many columns; what is written to it is read while the call runs.
template <typename Call>
std::string on_terminal(int columns, const Call& call) {
  const int terminal = ::posix_openpt(O_RDWR | O_NOCTTY);
  if (terminal < 0 || ::grantpt(terminal) != 0 || ::unlockpt(terminal) != 0) return "no terminal";
  const int slave = ::open(::ptsname(terminal), O_RDWR | O_NOCTTY | O_CLOEXEC);
  termios raw{};
  ::tcgetattr(slave, &raw);
  ::cfmakeraw(&raw);
  ::tcsetattr(slave, TCSANOW, &raw);
  winsize size{};
  size.ws_col = static_cast<unsigned short>(columns);
  ::ioctl(slave, TIOCSWINSZ, &size);
  std::string text;
  std::thread reader([&] {
    char piece[4096];
    for (ssize_t got = 0; (got = ::read(terminal, piece, sizeof piece)) > 0;)
      text.append(piece, static_cast<std::size_t>(got));
  });
  {
    const Redirected out_is(STDOUT_FILENO, slave), err_is(STDERR_FILENO, slave);
    call();
  }
  ::close(slave);
  reader.join();
  ::close(terminal);
  std::string shown;
  for (const char character : text) {
    if (character == '\x1b')
      shown += "ESC";
    else if (character == '\r')
      shown += "CR";
    else
      shown += character;
  }
  return shown;
}

TEST_F(Verbs, OnATerminal) {
  const auto all = [](int columns) {
    std::string text;
    for (const Words& words : Commands{{"rank", "whole.ridge"},
                                       {"rank", "whole.ridge", "-o", "-"},
                                       {"columns", "check"},
                                       {"check", "whole.ridge"},
                                       {"rank", "none.ridge"},
                                       {"roofline", "whole.ridge", "--format", "png"}}) {
      make(words);
      text += on_terminal(columns, [&] { static_cast<void>(run_command_line(words)); });
    }
    return text;
  };
  for (const int columns : {0, 40, 80, 120, 300}) AcceptedCases::expect([&] { return all(columns); });
  for (const char* term : {"xterm", "dumb"}) {
    ::setenv("TERM", term, 1);
    AcceptedCases::expect([&] { return all(100); });
  }
  ::setenv("TERM", "xterm", 1);
  for (const char* no_colour : {"", "1"}) {
    ::setenv("NO_COLOR", no_colour, 1);
    AcceptedCases::expect([&] { return all(100); });
  }
  ::unsetenv("NO_COLOR");
  ::unsetenv("TERM");
  AcceptedCases::expect([&] {
    return on_terminal(100, [] {
      ProgressLine line;
      line.clear();
      line.show("short");
      line.show(std::string(78, 'a') + "b");
      line.show(std::string(79, 'a') + "b");
      line.show("\x1b[2J two\nlines");
      line.clear();
      line.clear();
      line.show("left");
    });
  });
}

}  // namespace
}  // namespace ridgeline::cli
