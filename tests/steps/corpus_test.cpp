// The search for steps on a fixed part of the corpus: each kind of program from its start and met in mid-run. The
// program step_corpus scores all of it.
#include "corpus.h"

#include <gtest/gtest.h>

#include <cctype>
#include <ostream>
#include <string>

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

}  // namespace
}  // namespace ridgeline::steps::corpus
