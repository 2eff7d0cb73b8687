// transformer.h: what a transform makes of the launches of a step: which it means, and what they take then.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ridgeline/analyzer/whatif/what_if.h"

namespace ridgeline::analyzer {

class Transformer {
 public:
  /// Keeps references.
  Transformer(const Model& model, const RepresentativeStep& step, const UtilisationAnalysis& utilisation,
              const PeakPolicy& peaks, const WhatIfRequest& request);

  /// By position; a negative time: not launched.
  using Times = std::vector<double>;
  [[nodiscard]] Times recorded() const;
  /// Works on what earlier transforms made. Fills in all of the answer but the gain. Throws Refused.
  [[nodiscard]] TransformAnswer apply(const Transform& transform, Times& times) const;
  /// What differs from the recording.
  [[nodiscard]] std::vector<LaunchChange> changes(const Times& times) const;

 private:
  struct Site {  // of one launch
    std::size_t position = 0;
    double& time_ns;
    TransformAnswer& answer;
    std::vector<std::int64_t>& left;  // by LeftAlone
  };

  [[nodiscard]] bool means(const std::string& kernels, std::size_t position) const;
  void apply_to(const Faster& transform, const Site& at) const;
  void apply_to(const AtRoof& transform, const Site& at) const;
  void apply_to(const InPrecision& transform, const Site& at) const;
  template <typename OfKernels>
  void apply_one(const OfKernels& transform, TransformAnswer& answer, Times& times) const;
  void apply_one(const Fused& transform, TransformAnswer& answer, Times& times) const;
  void apply_one(const AsGraph& transform, TransformAnswer& answer, Times& times) const;
  void apply_one(const HiddenCopies& transform, TransformAnswer& answer, Times& times) const;
  [[nodiscard]] std::vector<std::pair<std::size_t, std::size_t>> neighbours(const Fused& transform) const;
  /// What the pair takes as one kernel; the bytes that it shares go into `shared_bytes`. Empty: not known.
  [[nodiscard]] std::optional<double> fused_ns(std::size_t producer, std::size_t consumer, bool kept,
                                               const Times& times, double& shared_bytes) const;

  const Model& model_;
  const RepresentativeStep& step_;
  const UtilisationAnalysis& utilisation_;
  PeakPolicy peaks_;
  const WhatIfRequest& request_;
};

}  // namespace ridgeline::analyzer
