// The agent inside a real program on a real GPU: complete timelines, sane counters, every way to end.
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>

#include "spool_testing.h"

namespace ridgeline::spool {
namespace {

constexpr std::uint32_t kTiny = 40;             // the exerciser's default
constexpr std::uint32_t kLaunches = 2 + kTiny;  // of a step: triad, fma, tiny…
constexpr double kTriadReadBytes = 2.0 * (1 << 24) * 16;
constexpr double kTriadWriteBytes = 1.0 * (1 << 24) * 16;

std::string beside_this_program(const std::string& name) {
  return (std::filesystem::read_symlink("/proc/self/exe").parent_path() / name).string();
}

struct Recording {
  int status = 0;
  std::vector<KernelRecord> kernels;
  std::map<std::uint32_t, LaunchRecord> launches;  // by correlation id
  std::map<std::uint32_t, StepStartRecord> steps;
  std::vector<CounterValueRecord> values;
  std::vector<CounterStepRecord> counter_steps;
  std::string counter_reasons;  // of steps that were not counted
  std::vector<GraphCounterValueRecord> graph_values;
  std::vector<ReplayExclusionRecord> exclusions;
  std::vector<NvtxRangeRecord> ranges;
  std::vector<ClockPairRecord> clocks;
  std::map<std::uint32_t, std::string> kernel_names, metric_names;
  struct Sample {
    std::int64_t start_ns, end_ns;
    std::vector<double> values;
  };
  std::map<std::uint32_t, PmWindowRecord> windows;  // the last record of each
  std::vector<Sample> samples;
  std::vector<std::uint32_t> sampled_metrics;  // by position
  std::vector<DeviceRecord> devices;
  std::vector<std::string> messages;
  CompletenessRecord totals{};
  bool ended = false;
  std::size_t spools = 0;

  double median_value(const std::string& metric, std::uint32_t ordinal) const {
    std::vector<double> v;
    for (const auto& value : values)
      if (value.step_ordinal == ordinal && metric_names.at(value.metric_id) == metric)
        v.push_back(value.value);
    if (v.empty()) return std::nan("");
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
  }
  double median_duration_ns(std::uint32_t ordinal, Phase phase = Phase::timeline) const {
    std::vector<double> v;
    for (const auto& k : kernels) {
      const auto launch = launches.find(k.correlation_id);
      if (launch == launches.end() || launch->second.step_ordinal != ordinal) continue;
      const auto step = steps.find(launch->second.step_index);
      if (step != steps.end() && step->second.phase == phase)
        v.push_back(static_cast<double>(k.end_ns - k.start_ns));
    }
    if (v.empty()) return std::nan("");
    std::sort(v.begin(), v.end());
    return v[v.size() / 2];
  }
};

Recording record(std::vector<std::string> arguments,
                 const std::string& schedule = "warmup=3,timeline=6,replay=5") {
  testing::TemporaryDirectory directory;
  const std::string program = beside_this_program("agent_exerciser");
  std::string agent = beside_this_program("../lib/libridgeline_agent.so");
  const pid_t child = fork();
  if (child == 0) {
    setenv("RIDGELINE_SPOOL_DIR", directory.path().c_str(), 1);
    setenv("RIDGELINE_SCHEDULE", schedule.c_str(), 1);
    setenv("CUDA_INJECTION64_PATH", agent.c_str(), 1);
    setenv("NVTX_INJECTION64_PATH", agent.c_str(), 1);
    arguments.insert(arguments.begin(), program);
    std::vector<char*> argv;
    for (auto& a : arguments) argv.push_back(a.data());
    argv.push_back(nullptr);
    execv(program.c_str(), argv.data());
    _exit(127);
  }
  Recording r;
  waitpid(child, &r.status, 0);
  const auto spools = list_spools(directory.path());
  r.spools = spools.size();
  for (const auto& path : spools) {
    std::string error;
    auto reader = Reader::open(path, &error);
    EXPECT_TRUE(reader) << error;
    if (!reader) continue;
    EXPECT_TRUE(reader->diagnosis().intact());
    const bool is_main = reader->file_header().pid == static_cast<std::uint32_t>(child);
    reader->for_each([&](const RecordView& v) {
      if (auto* m = v.as<MessageRecord>()) r.messages.emplace_back(reader->string_or(m->text, ""));
      if (!is_main) return;
      if (auto* k = v.as<KernelRecord>()) r.kernels.push_back(*k);
      if (auto* l = v.as<LaunchRecord>()) r.launches[l->correlation_id] = *l;
      if (auto* s = v.as<StepStartRecord>()) r.steps[s->step_index] = *s;
      if (auto* c = v.as<CounterValueRecord>()) r.values.push_back(*c);
      if (auto* c = v.as<CounterStepRecord>()) {
        r.counter_steps.push_back(*c);
        if (c->reason != 0) r.counter_reasons.append(reader->string_or(c->reason, "?")).append("; ");
      }
      if (auto* c = v.as<GraphCounterValueRecord>()) r.graph_values.push_back(*c);
      if (auto* e = v.as<ReplayExclusionRecord>()) r.exclusions.push_back(*e);
      if (auto* w = v.as<PmWindowRecord>()) r.windows[w->window_id] = *w;
      if (auto* m = v.as<PmMetricRecord>()) {
        r.sampled_metrics.resize(std::max<std::size_t>(r.sampled_metrics.size(), m->position + 1));
        r.sampled_metrics[m->position] = m->metric_id;
      }
      if (auto* p = v.as<PmSampleRecord>()) {
        r.samples.push_back({p->start_ns, p->end_ns, std::vector<double>(p->value_count)});
        std::memcpy(r.samples.back().values.data(), p + 1, p->value_count * sizeof(double));
      }
      if (auto* n = v.as<NvtxRangeRecord>()) r.ranges.push_back(*n);
      if (auto* d = v.as<DeviceRecord>()) r.devices.push_back(*d);
      if (auto* p = v.as<ClockPairRecord>()) r.clocks.push_back(*p);
      if (auto* f = v.as<KernelFunctionRecord>(); f != nullptr && f->name != 0)
        r.kernel_names[f->kernel_id] = reader->string_or(f->name, "?");
      if (auto* m = v.as<MetricRecord>()) r.metric_names[m->metric_id] = reader->string_or(m->name, "?");
      if (auto* t = v.as<CompletenessRecord>()) r.totals = *t;
      if (v.as<EndRecord>() != nullptr) r.ended = true;
    });
  }
  return r;
}

void expect_complete(const Recording& r) {
  EXPECT_EQ(r.spools, 1u);
  EXPECT_GT(r.totals.launches_seen, 0u);
  EXPECT_EQ(r.totals.launches_seen, r.totals.kernel_records);
  EXPECT_EQ(r.totals.dropped_records, 0u);
  EXPECT_EQ(r.totals.zero_timestamp_records, 0u);
  EXPECT_EQ(r.totals.callback_errors, 0u);
  std::map<std::uint32_t, int> per_launch;
  for (const auto& k : r.kernels) {
    EXPECT_TRUE(r.launches.count(k.correlation_id)) << "kernel without a launch";
    EXPECT_LT(k.start_ns, k.end_ns);
    if ((k.header.flags & kGraphNode) == 0) {
      EXPECT_EQ(++per_launch[k.correlation_id], 1);
    }
  }
  EXPECT_TRUE(r.ended);
}

TEST(AgentOnGpu, RecordsEveryLaunchOnce) {
  const Recording r = record({"25"});
  ASSERT_EQ(r.status, 0);
  expect_complete(r);
  EXPECT_EQ(r.totals.launches_seen, 25u * kLaunches + 10);
  EXPECT_EQ(r.totals.own_kernel_records, 5u * kLaunches)
      << "one helper kernel for each launch of a replay step";
  EXPECT_EQ(r.totals.memcpy_records, 25u);
  EXPECT_EQ(r.steps.size(), 25u);
  EXPECT_EQ(r.ranges.size(), 25u * 5);
  ASSERT_EQ(r.devices.size(), 1u);
  EXPECT_GT(r.devices[0].sm_count, 0u);
  EXPECT_GT(r.devices[0].max_sm_hz, 1'000'000'000);
}

TEST(AgentOnGpu, ClocksAgree) {
  const Recording r = record({"5"});
  ASSERT_FALSE(r.clocks.empty());
  for (const auto& c : r.clocks) EXPECT_LT(std::abs(c.cupti_ns - c.realtime_ns), 50'000);
  // A kernel starts after its launch call began and within a second of it.
  for (const auto& k : r.kernels) {
    const auto l = r.launches.find(k.correlation_id);
    ASSERT_NE(l, r.launches.end());
    EXPECT_GT(k.start_ns, l->second.enter_ns);
    EXPECT_LT(k.start_ns - l->second.enter_ns, 1'000'000'000);
  }
}

TEST(AgentOnGpu, CountersAreSane) {
  const Recording r = record({"25"});
  ASSERT_EQ(r.counter_steps.size(), 5u);
  for (const auto& s : r.counter_steps) EXPECT_EQ(s.status, CounterStatus::ok) << r.counter_reasons;
  EXPECT_NEAR(r.median_value("dram__bytes_read.sum", 0) / kTriadReadBytes, 1.0, 0.03);
  // The L2 holds some of the output when the kernel ends, and some of what ran before.
  EXPECT_NEAR(r.median_value("dram__bytes_write.sum", 0) / kTriadWriteBytes, 1.0, 0.08);
  EXPECT_LT(r.median_value("dram__bytes_read.sum", 1), 1e6) << "the FMA chain touches no memory";
  for (const std::uint32_t ordinal : {0u, 1u})
    EXPECT_NEAR(r.median_value("gpu__time_duration.sum", ordinal) / r.median_duration_ns(ordinal), 1.0, 0.05)
        << "launch " << ordinal;
  EXPECT_GT(r.median_value("sm__inst_executed_pipe_fma.avg.pct_of_peak_sustained_elapsed", 1), 50);
  EXPECT_EQ(r.median_value("sm__ops_path_tensor_src_bf16_dst_fp32.sum", 1), 0);
}

TEST(AgentOnGpu, CountsGraphLaunchesAsAWhole) {
  const Recording r = record({"20", "--graph"});
  ASSERT_EQ(r.status, 0);
  expect_complete(r);
  EXPECT_EQ(r.totals.graph_launches_seen, 20u);
  EXPECT_EQ(r.totals.graph_kernel_records, 20u * kTiny);
  EXPECT_EQ(r.totals.launches_captured, kTiny);
  ASSERT_FALSE(r.counter_steps.empty());
  for (const auto& s : r.counter_steps) EXPECT_EQ(s.status, CounterStatus::ok) << r.counter_reasons;
  // Three of the five steps count the graph, two the kernels beside it.
  EXPECT_NEAR(r.median_value("dram__bytes_read.sum", 0) / kTriadReadBytes, 1.0, 0.03);
  std::map<std::uint32_t, int> durations;  // by step
  for (const auto& g : r.graph_values) {
    EXPECT_EQ(g.kernel, kWholeGraph);
    ASSERT_TRUE(r.launches.count(g.correlation_id));
    EXPECT_EQ(r.launches.at(g.correlation_id).step_index, g.step_index);
    if (r.metric_names.at(g.metric_id) != "gpu__time_duration.sum") continue;
    ++durations[g.step_index];
    EXPECT_GT(g.value, 40 * 500) << "forty kernels one after the other";
  }
  EXPECT_EQ(durations.size(), 3u);
}

TEST(AgentOnGpu, LeavesOutKernelsThatWaitForOthers) {
  for (const auto& [arguments, reason] : std::vector<std::pair<std::vector<std::string>, ExclusionReason>>{
           {{"20", "--spin", "0"}, ExclusionReason::concurrent},
           {{"20", "--collective"}, ExclusionReason::name}}) {
    // The pretended collective waits for its own thread, so that three times five seconds are waited for peers.
    setenv("RIDGELINE_BUDGET_MS", "60000", 1);
    const Recording r = record(arguments);
    unsetenv("RIDGELINE_BUDGET_MS");
    ASSERT_EQ(r.status, 0);
    expect_complete(r);
    EXPECT_EQ(r.counter_steps.size(), 5u);
    for (const auto& s : r.counter_steps) {
      EXPECT_EQ(s.status, CounterStatus::ok) << r.counter_reasons;
      EXPECT_EQ(s.launches_expected, kLaunches + 2);
      EXPECT_GE(s.ranges_received, kLaunches - 1) << "the partner and little else ran unmeasured too";
      EXPECT_LE(s.ranges_received, kLaunches);
    }
    ASSERT_EQ(r.exclusions.size(), 1u);
    EXPECT_EQ(r.exclusions[0].reason, reason);
    EXPECT_NEAR(r.median_value("dram__bytes_read.sum", 0) / kTriadReadBytes, 1.0, 0.03);
  }
}

TEST(AgentOnGpu, EndsAProgramThatHangsInAReplayStep) {
  setenv("RIDGELINE_REPLAY_TIMEOUT_MS", "1500", 1);
  const Recording r = record({"20", "--spin", "10"});  // not in the timeline, the second replay step
  unsetenv("RIDGELINE_REPLAY_TIMEOUT_MS");
  ASSERT_TRUE(WIFSIGNALED(r.status));
  int lines = 0;
  for (const auto& m : r.messages) lines += m.find("wait_for_partner") != std::string::npos;
  EXPECT_EQ(lines, 1);
  ASSERT_EQ(r.exclusions.size(), 1u);
  EXPECT_EQ(r.exclusions[0].reason, ExclusionReason::time_out);
  EXPECT_GT(r.kernels.size(), 8u * kLaunches);
}

TEST(AgentOnGpu, EvictsTheCachesInColdSteps) {
  const Recording r = record({"20"}, "warmup=3,timeline=6,replay=2,cold=2");
  ASSERT_EQ(r.status, 0);
  expect_complete(r);
  ASSERT_EQ(r.counter_steps.size(), 4u);
  for (const auto& s : r.counter_steps) EXPECT_EQ(s.status, CounterStatus::ok) << r.counter_reasons;
  EXPECT_EQ(r.totals.memcpy_records, 20u) << "the agent's own copies are not the program's";
  // The tiny kernel reads one sector, which is in the cache but for a cold step.
  const auto reads = [&](Phase phase) {
    std::vector<double> v;
    for (const auto& value : r.values)
      if (value.step_ordinal > 3 && r.metric_names.at(value.metric_id) == "dram__bytes_read.sum" &&
          r.steps.at(value.step_index).phase == phase)
        v.push_back(value.value);
    std::sort(v.begin(), v.end());
    return v.empty() ? std::nan("") : v[v.size() / 2];
  };
  EXPECT_GT(reads(Phase::cold), reads(Phase::replay));
}

TEST(AgentOnGpu, SamplesInSitu) {
  const Recording r = record({"25"}, "warmup=3,timeline=6,sample=6,replay=3");
  ASSERT_EQ(r.status, 0);
  expect_complete(r);
  ASSERT_EQ(r.windows.size(), 1u);
  const PmWindowRecord& window = r.windows.begin()->second;
  ASSERT_EQ(window.status, WindowStatus::ok);
  EXPECT_EQ(window.first_step, 11u);
  EXPECT_EQ(window.last_step, 14u);
  EXPECT_LE(window.interval_ns, 5000);
  ASSERT_EQ(r.samples.size(), window.samples);
  for (std::size_t i = 1; i < r.samples.size(); ++i)
    EXPECT_NEAR(static_cast<double>(r.samples[i].start_ns - r.samples[i - 1].start_ns),
                static_cast<double>(window.interval_ns), 100);
  // Sums of the samples well inside the kernel, as a rate.
  const auto inside = [&](const std::string& metric, std::uint32_t ordinal) {
    std::size_t column = 0;
    while (r.metric_names.at(r.sampled_metrics.at(column)) != metric) ++column;
    double sum = 0;
    int count = 0;
    for (const auto& k : r.kernels) {
      const auto launch = r.launches.find(k.correlation_id);
      if (launch == r.launches.end() || launch->second.step_ordinal != ordinal) continue;
      if (launch->second.step_index < window.first_step || launch->second.step_index > window.last_step)
        continue;
      for (const auto& sample : r.samples) {
        if (sample.start_ns < k.start_ns + 20'000 || sample.end_ns > k.end_ns - 20'000) continue;
        sum += sample.values[column];
        ++count;
      }
    }
    EXPECT_GT(count, 4 * 30) << metric;
    return sum / count;
  };
  const double triad_samples = r.median_duration_ns(0) / static_cast<double>(window.interval_ns);
  EXPECT_NEAR(inside("dram__bytes_read.sum", 0) * triad_samples / kTriadReadBytes, 1.0, 0.1);
  EXPECT_LT(inside("dram__bytes_read.sum", 1), 0.01 * inside("dram__bytes_read.sum", 0));
  EXPECT_GT(
      inside("TPC.TriageCompute.sm__inst_executed_pipe_fma_realtime.avg.pct_of_peak_sustained_elapsed", 1),
      50);
  EXPECT_GT(inside("sm__cycles_active.avg.pct_of_peak_sustained_elapsed", 1), 90);
  for (const std::uint32_t ordinal : {0u, 1u})
    EXPECT_NEAR(r.median_duration_ns(ordinal, Phase::sample) / r.median_duration_ns(ordinal), 1.0, 0.03)
        << "sampling does not slow kernels down";
  ASSERT_EQ(r.counter_steps.size(), 3u);
  for (const auto& s : r.counter_steps) EXPECT_EQ(s.status, CounterStatus::ok) << "counters after samples";
}

TEST(AgentOnGpu, EndsASamplingWindowWithTheProgram) {
  for (const auto& arguments : std::vector<std::vector<std::string>>{{"13"}, {"25", "--exit-in", "13"}}) {
    const Recording r = record(arguments, "warmup=3,timeline=6,sample=6");
    EXPECT_EQ(r.status, 0);
    expect_complete(r);
    ASSERT_EQ(r.windows.size(), 1u);
    EXPECT_EQ(r.windows.begin()->second.status, WindowStatus::overflow) << "samples end early";
    EXPECT_EQ(r.windows.begin()->second.last_step, 12u);
    EXPECT_GT(r.samples.size(), 300u);
  }
  const Recording killed = record({"13", "--end", "_exit"}, "warmup=3,timeline=6,sample=6");
  ASSERT_EQ(killed.windows.size(), 1u);
  EXPECT_EQ(killed.windows.begin()->second.status, WindowStatus::failed);
  EXPECT_NE(killed.windows.begin()->second.reason, 0u);
}

TEST(AgentOnGpu, StopsSamplingBeforeItsBufferIsFull) {
  setenv("RIDGELINE_SAMPLE_BUFFER_BYTES", "67108864", 1);
  const Recording r = record({"60"}, "warmup=3,timeline=6,sample=4,timeline=1,sample=40");
  unsetenv("RIDGELINE_SAMPLE_BUFFER_BYTES");
  ASSERT_EQ(r.status, 0);
  expect_complete(r);
  ASSERT_EQ(r.windows.size(), 2u);
  for (const auto& [id, window] : r.windows) {
    EXPECT_NE(window.status, WindowStatus::failed) << "a full buffer would give nothing";
    EXPECT_GT(window.samples, 500u);
  }
}

TEST(AgentOnGpu, FollowsLaunchesOfOtherThreads) {
  const Recording r = record({"20", "--threads"});
  ASSERT_EQ(r.status, 0);
  expect_complete(r);
  for (const auto& s : r.counter_steps) EXPECT_EQ(s.status, CounterStatus::ok) << r.counter_reasons;
}

TEST(AgentOnGpu, KeepsWhatIsCountedInStepsThatDiffer) {
  const Recording r = record({"20", "--changing"});
  ASSERT_EQ(r.status, 0);
  for (const auto& s : r.counter_steps) EXPECT_EQ(s.status, CounterStatus::ok) << r.counter_reasons;
  EXPECT_FALSE(r.values.empty());
}

TEST(AgentOnGpu, LosesNothingOnOrderlyEnds) {
  for (const auto& arguments :
       std::vector<std::vector<std::string>>{{"20", "--end", "exit"}, {"20", "--reset"}, {"14"}, {"12"}}) {
    const Recording r = record(arguments);
    EXPECT_EQ(r.status, 0);
    expect_complete(r);
  }
}

TEST(AgentOnGpu, KeepsWhatWasFlushedWhenKilled) {
  for (const char* end : {"kill", "_exit", "abort"}) {
    const Recording r = record({"25", "--end", end});
    EXPECT_EQ(r.spools, 1u) << end;
    EXPECT_FALSE(r.ended) << end;
    EXPECT_EQ(r.launches.size(), r.totals.launches_seen) << end << ": launches are written as they happen";
    EXPECT_EQ(r.totals.launches_seen, 25u * kLaunches + 10) << end;
    EXPECT_GT(r.kernels.size(), 8u * kLaunches) << end << ": what a flush had handed over";
    EXPECT_GE(r.counter_steps.size(), 4u) << end << ": the last is evaluated while the program goes on";
  }
}

TEST(AgentOnGpu, EndsInOrderInsideAReplayStep) {
  const Recording r = record({"20", "--exit-in", "10"});
  ASSERT_TRUE(WIFEXITED(r.status)) << "killed by signal " << WTERMSIG(r.status);
  EXPECT_EQ(WEXITSTATUS(r.status), 0);
  EXPECT_TRUE(r.ended);
  ASSERT_EQ(r.counter_steps.size(), 2u);
  EXPECT_EQ(r.counter_steps[0].status, CounterStatus::ok);
  EXPECT_EQ(r.counter_steps[1].status, CounterStatus::failed);
  EXPECT_EQ(r.totals.launches_seen, 10u * kLaunches + 2);
  EXPECT_GE(r.totals.kernel_records, 10u * kLaunches);
}

TEST(AgentOnGpu, CountsWhatSmallBuffersDrop) {
  setenv("RIDGELINE_BUFFER_BYTES", "8192", 1);
  setenv("RIDGELINE_BUFFER_COUNT", "1", 1);
  const Recording r = record({"40", "--tiny", "400"}, "timeline=1");
  unsetenv("RIDGELINE_BUFFER_BYTES");
  unsetenv("RIDGELINE_BUFFER_COUNT");
  EXPECT_EQ(r.status, 0);
  EXPECT_GT(r.totals.buffers_refused, 0u);
  EXPECT_GT(r.totals.dropped_records, 0u);
  EXPECT_LT(r.totals.kernel_records, r.totals.launches_seen);
  EXPECT_EQ(r.totals.kernel_records, r.kernels.size());
}

TEST(AgentOnGpu, LeavesTheProgramAloneWithoutCupti) {
  const char* before = getenv("RIDGELINE_CUPTI_LIBRARY");
  const std::string saved = before != nullptr ? before : "";
  setenv("RIDGELINE_CUPTI_LIBRARY", "/nonexistent/libcupti.so.13", 1);
  const Recording r = record({"5"});
  if (before != nullptr)
    setenv("RIDGELINE_CUPTI_LIBRARY", saved.c_str(), 1);
  else
    unsetenv("RIDGELINE_CUPTI_LIBRARY");
  EXPECT_EQ(r.status, 0);
  EXPECT_TRUE(r.kernels.empty());
  ASSERT_EQ(r.messages.size(), 1u);
  EXPECT_NE(r.messages[0].find("/nonexistent/libcupti.so.13"), std::string::npos) << r.messages[0];
}

TEST(AgentOnGpu, LeavesAForkedChildAlone) {
  const Recording r = record({"12", "--fork"});
  EXPECT_EQ(r.status, 0);
  expect_complete(r);
}

}  // namespace
}  // namespace ridgeline::spool
