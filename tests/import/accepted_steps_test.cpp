// Where in a recording something belongs, of events drawn by lot: launches, copies and graphs in steps, stretches and
// windows; steps that are searched for; nodes of graphs; ranges in ranges; samples in series. Times tie, halves come in
// any order or not at all. All answers are held against what was accepted.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <string>
#include <vector>

#include "import/foreign_fields.h"
#include "recording/graph_join.h"
#include "recording/step_search.h"
#include "recording/steps.h"
#include "support/accepted_cases.h"
#include "support/lots.h"
#include "support/temporary_directory.h"
#include "traces/counter_series.h"
#include "traces/range_nesting.h"
#include "traces/time_origin.h"

namespace ridgeline::testing {

// What stands in no order as it is kept.
template <>
struct ShownParts<import::RecordedStep> {
  static auto of(const import::RecordedStep& step) {
    return std::tuple(
        step.index, step.phase, step.source, step.stretch, step.number, step.position, step.start_ns,
        step.end_ns, step.launches_seen, step.kernel_records, step.gpu_start_ns, step.gpu_end_ns,
        step.kernel_end_ns, step.first_joined_id, step.first_enter_ns, step.first_start_ns,
        step.second_joined_id, step.second_start_ns, step.first_correlation_id, step.last_correlation_id,
        step.graph_calls,
        std::map<std::uint32_t, import::CountedLaunch>(step.counted.begin(), step.counted.end()));
  }
};

}  // namespace ridgeline::testing

namespace ridgeline::import::testing {
namespace {

using ridgeline::testing::AcceptedCases;
using ridgeline::testing::fields;
using ridgeline::testing::Lots;
using ridgeline::testing::TemporaryDirectory;

template <typename Map>
auto in_key_order(const Map& map) {
  return std::map<typename Map::key_type, typename Map::mapped_type>(map.begin(), map.end());
}

// All that is known of steps, and of times and copies about them.
std::string steps_text(RecordedSteps& steps, const std::vector<Copy>& copies, Lots& lots) {
  steps.number_steps();
  std::string all =
      fields(steps.steps) + "\n" + fields(steps.pieces) + "\n" + fields(in_key_order(steps.graphs)) + "\n";
  all += fields(std::vector<std::int64_t>{steps.launches_seen, steps.kernel_records, steps.graph_launches,
                                          steps.graph_kernel_records}) +
         "\n";
  for (RecordedWindow& piece : steps.pieces) piece.step_id = 100 + piece.number;
  for (const Copy& copy : copies) {
    const RecordedStep* step = steps.step_of(copy);
    all += step == nullptr ? "- " : std::to_string(step->index) + " ";
  }
  for (int i = 0; i < 12; ++i) {
    const std::int64_t time = lots.between(900, 9'000);
    const auto index = static_cast<std::uint32_t>(lots.below(5));
    all += fields(steps.step_at(index, time)) + " " + fields(steps.window_step(time)) + " ";
    if (const auto step = steps.steps.find(index); step != steps.steps.end())
      all += fields(RecordedSteps::ordinal_in_step(step->second, static_cast<std::uint32_t>(lots.below(9)))) +
             " ";
  }
  return all + "\n";
}

TEST(DrawnSteps, HoldWhatWasLaunchedInThem) {
  for (std::uint64_t batch = 0; batch < 12; ++batch) {
    AcceptedCases::expect([&] {
      std::string all;
      for (std::uint64_t i = 0; i < 80; ++i) {
        Lots lots(100 * batch + i);
        RecordedSteps steps;
        const std::int64_t count = lots.below(5);
        const bool stretches = batch % 3 == 1;
        std::int64_t now = 1'000;
        std::uint32_t correlation = 10;
        std::vector<std::pair<std::optional<Call>, std::optional<Execution>>> events;
        std::vector<Copy> copies;
        for (std::uint32_t index = 0; index < static_cast<std::uint32_t>(count); ++index) {
          const std::uint32_t number = index + (lots.percent(10) ? 1 : 0);
          RecordedStep& step = steps.steps[number];
          step.index = number;
          step.phase =
              lots.one_of({Phase::timeline, Phase::timeline, Phase::replay, Phase::cold, Phase::warmup});
          step.stretch = stretches && lots.percent(60);
          step.start_ns = now;
          std::uint32_t position = 0;
          const std::int64_t launches = lots.below(5);
          for (std::int64_t k = 0; k < launches; ++k) {
            correlation += static_cast<std::uint32_t>(lots.between(1, 3));
            Call call;
            call.correlation_id = correlation;
            call.step = lots.percent(90) ? number : kNone;
            call.graph = lots.percent(20);
            call.position = call.graph ? kNone : position++;
            if (lots.percent(80)) {
              call.enter_ns = now;
              call.exit_ns = now + 5;
              call.thread_id = 9;
            }
            if (call.graph && lots.percent(90)) step.graph_calls.push_back({.correlation_id = correlation});
            const std::int64_t kernels = call.graph ? lots.below(4) : lots.percent(95) ? 1 : 2;
            if (lots.percent(93)) events.emplace_back(call, std::nullopt);
            for (std::int64_t n = 0; n < kernels; ++n) {
              Execution execution;
              execution.correlation_id = correlation;
              execution.kernel = static_cast<std::uint32_t>(k);
              execution.start_ns = lots.percent(92) ? now + lots.between(20, 300) : 0;
              execution.end_ns = execution.start_ns + lots.below(200);
              if (call.graph || lots.percent(5))
                execution.graph_node = static_cast<std::uint64_t>(lots.between(1, 3));
              if (lots.percent(93)) events.emplace_back(std::nullopt, execution);
            }
            now += lots.between(10, 90);
            if (!lots.percent(40)) continue;
            Copy copy;
            copy.correlation_id = correlation + static_cast<std::uint32_t>(lots.below(2));
            copy.start_ns = lots.percent(90) ? now + lots.between(-400, 400) : 0;
            copy.end_ns = copy.start_ns + lots.below(90);
            if (lots.percent(80))
              copy.kind = lots.one_of({CopyKind::device_to_host, CopyKind::host_to_device});
            if (lots.percent(15)) copy.graph_node = 2;
            copies.push_back(copy);
          }
          std::sort(step.graph_calls.begin(), step.graph_calls.end(),
                    [](const auto& a, const auto& b) { return a.correlation_id < b.correlation_id; });
          if (lots.percent(85)) step.end_ns = now;
          now += lots.one_of<std::int64_t>({0, 1, 50, 500});
        }
        for (std::int64_t n = lots.below(3); n > 0; --n) {
          RecordedWindow window;
          window.open_ns = lots.between(900, now);
          if (lots.percent(70)) window.close_ns = window.open_ns + lots.below(900);
          steps.windows.push_back(window);
        }
        std::sort(steps.windows.begin(), steps.windows.end(),
                  [](const RecordedWindow& a, const RecordedWindow& b) { return a.open_ns < b.open_ns; });
        if (lots.percent(30)) lots.shuffle(events);
        if (batch % 4 == 3) {
          steps.steps_found = Reason(ReasonCode::steps_by_period);
          for (std::uint32_t id = 10; id < correlation; ++id)
            if (lots.percent(70)) steps.placed[id] = {id % 4, id % 5 == 0 ? kNone : id % 3};
        }
        RecordedSteps::LaunchPass pass(steps);
        for (const auto& [call, execution] : events) {
          if (call) pass.add(steps.in_step(*call));
          if (execution) pass.add(*execution);
        }
        pass.finish();
        for (const Copy& copy : copies) steps.add_copy(copy);
        all += steps_text(steps, copies, lots);
      }
      return all;
    });
  }
}

// Programs that repeat themselves, evenly or not, in one context or two, with ranges round it or not.
TEST(DrawnSteps, ThatAreSearchedFor) {
  for (std::uint64_t batch = 0; batch < 12; ++batch) {
    AcceptedCases::expect([&] {
      std::string all;
      for (std::uint64_t i = 0; i < 8; ++i) {
        Lots lots(500 + 10 * batch + i);
        SearchedEvents events;
        std::int64_t now = 1'000'000'000;
        std::uint32_t correlation = 0;
        const std::int64_t length = lots.between(2, 14);
        const std::int64_t repeats = lots.one_of<std::int64_t>({3, 4, 5, 6, 12, 30, 60});
        const std::int64_t pace = lots.one_of<std::int64_t>({20'000, 100'000, 400'000});
        const int uneven = static_cast<int>(batch % 3) * 4;
        const std::int64_t startup = lots.below(20);
        const auto launch = [&](std::uint32_t kernel) {
          now += pace;
          SearchedLaunch made;
          made.time_ns = now;
          made.correlation_id = ++correlation;
          made.context_id = lots.percent(static_cast<std::int64_t>(i % 2) * 10) ? 2 : 1;
          made.graph = lots.percent(3);
          made.key = made.graph ? steps::graph_key(kernel) : steps::key_of(kernel, 8, 1, 1);
          made.start_ns = i == 3 ? 0 : now + 50'000 + 3 * pace * (correlation % 5);
          events.launches.push_back(made);
        };
        for (std::int64_t n = 0; n < startup; ++n) launch(900 + static_cast<std::uint32_t>(n));
        const char* names[] = {"step 7", "iteration", "epoch 3"};
        for (std::int64_t repeat = 0; repeat < repeats; ++repeat) {
          const std::int64_t begin = now + pace / 2;
          const std::int64_t here = lots.percent(uneven) ? length + 3 : length;
          for (std::int64_t k = 0; k < here; ++k)
            launch(static_cast<std::uint32_t>(lots.percent(uneven / 2) ? 50 + k : 1 + k % 9));
          now += lots.one_of<std::int64_t>({0, 0, 10 * pace});
          if (batch % 2 == 0) continue;
          const bool whole = lots.percent(95);
          if (whole)
            events.ranges.push_back({begin, now + pace / 2, 3, 1 + static_cast<std::uint32_t>(i % 3)});
          if (lots.percent(50)) events.ranges.push_back({begin + pace, begin + 2 * pace, 4, 2});
          if (repeat % 8 == 7) events.ranges.push_back({now, now + pace, 3, 3});
        }
        for (std::uint32_t path = 1; path <= 3; ++path) events.names[path] = names[path - 1];
        lots.shuffle(events.launches);
        lots.shuffle(events.ranges);
        RecordedSteps found;
        if (lots.percent(25)) {
          RecordedStep& stretch = found.steps[80];
          stretch.index = 80;
          stretch.stretch = true;
          stretch.start_ns = 1'000'000'000 + 20 * pace;
          stretch.end_ns = stretch.start_ns + 3 * pace;
        }
        find_steps(std::move(events), found);
        std::string steps;
        for (const auto& [index, step] : found.steps) steps += fields(step) + "\n";
        std::string placed;
        for (const auto& [id, place] : in_key_order(found.placed))
          placed += fields(std::pair(id, place)) + " ";
        all += fields(found.steps_found) + "\n" + steps + placed + "\n";
      }
      return all;
    });
  }
}

// Graphs made of graphs: chains, copies of copies, circles, nodes that share an origin.
TEST(DrawnGraphs, AreJoined) {
  for (std::uint64_t batch = 0; batch < 10; ++batch) {
    AcceptedCases::expect([&] {
      std::string all;
      for (std::uint64_t i = 0; i < 90; ++i) {
        Lots lots(1000 + 100 * batch + i);
        std::vector<GraphNode> nodes;
        std::vector<GraphNodeClone> clones;
        ExecutedNodes executed;
        const std::uint64_t ids = static_cast<std::uint64_t>(lots.between(3, 14));
        const auto id = [&] {
          return 1 + static_cast<std::uint64_t>(lots.below(static_cast<std::int64_t>(ids)));
        };
        for (std::int64_t n = lots.below(7); n > 0; --n) {
          GraphNode node;
          node.node_id = id();
          node.parent_id = lots.percent(20) ? id() : 0;
          node.graph = static_cast<std::uint32_t>(lots.between(1, 3));
          node.kind = lots.one_of({GraphNodeKind::kernel, GraphNodeKind::kernel, GraphNodeKind::copy,
                                   GraphNodeKind::set, GraphNodeKind::graph, GraphNodeKind::host});
          nodes.push_back(node);
        }
        for (std::int64_t n = lots.below(8); n > 0; --n) {
          GraphNodeClone clone;
          clone.node_id = id();
          clone.original_id = id();
          clone.graph = static_cast<std::uint32_t>(lots.below(4));
          clones.push_back(clone);
        }
        if (batch % 2 == 1)
          for (std::uint64_t n = 1; n < ids; ++n)
            if (lots.percent(60))
              clones.push_back(
                  {.node_id = n + 1, .original_id = n, .graph = static_cast<std::uint32_t>(n % 3)});
        for (std::int64_t n = lots.below(6); n > 0; --n) {
          const std::uint64_t node = id();
          executed[node] = static_cast<std::uint32_t>(lots.below(4));
        }
        for (const auto& [number, graph] : in_key_order(join_graphs(nodes, clones, executed)))
          all += fields(number) + ":" + fields(graph.ran) + fields(in_key_order(graph.made)) + " ";
        all += "\n";
      }
      return all;
    });
  }
}

// Ranges that begin and end together, on threads with calls and without, and calls at their edges.
TEST(DrawnRanges, NestByTheirTimes) {
  const TemporaryDirectory directory;
  for (std::uint64_t batch = 0; batch < 8; ++batch) {
    AcceptedCases::expect([&] {
      std::string all;
      for (std::uint64_t i = 0; i < 50; ++i) {
        Lots lots(100 * batch + i);
        ForeignProcess process(directory.path());
        for (std::int64_t n = lots.below(10); n > 0; --n) {
          ForeignRange range;
          range.start_ns = lots.between(100, 112);
          range.end_ns = range.start_ns + lots.below(9);
          range.thread_id = static_cast<std::uint32_t>(lots.below(3));
          const std::int64_t name = lots.below(3);
          range.name = process.names.number_of(std::string(1, static_cast<char>('a' + name)),
                                               lots.percent(20) ? "d" : "");
          range.apart = lots.percent(15);
          range.open = lots.percent(10);
          process.ranges.push_back(range);
        }
        for (std::int64_t n = lots.below(8); n > 0; --n) {
          ForeignCall call;
          call.enter_ns = lots.between(99, 122);
          call.exit_ns = call.enter_ns + 1;
          call.correlation_id = static_cast<std::uint32_t>(n);
          call.thread_id = static_cast<std::uint32_t>(lots.below(4));
          call.timed = lots.percent(90);
          process.calls.push_back(call);
        }
        // Of calls at one time the order is that of the sorting.
        std::sort(process.calls.begin(), process.calls.end(), [](const ForeignCall& a, const ForeignCall& b) {
          return std::tuple(a.thread_id, a.enter_ns) < std::tuple(b.thread_id, b.enter_ns);
        });
        process.calls.erase(std::unique(process.calls.begin(), process.calls.end(),
                                        [](const ForeignCall& a, const ForeignCall& b) {
                                          return a.thread_id == b.thread_id && a.enter_ns == b.enter_ns;
                                        }),
                            process.calls.end());
        const std::string nested = fields(nest(process));  // which orders the ranges
        all += nested + "\n" + fields(process.ranges) + "\n" + fields(process.calls) + "\n" +
               fields(by_end(process.ranges)) + "\n";
      }
      return all;
    });
  }
}

TEST(DrawnSeries, BecomeSamples) {
  const char* metrics[] = {"a.pct",     "dram__bytes.sum", "b__bytes.sum.per_second",
                           "bytes.avg", "of two\nlines",   "c"};
  for (std::uint64_t batch = 0; batch < 8; ++batch) {
    AcceptedCases::expect([&] {
      std::string all;
      for (std::uint64_t i = 0; i < 30; ++i) {
        Lots lots(100 * batch + i);
        CounterSeries series(static_cast<std::size_t>(lots.one_of({100, 100, 12, 0})));
        const std::int64_t count = lots.below(50);
        std::int64_t now = 1000;
        for (std::int64_t n = 0; n < count; ++n) {
          now += lots.one_of<std::int64_t>({0, 0, 0, 100, 100, 100, 149, 150, 151, 300, -100});
          const std::int64_t metric = lots.below(6);
          const auto device = static_cast<std::uint32_t>(lots.below(2));
          const auto value = static_cast<double>(lots.below(9));
          all += series.add({now, device, metrics[metric], value}) ? "" : "-";
        }
        for (int again = 0; again < 2; ++again) all += fields(series.samples());
        all += "\n";
      }
      return all;
    });
  }
}

// More metrics than are kept of a device.
TEST(DrawnSeries, OfMoreMetricsThanAreKept) {
  CounterSeries series(10'000);
  int left_out = 0;
  for (const std::int64_t time : {1000, 2000, 3000})
    for (int metric = 0; metric < 260; ++metric)
      left_out += series.add({time, 0, "m" + std::to_string(metric), 1.0}) ? 0 : 1;
  EXPECT_EQ(left_out, 3 * 4);
  const auto samples = series.samples();
  ASSERT_EQ(samples.size(), 1U);
  EXPECT_EQ(samples[0].metrics.size(), 256U);
  EXPECT_EQ(samples[0].size(), 2U);
}

TEST(DrawnOrigins, OfTimesAboutZero) {
  AcceptedCases::expect([] {
    std::string all;
    constexpr std::int64_t kBefore = std::int64_t{1} << 50, kSecond = 1'000'000'000;
    for (const std::int64_t earliest :
         {std::int64_t{0}, std::int64_t{1}, std::int64_t{-1}, -kSecond, -kSecond + 1, -kSecond - 1, -kBefore,
          -kBefore + 1, -kBefore - 1, kLatestNs, kLatestNs - 1})
      for (const std::int64_t base : {std::int64_t{0}, std::int64_t{1}, kSecond, kSecond + 1, kBefore}) {
        TimeOrigin origin;
        const std::int64_t none = origin.later_s(base);
        const std::int64_t at = origin.at(earliest);
        const std::int64_t later = origin.at(earliest / 2 + 7);
        all +=
            fields(std::vector<std::int64_t>{none, at, later, origin.shift_ns(base), origin.later_s(base)}) +
            "\n";
      }
    return all;
  });
}

}  // namespace
}  // namespace ridgeline::import::testing
