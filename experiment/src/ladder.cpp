#include "ridgeline/experiment/ladder.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>
#include <numeric>
#include <random>

#include "ladder_arms.h"
#include "ladder_runner.h"
#include "ladder_trees.h"
#include "ridgeline/base/statistics.h"
#include "ridgeline/base/text.h"
#include "ridgeline/base/units.h"
#include "ridgeline/comparison/sequential.h"

namespace ridgeline::experiment {
namespace {

using comparison::LadderEnd;
using comparison::LadderObservation;
using comparison::LadderRecord;
using LadderClock = std::chrono::steady_clock;

constexpr std::int64_t kFirstLadderLook = 6;  // rounds; from then on after each mirrored pair of rounds
constexpr std::int64_t kChoosingRounds = 3;
constexpr double kChoosingShare = 0.2;  // of a budget, for all but a sweep's first round
constexpr double kMoreRoundsThanFit = 1.25;

std::string duration_text(LadderClock::duration duration) {
  return time_text(std::chrono::duration<double>(std::max(duration, LadderClock::duration(0))).count() * 1e9);
}

class Climb {
 public:
  Climb(const LadderFile& file, const LadderPlan& plan, ExperimentDirectory& directory,
        Interruption* interruption)
      : file_(file),
        plan_(plan),
        trees_(file, plan, directory.path(), interruption),
        runner_(file, plan, directory, interruption),
        most_(plan.rounds > 0 ? plan.rounds : file.rounds),
        planned_most_(most_) {}

  LadderRecord run() {
    choose_settings();
    PlannedLadder planned = plan_ladder(file_, plan_.questions, chosen_);
    commands_ = std::move(planned.commands);
    record_ = std::move(planned.record);
    record_.begun = utc_text(static_cast<std::int64_t>(std::time(nullptr)) * 1'000'000'000);
    record_.order_seed = plan_.order_seed;
    for (std::size_t rung = 0; rung < choosing_.size(); ++rung) {
      if (choosing_[rung].empty()) continue;
      record_.rungs[rung].choices = choosing_[rung];
      record_.rungs[rung].chosen = chosen_[rung];
    }
    for (const LadderCommand& command : commands_) folders_.push_back(trees_.directory_of(command));
    record_.end = LadderEnd::stopped;  // until it has ended otherwise
    record_.end = rounds();
    record_.seconds = std::chrono::duration<double>(now() - begin_).count();
    if (plan_.keep) plan_.keep(record_);
    return record_;
  }

 private:
  [[nodiscard]] LadderClock::time_point now() const { return plan_.now ? plan_.now() : LadderClock::now(); }
  [[nodiscard]] LadderClock::duration left() const { return *plan_.budget - (now() - begin_); }
  void tell(const std::string& line) const {
    if (plan_.tell) plan_.tell(line);
  }
  [[nodiscard]] std::int64_t seed_of(std::int64_t round) const { return 1 + round % file_.seeds; }

  // Each sweep in rounds of its own, on top of what is chosen for those below it.
  void choose_settings() {
    chosen_.assign(file_.rungs.size(), 0);
    choosing_.resize(file_.rungs.size());
    for (std::size_t rung = 0; rung < file_.rungs.size(); ++rung) {
      if (!file_.rungs[rung].choices.empty()) choose(rung);
    }
  }

  void choose(std::size_t rung) {
    const LadderRung& sweep = file_.rungs[rung];
    const comparison::RungSet rungs = (comparison::RungSet{2} << rung) - 1;
    auto& times = choosing_[rung];
    for (const LadderChange& choice : sweep.choices) times.push_back({choice.name, {}});
    std::string why;
    for (std::int64_t round = 0; round < kChoosingRounds; ++round) {
      const auto begin = now();
      tell(fmt::format("{}: round {} of {} of choosing", sweep.change.name, round + 1, kChoosingRounds));
      for (const std::size_t choice : mirrored_order(times.size(), round, plan_.order_seed)) {
        if (static_cast<std::int64_t>(times[choice].step_ns.size()) < round) continue;  // it does not run
        std::vector<std::size_t> choices = chosen_;
        choices[rung] = choice;
        const LadderCommand command = command_of(file_, rungs, choices).value();
        if (const auto seen = observe(command, trees_.directory_of(command),
                                      fmt::format("s{:02}-{:02}", rung + 1, choice + 1), round, false, why))
          times[choice].step_ns.push_back(seen->run.step_ns);
      }
      const bool affordable =
          !plan_.budget || now() - begin_ + (now() - begin) < kChoosingShare * *plan_.budget;
      if (!affordable) break;
    }
    std::size_t best = times.size();
    for (std::size_t i = 0; i < times.size(); ++i) {
      if (times[i].step_ns.empty() || times[i].step_ns.size() < max_times(times)) continue;
      if (best == times.size() || median(times[i].step_ns) < median(times[best].step_ns)) best = i;
    }
    if (best == times.size())
      throw Error(ErrorKind::no_data, fmt::format("no setting of '{}' runs: {}", sweep.change.name, why));
    chosen_[rung] = best;
    tell(fmt::format("{}: {} is taken", sweep.change.name, times[best].name));
  }
  static std::size_t max_times(const std::vector<comparison::LadderChoiceTimes>& choices) {
    std::size_t most = 0;
    for (const auto& choice : choices) most = std::max(most, choice.step_ns.size());
    return most;
  }

  // Empty, and `why`: it does not run.
  std::optional<LadderObservation> observe(const LadderCommand& command, const std::string& folder,
                                           const std::string& name, std::int64_t round, bool keep,
                                           std::string& why) {
    try {
      return runner_.run(command, folder, name, seed_of(round), keep);
    } catch (const Error& error) {
      if (error.kind() == ErrorKind::cancelled || error.kind() == ErrorKind::internal ||
          error.kind() == ErrorKind::io)
        throw;
      why = error.message();
      return std::nullopt;
    }
  }

  void round() {
    const std::int64_t number = record_.rounds;
    const auto begin = now();
    tell(fmt::format("round {} of at most {}: {}", number + 1, std::max(most_, number + 1),
                     counted(static_cast<std::int64_t>(running()), "program")));
    for (const std::size_t program : mirrored_order(commands_.size(), number, plan_.order_seed)) {
      if (!record_.programs[program].failure.empty()) continue;
      std::string why;
      const auto seen = observe(commands_[program], folders_[program], fmt::format("p{:02}", program + 1),
                                number, number == 0, why);
      if (seen) {
        add(*seen, program);
        continue;
      }
      record_.programs[program].failure = why;
      tell(fmt::format("left out: {} {}", record_.programs[program].command, why));
      if (program == record_.program_of_arm.front())
        throw Error(ErrorKind::no_data, "the bottom of the ladder does not run: it " + why);
    }
    ++record_.rounds;
    took_.push_back(now() - begin);
  }
  void add(const LadderObservation& seen, std::size_t program) {
    comparison::LadderRun run = seen.run;
    run.program = program;
    run.round = record_.rounds + 1;
    run.seed = seed_of(record_.rounds);
    record_.runs.push_back(std::move(run));
    if (!seen.kernels.empty()) record_.programs[program].kernels = seen.kernels;
  }
  [[nodiscard]] std::size_t running() const {
    return static_cast<std::size_t>(
        std::count_if(record_.programs.begin(), record_.programs.end(),
                      [](const auto& program) { return program.failure.empty(); }));
  }

  [[nodiscard]] LadderClock::duration expected_round() const {
    // The first fills caches and finds out what does not run.
    return *std::max_element(took_.begin() + (took_.size() > 1 ? 1 : 0), took_.end());
  }
  [[nodiscard]] std::int64_t rounds_left() const {
    return std::max<std::int64_t>(0, left() / std::max(expected_round(), LadderClock::duration(1)));
  }

  LadderEnd rounds() {
    while (record_.rounds < planned_most_) {
      if (plan_.budget && !took_.empty() && rounds_left() < 1) return LadderEnd::budget;
      round();
      forecast();
      // If this round is the last, it has what is left of the error.
      set_levels(record_.rounds);
      if (plan_.keep) plan_.keep(record_);
      if (is_look(record_.rounds) && decided()) return LadderEnd::decided;
    }
    return LadderEnd::rounds;
  }

  void forecast() {
    if (record_.rounds == 1) {
      std::string line = fmt::format("round 1 took {}: ", duration_text(took_.back()));
      line += plan_.budget
                  ? fmt::format("{} of the budget is left, enough for about {} more", duration_text(left()),
                                counted(std::min(rounds_left(), planned_most_ - 1), "round"))
                  : fmt::format("{} more at most take {}", planned_most_ - 1,
                                duration_text((planned_most_ - 1) * took_.back()));
      tell(line);
    }
    if (record_.rounds != 2 || !plan_.budget) return;
    // As many looks share the error as there will be time for, and some more, since rounds may get shorter.
    const auto fitting =
        static_cast<std::int64_t>(kMoreRoundsThanFit * static_cast<double>(2 + rounds_left()));
    most_ = std::clamp<std::int64_t>(fitting, std::min<std::int64_t>(2, planned_most_), planned_most_);
  }

  // Both rounds of a mirrored pair are there.
  [[nodiscard]] bool is_look(std::int64_t rounds) const {
    return rounds >= kFirstLadderLook && rounds % 2 == 0 && rounds < most_;
  }
  // Levels of the looks until now if `last` rounds are the last.
  void set_levels(std::int64_t last) {
    std::vector<double> fractions;
    for (std::int64_t rounds = kFirstLadderLook; rounds < record_.rounds; rounds += 2) {
      if (is_look(rounds)) fractions.push_back(static_cast<double>(rounds) / static_cast<double>(last));
    }
    fractions.push_back(std::min(1.0, static_cast<double>(record_.rounds) / static_cast<double>(last)));
    record_.look_alpha =
        comparison::nominal_levels(comparison::Spending::obrien_fleming, record_.options.alpha, fractions)
            .back();
    record_.look_equivalence_alpha =
        comparison::nominal_levels(comparison::Spending::pocock, record_.options.equivalence_alpha, fractions)
            .back();
  }
  [[nodiscard]] bool decided() {
    const double last_alpha = record_.look_alpha, last_equivalence_alpha = record_.look_equivalence_alpha;
    set_levels(most_);
    const auto result = comparison::analyse_ladder(record_);
    if (result.ok() && comparison::is_settled(result.value())) return true;
    record_.look_alpha = last_alpha;
    record_.look_equivalence_alpha = last_equivalence_alpha;
    return false;
  }
  const LadderFile& file_;
  const LadderPlan& plan_;
  LadderTrees trees_;
  LadderRunner runner_;
  std::int64_t most_;          // rounds that the looks share the error over
  std::int64_t planned_most_;  // rounds at most
  LadderClock::time_point begin_ = now();
  std::vector<std::size_t> chosen_;  // of each rung
  std::vector<std::vector<comparison::LadderChoiceTimes>> choosing_;
  std::vector<LadderCommand> commands_;  // by program
  std::vector<std::string> folders_;     // likewise
  LadderRecord record_;
  std::vector<LadderClock::duration> took_;  // by each round
};

}  // namespace

std::vector<std::size_t> mirrored_order(std::size_t programs, std::int64_t round, std::int64_t order_seed) {
  std::vector<std::size_t> order(programs);
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::mt19937_64 random(static_cast<std::uint64_t>(order_seed) * 0x9e3779b97f4a7c15U +
                         static_cast<std::uint64_t>(round / 2));
  // Fisher and Yates; the library's shuffle is another one in each library.
  for (std::size_t i = programs; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
  if (round % 2 == 1) std::reverse(order.begin(), order.end());
  return order;
}

Result<LadderRecord> measure_ladder(const LadderFile& file, const LadderPlan& plan,
                                    ExperimentDirectory& directory, Interruption* interruption) {
  try {
    return Climb(file, plan, directory, interruption).run();
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
    return Failure{error.kind(), error.message()};
  }
}

}  // namespace ridgeline::experiment
