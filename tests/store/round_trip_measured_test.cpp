// The same of what was measured and of how well: metrics, samples, windows, and what the profiler cost.
#include <algorithm>

#include "store/round_trip_testing.h"

namespace ridgeline::store::testing {
namespace {

TEST_F(RoundTrip, MetricsOfLaunchesAndGraphs) {
  const Id metric = writer_->metric_id("own__metric", "bytes", "what it means");
  const Id launch = writer_->add(some_launch());
  writer_->add(LaunchMetric{launch, metric, Tier::t1, 1.5, 0.25, 7, true});
  writer_->add(LaunchMetric{launch, metric, Tier::t2, 1.0, std::nullopt, std::nullopt, false});
  writer_->add(LaunchMetric{launch, metric, Tier::t2, 2.5, std::nullopt, std::nullopt, false});
  const Id step = add_step(1);
  writer_->add(GraphMetric{step, 111, metric, Tier::t2, 3.5});
  writer_->add(TierCoverage{other_process_, Tier::t1, metric, 112, 113});
  const Capture capture = finished();
  const auto metrics = capture.metrics();
  const auto described =
      std::find_if(metrics.begin(), metrics.end(), [&](const Metric& m) { return m.id == metric; });
  ASSERT_NE(described, metrics.end());
  EXPECT_EQ(described->name, "own__metric");
  EXPECT_EQ(described->unit, "bytes");
  EXPECT_EQ(described->meaning, "what it means");
  for (const auto& values : {capture.launch_metrics(),
                             through_activity<LaunchMetric>(capture, &Activity::for_each_launch_metric)}) {
    ASSERT_EQ(values.size(), 2u) << "the same value again replaces";
    const LaunchMetric& sampled = values[0].concurrent ? values[0] : values[1];
    const LaunchMetric& counted = values[0].concurrent ? values[1] : values[0];
    EXPECT_EQ(sampled.launch_id, launch);
    EXPECT_EQ(sampled.metric_id, metric);
    EXPECT_EQ(sampled.value, 1.5);
    EXPECT_EQ(sampled.error, 0.25);
    EXPECT_EQ(sampled.sample_count, 7);
    EXPECT_TRUE(sampled.concurrent);
    EXPECT_EQ(counted.value, 2.5);
    EXPECT_FALSE(counted.error || counted.sample_count || counted.concurrent);
  }
  const GraphMetric of_graph = capture.graph_metrics().at(0);
  EXPECT_EQ(of_graph.step_id, step);
  EXPECT_EQ(of_graph.correlation_id, 111);
  EXPECT_EQ(of_graph.metric_id, metric);
  EXPECT_EQ(of_graph.value, 3.5);
  const TierCoverage coverage = capture.tier_coverage().at(0);
  EXPECT_EQ(coverage.process_id, other_process_);
  EXPECT_EQ(coverage.metric_id, metric);
  EXPECT_EQ(coverage.kernel_time_ns, 112);
  EXPECT_EQ(coverage.covered_ns, 113);
}

TEST_F(RoundTrip, Completeness) {
  const store::Completeness written{other_process_, 1, 2, 3, 4, 5, 6, 7, 8, 9};
  writer_->add(written);
  const Capture capture = finished();
  const store::Completeness read = capture.completeness().at(0);
  EXPECT_SAME(process_id);
  EXPECT_SAME(launches_seen);
  EXPECT_SAME(kernel_records);
  EXPECT_SAME(graph_launches);
  EXPECT_SAME(graph_kernel_records);
  EXPECT_SAME(profiler_records);
  EXPECT_SAME(dropped_records);
  EXPECT_SAME(lost_spool_records);
  EXPECT_SAME(zero_timestamps);
  EXPECT_SAME(truncated_bytes);
}

TEST_F(RoundTrip, WindowsOfSampling) {
  PmWindow sampling;
  sampling.process_id = other_process_;
  sampling.device_id = other_device_;
  sampling.first_step_index = 121;
  sampling.last_step_index = 122;
  sampling.interval_ns = 123;
  sampling.start_ns = 124;
  sampling.end_ns = 125;
  sampling.sample_count = 126;
  sampling.buffer_bytes = 127;
  sampling.overflow = true;
  sampling.clock_shift_ns = -128;
  sampling.shift_correlation = 0.5;
  sampling.status = WindowStatus::overflow;
  sampling.reason = "buffer full";
  writer_->add(sampling);
  StallWindow stalls;
  stalls.process_id = other_process_;
  stalls.device_id = other_device_;
  stalls.first_step_index = 131;
  stalls.last_step_index = 132;
  stalls.period_cycles = 133;
  stalls.samples = 134;
  stalls.dropped_samples = 135;
  stalls.foreign_samples = 136;
  stalls.status = WindowStatus::failed;
  stalls.reason = "no permission";
  writer_->add(stalls);
  writer_->add(RecordingWindow{0, other_process_, 141, 142, WindowCause::signal, true});
  writer_->add(RecordingWindow{0, process_, 143, std::nullopt, WindowCause::start});
  const Capture capture = finished();
  {
    const PmWindow& written = sampling;
    const PmWindow read = capture.pm_windows().at(0);
    EXPECT_SAME(process_id);
    EXPECT_SAME(device_id);
    EXPECT_SAME(first_step_index);
    EXPECT_SAME(last_step_index);
    EXPECT_SAME(interval_ns);
    EXPECT_SAME(start_ns);
    EXPECT_SAME(end_ns);
    EXPECT_SAME(sample_count);
    EXPECT_SAME(buffer_bytes);
    EXPECT_SAME(overflow);
    EXPECT_SAME(clock_shift_ns);
    EXPECT_SAME(shift_correlation);
    EXPECT_SAME(status);
    EXPECT_SAME(reason);
  }
  const StallWindow& written = stalls;
  const StallWindow read = capture.stall_windows().at(0);
  EXPECT_SAME(process_id);
  EXPECT_SAME(device_id);
  EXPECT_SAME(first_step_index);
  EXPECT_SAME(last_step_index);
  EXPECT_SAME(period_cycles);
  EXPECT_SAME(samples);
  EXPECT_SAME(dropped_samples);
  EXPECT_SAME(foreign_samples);
  EXPECT_SAME(status);
  EXPECT_SAME(reason);
  const auto windows = capture.recording_windows();
  ASSERT_EQ(windows.size(), 2u);
  EXPECT_EQ(windows[0].id, 2);
  EXPECT_EQ(windows[1].id, 1);
  EXPECT_EQ(windows[1].process_id, other_process_);
  EXPECT_EQ(windows[0].process_id, process_);
  EXPECT_EQ(windows[0].start_ns, 143);
  EXPECT_FALSE(windows[0].end_ns.has_value());
  EXPECT_EQ(windows[1].start_ns, 141);
  EXPECT_EQ(windows[1].end_ns, 142);
  EXPECT_FALSE(windows[0].synchronisation);
  EXPECT_TRUE(windows[1].synchronisation);
}

TEST_F(RoundTrip, Samples) {
  const Id metric = writer_->metric_id("one"), other = writer_->metric_id("two");
  writer_->add(PmSample{device_, 20, metric, 2.0});
  writer_->add(PmSample{device_, 10, metric, 1.0});
  writer_->add(PmSample{device_, 10, metric, 1.5});
  writer_->add(PmSample{device_, 10, other, 8.0});
  writer_->add(PmSample{other_device_, 10, metric, 9.0});
  writer_->add(StallSample{other_kernel_, 160, "smsp__pcsamp_warps_issue_stalled_wait", 5});
  writer_->add(StallSample{other_kernel_, 160, "smsp__pcsamp_warps_issue_stalled_wait", 6});
  writer_->add(SourceLine{other_kernel_, 160, writer_->string_id("a.cu"), 151});
  writer_->add(SourceLine{other_kernel_, 176, std::nullopt, std::nullopt});
  const Capture capture = finished();
  const auto samples = capture.pm_samples(device_, metric);
  ASSERT_EQ(samples.size(), 2u);
  EXPECT_EQ(samples[0].time_ns, 10) << "in the order of time";
  EXPECT_EQ(samples[0].value, 1.5) << "the same sample again replaces";
  EXPECT_EQ(samples[1].time_ns, 20);
  EXPECT_EQ(capture.pm_samples(device_, other).at(0).value, 8.0);
  EXPECT_EQ(capture.pm_samples(other_device_, metric).at(0).value, 9.0);
  const auto stalls = capture.stall_samples();
  ASSERT_EQ(stalls.size(), 1u);
  EXPECT_EQ(stalls[0].kernel_id, other_kernel_);
  EXPECT_EQ(stalls[0].pc_offset, 160);
  EXPECT_EQ(stalls[0].stall_reason, "smsp__pcsamp_warps_issue_stalled_wait");
  EXPECT_EQ(stalls[0].samples, 11) << "the same reason again adds";
  const auto lines = capture.source_lines();
  ASSERT_EQ(lines.size(), 2u);
  EXPECT_EQ(lines[0].kernel_id, other_kernel_);
  EXPECT_EQ(lines[0].pc_offset, 160);
  EXPECT_EQ(capture.strings().at(lines[0].file_id.value()), "a.cu");
  EXPECT_EQ(lines[0].line, 151);
  EXPECT_FALSE(lines[1].file_id || lines[1].line);
}

TEST_F(RoundTrip, WhatWentWrong) {
  writer_->add(TierStatus{other_process_, Tier::t2, TierOutcome::refused, "no permission"});
  writer_->add(TierStatus{other_process_, Tier::t2, TierOutcome::ok, std::nullopt});
  writer_->add(Message{0, other_process_, 161, Severity::error, "first"});
  writer_->add(Message{0, std::nullopt, std::nullopt, Severity::info, "second"});
  writer_->add(ReplayExclusion{other_process_, other_kernel_, ExclusionReason::concurrent});
  const Capture capture = finished();
  ASSERT_EQ(capture.tier_statuses().size(), 1u) << "the same tier again replaces";
  EXPECT_EQ(capture.tier_statuses()[0].process_id, other_process_);
  EXPECT_FALSE(capture.tier_statuses()[0].reason.has_value());
  const auto messages = capture.messages();
  ASSERT_EQ(messages.size(), 2u);
  EXPECT_EQ(messages[0].process_id, other_process_);
  EXPECT_EQ(messages[0].time_ns, 161);
  EXPECT_EQ(messages[0].what, "first");
  EXPECT_FALSE(messages[1].process_id || messages[1].time_ns);
  const ReplayExclusion excluded = capture.replay_exclusions().at(0);
  EXPECT_EQ(excluded.process_id, other_process_);
  EXPECT_EQ(excluded.kernel_id, other_kernel_);
}

// Nothing but a query asks for it.
TEST_F(RoundTrip, WhatTheProfilerCost) {
  writer_->add(ProfilerOverhead{other_process_, "command buffer", 171, 172, 173});
  writer_->add(ProfilerOverhead{process_, "buffer flush", std::nullopt, 174, 175});
  const Capture capture = finished();
  const auto answer = capture.query(
      "SELECT process_id, kind, thread_id, start_ns, end_ns FROM profiler_overhead ORDER BY start_ns");
  ASSERT_TRUE(answer.ok()) << answer.failure().message;
  using Row = std::vector<Value>;
  EXPECT_EQ(answer.value().rows, (std::vector<Row>{{other_process_, std::string("command buffer"),
                                                    std::int64_t{171}, std::int64_t{172}, std::int64_t{173}},
                                                   {process_, std::string("buffer flush"), std::monostate{},
                                                    std::int64_t{174}, std::int64_t{175}}}));
}

}  // namespace
}  // namespace ridgeline::store::testing
