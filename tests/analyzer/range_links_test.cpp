#include "ridgeline/analyzer/trace/range_links.h"

#include <gtest/gtest.h>

namespace ridgeline::analyzer {
namespace {

TEST(RangeLinks, KeepNothingWhereTheOrderIsTheSame) {
  RangeLinks links(5);
  for (std::size_t i = 0; i < 4; ++i) links.link(i, 0, i);
  links.lead_to(7);
  EXPECT_EQ(links.bytes(), 0U);
  EXPECT_EQ(links.of(3), (RowEvent{7, 3}));
  EXPECT_FALSE(links.of(4)) << "the last launched nothing";
  EXPECT_FALSE(links.of(5));
}

TEST(RangeLinks, LeadToLanesAndInAnyOrder) {
  RangeLinks links(6);
  links.link(0, 0, 0);
  links.link(1, 0, 1);
  links.link(5, 3, 9);  // before those in front of it, in another row
  links.link(2, 0, 4);
  links.lead_to(10);
  EXPECT_EQ(links.of(0), (RowEvent{10, 0}));
  EXPECT_EQ(links.of(1), (RowEvent{10, 1}));
  EXPECT_EQ(links.of(2), (RowEvent{10, 4}));
  EXPECT_FALSE(links.of(3));
  EXPECT_FALSE(links.of(4));
  EXPECT_EQ(links.of(5), (RowEvent{13, 9}));
}

TEST(RangeLinks, LeaveOutWhatTheyCannotHold) {
  RangeLinks links(2);
  links.link(0, RangeLinks::kLanes - 1, (std::size_t{1} << 28) - 2);
  links.link(1, 0, std::size_t{1} << 28);
  EXPECT_EQ(links.of(0), (RowEvent{RangeLinks::kLanes - 1, (std::size_t{1} << 28) - 2}));
  EXPECT_FALSE(links.of(1));
}

TEST(RangeLinks, OfNoRangesLeadNowhere) {
  EXPECT_FALSE(RangeLinks().of(0));
}

}  // namespace
}  // namespace ridgeline::analyzer
