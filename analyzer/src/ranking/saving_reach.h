// saving_reach.h: the savings of a ranking, simulated.
#pragma once

#include <optional>
#include <utility>
#include <vector>

#include "execution/step_graph.h"
#include "ridgeline/analyzer/ranking/ranking.h"
#include "ridgeline/analyzer/ranking/reach.h"

namespace ridgeline::analyzer {

/// The steps of a scope, made ready to be asked what changes if launches take another time.
class SavingReach {
 public:
  /// The whole steps, whatever part of their launches is ranked.
  SavingReach(const Model& model, const std::vector<RepresentativeStep>& steps, const ReachOptions& options);

  /// Fills in what of the rows' and of all savings reaches the step, and orders the rows by it.
  void add_to(const UtilisationAnalysis& utilisation, Ranking& ranking) const;

  /// What the steps are shorter by if these launches, positions in `utilisation`, reach the goal; empty: not simulated.
  [[nodiscard]] std::optional<double> of(const UtilisationAnalysis& utilisation,
                                         const std::vector<std::uint32_t>& positions, double goal) const;

  [[nodiscard]] bool known() const { return reach_.known(); }
  /// By how much less a launch takes, ns.
  using Shorter = std::pair<LaunchIndex, double>;
  /// What the steps are shorter by if these launches, each named once, take so much less, none less than nothing;
  /// empty: not simulated.
  [[nodiscard]] std::optional<double> if_shorter(const std::vector<Shorter>& launches) const;
  /// Nodes worked on to answer one question.
  [[nodiscard]] std::int64_t visits() const;

 private:
  struct Launched {
    LaunchIndex launch = 0;
    std::uint32_t step = 0;
    NodeIndex node = 0;
  };
  using Changes = std::vector<std::vector<StepSimulation::Change>>;  // by step

  void add_step(const Model& model, const RepresentativeStep& step);
  void add_launch(const LaunchUtilisations& launches, std::size_t position, double goal,
                  Changes& changes) const;
  [[nodiscard]] const Launched* find(LaunchIndex launch) const;
  [[nodiscard]] double saving_ns(const Changes& changes) const;

  ReachOptions options_;
  StepReach reach_;
  std::vector<StepSimulation> steps_;
  std::vector<Launched> launches_;  // by launch
};

}  // namespace ridgeline::analyzer
