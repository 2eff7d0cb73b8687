// profile.h: one run, reduced to what a comparison needs: its step and its kernels, each by its place in
// the program. Sizes do not grow with the run, so that many runs can be held at once.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/analyzer/session/session.h"
#include "ridgeline/analyzer/steps/steps.h"
#include "ridgeline/analyzer/utilisation/bound.h"
#include "ridgeline/store/records.h"

namespace ridgeline::comparison {

/// What moves memory without a kernel.
enum class TransferKind : std::uint8_t { copy, memset };

}  // namespace ridgeline::comparison

namespace ridgeline {

template <>
struct Vocabulary<comparison::TransferKind> {
  using Kind = comparison::TransferKind;
  static constexpr std::string_view kName = "kind of transfer";
  static constexpr Word<Kind> kWords[] = {{Kind::copy, "copy"}, {Kind::memset, "memset"}};
};

}  // namespace ridgeline

namespace ridgeline::comparison {

/// How a kernel is launched.
struct LaunchConfiguration {
  store::Dim3 grid;
  store::Dim3 block;
  std::optional<store::Dim3> cluster;
  std::int64_t registers_per_thread = 0;
  std::int64_t static_smem_bytes = 0;
  std::int64_t dynamic_smem_bytes = 0;
  friend bool operator==(const LaunchConfiguration&, const LaunchConfiguration&) = default;
};

/// The launches of one kernel at one place of the program, with numbered ranges (layers) taken together: all of one
/// step.
struct KernelSite {
  std::string
      path;  ///< open NVTX ranges, numbers folded: "step / forward / layer * / attention"; "" without ranges
  std::string kernel;  ///< demangled name
  std::string family;  ///< normalised name
  KernelClass kernel_class = KernelClass::other;
  std::string code;  ///< hash of the machine code; "" not known
  std::optional<LaunchConfiguration>
      shape;           ///< empty: launches of many shapes, or of other shapes in each step
  int stream = 0;      ///< of its first launch: streams are numbered in the order of their first launch
  double calls = 0;    ///< median over the steps
  double time_ns = 0;  ///< of all calls of a step: median over the steps
  std::optional<double> time_deviation_ns;  ///< standard deviation of that over the steps; empty: one step
  std::optional<double> cycles;             ///< time_ns × the clock while it ran
  std::optional<double> dram_bytes;     ///< of all calls of the representative step, if all of them have it
  std::optional<double> dram_ratio;     ///< of the peak, time-weighted mean
  std::optional<double> compute_ratio;  ///< of the busiest pipe
  analyzer::KernelBound bound = analyzer::KernelBound::unmeasured;  ///< of the most time
  /// Counters that are the same in every run of the same work, summed over the calls: by verbatim metric name. Of
  /// steps that launch what the representative step does, and only if all calls were counted.
  std::map<std::string, double> counts;
  /// dram_bytes are those of the calls themselves, and neither sampled nor those of other launches of the kind.
  bool dram_bytes_counted = false;
};

/// Copies of one direction, or memsets, at one place of the program: all of one step, medians over the steps.
struct TransferSite {
  std::string path;  ///< as of KernelSite
  TransferKind kind = TransferKind::copy;
  CopyKind direction = CopyKind::unknown;  ///< of copies
  double calls = 0;
  double bytes = 0;
  double time_ns = 0;
  double exposed_ns = 0;  ///< of that, while no kernel ran: its share in the representative step
};

/// Where the time of the representative step went beside its kernels; see analyzer::Accounting.
struct StepParts {
  double overlap_ns = 0;  ///< kernel time that ran beside other kernel time
  double copy_exposed_ns = 0, copy_hidden_ns = 0;
  double memset_exposed_ns = 0;
  double communication_exposed_ns = 0, communication_hidden_ns = 0;
  double gap_launch_bound_ns = 0;
  double gap_host_bound_ns = 0;
  double gap_synchronisation_ns = 0;
  double gap_queued_ns = 0;
  double gap_other_ns = 0;  ///< what ended them is not known, or the step did
  /// Of the thread that launches most: how long it worked on the step, less its waits. Empty: not recorded.
  std::optional<double> cpu_ns, wait_ns;
};

/// What a device was like.
struct DeviceFacts {
  std::string name;
  std::string uuid;
  std::int64_t sm_count = 0;
  friend bool operator==(const DeviceFacts&, const DeviceFacts&) = default;
};

struct RunProfile {
  std::string path;  ///< of the capture
  std::string command_line;
  std::string git_commit;
  std::optional<bool> git_dirty;
  std::string host_name;
  std::optional<std::int64_t> start_ns;
  std::map<std::string, std::string> versions;
  std::map<std::string, std::string> environment;
  std::vector<DeviceFacts> devices;   ///< those that ran kernels of the step
  std::optional<double> sm_clock_hz;  ///< median while the timeline steps ran
  std::optional<double> power_w;      ///< likewise
  std::optional<int> temperature_c;   ///< highest
  double throttled_share = 0;         ///< of the clock samples that name a reason
  std::vector<std::string> throttle_reasons;
  std::string dram_roof;       ///< that dram_ratio is of, "4.80 TB/s, spec"; "" not known
  std::int64_t processes = 0;  ///< that ran kernels; the profile is of the busiest

  analyzer::StepSpread step;     ///< over the steps that the medians are of
  bool whole_recording = false;  ///< the capture has no steps: all of it was taken as one
  double kernel_ns = 0;          ///< Σ KernelSite::time_ns
  double busy_ns = 0;            ///< of the representative step: some kernel ran
  double gap_ns = 0;             ///< of the representative step: the device did nothing
  StepParts parts;
  std::vector<KernelSite> sites;     ///< in the order of their first launch
  std::vector<std::uint32_t> order;  ///< sites of the representative step's launches, in order of launch
  std::vector<TransferSite> transfers;
  /// Launches a step.
  [[nodiscard]] double launches() const;
};

struct ProfileOptions {
  analyzer::AnalysisOptions analysis;
  /// Launches read at most; beyond, fewer steps are read, but at least three.
  std::int64_t max_launches = 5'000'000;
};

/// Reads a capture. Failures: those of store::Capture::open(), no_data (no launch with a timestamp), usage, cancelled.
[[nodiscard]] Result<RunProfile> profile_run(const std::string& path, const ProfileOptions& options = {},
                                             const analyzer::QueryOptions& ask = {});

/// An NVTX path with its numbers folded: "step 4 / layer 11 / mlp" becomes "step * / layer * / mlp". A number that is
/// part of a word ("conv2d", "fc1") stays.
[[nodiscard]] std::string folded_path(std::string_view path);

}  // namespace ridgeline::comparison
