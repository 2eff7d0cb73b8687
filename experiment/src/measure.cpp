#include "ridgeline/experiment/measure.h"

#include <fmt/format.h>

#include <algorithm>

#include "ridgeline/base/units.h"
#include "ridgeline/comparison/sequential.h"

namespace ridgeline::experiment {
namespace {

using comparison::Comparison;
using Clock = std::chrono::steady_clock;

constexpr int kFirstLook = 3;
// More rounds than are expected to fit in the time share the error, since later ones may be faster.
constexpr double kMoreRounds = 1.25;
constexpr std::chrono::seconds kWorthTelling{60};

std::vector<Contrast> contrasts_of(std::size_t variants, const MeasurePlan& plan) {
  if (variants < 2) throw Error(ErrorKind::usage, "one variant alone cannot be compared");
  std::vector<Contrast> contrasts = plan.contrasts;
  for (std::size_t b = 1; plan.contrasts.empty() && b < variants; ++b) contrasts.push_back({0, b});
  for (const Contrast& contrast : contrasts) {
    if (contrast.a >= variants || contrast.b >= variants || contrast.a == contrast.b)
      throw Error(ErrorKind::usage, fmt::format("variants {} and {} of {} cannot be compared", contrast.a,
                                                contrast.b, variants));
  }
  return contrasts;
}

class Measurement {
 public:
  Measurement(const std::vector<Variant>& variants, const MeasurePlan& plan, ExperimentDirectory& directory,
              Interruption* interruption)
      : plan_(plan),
        contrasts_(contrasts_of(variants.size(), plan)),
        options_(plan.compare),
        most_(plan.rounds),
        unit_(variants.size() == 2 ? "pair" : "round"),
        rounds_(variants, plan.recording, directory, interruption) {
    const auto several = static_cast<double>(contrasts_.size());
    options_.alpha /= several;
    options_.equivalence_alpha /= several;
    options_.false_discovery_rate /= several;
    if (plan.look && most_ >= kFirstLook) spend_until(most_);
    for (std::size_t variant = 0; variant < variants.size(); ++variant) variants_.push_back(variant);
  }

  Measured run() {
    std::vector<Comparison> comparisons;
    bool settled = false;
    bool kept = false;  // a round that could confirm a difference, if there is one
    while (!settled && done() < most_ && (done() < options_.min_pairs || in_budget())) {
      record();
      forecast();
      if (!plan_.look || done() < kFirstLook) continue;
      comparisons = compare(0);
      settled = all_settled(comparisons);
    }
    if (!plan_.look || done() < kFirstLook) {
      comparisons = compare(0);
    } else if (!settled && (done() < most_ || plan_.budget)) {
      // The time is up: this look is the last, and what error the later ones would have spent is its own.
      spend_until(done());
      kept = plan_.confirm && plan_.budget && done() < plan_.rounds && left() >= expected_round();
      if (kept) spend_on_sameness_until(done() + 1);
      comparisons = compare(0);
    }
    if (plan_.look && plan_.confirm && any_found(comparisons)) {
      tell(fmt::format("found a difference: one more {} must show it again", unit_));
      const auto looked = done();
      record();
      comparisons = compare(done() - looked);
    } else if (kept && !all_settled(comparisons)) {
      use_kept_round(comparisons);
    }
    Measured measured{std::move(comparisons), {}};
    for (const std::size_t variant : variants_) measured.captures.push_back(rounds_.captures(variant));
    return measured;
  }

 private:
  [[nodiscard]] std::int64_t done() const { return rounds_.done(); }
  void tell(const std::string& line) const {
    if (plan_.tell) plan_.tell(line);
  }

  // Nominal levels of the looks if that many rounds are the last.
  void spend_until(std::int64_t rounds) {
    const int last = static_cast<int>(rounds);
    different_ =
        comparison::nominal_levels(comparison::Spending::obrien_fleming, options_.alpha, kFirstLook, last);
    spend_on_sameness_until(rounds);
  }
  void spend_on_sameness_until(std::int64_t rounds) {
    same_ = comparison::nominal_levels(comparison::Spending::pocock, options_.equivalence_alpha, kFirstLook,
                                       static_cast<int>(rounds));
  }

  static bool found(const Comparison& comparison) {
    const auto outcome = comparison.step().outcome;
    return comparison.regressed + comparison.improved > 0 || outcome == comparison::Outcome::regressed ||
           outcome == comparison::Outcome::improved;
  }

  static bool any_found(const std::vector<Comparison>& comparisons) {
    return std::any_of(comparisons.begin(), comparisons.end(), found);
  }
  [[nodiscard]] bool all_settled(const std::vector<Comparison>& comparisons) const {
    return std::all_of(comparisons.begin(), comparisons.end(), [&](const Comparison& comparison) {
      return comparison::is_settled(comparison, options_);
    });
  }

  // There is nothing to confirm: the round that was kept for it may show the sides to be the same. The error of
  // differences is spent, and none would confirm one that it shows: then what was known before it stays.
  void use_kept_round(std::vector<Comparison>& comparisons) {
    tell(fmt::format("found no difference: the {} that was kept to confirm one is looked at too", unit_));
    different_.push_back(different_.back());
    record();
    std::vector<Comparison> further = compare(0);
    comparisons = any_found(further) ? compare(1) : std::move(further);
  }

  // What a further round will take: the longest of those that are recorded as it will be.
  [[nodiscard]] Clock::duration expected_round() const {
    const bool first_is_longer = plan_.recording.first_options.has_value() && took_.size() > 1;
    return *std::max_element(took_.begin() + (first_is_longer ? 1 : 0), took_.end());
  }
  [[nodiscard]] Clock::time_point now() const { return plan_.now ? plan_.now() : Clock::now(); }
  [[nodiscard]] Clock::duration left() const { return *plan_.budget - (now() - begin_); }
  // Rounds that still fit, the confirming one kept free.
  [[nodiscard]] std::int64_t rounds_left() const {
    const bool confirms = plan_.look && plan_.confirm;
    return std::max<std::int64_t>(
        0, left() / std::max(expected_round(), Clock::duration(1)) - (confirms ? 1 : 0));
  }
  [[nodiscard]] bool in_budget() const { return !plan_.budget || rounds_left() > 0; }

  // Says after the first round how long all of it may take, and again where the second shows that the first was no
  // measure; and shares the error over as many looks as there will be time for.
  void forecast() {
    const bool again = done() == 2 && 2 * took_[1] < took_[0];
    // Of what is soon over nobody asks how long it takes.
    const bool worth_telling = plan_.budget || (most_ - done()) * took_.back() > kWorthTelling;
    if (worth_telling && (done() == 1 || again)) {
      const double took_s = std::chrono::duration<double>(took_.back()).count();
      std::string line = fmt::format("{} {} took {}: ", unit_, done(), time_text(took_s * 1e9));
      if (plan_.budget)
        line += fmt::format(
            "{} of the budget is left, enough for about {} more",
            time_text(std::chrono::duration<double>(std::max(left(), Clock::duration(0))).count() * 1e9),
            counted(std::min(rounds_left(), most_ - done()), unit_));
      else
        line += fmt::format("{} more at most take {}", integer(most_ - done()),
                            time_text(static_cast<double>(most_ - done()) * took_s * 1e9));
      tell(line);
    }
    if (done() != kFirstLook - 1 || !plan_.look || !plan_.budget) return;
    const auto fitting = static_cast<std::int64_t>(kMoreRounds * static_cast<double>(done() + rounds_left()));
    most_ = std::clamp<std::int64_t>(fitting, kFirstLook, std::max<std::int64_t>(kFirstLook, plan_.rounds));
    spend_until(most_);
  }

  void record() {
    const auto begin = now();
    tell(fmt::format("{} {} of at most {}", unit_, done() + 1, std::max(most_, done() + 1)));
    rounds_.record();
    took_.push_back(now() - begin);
  }

  [[nodiscard]] std::vector<Comparison> compare(std::int64_t confirmation) const {
    comparison::ComparisonOptions options = options_;
    options.paired = true;
    options.confirmation_pairs = confirmation;
    const auto look = done() - confirmation - kFirstLook;
    if (plan_.look && look >= 0) {
      const double level = different_.at(static_cast<std::size_t>(look));
      options.false_discovery_rate *= level / options.alpha;
      options.alpha = level;
      options.equivalence_alpha = same_.at(static_cast<std::size_t>(look));
    }
    std::vector<Comparison> comparisons;
    for (const Contrast& contrast : contrasts_)
      comparisons.push_back(
          comparison::compare(rounds_.profiles(contrast.a), rounds_.profiles(contrast.b), options).value());
    return comparisons;
  }

  const MeasurePlan& plan_;
  std::vector<Contrast> contrasts_;
  comparison::ComparisonOptions options_;  // of each contrast over all looks
  std::int64_t most_;                      // rounds that the looks share their error over
  std::string unit_;                       // what a round is called
  std::vector<std::size_t> variants_;
  Rounds rounds_;
  Clock::time_point begin_ = now();
  std::vector<Clock::duration> took_;     // by each round
  std::vector<double> different_, same_;  // nominal levels of the looks
};

}  // namespace

Result<Measured> measure(const std::vector<Variant>& variants, const MeasurePlan& plan,
                         ExperimentDirectory& directory, Interruption* interruption) {
  try {
    return Measurement(variants, plan, directory, interruption).run();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
    return Failure{error.kind(), error.message()};
  }
}

}  // namespace ridgeline::experiment
