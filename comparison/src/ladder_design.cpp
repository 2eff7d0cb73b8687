#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "ridgeline/comparison/ladder.h"

namespace ridgeline::comparison {
namespace {

constexpr RungSet bit(std::size_t rung) {
  return RungSet{1} << rung;
}

RungSet lower_than(std::size_t rung) {
  return bit(rung) - 1;
}

// All rungs that cannot be on without this one, itself not among them.
RungSet dependents(std::size_t rung, const std::vector<RungSet>& needs) {
  RungSet found = 0;
  for (std::size_t i = 0; i < needs.size(); ++i) {
    if (i != rung && (with_needs(bit(i), needs) & bit(rung)) != 0) found |= bit(i);
  }
  return found;
}

class DesignBuilder {
 public:
  explicit DesignBuilder(const std::vector<RungSet>& needs) : needs_(needs) {
    for (std::size_t rung = 0; rung <= needs.size(); ++rung) arm(lower_than(rung));
  }

  void add(Contribution kind, std::size_t rung, RungSet before, RungSet after) {
    add(kind, rung, {{arm(before), 1}, {arm(after), -1}});
  }
  void add(Contribution kind, std::size_t rung, std::vector<LadderTerm> terms) {
    design_.quantities.push_back({kind, rung, std::move(terms)});
  }
  std::size_t arm(RungSet rungs) {
    const auto found = std::find(design_.arms.begin(), design_.arms.end(), rungs);
    if (found != design_.arms.end()) return static_cast<std::size_t>(found - design_.arms.begin());
    design_.arms.push_back(rungs);
    return design_.arms.size() - 1;
  }

  void add_climb() {
    for (std::size_t rung = 0; rung < needs_.size(); ++rung)
      add(Contribution::cumulative, rung, lower_than(rung), lower_than(rung + 1));
  }
  void add_alone() {
    for (std::size_t rung = 0; rung < needs_.size(); ++rung) {
      const RungSet below = with_needs(bit(rung), needs_) & ~bit(rung);
      add(Contribution::alone, rung, below, below | bit(rung));
    }
  }
  void add_left_out() {
    const RungSet top = lower_than(needs_.size());
    for (std::size_t rung = 0; rung < needs_.size(); ++rung) {
      const RungSet with = top & ~dependents(rung, needs_);
      add(Contribution::left_out, rung, with & ~bit(rung), with);
    }
  }
  void add_interaction() {
    for (std::size_t rung = 0; rung < needs_.size(); ++rung) {
      const RungSet below = with_needs(bit(rung), needs_) & ~bit(rung);
      add(Contribution::interaction, rung,
          {{arm(lower_than(rung)), 1},
           {arm(lower_than(rung + 1)), -1},
           {arm(below), -1},
           {arm(below | bit(rung)), 1}});
    }
  }
  void add_shapley() {
    std::vector<std::size_t> order(needs_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::vector<std::map<std::size_t, double>> weights(needs_.size());
    double orders = 0;
    do {
      RungSet on = 0;
      const bool possible = std::all_of(order.begin(), order.end(), [&](std::size_t rung) {
        const bool met = (needs_[rung] & ~on) == 0;
        on |= bit(rung);
        return met;
      });
      if (!possible) continue;
      ++orders;
      on = 0;
      for (const std::size_t rung : order) {
        weights[rung][arm(on)] += 1;
        on |= bit(rung);
        weights[rung][arm(on)] -= 1;
      }
    } while (std::next_permutation(order.begin(), order.end()));
    for (std::size_t rung = 0; rung < needs_.size(); ++rung) {
      std::vector<LadderTerm> terms;
      for (const auto& [arm, weight] : weights[rung]) {
        if (weight != 0) terms.push_back({arm, weight / orders});
      }
      add(Contribution::shapley, rung, std::move(terms));
    }
  }
  [[nodiscard]] LadderDesign take() { return std::move(design_); }

 private:
  const std::vector<RungSet>& needs_;
  LadderDesign design_;
};

}  // namespace

RungSet with_needs(RungSet rungs, const std::vector<RungSet>& needs) {
  // Needs are lower rungs: one way down takes them all.
  for (std::size_t i = needs.size(); i-- > 0;) {
    if ((rungs & bit(i)) != 0) rungs |= needs[i];
  }
  return rungs;
}

Result<LadderDesign> ladder_design(const std::vector<RungSet>& needs, const LadderQuestions& questions) {
  if (needs.empty()) return Failure{ErrorKind::usage, "a ladder without a rung: give at least one [[rung]]"};
  if (needs.size() > kMaxRungs)
    return Failure{ErrorKind::usage,
                   fmt::format("{} rungs are more than a ladder can have: {}", needs.size(), kMaxRungs)};
  if (questions.shapley && needs.size() > kMaxShapleyRungs)
    return Failure{
        ErrorKind::usage,
        fmt::format("Shapley values of {} rungs take 2^{} programs: at most {} rungs, --only picks them",
                    needs.size(), needs.size(), kMaxShapleyRungs)};
  for (std::size_t i = 0; i < needs.size(); ++i) {
    if ((needs[i] & ~lower_than(i)) != 0)
      return Failure{ErrorKind::usage, fmt::format("rung {} needs one that is not below it", i + 1)};
  }
  DesignBuilder builder(needs);
  builder.add_climb();
  if (questions.alone) builder.add_alone();
  if (questions.left_out) builder.add_left_out();
  if (questions.alone) builder.add_interaction();
  if (questions.shapley) builder.add_shapley();
  return builder.take();
}

}  // namespace ridgeline::comparison
