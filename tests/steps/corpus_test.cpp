// The search for steps on a fixed part of the corpus: each kind of program from its start and met in mid-run. The
// program step_corpus scores all of it.
#include "corpus.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cctype>
#include <ostream>
#include <string>
#include <vector>

#include "ridgeline/steps/step_watch.h"

namespace ridgeline::steps::corpus {

static void PrintTo(const Kind& kind, std::ostream* out) {
  *out << kind.name;
}

namespace {

class Corpus : public ::testing::TestWithParam<Kind> {};

TEST_P(Corpus, IsFoundFromItsStart) {
  const Sequence whole = GetParam().make(101);
  const Verdict v = judge(whole);
  EXPECT_TRUE(v.in_time) << "found after " << v.found_steps << " steps";
  EXPECT_TRUE(v.in_the_end) << v.launches << " launches a step";
}

TEST_P(Corpus, IsFoundInMidRun) {
  const Sequence whole = GetParam().make(102);
  const Verdict v = judge(from(whole, whole.steady + 1, 0.4));
  EXPECT_TRUE(v.in_time) << "found after " << v.found_steps << " steps";
  EXPECT_TRUE(v.in_the_end) << v.launches << " launches a step";
}

TEST_P(Corpus, IsFoundAtImport) {
  EXPECT_TRUE(right_at_import(GetParam().make(103)));
}

std::string name_of(const ::testing::TestParamInfo<Kind>& info) {
  std::string name;
  bool upper = true;
  for (const char c : info.param.name) {
    if (std::isalnum(static_cast<unsigned char>(c)) == 0) {
      upper = true;
      continue;
    }
    name += upper ? static_cast<char>(std::toupper(static_cast<unsigned char>(c))) : c;
    upper = false;
  }
  return name;
}
INSTANTIATE_TEST_SUITE_P(Programs, Corpus, ::testing::ValuesIn(kinds()), name_of);
INSTANTIATE_TEST_SUITE_P(Recordings, Corpus, ::testing::ValuesIn(recorded(RIDGELINE_STEP_SEQUENCES)),
                         name_of);

// Seventy steps in a fifth of a second are over before the agent looks twice.
TEST(ShortPrograms, AreCutAtImport) {
  for (const Kind& kind : kinds()) {
    if (kind.name.find("four streams") == std::string::npos &&
        kind.name.find("attention alone") == std::string::npos)
      continue;
    Sequence s = kind.make(7);
    s.launches.resize(s.steps[70]);
    s.times_ns.resize(s.steps[70]);
    s.steps.resize(70);
    EXPECT_TRUE(right_at_import(s)) << kind.name;
  }
}

// A router that learns to send all tokens to two of eight experts: from 1,942 launches a step to 700.
TEST(StepsThatBecomeShorter, AreTheSameSteps) {
  const std::vector<Kind> recordings = recorded(RIDGELINE_STEP_SEQUENCES);
  const auto kind = std::find_if(recordings.begin(), recordings.end(),
                                 [](const Kind& k) { return k.name == "recorded: mixture-of-experts"; });
  ASSERT_NE(kind, recordings.end());
  const Sequence whole = kind->make(0);
  EXPECT_GE(judge(whole).found_steps, 0);
  for (const std::size_t met : {std::size_t{0}, std::size_t{3}, std::size_t{9}})
    EXPECT_EQ(judge(from(whole, met, 0)).replaced, 0) << "met in step " << met;
}

// A layer that comes four times in each is another period, whatever else is alike.
TEST(StepsThatBecomeShorter, AreNotTheirParts) {
  StepWatch watch;
  std::vector<Launch> launches;
  StepPeriodFound found;
  std::uint32_t found_launches = 0, replaced = 0;
  std::int64_t now_ns = 1'000'000'000;
  const auto launch = [&](std::uint32_t kernel) {
    now_ns += 20'000;
    launches.push_back({key_of(kernel, 1, 1, 1), static_cast<std::uint32_t>(now_ns / 1000)});
    const std::size_t size = watch.wanted(launches.size(), now_ns);
    if (size == 0 ||
        !watch.look(launches.data() + launches.size() - size, size, launches.size(), now_ns, &found))
      return;
    found_launches = found.period.launches;
    replaced += found.replaces ? 1 : 0;
  };
  for (int layer = 0; layer < 600; ++layer)  // 12 s of initialisation by layers
    for (std::uint32_t k = 0; k < 50; ++k) launch(100 + k);
  EXPECT_EQ(found_launches, 50u);
  for (int step = 0; step < 300; ++step) {
    for (int layer = 0; layer < 4; ++layer)
      for (std::uint32_t k = 0; k < 50; ++k) launch(100 + k);
    for (std::uint32_t k = 0; k < 60; ++k) launch(200 + k);
  }
  EXPECT_EQ(found_launches, 260u);
  EXPECT_EQ(replaced, 1u);
}

}  // namespace
}  // namespace ridgeline::steps::corpus
