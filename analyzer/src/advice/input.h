// input.h: what the rules look at, and the questions that several of them ask.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string_view>
#include <vector>

#include "ranking/saving_reach.h"
#include "ridgeline/analyzer/accounting/accounting.h"
#include "ridgeline/analyzer/advice/advice.h"
#include "ridgeline/analyzer/findings/quality.h"
#include "ridgeline/analyzer/ranking/launch_shape.h"
#include "ridgeline/analyzer/ranking/ranking.h"
#include "ridgeline/analyzer/ranking/stalls.h"
#include "ridgeline/analyzer/work/declared_work.h"

namespace ridgeline::analyzer {

/// Of one scope. Refers to what it is made of.
struct AdviceInput {
  const Model& model;
  const StepAnalysis& steps;
  const UtilisationAnalysis& utilisation;
  const Ranking& ranking;  ///< by kernel
  const Exposure& exposure;
  const Accounting& accounting;
  const Quality& quality;
  const StallAnalysis& stalls;
  const SavingReach& reach;
  DeclaredRanges* declared = nullptr;  ///< nullptr: the program declares nothing
  PeakPolicy peaks;
};

/// What a launch's kernel is, and as bits what its name and its ranges' names say: asked of a site once, for a step may
/// have millions of launches.
struct LaunchTraits {
  static constexpr std::uint32_t kFetchesWork =
      1;  ///< its blocks are as many as fit, whatever there is to do
  static constexpr std::uint32_t kElementwise = 2;  ///< each element by itself, and not fused by a compiler
  static constexpr std::uint32_t kCast = 4;         ///< converts between types
  static constexpr std::uint32_t kGemm = 8;
  static constexpr std::uint32_t kSplitSum = 16;    ///< adds up the parts of a split GEMM
  static constexpr std::uint32_t kSoftmax = 32;     ///< of attention
  static constexpr std::uint32_t kBias = 64;        ///< adds a bias, and nothing else
  static constexpr std::uint32_t kAdd = 128;        ///< adds two things, a bias perhaps
  static constexpr std::uint32_t kFp32Name = 256;   ///< a GEMM of FP32 by its name
  static constexpr std::uint32_t kOptimizer = 512;  ///< by its class, or its range's name
  static constexpr std::uint32_t kLibrary = 1024;   ///< a GEMM or a convolution of a library, by its name
  std::uint32_t bits = 0;
  Precision precision = Precision::any;  ///< of a GEMM, by its name
  std::optional<LaunchShape> shape;
  std::string_view kernel;  ///< demangled
  KernelClass kernel_class = KernelClass::other;

  [[nodiscard]] bool is(std::uint32_t trait) const { return (bits & trait) != 0; }
};

/// A launch of the scope. The references live as long as the input.
struct LaunchView {
  std::uint32_t position = 0;  ///< into UtilisationAnalysis::launches
  LaunchIndex launch = 0;      ///< into Model::launches
  const Launches::Row* row = nullptr;
  const store::Launch* site = nullptr;
  const LaunchVerdict* verdict = nullptr;
  const LaunchTraits* traits = nullptr;
  std::string_view kernel;  ///< demangled
  KernelClass kernel_class = KernelClass::other;
  std::int64_t duration_ns = 0;

  [[nodiscard]] bool is(std::uint32_t trait) const { return traits->is(trait); }
  [[nodiscard]] const LaunchValues& values() const { return *verdict->values; }
  /// Of both utilisations; empty: not measured.
  [[nodiscard]] std::optional<double> limiter() const { return verdict->nearest_roof_ratio; }
  [[nodiscard]] std::optional<double> dram_bytes() const;
  [[nodiscard]] std::optional<double> metric(Metric metric) const;
  [[nodiscard]] std::optional<double> roof(Roof roof) const { return values().roofs.of(roof); }
};

class AdviceLaunches {
 public:
  explicit AdviceLaunches(const AdviceInput& input);

  [[nodiscard]] std::size_t size() const { return input_.utilisation.launches.size(); }
  [[nodiscard]] LaunchView at(std::uint32_t position) const;
  /// Of at(position), without gathering the rest: who looks for few of many launches asks this first.
  [[nodiscard]] const LaunchTraits& traits(std::uint32_t position) const { return traits_[site_[position]]; }
  [[nodiscard]] bool is(std::uint32_t position, std::uint32_t trait) const {
    return traits(position).is(trait);
  }
  /// Positions stream by stream, in order of their start; those without times are left out.
  [[nodiscard]] const std::vector<std::uint32_t>& by_stream() const { return by_stream_; }
  /// Whether two positions that follow each other in by_stream() are of the same stream.
  [[nodiscard]] bool same_stream(std::uint32_t a, std::uint32_t b) const {
    return stream_[site_[a]] == stream_[site_[b]];
  }

 private:
  void number_streams();
  void order_by_stream();

  const AdviceInput& input_;
  std::vector<std::uint32_t> by_stream_;
  std::vector<Launches::SiteIndex> site_;  // by position
  std::vector<LaunchTraits> traits_;       // by site
  std::vector<std::uint32_t> stream_;      // by site: streams are numbered by device, context and stream
};

/// Of the device that a launch ran on; empty: not known.
[[nodiscard]] std::optional<double> advice_peak(const AdviceInput& input, store::Id device_id,
                                                Quantity quantity);
/// Lower-case text holds one of the words, which are in lower case.
[[nodiscard]] bool names_one_of(std::string_view text, std::initializer_list<std::string_view> words);
/// Moves data and computes next to nothing with it, each element by itself.
[[nodiscard]] bool is_elementwise(const LaunchView& launch);
/// Of a GEMM, from what it counted, else what its name says; any: unknown.
[[nodiscard]] Precision precision_of(const LaunchView& launch);
/// The recording lost launches, so that gaps may be made of them.
[[nodiscard]] bool launches_lost(const AdviceInput& input);
/// Steps of this phase have the program's own times.
[[nodiscard]] bool has_own_pace(const AdviceInput& input);

}  // namespace ridgeline::analyzer
