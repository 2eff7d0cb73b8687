// Recording windows in the launcher: durations, SIGUSR2, captures of programs that go on.
#include <fcntl.h>

#include "launch/launch_testing.h"
#include "ridgeline/launch/duration.h"
#include "ridgeline/launch/recorder.h"
#include "ridgeline/spool/control.h"
#include "window_switch.h"

namespace ridgeline::launch::testing {
namespace {

using spool::WindowEdge;
using std::chrono::milliseconds;

TEST(Duration, ReadsWhatPeopleWrite) {
  const struct {
    const char* text;
    std::int64_t ms;
  } cases[] = {{"250ms", 250},     {"30s", 30'000},        {"5m", 300'000},     {"1h30m", 5'400'000},
               {"1.5s", 1500},     {"2h5m10s", 7'510'000}, {"1m500ms", 60'500}, {"0.5h", 1'800'000},
               {"10min", 600'000}, {"1h2min3s", 3'723'000}};
  for (const auto& each : cases) {
    const Result<milliseconds> parsed = parse_duration(each.text);
    ASSERT_TRUE(parsed.ok()) << parsed.failure().message;
    EXPECT_EQ(parsed.value().count(), each.ms) << each.text;
    EXPECT_EQ(parse_duration(duration_text(parsed.value())).value(), parsed.value());
  }
  EXPECT_EQ(duration_text(milliseconds(5'400'000)), "1h30m");
}

TEST(Duration, SaysWhatIsWrong) {
  const struct {
    const char* text;
    const char* part;
  } cases[] = {{"", "empty"},
               {"30", "lacks a unit"},
               {"ten s", "no duration"},
               {"5d", "none of ms, s, m, min, h"},
               {"30s5m", "out of order"},
               {"0s", "no time"},
               {"9000h", "a year"},
               {"-5s", "no duration"},
               {"5m5m", "out of order"},
               {"1..5s", "none of"}};
  for (const auto& each : cases) {
    const Result<milliseconds> parsed = parse_duration(each.text);
    ASSERT_FALSE(parsed.ok()) << each.text;
    EXPECT_EQ(parsed.failure().kind, ErrorKind::usage);
    EXPECT_NE(parsed.failure().message.find(each.part), std::string::npos) << parsed.failure().message;
  }
}

TEST(WindowSwitch, OpensWhatIsClosedAndClosesWhatIsOpen) {
  TemporaryDirectory directory;
  Result<WindowSwitch> made = WindowSwitch::create(directory.path());
  ASSERT_TRUE(made.ok()) << made.failure().message;
  WindowSwitch windows = std::move(made).value();
  EXPECT_FALSE(WindowSwitch::create(directory.path()).ok()) << "one a directory";
  const std::string file = file_text(directory / spool::kControlFileName);
  ASSERT_EQ(file.size(), spool::kControlBytes);
  const auto word = [&](std::size_t at) {
    const std::string now = file_text(directory / spool::kControlFileName);
    return static_cast<unsigned char>(now[at]);
  };
  EXPECT_TRUE(windows.toggle());
  EXPECT_EQ(word(8), 1);   // open
  EXPECT_EQ(word(12), 1);  // first command
  // A process says that it has.
  std::fstream control(directory / spool::kControlFileName, std::ios::in | std::ios::out | std::ios::binary);
  control.seekp(16);
  control.put(1).flush();
  EXPECT_TRUE(windows.any_open());
  EXPECT_FALSE(windows.toggle());
  EXPECT_EQ(word(8), 2);
  EXPECT_EQ(word(12), 2);
}

void window(FakeSpool& spool, WindowEdge edge, WindowCause cause) {
  spool::RecordingWindowRecord record{};
  record.time_ns = FakeSpool::kOrigin + spool.now();
  record.edge = edge;
  record.cause = cause;
  spool.put(record);
}

// Programs are shell scripts that do to the control file what the agent would.
class WindowRecorder : public ::testing::Test {
 protected:
  WindowRecorder() {
    fs::create_directory(directory_ / "spool");
    FakeSpool spool(directory_ / "spool");
    window(spool, WindowEdge::open, WindowCause::start);
    spool.begin_step(0, Phase::timeline);
    for (int i = 0; i < 4; ++i) spool.launch();
    spool.end_step();
    spool.completeness();
    window(spool, WindowEdge::close, WindowCause::duration);
    spool_file_ = spool.file();
    std::ofstream(directory_ / "agent.so") << "\x7f"
                                              "ELF";
    prelude_ = "out='" + (directory_ / "out.ridge") + "'\ncontrol=\"$RIDGELINE_SPOOL_DIR/control\"\n" +
               "leave() { cp '" + spool_file_ + "' \"$RIDGELINE_SPOOL_DIR/$$-$1.spool\"; }\n" +
               R"(
set_word() { printf "\\$2" | dd of="$control" bs=1 seek=$1 conv=notrunc 2>/dev/null; }
word() { od -An -tu1 -j$1 -N1 "$control" | tr -d ' '; }
wait_for() { n=0; until eval "$1"; do n=$((n+1)); [ $n -gt 200 ] && exit 99; sleep 0.05; done; }
)";
  }
  RecordOptions options(const std::string& body) {
    RecordOptions options;
    options.make_capture = import_capture;
    options.program = {script(directory_, "train", prelude_ + body)};
    options.output = directory_ / "out.ridge";
    options.agent_library = directory_ / "agent.so";
    options.cupti_library = "/opt/libcupti.so.13";
    options.notice = [this](const std::string& line) { notices_ += line + "\n"; };
    return options;
  }
  TemporaryDirectory directory_;
  std::string spool_file_, prelude_, notices_;
};

TEST_F(WindowRecorder, TheCaptureIsThereWhileTheProgramGoesOn) {
  RecordOptions given =
      options("leave 1; set_word 16 1; set_word 20 1; wait_for '[ -s \"$out\" ]'; exit 7\n");
  given.duration = milliseconds(1000);
  const Result<RecordSummary> recorded = record(given);
  ASSERT_TRUE(recorded.ok()) << recorded.failure().message;
  EXPECT_EQ(recorded.value().exit_status, 7) << "99: the program saw no capture";
  EXPECT_NE(notices_.find("the program goes on"), std::string::npos) << notices_;
  EXPECT_EQ(recorded.value().capture_path, directory_ / "out.ridge");
  const store::Capture capture = open_capture(directory_ / "out.ridge");
  EXPECT_TRUE(capture.run().end_ns.has_value());
  EXPECT_EQ(capture.run().exit_status, std::nullopt) << "it had not ended";
  for (const auto& entry : fs::directory_iterator(directory_.path()))
    EXPECT_NE(entry.path().extension(), ".spool") << "the spool is gone";
}

TEST_F(WindowRecorder, AWindowThatEndsWithTheProgramIsNoReasonToHurry) {
  RecordOptions given = options("leave 1; set_word 16 1; set_word 24 1; sleep 0.5; exit 3\n");
  given.duration = milliseconds(1000);
  const Result<RecordSummary> recorded = record(given);
  ASSERT_TRUE(recorded.ok()) << recorded.failure().message;
  EXPECT_EQ(notices_, "");
  EXPECT_EQ(open_capture(directory_ / "out.ridge").run().exit_status, 3);
}

TEST_F(WindowRecorder, ASecondWindowReplacesTheCapture) {
  RecordOptions given = options(
      "leave 1; set_word 16 1; set_word 20 1; wait_for '[ -s \"$out\" ]'; cp \"$out\" \"$out.first\"\n"
      "set_word 16 2; leave 2; set_word 24 1\n");
  given.duration = milliseconds(1000);
  const Result<RecordSummary> recorded = record(given);
  ASSERT_TRUE(recorded.ok()) << recorded.failure().message;
  EXPECT_EQ(scalar(open_capture(directory_ / "out.ridge.first"), "SELECT count(*) FROM launch"), "4");
  const store::Capture capture = open_capture(directory_ / "out.ridge");
  EXPECT_EQ(scalar(capture, "SELECT count(*) FROM launch"), "8");
  EXPECT_EQ(capture.run().exit_status, 0);
}

TEST_F(WindowRecorder, TheSignalOpensAndCloses) {
  RecordOptions given = options(
      "[ \"$RIDGELINE_WAIT\" = 1 ] || exit 98\n"
      "kill -USR2 $PPID; wait_for '[ $(word 8) = 1 ]'; set_word 16 1; leave 1\n"
      "kill -USR2 $PPID; wait_for '[ $(word 8) = 2 ]'; set_word 20 1\n"
      "wait_for '[ -s \"$out\" ]'; exit 5\n");
  given.wait = true;
  const Result<RecordSummary> recorded = record(given);
  ASSERT_TRUE(recorded.ok()) << recorded.failure().message;
  EXPECT_EQ(recorded.value().exit_status, 5);
  EXPECT_NE(notices_.find("opens"), std::string::npos);
}

TEST_F(WindowRecorder, TheProgramIsEndedIfThatWasAskedFor) {
  RecordOptions given =
      options("leave 1; trap 'exit 4' TERM; set_word 16 1; set_word 20 1; while :; do sleep 0.1; done\n");
  given.duration = milliseconds(1000);
  given.stop_program = true;
  const Result<RecordSummary> recorded = record(given);
  ASSERT_TRUE(recorded.ok()) << recorded.failure().message;
  EXPECT_EQ(recorded.value().exit_status, 4);
  EXPECT_EQ(open_capture(directory_ / "out.ridge").run().exit_status, 4);
}

TEST_F(WindowRecorder, TimesReachTheAgent) {
  RecordOptions given = options(
      "leave 1; [ \"$RIDGELINE_AFTER_MS\" = 90000 ] && [ \"$RIDGELINE_DURATION_MS\" = 1500 ] && [ -z "
      "\"$RIDGELINE_WAIT\" ]\n");
  given.after = milliseconds(90'000);
  given.duration = milliseconds(1500);
  setenv("RIDGELINE_WAIT", "1", 1);
  const Result<RecordSummary> recorded = record(given);
  unsetenv("RIDGELINE_WAIT");
  ASSERT_TRUE(recorded.ok()) << recorded.failure().message;
  EXPECT_EQ(recorded.value().exit_status, 0);
}

TEST_F(WindowRecorder, OptionsThatContradictEachOtherAreRefused) {
  RecordOptions both = options("exit 0\n");
  both.wait = true;
  both.after = milliseconds(5);
  EXPECT_EQ(record(both).failure().kind, ErrorKind::usage);
  RecordOptions stop = options("exit 0\n");
  stop.stop_program = true;
  EXPECT_EQ(record(stop).failure().kind, ErrorKind::usage);
}

TEST_F(WindowRecorder, AWindowThatNeverOpenedIsNamed) {
  FakeSpool empty(directory_ / "spool", 77);
  RecordOptions given = options("cp '" + empty.file() + "' \"$RIDGELINE_SPOOL_DIR/$$-1.spool\"\n");
  given.after = milliseconds(600'000);
  const Result<RecordSummary> recorded = record(given);
  ASSERT_FALSE(recorded.ok());
  EXPECT_EQ(recorded.failure().kind, ErrorKind::no_data);
  EXPECT_NE(recorded.failure().message.find("--after 10m"), std::string::npos) << recorded.failure().message;
}

}  // namespace
}  // namespace ridgeline::launch::testing
