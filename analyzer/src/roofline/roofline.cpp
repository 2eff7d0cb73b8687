#include "ridgeline/analyzer/roofline/roofline.h"

#include <algorithm>
#include <map>

namespace ridgeline::analyzer {

namespace {

struct Sum {
  double bytes = 0;
  double operations = 0;
  double ns = 0;
};

// Operations that were counted, over the row's launches that have time, bytes and operations.
Sum counted(const UtilisationAnalysis& utilisation, const RankRow& row, RooflinePoint& point) {
  Sum both;
  Sum moved;
  std::map<Quantity, double> types;
  for (const std::size_t i : row.launches) {
    const LaunchVerdict& u = utilisation.launches.group_of(i);
    const std::int64_t duration_ns = utilisation.launches.row(i).duration_ns;
    if (!u.values->dram_bytes || duration_ns <= 0) continue;
    moved.bytes += u.values->dram_bytes->value;
    moved.ns += static_cast<double>(duration_ns);
    if (!u.values->tensor_ops) continue;
    both.bytes += u.values->dram_bytes->value;
    both.operations += u.values->tensor_ops->value;
    both.ns += static_cast<double>(duration_ns);
    if (u.values->tensor_ops->value > 0) types[*u.values->tensor_quantity] += u.values->tensor_ops->value;
  }
  if (moved.ns > 0) point.dram_bytes_per_s = moved.bytes / moved.ns * 1e9;
  const auto most = std::max_element(types.begin(), types.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most != types.end()) point.quantity = most->first;
  return both;
}

// FLOPs that the program declares for ranges in which nothing but this row ran.
std::optional<Sum> declared(const RankRow& row) {
  if (!row.work || row.work->launches != row.calls || row.work->undeclared_launches > 0) return std::nullopt;
  const WorkSum& work = *row.work;
  if (work.declared_flops.value_or(0) <= 0 || work.measured_bytes.value_or(0) <= 0 || work.time_ns <= 0)
    return std::nullopt;
  return Sum{*work.measured_bytes, *work.declared_flops, static_cast<double>(work.time_ns)};
}

RooflinePoint point_of(const UtilisationAnalysis& utilisation, const RankRow& row, std::size_t index) {
  RooflinePoint point;
  point.rank_row = index;
  point.key = row.key;
  point.kernel_class = row.kernel_class;
  point.time_ns = row.time_ns;
  point.step_share = row.step_share;
  Sum sum = counted(utilisation, row, point);
  if (sum.bytes > 0 && sum.operations > 0) {
    point.operations = OperationSource::counted;
  } else if (const auto told = declared(row)) {
    sum = *told;
    point.operations = OperationSource::declared;
    point.quantity =
        Quantity::fp32_flops_per_s;  // no tensor operation was counted: the FP32 pipe does the work
  } else {
    return point;
  }
  point.intensity_flop_per_byte = sum.operations / sum.bytes;
  point.flops_per_s = sum.operations / sum.ns * 1e9;
  return point;
}

}  // namespace

std::string_view to_string(OperationSource source) {
  switch (source) {
    case OperationSource::none:
      return "none";
    case OperationSource::counted:
      return "counted";
    case OperationSource::declared:
      return "declared";
  }
  return "none";
}

Roofline make_roofline(const Model& model, const UtilisationAnalysis& utilisation, const Ranking& ranking,
                       store::Id device_id, PeakSource compute) {
  Roofline roofline;
  roofline.device_id = device_id;
  for (const Peak& peak : utilisation.peaks) {
    if (peak.quantity == Quantity::dram_bytes_per_s && peak.value > 0) roofline.dram = peak;
  }
  std::vector<Quantity> used;
  for (std::size_t i = 0; i < ranking.rows.size(); ++i) {
    roofline.points.push_back(point_of(utilisation, ranking.rows[i], i));
    const RooflinePoint& point = roofline.points.back();
    if (!point.intensity_flop_per_byte) ++roofline.without_intensity;
    if (point.quantity && std::find(used.begin(), used.end(), *point.quantity) == used.end())
      used.push_back(*point.quantity);
  }
  for (const Quantity quantity : used) {
    const auto clock = utilisation.sm_clock_hz.find(device_id);
    const auto peak =
        choose_peak(model, device_id, quantity, compute,
                    clock == utilisation.sm_clock_hz.end() ? std::nullopt : std::optional(clock->second));
    if (peak && peak.value().value > 0) roofline.compute.push_back(peak.value());
  }
  std::sort(roofline.compute.begin(), roofline.compute.end(),
            [](const Peak& a, const Peak& b) { return a.value > b.value; });
  return roofline;
}

}  // namespace ridgeline::analyzer
