// remedies.h: what the step would be without a defect of how the CPU and the GPU work together: waits, launches one by
// one, copies that something waits for. What the recording itself adds to the CPU's time is taken out first, of the
// step with the defect and without: no remedy gains that.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "execution/step_edit.h"
#include "ridgeline/analyzer/steps/steps.h"
#include "ridgeline/analyzer/whatif/replay.h"

namespace ridgeline::analyzer {

struct RemedyOptions {
  ReplayOptions replay;
  /// That the recording adds to the step, as it measured; empty: it adds the next to each launch, and at most the last.
  std::optional<double> recording_ns;
  double usual_per_work_ns = 0;
  double max_per_work_ns = 0;
};

/// Of the step, ns, 0 or more.
struct RemedyGain {
  double ns = 0;
  double min_ns = 0;   ///< if the recording adds the most it may; measured: the same
  StepEdit edit = {};  ///< what is done otherwise for it
};

/// Of one recorded step. Empty: it is not simulated, or does not come out within the tolerance.
class Remedies {
 public:
  /// Nothing is worked out before the first question. The model must outlive it.
  Remedies(const Model& model, const RepresentativeStep& step, const RemedyOptions& options);
  ~Remedies();
  Remedies(Remedies&&) noexcept;
  Remedies& operator=(Remedies&&) noexcept;

  /// Calls of this kind that do nothing but wait return at once.
  [[nodiscard]] std::optional<RemedyGain> without_waits(SynchronisationCall kind) const;
  /// What a thread launches between two waits is one launch of a graph.
  [[nodiscard]] std::optional<RemedyGain> as_graph() const;
  /// Nothing waits for these copies, places in Model::memcpys; the step takes as long as they do all the same.
  [[nodiscard]] std::optional<RemedyGain> with_hidden(std::span<const std::uint32_t> copies) const;
  /// Launches and the share of its time that each keeps: the first call of them launches all.
  using Kept = std::pair<LaunchIndex, double>;
  [[nodiscard]] std::optional<RemedyGain> as_one(std::span<const Kept> launches) const;
  /// Several remedies at once; of what more than one of them makes shorter, the shortest.
  [[nodiscard]] std::optional<RemedyGain> together(std::span<const StepEdit> edits) const;

 private:
  class Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace ridgeline::analyzer
