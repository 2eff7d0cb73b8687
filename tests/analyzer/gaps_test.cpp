#include "ridgeline/analyzer/accounting/gaps.h"

#include <gtest/gtest.h>

#include <stdexcept>
#include <vector>

namespace ridgeline::analyzer {
namespace {

std::vector<Gap> different_gaps() {
  return {{.start_ns = 5, .end_ns = 9, .kind = GapKind::tail},
          {.start_ns = 10,
           .end_ns = 30,
           .kind = GapKind::synchronisation,
           .before = 0,
           .after = 7,
           .thread_id = 3,
           .synchronisation_ns = 11,
           .wait = Wait{SynchronisationCall::stream, 40}},
          {.start_ns = 40, .end_ns = 41, .kind = GapKind::queued, .before = 8, .thread_id = 3},
          {.start_ns = 50, .end_ns = 52, .kind = GapKind::launch_bound, .after = 9, .thread_id = 3}};
}

void expect_same(const Gap& a, const Gap& b) {
  EXPECT_EQ(a.start_ns, b.start_ns);
  EXPECT_EQ(a.end_ns, b.end_ns);
  EXPECT_EQ(a.kind, b.kind);
  EXPECT_EQ(a.before, b.before);
  EXPECT_EQ(a.after, b.after);
  EXPECT_EQ(a.thread_id, b.thread_id);
  EXPECT_EQ(a.synchronisation_ns, b.synchronisation_ns);
  EXPECT_EQ(a.wait, b.wait);
}

TEST(Gaps, GiveBackWhatWasPutIn) {
  const std::vector<Gap> put = different_gaps();
  Gaps gaps;
  EXPECT_TRUE(gaps.empty());
  for (const Gap& gap : put) gaps.push_back(gap);
  ASSERT_EQ(gaps.size(), put.size());
  std::size_t i = 0;
  for (const Gap& gap : gaps) expect_same(gap, put[i++]);
  EXPECT_EQ(i, put.size());
  EXPECT_EQ(gaps.length_ns(1), 20);
  EXPECT_EQ(gaps.at(3).after, 9U);
  EXPECT_THROW((void)gaps.at(4), std::out_of_range);
}

TEST(Gaps, ACopyStaysAsItWas) {
  Gaps gaps = {different_gaps()[0], different_gaps()[1]};
  const Gaps copy = gaps;
  gaps.push_back(different_gaps()[2]);
  EXPECT_EQ(copy.size(), 2U);
  EXPECT_EQ(gaps.size(), 3U);
  expect_same(copy[1], different_gaps()[1]);
}

TEST(Gaps, ThoseOfTwoStepsFollowEachOther) {
  const std::vector<Gap> put = different_gaps();
  Gaps all;
  all.append({put[0], put[1]});
  all.append({put[2], put[3]});
  all.append({});
  ASSERT_EQ(all.size(), 4U);
  for (std::size_t i = 0; i < 4; ++i) expect_same(all[i], put[i]);
}

}  // namespace
}  // namespace ridgeline::analyzer
