// What the words of a command line and of a project file ask the analyzer for.
#include <gtest/gtest.h>

#include <CLI/CLI.hpp>
#include <cmath>
#include <fstream>
#include <functional>

#include "compare_options.h"
#include "support/temporary_directory.h"
#include "verb.h"

namespace ridgeline::cli {
namespace {

// The message of the usage error, "" without one.
std::string complaint(const std::function<void()>& call, ErrorKind kind = ErrorKind::usage) {
  try {
    call();
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind);
    return error.what();
  }
  return "";
}

TEST(ParseRatio, TakesNumbersAndPerCents) {
  EXPECT_DOUBLE_EQ(parse_ratio("--target", "0.7"), 0.7);
  EXPECT_DOUBLE_EQ(parse_ratio("--target", "70%"), 0.7);
  EXPECT_DOUBLE_EQ(parse_ratio("--target", "1"), 1.0);
  EXPECT_DOUBLE_EQ(parse_ratio("--target", "100%"), 1.0);
  EXPECT_DOUBLE_EQ(parse_ratio("--target", "0.5%"), 0.005);
  for (const char* text : {"", "%", "0", "-0.5", "1.01", "101%", "nan", "inf", "0.7x", "0.7 %", "70%%"})
    EXPECT_NE(complaint([&] { static_cast<void>(parse_ratio("--target", text)); }).find("--target"),
              std::string::npos)
        << text;
}

TEST(WholeNumber, IsOneOfAtLeastTheBound) {
  const auto wrong = [](std::int64_t least, const std::string& text) -> std::string {
    CLI::App app;
    std::int64_t value = 0;
    Command(app).add_option("--n", value, "").whole_number(least);
    try {
      app.parse(std::vector<std::string>{"--n=" + text});
    } catch (const CLI::ParseError& error) {
      return error.what();
    }
    EXPECT_EQ(std::to_string(value), text);
    return "";
  };
  EXPECT_EQ(wrong(0, "0"), "");
  EXPECT_EQ(wrong(1, "1"), "");
  EXPECT_EQ(wrong(0, "9223372036854775807"), "");
  EXPECT_EQ(wrong(1, "0"), "--n: '0' is not a whole number of 1 or more");
  for (const char* text : {"-1", "", "1.5", "2x", " 3", "9223372036854775808"})
    EXPECT_NE(wrong(0, text), "") << text;
}

TEST(AnalysisOptions, RoofIsOneWordForBothAndWhatIsNamedAloneComesBeforeIt) {
  AnalysisArguments arguments;
  arguments.roofs.roof = "spec";
  analyzer::PeakPolicy peaks = analysis_options(arguments).utilisation.peaks;
  EXPECT_EQ(peaks.dram, PeakSource::spec);
  EXPECT_EQ(peaks.compute, PeakSource::clock) << "as if nothing had been measured";
  arguments.roofs.roof = "burst";
  arguments.compute_peak = "clock";
  peaks = analysis_options(arguments).utilisation.peaks;
  EXPECT_EQ(peaks.dram, PeakSource::burst);
  EXPECT_EQ(peaks.compute, PeakSource::clock);
  arguments.roofs.roof = "counter";
  EXPECT_NE(
      complaint([&] { static_cast<void>(analysis_options(arguments)); }).find("spec, burst or sustained"),
      std::string::npos);
  arguments.roofs = {.roof = "", .ceilings = "/nonexistent/file.json"};
  const std::string missing =
      complaint([&] { static_cast<void>(analysis_options(arguments)); }, ErrorKind::io);
  EXPECT_NE(missing.find("/nonexistent/file.json"), std::string::npos);
}

TEST(AnalysisOptions, AreWhatIsAskedFor) {
  const analyzer::AnalysisOptions usual = analysis_options({});
  EXPECT_DOUBLE_EQ(usual.ranking.target, 0.70);
  EXPECT_DOUBLE_EQ(usual.ranking.stretch, 0.85);
  EXPECT_DOUBLE_EQ(usual.targets.target, 0.70);
  EXPECT_DOUBLE_EQ(usual.targets.stretch, 0.85);
  EXPECT_EQ(usual.window_key, analyzer::RankingKey::kernel_and_grid);
  EXPECT_EQ(scope_of({}), analyzer::Scope{});
  EXPECT_FALSE(usual.utilisation.peaks.dram) << "as the capture has it";
  EXPECT_FALSE(usual.utilisation.peaks.compute);
  AnalysisArguments arguments;
  arguments.target = "60%";
  arguments.stretch = "0.65";
  arguments.step = 0;
  arguments.process = 0;
  arguments.dram_peak = "measured";
  arguments.compute_peak = "spec";
  const analyzer::AnalysisOptions asked = analysis_options(arguments);
  EXPECT_DOUBLE_EQ(asked.ranking.target, 0.60);
  EXPECT_DOUBLE_EQ(asked.targets.stretch, 0.65);
  EXPECT_EQ(scope_of(arguments),
            (analyzer::Scope{.process_id = 0, .steps = analyzer::StepSelection::one(0)}));
  arguments.step_kind = 3;
  EXPECT_THROW(scope_of(arguments), Error);  // a step is of the kind that it is
  arguments.step = -1;
  EXPECT_EQ(scope_of(arguments),
            (analyzer::Scope{.process_id = 0, .steps = analyzer::StepSelection::of_kind(2)}));
  EXPECT_EQ(asked.utilisation.peaks.dram, PeakSource::measured);
  EXPECT_EQ(asked.utilisation.peaks.compute, PeakSource::spec);
  arguments.stretch = "0.6";
  EXPECT_DOUBLE_EQ(analysis_options(arguments).ranking.stretch, 0.6) << "as high as the target";
  arguments.stretch = "0.59";
  EXPECT_NE(complaint([&] { static_cast<void>(analysis_options(arguments)); }).find("--stretch"),
            std::string::npos);
  arguments.stretch.clear();
  arguments.target = "0.9";
  EXPECT_DOUBLE_EQ(analysis_options(arguments).ranking.stretch, 0.9) << "at least the target";
}

TEST(AnalysisOptions, ARangeIsOfEveryStepUnlessOneIsNamed) {
  AnalysisArguments arguments;
  arguments.range = "forward";
  EXPECT_EQ(scope_of(arguments), analyzer::Scope::of_range("forward"));
  arguments.step = 4;
  EXPECT_EQ(scope_of(arguments),
            (analyzer::Scope{.steps = analyzer::StepSelection::one(4), .range = "forward"}));
  arguments.window = "0..1s";
  EXPECT_NE(complaint([&] { static_cast<void>(scope_of(arguments)); }).find("--step"), std::string::npos);
  arguments.step = -1;
  const analyzer::Scope scope = scope_of(arguments);
  EXPECT_EQ(scope.window, (analyzer::TimeWindow{0, 1'000'000'000}));
  EXPECT_TRUE(scope.window_from_start);
  EXPECT_EQ(scope.steps, analyzer::StepSelection::everything());
}

TEST(AnalysisOptions, AWindowHasUnitsAndALength) {
  const auto window = [](const std::string& text) {
    const analyzer::TimeWindow parsed = parse_window("--window", text);
    return std::pair(parsed.start_ns, parsed.end_ns);
  };
  EXPECT_EQ(window("1.2s..1500ms"), std::pair(std::int64_t{1'200'000'000}, std::int64_t{1'500'000'000}));
  EXPECT_EQ(window("0..7ns"), std::pair(std::int64_t{0}, std::int64_t{7}));
  EXPECT_EQ(window("2.5us..3µs"), std::pair(std::int64_t{2500}, std::int64_t{3000}));
  for (const char* text : {"", "1s", "1s..", "..1s", "1..2", "1s..2", "2s..1s", "1s..1s", "-1s..1s", "1h..2h",
                           "1 s..2 s", "nan..1s", "0..inf", "0..9e9s", "1s..2s..3s", "0x..1s"})
    EXPECT_NE(complaint([&] { static_cast<void>(parse_window("--window", text)); }).find("--window"),
              std::string::npos)
        << text;
}

// Steps, processes and kinds are numbered from 0, 0 and 1.
TEST(AnalysisOptions, NumbersBeginWhereTheyAreCountedFrom) {
  const auto accepted = [](const std::string& option, const std::string& value) {
    CLI::App app;
    AnalysisArguments arguments;
    add_step_options(Command(app), arguments);
    try {
      app.parse(option + "=" + value);
    } catch (const CLI::ParseError&) {
      return false;
    }
    return true;
  };
  EXPECT_TRUE(accepted("--step", "0"));
  EXPECT_TRUE(accepted("--process", "0"));
  EXPECT_TRUE(accepted("--step-kind", "1"));
  EXPECT_FALSE(accepted("--step", "-1"));
  EXPECT_FALSE(accepted("--process", "-1"));
  EXPECT_FALSE(accepted("--step-kind", "0"));
}

TEST(ComparisonOptions, TheCommandLineComesBeforeTheProjectFile) {
  ridgeline::testing::TemporaryDirectory directory;
  const auto written = [&](const std::string& name, const std::string& text) {
    std::ofstream(directory.file(name)) << text;
    return directory.file(name);
  };
  const comparison::ComparisonOptions usual = comparison_options({}, {});
  EXPECT_TRUE(usual.paired);
  EXPECT_FALSE(usual.strict);
  EXPECT_FALSE(usual.any_environment);
  EXPECT_EQ(usual.confirmation_pairs, 0);
  EXPECT_DOUBLE_EQ(usual.step_ratio, 0.01);
  EXPECT_DOUBLE_EQ(usual.kernel_ratio, 0.02);
  EXPECT_TRUE(usual.match.rules.empty());
  EXPECT_FALSE(usual.floor.has_value());

  experiment::ProjectFile project;
  project.strict = true;
  project.false_discovery_rate = 0.1;
  project.step_ratio = 0.03;
  project.kernel_ratio = 0.04;
  project.kernel_us = 2.5;
  project.kernel_step_share = 0.005;
  project.budgets = {{.kernel = "k", .max_time_ns = 1.0}};
  project.match = written("project-match.toml", "[[rule]]\nkernel = 'a'\nbecomes = 'b'\n");
  project.noise = written("project-noise.toml",
                          "format = 'ridgeline.noise'\nversion = 1\npairs = 10\nstep_ratio = 0.001\n");
  const comparison::ComparisonOptions from_project = comparison_options({}, project);
  EXPECT_TRUE(from_project.strict);
  EXPECT_DOUBLE_EQ(from_project.false_discovery_rate, 0.1);
  EXPECT_DOUBLE_EQ(from_project.step_ratio, 0.03);
  EXPECT_DOUBLE_EQ(from_project.kernel_ratio, 0.04);
  EXPECT_DOUBLE_EQ(from_project.kernel_ns, 2500);
  EXPECT_DOUBLE_EQ(from_project.kernel_step_share, 0.005);
  EXPECT_EQ(from_project.budgets.size(), 1U);
  ASSERT_EQ(from_project.match.rules.size(), 1U);
  EXPECT_EQ(from_project.match.rules[0].becomes, "b");
  EXPECT_DOUBLE_EQ(from_project.floor.value().step_ratio, 0.001);

  CompareArguments arguments;
  arguments.step_threshold = "5%";
  arguments.kernel_threshold = "0.06";
  arguments.match = written("match.toml", "[[rule]]\nkernel = 'a'\nbecomes = 'c'\n");
  arguments.noise =
      written("noise.toml", "format = 'ridgeline.noise'\nversion = 1\npairs = 9\nstep_ratio = 0.002\n");
  arguments.confirm = 2;
  arguments.unpaired = true;
  arguments.any_environment = true;
  const comparison::ComparisonOptions asked = comparison_options(arguments, project);
  EXPECT_FALSE(asked.paired);
  EXPECT_TRUE(asked.any_environment);
  EXPECT_EQ(asked.confirmation_pairs, 2);
  EXPECT_DOUBLE_EQ(asked.step_ratio, 0.05);
  EXPECT_DOUBLE_EQ(asked.kernel_ratio, 0.06);
  EXPECT_EQ(asked.match.rules.at(0).becomes, "c");
  EXPECT_EQ(asked.floor.value().pairs, 9);
}

TEST(ComparisonOptions, StrictIsWhatEitherAsksFor) {
  const auto strict = [](bool asked, std::optional<bool> project) {
    CompareArguments arguments;
    arguments.strict = asked;
    experiment::ProjectFile file;
    file.strict = project;
    return comparison_options(arguments, file).strict;
  };
  EXPECT_TRUE(strict(true, {}));
  EXPECT_TRUE(strict(true, false));
  EXPECT_TRUE(strict(false, true));
  EXPECT_FALSE(strict(false, false));
  EXPECT_FALSE(strict(false, {}));
}

TEST(FailOn, IsTheListOfTheCommandLineElseOfTheProject) {
  const auto words = [](const std::string& asked, const std::vector<std::string>& project) {
    CompareArguments arguments;
    arguments.fail_on = asked;
    experiment::ProjectFile file;
    file.fail_on = project;
    const comparison::FailOn found = fail_on(arguments, file);
    return std::string(found.regression ? "r" : "-") + (found.inconclusive ? "i" : "-") +
           (found.unmatched ? "u" : "-");
  };
  EXPECT_EQ(words("", {}), "r--");
  EXPECT_EQ(words("", {"inconclusive", "unmatched"}), "-iu");
  EXPECT_EQ(words("regression,unmatched", {"inconclusive"}), "r-u");
  EXPECT_EQ(words("none", {"inconclusive"}), "---");
  EXPECT_NE(complaint([&] { words("regression,rain", {}); }).find("rain"), std::string::npos);
}

TEST(CheckFailOn, IsWhatOneCaptureCanBeAskedFor) {
  const auto words = [](const std::string& list) {
    const analyzer::CheckFailOn found = check_fail_on(list);
    return std::string(found.budget ? "b" : "-") + (found.target ? "t" : "-") +
           (found.unmeasured ? "u" : "-");
  };
  EXPECT_EQ(words("budget"), "b--");
  EXPECT_EQ(words("target,unmeasured"), "-tu");
  EXPECT_EQ(words("none"), "---");
  EXPECT_NE(complaint([&] { words("regression"); }).find("regression"), std::string::npos);
}

TEST(SidesOf, AreTwoCapturesOrTwoLists) {
  using List = std::vector<std::string>;
  EXPECT_EQ(sides_of({"a", "b"}, {}), std::pair(List{"a"}, List{"b"}));
  EXPECT_EQ(sides_of({"a", "b"}, {"c"}), std::pair(List({"a", "b"}), List{"c"}));
  EXPECT_NE(complaint([] { static_cast<void>(sides_of({"a"}, {})); }).find("1 captures"), std::string::npos);
  EXPECT_NE(complaint([] {
              static_cast<void>(sides_of({"a", "b", "c"}, {}));
            }).find("3 captures"),
            std::string::npos);
}

}  // namespace
}  // namespace ridgeline::cli
