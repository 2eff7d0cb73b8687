// A capture of two processes is asked through the session; what it says is held against the whole model.
#include "ridgeline/analyzer/session/session.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>

#include "generate/generate.h"
#include "ridgeline/store/capture_writer.h"
#include "ridgeline/store/database.h"
#include "support/analysed_model.h"
#include "support/temporary_directory.h"
#include "support/whole_model.h"

namespace ridgeline::analyzer {
namespace {

using ridgeline::testing::TemporaryDirectory;
using ridgeline::testing::whole_model;
using testing::analyse;

class SessionTest : public ::testing::Test {
 protected:
  void make(const generate::Options& options) {
    path_ = directory_.path() + "/made.ridge";
    const auto sink = generate::make_capture_sink(path_);
    launches_ = generate::generate(options, *sink);
  }

  Session open(AnalysisOptions options = {}) const {
    return Session::open(path_, std::move(options)).value();
  }
  Model whole() const { return whole_model(store::Capture::open(path_).value()); }

  TemporaryDirectory directory_;
  std::string path_;
  std::int64_t launches_ = 0;
};

generate::Options small() {
  generate::Options options;
  options.shape = generate::Shape::after;
  options.launches = 9'000;
  options.launches_per_step = 60;
  options.replay_steps = 3;
  options.ranges = true;
  options.annotations = true;
  return options;
}

TEST_F(SessionTest, SaysWhatTheWholeModelSays) {
  make(small());
  Session session = open();
  const Model model = whole();
  const Analysis all = analyse(model).value();
  const auto ranking = session.ranking().value();
  ASSERT_EQ(ranking->rows.size(), all.ranking.rows.size());
  for (std::size_t i = 0; i < ranking->rows.size(); ++i) {
    const RankingRow& a = ranking->rows[i];
    const RankingRow& b = all.ranking.rows[i];
    EXPECT_EQ(a.key, b.key);
    EXPECT_EQ(a.calls, b.calls);
    EXPECT_EQ(a.time_ns, b.time_ns);
    EXPECT_EQ(a.saved_target_ns, b.saved_target_ns);
    EXPECT_EQ(a.saved_target_error_ns, b.saved_target_error_ns);
    EXPECT_EQ(a.work->declared_bytes, b.work->declared_bytes);
    EXPECT_EQ(a.work->measured_bytes, b.work->measured_bytes);
  }
  const auto accounting = session.accounting().value();
  EXPECT_EQ(accounting->kernel_busy_ns, all.accounting.kernel_busy_ns);
  EXPECT_EQ(accounting->copy_hidden_ns, all.accounting.copy_hidden_ns);
  EXPECT_EQ(accounting->gaps.size(), all.accounting.gaps.size());
  EXPECT_EQ(accounting->gap_host_bound_ns, all.accounting.gap_host_bound_ns);
  EXPECT_EQ(accounting->gap_launch_bound_ns, all.accounting.gap_launch_bound_ns);
  EXPECT_EQ(accounting->gap_queued_ns, all.accounting.gap_queued_ns);
  EXPECT_EQ(accounting->gap_tail_ns, all.accounting.gap_tail_ns) << "the next step's first launch is read";
  const auto steps = session.steps().value();
  ASSERT_EQ(steps->steps.size(), all.steps.steps.size());
  for (std::size_t i = 0; i < steps->steps.size(); ++i) {
    EXPECT_EQ(steps->steps[i].gpu_duration_ns, all.steps.steps[i].gpu_duration_ns) << i;
    EXPECT_EQ(steps->steps[i].kernel_time_ns, all.steps.steps[i].kernel_time_ns) << i;
    EXPECT_EQ(steps->steps[i].kind, all.steps.steps[i].kind) << i;
  }
}

TEST_F(SessionTest, TheHostsWaitsAreThoseOfTheWholeModel) {
  make(small());
  {
    store::Database database(path_, store::OpenMode::read_write);
    database.execute(
        "INSERT OR IGNORE INTO string(value) VALUES ('cudaEventSynchronize');"
        "INSERT INTO recording_window(process_id, start_ns, cause, synchronisation)"
        " SELECT id, 0, 'start', 1 FROM process;"
        // Before each call, from well before the last kernel's end.
        "INSERT OR IGNORE INTO synchronisation SELECT process_id, thread_id, host_start_ns - 1500, 1400,"
        " (SELECT id FROM string WHERE value = 'cudaEventSynchronize'), 0, step_id FROM launch"
        " WHERE host_start_ns IS NOT NULL AND thread_id IS NOT NULL");
  }
  const Model model = whole();
  EXPECT_GT(model.synchronisations.size(), 1000U);
  const Analysis all = analyse(model).value();
  ASSERT_TRUE(all.accounting.gap_synchronisation_ns.has_value());
  Session session = open();
  for (const Scope& scope :
       {Scope{}, Scope{.steps = StepSelection::one(3)}, Scope{.steps = StepSelection::one(4)}}) {
    const auto accounting = session.accounting(scope).value();
    ASSERT_TRUE(accounting->gap_synchronisation_ns.has_value());
  }
  const auto accounting = session.accounting().value();
  EXPECT_EQ(accounting->gap_synchronisation_ns, all.accounting.gap_synchronisation_ns);
  EXPECT_EQ(accounting->gap_host_bound_ns, all.accounting.gap_host_bound_ns);
  ASSERT_EQ(accounting->gaps.size(), all.accounting.gaps.size());
  for (std::size_t i = 0; i < accounting->gaps.size(); ++i)
    EXPECT_EQ(accounting->gaps[i].synchronisation_ns, all.accounting.gaps[i].synchronisation_ns) << i;
}

TEST_F(SessionTest, ReadsTheStepsItNeedsOnce) {
  make(small());
  Session session = open();
  (void)session.recording().value();
  EXPECT_EQ(session.reads().launches, 0) << "facts hold no launch";
  (void)session.ranking().value();
  const ReadCounts first = session.reads();
  EXPECT_GT(first.launches, 0);
  EXPECT_LT(first.launches, launches_ / 2) << "the steps behind the schedule are not asked for";
  (void)session.ranking().value();
  (void)session.ranking({}, RankingKey::family).value();
  (void)session.roofline().value();
  (void)session.accounting().value();
  (void)session.quality().value();
  EXPECT_EQ(session.reads().queries, first.queries) << "a second question about the scope reads nothing";
  (void)session.ranking({.steps = StepSelection::one(0)}).value();
  EXPECT_GT(session.reads().queries, first.queries) << "another scope does";
}

TEST_F(SessionTest, AStoppedQuestionIsCancelledAndCanBeAskedAgain) {
  make(small());
  Session session = open();
  std::stop_source stop;
  stop.request_stop();
  const auto refused = session.ranking({}, RankingKey::kernel, {stop.get_token(), {}});
  ASSERT_FALSE(refused.ok());
  EXPECT_EQ(refused.failure().kind, ErrorKind::cancelled);
  // Stopped on the way: when the launches are about to be read.
  std::stop_source later;
  std::vector<Stage> stages;
  QueryOptions ask{later.get_token(), [&](const Progress& progress) {
                     stages.push_back(progress.stage);
                     if (progress.stage == Stage::launches) later.request_stop();
                   }};
  EXPECT_EQ(session.ranking({}, RankingKey::kernel, ask).failure().kind, ErrorKind::cancelled);
  EXPECT_EQ(stages.front(), Stage::facts);
  EXPECT_EQ(stages.back(), Stage::launches);
  EXPECT_EQ(session.reads().launches, 0);
  EXPECT_TRUE(session.ranking().ok());
}

TEST_F(SessionTest, OneProcessOfSeveral) {
  generate::Options options = small();
  options.processes = 2;
  make(options);
  Session session = open();
  const Model facts = *session.recording().value();
  ASSERT_EQ(facts.processes.size(), 2u);
  for (const store::Process& process : facts.processes) {
    const Scope scope{.process_id = process.id};
    const auto steps = session.steps(scope).value();
    EXPECT_EQ(steps->process_id, process.id);
    const auto model = session.model(scope).value();
    for (const store::Launch& launch : model->launches) EXPECT_EQ(launch.process_id, process.id);
    EXPECT_TRUE(model->lost_rows.empty()) << "launches of the other one are not missed";
    EXPECT_TRUE(session.quality(scope).value()->complete);
    EXPECT_GT(session.ranking(scope).value()->totals.measured_calls, 0) << "its own replay steps are joined";
  }
  const auto none = session.ranking({.process_id = 99});
  ASSERT_FALSE(none.ok());
  EXPECT_EQ(none.failure().kind, ErrorKind::usage);
}

TEST_F(SessionTest, AWindowHoldsWhatLiesInIt) {
  make(small());
  Session session = open();
  const RepresentativeStep step = session.steps().value()->representative;
  // From the middle of one step to the middle of the next.
  const std::int64_t half_ns = (step.window_end_ns - step.window_start_ns) / 2;
  const Scope scope{.window = TimeWindow{step.window_start_ns + half_ns, step.window_end_ns + half_ns}};
  std::int64_t calls = 0, time_ns = 0, cut = 0;
  const Model model = whole();
  for (const store::Launch& launch : model.launches) {
    const TimeWindow inside{std::max(launch.start_ns, scope.window->start_ns),
                            std::min(launch.end_ns, scope.window->end_ns)};
    if (inside.length_ns() <= 0) continue;
    ++calls;
    time_ns += inside.length_ns();
    if (inside.length_ns() < duration_ns(launch)) ++cut;
  }
  ASSERT_GT(cut, 0);
  EXPECT_EQ(session.steps(scope).value()->representative.cut_launches, cut);
  const auto ranking = session.ranking(scope).value();
  EXPECT_EQ(ranking->totals.calls, calls);
  EXPECT_EQ(ranking->totals.time_ns, time_ns);
  EXPECT_EQ(ranking->totals.measured_calls + ranking->totals.too_short_calls, calls)
      << "counters are joined whichever step a launch is of";
  ASSERT_TRUE(ranking->totals.work.has_value());
  EXPECT_EQ(ranking->totals.work->ranges, calls - cut)
      << "each launch declares its work; what is declared of a whole launch is not held against a part";
  const auto accounting = session.accounting(scope).value();
  EXPECT_EQ(accounting->step_ns, scope.window->length_ns());
  EXPECT_EQ(accounting->remainder_ns, 0);
  EXPECT_EQ(accounting->kernels.foreign_ns, 0) << "whatever runs in a window is of the window";
  EXPECT_EQ(accounting->kernels.total.total_ns(), accounting->kernel_busy_ns);
  // One stream without copies: shares of kernels and gaps add up to the whole.
  EXPECT_EQ(ranking->totals.time_ns + accounting->gap_total_ns + accounting->copy_exposed_ns +
                accounting->memset_exposed_ns,
            accounting->step_ns + accounting->kernel_overlap_ns);
  const auto empty = session.ranking({.window = TimeWindow{5, 5}});
  ASSERT_FALSE(empty.ok());
  EXPECT_EQ(empty.failure().kind, ErrorKind::usage);
}

TEST_F(SessionTest, ASubtreeHoldsTheRangesBelowIt) {
  make(small());
  Session session = open();
  const auto all = session.accounting().value();
  ASSERT_GT(all->kernels.tree.size(), 2u);
  const TimePart& part = all->kernels.tree[1];
  ASSERT_EQ(part.depth, 1);
  const Scope scope{.range = part.path};
  EXPECT_EQ(session.ranking(scope).value()->totals.calls, part.launches);
  EXPECT_EQ(session.accounting(scope).value()->kernels.total.total_ns(), part.time.total_ns());
  const auto nothing = session.ranking({.range = "nothing"});
  ASSERT_FALSE(nothing.ok());
  EXPECT_EQ(nothing.failure().kind, ErrorKind::usage);
  EXPECT_NE(nothing.failure().message.find("'nothing' launched a kernel in step "), std::string::npos)
      << nothing.failure().message;
  // The names of siblings may begin alike: "op 1" does not hold "op 10".
  for (const TimePart& other : all->kernels.tree) {
    if (other.path == part.path + "0") {
      EXPECT_GT(other.launches, 0);
    }
  }
}

TEST_F(SessionTest, StepsTogetherAreTheirSum) {
  make(small());
  Session session = open();
  const auto steps = session.steps().value();
  const std::vector<StepIndex>& peers = steps->representative.peers;
  ASSERT_GE(peers.size(), 2u);
  std::vector<std::int64_t> indices;
  std::int64_t calls = 0, time_ns = 0, step_ns = 0;
  for (const StepIndex peer : {peers[0], peers[1]}) {
    indices.push_back(steps->steps[peer].step_index);
    const auto one = session.ranking({.steps = StepSelection::one(indices.back())}).value();
    calls += one->totals.calls;
    time_ns += one->totals.time_ns;
    step_ns += one->totals.step_ns;
  }
  const Scope both{.steps = StepSelection::many({indices[1], indices[0], indices[1]})};
  const auto ranking = session.ranking(both).value();
  EXPECT_EQ(ranking->totals.calls, calls);
  EXPECT_EQ(ranking->totals.time_ns, time_ns);
  EXPECT_EQ(ranking->totals.step_ns, step_ns);
  EXPECT_EQ(session.accounting(both).value()->step_ns, step_ns);
  EXPECT_EQ(session.accounting(both).value()->remainder_ns, 0);
  const auto phase = session.ranking({.steps = StepSelection::all_of(Phase::timeline)}).value();
  EXPECT_GE(phase->totals.calls, calls);
  EXPECT_EQ(session.ranking({.steps = StepSelection::many({900, 901})}).failure().kind, ErrorKind::usage);
}

TEST_F(SessionTest, ManyPeersAreKnownByTheirSums) {
  generate::Options options;
  options.shape = generate::Shape::timeline;
  options.launches = 130'000;
  options.launches_per_step = 1'000;
  make(options);
  Session session = open();
  const auto measured = session.utilisation().value();
  EXPECT_LT(session.reads().launches, launches_ / 4);
  const Model model = whole();
  const Analysis all = analyse(model).value();
  ASSERT_EQ(measured->launches.size(), all.utilisation.launches.size());
  for (std::size_t i = 0; i < measured->launches.size(); i += 37) {
    const auto& a = measured->launches[i].duration_deviation_ns;
    const auto& b = all.utilisation.launches[i].duration_deviation_ns;
    ASSERT_EQ(a.has_value(), b.has_value()) << i;
    if (a) {
      EXPECT_NEAR(*a, *b, 1e-6 * *b + 1e-3) << i;
    }
  }
}

TEST(Session, SaysWhyAFileCannotBeOpened) {
  EXPECT_FALSE(Session::open("/nonexistent/no.ridge").ok());
}

// The bundled capture is of schema 2: it is migrated in memory and answers as what is read of it as a whole.
TEST(SessionOfAnOlderCapture, AnswersAsTheWholeModelDoes) {
  const std::string path = std::string(RIDGELINE_SOURCE_DIR) + "/examples/gpt2-h200.ridge";
  Session session = Session::open(path).value();
  const auto answered = session.analysis().value();
  const Model model = whole_model(store::Capture::open(path).value());
  const Analysis expected = analyse(model).value();
  ASSERT_FALSE(expected.ranking.rows.empty());
  EXPECT_EQ(answered->steps.representative.summary.step_index,
            expected.steps.representative.summary.step_index);
  ASSERT_EQ(answered->ranking.rows.size(), expected.ranking.rows.size());
  for (std::size_t i = 0; i < expected.ranking.rows.size(); ++i) {
    const RankingRow& a = answered->ranking.rows[i];
    const RankingRow& b = expected.ranking.rows[i];
    EXPECT_EQ(a.key, b.key);
    EXPECT_EQ(a.time_ns, b.time_ns);
    EXPECT_DOUBLE_EQ(a.saved_target_ns, b.saved_target_ns);
  }
  EXPECT_EQ(answered->accounting.kernel_busy_ns, expected.accounting.kernel_busy_ns);
  EXPECT_EQ(answered->accounting.gap_total_ns, expected.accounting.gap_total_ns);
  EXPECT_EQ(answered->accounting.remainder_ns, 0);
  EXPECT_EQ(answered->declared_work.size(), expected.declared_work.size());
}

// Work of the step before that ends in this one, and work outside of all steps, runs in the step's time.
TEST_F(SessionTest, WorkOfOthersInTheStepsTimeCounts) {
  for (const bool outside : {false, true}) {
    const std::string path = directory_.file(outside ? "outside.ridge" : "overlapping.ridge");
    {
      auto writer = store::CaptureWriter::create(path).value();
      writer.set_run({.command_line = "program", .ridgeline_version = "test", .clock = "test"});
      const store::Id device = writer.add(store::Device{.name = "GPU", .uuid = "GPU-1"});
      const store::Id kernel = writer.kernel_id("kernel");
      for (const std::int64_t pid : {1, 2}) {
        const store::Id process = writer.add(store::Process{.pid = pid, .command = "program", .start_ns = 1});
        const auto launch = [&](std::optional<store::Id> step, std::int64_t ordinal, std::int64_t stream,
                                std::int64_t start_ns, std::int64_t end_ns) {
          store::Launch row;
          row.process_id = process;
          row.device_id = device;
          row.kernel_id = kernel;
          row.stream_id = stream;
          row.grid.x =
              start_ns / 1'000'000;  // of each step another: none is loaded as a peer of the chosen one
          row.step_id = step;
          if (step) row.ordinal_in_step = ordinal;
          row.start_ns = start_ns;
          row.end_ns = end_ns;
          writer.add(row);
        };
        for (std::int64_t i = 0; i < 5; ++i) {
          const std::int64_t begin = 1'000'000 * (i + 1);
          store::Step step;
          step.process_id = process;
          step.step_index = i;
          step.phase = Phase::timeline;
          const store::Id id = writer.add(step);
          if (pid == 2) {  // of many short launches
            for (std::int64_t k = 0; k < 20; ++k) launch(id, k, 7, begin + 10 * k, begin + 10 * k + 1);
            continue;
          }
          launch(id, 0, 7, begin, begin + 100'000);
          launch(id, 1, 7, begin + 400'000, begin + 800'000);
          launch(id, 2, 8, begin + 700'000, begin + 1'300'000);  // into the next step
          if (outside) launch({}, 0, 9, begin + 320'000, begin + 350'000);
        }
      }
      writer.finish();
    }
    const auto answered = Session::open(path).value().analysis().value();
    const Analysis expected = analyse(whole_model(store::Capture::open(path).value())).value();
    const Accounting& a = answered->accounting;
    EXPECT_EQ(a.foreign_busy_ns, outside ? 330'000 : 300'000);
    EXPECT_EQ(a.foreign_busy_ns, expected.accounting.foreign_busy_ns);
    EXPECT_EQ(a.kernel_busy_ns, expected.accounting.kernel_busy_ns);
    EXPECT_EQ(a.kernel_overlap_ns, expected.accounting.kernel_overlap_ns);
    EXPECT_EQ(a.gap_total_ns, expected.accounting.gap_total_ns);
    EXPECT_EQ(a.remainder_ns, 0);
  }
}

// Of a step that is loaded the launches are counted; of the others the sums tell.
TEST_F(SessionTest, LaunchesThatAreGoneAreFoundAndNothingIsJudged) {
  generate::Options options = small();
  options.launches = 12'000;  // more than are counted whenever a capture is opened
  make(options);
  const std::string change = [&] {
    Session session = open();
    EXPECT_EQ(session.quality().value()->complete, true);
    EXPECT_NE(session.analysis({}, Session::kCheck).value()->check.overall, OverallVerdict::not_enough_data);
    const auto steps = session.steps().value();
    return "DELETE FROM launch_row WHERE id = (SELECT id FROM launch WHERE ordinal_in_step = 7 AND step_id "
           "= " +
           std::to_string(steps->representative.summary.step_id) + ")";
  }();
  store::Database(path_, store::OpenMode::read_write).execute(change);
  Session session = open();
  const auto quality = session.quality().value();
  const auto found = std::find_if(quality->findings.begin(), quality->findings.end(),
                                  [](const Finding& f) { return f.code == FindingCode::rows_lost; });
  ASSERT_NE(found, quality->findings.end());
  EXPECT_EQ(found->severity, Severity::error);
  EXPECT_EQ(found->subject.name.substr(0, 15), "launch of step ");
  EXPECT_EQ(found->value("rows") + 1, found->value("rows_written"));
  EXPECT_FALSE(quality->complete);
  EXPECT_EQ(session.analysis({}, Session::kCheck).value()->check.overall, OverallVerdict::not_enough_data);
}

TEST_F(SessionTest, FewerLaunchesThanRecordedAreFound) {
  make(small());
  store::Database(path_, store::OpenMode::read_write)
      .execute("UPDATE completeness SET kernel_records = kernel_records + 5");
  Session session = open();
  const auto model = session.recording().value();
  ASSERT_EQ(model->lost_rows.size(), 1u);
  EXPECT_EQ(model->lost_rows[0].table, "launch");
  EXPECT_EQ(model->lost_rows[0].rows + 5, model->lost_rows[0].written);
}

TEST_F(SessionTest, TimesBeyondAnyClockAreDamage) {
  make(small());
  for (const char* change :
       {"UPDATE step SET host_start_ns = -9223372036854775807 WHERE id = 1",
        "UPDATE step SET kernel_end_ns = 9223372036854775807 WHERE id = 1",
        "UPDATE step SET launches = 1 << 60 WHERE id = 1", "UPDATE run SET end_ns = 9223372036854775807",
        "UPDATE completeness SET launches_seen = 1 << 62"}) {
    const std::string kept = path_ + ".kept";
    std::filesystem::copy_file(path_, kept, std::filesystem::copy_options::overwrite_existing);
    store::Database(path_, store::OpenMode::read_write).execute(change);
    Session session = open();
    try {
      const auto answer = session.ranking();
      EXPECT_FALSE(answer) << change;
      if (!answer) {
        EXPECT_EQ(answer.failure().kind, ErrorKind::corrupt) << change;
      }
    } catch (const Error& error) {
      EXPECT_EQ(error.kind(), ErrorKind::corrupt) << change;
    }
    std::filesystem::rename(kept, path_);
  }
}

}  // namespace
}  // namespace ridgeline::analyzer
