// compare_bench.cpp: how often `compare` is wrong, and how often it finds what is there, by model of noise.
//
// Runs are made in memory: a capture's profile with its durations multiplied by what the model says. In A/A
// both sides are the same program, and every verdict but "same" or "inconclusive" is a false alarm; with
// power one kernel takes more time in B. The draws are of seeds that are given: thresholds are not to be
// chosen by those that judge them. scripts/bench-compare runs it; docs/results/comparison.md has its table.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <iostream>
#include <optional>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "ridgeline/comparison/comparison.h"
#include "ridgeline/comparison/profile.h"

namespace ridgeline::comparison {
namespace {

constexpr double kRunNoise = 0.003;     // of everything a run does
constexpr double kKernelNoise = 0.004;  // of each kernel of a run
constexpr double kLaunchNoise = 0.01;   // of each launch
constexpr double kDrift = 0.02;         // from the first run to the last
constexpr double kClockModes = 0.03;
constexpr double kKernelModes = 0.04;
constexpr std::ptrdiff_t kModalKernels = 8;
constexpr double kModalShare = 0.01;  // of the step, at least: smaller ones are not named whatever they do
constexpr double kPlanted = 0.03;
constexpr std::int64_t kRunNs = 10'000'000'000;

struct Model {
  std::string name;
  bool drift = false, heavy = false, clock_modes = false, kernel_modes = false, blocks = false;
};

const std::vector<Model>& models() {
  static const std::vector<Model> all = {{"clean"},
                                         {.name = "drift", .drift = true},
                                         {.name = "heavy", .heavy = true},
                                         {.name = "clock-modes", .clock_modes = true},
                                         {.name = "kernel-modes", .kernel_modes = true},
                                         {.name = "blocks", .drift = true, .blocks = true}};
  return all;
}

class Laboratory {
 public:
  Laboratory(RunProfile program, const Model& model, std::uint64_t seed)
      : program_(std::move(program)), model_(model), random_(seed) {
    rest_ns_ = program_.step.median_ns - program_.kernel_ns;
  }

  struct Sides {
    std::vector<RunProfile> a, b;
  };

  /// `planted`: the site that takes kPlanted more in B; none: A/A.
  Sides experiment(std::size_t pairs, std::optional<std::size_t> planted) {
    choose_modal(planted);
    Sides sides;
    for (std::size_t i = 0; i < 2 * pairs; ++i) {
      // A B, B A, A B … or, in blocks, all of A first.
      const bool of_b = model_.blocks ? i >= pairs : (i % 4 == 1 || i % 4 == 2);
      const double when = static_cast<double>(i) / static_cast<double>(2 * pairs - 1);
      RunProfile run = made(when, of_b ? planted : std::nullopt);
      run.start_ns = program_.start_ns.value_or(0) + static_cast<std::int64_t>(i + 1) * kRunNs;
      run.path = (of_b ? "b" : "a") + std::to_string(i) + ".ridge";
      (of_b ? sides.b : sides.a).push_back(std::move(run));
    }
    return sides;
  }

 private:
  double noise(double deviation) {
    // Student's t of two degrees of freedom has no variance: its quartiles are those of 1.21 deviations.
    return model_.heavy ? deviation * heavy_(random_) : deviation * normal_(random_);
  }

  void choose_modal(std::optional<std::size_t> planted) {
    modal_.clear();
    if (!model_.kernel_modes) return;
    std::vector<std::size_t> large;
    for (std::size_t i = 0; i < program_.sites.size(); ++i) {
      if (i != planted && program_.sites[i].time_ns >= kModalShare * program_.step.median_ns)
        large.push_back(i);
    }
    std::shuffle(large.begin(), large.end(), random_);
    modal_.insert(large.begin(), large.begin() + std::min<std::ptrdiff_t>(kModalKernels, std::ssize(large)));
  }

  RunProfile made(double when, std::optional<std::size_t> planted) {
    RunProfile run = program_;
    const bool slow_clock = model_.clock_modes && coin_(random_);
    const double clock = slow_clock ? 1 + kClockModes : 1;
    const double all = std::exp(noise(kRunNoise)) * (model_.drift ? 1 + kDrift * when : 1) * clock;
    if (run.sm_clock_hz) *run.sm_clock_hz /= clock;
    run.kernel_ns = 0;
    for (std::size_t i = 0; i < run.sites.size(); ++i) {
      KernelSite& site = run.sites[i];
      // The median over the steps of the sum over the calls.
      const double launches =
          std::max(1.0, site.calls) * std::max(1.0, static_cast<double>(run.step.count)) / 1.57;
      double factor = all * std::exp(noise(kKernelNoise)) *
                      std::exp(kLaunchNoise * normal_(random_) / std::sqrt(launches));
      if (modal_.contains(i) && coin_(random_)) factor *= 1 + kKernelModes;
      if (planted == i) factor *= 1 + kPlanted;
      site.time_ns *= factor;
      if (site.cycles) *site.cycles *= factor / clock;
      run.kernel_ns += site.time_ns;
    }
    const double rest_ns = rest_ns_ * all * std::exp(noise(kKernelNoise));
    run.step.median_ns = run.kernel_ns + rest_ns;
    run.busy_ns += run.kernel_ns - program_.kernel_ns;
    run.gap_ns *= rest_ns / rest_ns_;
    return run;
  }

  RunProfile program_;
  Model model_;
  std::mt19937_64 random_;
  std::normal_distribution<double> normal_;
  std::student_t_distribution<double> heavy_{2};
  std::bernoulli_distribution coin_{0.5};
  std::set<std::size_t> modal_;
  double rest_ns_ = 0;
};

struct Counts {
  int experiments = 0, regressed = 0, improved = 0, inconclusive = 0, blamed = 0, found = 0;
};

bool is_blamed(Outcome outcome) {
  return outcome == Outcome::regressed || outcome == Outcome::improved;
}

Counts count(const RunProfile& program, const Model& model, std::size_t pairs, int experiments,
             std::optional<std::size_t> planted, std::uint64_t seed) {
  Laboratory laboratory(program, model, seed);
  Counts counts;
  for (int i = 0; i < experiments; ++i) {
    const Laboratory::Sides sides = laboratory.experiment(pairs, planted);
    const Comparison comparison = compare(sides.a, sides.b).value();
    ++counts.experiments;
    counts.regressed += comparison.verdict == ComparisonVerdict::regressed ? 1 : 0;
    counts.improved += comparison.verdict == ComparisonVerdict::improved ? 1 : 0;
    counts.inconclusive += comparison.verdict == ComparisonVerdict::inconclusive ? 1 : 0;
    bool blamed = false;
    for (const KernelChange& change : comparison.kernels) {
      const bool right = planted && !change.kernels_b.empty() &&
                         change.kernels_b.front() == program.sites[*planted].kernel &&
                         change.path == program.sites[*planted].path;
      if (right) counts.found += change.outcome == Outcome::regressed ? 1 : 0;
      blamed = blamed || (!right && is_blamed(change.outcome));
    }
    counts.blamed += blamed ? 1 : 0;
  }
  return counts;
}

// The site whose time is nearest to that share of the step.
std::size_t site_of_share(const RunProfile& program, double share) {
  const auto distance = [&](const KernelSite& site) {
    return std::abs(site.time_ns - share * program.step.median_ns);
  };
  const auto nearest =
      std::min_element(program.sites.begin(), program.sites.end(),
                       [&](const KernelSite& x, const KernelSite& y) { return distance(x) < distance(y); });
  return static_cast<std::size_t>(nearest - program.sites.begin());
}

std::string of(int count, int experiments) {
  return std::to_string(count) + " of " + std::to_string(experiments);
}

int run(const std::string& capture, int experiments, std::uint64_t seed) {
  const RunProfile program = profile_run(capture).value();
  const std::size_t planted = site_of_share(program, 0.10);
  std::cout
      << "Draws of seed " << seed << ". Power: +" << 100 * kPlanted << " % on a kernel of "
      << std::lround(100 * program.sites[planted].time_ns / program.step.median_ns) << " % of the step.\n\n"
      << "| noise | pairs | A/A: slower, faster | A/A: a kernel blamed | A/A: inconclusive | power: found | "
         "power: another kernel blamed |\n| --- | ---: | ---: | ---: | ---: | ---: | ---: |\n";
  for (const Model& model : models()) {
    for (const std::size_t pairs : {std::size_t{3}, std::size_t{5}}) {
      const Counts same = count(program, model, pairs, experiments, std::nullopt, ++seed);
      const Counts slower = count(program, model, pairs, experiments, planted, ++seed);
      std::cout << "| " << model.name << " | " << pairs << " | " << of(same.regressed, experiments) << ", "
                << same.improved << " | " << same.blamed << " | " << same.inconclusive << " | "
                << of(slower.found, experiments) << " | " << slower.blamed << " |\n"
                << std::flush;
    }
  }
  return 0;
}

}  // namespace
}  // namespace ridgeline::comparison

int main(int argc, char** argv) {
  try {
    const int experiments = argc > 1 ? std::atoi(argv[1]) : 1000;
    const std::uint64_t seed = argc > 2 ? std::strtoull(argv[2], nullptr, 10) : 20261124;
    if (experiments < 1) throw std::runtime_error("usage: compare_bench [EXPERIMENTS [SEED]]");
    return ridgeline::comparison::run(RIDGELINE_SOURCE_DIR "/examples/gpt2-h200.ridge", experiments, seed);
  } catch (const std::exception& error) {
    std::cerr << "compare_bench: " << error.what() << "\n";
    return 2;
  }
}
