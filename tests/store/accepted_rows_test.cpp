// Captures of rows drawn by lot: launches over several chunks in steps that come in any order and come back, copies,
// ranges that end before what is round them, work, what orders streams and memory. What is read back by every filter,
// the sums, the views, a part of the capture and its verification are held against what was accepted.
#include <gtest/gtest.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "ridgeline/store/activity.h"
#include "ridgeline/store/capture.h"
#include "ridgeline/store/capture_part.h"
#include "ridgeline/store/capture_writer.h"
#include "ridgeline/store/collectives.h"
#include "ridgeline/store/database.h"
#include "ridgeline/store/interventions.h"
#include "ridgeline/store/order.h"
#include "row_feed.h"
#include "row_scan.h"
#include "support/accepted_cases.h"
#include "support/capture_rows.h"
#include "support/lots.h"
#include "support/temporary_directory.h"

namespace ridgeline::store::testing {
namespace {

using ridgeline::testing::AcceptedCases;
using ridgeline::testing::capture_rows;
using ridgeline::testing::fields;
using ridgeline::testing::Lots;
using ridgeline::testing::TemporaryDirectory;
using ridgeline::testing::text_sum;
using ridgeline::testing::text_sum_in_hex;

// How rows are drawn and in which order they are written; shares are of a hundred.
struct RowsLot {
  std::uint64_t seed = 1;
  int steps = 6, launches = 60;  // of a step
  int odd = 0;                   // values that are out of the ordinary
  int checkpoints = 0;           // after a row
  bool mixed = false;            // steps in any order, and back to them
  bool backwards = false;
};

class DrawnRows {
 public:
  DrawnRows(const std::string& path, const RowsLot& lot)
      : lot_(lot), lots_(lot.seed), writer_(std::move(CaptureWriter::create(path)).value()) {}

  void write() {
    describe();
    std::vector<Launch> launches = drawn_launches();
    if (lot_.backwards) std::reverse(launches.begin(), launches.end());
    if (lot_.mixed) lots_.shuffle(launches);
    for (const Launch& launch : launches) {
      launch_ids_.push_back(writer_.add(launch));
      if (lots_.percent(6)) copy(launch);
      if (lots_.percent(8)) ranges(launch);
      if (lots_.percent(lot_.checkpoints)) writer_.checkpoint();
    }
    values();
    order();
    statuses();
    writer_.finish();
  }

 private:
  bool odd() { return lots_.percent(lot_.odd); }

  void describe() {
    writer_.set_run({.command_line = "./train", .ridgeline_version = "0", .clock = "cupti"});
    for (int i = 0; i < 2; ++i) {
      Process process;
      process.pid = 70 + i;
      if (lots_.percent(50)) process.rank = i;
      processes_.push_back(writer_.add(process));
      writer_.set_host(processes_.back(), i == 0 ? "alpha" : "beta");
      Device device;
      device.device_index = i;
      device.name = i == 0 ? "NVIDIA H200" : "no such card";
      devices_.push_back(writer_.add(device));
    }
    for (const char* name : {"_Z5firstv", "_Z6secondIiEvT_", "plain"})
      kernels_.push_back(writer_.kernel_id(name));
    kernels_.push_back(writer_.kernel_id("_Z5firstv", "c0ffee"));
    kernels_.push_back(writer_.demangled_kernel_id("void third<int>(int)"));
    kernels_.push_back(writer_.kernel_id("_Z20ncclDevKernel_SendRecvv"));
    for (const char* path : {"step", "step / forward", "step / backward"})
      paths_.push_back(writer_.string_id(path));
    for (int i = 0; i < lot_.steps; ++i) {
      Step step;
      step.process_id = processes_[static_cast<std::size_t>(i % 2)];
      step.step_index = i;
      step.phase =
          lots_.one_of({Phase::timeline, Phase::timeline, Phase::timeline, Phase::replay, Phase::warmup});
      step.status = odd() ? StepStatus::failed : StepStatus::ok;
      if (step.status != StepStatus::ok)
        step.reason = Reason(ReasonCode::counters_unread, {}, {Reason("why")});
      step.source = lots_.one_of({StepSource::nvtx, StepSource::period, StepSource::window});
      step.host_start_ns = at(i);
      if (!odd()) step.host_end_ns = at(i + 1) - 10;
      step.gpu_start_ns = at(i) + 5;
      step.gpu_end_ns = at(i + 1) - 5;
      steps_.push_back(writer_.add(step));
    }
  }
  static std::int64_t at(int step) { return 1'700'000'000'000'000'000 + 1'000'000 * std::int64_t{step}; }

  std::vector<Launch> drawn_launches() {
    std::vector<Launch> all;
    for (int step = -1; step < lot_.steps; ++step) {
      const std::int64_t count = step < 0 ? 9 : lot_.launches + (lots_.percent(30) ? 1 : 0);
      for (std::int64_t k = 0; k < count; ++k) {
        const auto kind = static_cast<std::size_t>(k % 6);
        Launch launch;
        launch.process_id = processes_[static_cast<std::size_t>(step < 0 ? 0 : step % 2)];
        launch.device_id = devices_[static_cast<std::size_t>(k % 5 == 4 ? 1 : 0)];
        launch.kernel_id = kernels_[kind];
        launch.context_id = 1;
        launch.stream_id = 7 + k % 2;
        launch.correlation_id = 100'000 * std::int64_t{step + 1} + 3 * k;
        launch.grid = {4 + k % 6, 2, 1};
        launch.block = {128, 1, 1};
        if (kind == 3) launch.cluster = Dim3{2, 1, 1};
        launch.registers_per_thread = 32;
        launch.static_smem_bytes = 16;
        launch.dynamic_smem_bytes = 64;
        launch.start_ns = at(std::max(step, 0)) + 900 * k + lots_.below(90);
        launch.end_ns = launch.start_ns + 500 + 40 * (k % 7);
        if (!odd()) launch.host_start_ns = launch.start_ns - 3'000;
        if (!odd()) launch.host_end_ns = launch.start_ns - 2'900;
        if (!odd()) launch.thread_id = 9 + k % 2;
        if (!odd()) launch.nvtx_path_id = paths_[static_cast<std::size_t>(k % 3)];
        if (step >= 0) launch.step_id = steps_[static_cast<std::size_t>(step)];
        if (step >= 0 && !odd()) launch.ordinal_in_step = k;
        if (odd()) launch.start_ns = lots_.one_of<std::int64_t>({0, 0, -5, launch.end_ns + 1, launch.end_ns});
        if (odd()) launch.ordinal_in_step = lots_.one_of<std::int64_t>({-1, 0, 3, (1 << 18) - 1, 1 << 18});
        if (odd()) {
          launch.graph_id = 3;
          launch.graph_node_id = 20 + k;
        }
        if (odd()) launch.correlation_id = INT64_MAX - k;
        all.push_back(launch);
      }
    }
    return all;
  }

  void copy(const Launch& beside) {
    Memcpy copy;
    copy.process_id = beside.process_id;
    copy.device_id = beside.device_id;
    copy.stream_id = 8;
    copy.correlation_id = beside.correlation_id + 1;
    copy.kind = lots_.one_of(
        {CopyKind::host_to_device, CopyKind::device_to_host, CopyKind::peer_to_peer, CopyKind::unknown});
    copy.bytes = lots_.one_of<std::int64_t>({0, 1, 4096, std::int64_t{1} << 40});
    copy.start_ns = odd() ? 0 : beside.start_ns + 7;
    copy.end_ns = copy.start_ns + lots_.one_of<std::int64_t>({0, 1, 500});
    copy.step_id = beside.step_id;
    copy.nvtx_path_id = beside.nvtx_path_id;
    if (odd()) copy.graph_node_id = 5;
    writer_.add(copy);
    if (!lots_.percent(50)) return;
    Memset set;
    set.process_id = copy.process_id;
    set.device_id = copy.device_id;
    set.correlation_id = copy.correlation_id + 1;
    set.bytes = copy.bytes;
    set.start_ns = copy.start_ns + 20;
    set.end_ns = odd() ? copy.start_ns : copy.end_ns + 40;
    set.step_id = copy.step_id;
    writer_.add(set);
  }

  // A range, what is round it, which ends later or never, and what both declare.
  void ranges(const Launch& beside) {
    NvtxRange range;
    range.process_id = beside.process_id;
    range.thread_id = 9;
    range.step_id = beside.step_id;
    range.start_ns = beside.host_start_ns.value_or(at(0)) - 50;
    range.end_ns = range.start_ns + 400;
    range.name_id = range.path_id = paths_[1];
    const Id outer = writer_.reserve_range_id();
    range.parent_id = outer;
    range.depth = 1;
    std::optional<Id> work;
    Annotation declared{
        .name = lots_.one_of<const char*>({"op_cost", "shapes"}), .bytes = 4096, .flops = 8192};
    declared.flops = lots_.one_of({8192.0, 16.5, 0.0});
    if (lots_.percent(30)) declared.tokens = 32;
    if (lots_.percent(30)) {
      declared.m = 64;
      declared.n = 32;
      declared.k = lots_.between(1, 3);
    }
    if (lots_.percent(60)) work = writer_.work_id(declared);
    const Id id = writer_.add(range, work);
    if (lots_.percent(40)) {
      declared.nvtx_range_id = id;
      declared.samples = 4;
      writer_.add(declared);
    }
    if (odd()) return;  // what is round it never has a row
    range.id = outer;
    range.parent_id.reset();
    range.depth = 0;
    range.start_ns -= 100;
    range.path_id = paths_[0];
    if (lots_.percent(30)) range.domain_id = paths_[2];
    if (odd())
      range.end_ns.reset();
    else
      range.end_ns = range.start_ns + 600;
    writer_.add_reserved(range, std::nullopt);
  }

  void values() {
    const Id read = writer_.metric_id("dram__bytes_read.sum");
    const Id other = writer_.metric_id("of.nobody", "bytes", "meaning");
    for (std::size_t i = 0; i < launch_ids_.size(); i += 7) {
      LaunchMetric value{.launch_id = launch_ids_[i], .metric_id = read, .tier = Tier::t2, .value = 1000.5};
      writer_.add(value);
      value.tier = Tier::t1;
      value.error = 3.25;
      value.sample_count = 4;
      value.concurrent = i % 2 == 0;
      writer_.add(value);
      if (lots_.percent(30)) {
        value.value = static_cast<double>(lots_.below(50));
        writer_.add(value);  // in place of the one before
      }
      value.metric_id = other;
      writer_.add(value);
      if (i % 3 == 0) {
        const std::int64_t bytes = lots_.below(900);
        writer_.add(Collective{.launch_id = launch_ids_[i],
                               .communicator_id = std::nullopt,
                               .ordinal = static_cast<std::int64_t>(i),
                               .function = CollectiveFunction::all_gather,
                               .bytes = bytes,
                               .source = CollectiveSource::program});
      }
    }
    for (int i = 0; i < 20; ++i) {
      const Id device = devices_[static_cast<std::size_t>(lots_.below(2))];
      const int step = lots_.percent(33) ? 1 : 2;
      const std::int64_t time = at(step) + 100 * lots_.below(5);
      const Id metric = lots_.one_of({read, other});
      const auto value = static_cast<double>(i);
      writer_.add(PmSample{.device_id = device, .time_ns = time, .metric_id = metric, .value = value});
      const Id kernel = kernels_[static_cast<std::size_t>(lots_.below(3))];
      const std::int64_t offset = 16 * lots_.below(3);
      const char* reason = lots_.one_of<const char*>({"stalled_a", "stalled_b"});
      writer_.add(
          StallSample{.kernel_id = kernel, .pc_offset = offset, .stall_reason = reason, .samples = 1 + i});
      writer_.add(ClockSample{device, time, 1'900'000'000 + i, std::nullopt, 650'000, 55, i % 3});
      writer_.add(SourceLine{.kernel_id = kernel, .pc_offset = offset, .file_id = paths_[0], .line = i});
    }
  }

  void order() {
    for (int i = 0; i < 40; ++i) {
      const auto process = processes_[static_cast<std::size_t>(lots_.below(2))];
      OrderingCall call;
      call.process_id = process;
      call.correlation_id = lots_.below(60);
      call.call = static_cast<StreamCall>(lots_.between(1, 9));
      call.thread_id = 9;
      call.time_ns = at(static_cast<int>(lots_.below(lot_.steps)));
      if (!odd()) {
        call.context_id = 1;
        call.stream_id = 7;
      }
      if (lots_.percent(50)) call.event = lots_.below(3);
      if (lots_.percent(40)) call.source_id = lots_.below(60);
      if (lots_.percent(70)) call.step_id = steps_[static_cast<std::size_t>(lots_.below(lot_.steps))];
      writer_.add(call);
      MemoryUse use;
      use.process_id = process;
      use.correlation_id = lots_.below(50);
      use.call = static_cast<MemoryCall>(lots_.between(1, 7));
      use.thread_id = 9;
      use.time_ns = call.time_ns + 1;
      use.device_id = devices_[static_cast<std::size_t>(lots_.below(2))];
      if (lots_.percent(80)) use.bytes = lots_.below(4096);
      if (lots_.percent(40)) use.allocation_id = lots_.below(50);
      use.allocated_bytes = lots_.below(1 << 20);
      use.step_id = call.step_id;
      writer_.add(use);
      const std::int64_t wait_start = call.time_ns + 5 * lots_.below(3);
      const auto waited = static_cast<SynchronisationCall>(lots_.between(1, 10));
      writer_.add(Synchronisation{.process_id = process,
                                  .thread_id = 9 + lots_.below(2),
                                  .start_ns = wait_start,
                                  .duration_ns = 700 * (i % 3),
                                  .call = waited,
                                  .correlation_id = i,
                                  .step_id = call.step_id});
      if (i >= 12) continue;
      const std::int64_t context = lots_.between(1, 2);
      const std::int64_t stream = lots_.between(7, 9);
      const auto stream_kind = static_cast<StreamKind>(lots_.between(1, 4));
      writer_.add(Stream{process, context, stream, stream_kind, i - 6});
      const std::int64_t node = lots_.between(20, 29);
      const std::int64_t other = lots_.between(20, 29);
      const auto node_kind = static_cast<GraphNodeKind>(lots_.between(1, 14));
      std::optional<std::int64_t> parent;
      if (lots_.percent(30)) parent = other;
      writer_.add(GraphNode{process, node, 3, node_kind, parent});
      writer_.add(GraphEdge{process, node, other, i % 2 == 0});
      writer_.add(LeftOutCount{process, static_cast<LeftOut>(1 + i % 3), i});
    }
  }

  void statuses() {
    for (const Id process : processes_) {
      writer_.add(Completeness{
          .process_id = process, .launches_seen = 200, .kernel_records = lots_.between(150, 250)});
      writer_.add(
          TierStatus{process, Tier::t1, TierOutcome::partial,
                     Reason(ReasonCode::samples_of_part, {{"covered_ratio", 0.5}, {"name", "x"}, {"n", 3}})});
      writer_.add(Message{
          .process_id = process,
          .time_ns = at(1),
          .severity = Severity::warning,
          .what = Reason(ReasonCode::replay, {}, {Reason("because"), Reason(ReasonCode::no_reason)})});
      writer_.add(RecordingWindow{.process_id = process, .start_ns = at(0), .stream_calls = true});
      writer_.add(Thread{process, 9, "main"});
      const Id step = steps_[static_cast<std::size_t>(lots_.below(lot_.steps))];
      writer_.add(Intervention{.process_id = process,
                               .step_id = step,
                               .target = 1,
                               .kernel_id = kernels_[0],
                               .ordinal = 3,
                               .drawn = true,
                               .level_ns = 500,
                               .start_ns = at(1),
                               .end_ns = at(1) + 500,
                               .seed = "7"});
      (void)writer_.add(
          Communicator{.process_id = process, .hash = "h", .ranks = 2, .rank = std::nullopt, .name = "g"});
    }
  }

  RowsLot lot_;
  Lots lots_;
  CaptureWriter writer_;
  std::vector<Id> processes_, devices_, kernels_, paths_, steps_, launch_ids_;
};

// How many rows a filter selects, the first and the last, and the sum of all.
template <typename Row>
class RowSum {
 public:
  void add(const Row& row) {
    last_ = fields(row);
    if (count_++ == 0) first_ = last_;
    sum_ = text_sum(last_, sum_);
  }
  [[nodiscard]] std::string text() const {
    return std::to_string(count_) + " " + text_sum_in_hex(sum_) + " " + first_ + " to " + last_ + "\n";
  }

 private:
  std::size_t count_ = 0;
  std::uint64_t sum_ = text_sum({});
  std::string first_, last_;
};

std::string selected(const Activity& activity, const ActivityFilter& filter) {
  std::string all;
  const auto rows = [&]<typename Row>(bool (Activity::*for_each)(
                        const ActivityFilter&, const Activity::Visit<Row>&, const std::stop_token&) const) {
    RowSum<Row> sum;
    (activity.*for_each)(filter, [&](const Row& row) { sum.add(row); }, {});
    all += sum.text();
  };
  rows(&Activity::for_each_launch);
  rows(&Activity::for_each_memcpy);
  rows(&Activity::for_each_memset);
  rows(&Activity::for_each_range);
  rows(&Activity::for_each_annotation);
  rows(&Activity::for_each_launch_metric);
  for (const LaunchColumns columns : {LaunchColumns::times, LaunchColumns::events}) {
    RowSum<LaunchRow> sum;
    activity.for_each_launch_row(filter, columns, [&](const LaunchRow& row) { sum.add(row); });
    all += sum.text();
  }
  return all;
}

std::string sums_text(const Capture& capture) {
  const Activity activity(capture);
  std::string all = fields(activity.process_totals()) + "\n";
  std::map<Id, Step> steps;
  for (const Step& step : capture.steps()) steps[step.id] = step;
  for (const StepTotal& total : activity.step_totals()) {
    const Step& step = steps[total.step_id];
    all += fields(total) + fields(activity.ordinal_sums({step.process_id, step.phase, total.sequence_hash})) +
           "\n";
  }
  return all;
}

class DrawnStore : public ::testing::Test {
 protected:
  Capture written(const RowsLot& lot) {
    const std::string path = directory_.file("a.ridge");
    for (const char* end : {"", "-wal", "-shm"}) std::filesystem::remove(path + end);
    DrawnRows(path, lot).write();
    return std::move(Capture::open(path)).value();
  }
  TemporaryDirectory directory_;
};

constexpr std::int64_t kZero = 1'700'000'000'000'000'000, kStepNs = 1'000'000;

TEST_F(DrawnStore, IsReadBackByEveryFilter) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed) {
    const Capture capture = written({.seed = seed,
                                     .steps = 5 + static_cast<int>(seed % 3),
                                     .launches = seed % 2 == 0 ? 150 : 40,
                                     .odd = static_cast<int>(seed % 3) * 4,
                                     .checkpoints = static_cast<int>(seed % 2) * 2,
                                     .mixed = seed % 3 == 1,
                                     .backwards = seed % 3 == 2});
    AcceptedCases::expect([&] {
      const Activity activity(capture);
      std::string all;
      for (const ActivityFilter& filter : std::vector<ActivityFilter>{
               {},
               {.process_id = 1},
               {.process_id = 2, .time = TimeSpan{kZero + kStepNs, kZero + 2 * kStepNs}},
               {.step_ids = std::vector<Id>{3, 1, 99, 3}},
               {.step_ids = std::vector<Id>{}},
               {.process_id = 2, .step_ids = std::vector<Id>{1, 2}},
               {.time = TimeSpan{kZero + 20'000, kZero + 20'001}},
               {.step_ids = std::vector<Id>{2}, .time = TimeSpan{kZero + kStepNs, kZero + kStepNs + 50'000}},
               {.time = TimeSpan{kZero + 9 * kStepNs, INT64_MAX}},
               {.time = TimeSpan{0, 0}}})
        all += selected(activity, filter) + "\n";
      return all;
    });
    AcceptedCases::expect([&] { return sums_text(capture) + capture_rows(capture); });
  }
}

TEST_F(DrawnStore, HasItsOrderAndItsSmallTables) {
  for (std::uint64_t seed = 11; seed <= 13; ++seed) {
    const Capture capture =
        written({.seed = seed, .steps = 4, .launches = 12, .odd = static_cast<int>(seed % 2) * 5});
    AcceptedCases::expect([&] {
      const Order order(capture);
      std::string all;
      for (const Id process : {1, 2, 3}) {
        all += fields(order.streams(process)) + fields(order.calls(process)) +
               fields(order.calls(process, {10, 20})) + fields(order.calls(process, {20, 10})) +
               fields(order.graph_nodes(process)) + fields(order.graph_edges(process)) +
               fields(order.memory(process)) + "\n" +
               fields(capture.synchronisations(process, kZero, kZero + 2 * kStepNs)) +
               fields(capture.synchronisations(process, kZero + 700, kZero + 701)) + "\n";
      }
      const OrderSummary summary = order.summary();
      all += fields(summary.calls) + fields(summary.graph_edges) + fields(summary.memory) +
             fields(summary.left_out) + fields(summary.hosts) + "\n";
      all += fields(communicators(capture)) + fields(collectives(capture)) + fields(interventions(capture)) +
             "\n" + fields(capture.stall_samples()) + fields(capture.source_lines()) +
             fields(capture.clock_samples()) + fields(capture.pm_samples(1, 1)) + fields(capture.messages()) +
             fields(capture.tier_statuses()) + fields(capture.row_counts()) + fields(capture.lost_rows()) +
             fields(capture.verify());
      return all;
    });
    AcceptedCases::expect([&] { return capture_rows(capture); });
  }
}

TEST_F(DrawnStore, GivesPartsOfItself) {
  for (std::uint64_t seed = 21; seed <= 22; ++seed) {
    const Capture capture = written({.seed = seed,
                                     .steps = 6,
                                     .launches = 30,
                                     .odd = static_cast<int>(seed % 2) * 5,
                                     .mixed = seed % 2 == 0});
    for (const TimeSpan& time :
         {TimeSpan{kZero + 2 * kStepNs, kZero + 3 * kStepNs}, TimeSpan{kZero + 5'000, kZero + 5'001},
          TimeSpan{kZero - 9 * kStepNs, kZero - kStepNs}}) {
      const std::string path = directory_.file("part.ridge");
      std::filesystem::remove(path);
      const Result<CapturePart> part = write_part(capture, time, path);
      AcceptedCases::expect([&] {
        if (!part.ok()) return "refused: " + part.failure().message;
        return fields(part.value()) + "\n" + capture_rows(std::move(Capture::open(path)).value());
      });
    }
  }
}

// The same rows in three orders, with checkpoints and without: the sums are the same.
TEST_F(DrawnStore, AddsUpTheSameInAnyOrder) {
  for (std::uint64_t seed = 31; seed <= 32; ++seed) {
    std::vector<std::string> sums;
    for (const auto& [mixed, backwards, checkpoints] :
         {std::tuple(false, false, 0), std::tuple(true, false, 3), std::tuple(false, true, 3),
          std::tuple(true, false, 0)}) {
      const Capture capture = written({.seed = seed,
                                       .steps = 5,
                                       .launches = 40,
                                       .checkpoints = checkpoints,
                                       .mixed = mixed,
                                       .backwards = backwards});
      const Activity activity(capture);
      std::vector<StepTotal> totals = activity.step_totals();
      for (StepTotal& total : totals)
        total.copies = total.copy_start_ns = total.copy_end_ns = 0;  // drawn in between
      sums.push_back(fields(totals) + fields(activity.process_totals()));
    }
    for (const std::string& each : sums) EXPECT_EQ(each, sums.front()) << seed;
  }
}

TEST_F(DrawnStore, HasReasonsOfSoManyLevels) {
  for (const int levels : {1, 15, 16, 17}) {
    const std::string path = directory_.file("reasons " + std::to_string(levels) + ".ridge");
    {
      CaptureWriter writer = std::move(CaptureWriter::create(path)).value();
      writer.set_run({.command_line = "./train", .ridgeline_version = "0", .clock = "cupti"});
      Reason reason("the last");
      for (int level = 0; level < levels; ++level) reason = Reason(ReasonCode::replay, {}, {reason});
      writer.add(Message{.severity = Severity::warning, .what = reason});
      writer.finish();
    }
    AcceptedCases::expect([&] {
      try {
        return fields(std::move(Capture::open(path)).value().messages());
      } catch (const Error& error) {
        return "refused: " + error.message();
      }
    });
  }
}

// --- Sums of sequences in bounded memory ---

class DrawnSums : public DrawnStore {
 protected:
  DrawnSums() : writer_(std::move(CaptureWriter::create(path_)).value()) {
    writer_.set_run({.command_line = "./train", .ridgeline_version = "0", .clock = "cupti"});
    Process process;
    process.pid = 7;
    process_ = writer_.add(process);
    device_ = writer_.add(Device{.name = "NVIDIA H200"});
    for (int i = 0; i < 6; ++i)
      kernels_.push_back(writer_.kernel_id("_Z1" + std::string(1, static_cast<char>('a' + i)) + "v"));
  }
  Id step(StepStatus status = StepStatus::ok) {
    Step step;
    step.process_id = process_;
    step.step_index = index_++;
    step.phase = Phase::timeline;
    step.status = status;
    if (status != StepStatus::ok) step.reason = Reason(ReasonCode::no_reason);
    return writer_.add(step);
  }
  void launch(Id step, int kernel, std::int64_t ordinal, std::int64_t duration_ns = 100) {
    Launch launch;
    launch.process_id = process_;
    launch.device_id = device_;
    launch.kernel_id = kernels_[static_cast<std::size_t>(kernel)];
    launch.step_id = step;
    launch.ordinal_in_step = ordinal;
    launch.start_ns = now_;
    launch.end_ns = now_ + duration_ns;
    now_ += 1000;
    writer_.add(launch);
  }
  std::string finished() {
    writer_.finish();
    const Capture capture = std::move(Capture::open(path_)).value();
    std::string all;
    const auto rows = capture.query(
        "SELECT s.process_id, s.phase, s.steps, o.* FROM launch_sequence s JOIN ordinal_sum o ON "
        "o.sequence_id = s.id "
        "ORDER BY s.id, o.ordinal_in_step");
    EXPECT_TRUE(rows.ok()) << rows.failure().message;
    if (rows.ok())
      for (const auto& row : rows.value().rows) all += ridgeline::testing::row_text(row);
    const Activity activity(capture);
    RowSum<StepTotal> totals;
    for (const StepTotal& total : activity.step_totals()) totals.add(total);
    return all + totals.text() + fields(capture.verify());
  }

  std::string path_ = directory_.file("sums.ridge");
  CaptureWriter writer_;
  Id process_ = 0, device_ = 0;
  std::vector<Id> kernels_;
  std::int64_t index_ = 0, now_ = 1'700'000'000'000'000'000;
};

TEST_F(DrawnSums, OfStepsThatComeBackAfterMoreThanAreOpenAtATime) {
  std::vector<Id> steps;
  for (int i = 0; i < 4'100; ++i) steps.push_back(step());
  for (const Id each : steps) launch(each, 0, 0, 100 + each % 3);
  // The first four are closed. One comes back with a launch, one with a copy, one with a range.
  launch(steps[0], 1, 1);
  Memcpy copy;
  copy.process_id = process_;
  copy.device_id = device_;
  copy.start_ns = 1'700'000'000'000'000'500;
  copy.end_ns = copy.start_ns + 50;
  copy.step_id = steps[1];
  writer_.add(copy);
  NvtxRange range;
  range.process_id = process_;
  range.step_id = steps[2];
  range.start_ns = 1'700'000'000'000'000'100;
  range.name_id = range.path_id = writer_.string_id("a");
  writer_.add(range);
  launch(steps[4'099], 2, 1);
  launch(steps[4'098], 2, 1);
  AcceptedCases::expect([&] { return finished(); });
}

// Ordinals up to the last that is summed up, in more sequences than are held at a time.
TEST_F(DrawnSums, OfMoreSequencesThanAreHeld) {
  constexpr std::int64_t kLast = (1 << 18) - 1;
  for (int kernel = 0; kernel < 6; ++kernel) {
    for (int repeat = 0; repeat < 1 + kernel % 2; ++repeat) {
      const Id each = step(kernel == 5 && repeat == 1 ? StepStatus::failed : StepStatus::ok);
      launch(each, kernel, kLast, 100 + 7 * repeat);
      launch(each, kernel, 0, 50);
    }
  }
  const Id beyond = step(), again = step(), none = step();
  for (const Id each : {beyond, again}) launch(each, 0, kLast + 1);
  launch(none, 0, -1);
  // Those of the first sequence come again.
  for (int repeat = 0; repeat < 2; ++repeat) {
    const Id each = step();
    launch(each, 0, kLast, 30);
    launch(each, 0, 0, 10);
  }
  AcceptedCases::expect([&] { return finished(); });
}

TEST_F(DrawnSums, OfSequencesDrawnByLot) {
  Lots lots(5);
  std::vector<Id> steps;
  for (int i = 0; i < 40; ++i) steps.push_back(step(lots.percent(10) ? StepStatus::failed : StepStatus::ok));
  for (const Id each : steps) {
    const std::int64_t kind = lots.below(4);
    for (std::int64_t k = 0; k < 3 + kind; ++k) {
      const std::int64_t duration = lots.between(-1, 40);
      launch(each, static_cast<int>((k * (kind + 1)) % 6), k == 2 && kind == 3 ? 0 : k, duration);
    }
    if (lots.percent(20)) writer_.checkpoint();
  }
  AcceptedCases::expect([&] { return finished(); });
}

// --- Rows that SQLite reads from memory ---

TEST(DrawnFeeds, AreReadLikeTables) {
  const TemporaryDirectory directory;
  Database database(directory.file("a.db"), OpenMode::create);
  for (const std::size_t columns : {1U, 2U, 5U}) {
    AcceptedCases::expect([&] {
      Lots lots(columns);
      RowFeed feed(database, columns);
      std::string all;
      for (const std::size_t rows : {0U, 1U, 3U, 40U}) {
        std::vector<std::optional<std::int64_t>> values;
        for (std::size_t i = 0; i < rows * columns; ++i)
          values.push_back(lots.percent(20)
                               ? std::nullopt
                               : std::optional(lots.one_of<std::int64_t>({0, 1, -7, INT64_MAX, INT64_MIN})));
        feed.set(values.data(), rows);
        for (const std::string& sql :
             {"SELECT rowid, * FROM " + feed.name(),
              "SELECT count(*), count(c0), sum(c0 > 0) FROM " + feed.name(),
              "SELECT * FROM " + feed.name() + " WHERE rowid > 1 AND c0 IS NOT NULL ORDER BY c0, rowid DESC",
              "SELECT a.rowid, b.rowid FROM " + feed.name() + " a, " + feed.name() +
                  " b WHERE a.c0 = b.c0 AND a.rowid < b.rowid AND a.rowid < 4 ORDER BY 1, 2"}) {
          Statement row = database.prepare(sql);
          while (row.step()) {
            for (int column = 0; column < static_cast<int>(row.column_count()); ++column)
              all += (row.is_null(column) ? "-" : std::to_string(row.int64(column))) + " ";
            all += "\n";
          }
        }
        all += std::to_string(feed.rows()) + " of " + std::to_string(feed.columns()) + "\n";
      }
      return all;
    });
  }
}

}  // namespace
}  // namespace ridgeline::store::testing
