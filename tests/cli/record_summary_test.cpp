#include "record_summary.h"

#include <gtest/gtest.h>

#include "fabricated_capture.h"
#include "support/temporary_directory.h"

namespace ridgeline::cli {
namespace {

TEST(CaptureSummary, SaysWhatIsInTheFile) {
  const testing::TemporaryDirectory directory;
  const std::string path = directory / "it's a capture.ridge";
  testing::write_fabricated_capture(path);
  std::string text = capture_summary(path, {200, false});  // a long TMPDIR must not wrap it
  EXPECT_NE(text.find("2 warmup, 7 timeline, 4 replay, 1 after"), std::string::npos) << text;
  EXPECT_NE(text.find("3,150 seen = 3,150 recorded"), std::string::npos) << text;
  EXPECT_NE(text.find("T0 ok; T2 ok"), std::string::npos) << text;
  EXPECT_NE(text.find("ridgeline rank '" + directory.path() + "/it'\\''s a capture.ridge'"),
            std::string::npos)
      << text;

  testing::FabricatedCapture worse;
  worse.tier_refused = true;
  worse.step_ranges = false;
  worse.losses = true;
  const std::string second = directory / "second.ridge";
  testing::write_fabricated_capture(second, worse);
  text = capture_summary(second, {200, false});
  EXPECT_NE(text.find("no NVTX range 'step'"), std::string::npos) << text;
  EXPECT_NE(text.find("≠"), std::string::npos) << text;
  EXPECT_NE(text.find("17 dropped"), std::string::npos) << text;
  EXPECT_NE(text.find("T2 refused (counters are not permitted"), std::string::npos) << text;

  EXPECT_NE(capture_summary(directory / "none.ridge", {100, false}).find("cannot be read back"),
            std::string::npos);
}

}  // namespace
}  // namespace ridgeline::cli
