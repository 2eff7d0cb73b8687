// tensor_operations.h: which operations of the tensor pipe are known of a launch.
#pragma once

#include <set>
#include <string>
#include <vector>

#include "replay_values.h"
#include "ridgeline/analyzer/model/model.h"

namespace ridgeline::analyzer {

/// Each data type has a counter of its own, and not all of them are read in the same step: of a program whose steps
/// vary, or that was over soon, some launches have the counters of some types only, which say nothing of the others.
class TensorOperations {
 public:
  explicit TensorOperations(const Model& model);

  /// By data type; all are 0 for a launch that is known to have used no tensor instruction. Empty: nothing was
  /// counted, or what was counted is 0 and the launch may have operations of a type that was not. `t1`: what samples
  /// say of it.
  [[nodiscard]] std::vector<Operations> of(const ReplayValues& values, const TierUtilisation& t1,
                                           KernelClass kernel_class) const;

 private:
  /// Counters of which some launch has more than 0; all that some launch has, where none has more.
  std::set<std::string, std::less<>> in_use_;
};

}  // namespace ridgeline::analyzer
