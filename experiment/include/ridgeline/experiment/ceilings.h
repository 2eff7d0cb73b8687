// ceilings.h: roofs of a GPU, measured by a program of micro-benchmarks and held against what counters see of it.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ridgeline/analyzer/work/declared_work.h"
#include "ridgeline/experiment/interruption.h"
#include "ridgeline/store/machine_ceilings.h"

namespace ridgeline::experiment {

struct CeilingsPlan {
  std::string program;                // ridgeline_ceilings
  std::vector<std::string> recorder;  // records it for `verify`
  bool thorough = false;
  double seconds = 0;  // benchmarks whose turn has not come by then are left out; 0: none is
  bool verify = true;
  std::int64_t device = 0;        // CUDA's number
  std::vector<std::string> only;  // roofs or levels; empty: all
  std::vector<std::string> more;  // options handed on to the program as they are
  bool show_progress = false;     // the program's standard error is this one's
  std::function<void(const std::string&)> tell;
};

/// The text of a machine file. Works in a folder of its own under the temporary one, which is gone afterwards.
/// Failures: environment (the program cannot be started, or found no GPU that it can use: its last line),
/// corrupt (what it wrote is no machine file). A recording that fails leaves the roofs unverified, and `tell`
/// says why.
[[nodiscard]] Result<std::string> measure_ceilings(const CeilingsPlan& plan, Interruption* interruption);

/// What counters saw of a recording of the program's `--declare`: DRAM bytes of `dram.*`, tensor operations or
/// counted floating-point instructions of `compute.*`. Operations without a count are left out.
[[nodiscard]] std::vector<store::NamedCount> counts_of(const std::vector<analyzer::DeclaredWork>& operations);

}  // namespace ridgeline::experiment
