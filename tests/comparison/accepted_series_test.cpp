// Series drawn by lot: histories of 1 to 30 runs on several cards with changes, ties and holes, and what is said of
// their newest run; looks at a growing number of pairs; ladders with runs that are missing, failed, equal, unsettled.
// All that is said of them is held.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>
#include <vector>

#include "history_cards.h"
#include "history_judged.h"
#include "history_newest.h"
#include "history_tails.h"
#include "modes.h"
#include "ridgeline/comparison/history.h"
#include "ridgeline/comparison/ladder.h"
#include "ridgeline/comparison/sequential.h"
#include "ridgeline/comparison/steady.h"
#include "series.h"
#include "statistics.h"
#include "support/accepted_cases.h"
#include "support/lots.h"
#include "support/temporary_directory.h"

namespace ridgeline::comparison {
namespace {

using ridgeline::testing::AcceptedCases;
using ridgeline::testing::fields;
using ridgeline::testing::Lots;

constexpr double kHole = std::numeric_limits<double>::quiet_NaN();

// A quantity over `runs` runs: levels, noise, ties, holes.
std::vector<double> drawn_series(Lots& lots, std::int64_t runs) {
  std::vector<double> values;
  double level = static_cast<double>(lots.between(50, 900));
  const double noise = lots.one_of({0.0, 0.0005, 0.004, 0.03});
  const std::int64_t change = lots.one_of<std::int64_t>({0, 5, 9, 14});
  const std::int64_t hole = lots.one_of<std::int64_t>({0, 0, 4, 12});
  const bool rounded = lots.one_in(3);
  for (std::int64_t i = 0; i < runs; ++i) {
    if (lots.one_in(change)) level *= lots.one_of({0.9, 0.996, 1.004, 1.02, 1.2});
    const double value = level * (1 + noise * lots.around());
    if (lots.one_in(hole))
      values.push_back(lots.one_in(3) ? std::numeric_limits<double>::infinity() : kHole);
    else
      values.push_back(rounded ? std::max(1.0, std::round(value)) : value);
    if (lots.one_in(25) && std::isfinite(values.back())) values.back() *= 1.5;
  }
  return values;
}

std::string changes_text(std::uint64_t seed) {
  Lots lots(seed);
  ChangeOptions options;
  options.permutations = static_cast<int>(lots.one_of<std::int64_t>({199, 99, 19}));
  options.least = static_cast<std::size_t>(lots.one_of<std::int64_t>({3, 3, 1, 5, 0}));
  options.significance = lots.one_of({0.04, 0.2, 0.01});
  options.min_ratio = lots.one_of({0.005, 0.0, 0.05});
  const std::int64_t runs = lots.one_in(8) ? lots.between(60, 140) : lots.between(1, 30);
  std::vector<std::vector<double>> series;
  const std::int64_t count = lots.between(1, 4);
  for (std::int64_t i = 0; i < count; ++i) series.push_back(drawn_series(lots, runs));
  if (lots.one_in(6)) series.back() = series.front();
  return fields(joint_change_points(series, options)) + fields(change_points(series.back(), options)) + "\n";
}

TEST(DrawnSeries, ChangeWhereTheyAreSaidToChange) {
  for (std::uint64_t sum = 0; sum < 12; ++sum) {
    AcceptedCases::expect([&] {
      std::string text;
      for (std::uint64_t seed = 20 * sum; seed < 20 * sum + 20; ++seed) text += changes_text(seed);
      return text;
    });
  }
}

std::string newest_text(std::uint64_t seed) {
  Lots lots(seed);
  const std::int64_t runs = lots.between(1, 30);
  const std::int64_t cards_there = lots.between(1, 3);
  std::vector<std::size_t> cards;
  for (std::int64_t i = 0; i < runs; ++i) cards.push_back(static_cast<std::size_t>(lots.below(cards_there)));
  if (lots.one_in(9))
    for (std::size_t i = 0; i < cards.size(); ++i) cards[i] = i;
  std::vector<NewestSeries> series;
  const std::int64_t count = lots.between(1, 9);
  for (std::int64_t s = 0; s < count; ++s) {
    NewestSeries one;
    one.name = s == 0 ? "step" : "kernel " + std::to_string(s);
    for (const double value : drawn_series(lots, runs))
      one.logs.push_back(std::isfinite(value) ? std::log(value) : kHole);
    for (std::size_t i = 0; i < one.logs.size(); ++i) one.logs[i] += 0.01 * static_cast<double>(cards[i]);
    if (lots.one_in(3)) one.logs.back() += lots.one_of({-0.2, -0.03, 0.006, 0.02, 0.09});
    if (lots.one_in(3)) one.since = static_cast<std::size_t>(lots.below(runs));
    series.push_back(one);
  }
  std::string text = fields(newest_run(series, cards));
  for (const NewestSeries& one : series) {
    const std::vector<std::size_t> before = runs_before(one);
    text += fields(before) + fields(without_cards(one.logs, cards)) + fields(card_noise(one.logs, cards));
    if (const auto found = deviation_of(one, cards, one.logs.size() - 1, before, 2.5)) text += fields(*found);
  }
  const Tails tails = tails_of(series, cards);
  text += fields(tails) + fields(together(tails, {3, 4.5}));
  for (const double p : {0.0, 1e-9, 0.01, 0.3, 1.0}) text += " " + fields(with_tails(p, tails, 10));
  return text + "\n";
}

TEST(DrawnSeries, TellWhatTheirNewestRunIs) {
  for (std::uint64_t sum = 0; sum < 12; ++sum) {
    AcceptedCases::expect([&] {
      std::string text;
      for (std::uint64_t seed = 15 * sum; seed < 15 * sum + 15; ++seed) text += newest_text(seed);
      return text;
    });
  }
}

// Runs of two programs that come one after the other: on cards, with drivers, names, commits.
std::vector<RunProfile> drawn_runs(Lots& lots, std::int64_t count, std::int64_t first) {
  std::vector<RunProfile> runs;
  const double noise = lots.one_of({0.0, 0.001, 0.01});
  const std::int64_t cards = lots.between(1, 3);
  double factor = 1;
  for (std::int64_t i = 0; i < count; ++i) {
    if (lots.one_in(8)) factor *= lots.one_of({0.8, 1.01, 1.3});
    RunProfile run;
    run.path = "run" + std::to_string(i) + ".ridge";
    run.command_line = lots.one_in(7) ? "./other" : "./train --fast";
    run.host_name = lots.one_in(9) ? "rack" : "box";
    run.start_ns = 1'000'000 * (first + (lots.one_in(12) ? i - 1 : i));
    run.git_commit = lots.one_in(9) ? "" : "c" + std::to_string((first + i) / 2);
    if (lots.one_in(3)) run.git_dirty = lots.one_in(2);
    const std::int64_t card = lots.below(cards);
    run.devices.push_back(
        {lots.one_in(12) ? "NVIDIA H100" : "NVIDIA H200", "GPU-" + std::to_string(card), 132});
    if (lots.one_in(10)) run.devices.push_back({"NVIDIA H200", "GPU-9", 132});
    if (!lots.one_in(12)) run.versions["driver"] = lots.one_in(12) ? "590" : "580";
    if (lots.one_in(4)) run.versions["cuda_driver"] = "13.0";
    const std::int64_t kernels = lots.between(3, 9);
    for (std::int64_t k = 0; k < kernels; ++k) {
      KernelSite site;
      site.path = k % 3 == 0 ? "" : "step / layer *";
      site.family = "kernel " + std::to_string(k % 5);
      const double drawn = 1 + noise * lots.around();
      site.time_ns = std::round(1000.0 * static_cast<double>(1 + k) * factor * drawn);
      if (lots.one_in(25)) site.time_ns = 0;
      run.kernel_ns += site.time_ns;
      run.sites.push_back(site);
    }
    run.order.resize(static_cast<std::size_t>(lots.one_in(9) ? lots.between(90, 130) : 100));
    run.step.median_ns = lots.one_in(30) ? 0 : run.kernel_ns + 500;
    runs.push_back(run);
  }
  return runs;
}

std::string accepting(History& history, const std::string& commit, const std::string& reason,
                      const std::string& series) {
  const auto done = history.accept(commit, reason, series);
  return done ? " accepted" : " " + fields(done.failure());
}

std::string history_text(std::uint64_t seed) {
  Lots lots(seed);
  const ridgeline::testing::TemporaryDirectory directory;
  History history = History::open(directory / "history").value();
  const std::int64_t runs = lots.one_in(4) ? lots.between(1, 6) : lots.between(7, 30);
  std::string text = "added " + std::to_string(history.add(drawn_runs(lots, runs, 100)));
  AddOptions options;
  options.policy = "locked";
  options.name = "mine";
  if (lots.one_in(2)) text += " " + std::to_string(history.add(drawn_runs(lots, 7, 150), options));
  if (lots.one_in(2)) {
    History other = History::open(directory / "other").value();
    text += " " + std::to_string(other.add(drawn_runs(lots, 5, 120)));
    text += accepting(other, "c60", "of another file", "");
    for (int again = 0; again < 2; ++again) text += fields(history.merge(directory / "other"));
  }
  for (const char* commit : {"c50", "c6", "c", "", "c53"}) {
    if (!lots.one_in(2)) continue;
    text += accepting(history, commit, "meant", lots.one_in(2) ? "" : "step");
  }
  const std::size_t kernels = static_cast<std::size_t>(lots.one_of<std::int64_t>({20, 3, 0}));
  return text + "\nruns " + std::to_string(history.runs()) + fields(history.report(kernels)) + "\n";
}

TEST(DrawnHistories, AreReportedWhole) {
  for (std::uint64_t seed = 1; seed <= 8; ++seed) AcceptedCases::expect([&] { return history_text(seed); });
}

// What each of many kinds of runs must show grows with their number, and so do the permutations that can show it.
TEST(DrawnHistories, OfManyKindsNeedMorePermutations) {
  AcceptedCases::expect([] {
    Lots lots(7);
    const ridgeline::testing::TemporaryDirectory directory;
    History history = History::open(directory / "history").value();
    std::vector<RunProfile> runs;
    for (int i = 0; i < 108; ++i) {
      RunProfile run;
      run.command_line = "./program_" + std::to_string(i % 9);
      run.host_name = "box";
      run.start_ns = 1'000'000 + i;
      run.git_commit = "c" + std::to_string(i);
      run.devices = {{"NVIDIA H200", "GPU-1", 132}};
      const double noise = 1 + 0.002 * lots.around();
      const double change = 1 + 0.0015 * static_cast<double>(i % 9);
      run.step.median_ns = std::round(1e6 * noise * (i >= 54 ? change : 1));
      run.order.resize(10);
      runs.push_back(run);
    }
    const std::string added = std::to_string(history.add(runs));
    return added + fields(history.report(0));
  });
}

// Pairs come one after the other until a look settles it, or there are no more.
std::string looks_text(std::uint64_t seed) {
  Lots lots(seed);
  const int first = static_cast<int>(lots.between(2, 4));
  const int last = static_cast<int>(lots.between(first, first + 5));
  const double change = lots.one_of({0.0, 0.004, 0.02, 0.1}), noise = lots.one_of({0.0005, 0.003, 0.02});
  const double alpha = lots.one_of({0.05, 0.01, 0.2});
  const auto differ = nominal_levels(Spending::obrien_fleming, alpha, first, last);
  const auto agree = nominal_levels(Spending::pocock, alpha, first, last);
  std::string text = fields(differ) + fields(agree);
  std::vector<RunProfile> a, b;
  ComparisonOptions all;
  all.alpha = all.equivalence_alpha = alpha;
  all.min_pairs = first;
  for (int pairs = 1; pairs <= last; ++pairs) {
    for (auto* side : {&a, &b}) {
      RunProfile run;
      run.path = "run" + std::to_string(a.size() + b.size());
      run.command_line = "./train";
      run.start_ns = static_cast<std::int64_t>(a.size() + b.size());
      for (int k = 0; k < 6; ++k) {
        KernelSite site;
        site.path = "step / forward";
        site.kernel = site.family = "kernel_" + std::to_string(k);
        site.code = "c";
        site.calls = 1;
        const double drawn = 1 + noise * lots.around();
        site.time_ns = std::round(1e5 * (k + 1) * drawn * (side == &b && k == 3 ? 1 + 5 * change : 1));
        run.kernel_ns += site.time_ns;
        run.sites.push_back(site);
      }
      run.step.count = 9;
      run.step.median_ns = run.kernel_ns + 20'000;
      side->push_back(run);
    }
    if (pairs < first) continue;
    ComparisonOptions look = all;
    look.alpha = differ[static_cast<std::size_t>(pairs - first)];
    look.equivalence_alpha = agree[static_cast<std::size_t>(pairs - first)];
    const Comparison comparison = compare(a, b, look).value();
    text += fields(comparison.verdict) + fields(comparison.step()) + fields(comparison.kernels);
    if (is_settled(comparison, all)) return text + "settled after " + std::to_string(pairs) + "\n";
  }
  return text + "open\n";
}

TEST(DrawnLooks, StopWhereTheyAreSettled) {
  for (std::uint64_t sum = 0; sum < 12; ++sum) {
    AcceptedCases::expect([&] { return looks_text(2 * sum) + looks_text(2 * sum + 1); });
  }
}

TEST(DrawnLooks, SpendWhatTheyMayAtAnyFractions) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    AcceptedCases::expect([&] {
      Lots lots(seed);
      std::vector<double> fractions;
      double at = 0;
      const std::int64_t looks = lots.between(1, 4);
      for (std::int64_t i = 0; i < looks; ++i) fractions.push_back(at += 0.02 + lots.part() / 4);
      fractions.push_back(1);
      const double alpha = lots.one_of({0.05, 0.001, 0.3});
      const auto spending = lots.one_in(2) ? Spending::obrien_fleming : Spending::pocock;
      return fields(fractions) + fields(nominal_levels(spending, alpha, fractions)) + "\n";
    });
  }
}

LadderRecord drawn_ladder(Lots& lots) {
  LadderRecord record;
  record.name = "drawn";
  record.begun = "2026-11-28T12:00:00Z";
  record.source = lots.one_in(2) ? LadderSource::recording : LadderSource::output;
  record.end = static_cast<LadderEnd>(lots.below(4));
  record.order_seed = lots.below(100);
  record.seconds = static_cast<double>(lots.between(0, 9000)) / 8;
  const std::int64_t rungs = lots.between(1, 5);
  record.questions.alone = !lots.one_in(3);
  record.questions.left_out = !lots.one_in(3);
  record.questions.shapley = lots.one_in(3);
  record.options.min_rounds = lots.between(1, 5);
  record.options.margin_ratio = lots.one_of({0.003, 0.03, 0.0005});
  record.options.alpha = lots.one_of({0.05, 0.2});
  record.options.loss_margin_ratio = lots.one_of({0.005, 0.05});
  record.look_alpha = lots.one_of({0.05, 0.01});
  record.look_equivalence_alpha = lots.one_of({0.05, 0.2});
  std::vector<RungSet> needs;
  std::vector<double> saved;
  for (std::int64_t i = 0; i < rungs; ++i) {
    LadderRungFacts facts;
    facts.name = "rung " + std::to_string(i);
    facts.change = "--with " + std::to_string(i);
    RungSet set = 0;
    for (std::int64_t j = 0; j < i; ++j) {
      if (!lots.one_in(4)) continue;
      facts.needs.push_back(static_cast<std::size_t>(j));
      set |= RungSet{1} << static_cast<unsigned>(j);
    }
    if (lots.one_in(4)) {
      facts.choices = {{"small", {1e6, 1.1e6}}, {"large", {2e6}}};
      if (lots.one_in(2)) facts.chosen = static_cast<std::size_t>(lots.below(2));
    }
    needs.push_back(set);
    saved.push_back(lots.one_of({0.0, 0.0, 0.002, 0.01, 0.2, -0.05}));
    record.rungs.push_back(facts);
  }
  record.arms = ladder_design(needs, record.questions).value().arms;
  for (std::size_t arm = 0; arm < record.arms.size(); ++arm) {
    const bool again = arm > 0 && lots.one_in(8);
    if (again) {
      record.program_of_arm.push_back(record.program_of_arm[static_cast<std::size_t>(
          lots.below(static_cast<std::int64_t>(record.program_of_arm.size())))]);
      continue;
    }
    record.program_of_arm.push_back(record.programs.size());
    LadderProgram program;
    program.command = "./program " + std::to_string(arm);
    if (lots.one_in(12)) program.failure = "exit status 1";
    const std::int64_t kernels = lots.below(4);
    for (std::int64_t k = 0; k < kernels; ++k) {
      const std::int64_t name = lots.below(5);
      program.kernels["kernel_" + std::to_string(name)] = static_cast<double>(lots.between(1, 9));
    }
    record.programs.push_back(program);
  }
  const double noise = lots.one_of({0.0, 0.0005, 0.004, 0.05});
  record.rounds = lots.between(0, 8);
  const bool losses = lots.one_in(2), equal_losses = lots.one_in(3);
  const double of_loss = lots.one_of({0.0001, 0.01});
  for (std::int64_t round = 1; round <= record.rounds; ++round) {
    std::vector<bool> ran(record.programs.size(), false);
    for (std::size_t arm = 0; arm < record.arms.size(); ++arm) {
      const std::size_t program = record.program_of_arm[arm];
      if (ran[program] || lots.one_in(15)) continue;
      ran[program] = true;
      double factor = 1;
      for (std::size_t i = 0; i < saved.size(); ++i) {
        if ((record.arms[arm] >> i & 1U) != 0) factor *= 1 - saved[i];
      }
      LadderRun run;
      run.program = program;
      run.round = round;
      run.seed = 1 + round % lots.one_of<std::int64_t>({1, 2, 4});
      const double drawn = 1 + noise * lots.around();
      run.step_ns = std::round(5e7 * factor * drawn);
      run.steps = lots.between(1, 40);
      run.discarded = lots.below(3);
      run.settled = !lots.one_in(6);
      if (!lots.one_in(4)) run.sm_clock_hz = 1.7e9 + 1e6 * static_cast<double>(lots.below(9));
      if (!lots.one_in(4)) run.power_w = static_cast<double>(lots.between(300, 700));
      if (!lots.one_in(4)) run.joules_per_step = static_cast<double>(lots.between(10, 40));
      if (lots.one_in(4)) run.peak_memory_bytes = 1e9 * static_cast<double>(lots.between(1, 80));
      if (lots.one_in(4)) run.launches = static_cast<double>(lots.between(100, 900));
      const double loss = 3 + of_loss * lots.around();
      if (losses && !lots.one_in(6)) run.loss = equal_losses ? 3.25 : loss;
      if (lots.one_in(60)) run.loss = lots.one_of({0.0, 1e30, -2.0});
      if (lots.one_in(3)) run.device = "NVIDIA H200";
      record.runs.push_back(run);
    }
  }
  if (lots.one_in(30) && !record.runs.empty()) record.runs.push_back(record.runs.front());
  if (lots.one_in(30) && !record.runs.empty())
    record.runs.front().step_ns = lots.one_of({0.0, 1e-3, 1e18, 2e18});
  return record;
}

std::string ladder_text_of(std::uint64_t seed) {
  Lots lots(seed);
  const LadderRecord record = drawn_ladder(lots);
  const auto result = analyse_ladder(record);
  std::string text = fields(result);
  if (result) text += is_settled(result.value()) ? " settled" : " open";
  const std::string written = ladder_text(record);
  text += "\nwritten " + std::to_string(written.size()) + " " +
          ridgeline::testing::text_sum_in_hex(ridgeline::testing::text_sum(written));
  const auto again = parse_ladder(written);
  if (!again || ladder_text(again.value()) != written) text += " and not read as it was";
  // A value of it is another, or gone.
  for (int i = 0; i < 12; ++i) {
    std::string damaged = written;
    const std::size_t colon =
        damaged.find(": ", static_cast<std::size_t>(lots.below(static_cast<std::int64_t>(written.size()))));
    if (colon == std::string::npos) continue;
    const std::size_t end = std::min(damaged.find('\n', colon), damaged.size());
    const bool comma = damaged[end - 1] == ',';
    const char* instead =
        lots.one_of({"-1", "0", "1", "1.5", "\"x\"", "[]", "{}", "null", "true", "1e31", "40"});
    damaged = damaged.substr(0, colon + 2) + instead + (comma ? "," : "") + damaged.substr(end);
    const auto read = parse_ladder(damaged);
    text += "\n" + (read ? fields(analyse_ladder(read.value())) : read.failure().message);
  }
  return text + "\n";
}

TEST(DrawnLadders, AreAnalysedWrittenAndRead) {
  for (std::uint64_t sum = 0; sum < 12; ++sum) {
    AcceptedCases::expect([&] {
      std::string text;
      for (std::uint64_t seed = 5 * sum; seed < 5 * sum + 5; ++seed) text += ladder_text_of(seed);
      return text;
    });
  }
}

// The numbers behind comparisons, of values that tie, of none, one and many.
std::string statistics_text(std::uint64_t seed) {
  Lots lots(seed);
  const std::int64_t count = lots.below(9);
  std::vector<double> values, others, shares;
  std::vector<std::pair<double, double>> weighted;
  const std::int64_t kinds = lots.one_of<std::int64_t>({1, 3, 1000});
  for (std::int64_t i = 0; i < count; ++i) {
    values.push_back(static_cast<double>(lots.below(kinds)) / 64);
    others.push_back(static_cast<double>(lots.below(kinds)) / 32);
    shares.push_back(static_cast<double>(lots.below(kinds)) / 1000);
    const double value = static_cast<double>(lots.below(4));
    weighted.emplace_back(value, static_cast<double>(lots.below(3)));
  }
  std::string text = fields(weighted_median(weighted)) + fields(adjusted_p_values(shares)) +
                     fields(holm_p_values(shares)) + fields(has_two_modes(values, 0.01)) +
                     fields(fit_variance_prior(values, static_cast<double>(count)));
  const double margin = lots.one_in(12) ? 0 : static_cast<double>(lots.between(1, 6)) / 32;
  for (const auto& sample : {paired_sample(values), two_samples(values, others)}) {
    if (!sample) continue;
    text += fields(*sample) + fields(sample->standard_error()) + fields(p_value(*sample)) +
            fields(p_value_beyond(*sample, margin)) + fields(p_value_within(*sample, margin)) +
            fields(half_width(*sample, 0.1)) + fields(detectable_mean(*sample, 0.1, 0.9)) +
            fields(pairs_needed(sample->variance, 2, margin, 0.05)) +
            fields(moderated(*sample, {0.01, static_cast<double>(lots.below(4))}));
  }
  const double drift = lots.one_of({0.01, 0.2});
  const std::int64_t least = lots.between(1, 4);
  text += fields(steady_from(others, drift, static_cast<std::size_t>(least)));
  Series series{values, others, {}, {}, lots.one_in(2) ? 0.0 : 2.0};
  if (lots.one_in(4)) series.b.resize(series.b.size() / 2);
  if (lots.one_in(3)) {
    for (double& value : series.a) value += 1;
    for (double& value : series.b) value += 1;
  }
  const bool paired = series.a.size() == series.b.size() && lots.one_in(2);
  RunLayout layout{series.a.size(), series.b.size(), paired, 0};
  if (paired && layout.runs_a > 1 && lots.one_in(2)) layout.confirmation = 1;
  text += fields(series.usable());
  const auto sample = sample_of(series, layout);
  Demand demand;
  demand.margin_ratio = margin;
  demand.beyond_margin = lots.one_in(2);
  Change change = change_of(series, layout, sample, demand);
  text += fields(change) + fields(confirmation_difference(series, layout));
  if (sample) take_equivalence_interval(change, *sample, 0.1, series.unit);
  return text + fields(change) + "\n";
}

TEST(DrawnNumbers, AreWhatTheyWere) {
  for (std::uint64_t sum = 0; sum < 12; ++sum) {
    AcceptedCases::expect([&] {
      std::string text;
      for (std::uint64_t seed = 6 * sum; seed < 6 * sum + 6; ++seed) text += statistics_text(seed);
      return text;
    });
  }
}

// Kernels in two modes, of which chance has sorted some by side.
std::string modes_text(std::uint64_t seed) {
  Lots lots(seed);
  const std::int64_t kernels = lots.between(3, 40), runs_a = lots.between(1, 5), runs_b = lots.between(1, 5);
  std::vector<Series> all;
  const double apart = lots.one_of({0.01, 0.05, 0.2});
  for (std::int64_t k = 0; k < kernels; ++k) {
    Series series;
    const bool two = lots.one_in(3);
    const double base = static_cast<double>(lots.between(10'000, 900'000));
    for (std::int64_t i = 0; i < runs_a + runs_b; ++i) {
      const double noise = 1 + 0.001 * lots.around();
      const double value = std::round(base * noise * (two && lots.one_in(2) ? 1 + apart : 1));
      (i < runs_a ? series.a : series.b).push_back(value);
    }
    all.push_back(series);
  }
  std::vector<const Series*> pointers;
  for (const Series& series : all) pointers.push_back(&series);
  const KernelModes modes = find_modes(pointers, 0.009);
  std::string text = fields(modes);
  for (const double part : {0.5, 1.0, 1.49, 1.51, 3.0})
    text +=
        fields(may_be_modes(modes, part * modes.widest)) + fields(may_be_modes(modes, -part * modes.widest));
  return text + "\n";
}

TEST(DrawnModes, AreSeen) {
  for (std::uint64_t sum = 0; sum < 12; ++sum) {
    AcceptedCases::expect([&] {
      std::string text;
      for (std::uint64_t seed = 10 * sum; seed < 10 * sum + 10; ++seed) text += modes_text(seed);
      return text;
    });
  }
}

}  // namespace
}  // namespace ridgeline::comparison
