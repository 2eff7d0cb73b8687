// declared_work.h: what the program says a range must move and compute, beside what its launches did.
//
// A declaration is of a range, not of a kernel: several kernels may share the range's work, and what one of
// them moves cannot be told from the declaration. So every comparison is of whole ranges: the sum of all
// their launches against the sum of their declarations. A launch belongs to the innermost declaring range
// that was open on its thread when it was called.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "ridgeline/analyzer/utilisation/peaks.h"
#include "ridgeline/analyzer/utilisation/utilisation.h"
#include "ridgeline/analyzer/values/finding.h"

namespace ridgeline::analyzer {

/// [m, k] × [k, n].
struct GemmShape {
  std::int64_t m = 0, n = 0, k = 0;
  friend auto operator<=>(const GemmShape&, const GemmShape&) = default;
};

/// Ranges taken together.
struct WorkSum {
  std::int64_t ranges = 0;
  std::int64_t launches = 0;
  std::int64_t kernels = 0;  // distinct ones among the launches
  std::int64_t time_ns = 0;  // Σ durations of the launches
  std::optional<double> declared_bytes;
  std::optional<double> declared_flops;
  std::optional<double> measured_bytes;       // DRAM; empty unless every launch has a value
  std::optional<double> measured_tensor_ops;  // likewise
  /// Floating-point operations by instruction counts (T3), likewise; tensor instructions are not among them.
  std::optional<double> measured_fp_ops;
  std::optional<double> bytes_ratio;  // measured ÷ declared; below 1: part of the data was in L2 already
  /// Of the tensor operations if there are any, else of the counted instructions.
  std::optional<double> ops_ratio;
  /// The least time that the declared work takes: of each range the larger of bytes ÷ DRAM peak and FLOPs ÷
  /// peak of their data type, summed. Empty if a roof that is needed is not known.
  std::optional<double> minimum_ns;
  std::optional<Roof> minimum_roof;      // of the larger part of it: DRAM, or a pipe at its precision
  std::optional<double> minimum_ratio;   // minimum_ns ÷ time_ns: 1 is the best there is
  std::int64_t undeclared_launches = 0;  // asked for, but in no declaring range; in none of the sums
  /// What DeclaredRanges::of() alone says: the product that most of the time of the launches asked for is in, and how
  /// many different ones they are in.
  std::optional<GemmShape> gemm;
  std::int64_t gemms = 0;
};

/// All ranges of the representative step that share a path and an annotation's name.
struct DeclaredWork : WorkSum {
  std::string path;       // NVTX path
  std::string operation;  // its last part
  std::string name;       // the annotation's
};

class DeclaredRanges {
 public:
  /// Keeps references to the model and the utilisations. `partial`: the launches are a part of their steps; a
  /// range of which some launches are left out is then left out too, for its declaration is of all of them.
  DeclaredRanges(const Model& model, const StepAnalysis& steps, const UtilisationAnalysis& utilisation,
                 const PeakPolicy& peaks = {}, bool partial = false);

  [[nodiscard]] bool empty() const { return ranges_.empty(); }
  /// By path; empty if the program declares nothing. Order: time_ns, descending.
  [[nodiscard]] std::vector<DeclaredWork> by_path() const;
  /// The same by operation, whatever layer it is in; `path` is empty.
  [[nodiscard]] std::vector<DeclaredWork> by_operation() const;
  /// The ranges that these launches (into UtilisationAnalysis::launches) belong to, with all launches of
  /// those ranges. Empty if none of them belongs to any.
  [[nodiscard]] std::optional<WorkSum> of(std::span<const std::uint32_t> launches);

 private:
  class Sum;
  struct Range {
    const store::NvtxRange* range = nullptr;
    std::vector<const store::Annotation*> annotations;
    std::vector<std::size_t> launches;  // into UtilisationAnalysis::launches
    std::optional<GemmShape> gemm;
  };
  struct Minimum {
    std::optional<double> ns;
    Roof roof;  ///< that it is of
  };

  [[nodiscard]] std::vector<DeclaredWork> grouped(bool by_operation) const;
  [[nodiscard]] Minimum minimum(const Range& range, const std::optional<double>& bytes,
                                const std::optional<double>& flops) const;
  void drop_incomplete(const StepAnalysis& steps);
  void find_peaks(const PeakPolicy& policy);
  void count_instructions(const StepAnalysis& steps);

  const Model& model_;
  const UtilisationAnalysis& utilisation_;
  bool any_gemm_ = false;
  std::vector<Range> ranges_;                               // by start
  std::vector<std::optional<std::size_t>> owner_;           // of each launch: its innermost range
  std::vector<std::optional<double>> fp_ops_;               // of each launch, by instruction counts
  std::map<std::pair<store::Id, Quantity>, double> peaks_;  // device, quantity → its roof
  std::map<std::vector<std::size_t>, WorkSum> sums_;        // of sets of ranges that were asked for
};

/// The kernels of a scope that ran in ranges whose innermost is called so: an operation that the program declares work
/// for. By the operation's name; Kernel::id.
using KernelsByOperation = std::map<std::string, std::set<store::Id>, std::less<>>;
[[nodiscard]] KernelsByOperation kernels_by_operation(const Model& model,
                                                      const UtilisationAnalysis& utilisation);

/// "attention_backward moves 2.1 × the bytes it needs": operations whose surplus costs at least `min_share`
/// of the step at the DRAM peak.
[[nodiscard]] Findings excess_findings(const std::vector<DeclaredWork>& operations, double dram_bytes_per_s,
                                       std::int64_t step_ns, double min_ratio = 1.2,
                                       double min_share = 0.002);

}  // namespace ridgeline::analyzer
