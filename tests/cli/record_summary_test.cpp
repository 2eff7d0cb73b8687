#include "record_summary.h"

#include <gtest/gtest.h>

#include "fabricated_capture.h"
#include "in_process.h"
#include "support/accepted_cases.h"
#include "support/temporary_directory.h"

namespace ridgeline::cli {
namespace {

using testing::AcceptedCases;

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

class Recorded : public InProcess {};

// Of every kind of capture, at every width at which it may break otherwise.
TEST_F(Recorded, SummariesAreAsBefore) {
  testing::FabricatedCapture how;
  how.layers = 1;
  how.timeline_steps = 3;
  const auto held = [](const testing::FabricatedCapture& made) {
    testing::write_fabricated_capture("made.ridge", made);
    AcceptedCases::expect([] {
      std::string text;
      for (const int columns : {100, 40, 60, 79, 80, 81, 120, 200})
        text += capture_summary("made.ridge", {columns, columns == 80}) + "\n";
      return text;
    });
    std::filesystem::remove("made.ridge");
  };
  held(how);
  how.losses = true;
  held(how);
  how.tier_refused = true;
  how.ranks = 2;
  held(how);
  how.step_ranges = false;
  held(how);
  how = {};
  how.layers = 1;
  how.graphs = true;
  how.sample_steps = 2;
  how.cold_steps = 2;
  how.warmup_steps = 0;
  held(how);
}

TEST_F(Recorded, EndsAreToldAsBefore) {
  testing::FabricatedCapture how;
  how.layers = 1;
  testing::write_fabricated_capture("made.ridge", how);
  launch::RecordSummary usual;
  usual.capture_path = "made.ridge";
  usual.exit_status = 0;
  usual.duration = std::chrono::milliseconds(12'345);
  const auto told = [&](const auto& change) {
    launch::RecordSummary summary = usual;
    change(summary);
    std::string text;
    for (const bool quiet : {false, true}) {
      const Ended end = ended([&] {
        tell_recorded(summary, quiet);
        return 0;
      });
      text += "out:\n" + end.out + "err:\n" + end.err;
    }
    return text;
  };
  AcceptedCases::expect([&] { return told([](auto&) {}); });
  AcceptedCases::expect([&] {
    std::string text = told([](auto& s) { s.exit_status = 1; });
    text += told([](auto& s) { s.exit_status = 255, s.missing = "the last second"; });
    text += told([](auto& s) { s.exit_status.reset(), s.exit_signal = 9; });
    text += told([](auto& s) { s.exit_status.reset(), s.exit_signal = 0; });
    text += told([](auto& s) { s.exit_status.reset(), s.exit_signal = 11, s.missing = "records"; });
    text += told([](auto& s) { s.exit_status.reset(); });
    text += told([](auto& s) { s.warnings = {"one", "two\nlines"}, s.spool_directory = "a/spool"; });
    text += told([](auto& s) { s.duration = std::chrono::milliseconds(0), s.capture_path = "none.ridge"; });
    return text;
  });
  AcceptedCases::expect([] {
    std::string text;
    for (const auto stage : {launch::RecordStage::starting, launch::RecordStage::running,
                             launch::RecordStage::importing, launch::RecordStage::done}) {
      for (const std::uint64_t done :
           {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{995}, std::uint64_t{2000}}) {
        for (const std::uint64_t total :
             {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1000}, std::uint64_t{2000}})
          text += recording_progress({stage, std::chrono::milliseconds(done), total * done, {done, total}}) +
                  "\n";
      }
    }
    return text;
  });
}

}  // namespace
}  // namespace ridgeline::cli
