// measured_roofs.h: the roofs that `ridgeline ceilings` measured on a device, by what they are of.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "ridgeline/analyzer/values/roof.h"
#include "ridgeline/base/vocabulary.h"
#include "ridgeline/store/records.h"

namespace ridgeline::analyzer {

/// One roof in one state.
struct MeasuredRoof {
  double per_s = 0;                   ///< bytes or operations
  double spread_ratio = 0;            ///< how far rounds were apart
  std::optional<double> sm_clock_hz;  ///< while it was measured
  std::string conditions;
};

/// A value; without rows everything is absent.
class MeasuredRoofs {
 public:
  MeasuredRoofs() = default;
  MeasuredRoofs(const std::vector<store::Ceiling>& rows, store::Id device_id);

  /// Whether any roof of memory or arithmetic was measured.
  [[nodiscard]] bool any() const { return !roofs_.empty(); }
  /// In that state alone. DRAM at `read_share`, the bytes read of those moved: between the mixes that were measured 1/B
  /// is linear, beyond them the nearest counts; without a share the fastest mix does, which nothing passes.
  [[nodiscard]] std::optional<MeasuredRoof> of(const Roof& roof, CeilingState state,
                                               std::optional<double> read_share = {}) const;
  /// Shares of reads that DRAM was measured at in that state, and its bytes a second.
  [[nodiscard]] std::vector<std::pair<double, double>> dram_mixes(CeilingState state) const;

 private:
  struct Key {
    Roof roof;
    CeilingState state;
    double read_share;  ///< of DRAM; 0 of others
    friend auto operator<=>(const Key&, const Key&) = default;
  };
  std::map<Key, MeasuredRoof> roofs_;
};

/// burst or sustained; empty: the source is not of measured roofs.
[[nodiscard]] std::optional<CeilingState> state_of(PeakSource source);

}  // namespace ridgeline::analyzer
