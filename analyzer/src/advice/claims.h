// claims.h: what cases have claimed of the step's time, so that no millisecond is promised twice.
#pragma once

#include <array>
#include <vector>

#include "advice/rule.h"

namespace ridgeline::analyzer {

class Claims {
 public:
  explicit Claims(const AdviceInput& input) : input_(input) {}

  /// The part as far as its time is not claimed yet.
  [[nodiscard]] ProposalPart left_of(const ProposalPart& part) const;
  void claim(const ProposalPart& part);
  /// Of a launch its duration, of a gap its length, of a copy what no kernel hides.
  [[nodiscard]] double time_ns(PartKind kind, std::uint32_t index) const;

 private:
  const AdviceInput& input_;
  std::array<std::vector<AdviceGain>, kPartKinds> claimed_;  // of a kind by index, as far as any was claimed
};

/// The time of a copy in the scope in which no kernel ran on its device.
[[nodiscard]] double exposed_copy_ns(const AdviceInput& input, std::uint32_t copy);

}  // namespace ridgeline::analyzer
