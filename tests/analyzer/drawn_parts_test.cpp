// Parts of the analyzer asked with input drawn by lot: steps of calls and work that no program made, orders of streams,
// lines of a timeline, lines through delays, steps that are alike or not. Every field of the answers is held.
#include <gtest/gtest.h>

#include <map>

#include "accounting/step_power.h"
#include "analyzer/drawn_recording.h"
#include "execution/event_records.h"
#include "execution/step_builder.h"
#include "execution/stream_order.h"
#include "execution/sweep.h"
#include "findings/pace.h"
#include "ridgeline/analyzer/steps/phases.h"
#include "ridgeline/analyzer/trace/counter_row.h"
#include "ridgeline/analyzer/trace/event_row.h"
#include "ridgeline/analyzer/whatif/interventions.h"
#include "ridgeline/analyzer/whatif/power.h"
#include "ridgeline/analyzer/whatif/power_blocks.h"
#include "support/analysis_fields.h"
#include "whatif/busy_time.h"
#include "whatif/delay_fit.h"
#include "whatif/graph_edit.h"

namespace ridgeline::analyzer {
namespace {

using ridgeline::testing::AcceptedCases;
using ridgeline::testing::fields;
using ridgeline::testing::Lots;

/// Twelve sections, each of many drawn ones: what `make` says of each, one after the other.
template <typename Make>
void hold_each(std::uint64_t first_seed, std::uint64_t of_each, const Make& make) {
  for (std::uint64_t section = 0; section < 12; ++section) {
    AcceptedCases::expect([&] {
      std::string text;
      for (std::uint64_t i = 0; i < of_each; ++i) {
        Lots draw = ridgeline::testing::lots_of(first_seed + section * of_each + i);
        text += make(draw) + "\n";
      }
      return text;
    });
  }
}

// --- steps of calls and work --------------------------------------------------------------------------------

/// Calls and work that follow each other as they do on a machine, and now and then as they never would.
class DrawnStep {
 public:
  explicit DrawnStep(Lots& draw, std::int64_t calls = 0) : draw_(draw) {
    streams_ = static_cast<std::size_t>(draw.between(1, 3));
    threads_ = draw.between(1, 3);
    const bool slow = draw.percent(50);
    calls_ = calls > 0 ? calls : draw.between(0, 24);
    step.repeats = draw.percent(70);
    busy_ns_.assign(streams_, 0);
    host_ns_ = draw.between(0, 100'000);
    if (calls > 0) host_ns_ = 0;
    step.host_start_ns = host_ns_;
    for (std::int64_t i = 0; i < calls_; ++i) add_call(slow && calls == 0);
    if (step.works.empty() || draw.percent(20)) add_work(RecordedStep::kNone, host_ns_ + 5'000, false);
    finish();
  }

  RecordedStep step;

 private:
  void add_call(bool slow) {
    const auto index = static_cast<RecordedStep::Index>(step.calls.size());
    host_ns_ += slow ? draw_.between(0, 60'000) : draw_.between(0, 2'000);
    RecordedStep::Call call;
    call.thread_id = draw_.below(threads_);
    call.start_ns = host_ns_;
    call.waits = draw_.percent(15);
    call.waits_for_all = call.waits && draw_.percent(50);
    const std::int64_t latency_ns =
        draw_.percent(80) ? draw_.between(2'000, 6'000) : draw_.between(0, 80'000);
    step.calls.push_back(call);
    if (call.waits && draw_.percent(30)) {
      add_work(index, host_ns_ + latency_ns, false);  // a copy that is waited for
    } else if (!call.waits) {
      const bool graph = draw_.percent(12);
      const std::int64_t works = graph ? draw_.between(1, 5) : draw_.percent(95) ? 1 : 0;
      for (std::int64_t i = 0; i < works; ++i) add_work(index, host_ns_ + latency_ns, graph);
    }
    RecordedStep::Call& made = step.calls.back();
    made.end_ns = made.start_ns + draw_.between(500, 4'000);
    if (call.waits) {
      const std::int64_t latest = *std::max_element(busy_ns_.begin(), busy_ns_.end());
      if (draw_.percent(85)) made.end_ns = std::max(made.end_ns, latest + draw_.between(0, 4'000));
      if (!step.works.empty() && draw_.percent(30)) {
        const auto work =
            static_cast<RecordedStep::Index>(draw_.below(static_cast<std::int64_t>(step.works.size())));
        made.awaited.push_back({work, static_cast<std::uint32_t>(draw_.below(2))});
      }
    } else if (queue_ns_ > 0) {
      made.end_ns = std::max(made.end_ns, queue_ns_);
    }
    host_ns_ = draw_.percent(90) ? made.end_ns : made.start_ns + 100;
    if (draw_.percent(8)) made.end_ns = std::max(made.start_ns, made.end_ns - draw_.between(0, 2'000));
  }

  void add_work(RecordedStep::Index call, std::int64_t at_ns, bool graph) {
    RecordedStep::Work work;
    work.stream = static_cast<std::uint32_t>(draw_.below(static_cast<std::int64_t>(streams_)));
    work.call = call;
    work.graph = graph;
    work.order_known = graph && draw_.percent(40);
    std::int64_t& busy_ns = busy_ns_[work.stream];
    const std::int64_t pause_ns = draw_.percent(85) ? draw_.between(500, 1'500) : draw_.between(-800, 30'000);
    work.start_ns = std::max(at_ns, busy_ns + pause_ns);
    if (draw_.percent(20) && !step.works.empty()) {
      const auto from =
          static_cast<RecordedStep::Index>(draw_.below(static_cast<std::int64_t>(step.works.size())));
      const std::int64_t held_ns = step.works[from].end_ns + draw_.between(0, 12'000);
      work.start_ns = std::max(work.start_ns, held_ns);
      const auto to = static_cast<RecordedStep::Index>(step.works.size());
      if (draw_.percent(60)) step.dependencies.push_back({from, to, draw_.percent(80) ? 0U : 1U});
    }
    static constexpr std::int64_t kLengths[] = {0, 1'000, 5'000, 40'000, 120'000};
    const std::int64_t length_ns = draw_.of(kLengths);
    work.end_ns = work.start_ns + length_ns + draw_.below(3'000);
    if (call == RecordedStep::kNone && !step.calls.empty() && draw_.percent(60)) {
      work.after =
          static_cast<RecordedStep::Index>(draw_.below(static_cast<std::int64_t>(step.calls.size())));
      work.after_back = draw_.percent(80) ? 0 : 1;
    }
    busy_ns = std::max(busy_ns, work.end_ns);
    step.works.push_back(work);
    if (draw_.percent(6)) add_work(RecordedStep::kNone, at_ns, false);
  }

  void finish() {
    std::int64_t end_ns = host_ns_;
    step.start_ns = step.works.front().start_ns;
    for (RecordedStep::Index i = 0; i < step.works.size(); ++i) {
      end_ns = std::max(end_ns, step.works[i].end_ns);
      if (step.works[i].start_ns >= step.start_ns) continue;
      step.start_ns = step.works[i].start_ns;
      step.first = i;
    }
    step.end_ns = end_ns + draw_.between(0, 20'000);
    step.host_end_ns = step.host_start_ns + (step.end_ns - step.start_ns);
    if (draw_.percent(30)) step.host_end_ns += draw_.between(-3'000, 3'000);
    step.dependencies_recorded = draw_.percent(40);
  }

  Lots& draw_;
  std::size_t streams_ = 1;
  std::int64_t threads_ = 1, calls_ = 0, host_ns_ = 0, queue_ns_ = 0;
  std::vector<std::int64_t> busy_ns_;
};

StepEdit drawn_edit(Lots& draw, const RecordedStep& step) {
  StepEdit edit;
  for (RecordedStep::Index i = 0; i < step.works.size(); ++i) {
    if (!draw.percent(30)) continue;
    StepEdit::Work& work = edit.works[i];
    if (draw.percent(70)) work.duration_ns = draw.between(0, 50'000);
    if (draw.percent(50)) work.max_pause_ns = draw.between(0, 2'000);
  }
  for (RecordedStep::Index i = 0; i < step.calls.size(); ++i) {
    if (!draw.percent(30)) continue;
    StepEdit::Call& call = edit.calls[i];
    if (draw.percent(60)) call.length_ns = draw.between(0, 3'000);
    if (draw.percent(60)) call.max_own_ns = draw.between(0, 3'000);
    call.waits = draw.percent(60);
  }
  if (draw.percent(50)) edit.less_per_work_ns = static_cast<double>(draw.between(0, 6'000));
  return edit;
}

/// When each node begins and ends in three repetitions, as a sum; and what is known of the whole.
std::string graph_text(const BuiltStep& built) {
  std::vector<std::int64_t> durations;
  for (NodeIndex node = 0; node < built.graph.size(); ++node)
    durations.push_back(built.graph.duration_ns(node));
  std::string times;
  built.graph.run(durations, 3, [&](std::size_t, const StepGraph::Times& at) {
    for (std::size_t i = 0; i < at.start_ns.size(); ++i)
      times += std::to_string(at.start_ns[i]) + "-" + std::to_string(at.end_ns[i]) + " ";
  });
  return fields(built.node_of_work) + fields(durations) + std::to_string(built.anchor) + " " +
         std::to_string(built.offset_ns) + " " + std::to_string(built.concluded) + " " +
         std::to_string(built.unexplained_ns) + " " + std::to_string(built.graph.farthest_back()) + " " +
         ridgeline::testing::text_sum_in_hex(ridgeline::testing::text_sum(times));
}

std::string step_text(Lots& draw, const RecordedStep& step) {
  BuildOptions options;
  if (draw.percent(30)) options.launch_latency_ns = draw.between(0, 9'000);
  const BuiltStep built = build_graph(step, options);
  std::string text = graph_text(built);
  const StepSimulation simulation(built.graph, {.anchor = built.anchor});
  text += " " + fields(simulation.length_ns()) + fields(deviation_ratio(step, simulation.length_ns())) +
          fields(simulation.settled_times().start_ns);
  for (int i = 0; i < 4; ++i) {
    std::vector<StepSimulation::Change> changes;
    const std::int64_t count = draw.between(1, 4);
    for (std::int64_t k = 0; k < count; ++k) {
      const auto node = static_cast<NodeIndex>(draw.below(static_cast<std::int64_t>(built.graph.size())));
      changes.push_back({node, draw.between(0, 60'000)});
    }
    text += " " + fields(simulation.saving_ns(changes));
  }
  StepEdit as_graph;
  edit_as_graph(step, {}, as_graph);
  for (const StepEdit& edit : {drawn_edit(draw, step), as_graph}) {
    const BuiltStep edited = build_graph(step, options, edit);
    text += "\n " + graph_text(edited) + fields(simulation.saving_ns(edited.graph));
  }
  return text;
}

TEST(DrawnParts, StepsOfCallsAndWork) {
  hold_each(1, 25, [](Lots& draw) { return step_text(draw, DrawnStep(draw).step); });
}

// A thread that runs into the most that it may be ahead of the GPU, 250 to 262 launches: from 256 on it is one.
TEST(DrawnParts, StepsThatFillTheQueue) {
  const auto queued = [](Lots& draw, std::int64_t queue) {
    RecordedStep step;
    step.repeats = draw.percent(50);
    std::int64_t host_ns = 0, busy_ns = 5'000;
    const std::int64_t launches = queue + draw.between(5, 40);
    const std::int64_t call_ns = draw.between(1'500, 3'000);
    for (std::int64_t i = 0; i < launches; ++i) {
      RecordedStep::Call call{.start_ns = host_ns, .end_ns = host_ns + call_ns, .thread_id = 0};
      if (i >= queue)
        call.end_ns = std::max(call.end_ns, step.works[static_cast<std::size_t>(i - queue)].start_ns + 700);
      const auto index = static_cast<RecordedStep::Index>(i);
      step.calls.push_back(call);
      const std::int64_t length_ns = 9'000 + draw.below(30'000);
      const std::int64_t start_ns = std::max(busy_ns + 800, host_ns + 4'000);
      step.works.push_back({.start_ns = start_ns, .end_ns = start_ns + length_ns, .call = index});
      busy_ns = start_ns + length_ns;
      host_ns = call.end_ns + 200;
    }
    step.calls.push_back({.start_ns = host_ns, .end_ns = busy_ns + 3'000, .thread_id = 0, .waits = true});
    step.start_ns = step.works.front().start_ns;
    step.end_ns = busy_ns + 9'000;
    step.host_end_ns = step.end_ns - step.start_ns;
    return step_text(draw, step);
  };
  for (std::int64_t queue = 251; queue < 263; ++queue) {
    AcceptedCases::expect([&] {
      Lots draw = ridgeline::testing::lots_of(static_cast<std::uint64_t>(queue));
      return queued(draw, queue);
    });
  }
}

// --- the order of streams -----------------------------------------------------------------------------------

OrderedStep drawn_order(Lots& draw) {
  OrderedStep step;
  step.repeats = draw.percent(60);
  const std::int64_t streams = draw.between(1, 4);
  for (std::int64_t i = 0; i < streams; ++i) {
    static constexpr StreamKind kKinds[] = {StreamKind::blocking, StreamKind::non_blocking,
                                            StreamKind::legacy, StreamKind::per_thread};
    OrderedStep::Stream stream;
    stream.context = draw.between(1, 2);
    stream.kind = draw.of(kKinds);
    if (draw.percent(10)) stream.kind.reset();
    step.streams.push_back(stream);
  }
  const std::int64_t nodes = draw.percent(60) ? draw.between(2, 12) : 0;
  static constexpr GraphNodeKind kKinds[] = {GraphNodeKind::kernel, GraphNodeKind::kernel,
                                             GraphNodeKind::empty,  GraphNodeKind::graph,
                                             GraphNodeKind::host,   GraphNodeKind::conditional};
  for (std::int64_t node = 1; node <= nodes; ++node) {
    OrderedStep::Node made{draw.of(kKinds), std::nullopt};
    if (draw.percent(25)) made.parent = draw.between(1, nodes);
    if (!draw.percent(6)) step.nodes[node] = made;
    const std::int64_t edges = draw.between(0, 2);
    for (std::int64_t i = 0; i < edges; ++i)
      step.edges.push_back({draw.percent(90) ? draw.between(1, node) : draw.between(1, nodes), node});
  }
  std::vector<std::int64_t> records;
  std::int64_t correlation = 100;
  const std::int64_t count = draw.between(2, 26);
  for (std::int64_t i = 0; i < count; ++i) {
    ++correlation;
    const auto stream = static_cast<std::uint32_t>(draw.below(streams));
    const std::int64_t lot = draw.below(100);
    if (lot < 45) {
      step.works.push_back({correlation, stream, std::nullopt});
    } else if (lot < 55 && nodes > 0) {
      const std::int64_t first = draw.between(1, nodes);
      for (std::int64_t node = first; node <= std::min(nodes, first + 4); ++node) {
        if (draw.percent(85)) step.works.push_back({correlation, stream, node});
      }
    } else {
      static constexpr StreamCall kCalls[] = {StreamCall::event_record,   StreamCall::event_record,
                                              StreamCall::event_wait,     StreamCall::event_wait,
                                              StreamCall::event_wait,     StreamCall::event_awaited,
                                              StreamCall::stream_awaited, StreamCall::host_function};
      OrderedStep::Call call{correlation, draw.of(kCalls), stream, std::nullopt, std::nullopt};
      if (draw.percent(8)) call.stream.reset();
      if (!draw.percent(8)) call.event = draw.between(1, 3);
      if (call.call == StreamCall::event_record) {
        records.push_back(correlation);
      } else if (!records.empty() && draw.percent(80)) {
        call.source_id = draw.of(records);
      } else if (draw.percent(60)) {
        call.source_id = draw.between(90, 130);
      }
      if (call.source_id && draw.percent(15))
        call.source_back = static_cast<std::uint32_t>(draw.between(1, 2));
      step.calls.push_back(call);
    }
  }
  return step;
}

TEST(DrawnParts, OrdersOfStreams) {
  hold_each(1'001, 60, [](Lots& draw) {
    const StepOrder order = order_of(drawn_order(draw));
    std::string text = fields(order.dependencies) + fields(order.graph_known) + fields(order.complete);
    const std::map<std::int64_t, std::vector<RecordedStep::Awaited>> awaited(order.awaited.begin(),
                                                                             order.awaited.end());
    return text + fields(awaited);
  });
}

TEST(DrawnParts, RecordsOfEventsInStepsBefore) {
  hold_each(2'001, 40, [](Lots& draw) {
    std::vector<store::OrderingCall> calls;
    const std::int64_t in_step = draw.between(1, 4), steps = draw.between(1, 7);
    const std::int64_t odd =
        draw.below(3 * in_step * steps);  // a place that is of another stream, if there is one
    for (std::int64_t i = 0; i < in_step * steps; ++i) {
      store::OrderingCall call;
      call.process_id = draw.percent(92) ? 1 : 2;
      call.correlation_id = 10 + 3 * i;
      call.call = draw.percent(94) ? StreamCall::event_record : StreamCall::event_wait;
      call.time_ns = 1'000 * (i / in_step) + i % in_step;
      call.context_id = 1;
      call.stream_id = i == odd ? 9 : i % in_step;
      calls.push_back(call);
    }
    const std::int64_t of_step = draw.below(steps + 1);
    const EventRecords records(calls, 1, 1'000 * of_step, 1'000 * of_step + 1'000);
    std::string text;
    for (std::int64_t asked = 8; asked < 12 + 3 * in_step * steps; ++asked)
      text += fields(records.counterpart(asked)) + " ";
    return text;
  });
}

// --- lines of a timeline ------------------------------------------------------------------------------------

TEST(DrawnParts, TimeByWhatRanTogether) {
  hold_each(3'001, 60, [](Lots& draw) {
    const std::int64_t from_ns = draw.between(0, 20);
    const TimeWindow window{from_ns, draw.between(40, 300)};
    Exposure exposure;
    exposure.whole_ns.assign(12, 0);
    std::string text;
    ExecutionSweep sweep(
        window, [&](const TimeWindow& idle) { text += fields(idle); },
        draw.percent(80) ? &exposure : nullptr);
    std::int64_t at_ns = window.start_ns + draw.below(5);
    const std::int64_t count = draw.between(0, 12);
    for (std::int64_t i = 0; i < count && at_ns < window.end_ns; ++i) {
      const std::int64_t end_ns = std::min(window.end_ns, at_ns + draw.between(1, 60));
      const unsigned kind = 1U << static_cast<unsigned>(draw.below(4));
      const bool launch = (kind & ExecutionSweep::kKernel) != 0;
      const unsigned foreign = draw.percent(20) ? ExecutionSweep::kForeign : 0U;
      sweep.add({at_ns, end_ns}, kind | foreign,
                launch ? static_cast<LaunchIndex>(i) : ExecutionSweep::kNoLaunch);
      at_ns += draw.percent(30) ? 0 : draw.between(0, 40);
    }
    sweep.finish();
    for (unsigned kinds = 1; kinds < 32; ++kinds)
      text += " " + std::to_string(sweep.time_ns([&](unsigned ran) { return ran == kinds; }));
    const std::map<LaunchIndex, double> shared(exposure.shared_ns.begin(), exposure.shared_ns.end());
    return text + fields(exposure.whole_ns) + fields(shared);
  });
}

TEST(DrawnParts, EventsOfALine) {
  hold_each(4'001, 6, [](Lots& draw) {
    EventRow row, lane;
    static constexpr std::int64_t kCounts[] = {0, 1, 2, 63, 64, 65, 128, 129, 200, 640, 1'500};
    const std::int64_t count = draw.of(kCounts);
    const bool overlapping = draw.percent(40), wide = draw.percent(25);
    std::int64_t now_ns = draw.between(-1'000, 1'000);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t length_ns =
          wide && draw.percent(3) ? 4'294'967'295 + draw.between(-1, 1) : draw.between(0, 900);
      row.add(now_ns, now_ns + length_ns, static_cast<std::uint32_t>(i % 9));
      now_ns += overlapping && draw.percent(20) ? draw.between(-300, 200) : length_ns + draw.below(200);
      if (wide && draw.percent(2)) now_ns += 4'294'967'290 + draw.below(20);
    }
    row.finish(draw.percent(50) ? &lane : nullptr);
    lane.finish();
    std::string text = fields(row.empty()) + fields(row.extent());
    for (const EventRow* one : {&row, &lane}) {
      for (std::size_t i = 0; i < one->size(); ++i)
        text += std::to_string(one->start_ns(i)) + "-" + std::to_string(one->end_ns(i)) + ":" +
                std::to_string(one->name(i)) + " ";
    }
    const TimeWindow all = row.extent();
    for (int zoom = 0; zoom < 10; ++zoom) {
      const std::int64_t length_ns = std::max<std::int64_t>(all.length_ns() / (1 + zoom * zoom), 4);
      const std::int64_t from_ns =
          all.start_ns + draw.between(-length_ns / 4, std::max<std::int64_t>(all.length_ns(), 1));
      const TimeWindow window{from_ns, from_ns + draw.between(0, length_ns)};
      std::vector<EventBin> bins(static_cast<std::size_t>(draw.between(0, 70)));
      row.bins(window, bins);
      text += fields(bins) + fields(row.sum(window)) + std::to_string(row.at(from_ns)) + " " +
              std::to_string(row.first_from(from_ns)) + " " +
              std::to_string(row.first_ending_after(from_ns)) + "\n";
    }
    return text;
  });
}

TEST(DrawnParts, SamplesOfALine) {
  hold_each(5'001, 8, [](Lots& draw) {
    CounterRow row;
    static constexpr std::int64_t kCounts[] = {0, 1, 2, 63, 64, 65, 127, 128, 129, 300, 700};
    const std::int64_t count = draw.of(kCounts);
    std::int64_t now_ns = draw.between(0, 1'000);
    for (std::int64_t i = 0; i < count; ++i) {
      now_ns += draw.percent(96) ? draw.between(0, 12) : draw.between(-20, 900);
      row.add(now_ns, static_cast<float>(draw.between(0, 64)) / 64);
    }
    row.finish(draw.between(0, 30));
    std::string text = fields(row.size()) + fields(row.max()) + fields(row.extent());
    const TimeWindow all = row.extent();
    for (int zoom = 0; zoom < 10; ++zoom) {
      const std::int64_t length_ns = std::max<std::int64_t>(all.length_ns() / (1 + zoom), 4);
      const std::int64_t from_ns =
          all.start_ns + draw.between(-length_ns / 4, std::max<std::int64_t>(all.length_ns(), 1));
      const TimeWindow window{from_ns, from_ns + draw.between(1, length_ns)};
      std::vector<CounterBin> bins(static_cast<std::size_t>(draw.between(1, 70)));
      row.bins(window, bins);
      text += fields(bins) + fields(row.over(window)) + "\n";
    }
    return text;
  });
}

TEST(DrawnParts, TimeThatIsCovered) {
  hold_each(6'001, 40, [](Lots& draw) {
    std::vector<TimeWindow> parts;
    const std::int64_t count = draw.between(0, 9);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t start_ns = draw.between(-5, 60);
      parts.push_back({start_ns, start_ns + draw.between(-2, 20)});
    }
    return std::to_string(covered_ns(parts));
  });
}

// --- lines through delays -----------------------------------------------------------------------------------

std::vector<DelayedStep> drawn_delays(Lots& draw) {
  std::vector<DelayedStep> steps;
  const std::int64_t count = draw.percent(50) ? draw.between(1, 7) : draw.between(8, 40);
  const std::int64_t slope = draw.between(-20, 120),
                     slack_ns = draw.percent(50) ? 0 : draw.between(10'000, 90'000);
  const std::int64_t noise_ns = draw.percent(20) ? 0 : draw.between(10, 8'000);
  const std::int64_t drift_ns = draw.percent(50) ? 0 : draw.between(-900, 900);
  const bool same = draw.percent(8);
  for (std::int64_t i = 0; i < count; ++i) {
    DelayedStep step;
    step.step_index = 2 * i + draw.below(2);
    std::int64_t delay_ns = same ? 50'000 : draw.percent(30) ? 0 : 20'000 * draw.between(1, 8);
    if (!same && delay_ns > 0) delay_ns += draw.below(300);
    std::int64_t length_ns = 1'000'000 + std::max<std::int64_t>(delay_ns - slack_ns, 0) * slope / 100;
    length_ns += drift_ns * i + draw.between(-noise_ns, noise_ns);
    if (draw.percent(5)) length_ns += 400'000;
    step.delay_ns = static_cast<double>(delay_ns);
    step.length_ns = static_cast<double>(length_ns);
    steps.push_back(step);
  }
  return steps;
}

// Six digits: a robust fit goes through many rounds.
std::string digits(const std::optional<double>& value) {
  char text[40] = "none";
  if (value) std::snprintf(text, sizeof text, "%.6g", std::abs(*value) < 1e-6 ? 0.0 : *value);
  return std::string(text) + " ";
}
std::string digits(const std::optional<InterventionEstimate>& of) {
  return of ? digits(of->value) + digits(of->low) + digits(of->high) : "none ";
}

TEST(DrawnParts, LinesThroughDelays) {
  hold_each(7'001, 30, [](Lots& draw) {
    const std::vector<DelayedStep> steps = drawn_delays(draw);
    std::vector<double> delays, weights;
    for (const DelayedStep& step : steps) {
      delays.push_back(step.delay_ns);
      weights.push_back(static_cast<double>(draw.between(1, 4)) / 4);
    }
    std::string text = std::to_string(steps.size()) + ": ";
    for (const auto& line : {fit_line(steps, delays), fit_line(steps, delays, weights)}) {
      text += line ? digits(line->slope) + digits(line->standard_error) + digits(line->free) : "none ";
    }
    return text + digits(delay_slope(steps)) + digits(delay_slack(steps));
  });
}

/// Steps with delays in front of some of their launches, in pairs or in blocks.
struct DrawnDelays {
  explicit DrawnDelays(Lots& draw) {
    const std::int64_t targets = draw.between(1, 3), processes = draw.percent(80) ? 1 : 2;
    for (store::Id process = 1; process <= processes; ++process) {
      std::int64_t now_ns = 1'000'000'000;
      const bool in_blocks = draw.percent(40);
      const std::int64_t count = in_blocks ? draw.between(30, 90) : draw.between(4, 60);
      const std::int64_t timeline = draw.between(0, 7), of_block = draw.between(4, 14);
      const std::int64_t effect = draw.between(0, 110), noise_ns = draw.between(1, 30'000);
      for (std::int64_t i = 0; i < count + timeline; ++i) {
        store::Step step;
        step.id = static_cast<store::Id>(steps.size()) + 1;
        step.process_id = process;
        step.step_index = i;
        const std::int64_t number = i - timeline;
        step.phase = number < 0 ? Phase::timeline : in_blocks ? Phase::after : Phase::warmup;
        if (!draw.percent(2)) step.gpu_start_ns = now_ns;
        const bool drawn = in_blocks ? number / of_block % 2 == 0 : number % 2 == 0;
        const std::int64_t delayed = draw.below(targets + (in_blocks ? 0 : 2));  // none of them: shams alone
        std::int64_t longer_ns = 0;
        for (std::int64_t target = 0; number >= 0 && target < targets; ++target) {
          store::Intervention delay;
          delay.process_id = process;
          delay.step_id = step.id;
          delay.target = target;
          delay.kernel_id = 7 + target;
          delay.ordinal = 3 * target;
          delay.drawn = drawn && !in_blocks;
          const bool this_one = in_blocks ? target == 0 : target == delayed;
          if (drawn && this_one) delay.level_ns = in_blocks ? 200'000 : 50'000 * draw.between(1, 4);
          delay.seed = std::to_string(process);
          longer_ns += delay.level_ns * effect / 100;
          if (!draw.percent(4)) {
            delay.start_ns = now_ns + draw.between(-5'000, 5'000);
            delay.end_ns = *delay.start_ns + 2'000 + delay.level_ns + draw.below(300);
          }
          delays.push_back(delay);
        }
        steps.push_back(step);
        if (draw.percent(70)) {
          store::ClockSample sample{.device_id = draw.percent(97) ? 1 : 2, .time_ns = now_ns + 10};
          if (draw.percent(90)) sample.sm_clock_hz = 1'400'000'000 + draw.below(9) * 15'000'000;
          if (draw.percent(90)) sample.power_mw = 600'000 + draw.below(90'000);
          if (draw.percent(85)) sample.throttle_reasons = draw.percent(60) ? 4 : 0;
          clocks.push_back(sample);
        }
        now_ns += 2'000'000 + longer_ns + draw.between(-noise_ns, noise_ns);
      }
    }
  }
  std::vector<store::Intervention> delays;
  std::vector<store::Step> steps;
  std::vector<store::ClockSample> clocks;
};

TEST(DrawnParts, WhatDelaysDid) {
  hold_each(8'001, 12, [](Lots& draw) {
    const DrawnDelays made(draw);
    const std::int64_t says = draw.between(0, 3);
    SimulatedDelay simulate;
    if (says > 0) {
      simulate = [says](store::Id kernel, std::int64_t, double delay_ns) -> std::optional<double> {
        if (says == 3 && kernel == 8) return std::nullopt;
        return says == 1 ? delay_ns : std::max(delay_ns - 60'000, 0.0);
      };
    }
    const InterventionAnalysis all = analyse_interventions(made.delays, made.steps, simulate);
    std::string text = std::to_string(all.drawn_steps) + "/" + std::to_string(all.usable_steps) + " " +
                       all.seed + " " + fields(all.sham_step_ns) + digits(all.sham_cost);
    for (const LaunchIntervention& launch : all.launches) {
      text += "\n " + fields(launch.target) + fields(launch.ordinal) + fields(launch.delayed_steps) +
              fields(launch.sham_steps) + fields(launch.sham_ns) + fields(launch.levels) +
              digits(launch.slope) + digits(launch.slack) + fields(launch.slack_reached) +
              digits(launch.simulated_slope) + fields(static_cast<int>(launch.verdict));
    }
    const auto blocks = analyse_power_blocks(made.delays, made.steps, made.clocks, all);
    if (!blocks) return text;
    return text + "\n " + fields(blocks->target) + fields(blocks->level_ns) + fields(blocks->delay_ns) +
           fields(blocks->block_ns) + fields(blocks->settling_ns) + fields(blocks->delayed) +
           fields(blocks->alone) + digits(blocks->slope) + digits(blocks->left) +
           fields(static_cast<int>(blocks->verdict)) + digits(blocks->limited_ratio());
  });
}

TEST(DrawnParts, TimesThatFollowTheClock) {
  hold_each(9'001, 60, [](Lots& draw) {
    std::vector<ClockPoint> points;
    const std::int64_t count = draw.between(3, 12);
    const std::int64_t spread_mhz = draw.of(std::vector<std::int64_t>{0, 8, 15, 16, 17, 30, 200});
    const std::int64_t follows = draw.between(-20, 130);
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t mhz = 1'500 + draw.between(-spread_mhz, spread_mhz);
      const std::int64_t ns = 100'000 + (1'500 - mhz) * follows * 100'000 / 150'000 + draw.between(-500, 500);
      points.push_back({static_cast<double>(mhz) * 1e6, static_cast<double>(ns)});
    }
    if (draw.percent(4)) points.front().clock_hz = 0;
    ClockShare prior;
    prior.beta = static_cast<double>(draw.between(0, 100)) / 100;
    prior.error = static_cast<double>(draw.between(1, 40)) / 100;
    const ToldShare told = clock_share(points, prior);
    return digits(told.beta) + digits(told.error) + fields(told.told);
  });
}

// --- steps and findings -------------------------------------------------------------------------------------

TEST(DrawnParts, StepsThatAreUnusual) {
  hold_each(10'001, 40, [](Lots& draw) {
    std::vector<StepSummary> steps;
    const std::int64_t count = draw.between(0, 14);
    const std::int64_t spread_ns = draw.of(std::vector<std::int64_t>{0, 100, 30'000});
    for (std::int64_t i = 0; i < count; ++i) {
      StepSummary step;
      step.step_id = i + 1;
      step.process_id = draw.percent(85) ? 1 : 2;
      step.step_index = i;
      static constexpr Phase kPhases[] = {Phase::timeline, Phase::timeline, Phase::timeline, Phase::after};
      step.phase = draw.of(kPhases);
      step.status = draw.percent(93) ? StepStatus::ok : StepStatus::failed;
      step.gpu_duration_ns = draw.percent(95) ? 1'000'000 + draw.between(-spread_ns, spread_ns) : 0;
      if (draw.percent(15)) step.gpu_duration_ns += draw.between(40'000, 60'000);
      steps.push_back(step);
    }
    StepOptions options;
    if (draw.percent(30)) options.outlier_mads = 3;
    if (draw.percent(30)) options.outlier_ratio = 0.04;
    const std::vector<PhaseSummary> phases = summarise_phases(steps, options);
    const std::int64_t always = draw.between(1, 14);
    const auto most = static_cast<std::size_t>(draw.between(0, 6));
    return fields(phases) + fields(unusual_steps(steps, phases, always, most));
  });
}

TEST(DrawnParts, WhatHoldsTheStepBack) {
  hold_each(11'001, 40, [](Lots& draw) {
    Accounting a;
    a.process_id = 1;
    a.device_id = 2;
    a.step_ns = draw.percent(95) ? 1'000'000 : 0;
    // About a tenth of the step, from where it matters.
    const std::int64_t idle_ns = draw.percent(50) ? 100'000 + draw.between(-1, 1) : draw.between(0, 900'000);
    a.gap_total_ns = idle_ns;
    std::int64_t left_ns = idle_ns;
    for (std::int64_t Accounting::*part : {&Accounting::gap_host_bound_ns, &Accounting::gap_launch_bound_ns,
                                           &Accounting::gap_queued_ns, &Accounting::gap_unknown_ns}) {
      a.*part = draw.percent(30) ? 0 : draw.below(left_ns + 1);
      left_ns -= a.*part;
    }
    a.gap_tail_ns = left_ns / 2;
    if (draw.percent(50)) a.gap_synchronisation_ns = left_ns - left_ns / 2;
    std::int64_t at_ns = 0;
    const std::int64_t gaps = draw.between(0, 4);
    for (std::int64_t i = 0; i < gaps; ++i) {
      static constexpr GapKind kKinds[] = {GapKind::launch_bound,    GapKind::host_bound,
                                           GapKind::synchronisation, GapKind::queued,
                                           GapKind::unknown,         GapKind::tail};
      Gap gap{.start_ns = at_ns, .end_ns = at_ns + 10 * draw.between(1, 4)};
      gap.kind = draw.of(kKinds);
      if (draw.percent(50)) gap.wait = Wait{SynchronisationCall::stream, 77};
      a.gaps.push_back(gap);
      at_ns = gap.end_ns + 5;
    }
    a.communication_sum_ns = draw.between(0, 300'000);
    a.communication_exposed_ns = draw.percent(50) ? 100'000 + draw.between(-1, 1) : draw.between(0, 200'000);
    Ranking ranking;
    if (draw.percent(80)) {
      StepReach reach;
      if (draw.percent(10)) reach.why.push_back(Absence{.cause = AbsenceCause::not_reproduced});
      reach.measured_ns = 1'000'000;
      const std::int64_t saved_ns =
          draw.percent(50) ? 10'000 + draw.between(-1, 1) : draw.between(0, 400'000);
      ranking.totals.saved_target_ns = static_cast<double>(saved_ns);
      const std::int64_t reached_ns =
          draw.percent(50) ? saved_ns / 2 + draw.between(-1, 1) : draw.below(saved_ns + 1);
      reach.target_ns = static_cast<double>(reached_ns);
      ranking.reach = reach;
    }
    RepresentativeStep step;
    static constexpr Phase kPhases[] = {Phase::timeline, Phase::sample, Phase::after, Phase::warmup,
                                        Phase::replay,   Phase::cold,   Phase::stalls};
    step.summary.phase = draw.of(kPhases);
    step.whole_recording = draw.percent(15);
    return fields(pace_findings(step, a, ranking)) + fields(longest_gap(a));
  });
}

TEST(DrawnParts, WhatThePowerLimitLeaves) {
  hold_each(12'001, 60, [](Lots& draw) {
    UtilisationAnalysis utilisation;
    StepPower power;
    if (draw.percent(70)) {
      ClockCost clock{.device_id = 1, .reference_hz = 2e9};
      clock.clock_hz = draw.percent(50) ? 1.94e9 + static_cast<double>(draw.between(-1, 1)) * 1e6
                                        : static_cast<double>(draw.between(900, 2'000)) * 1e6;
      clock.covered_ns = static_cast<double>(draw.between(0, 1'000'000));
      clock.cost_ns = static_cast<double>(draw.between(0, 100'000));
      clock.low_ns = clock.cost_ns / 2;
      clock.high_ns = clock.cost_ns * 2;
      power.clock = clock;
    }
    std::optional<double> limited;
    if (!draw.percent(8)) limited = draw.percent(50) ? 0.5 : static_cast<double>(draw.between(0, 100)) / 100;
    const PowerTerm term = power_term(limited, utilisation, power);
    SavedWork saved;
    for (double SavedWork::*part :
         {&SavedWork::same_energy_ns, &SavedWork::idle_ns, &SavedWork::traffic_ns, &SavedWork::cheaper_ns}) {
      if (draw.percent(50)) saved.*part = static_cast<double>(draw.between(0, 50'000));
    }
    Gain gain;
    const std::int64_t value_ns = draw.between(-20'000, 90'000);
    if (!draw.percent(10)) gain.simulated = GainRange{static_cast<double>(value_ns), {}, {}};
    if (gain.simulated && draw.percent(60)) {
      gain.simulated->low = static_cast<double>(value_ns - draw.below(9'000));
      gain.simulated->high = static_cast<double>(value_ns + draw.below(9'000));
    }
    apply_power(term, saved, gain);
    return fields(term) + fields(power_leaves(term, saved)) + fields(gain);
  });
}

}  // namespace
}  // namespace ridgeline::analyzer
