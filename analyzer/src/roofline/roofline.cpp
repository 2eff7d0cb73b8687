#include "ridgeline/analyzer/roofline/roofline.h"

#include <algorithm>
#include <map>

#include "values/merge.h"

namespace ridgeline::analyzer {

namespace {

// Sources that differ by more do not speak of the same work.
constexpr double kSameOperations = 0.05;
// Beyond what roofs and durations vary by.
constexpr double kAboveRoof = 1.02;

struct Sum {
  double bytes = 0;
  double operations = 0;
  double ns = 0;
};

// What is added up of a row's launches.
class PointSums {
 public:
  void add(const LaunchValues& values, std::int64_t duration_ns);
  void add(const LaunchRoofTimes& times, double duration_ns);
  void finish(const RankingRow* row, RooflinePoint& point) const;
  void add(const PointSums& other);

 private:
  void add_operations(const LaunchValues& values, double ns);

  Sum moved_, both_;                      // with bytes; with bytes and operations
  double tensor_ = 0, instructions_ = 0;  // over `both_`
  bool any_instructions_ = false;
  Sum l2_, l1_;  // bytes of these caches, and operations, over launches with both
  double read_ = 0, read_or_written_ = 0;
  std::map<Quantity, double> types_;
  double sol_ns_ = 0, filled_ns_ = 0, covered_ns_ = 0, headroom_ns_ = 0;
  std::map<Roof, double> bounds_;                                      // sol_ns by the roof that it is of
  std::map<std::pair<RoofLevel, Pipe>, std::vector<RoofTime>> roofs_;  // by roof, each precision apart
};

void PointSums::add_operations(const LaunchValues& values, double ns) {
  const bool counted = values.tensor_ops || values.instruction_ops;
  if (!counted) return;
  const double tensor = values.tensor_ops ? values.tensor_ops->value : 0;
  const double instructions = values.instruction_ops ? values.instruction_ops->total() : 0;
  any_instructions_ = any_instructions_ || values.instruction_ops;
  tensor_ += tensor;
  instructions_ += instructions;
  both_.bytes += values.dram_bytes->value;
  both_.operations += tensor + instructions;
  both_.ns += ns;
  for (const TypedOperations& type : values.tensor_types) types_[type.quantity] += type.count;
  if (values.instruction_ops) {
    types_[Quantity::fp32_flops_per_s] += values.instruction_ops->fp32 + values.instruction_ops->fp16;
    types_[Quantity::fp64_flops_per_s] += values.instruction_ops->fp64;
  }
  for (const auto& [metric, sum] :
       {std::pair(Metric("l2_bytes"), &l2_), std::pair(Metric("l1_bytes"), &l1_)}) {
    const auto bytes = values.metrics.of(metric);
    if (!bytes || bytes->value <= 0) continue;
    sum->bytes += bytes->value;
    sum->operations += tensor + instructions;
  }
}

void PointSums::add(const LaunchValues& values, std::int64_t duration_ns) {
  if (!values.dram_bytes || duration_ns <= 0) return;
  const auto ns = static_cast<double>(duration_ns);
  moved_.bytes += values.dram_bytes->value;
  moved_.ns += ns;
  const auto read = values.metrics.of("dram_read_bytes");
  const auto written = values.metrics.of("dram_write_bytes");
  if (read && written) {
    read_ += read->value;
    read_or_written_ += read->value + written->value;
  }
  add_operations(values, ns);
}

void PointSums::add(const LaunchRoofTimes& times, double duration_ns) {
  sol_ns_ += times.sol_ns;
  filled_ns_ += times.filled_ns;
  covered_ns_ += duration_ns;
  headroom_ns_ += std::max(0.0, duration_ns - times.sol_ns);
  bounds_[times.bound] += times.sol_ns;
  for (const RoofTime& time : times.roofs) {
    std::vector<RoofTime>& of_pipe = roofs_[{time.roof.level, time.roof.pipe}];
    const auto same = std::find_if(of_pipe.begin(), of_pipe.end(),
                                   [&](const RoofTime& known) { return known.roof == time.roof; });
    if (same == of_pipe.end()) {
      of_pipe.push_back(time);
    } else {
      same->time_ns += time.time_ns;
      same->work += time.work;
    }
  }
}

void PointSums::add(const PointSums& other) {
  const auto plus = [](Sum& a, const Sum& b) {
    a.bytes += b.bytes, a.operations += b.operations, a.ns += b.ns;
  };
  plus(moved_, other.moved_), plus(both_, other.both_), plus(l2_, other.l2_), plus(l1_, other.l1_);
  tensor_ += other.tensor_, instructions_ += other.instructions_;
  any_instructions_ = any_instructions_ || other.any_instructions_;
  read_ += other.read_, read_or_written_ += other.read_or_written_;
  for (const auto& [type, count] : other.types_) types_[type] += count;
  sol_ns_ += other.sol_ns_, filled_ns_ += other.filled_ns_;
  covered_ns_ += other.covered_ns_, headroom_ns_ += other.headroom_ns_;
  for (const auto& [roof, ns] : other.bounds_) bounds_[roof] += ns;
  for (const auto& [pipe, times] : other.roofs_) {
    for (const RoofTime& time : times) {
      std::vector<RoofTime>& of_pipe = roofs_[pipe];
      const auto same = std::find_if(of_pipe.begin(), of_pipe.end(),
                                     [&](const RoofTime& known) { return known.roof == time.roof; });
      if (same == of_pipe.end()) {
        of_pipe.push_back(time);
      } else {
        same->time_ns += time.time_ns;
        same->work += time.work;
      }
    }
  }
}

// What the program says of ranges in which nothing but this row ran.
const WorkSum* own_work(const RankingRow* row) {
  if (row == nullptr || !row->work || row->work->launches != row->calls || row->work->undeclared_launches > 0)
    return nullptr;
  return &*row->work;
}

void PointSums::finish(const RankingRow* row, RooflinePoint& point) const {
  if (moved_.ns > 0) point.dram_bytes_per_s = moved_.bytes / moved_.ns * 1e9;
  if (read_or_written_ > 0) point.read_share = read_ / read_or_written_;
  Sum sum = both_;
  if (tensor_ > 0) {
    point.known_operations.push_back({OperationSource::counted, tensor_ + instructions_});
  } else if (any_instructions_ && instructions_ > 0) {
    point.known_operations.push_back({OperationSource::instructions, instructions_});
  }
  const auto most = std::max_element(types_.begin(), types_.end(),
                                     [](const auto& a, const auto& b) { return a.second < b.second; });
  if (most != types_.end() && most->second > 0) point.quantity = most->first;
  if (const WorkSum* work = own_work(row)) {
    if (work->declared_flops.value_or(0) > 0)
      point.known_operations.push_back({OperationSource::declared, *work->declared_flops});
    if (work->gemm && work->gemms == 1) {
      const double each = 2.0 * static_cast<double>(work->gemm->m) * static_cast<double>(work->gemm->n) *
                          static_cast<double>(work->gemm->k);
      point.known_operations.push_back({OperationSource::formula, each * static_cast<double>(work->ranges)});
    }
    const bool told = !point.known_operations.empty() && tensor_ <= 0 && instructions_ <= 0;
    if (told && work->measured_bytes.value_or(0) > 0 && work->time_ns > 0) {
      sum = {*work->measured_bytes, point.known_operations.front().operations,
             static_cast<double>(work->time_ns)};
      // No tensor operation was counted: the FP32 pipe does the work.
      point.quantity = Quantity::fp32_flops_per_s;
    }
  }
  if (!point.known_operations.empty() && sum.bytes > 0 && sum.operations > 0 && sum.ns > 0) {
    point.operations = point.known_operations.front().source;
    point.intensity_flop_per_byte = sum.operations / sum.bytes;
    point.flops_per_s = sum.operations / sum.ns * 1e9;
    if (l2_.bytes > 0 && l2_.operations > 0) point.l2_intensity = l2_.operations / l2_.bytes;
    if (l1_.bytes > 0 && l1_.operations > 0) point.l1_intensity = l1_.operations / l1_.bytes;
  } else {
    point.quantity.reset();
  }
  if (covered_ns_ <= 0) return;
  point.sol_ns = sol_ns_;
  point.filled_ns = filled_ns_;
  point.covered_ns = covered_ns_;
  point.headroom_ns = headroom_ns_;
  const auto bound = std::max_element(bounds_.begin(), bounds_.end(),
                                      [](const auto& a, const auto& b) { return a.second < b.second; });
  point.bound = bound->first;
  // Precisions of one pipe share it: their times add up under the one of the most time.
  for (const auto& [pipe, times] : roofs_) {
    RoofTime all = *std::max_element(times.begin(), times.end(), [](const RoofTime& a, const RoofTime& b) {
      return a.time_ns < b.time_ns;
    });
    all.time_ns = all.work = 0;
    for (const RoofTime& time : times) all.time_ns += time.time_ns, all.work += time.work;
    point.roofs.push_back(all);
  }
}

Finding about(const RooflinePoint& point, const Ranking& ranking, FindingCode code) {
  Finding finding{.severity = Severity::warning, .code = code};
  finding.subject.name = point.key;
  finding.step_share = point.step_share;
  finding.magnitude_ns = static_cast<double>(point.time_ns);
  finding.scope = ranking.scope;
  return finding;
}

void find_disagreement(const RooflinePoint& point, const Ranking& ranking, Findings& findings) {
  if (point.known_operations.size() < 2) return;
  const auto [least, most] =
      std::minmax_element(point.known_operations.begin(), point.known_operations.end(),
                          [](const auto& a, const auto& b) { return a.operations < b.operations; });
  if (least->operations <= 0 || most->operations / least->operations <= 1 + kSameOperations) return;
  Finding finding = about(point, ranking, FindingCode::operations_disagree);
  finding.severity = Severity::info;
  for (const SourcedOperations& each : point.known_operations)
    finding.evidence.push_back({to_string(each.source), each.operations, {}, {}});
  findings.push_back(std::move(finding));
}

// DRAM and pipes are looked at launch by launch where utilisations are made; caches are not.
void find_above_cache(const RooflinePoint& point, const Ranking& ranking, Findings& findings) {
  for (const RoofTime& time : point.roofs) {
    const bool is_cache = time.roof.level == RoofLevel::l2 || time.roof.level == RoofLevel::l1;
    if (!is_cache || time.time_ns <= point.covered_ns * kAboveRoof) continue;
    Finding finding = about(point, ranking, FindingCode::above_cache_roof);
    finding.evidence = {{"utilisation_ratio", time.time_ns / point.covered_ns, {}, {}}};
    finding.roof = time.roof;
    findings.push_back(std::move(finding));
  }
}

RooflinePoint point_of(const RankingRow& row, std::size_t index) {
  RooflinePoint point;
  point.ranking_row = index;
  point.key = row.key;
  point.kernel_class = row.kernel_class;
  point.calls = row.calls;
  point.time_ns = row.time_ns;
  point.step_share = row.step_share;
  return point;
}

void add_peaks(const Model& model, const UtilisationAnalysis& utilisation, Roofline& roofline) {
  for (const Peak& peak : utilisation.peaks) {
    if (peak.quantity == Quantity::dram_bytes_per_s && peak.value > 0) roofline.dram = peak;
    if (peak.quantity == Quantity::l2_bytes_per_s && peak.value > 0) roofline.l2 = peak;
  }
  std::vector<Quantity> used;
  for (const RooflinePoint& point : roofline.points) {
    if (point.quantity && std::find(used.begin(), used.end(), *point.quantity) == used.end())
      used.push_back(*point.quantity);
  }
  const auto clock = utilisation.sm_clock_hz.find(roofline.device_id);
  for (const Quantity quantity : used) {
    const auto peak =
        choose_peak(model, roofline.device_id, quantity, roofline.source,
                    clock == utilisation.sm_clock_hz.end() ? std::nullopt : std::optional(clock->second));
    if (peak && peak.value().value > 0) roofline.compute.push_back(peak.value());
  }
  std::sort(roofline.compute.begin(), roofline.compute.end(),
            [](const Peak& a, const Peak& b) { return a.value > b.value; });
}

}  // namespace

std::string_view to_string(OperationSource source) {
  switch (source) {
    case OperationSource::none:
      return "none";
    case OperationSource::counted:
      return "counted";
    case OperationSource::instructions:
      return "instructions";
    case OperationSource::declared:
      return "declared";
    case OperationSource::formula:
      return "formula";
  }
  return "none";
}

Roofline make_roofline(const Model& model, const UtilisationAnalysis& utilisation, const Ranking& ranking,
                       store::Id device_id, const PeakPolicy& policy) {
  Roofline roofline;
  roofline.device_id = device_id;
  roofline.source = rate_source(model, device_id, policy);
  roofline.step_ns = ranking.totals.step_ns;
  RoofTimes times(model, utilisation, policy);
  roofline.launch_floor_ns = times.launch_floor_ns(device_id);
  PointSums all;
  for (std::size_t i = 0; i < ranking.rows.size(); ++i) {
    PointSums sums;
    for (const std::size_t launch : ranking.rows[i].launches) {
      const std::int64_t duration_ns = utilisation.launches.row(launch).duration_ns;
      sums.add(*utilisation.launches.group_of(launch).values, duration_ns);
      if (const auto at_roofs = times.of(launch)) sums.add(*at_roofs, static_cast<double>(duration_ns));
    }
    RooflinePoint point = point_of(ranking.rows[i], i);
    sums.finish(&ranking.rows[i], point);
    all.add(sums);
    if (!point.intensity_flop_per_byte) ++roofline.without_intensity;
    find_disagreement(point, ranking, roofline.findings);
    find_above_cache(point, ranking, roofline.findings);
    roofline.points.push_back(std::move(point));
  }
  roofline.step.calls = ranking.totals.calls;
  roofline.step.time_ns = ranking.totals.time_ns;
  roofline.step.step_share = roofline.step_ns > 0 ? static_cast<double>(ranking.totals.time_ns) /
                                                        static_cast<double>(roofline.step_ns)
                                                  : 0;
  all.finish(nullptr, roofline.step);
  roofline.findings = merged(roofline.findings);
  add_peaks(model, utilisation, roofline);
  return roofline;
}

}  // namespace ridgeline::analyzer
