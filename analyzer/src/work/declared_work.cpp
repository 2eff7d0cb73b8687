#include "ridgeline/analyzer/work/declared_work.h"

#include <algorithm>
#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

#include "utilisation/tier_values.h"
#include "values/merge.h"

namespace ridgeline::analyzer {

namespace {

constexpr Quantity kDramPeak = Quantity::dram_bytes_per_s;
constexpr Quantity kFp32Peak = Quantity::fp32_flops_per_s;

void add(std::optional<double>& sum, const std::optional<double>& value) {
  if (value) sum = sum.value_or(0) + *value;
}

// A sum that one missing part makes unknown.
class CompleteSum {
 public:
  void add(const std::optional<double>& value) {
    if (value) {
      sum_ += *value;
      any_ = true;
    } else {
      complete_ = false;
    }
  }
  void add(const std::optional<Measured>& value) { add(value ? std::optional(value->value) : std::nullopt); }
  [[nodiscard]] std::optional<double> result() const {
    return any_ && complete_ ? std::optional(sum_) : std::nullopt;
  }

 private:
  double sum_ = 0;
  bool any_ = false;
  bool complete_ = true;
};

std::optional<double> ratio(const std::optional<double>& measured, const std::optional<double>& declared) {
  if (!measured || !declared || *declared <= 0) return std::nullopt;
  return *measured / *declared;
}

// Floating-point operations of a counted instruction; 0: it is none.
double operations_of_instruction(std::string_view metric) {
  constexpr std::string_view kPrefix = "smsp__sass_thread_inst_executed_op_";
  constexpr std::string_view kSuffix = "_pred_on.sum";
  if (!metric.starts_with(kPrefix) || !metric.ends_with(kSuffix)) return 0;
  metric.remove_prefix(kPrefix.size());
  metric.remove_suffix(kSuffix.size());
  for (const std::string_view type : {"f", "h", "d"}) {
    if (!metric.starts_with(type)) continue;
    const std::string_view operation = metric.substr(1);
    if (operation == "fma") return 2;
    if (operation == "add" || operation == "mul") return 1;
  }
  return 0;
}

std::optional<GemmShape> gemm_of(const std::vector<const store::Annotation*>& annotations) {
  for (const store::Annotation* one : annotations) {
    if (one->m.value_or(0) > 0 && one->n.value_or(0) > 0 && one->k.value_or(0) > 0)
      return GemmShape{*one->m, *one->n, *one->k};
  }
  return std::nullopt;
}

std::string last_part(std::string_view path) {
  constexpr std::string_view kSeparator = " / ";
  const std::size_t at = path.rfind(kSeparator);
  return std::string(at == std::string_view::npos ? path : path.substr(at + kSeparator.size()));
}

}  // namespace

// Adds up ranges; a launch that several of them hold (one range in another) counts once.
class DeclaredRanges::Sum {
 public:
  explicit Sum(const DeclaredRanges& all) : all_(all) {}

  void add_range(const Range& range, const std::optional<double>& bytes, const std::optional<double>& flops) {
    ++sum_.ranges;
    add(sum_.declared_bytes, bytes);
    add(sum_.declared_flops, flops);
    launches_.insert(launches_.end(), range.launches.begin(), range.launches.end());
    const Minimum minimum = all_.minimum(range, bytes, flops);
    minimum_.add(minimum.ns);
    if (minimum.ns) parts_ns_[minimum.roof] += *minimum.ns;
  }

  [[nodiscard]] WorkSum result() {
    std::sort(launches_.begin(), launches_.end());
    launches_.erase(std::unique(launches_.begin(), launches_.end()), launches_.end());
    WorkSum sum = sum_;
    CompleteSum bytes, tensor, instructions;
    std::set<store::Id> kernels;
    for (const std::size_t index : launches_) {
      const LaunchVerdict& item = all_.utilisation_.launches.group_of(index);
      ++sum.launches;
      sum.time_ns += all_.utilisation_.launches.row(index).duration_ns;
      kernels.insert(item.kernel_id);
      bytes.add(item.values->dram_bytes);
      tensor.add(item.values->tensor_ops);
      instructions.add(all_.fp_ops_[index]);
    }
    sum.kernels = static_cast<std::int64_t>(kernels.size());
    sum.measured_bytes = bytes.result();
    sum.measured_tensor_ops = tensor.result();
    sum.measured_fp_ops = instructions.result();
    sum.bytes_ratio = ratio(sum.measured_bytes, sum.declared_bytes);
    // Work that was not done on the tensor pipe is not counted by its counters: that is not "none".
    const bool on_tensor_pipe = sum.measured_tensor_ops.value_or(0) > 0;
    sum.ops_ratio = ratio(on_tensor_pipe ? sum.measured_tensor_ops : sum.measured_fp_ops, sum.declared_flops);
    sum.minimum_ns = minimum_.result();
    if (sum.minimum_ns && *sum.minimum_ns > 0) {
      sum.minimum_roof = roof_of_most();
      if (sum.time_ns > 0) sum.minimum_ratio = *sum.minimum_ns / static_cast<double>(sum.time_ns);
    }
    return sum;
  }

 private:
  // The DRAM against all pipes together; of these the one that most of it is of.
  [[nodiscard]] Roof roof_of_most() const {
    double compute_ns = 0;
    double max_ns = 0;
    Roof most = Roof::kDram;
    for (const auto& [roof, ns] : parts_ns_) {
      if (roof == Roof::kDram) continue;
      compute_ns += ns;
      if (ns > max_ns) most = roof;
      max_ns = std::max(max_ns, ns);
    }
    const auto dram = parts_ns_.find(Roof::kDram);
    return compute_ns > (dram == parts_ns_.end() ? 0 : dram->second) ? most : Roof::kDram;
  }

  const DeclaredRanges& all_;
  WorkSum sum_;
  std::vector<std::size_t> launches_;
  CompleteSum minimum_;
  std::map<Roof, double> parts_ns_;  // of the minimum, by the roof that it is of
};

DeclaredRanges::DeclaredRanges(const Model& model, const StepAnalysis& steps,
                               const UtilisationAnalysis& utilisation, const PeakPolicy& peaks, bool partial)
    : model_(model), utilisation_(utilisation) {
  if (model.annotations.empty()) return;
  owner_.resize(utilisation.launches.size());
  fp_ops_.resize(utilisation.launches.size());
  const RepresentativeStep& step = steps.representative;
  std::unordered_set<store::Id> chosen = {step.summary.step_id};
  for (const LaunchIndex index : step.launches) {
    if (const std::uint32_t at = model.launches.row(index).step; at != 0)
      chosen.insert(model.launches.step_ids()[at]);
  }
  std::unordered_map<store::Id, std::vector<const store::Annotation*>> annotations;
  for (const store::Annotation& annotation : model.annotations) {
    // What says only how much a step works through is no work of its launches.
    if (annotation.bytes || annotation.flops) annotations[annotation.nvtx_range_id].push_back(&annotation);
  }
  for (const store::NvtxRange& range : model.nvtx_ranges) {
    if (range.process_id != steps.process_id || !range.end_ns) continue;
    if (!step.whole_recording && !chosen.contains(range.step_id.value_or(0))) continue;
    const auto found = annotations.find(range.id);
    if (found == annotations.end()) continue;
    ranges_.push_back({&range, found->second, {}, gemm_of(found->second)});
    any_gemm_ = any_gemm_ || ranges_.back().gemm;
  }
  // Outer ranges first, so that the last to claim a launch is the innermost.
  std::stable_sort(ranges_.begin(), ranges_.end(), [](const Range& a, const Range& b) {
    return a.range->start_ns != b.range->start_ns ? a.range->start_ns < b.range->start_ns
                                                  : a.range->depth < b.range->depth;
  });
  std::vector<std::pair<std::int64_t, std::size_t>> called;  // time of the call, launch
  for (std::size_t i = 0; i < utilisation.launches.size(); ++i) {
    const std::int64_t host_start_ns = model.launches.row(utilisation.launches.row(i).launch).host_start_ns;
    if (host_start_ns != Launches::Row::kAbsent) called.emplace_back(host_start_ns, i);
  }
  std::sort(called.begin(), called.end());
  for (std::size_t r = 0; r < ranges_.size(); ++r) {
    Range& item = ranges_[r];
    auto next =
        std::lower_bound(called.begin(), called.end(), std::pair(item.range->start_ns, std::size_t{0}));
    for (; next != called.end() && next->first <= *item.range->end_ns; ++next) {
      const store::Launch& launch = model.launches.site(utilisation.launches.row(next->second).launch);
      if (launch.thread_id && *launch.thread_id != item.range->thread_id) continue;
      item.launches.push_back(next->second);
      owner_[next->second] = r;
    }
  }
  if (partial) drop_incomplete(steps);
  find_peaks(peaks);
  count_instructions(steps);
}

void DeclaredRanges::drop_incomplete(const StepAnalysis& steps) {
  std::vector<bool> selected(model_.launches.size(), false);
  for (const LaunchIndex index : steps.representative.launches) selected[index] = true;
  std::vector<std::pair<std::int64_t, LaunchIndex>>
      others;  // time of the call, launch that is not of the scope
  for (LaunchIndex i = 0; i < model_.launches.size(); ++i) {
    const std::int64_t host_start_ns = model_.launches.row(i).host_start_ns;
    if (!selected[i] && model_.launches.site(i).process_id == steps.process_id &&
        host_start_ns != Launches::Row::kAbsent)
      others.emplace_back(host_start_ns, i);
  }
  std::sort(others.begin(), others.end());
  const auto incomplete = [&](const Range& item) {
    if (item.launches.empty()) return true;
    // Of a launch that the scope's window cuts a part counts; the declaration is of the whole.
    for (const std::size_t index : item.launches) {
      const LaunchUtilisations::Row& row = utilisation_.launches.row(index);
      if (row.duration_ns < duration_ns(model_.launches.row(row.launch))) return true;
    }
    auto next =
        std::lower_bound(others.begin(), others.end(), std::pair(item.range->start_ns, LaunchIndex{0}));
    for (; next != others.end() && next->first <= *item.range->end_ns; ++next) {
      const auto& thread = model_.launches.site(next->second).thread_id;
      if (!thread || *thread == item.range->thread_id) return true;
    }
    return false;
  };
  std::vector<std::optional<std::size_t>> place(ranges_.size());
  std::vector<Range> kept;
  for (std::size_t i = 0; i < ranges_.size(); ++i) {
    if (incomplete(ranges_[i])) continue;
    place[i] = kept.size();
    kept.push_back(std::move(ranges_[i]));
  }
  ranges_ = std::move(kept);
  for (auto& owner : owner_) {
    if (owner) owner = place[*owner];
  }
}

void DeclaredRanges::find_peaks(const PeakPolicy& policy) {
  std::set<std::pair<store::Id, Quantity>> needed;
  for (std::size_t i = 0; i < owner_.size(); ++i) {
    if (!owner_[i]) continue;
    const LaunchVerdict& item = utilisation_.launches.group_of(i);
    const store::Id device_id = model_.launches.site(utilisation_.launches.row(i).launch).device_id;
    needed.emplace(device_id, kDramPeak);
    needed.emplace(device_id, item.values->tensor_quantity.value_or(kFp32Peak));
  }
  for (const auto& [device_id, quantity] : needed) {
    const PeakSource source = quantity == kDramPeak ? dram_source(model_, device_id, policy)
                                                    : rate_source(model_, device_id, policy);
    if (const auto peak = choose_peak(model_, device_id, quantity, source))
      peaks_[{device_id, quantity}] = peak.value().value;
  }
}

void DeclaredRanges::count_instructions(const StepAnalysis& steps) {
  const TierSteps counted(model_, steps, Phase::flops, Tier::t3);
  if (counted.seen() == 0) return;
  for (std::size_t i = 0; i < owner_.size(); ++i) {
    if (!owner_[i]) continue;
    const TierRows rows = counted.rows(model_.launches[utilisation_.launches.row(i).launch]);
    for (const TierRow& row : rows.rows) {
      for (const auto& [name, value] : row.values) {
        const double operations = operations_of_instruction(name);
        if (operations > 0) add(fp_ops_[i], operations * value.value / static_cast<double>(rows.rows.size()));
      }
    }
  }
}

DeclaredRanges::Minimum DeclaredRanges::minimum(const Range& range, const std::optional<double>& bytes,
                                                const std::optional<double>& flops) const {
  if (range.launches.empty() || (!bytes && !flops)) return {};
  const std::uint32_t first = utilisation_.launches.row(range.launches.front()).launch;
  const store::Id device_id = model_.launches.site(first).device_id;
  const auto time_at = [&](double amount, Quantity quantity) -> std::optional<double> {
    if (amount <= 0) return 0.0;
    const auto peak = peaks_.find(std::pair(device_id, quantity));
    return peak == peaks_.end() ? std::nullopt : std::optional(amount / peak->second * 1e9);
  };
  const std::optional<double> dram_ns = time_at(bytes.value_or(0), kDramPeak);
  // The type that most operations were of; without any on the tensor pipe the FP32 pipe does the work.
  // Whether there were any must be known of every launch.
  std::map<Quantity, double> types;
  bool known = true;
  for (const std::size_t index : range.launches) {
    const LaunchVerdict& item = utilisation_.launches.group_of(index);
    if (!item.values->tensor_ops) {
      known = false;
    } else if (item.values->tensor_ops->value > 0) {
      types[*item.values->tensor_quantity] += item.values->tensor_ops->value;
    }
  }
  std::optional<double> compute_ns;
  Quantity operations = kFp32Peak;
  if (flops.value_or(0) <= 0) {
    compute_ns = 0.0;
  } else if (!types.empty()) {
    const auto most = std::max_element(types.begin(), types.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    operations = most->first;
    compute_ns = time_at(*flops, operations);
  } else if (known) {
    compute_ns = time_at(*flops, operations);
  }
  if (!dram_ns || !compute_ns) return {};
  return {std::max(*dram_ns, *compute_ns), *compute_ns > *dram_ns ? roof_of(operations) : Roof::kDram};
}

std::vector<DeclaredWork> DeclaredRanges::grouped(bool by_operation) const {
  std::map<std::pair<std::string, std::string>, Sum> groups;
  for (const Range& range : ranges_) {
    const std::string path(model_.string(range.range->path_id));
    for (const store::Annotation* annotation : range.annotations) {
      const auto key = std::pair(by_operation ? last_part(path) : path, annotation->name);
      groups.try_emplace(key, *this).first->second.add_range(range, annotation->bytes, annotation->flops);
    }
  }
  std::vector<DeclaredWork> result;
  for (auto& [key, sum] : groups) {
    DeclaredWork work{sum.result(), by_operation ? "" : key.first, last_part(key.first), key.second};
    result.push_back(std::move(work));
  }
  std::stable_sort(result.begin(), result.end(),
                   [](const DeclaredWork& a, const DeclaredWork& b) { return a.time_ns > b.time_ns; });
  return result;
}

std::vector<DeclaredWork> DeclaredRanges::by_path() const {
  return grouped(false);
}

std::vector<DeclaredWork> DeclaredRanges::by_operation() const {
  return grouped(true);
}

std::optional<WorkSum> DeclaredRanges::of(std::span<const std::uint32_t> launches) {
  std::vector<std::size_t> wanted;
  std::int64_t undeclared = 0;
  for (const std::size_t launch : launches) {
    if (!owner_[launch]) {
      ++undeclared;
    } else if (wanted.empty() || wanted.back() != *owner_[launch]) {
      wanted.push_back(*owner_[launch]);
    }
  }
  if (wanted.empty()) return std::nullopt;
  std::sort(wanted.begin(), wanted.end());
  wanted.erase(std::unique(wanted.begin(), wanted.end()), wanted.end());
  // Rows by launch ask for the same range once for each of its launches.
  const auto [known, fresh] = sums_.try_emplace(wanted);
  if (fresh) {
    Sum sum(*this);
    for (const std::size_t index : wanted) {
      const Range& range = ranges_[index];
      std::optional<double> bytes, flops;
      for (const store::Annotation* annotation : range.annotations) {
        add(bytes, annotation->bytes);
        add(flops, annotation->flops);
      }
      sum.add_range(range, bytes, flops);
    }
    known->second = sum.result();
  }
  WorkSum result = known->second;
  result.undeclared_launches = undeclared;
  std::map<GemmShape, std::int64_t> time_ns;
  if (any_gemm_) {
    for (const std::size_t launch : launches) {
      if (!owner_[launch]) continue;
      if (const auto& gemm = ranges_[*owner_[launch]].gemm)
        time_ns[*gemm] += utilisation_.launches.row(launch).duration_ns;
    }
  }
  result.gemms = static_cast<std::int64_t>(time_ns.size());
  if (!time_ns.empty()) {
    result.gemm = std::max_element(time_ns.begin(), time_ns.end(), [](const auto& a, const auto& b) {
                    return a.second < b.second;
                  })->first;
  }
  return result;
}

KernelsByOperation kernels_by_operation(const Model& model, const UtilisationAnalysis& utilisation) {
  KernelsByOperation operations;
  std::unordered_map<store::Id, std::set<store::Id>*> of_path;
  for (std::size_t i = 0; i < utilisation.launches.size(); ++i) {
    const auto& launch = utilisation.launches.row(i);
    const std::optional<store::Id> path = model.launches.site(launch.launch).nvtx_path_id;
    if (!path) continue;
    const auto [known, added] = of_path.try_emplace(*path, nullptr);
    if (added) known->second = &operations[last_part(model.string(path))];
    known->second->insert(utilisation.launches.group_of(i).kernel_id);
  }
  return operations;
}

Findings excess_findings(const std::vector<DeclaredWork>& operations, double dram_bytes_per_s,
                         std::int64_t step_ns, double min_ratio, double min_share) {
  Findings findings;
  if (dram_bytes_per_s <= 0) return findings;
  for (const DeclaredWork& work : operations) {
    if (work.bytes_ratio.value_or(0) < min_ratio) continue;
    const double surplus = *work.measured_bytes - *work.declared_bytes;
    const double surplus_ns = surplus / dram_bytes_per_s * 1e9;
    if (surplus_ns < min_share * static_cast<double>(step_ns)) continue;
    Finding finding{.severity = Severity::info, .code = FindingCode::excess_bytes};
    finding.subject.name = work.operation;
    finding.magnitude_ns = surplus_ns;
    if (step_ns > 0) finding.step_share = surplus_ns / static_cast<double>(step_ns);
    finding.evidence = {{"measured_to_declared", *work.bytes_ratio, Tier::t2, {}},
                        {"surplus_bytes", surplus, Tier::t2, {}},
                        {"launches", static_cast<double>(work.launches), {}, {}},
                        {"time_ns", static_cast<double>(work.time_ns), Tier::t0, {}}};
    finding.remedy = Remedy::cut_traffic;
    findings.push_back(std::move(finding));
  }
  return merged(findings);
}

}  // namespace ridgeline::analyzer
