#include <gtest/gtest.h>

#include "ridgeline/store/capture.h"
#include "ridgeline/store/capture_writer.h"
#include "ridgeline/store/schema.h"
#include "support/opened_capture.h"
#include "support/temporary_directory.h"

namespace ridgeline::store {
namespace {

using ridgeline::testing::held;

using ridgeline::testing::TemporaryDirectory;

class Synchronisations : public ::testing::Test {
 protected:
  Synchronisations() : writer_(create(directory_.file("a.ridge"))) {
    store::Run run;
    run.command_line = "./train";
    run.ridgeline_version = "0.1.0";
    run.clock = "cupti";
    writer_.set_run(run);
    Process process;
    process.pid = 1;
    process_ = writer_.add(process);
    process.pid = 2;
    other_process_ = writer_.add(process);
    Step step;
    step.process_id = process_;
    step.step_index = 4;
    step_ = writer_.add(step);
  }
  static CaptureWriter create(const std::string& path) {
    auto created = CaptureWriter::create(path);
    if (!created.ok()) throw std::runtime_error(created.failure().message);
    return std::move(created).value();
  }
  void add(std::int64_t thread, std::int64_t start, std::int64_t duration,
           SynchronisationCall call = SynchronisationCall::stream) {
    writer_.add(Synchronisation{process_, thread, start, duration, call, 77, step_});
  }
  Capture finished() {
    writer_.finish();
    auto opened = held(Capture::open(directory_.file("a.ridge")));
    if (!opened.ok()) throw std::runtime_error(opened.failure().message);
    return std::move(opened).value();
  }
  // "thread:start" of those that overlap the time.
  static std::string found(const Capture& capture, Id process, std::int64_t begin, std::int64_t end) {
    std::string text;
    for (const Synchronisation& wait : capture.synchronisations(process, begin, end))
      text +=
          (text.empty() ? "" : " ") + std::to_string(wait.thread_id) + ":" + std::to_string(wait.start_ns);
    return text;
  }

  TemporaryDirectory directory_;
  CaptureWriter writer_;
  Id process_ = 0, other_process_ = 0, step_ = 0;
};

TEST_F(Synchronisations, AreReadAsTheyWereWritten) {
  writer_.add(Synchronisation{process_, 7, 100, 50, SynchronisationCall::copy_to_host, 12, step_});
  writer_.add(Synchronisation{process_, 7, 100, 99, SynchronisationCall::device, 13, {}});  // again: ignored
  writer_.add(Synchronisation{other_process_, 7, 100, 60, SynchronisationCall::free_device, 14, {}});
  const Capture capture = finished();
  const auto waits = capture.synchronisations(process_, 0, 1000);
  ASSERT_EQ(waits.size(), 1u);
  EXPECT_EQ(waits[0].process_id, process_);
  EXPECT_EQ(waits[0].thread_id, 7);
  EXPECT_EQ(waits[0].start_ns, 100);
  EXPECT_EQ(waits[0].duration_ns, 50);
  EXPECT_EQ(waits[0].end_ns(), 150);
  EXPECT_EQ(waits[0].call, SynchronisationCall::copy_to_host);
  EXPECT_EQ(waits[0].correlation_id, 12);
  EXPECT_EQ(waits[0].step_id, step_);
  const auto others = capture.synchronisations(other_process_, 0, 1000);
  ASSERT_EQ(others.size(), 1u);
  EXPECT_EQ(others[0].call, SynchronisationCall::free_device);
  EXPECT_FALSE(others[0].step_id.has_value());
}

TEST_F(Synchronisations, AWindowOfTimeHasThoseThatReachIntoItOfEveryThread) {
  for (const std::int64_t thread : {9, 3}) {
    add(thread, 100, 50);
    add(thread, 200, 50);
    add(thread, 300, 50);
  }
  add(5, 10, 1000);  // all the time
  const Capture capture = finished();
  EXPECT_EQ(found(capture, process_, 150, 200), "5:10")
      << "an end at the begin and a begin at the end are outside";
  EXPECT_EQ(found(capture, process_, 149, 201), "3:100 3:200 5:10 9:100 9:200") << "by thread, start";
  EXPECT_EQ(found(capture, process_, 210, 220), "3:200 5:10 9:200") << "longer than the window";
  EXPECT_EQ(found(capture, process_, 0, 10), "");
  EXPECT_EQ(found(capture, process_, 2000, 3000), "");
  EXPECT_EQ(found(capture, other_process_, 0, 3000), "");
}

TEST_F(Synchronisations, TheViewNamesStepThreadAndCall) {
  add(7, 100, 50, SynchronisationCall::event);
  writer_.add(Synchronisation{process_, 8, 100, 5, SynchronisationCall::device, 1, {}});
  writer_.add(Thread{process_, 7, "main"});
  writer_.add(Thread{other_process_, 8, "not this process"});
  const Capture capture = finished();
  const auto table = capture.query(
      "SELECT group_concat(coalesce(step_index, '-') || ' ' || coalesce(thread, '-') || ' ' || call || ' ' ||"
      " duration_ns || ' ' || (end_ns - start_ns), ', ') FROM (SELECT * FROM v_synchronisation ORDER BY "
      "thread_id)");
  ASSERT_TRUE(table.ok());
  EXPECT_EQ(std::get<std::string>(table.value().rows.at(0).at(0)),
            "4 main cudaEventSynchronize 50 50, - - cudaDeviceSynchronize 5 5");
  const auto threads = capture.threads();
  ASSERT_EQ(threads.size(), 2u);
  EXPECT_EQ(threads[0].process_id, process_);
  EXPECT_EQ(threads[0].thread_id, 7);
  EXPECT_EQ(threads[0].name, "main");
}

TEST_F(Synchronisations, AnotherWordIsCorrupt) {
  const std::string path = directory_.file("words.ridge");
  {
    Database database(path, OpenMode::create);
    migrate(database, migrations(), views_sql());
    database.execute(
        "INSERT INTO process(id, pid) VALUES (1, 10);"
        "INSERT INTO string VALUES (1, 'cudaWaitForGodot');"
        "INSERT INTO synchronisation VALUES (1, 7, 100, 50, 1, 3, NULL)");
  }
  auto opened = held(Capture::open(path));
  ASSERT_TRUE(opened.ok());
  EXPECT_THROW((void)opened.value().synchronisations(1, 0, 1000), Error);
}

TEST_F(Synchronisations, AnImpossibleTimeIsCorrupt) {
  add(7, 100, -1);
  add(8, INT64_MAX - 5, 6);
  add(9, INT64_MAX - 5, 5);
  const Capture capture = finished();
  EXPECT_THROW((void)capture.synchronisations(process_, 0, 1000), Error);
  EXPECT_THROW((void)capture.synchronisations(process_, 1000, INT64_MAX), Error);
}

TEST_F(Synchronisations, ACaptureOfVersionThreeHasNoneAndItsWindowsSaySo) {
  const std::string path = directory_.file("v3.ridge");
  {
    Database database(path, OpenMode::create);
    migrate(database, migrations().first(3), "SELECT 1");
    database.execute(
        "INSERT INTO process(id, pid) VALUES (1, 10);"
        "INSERT INTO recording_window(process_id, start_ns, cause) VALUES (1, 5, 'start')");
  }
  auto opened = held(Capture::open(path));
  ASSERT_TRUE(opened.ok()) << opened.failure().message;
  EXPECT_TRUE(opened.value().synchronisations(1, 0, 1000).empty());
  ASSERT_EQ(opened.value().recording_windows().size(), 1u);
  EXPECT_FALSE(opened.value().recording_windows()[0].synchronisation);
}

}  // namespace
}  // namespace ridgeline::store
