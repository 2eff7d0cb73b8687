// What changes at a number: each side of the limits that comparisons have, one value apart.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "history_runs.h"
#include "judge.h"
#include "modes.h"
#include "parts.h"
#include "ridgeline/comparison/comparison.h"
#include "ridgeline/comparison/history.h"
#include "ridgeline/comparison/ladder.h"
#include "ridgeline/comparison/steady.h"
#include "rule_pattern.h"
#include "sides.h"
#include "statistics.h"
#include "support/accepted_cases.h"
#include "support/lots.h"

namespace ridgeline::comparison {
namespace {

using ridgeline::testing::AcceptedCases;
using ridgeline::testing::fields;
using ridgeline::testing::Lots;

// A run of `kernels` kernels of 100 µs each, all of one path, launched `calls` times.
RunProfile limit_run(int kernels, double calls = 1) {
  RunProfile run;
  run.path = "run.ridge";
  run.command_line = "./train";
  run.devices = {{"NVIDIA H200", "GPU-1", 132}};
  for (int k = 0; k < kernels; ++k) {
    KernelSite site;
    site.path = "step / forward";
    site.kernel = site.family = "kernel_" + std::to_string(k);
    site.code = "c" + std::to_string(k);
    site.shape = LaunchConfiguration{.grid = {132, 1, 1}, .block = {256, 1, 1}};
    site.calls = calls;
    site.time_ns = 100'000;
    run.kernel_ns += site.time_ns;
    run.sites.push_back(site);
  }
  run.step.count = 10;
  run.step.median_ns = 1'000'000;
  return run;
}

void set_times(RunProfile& run, const std::function<double(int)>& time_ns) {
  run.kernel_ns = 0;
  for (std::size_t k = 0; k < run.sites.size(); ++k) {
    run.sites[k].time_ns = std::round(time_ns(static_cast<int>(k)));
    run.kernel_ns += run.sites[k].time_ns;
  }
  run.step.median_ns = run.kernel_ns + 50'000;
}

TEST(Limits, OfLaunchesThatAreOtherWork) {
  AcceptedCases::expect([] {
    std::string text;
    for (const double calls :
         {74.0, 75.0, 79.0, 80.0, 94.0, 95.0, 96.0, 100.0, 104.0, 105.0, 106.0, 125.0, 126.0}) {
      const RunProfile run = limit_run(1, 100), other = limit_run(1, calls);
      text += fmt::format("{}: ", calls) + fields(refused_sides({run, other}, {run})) +
              fields(refused_sides({run}, {other, run, run})) +
              fields(compare({run}, {other}).value().other_work()) + "\n";
    }
    return text;
  });
}

TEST(Limits, OfRunsThatAreOneRecording) {
  AcceptedCases::expect([] {
    std::string text;
    const std::vector<std::function<void(RunProfile&)>> changes = {
        [](RunProfile&) {},
        [](RunProfile& run) { run.start_ns.reset(); },
        [](RunProfile& run) { run.start_ns = 8; },
        [](RunProfile& run) { run.host_name = "rack"; },
        [](RunProfile& run) { run.command_line = "./train --fast"; },
        [](RunProfile& run) { run.command_line = "/elsewhere/train"; },
        [](RunProfile& run) { run.command_line = "./serve"; },
        [](RunProfile& run) { run.command_line = ""; },
        [](RunProfile& run) { run.step.median_ns += 1; },
        [](RunProfile& run) { run.kernel_ns += 1; }};
    for (const auto& change : changes) {
      RunProfile run = limit_run(2);
      run.start_ns = 7;
      RunProfile other = run;
      change(other);
      other.path = "other.ridge";
      text += fields(share_a_recording({run}, {other})) + fields(refused_sides({run, other}, {run})) +
              fields(refused_sides({other}, {limit_run(2), run, other})) + "\n";
    }
    return text;
  });
}

// Each order in which runs of both sides can have been made.
TEST(Limits, OfOrdersThatAreBlocks) {
  AcceptedCases::expect([] {
    std::string text;
    for (const int of_a : {1, 2, 3, 4}) {
      for (const int of_b : {1, 2, 3, 5}) {
        text += fmt::format("{} of A, {} of B: ", of_a, of_b);
        std::string order = std::string(static_cast<std::size_t>(of_a), 'A') +
                            std::string(static_cast<std::size_t>(of_b), 'B');
        do {
          std::vector<RunProfile> a, b;
          for (std::size_t i = 0; i < order.size(); ++i) {
            RunProfile run;
            run.start_ns = static_cast<std::int64_t>(i);
            (order[i] == 'A' ? a : b).push_back(run);
          }
          text += recorded_in_blocks(a, b) ? '1' : '0';
        } while (std::next_permutation(order.begin(), order.end()));
        text += "\n";
      }
    }
    return text;
  });
}

TEST(Limits, OfValuesInTwoModes) {
  AcceptedCases::expect([] {
    std::string text;
    for (const double gap : {3.0, 5.5, 6.0, 6.5, 7.0, 12.0}) {
      for (const double least : {1.0, 6.5, 7.0, 100.0}) {
        text += fields(has_two_modes({0, 1, 1 + gap, 1 + gap}, least)) +
                fields(has_two_modes({0, 0, gap, gap + 1}, least)) +
                fields(has_two_modes({0, 0, gap}, least)) + fields(has_two_modes({0, gap, gap, gap}, least)) +
                fields(has_two_modes({gap, 0, gap, 0, gap}, least)) + " ";
      }
      text += "\n";
    }
    return text;
  });
}

TEST(Limits, OfWhatAFreshPairMustShow) {
  AcceptedCases::expect([] {
    std::string text;
    const ComparisonOptions options;
    for (const double again : {-2.0, -1.0, -0.5, 0.0, 0.5, 0.9921875, 1.0, 1.0078125, 2.0, 9.0}) {
      for (const double found : {-2.0, 2.0}) {
        Series series{{8, 8, 8, 8}, {8 + found, 8 + found, 8 + found, 8 + again}, {}, {}, 8};
        text += fields(Judge(options, {4, 4, true, 1}, false).confirmed(series)) +
                fields(Judge(options, {4, 4, true, 0}, false).confirmed(series)) + " ";
      }
    }
    return text;
  });
}

TEST(Limits, OfWhatDecides) {
  AcceptedCases::expect([] {
    std::string text;
    ComparisonOptions options;
    const Series series{{8, 8, 8, 8}, {9, 9, 9, 9}, {}, {}, 8};
    for (const bool any_order : {false, true}) {
      options.any_order = any_order;
      for (const std::size_t runs_a : {1U, 2U, 3U, 4U}) {
        for (const std::size_t runs_b : {1U, 3U}) {
          for (const bool in_blocks : {false, true}) {
            for (const bool significant : {false, true}) {
              for (const bool large : {false, true}) {
                for (const double same_p : {0.05, 0.0501, 2.0}) {
                  for (const double delta : {-1.0, 1.0}) {
                    const RunLayout layout{runs_a, runs_b, runs_a == runs_b, 0};
                    const Judge judge(options, layout, in_blocks);
                    Change change;
                    change.delta = delta;
                    if (same_p < 1) change.same_p = same_p;
                    Outcome outcome = Outcome::added;
                    OutcomeReason reason = OutcomeReason::clock;
                    judge.decide(outcome, reason, change, significant, large, series);
                    text += fmt::format("{}{} ", static_cast<int>(outcome), static_cast<int>(reason));
                  }
                }
              }
            }
          }
        }
        text += "\n";
      }
    }
    return text;
  });
}

// How many kernels say what all did together, on how many other grids it is another batch, and how many short ones
// have a prior of their own.
TEST(Limits, OfKernelsThatAreEnough) {
  for (const int kernels : {3, 4, 5, 6, 9, 10, 11, 14, 15, 16, 17, 20}) {
    AcceptedCases::expect([&] {
      std::string text;
      for (const int on_other_grid : {0, 4, 5}) {
        for (const int with_other_code : {0, 5, 6}) {
          for (const int brief : {0, 10}) {
            Lots lots(static_cast<std::uint64_t>(kernels));
            std::vector<RunProfile> sides[2];
            for (int side = 0; side < 2; ++side) {
              for (int r = 0; r < 3; ++r) {
                RunProfile run = limit_run(kernels, 2);
                for (int k = 0; k < kernels; ++k) {
                  KernelSite& site = run.sites[static_cast<std::size_t>(k)];
                  if (side == 1 && k < on_other_grid) site.shape->grid.x = 264;
                  if (side == 1 && k >= kernels - with_other_code) site.code += "x";
                }
                set_times(run, [&](int k) {
                  const double noise = 1 + 0.004 * lots.around();
                  return (k < brief ? 40'000 - (k == 0 ? 200 : 0) : 40'200 + 9'000 * k) * noise *
                         (side == 1 ? 1.03 : 1);
                });
                sides[side].push_back(run);
              }
            }
            const Comparison comparison = compare(sides[0], sides[1]).value();
            text += fields(comparison.common_mode_kernels) + fields(comparison.common_mode_of_all) +
                    fields(comparison.other_shape_kernels) + fields(comparison.common_mode) +
                    fields(comparison.verdict) + fields(comparison.kernels) + "\n";
          }
        }
      }
      return text;
    });
  }
}

// Parts of the step that are as long as what is shown, and ranges that are as many.
TEST(Limits, OfPartsThatAreShown) {
  AcceptedCases::expect([] {
    std::string text;
    for (const double ns : {499.0, 500.0, 501.0, -500.0, -499.0}) {
      for (const double of_b : {0.0, 499.0, 500.0}) {
        RunProfile a = limit_run(2), b = limit_run(2);
        a.parts.copy_hidden_ns = ns;
        b.parts.copy_hidden_ns = of_b;
        a.parts.overlap_ns = b.parts.gap_queued_ns = ns;
        const Comparison comparison = compare({a, a, a}, {b, b, b}).value();
        for (const StepMetric& part : comparison.step_metrics)
          text += part.name + " " + fields(part.outcome) + fields(part.time.delta) + "; ";
        text += "\n";
      }
    }
    for (const int ranges : {1, 2, 11, 12, 13}) {
      RunProfile a = limit_run(13), b = limit_run(13);
      for (int k = 0; k < 13; ++k) {
        const std::string name = "step / part " + std::string(1, static_cast<char>('a' + k % ranges));
        a.sites[static_cast<std::size_t>(k)].path = name;
        b.sites[static_cast<std::size_t>(12 - k)].path = name;
      }
      const Comparison comparison = compare({a, a}, {b, b}).value();
      for (const StepMetric& part : comparison.step_metrics) text += part.name + "; ";
      text += "\n";
    }
    return text;
  });
}

TEST(Limits, OfLengthsOfASeriesThatIsDivided) {
  for (const int length : {63, 64, 65, 66, 95, 96, 97, 127, 129, 144, 145, 200}) {
    AcceptedCases::expect([&] {
      Lots lots(static_cast<std::uint64_t>(length));
      std::vector<double> values;
      for (int i = 0; i < length; ++i)
        values.push_back(500 * (i >= length / 3 ? 1.02 : 1) * (1 + 0.01 * lots.around()));
      std::string text = fields(change_points(values, {.permutations = 99}));
      for (double& value : values) value = std::round(value);
      return text + fields(change_points(values, {.least = 2, .permutations = 99}));
    });
  }
}

TEST(Limits, OfSeriesThatSettle) {
  AcceptedCases::expect([] {
    std::string text;
    for (const std::size_t length :
         {2U, 3U, 6U, 15U, 16U, 17U, 126U, 127U, 128U, 130U, 131U, 193U, 260U, 261U}) {
      for (const std::size_t settles : {0U, 1U, 2U, 7U, 30U, 63U, 64U, 65U, 66U, 100U}) {
        std::vector<double> series;
        for (std::size_t i = 0; i < length; ++i)
          series.push_back(1000 + (i < settles ? 10 * static_cast<double>(settles - i) : 0));
        for (const std::size_t least : {1U, 3U, 8U}) {
          const Steady steady = steady_from(series, 0.01, least);
          text += fmt::format("{}{} ", steady.first, steady.settled ? "" : "!");
        }
        const LadderRun run = observe_times(series);
        text +=
            fmt::format("{}/{}{} {:.9g}, ", run.discarded, run.steps, run.settled ? "" : "!", run.step_ns);
      }
      text += "\n";
    }
    return text;
  });
}

TEST(Limits, OfNamesAndPatterns) {
  AcceptedCases::expect([] {
    std::string text;
    for (const std::size_t length : {159U, 160U, 161U, 400U}) {
      StoredRun run;
      run.program = std::string(length, 'p');
      StoredRun other = run;
      other.program.back() = 'q';
      for (const RunKind& kind : kinds_of({run, other})) text += kind.name + "\n";
    }
    for (const std::size_t length : {4095U, 4096U, 4097U})
      text += fields(RulePattern::compile(std::string(length, 'a')).ok());
    const RulePattern nine = RulePattern::compile("(a)(b)(c)(d)(e)(f)(g)(h)(i)(j)").value();
    for (const char* becomes : {"$1$9", "$10", "$0$1", "$&!", "$$1", "$", "a$", "$x"})
      text += " " + fields(nine.whole("abcdefghij", becomes));
    const RulePattern some = RulePattern::compile("a(b)?(c)").value();
    text += fields(some.whole("ac", "[$1$2$3]")) + fields(some.whole("abcd", "x")) +
            fields(some.found_in("xabcd")) + fields(some.found_in("xab"));
    return text;
  });
}

// Runs of B whose steps are as long as those of A: equal ends overlap.
TEST(Limits, OfModesThatOverlap) {
  AcceptedCases::expect([] {
    std::string text;
    for (const double low_b : {99.0, 100.0, 101.0, 110.0}) {
      for (const double high_b : {90.0, 99.0, 100.0, 110.0, 111.0}) {
        for (const bool two : {false, true}) {
          std::vector<RunProfile> a(2), b(2);
          a[0].step.median_ns = 100;
          a[1].step.median_ns = 110;
          b[0].step.median_ns = high_b;
          b[1].step.median_ns = low_b;
          Comparison comparison;
          comparison.b.two_modes = two;
          text += fields(modes_overlap(comparison, a, b));
          std::swap(comparison.a.two_modes, comparison.b.two_modes);
          text += fields(modes_overlap(comparison, b, a)) + " ";
        }
      }
    }
    return text;
  });
}

}  // namespace
}  // namespace ridgeline::comparison
