// pm_attribution.h: which kernel did what a periodic sample of the whole device saw. Pure numerics.
//
// Order: 1. calibrate_shift() and shift the samples  2. Attribution(...)  3. values() a metric at a time.
// docs/design/006-in-situ-sampling.md has the method, why, and how well it does.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "attribution/sparse_nnls.h"

namespace ridgeline::import {

/// Something that ran on the device: a kernel, a copy, a set.
struct PmActivity {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;     // > start_ns
  std::uint32_t position = 0;  // the same number: the same launch in another step; it is taken to do the same
  std::uint32_t family = 0;    // the same number: the same kernel and grid; one position has one family
};

/// Intervals of a window, in order of time and disjoint; all of about the same length.
struct PmSamples {
  std::vector<std::int64_t> start_ns;
  std::vector<std::int64_t> end_ns;
  [[nodiscard]] std::size_t size() const { return start_ns.size(); }
};

struct PmShift {
  std::int64_t shift_ns = 0;          // to be added to the times of the samples
  std::optional<double> correlation;  // at that shift, 0..1; none: nothing to correlate, and the shift is 0
};
inline constexpr std::int64_t kLargestShiftNs = 10'000;

/// The shift, up to kLargestShiftNs either way, at which the time that kernels ran in each sample correlates
/// best with the share of it in which SMs were active. `kernels` in order of start; `active` one value a
/// sample.
[[nodiscard]] PmShift calibrate_shift(std::span<const PmActivity> kernels, const PmSamples& samples,
                                      std::span<const double> active);

struct PmValue {
  double total = 0;             // over the launch, of what the samples' amounts add up
  std::optional<double> error;  // standard error of total
  std::int32_t samples = 0;     // that hold a part of the launch, of all launches of the position if pooled
  bool concurrent =
      false;            // other activities ran for more than kConcurrentShare of it: total is all of theirs
  bool pooled = false;  // the same value for every launch of the position
};

class Attribution {
 public:
  /// A launch of fewer intervals than this is pooled with those of its position.
  static constexpr double kLongIntervals = 3;
  static constexpr double kConcurrentShare = 0.1;
  /// A launch needs samples for this share of its time.
  static constexpr double kMinCoveredShare = 0.75;

  /// Activities in order of start.
  Attribution(std::span<const PmActivity> activities, const PmSamples& samples);

  /// What each activity contributed to `amounts`, one amount (count, or rate × time) a sample. Nothing for
  /// those that the samples do not cover.
  [[nodiscard]] std::vector<std::optional<PmValue>> values(std::span<const double> amounts) const;

  /// Mean over each activity's time of what the samples say, whoever caused it: for clocks and the like.
  /// `total` holds that mean.
  [[nodiscard]] std::vector<std::optional<PmValue>> means(std::span<const double> rates) const;

  [[nodiscard]] double interval_ns() const { return interval_ns_; }

 private:
  struct Part {  // of a sample: what one bin of one activity overlaps of it
    std::uint32_t sample;
    std::uint32_t activity;
    std::int32_t bin;  // unknown; -1: the middle of a long launch, which needs no solving
    double overlap;    // intervals
  };
  struct Shape {             // of a position: its bins, and how long its launches are
    double duration_ns = 0;  // median
    std::uint32_t first_bin = 0;
    std::uint32_t bins = 0;  // 1, 2, 3; 4: with an unsolved middle
  };
  void find_concurrent();
  void make_shapes();
  void make_parts();
  void make_systems();
  void make_variances();
  [[nodiscard]] std::vector<double> densities(std::span<const double> amounts) const;
  /// Amount of each part at these densities, scaled so that the parts of a sample add up to its amount.
  [[nodiscard]] std::vector<double> shares(std::span<const double> amounts,
                                           std::span<const double> densities) const;
  struct Misfit {
    std::vector<double> of_sample;  // amount − what the densities say; 0 of what is no row of the systems
    double usual = 0;               // share of the amount, where several activities share a sample
  };
  [[nodiscard]] Misfit misfit(std::span<const double> amounts, std::span<const double> densities) const;
  struct Own {  // what an activity's own samples say
    double total = 0;
    double edge_variance = 0;  // from the samples that it shares
    double misfit = 0, level = 0;
    std::int32_t samples = 0, rows = 0;
    bool usable = false;
  };
  [[nodiscard]] Own own_of(std::size_t activity, std::span<const double> amounts,
                           std::span<const double> share, std::span<const double> misfit) const;
  /// Of the launches of a position: their values go into `result`.
  void combine(std::size_t position, std::span<const Own> own, double usual_misfit,
               std::vector<std::optional<PmValue>>& result) const;
  [[nodiscard]] bool mixed(std::size_t sample) const {  // several activities share it
    return parts_[first_part_[sample]].activity != parts_[first_part_[sample + 1] - 1].activity;
  }

  std::span<const PmActivity> activities_;
  const PmSamples& samples_;
  double interval_ns_ = 0;
  std::vector<std::uint8_t> concurrent_;              // by activity
  std::vector<double> covered_;                       // by activity: share of its time in samples
  std::vector<Shape> shapes_;                         // by position
  std::vector<std::vector<std::uint32_t>> launches_;  // by position
  std::vector<Part> parts_;                           // by sample
  std::vector<std::uint32_t> first_part_;             // by sample, and the end
  std::vector<std::uint32_t> parts_of_;               // parts by activity
  std::vector<std::uint32_t> first_of_;               // by activity, and the end
  std::vector<std::uint8_t> solved_;                  // by sample: a row of the systems
  std::size_t bins_ = 0, family_bins_ = 0;
  std::vector<std::uint32_t> family_bin_;  // by bin
  SparseGram gram_, family_gram_;
  std::vector<double> variance_;  // by position: of its density's sum over bins × width, residual variance 1
  double free_share_ = 0;         // of the rows: 1 - unknowns ÷ rows, at least kMinFreeShare
};

}  // namespace ridgeline::import
