// history_bench: how often `history` cries wolf, and what it finds: histories of made-up runs through the library, no
// GPU. Part of scripts/bench-compare.
#include <fmt/format.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <functional>
#include <random>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/comparison/history.h"
#include "support/temporary_directory.h"

namespace ridgeline::comparison {
namespace {

constexpr int kKernels = 29;  // with the step 30 series

// How runs of identical code differ.
struct Noise {
  double run = 0.003;     // of all kernels of a run together
  double kernel = 0.004;  // of each
  int tails = 0;          // degrees of freedom of Student's t; 0: normal
  double drift = 0;       // from the first run to the last
  double card = 0;        // between cards
};

// Which card each run is on.
enum class Cards { one, in_turn, blocks, each };

struct Plan {
  std::string name;
  int runs = 12;
  Noise noise;
  Cards cards = Cards::one;
  int programs = 1;    // each with so many runs
  int change_at = -1;  // the first run with the change
  int kernel = -1;     // that changes; -1: none
  double factor = 1;
};

class Simulation {
 public:
  explicit Simulation(std::uint64_t seed) : random_(seed) {}

  std::vector<RunProfile> runs(const Plan& plan) {
    std::vector<double> of_card(static_cast<std::size_t>(plan.runs));
    for (double& card : of_card) card = plan.noise.card * normal();
    std::vector<RunProfile> runs;
    for (int i = 0; i < plan.runs; ++i) {
      const int card = plan.cards == Cards::each      ? i
                       : plan.cards == Cards::in_turn ? i % 2
                       : plan.cards == Cards::blocks  ? i * 3 / plan.runs
                                                      : 0;
      for (int program = 0; program < plan.programs; ++program)
        runs.push_back(run(plan, i, program, card, of_card[static_cast<std::size_t>(card)]));
    }
    return runs;
  }

 private:
  double normal() { return normal_(random_); }
  double draw(const Noise& noise) {
    if (noise.tails == 0) return normal();
    double squares = 0;
    for (int i = 0; i < noise.tails; ++i) {
      const double one = normal();
      squares += one * one;
    }
    return normal() / std::sqrt(squares / noise.tails);
  }

  RunProfile run(const Plan& plan, int number, int program, int card, double card_log) {
    RunProfile run;
    run.command_line = fmt::format("./train{}", program);
    run.git_commit = fmt::format("{:04d}", number);
    run.host_name = "box";
    run.start_ns = 1'700'000'000'000'000'000 + (number * 10LL + program) * 1'000'000'000;
    run.devices = {{"NVIDIA H200", fmt::format("GPU-{}", card), 132}};
    const double common =
        card_log + plan.noise.run * draw(plan.noise) + plan.noise.drift * number / std::max(1, plan.runs - 1);
    double sum = 0;
    for (int k = 0; k < kKernels; ++k) {
      KernelSite site;
      site.family = fmt::format("kernel{:02d}", k);
      // The first takes a tenth of the step, the last a hundredth of that.
      const double time_ns = 5e6 * std::pow(0.01, static_cast<double>(k) / (kKernels - 1));
      site.time_ns = time_ns * std::exp(common + plan.noise.kernel * draw(plan.noise));
      if (k == plan.kernel && number >= plan.change_at) site.time_ns *= plan.factor;
      sum += site.time_ns;
      run.order.push_back(static_cast<std::uint32_t>(k));
      run.sites.push_back(std::move(site));
    }
    run.step.median_ns = sum * 1.05;
    return run;
  }

  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
};

// A kernel's factor that makes the step slower by 3 %.
double factor_for_step(int kernel, double share) {
  double sum = 0, own = 0;
  for (int k = 0; k < kKernels; ++k) {
    const double time = std::pow(0.01, static_cast<double>(k) / (kKernels - 1));
    sum += time;
    if (k == kernel) own = time;
  }
  return 1 + share * 1.05 * sum / own;
}

struct Score {
  int changes = 0;    // found
  int histories = 0;  // with one that is none
  int found = 0;      // the change of the step, or of the kernel if the step's is not looked at
  int exact = 0;      // at its commit
};

// The former rule: each series by itself at 5 %.
bool changed_alone(const HistorySeries& series) {
  std::vector<double> values;
  for (const HistoryValue& value : series.values) values.push_back(value.value_ns);
  return !change_points(values, {.permutations = 199}).empty();
}

Score score(const Plan& plan, int count, const std::string& looked_at, bool alone) {
  Score result;
  for (int i = 0; i < count; ++i) {
    const ridgeline::testing::TemporaryDirectory directory;
    History history = History::open(directory.file("h.db")).value();
    (void)history.add(Simulation(static_cast<std::uint64_t>(i) + 1).runs(plan));
    int here = 0;
    bool found = false, exact = false;
    for (const HistorySeries& series : history.report(kKernels).series) {
      if (alone) {
        here += changed_alone(series) ? 1 : 0;
        continue;
      }
      for (const HistoryChange& change : series.changes) {
        ++here;
        if (series.name != looked_at) continue;
        found = true;
        exact = exact || static_cast<int>(change.point.at) == plan.change_at;
      }
    }
    result.changes += here;
    result.histories += here > 0 ? 1 : 0;
    result.found += found ? 1 : 0;
    result.exact += exact ? 1 : 0;
  }
  return result;
}

// Rows whose name has `pattern` in it. Without one, all, beside what each series tested alone would find, which takes
// as long again.
void false_changes(int count, std::string_view pattern) {
  const Noise heavy{.tails = 2};
  const Noise cards{.card = 0.01};
  const std::vector<Plan> plans = {
      {.name = "12 runs", .runs = 12},
      {.name = "24 runs", .runs = 24},
      {.name = "60 runs", .runs = 60},
      {.name = "12 runs, Student t₂", .runs = 12, .noise = heavy},
      {.name = "24 runs, Student t₂", .runs = 24, .noise = heavy},
      {.name = "24 runs, two cards in turn", .runs = 24, .noise = cards, .cards = Cards::in_turn},
      {.name = "24 runs, three cards one after the other",
       .runs = 24,
       .noise = cards,
       .cards = Cards::blocks},
      {.name = "24 runs, each on another card", .runs = 24, .noise = cards, .cards = Cards::each},
      {.name = "four programs of 12 runs", .runs = 12, .programs = 4},
      {.name = "24 runs, 2 % drift (which is a change)", .runs = 24, .noise = {.drift = 0.02}},
  };
  const bool all = pattern.empty();
  fmt::print("| identical code | histories with a change | changes |{}\n",
             all ? " each series alone at 5 %: histories |" : "");
  fmt::print("| --- | ---: | ---: |{}\n", all ? " ---: |" : "");
  for (const Plan& plan : plans) {
    if (plan.name.find(pattern) == std::string::npos) continue;
    const Score now = score(plan, count, "", false);
    fmt::print("| {} | {} of {} | {} |", plan.name, now.histories, count, now.changes);
    if (all) fmt::print(" {} of {} |", score(plan, count, "", true).histories, count);
    fmt::print("\n");
    std::fflush(stdout);
  }
}

void power(int count) {
  const Noise heavy{.tails = 2};
  const Noise cards{.card = 0.01};
  const double step = factor_for_step(0, 0.03);
  const std::vector<std::pair<Plan, std::string>> plans = {
      {{.name = "step +3 %, 12 runs, in the middle", .runs = 12, .change_at = 6, .kernel = 0, .factor = step},
       "step"},
      {{.name = "step +3 %, 24 runs, in the middle",
        .runs = 24,
        .change_at = 12,
        .kernel = 0,
        .factor = step},
       "step"},
      {{.name = "step +3 %, 24 runs, the last 4", .runs = 24, .change_at = 20, .kernel = 0, .factor = step},
       "step"},
      {{.name = "step +3 %, 24 runs, Student t₂",
        .runs = 24,
        .noise = heavy,
        .change_at = 12,
        .kernel = 0,
        .factor = step},
       "step"},
      {{.name = "step +3 %, 24 runs, two cards in turn",
        .runs = 24,
        .noise = cards,
        .cards = Cards::in_turn,
        .change_at = 12,
        .kernel = 0,
        .factor = step},
       "step"},
      {{.name = "step +3 %, 24 runs, each on another card",
        .runs = 24,
        .noise = cards,
        .cards = Cards::each,
        .change_at = 12,
        .kernel = 0,
        .factor = step},
       "step"},
      {{.name = "a kernel +3 %, 12 runs", .runs = 12, .change_at = 6, .kernel = 3, .factor = 1.03},
       "kernel03"},
      {{.name = "a kernel +3 %, 24 runs", .runs = 24, .change_at = 12, .kernel = 3, .factor = 1.03},
       "kernel03"},
  };
  fmt::print("\n| change | found | at its commit |\n| --- | ---: | ---: |\n");
  for (const auto& [plan, series] : plans) {
    const Score result = score(plan, count, series, false);
    fmt::print("| {} | {} of {} | {} |\n", plan.name, result.found, count, result.exact);
    std::fflush(stdout);
  }
}

// What the line on the newest run says in so many histories.
struct Told {
  int slower = 0, faster = 0;
  int kernels = 0;  // histories with a kernel named
  int any = 0;      // with either
};

Told told(Plan plan, double share, int count) {
  plan.factor = factor_for_step(0, share);
  Told told;
  for (int i = 0; i < count; ++i) {
    const ridgeline::testing::TemporaryDirectory directory;
    History history = History::open(directory.file("h.db")).value();
    (void)history.add(Simulation(static_cast<std::uint64_t>(i) + 1'000'000).runs(plan));
    const NewestRun run = history.report(kKernels).newest.front();
    told.slower += run.verdict == NewestVerdict::slower ? 1 : 0;
    told.faster += run.verdict == NewestVerdict::faster ? 1 : 0;
    told.kernels += run.kernels.empty() ? 0 : 1;
    told.any += run.verdict != NewestVerdict::undecided || !run.kernels.empty() ? 1 : 0;
  }
  return told;
}

void newest(int count, int max_before) {
  fmt::print(
      "\n| the newest run | runs before it | identical: slower or faster | identical: a kernel named | "
      "identical: either | +3 %: slower | +1 %: slower | +6 %: slower |\n");
  fmt::print("| --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n");
  const std::vector<std::pair<std::string, Noise>> noises = {
      {"0.3 % between runs", {}},
      {"1 % between runs", {.run = 0.01}},
      {"2 % between runs", {.run = 0.02}},
      {"0.3 % between runs, Student t₂", {.tails = 2}}};
  for (const auto& [name, noise] : noises) {
    for (const int before : {1, 2, 3, 5, 10, 20}) {
      if (before > max_before) break;
      const Plan plan{.runs = before + 1, .noise = noise, .change_at = before, .kernel = 0};
      const Told same = told(plan, 0, count);
      fmt::print("| {} | {} | {} of {} | {} | {} | {} | {} | {} |\n", name, before, same.slower + same.faster,
                 count, same.kernels, same.any, told(plan, 0.03, count).slower,
                 told(plan, 0.01, count).slower, told(plan, 0.06, count).slower);
      std::fflush(stdout);
    }
  }
}

}  // namespace
}  // namespace ridgeline::comparison

int main(int argc, char** argv) {
  const int count = argc > 1 ? std::atoi(argv[1]) : 200;
  const std::string_view part = argc > 2 ? argv[2] : "";
  if (count < 1 || (!part.empty() && part != "newest" && part != "identical")) {
    std::fprintf(stderr,
                 "usage: history_bench [HISTORIES of each kind, default 200] [newest [RUNS BEFORE at most] | "
                 "identical [PART OF A ROW'S NAME]]\n");
    return 2;
  }
  if (part == "identical") {
    ridgeline::comparison::false_changes(count, argc > 3 ? argv[3] : "runs");
    return 0;
  }
  if (part.empty()) {
    ridgeline::comparison::false_changes(count, "");
    ridgeline::comparison::power(count);
  }
  ridgeline::comparison::newest(count, argc > 3 ? std::atoi(argv[3]) : 20);
  return 0;
}
