#include "ridgeline/reports/timeline_text.h"

#include <gtest/gtest.h>

namespace ridgeline::reports {
namespace {

TEST(TimelineText, SaysWhatALineHoldsUnlessItsLabelDoes) {
  using analyzer::RowKind;
  analyzer::TimelineRow row;
  const auto help = [&](RowKind kind) {
    row.kind = kind;
    return row_help(row);
  };
  row.thread = "main · rank 1";
  row.depth = 2;
  EXPECT_EQ(help(RowKind::ranges), "NVTX ranges of main · rank 1, depth 2");
  EXPECT_EQ(help(RowKind::steps), "");
  EXPECT_EQ(help(RowKind::kernels), "");
  for (const RowKind kind :
       {RowKind::calls, RowKind::waits, RowKind::gaps, RowKind::collectives, RowKind::copies})
    EXPECT_NE(help(kind), "") << static_cast<int>(kind);
  EXPECT_EQ(help(RowKind::counter), "What the driver says a few times a second");
  row.metric = "dram__bytes_read.sum";
  row.meaning = "bytes read from DRAM";
  EXPECT_EQ(help(RowKind::counter), "bytes read from DRAM (dram__bytes_read.sum, in-situ samples)");
}

}  // namespace
}  // namespace ridgeline::reports
