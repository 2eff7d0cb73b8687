// launch_kinds.h: which launches with values of a tier stand for one that has none, and how far to trust them.
//
// A recording counts or samples some launches. A launch that was not among them has what those of its kind show. What a
// kind is has no one answer: the same kernel with one grid does other work for other problems where its blocks take one
// tile after the other, and how long it takes tells them apart. So the nearest likeness counts, from the same kernel,
// configuration, ranges, neighbour and duration down to the kernel alone, and of GEMMs to those of other tiles.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ridgeline/analyzer/steps/steps.h"

namespace ridgeline::analyzer {

/// Of launches that are alike, in shares of the mean squared.
struct RelativeVariance {
  double between = 0;  ///< of what observations tell
  double within = 0;   ///< among the launches of one observation; 0 where steps are alike
};

class LaunchKinds {
 public:
  /// Ways of telling launches apart, the finest first: kernel, configuration, ranges and the kernel before it on its
  /// stream; without that one; kernel and configuration; and where steps vary, the kernel after that other one, with
  /// about as many blocks or however many, and without it; at last, of GEMMs, all kernels of the family: a library
  /// has one for each tile and layout of the result, and takes another for each shape.
  enum Fineness : std::size_t {
    with_neighbour,
    with_ranges,
    alone,
    of_about_the_size_with_neighbour,
    of_about_the_size,
    of_the_kernel_with_neighbour,
    of_the_kernel,
    of_the_family,
    finenesses
  };

  /// Those that stand for a launch by one likeness.
  struct Alike {
    std::vector<LaunchIndex> launches;
    Fineness fineness = with_neighbour;
    /// They took another time than it, by this much of it in logarithm; 0: about the same.
    double apart = 0;
    /// What they do in a time is what is alike, not what they do in all.
    bool in_a_time = false;
  };

  /// Keeps a reference to `model`. `steps`: those in which launches have values of the tier.
  LaunchKinds(const Model& model, const StepAnalysis& analysis, const std::vector<StepIndex>& steps,
              Tier tier);

  [[nodiscard]] bool empty() const { return known_.empty(); }
  /// Of each fineness that has any; first what is thought to come nearest, by what launches with values show of such
  /// likenesses and by the time they take. Of launches without a time all of a kind are alike.
  [[nodiscard]] std::vector<Alike> alike(LaunchIndex launch) const;
  /// The same for all launches for which this number is the same.
  [[nodiscard]] std::uint64_t number(LaunchIndex launch) const;
  /// ns of a launch that alike() gave: in the representative step where that one launches the same.
  [[nodiscard]] double usual_ns(LaunchIndex launch) const;
  /// The same for launches that tell the same of others: those that are one, measured again in another step; and where
  /// steps vary those of a configuration in a step, since the layers of a batch differ less than batches do.
  [[nodiscard]] std::uint64_t observation(LaunchIndex launch) const;

  /// Variance of a metric, in shares of its mean, among launches that are alike by this fineness, as those with values
  /// show it: of amounts, or of what is done in a time where steps vary and of samples.
  [[nodiscard]] RelativeVariance relative_variance(std::string_view metric, Fineness fineness) const;
  /// Of the tier, that any launch has.
  [[nodiscard]] std::size_t metrics() const { return metrics_.size(); }
  /// Of what is read from DRAM and written to it, together.
  static constexpr std::string_view kDramInAll = "read and written";

 private:
  using Key = std::uint64_t;
  struct Known {
    LaunchIndex launch;
    double log_ns;
  };
  struct Pooled {
    double variance = 0, weight = 0;
    void add(double of_group, double group_weight);
  };
  struct Spread {
    Pooled between, within;  // as RelativeVariance
  };
  using Group = std::vector<Known>;  // by log_ns

  [[nodiscard]] LaunchIndex place(LaunchIndex launch) const;
  void note_sites();
  static bool launches_as_usual(const StepAnalysis& analysis, StepIndex step);
  void note_usual_times(const RepresentativeStep& usual, StepIndex step);
  void note_spreads();
  void note_spread_of(const Group& group, std::size_t begin, std::size_t end, Fineness fineness);
  [[nodiscard]] Key key(LaunchIndex launch, Fineness fineness) const;
  [[nodiscard]] Alike nearest(const Group& group, double log_ns, Fineness fineness) const;

  const Model& model_;
  const Tier tier_;
  /// Where all steps launch the same another configuration is another kind.
  Fineness coarsest_ = alone;
  std::vector<Key> with_ranges_, alone_, of_about_the_size_, of_the_kernel_, of_the_family_;  // by site
  std::vector<Key> before_;                              // by launch: kernel that ran before it on its stream
  std::unordered_map<LaunchIndex, LaunchIndex> places_;  // in the representative step
  std::array<std::unordered_map<Key, Group>, finenesses> known_by_;
  std::vector<LaunchIndex> known_;
  std::set<std::string_view> metrics_;
  std::array<std::map<std::string_view, Spread>, finenesses> spreads_;
};

/// True of bytes, instructions, cycles and times; a percentage, a ratio and a rate are none.
[[nodiscard]] bool is_amount(std::string_view metric);

/// How far one more launch may be from the mean of these `values`, one an observation, with a probability of 95 %: by
/// their own spread and by what launches of other kinds spread by (`of_kinds`), which is all there is to go by for a
/// single one.
[[nodiscard]] double reach_of_one_more(const std::vector<double>& values, const RelativeVariance& of_kinds);
/// Of launches that took another time, or had another clock, so much of the value besides.
[[nodiscard]] double doubt_of_another_time(const LaunchKinds::Alike& alike);

}  // namespace ridgeline::analyzer
