#include "ridgeline/analyzer/values/measured_roofs.h"

#include <algorithm>
#include <cmath>

namespace ridgeline::analyzer {

namespace {

// Beyond these no device is, and a quotient would not be a number.
bool is_usable(double value) {
  return value >= 1.0 && value <= 1e24;
}

std::optional<Roof> roof_of_row(const store::Ceiling& row) {
  switch (row.level) {
    case CeilingLevel::dram:
      return row.read_share && *row.read_share >= 0 && *row.read_share <= 1 ? std::optional(Roof::kDram)
                                                                            : std::nullopt;
    case CeilingLevel::l2:
      return row.kind == "read" ? std::optional(Roof::kL2) : std::nullopt;
    case CeilingLevel::l1:
      return row.kind == "read" ? std::optional(Roof::kL1) : std::nullopt;
    case CeilingLevel::compute:
      return compute_roof(row.kind);
    case CeilingLevel::shared:
    case CeilingLevel::launch:
    case CeilingLevel::pcie:
    case CeilingLevel::nvlink:
    case CeilingLevel::energy:
      break;
  }
  return std::nullopt;
}

MeasuredRoof between(double share, double low_share, const MeasuredRoof& low, double high_share,
                     const MeasuredRoof& high) {
  const double weight = (share - low_share) / (high_share - low_share);
  MeasuredRoof mixed = weight < 0.5 ? low : high;
  mixed.per_s = 1 / ((1 - weight) / low.per_s + weight / high.per_s);
  mixed.spread_ratio = std::max(low.spread_ratio, high.spread_ratio);
  return mixed;
}

}  // namespace

MeasuredRoofs::MeasuredRoofs(const std::vector<store::Ceiling>& rows, store::Id device_id) {
  for (const store::Ceiling& row : rows) {
    const std::optional<Roof> roof = roof_of_row(row);
    if (row.device_id != device_id || !roof || !is_usable(row.value)) continue;
    const double share = *roof == Roof::kDram ? *row.read_share : 0;
    roofs_[{*roof, row.state, share}] = {.per_s = row.value,
                                         .spread_ratio = std::max(0.0, row.spread_ratio.value_or(0)),
                                         .sm_clock_hz = row.sm_clock_hz,
                                         .conditions = row.conditions};
  }
}

std::optional<MeasuredRoof> MeasuredRoofs::of(const Roof& roof, CeilingState state,
                                              std::optional<double> read_share) const {
  const auto from = roofs_.lower_bound({roof, state, 0});
  const auto is_it = [&](const auto& at) {
    return at != roofs_.end() && at->first.roof == roof && at->first.state == state;
  };
  if (!is_it(from)) return std::nullopt;
  auto best = from;
  auto before = roofs_.end();
  for (auto at = from; is_it(at); ++at) {
    if (!read_share) {
      if (at->second.per_s > best->second.per_s) best = at;
      continue;
    }
    best = at;
    if (at->first.read_share >= *read_share) {
      if (before == roofs_.end() || at->first.read_share == *read_share) return at->second;
      return between(*read_share, before->first.read_share, before->second, at->first.read_share, at->second);
    }
    before = at;
  }
  return best->second;
}

std::vector<std::pair<double, double>> MeasuredRoofs::dram_mixes(CeilingState state) const {
  std::vector<std::pair<double, double>> mixes;
  for (const auto& [key, roof] : roofs_) {
    if (key.roof == Roof::kDram && key.state == state) mixes.emplace_back(key.read_share, roof.per_s);
  }
  return mixes;
}

std::optional<CeilingState> state_of(PeakSource source) {
  if (source == PeakSource::burst) return CeilingState::burst;
  if (source == PeakSource::sustained) return CeilingState::sustained;
  return std::nullopt;
}

}  // namespace ridgeline::analyzer
