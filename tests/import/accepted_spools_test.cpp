// Recordings in which everything that an agent can write comes together, with what goes wrong with it drawn by lot:
// every row that comes of them is held against what was accepted. Devices, streams, graphs, samples of two devices,
// counters, stalls, ranges with work, memory, waits; records that are missing, come twice, without a time, or of
// another version.
#include <random>

#include "import/import_testing.h"

namespace ridgeline::import::testing {
namespace {

using namespace spool;  // NOLINT: record names all over this file

// How a recording goes.
struct Lot {
  std::uint64_t seed = 1;
  std::string schedule = "warmup=1,timeline=3,sample=2,replay=2,cold=1,stalls=1,flops=1";
  std::uint32_t devices = 2;
  std::uint32_t streams = 3;
  int lost = 0;     // of a thousand records that may be missing
  int doubled = 0;  // likewise, that come twice
  bool ranges = true, graphs = false, samples = true, windows = false, end = true;
  bool without_steps = false;
  std::uint16_t step_flags = 0;
};

class DrawnSpool : public FakeSpool {
 public:
  DrawnSpool(const std::string& directory, const Lot& lot, std::uint32_t pid = 4242)
      : FakeSpool(directory, pid, static_cast<std::uint8_t>(pid)), lot_(lot), random_(lot.seed) {}

  void write() {
    process(4242, lot_.schedule, lot_.without_steps ? "" : "step");
    define();
    if (lot_.windows) window(WindowEdge::open, WindowCause::delay, 3);
    std::uint32_t index = 0;
    for (const auto& [phase, count] : kPhases) {
      if (lot_.schedule.find(to_string(phase)) == std::string::npos) continue;
      for (int i = 0; i < count; ++i) step(index++, phase);
      if (lot_.windows && phase == Phase::timeline) {
        window(WindowEdge::close, WindowCause::duration);
        launches(3);
        window(WindowEdge::open, WindowCause::signal, 1);
      }
    }
    launches(4);
    windows_of_samples();
    stalls();
    messages();
    CompletenessRecord whole{};
    whole.launches_seen = seen_ + of(3);
    whole.graph_launches_seen = graphs_;
    whole.kernel_records = ran_;
    whole.graph_kernel_records = nodes_ran_;
    whole.own_kernel_records = of(9);
    whole.dropped_records = of(3);
    whole.spool_records_lost = of(2);
    whole.strings_lost = of(2);
    whole.nvtx_unbalanced = of(3);
    writer().put_completeness(whole);
    if (lot_.windows) window(WindowEdge::close, WindowCause::exit);
    if (lot_.end) end();
  }

 private:
  static constexpr std::pair<Phase, int> kPhases[] = {
      {Phase::warmup, 1}, {Phase::timeline, 3}, {Phase::sample, 2}, {Phase::replay, 2},
      {Phase::cold, 1},   {Phase::stalls, 1},   {Phase::flops, 1}};

  std::uint32_t of(std::uint32_t n) { return static_cast<std::uint32_t>(random_() % n); }
  template <typename Record>
  void may(const Record& record) {
    const int lot = static_cast<int>(of(1000));
    if (lot < lot_.lost) return;
    put(record);
    if (lot >= 1000 - lot_.doubled) put(record);
  }

  void define() {
    for (std::uint32_t i = 1; i < lot_.devices; ++i) {
      DeviceRecord record{};
      record.device_id = i;
      record.name = text(i == 1 ? "NVIDIA A100-SXM4-80GB" : "no such card");
      if (i == 1) record.pci_bus_id = text("0000:0B:00.0");
      record.uuid[3] = static_cast<std::uint8_t>(17 * i);
      record.compute_capability_major = 8;
      record.compute_capability_minor = i - 1;
      record.sm_count = 108;
      record.max_sm_hz = i == 1 ? 1'410'000'000 : 0;
      put(record);
    }
    const std::pair<Component, const char*> versions[] = {{Component::agent, "9.9"},
                                                          {Component::cupti, "/lib/libcupti.so"},
                                                          {Component::cuda_driver, ""},
                                                          {Component::kernel_driver, "580.1"},
                                                          {static_cast<Component>(77), "of another version"}};
    for (const auto& [component, words] : versions) {
      VersionRecord record{};
      record.component = component;
      if (*words != 0) record.text = text(words);
      record.number = component == Component::cupti         ? 130001
                      : component == Component::cuda_driver ? 13000
                                                            : 0;
      put(record);
    }
    for (std::uint32_t id = 4; id <= 7; ++id) {
      KernelFunctionRecord record{};
      record.kernel_id = id;
      record.name = text(id == 7 ? "plain_name" : "_Z4gemmILi" + std::to_string(id) + "EEvPf");
      record.code_hash = 0x1000 + id;
      put(record);
    }
    newer_code(5, 0x2005, 1);
    newer_code(5, 0x3005, 2);
    for (const std::uint32_t thread : {9U, 11U, 12U, 11U}) {
      ThreadRecord record{};
      record.header.flags = thread == 12 || of(2) == 0 ? kSystemThreadName : 0;
      record.thread_id = thread;
      record.name =
          text("thread " + std::to_string(thread) + (record.header.flags != 0 ? " of the system" : ""));
      put(record);
    }
    path(3, 2, "layer 1");
    path(4, 3, "tokens=32 samples=4");
    path(5, 99, "of a parent that is not there");
    path(6, 1, "backward\nin two lines");
    config(1, "R1");
    config(2, "COLD");
    const char* metrics[] = {"dram__bytes_read.sum",
                             "dram__bytes_write.sum",
                             "sm__cycles_active.avg.pct_of_peak_sustained_elapsed",
                             "sm__pipe_tensor_cycles_active_realtime.avg.pct_of_peak_sustained_elapsed",
                             "gpc__cycles_elapsed.avg.per_second",
                             "lts__t_sectors_lookup_hit.sum",
                             "lts__average_t_sector_hit_rate_realtime.pct",
                             "dram__bytes.sum.peak_sustained_elapsed.per_second",
                             "nvltx__bytes.sum",
                             "l1tex__t_sector_hit_rate.pct"};
    for (std::uint32_t m = 0; m < std::size(metrics); ++m) metric(m + 1, metrics[m]);
    for (std::uint32_t i = 0; i < lot_.streams; ++i)
      stream(7 + i, static_cast<StreamKind>(1 + i % 4), static_cast<std::int32_t>(i) - 1);
    for (int i = 0; i < 3; ++i) {
      ClockPairRecord record{};
      record.cupti_ns = kOrigin + 100'000 * i;
      record.realtime_ns = record.cupti_ns + 30 + i;
      record.monotonic_ns = 5'000'000 + 100'000 * i;
      put(record);
    }
    for (const std::uint32_t kernel : {3U, 6U, 70U}) {
      ReplayExclusionRecord record{};
      record.kernel_id = kernel;
      record.reason = static_cast<ExclusionReason>(kernel % 7);
      put(record);
    }
    if (lot_.graphs) graph();
  }

  // Two graphs, the second made of the first, whose nodes have what orders them; a third that never runs.
  void graph() {
    for (std::uint32_t g = 1; g <= 3; ++g) {
      for (std::uint64_t n = 1; n <= 4; ++n) {
        graph_node(g, 100 * g + n, static_cast<GraphNodeKind>(n == 4 ? 1 + of(15) : n % 3 + 1),
                   n == 3 ? 100 * g + 4 : 0);
        if (n > 1) graph_edge(g, 100 * g + n - 1, 100 * g + n, static_cast<std::uint16_t>(of(2)));
      }
    }
    // What an instantiation makes of them: those of the first are made twice over.
    for (std::uint64_t n = 1; n <= 4; ++n) {
      graph_clone(1, 100 + n, 1000 + n);
      graph_clone(11, 1000 + n, 1100 + n);
      if (n != 2) graph_clone(2, 200 + n, 2000 + n);
    }
  }

  void window(WindowEdge edge, WindowCause cause, std::uint16_t flags = 0) {
    advance(700);
    RecordingWindowRecord record{};
    record.header.flags = flags;
    record.time_ns = kOrigin + now();
    record.edge = edge;
    record.cause = cause;
    put(record);
    advance(700);
  }

  void step(std::uint32_t index, Phase phase) {
    const bool counted = phase == Phase::replay || phase == Phase::cold || phase == Phase::flops;
    const std::uint32_t configuration = !counted ? 0 : phase == Phase::replay ? 1 : 2;
    if (!lot_.without_steps)
      begin_step(index, phase, configuration, of(4) == 0 ? lot_.step_flags : std::uint16_t{0});
    step_ = lot_.without_steps ? kNoStep : index;
    if (phase == Phase::sample) sampled_from_ = std::min(sampled_from_, now());
    const std::uint32_t count = launches(6, counted ? configuration : 0, index);
    if (phase == Phase::sample) sampled_to_ = now();
    others();
    if (!lot_.without_steps && !(index == 4 && lot_.lost > 0)) end_step(lot_.ranges);
    if (counted && count > 0) {
      CounterStepRecord record{};
      record.config_id = configuration;
      record.step_index = index;
      record.status = static_cast<CounterStatus>(lot_.lost > 0 ? of(3) : 0);
      if (of(3) == 0) record.reason = text("of the step " + std::to_string(index));
      record.launches_expected = count;
      record.ranges_received = count - of(2);
      record.open_ns = 1000;
      record.finish_ns = 2000;
      may(record);
    }
    step_ = kNoStep;
  }

  std::uint32_t launches(std::uint32_t count, std::uint32_t configuration = 0, std::uint32_t index = 0) {
    for (std::uint32_t i = 0; i < count; ++i) {
      // Steps of a sound recording launch the same: counters are of those that do.
      const std::uint32_t kind =
          lot_.lost > 0 ? of(12) : (5 * i + static_cast<std::uint32_t>(lot_.seed)) % 12;
      const std::uint16_t flags = kind == 0                  ? kLaunchFailed
                                  : kind == 1                ? kLaunchCaptured
                                  : kind == 2 && lot_.graphs ? kLaunchIsGraph
                                                             : 0;
      code = (lot_.lost > 0 ? of(3) : i) == 0 ? 0x2005 : 0;
      LaunchRecord call = FakeSpool::call(flags);
      call.thread_id = i % 3 == 2 ? 11 : 9;
      call.nvtx_path_id = of(7);
      call.context_id = 1 + of(2);
      advance(300);
      may(call);
      if (flags == 0) ++seen_;
      if (flags == kLaunchIsGraph) run_graph(call);
      if (flags != 0) continue;
      KernelRecord kernel = kernel_of(call);
      kernel.kernel_id = 1 + i % 7;
      kernel.device_id = i % lot_.devices;
      kernel.stream_id = 7 + of(lot_.streams);
      kernel.context_id = call.context_id;
      kernel.end_ns = kernel.start_ns + 1000 + 500 * static_cast<std::int64_t>(i) + of(9);
      kernel.grid_y = 1 + i % 2;
      kernel.block_z = 1 + i % 3;
      kernel.cluster_x = i == 3 ? 2 : 0;
      kernel.cluster_y = kernel.cluster_z = i == 3 ? 1 : 0;
      kernel.static_smem_bytes = 16 * i;
      kernel.dynamic_smem_bytes = 1024 * i;
      kernel.local_memory_per_thread_bytes = 8 * i;
      if (lot_.lost > 0 && of(15) == 0) {
        kernel.header.flags = kZeroTimestamp;
        kernel.start_ns = kernel.end_ns = 0;
      }
      ++ran_;
      activities_[kernel.device_id].push_back({kernel.start_ns - kOrigin, kernel.end_ns - kOrigin});
      may(kernel);
      advance(1800 + 500 * static_cast<std::int64_t>(i));
      if (configuration == 0) continue;
      for (std::uint32_t m = 1; m <= 3; ++m) {
        CounterValueRecord value{};
        value.config_id = configuration;
        value.step_index = index;
        value.step_ordinal = call.step_ordinal;
        value.kernel_id = kernel.kernel_id;
        value.grid_x = kernel.grid_x;
        value.grid_y = kernel.grid_y;
        value.grid_z = 1;
        value.metric_id = m == 3 && i == 1 ? 88 : m;
        value.value = i == 2 && m == 2 ? NAN : 1000.0 * m + i + 0.5;
        may(value);
      }
    }
    return count;
  }

  void run_graph(const LaunchRecord& call) {
    ++graphs_;
    const std::uint32_t executable = 1 + of(3);
    const std::uint64_t first = executable == 1 ? 1101 : executable == 2 ? 2001 : 301;
    for (std::uint64_t n = 0; n < 3; ++n) {
      KernelRecord kernel = kernel_of(call);
      kernel.header.flags = kGraphNode;
      kernel.kernel_id = static_cast<std::uint32_t>(4 + n);
      kernel.graph_id = 50 + executable;
      kernel.graph_node_id = first + n;
      kernel.start_ns += 600 * static_cast<std::int64_t>(n);
      kernel.end_ns = kernel.start_ns + 500;
      ++nodes_ran_;
      may(kernel);
    }
    GraphCounterValueRecord value{};
    value.config_id = 1;
    value.step_index = step_;
    value.correlation_id = call.correlation_id;
    value.kernel = of(2) == 0 ? 0 : UINT32_MAX;
    value.metric_id = 1 + of(2);
    value.value = 77;
    may(value);
    advance(2500);
  }

  // Copies, sets, waits, memory, events, clocks, overhead, ranges with work.
  void others() {
    for (std::uint32_t i = 0; i < 4; ++i) {
      MemcpyRecord copy{};
      copy.header.flags = i == 3 && lot_.lost > 0 ? kZeroTimestamp : 0;
      copy.correlation_id = next_correlation();
      put_call(kLaunchFailed);
      copy.kind = static_cast<MemcpyKind>(of(12));
      copy.source = static_cast<MemoryKind>(of(7));
      copy.destination = static_cast<MemoryKind>(of(7));
      copy.asynchronous = i % 2;
      copy.start_ns = copy.header.flags != 0 ? 0 : kOrigin + now();
      copy.end_ns = copy.header.flags != 0 ? 0 : copy.start_ns + 80;
      copy.bytes = 4096 << i;
      copy.device_id = i % lot_.devices;
      copy.context_id = 1;
      copy.stream_id = 7 + i;
      copy.destination_device_id = (i + 1) % lot_.devices;
      may(copy);
      advance(50);
    }
    MemsetRecord set{};
    set.correlation_id = next_correlation();
    set.start_ns = kOrigin + now();
    set.end_ns = set.start_ns + 20;
    set.bytes = 512;
    set.stream_id = 7;
    set.context_id = 2;
    may(set);
    for (std::uint32_t i = 0; i < 3; ++i) {
      SynchronisationRecord wait{};
      wait.thread_id = 9 + 2 * of(2);
      wait.correlation_id = next_correlation();
      wait.enter_ns = kOrigin + now();
      wait.exit_ns = wait.enter_ns + 3000 * i + 500;
      wait.call = static_cast<SynchronisationCall>(1 + of(12));
      wait.context_id = 1;
      wait.step_index = step_;
      advance(3000 * i + 600);
      may(wait);
    }
    for (std::uint32_t i = 0; i < 4; ++i) {
      const auto made = static_cast<StreamCall>(1 + of(10));
      // One after the other: arguments are evaluated in any order.
      const std::uint32_t on = made == StreamCall::event_awaited ? 0 : 7 + of(lot_.streams);
      const std::uint64_t event = made < StreamCall::host_function ? 0x10 + of(2) : 0;
      order(made, on, event, 1 + of(2));
      advance(30);
    }
    for (std::uint32_t i = 0; i < 3; ++i) {
      const auto made = static_cast<MemoryCall>(1 + of(8));
      const std::uint64_t address = 0x1000 * (1 + of(3));
      const std::int64_t bytes = allocates(made) ? 100 + of(900) : 0;
      memory(made, address, bytes, of(lot_.devices));
      advance(30);
    }
    for (std::uint32_t i = 0; i < lot_.devices; ++i) {
      ClockSampleRecord sample{};
      sample.time_ns = kOrigin + now();
      sample.device_id = i;
      sample.temperature_celsius = of(2) == 0 ? 0 : 50 + i;
      sample.sm_hz = 1'900'000'000 - 1'000'000 * of(50);
      sample.memory_hz = of(2) == 0 ? 0 : 3'201'000'000;
      sample.power_mw = of(3) == 0 ? 0 : 500'000 + of(1000);
      sample.throttle_reasons = of(3) == 0 ? 4 : 0;
      may(sample);
    }
    OverheadRecord overhead{};
    overhead.kind = of(6) << 16;
    overhead.thread_id = of(2) == 0 ? 0 : 9;
    overhead.start_ns = kOrigin + now();
    overhead.end_ns = overhead.start_ns + 70;
    may(overhead);
    if (!lot_.ranges) return;
    for (std::uint64_t i = 0; i < 4; ++i) {
      const std::uint64_t id = 1000 * (next_correlation() + 1) + i;
      NvtxPayloadRecord payload{};
      payload.range_id = id;
      payload.schema_id = (std::uint64_t{1} << 24) + (i == 3 ? 0x524D : i == 2 ? 5 : 0x524C);
      const std::int64_t numbers[5] = {1000 + static_cast<std::int64_t>(of(9)), i == 1 ? 0 : 2000, 8, 4,
                                       i == 0 ? 0 : 2};
      payload.length_bytes = i == 0 ? 40 : i == 1 ? 16 : 24;
      ASSERT_TRUE(writer().put(payload, numbers, payload.length_bytes));
      NvtxRangeRecord range{};
      range.range_id = id;
      range.parent_range_id = i == 0 ? 0 : i == 1 ? id - 1 : i == 2 ? 7'000'000 : id;
      range.start_ns = kOrigin + now() - 400 + static_cast<std::int64_t>(10 * i);
      range.end_ns = kOrigin + now() - 10;
      range.thread_id = 9;
      range.path_id = 1 + of(7);
      range.depth = static_cast<std::uint32_t>(i);
      range.step_index = step_;
      range.kind = static_cast<NvtxKind>(1 + of(3));
      may(range);
    }
  }
  void put_call(std::uint16_t flags) {
    LaunchRecord call = FakeSpool::call(flags);
    may(call);
  }

  // Each device has a window of its own, the second with fewer metrics, out of order and with values that are broken.
  void windows_of_samples() {
    if (!lot_.samples || sampled_from_ > sampled_to_) return;
    const std::vector<std::uint32_t> metrics[] = {{1, 2, 3, 4, 5, 6, 7, 10}, {3, 1, 9}};
    for (std::uint32_t device = 0; device < std::min(lot_.devices, 2U); ++device) {
      const std::uint32_t id = device + 1;
      for (std::uint32_t m = 0; m < metrics[device].size(); ++m) pm_metric(id, m, metrics[device][m]);
      constexpr std::int64_t kEvery = 900;
      std::uint64_t count = 0;
      for (std::int64_t at = sampled_from_ - 4000; at < sampled_to_ + 6000; at += kEvery, ++count) {
        double busy = 0;
        for (const auto& [start, end] : activities_[device])
          busy += static_cast<double>(
              std::max<std::int64_t>(0, std::min(end, at + kEvery) - std::max(start, at)));
        busy /= static_cast<double>(kEvery);
        std::vector<double> values;
        for (const std::uint32_t m : metrics[device]) {
          values.push_back(m == 1   ? std::round(2000 * busy) + of(3)
                           : m == 2 ? 700 * busy
                           : m == 5 ? 1.7e9
                           : m == 6 ? 300 * busy
                           : m >= 7 ? 60 * (busy > 0 ? 1 : 0)
                                    : 90 * std::min(busy, 1.0));
        }
        if (lot_.lost > 0 && of(30) == 0) values[of(static_cast<std::uint32_t>(values.size()))] = NAN;
        if (lot_.lost > 0 && of(40) == 0) values.pop_back();
        const std::int64_t late = device == 1 && of(20) == 0 ? -kEvery : 0;
        pm_sample(id, kOrigin + at + late, kOrigin + at + kEvery, values);
      }
      PmWindowRecord record{};
      record.window_id = id;
      record.device_id = device;
      record.first_step = 4;
      record.last_step = 5;
      record.interval_ns = kEvery;
      record.start_ns = kOrigin + sampled_from_;
      record.stop_ns = kOrigin + sampled_to_;
      record.hardware_buffer_bytes = 1 << 20;
      record.samples = count;
      record.status = device == 1 && lot_.lost > 0 ? WindowStatus::overflow : WindowStatus::ok;
      if (record.status != WindowStatus::ok) record.reason = text("the buffer was full");
      put(record);
    }
  }

  void stalls() {
    if (lot_.schedule.find("stalls") == std::string::npos) return;
    const char* reasons[] = {"smsp__pcsamp_warps_issue_stalled_long_scoreboard",
                             "smsp__pcsamp_warps_issue_stalled_wait",
                             "smsp__pcsamp_warps_issue_stalled_selected"};
    for (std::uint32_t i = 0; i < 9; ++i) {
      StallSampleRecord sample{};
      sample.kernel_id = 1 + of(8);
      sample.pc_offset = 0x10 * of(3);
      sample.stall_reason = text(reasons[i % 3]);
      sample.step_index = 9;
      sample.samples = 1 + of(50);
      may(sample);
      SourceLineRecord line{};
      line.kernel_id = sample.kernel_id;
      line.pc_offset = sample.pc_offset;
      line.file = text("/src/kernel.cu");
      line.line = 10 + i;
      may(line);
    }
    StallWindowRecord record{};
    record.device_id = 0;
    record.first_step = record.last_step = 9;
    record.period_log2 = 12;
    record.samples = 200;
    record.dropped_samples = of(2) * 7;
    record.foreign_samples = of(5);
    record.status = static_cast<WindowStatus>(of(2));
    if (record.status != WindowStatus::ok) record.reason = text("stopped");
    may(record);
  }

  void messages() {
    for (const Topic topic :
         {Topic::general, Topic::metric_unavailable, Topic::replay, Topic::sampling, Topic::sampling_refused,
          Topic::counters_refused, Topic::window, Topic::company, Topic::price, static_cast<Topic>(99)}) {
      if (lot_.lost == 0 && topic != Topic::general && topic != Topic::company) continue;
      if (of(2) == 0) continue;
      const auto severity = static_cast<Severity>(of(4));
      const auto cause = static_cast<RefusalCause>(of(7));
      message(severity, topic, "said about " + std::to_string(static_cast<int>(topic)), cause,
              static_cast<std::uint16_t>(of(2) * 35));
    }
    left_out(LeftOut::stream_calls, of(3));
    left_out(LeftOut::memory_calls, of(3));
    left_out(static_cast<LeftOut>(9), 4);
  }

  Lot lot_;
  std::mt19937_64 random_;
  std::uint32_t step_ = kNoStep;
  std::uint64_t seen_ = 0, ran_ = 0, graphs_ = 0, nodes_ran_ = 0;
  std::int64_t sampled_from_ = INT64_MAX, sampled_to_ = 0;
  std::map<std::uint32_t, std::vector<std::pair<std::int64_t, std::int64_t>>> activities_;
};

class DrawnSpools : public Importer {
 protected:
  void drawn(const Lot& lot) {
    std::filesystem::remove(output_);
    TemporaryDirectory spools;
    DrawnSpool(spools.path(), lot).write();
    (void)ridgeline::testing::expect_accepted_import(import_spools(spools.path(), output_), output_);
  }
};

TEST_F(DrawnSpools, Whole) {
  drawn({.seed = 1});
  drawn({.seed = 2, .devices = 3, .streams = 1, .graphs = true});
}

TEST_F(DrawnSpools, WithLosses) {
  for (std::uint64_t seed = 11; seed < 23; ++seed)
    drawn({.seed = seed,
           .devices = 1 + static_cast<std::uint32_t>(seed % 3),
           .lost = 60,
           .doubled = 40,
           .graphs = seed % 2 == 0});
}

TEST_F(DrawnSpools, WithWindows) {
  for (std::uint64_t seed = 31; seed < 35; ++seed)
    drawn({.seed = seed,
           .lost = seed % 2 == 0 ? 80 : 0,
           .graphs = true,
           .windows = true,
           .end = seed % 2 == 0});
}

TEST_F(DrawnSpools, WithoutSteps) {
  for (std::uint64_t seed = 41; seed < 45; ++seed)
    drawn({.seed = seed,
           .lost = seed % 2 == 0 ? 80 : 0,
           .graphs = seed % 2 == 0,
           .windows = seed < 43,
           .without_steps = true});
}

TEST_F(DrawnSpools, WithStepsThatThePeriodFound) {
  for (const std::uint16_t flags :
       {kStepByPeriod, kStepUnmeasured, kStepSupersedes, kStepDeferred, kStepAlone, kStepSamplesAgain})
    drawn({.seed = 51, .lost = 30, .step_flags = flags});
}

TEST_F(DrawnSpools, OfPartsOfTheSchedule) {
  for (const char* schedule :
       {"timeline=3", "warmup=1,timeline=3,replay=2", "timeline=3,sample=2", "sample=2", "replay=2",
        "timeline=3,cold=1,flops=1", "timeline=3,stalls=1", "timeline=30,sample=20,replay=20,stalls=5"}) {
    drawn({.seed = 61, .schedule = schedule});
    drawn({.seed = 62, .schedule = schedule, .lost = 100, .ranges = false, .samples = false});
  }
}

TEST_F(DrawnSpools, OfTwoProcesses) {
  for (const bool lost : {false, true}) {
    std::filesystem::remove(output_);
    TemporaryDirectory spools;
    DrawnSpool(spools.path(), {.seed = 71, .lost = lost ? 60 : 0}, 100).write();
    DrawnSpool(spools.path(), {.seed = 72, .lost = lost ? 60 : 0, .graphs = true}, 101).write();
    (void)ridgeline::testing::expect_accepted_import(import_spools(spools.path(), output_), output_);
  }
}

}  // namespace
}  // namespace ridgeline::import::testing
