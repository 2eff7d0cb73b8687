// Several variants of a program, with a recorder that makes captures up: how slow a variant is stands in a file of its
// working directory.
#include "ridgeline/experiment/measure.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>

#include "support/temporary_directory.h"

namespace ridgeline::experiment {
namespace {

class Measure : public ::testing::Test {
 protected:
  void SetUp() override {
    // Four layers: which runs are made and compared is judged here, and a third of the launches tell it.
    write("recorder",
          "#!/bin/bash\n"
          "echo \"${*: -1}\" >> \"" +
              folder_.path() +
              "/calls\"\n"
              "while [ $# -gt 0 ]; do case $1 in -o) out=$2; shift;; --directory) dir=$2; shift;; esac; "
              "shift; done\n"
              "[ -e \"$dir/crash\" ] && { echo 'the program crashed'; exit 3; }\n"
              "n=$(cat \"" +
              folder_.path() + "/count\" 2>/dev/null || echo 0); echo $((n + 1)) > \"" + folder_.path() +
              "/count\"\n"
              "exec " FABRICATE
              " \"$out\" codes layers=4 run=$((n + 1)) slow=layernorm_backward:$(cat \"$dir/slow\") "
              "factor=$(sed -n \"$((n % 5 + 1))p\" \"$dir/factors\" 2>/dev/null || echo 1)\n");
    std::filesystem::permissions(folder_ / "recorder", std::filesystem::perms::owner_all);
    plan_.recording.recorder = {folder_ / "recorder"};
    plan_.tell = [this](const std::string& line) { told_ += line + "\n"; };
  }
  void write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name) << text;
  }
  [[nodiscard]] std::string read(const std::string& name) const {
    std::ifstream file(folder_ / name);
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
  }
  void add_variant(const std::string& name, const std::string& slow) {
    std::filesystem::create_directory(folder_ / name);
    write(name + "/slow", slow);
    variants_.push_back(
        {std::string(1, static_cast<char>('a' + variants_.size())), name, folder_ / name, {"run", name}});
  }
  [[nodiscard]] Result<Measured> measured() {
    ExperimentDirectory directory(folder_ / "out");
    return measure(variants_, plan_, directory);
  }
  [[nodiscard]] std::int64_t captures(const std::string& prefix) const {
    std::int64_t count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_ / "out")) {
      const std::string name = entry.path().filename().string();
      count += name.starts_with(prefix) && name.ends_with(".ridge");
    }
    return count;
  }

  testing::TemporaryDirectory folder_;
  std::vector<Variant> variants_;
  MeasurePlan plan_;
  std::string told_;
};

TEST_F(Measure, ThreeVariantsAreComparedWithTheFirst) {
  add_variant("base", "1.0");
  add_variant("same", "1.0");
  add_variant("slow", "1.5");
  plan_.rounds = 6;
  const auto result = measured();
  ASSERT_TRUE(result) << result.failure().message;
  ASSERT_EQ(result.value().comparisons.size(), 2u);
  const comparison::Comparison& same = result.value().comparisons[0];
  const comparison::Comparison& slow = result.value().comparisons[1];
  EXPECT_EQ(same.verdict, comparison::ComparisonVerdict::same);
  EXPECT_EQ(slow.verdict, comparison::ComparisonVerdict::regressed);
  EXPECT_EQ(slow.options.confirmation_pairs, 1) << told_;
  EXPECT_LT(slow.options.false_discovery_rate, 0.05 / 2) << "two contrasts and several looks share the error";
  EXPECT_NE(told_.find("round 1 of at most 6\n"), std::string::npos) << told_;
  EXPECT_NE(told_.find("one more round must show it again\n"), std::string::npos) << told_;
  ASSERT_EQ(result.value().captures.size(), 3u);
  for (std::size_t variant = 0; variant < 3; ++variant) {
    EXPECT_EQ(result.value().captures[variant].size(), result.value().captures[0].size());
    EXPECT_EQ(result.value().captures[variant].front(),
              folder_ / "out/" + variants_[variant].label + "-" + variants_[variant].name + "-01.ridge");
  }
  EXPECT_EQ(read("calls").substr(0, 30), "base\nsame\nslow\nsame\nslow\nbase\n");
}

// Runs that differ too much for a verdict, ten seconds a pair by the plan's clock: a minute is enough for five and the
// one that is kept to confirm a difference, which is recorded as well.
TEST_F(Measure, NothingOfTheBudgetIsKeptForWhatWasNotFound) {
  add_variant("base", "1.0");
  add_variant("head", "1.0");
  for (const char* name : {"base", "head"})
    write(std::string(name) + "/factors", "1\n1.05\n0.93\n1.08\n0.95\n");
  std::chrono::steady_clock::time_point now{};
  plan_.now = [&] { return now; };
  plan_.tell = [&](const std::string& line) {
    told_ += line + "\n";
    if (line.find(" of at most ") != std::string::npos) now += std::chrono::seconds(10);
  };
  plan_.rounds = 40;
  plan_.budget = std::chrono::seconds(60);
  const auto result = measured();
  ASSERT_TRUE(result) << result.failure().message;
  const comparison::Comparison& comparison = result.value().comparisons.front();
  EXPECT_EQ(comparison.verdict, comparison::ComparisonVerdict::inconclusive);
  EXPECT_NE(told_.find("found no difference: the pair that was kept to confirm one is looked at too\n"),
            std::string::npos)
      << told_;
  EXPECT_EQ(result.value().captures.front().size(), 6u) << told_;
  EXPECT_EQ(comparison.pairs, 6) << told_;
  // Of a number of pairs none is beyond it.
  told_.clear();
  plan_.rounds = 3;
  const auto few = measured();
  ASSERT_TRUE(few) << few.failure().message;
  EXPECT_EQ(few.value().captures.front().size(), 3u) << told_;
}

TEST_F(Measure, ContrastsMayBeChosen) {
  add_variant("base", "1.0");
  add_variant("first", "1.5");
  add_variant("second", "1.5");
  plan_.rounds = 3;
  plan_.look = false;
  plan_.contrasts = {{0, 1}, {1, 2}};
  const auto result = measured();
  ASSERT_TRUE(result) << result.failure().message;
  EXPECT_EQ(result.value().comparisons[0].step().outcome, comparison::Outcome::regressed);
  EXPECT_EQ(result.value().comparisons[1].verdict, comparison::ComparisonVerdict::same);
  EXPECT_DOUBLE_EQ(result.value().comparisons[1].options.alpha, 0.025);
  plan_.contrasts = {{0, 3}};
  EXPECT_EQ(measured().failure().kind, ErrorKind::usage);
  plan_.contrasts = {};
  variants_.resize(1);
  EXPECT_EQ(measured().failure().kind, ErrorKind::usage);
}

TEST_F(Measure, AShorterSecondRunLeavesNothingOfTheFirst) {
  add_variant("base", "1.0");
  add_variant("head", "1.0");
  plan_.look = false;
  plan_.rounds = 4;
  ASSERT_TRUE(measured());
  EXPECT_EQ(captures("a-base-"), 4);
  write("out/mine.ridge", "kept");
  plan_.rounds = 3;
  variants_[1].name = "other";
  ASSERT_TRUE(measured());
  EXPECT_EQ(captures("a-base-"), 3);
  EXPECT_EQ(captures("b-other-"), 3);
  EXPECT_EQ(captures("b-head-"), 0);
  EXPECT_EQ(captures("mine"), 1);
}

// One experiment may measure several times: the captures of the others stay.
TEST_F(Measure, ASecondMeasurementReplacesItsOwnVariants) {
  add_variant("base", "1.0");
  add_variant("head", "1.0");
  plan_.look = false;
  plan_.rounds = 4;
  ExperimentDirectory directory(folder_ / "out");
  ASSERT_TRUE(measure(variants_, plan_, directory));
  plan_.rounds = 3;
  variants_[1].name = "other";
  ASSERT_TRUE(measure(variants_, plan_, directory));
  EXPECT_EQ(captures("a-base-"), 3);
  EXPECT_EQ(captures("b-head-"), 4);
  EXPECT_EQ(captures("b-other-"), 3);
}

TEST_F(Measure, ARunWithoutACaptureNamesItsLog) {
  add_variant("base", "1.0");
  add_variant("head", "1.0");
  write("head/crash", "");
  const auto result = measured();
  ASSERT_FALSE(result);
  EXPECT_EQ(result.failure().kind, ErrorKind::no_data);
  EXPECT_EQ(result.failure().message,
            "run 1 of head ended with 3: the program crashed (" + (folder_ / "out") + "/b-head-01.log)");
  plan_.recording.recorder = {"/no/such/recorder"};
  EXPECT_NE(measured().failure().message.find("ended with 127: cannot start /no/such/recorder"),
            std::string::npos);
}

}  // namespace
}  // namespace ridgeline::experiment
