#include "launch_kinds.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <string_view>
#include <tuple>
#include <utility>

#include "ridgeline/base/statistics.h"
#include "tier_values.h"

namespace ridgeline::analyzer {

namespace {

// More of one kind tell nothing new.
constexpr std::size_t kMaxPerKind = 24;
// Launches that do the same take about the same time: within a tenth, and what a short one varies by anyway.
constexpr double kAboutTheSame = 0.1, kJitterNs = 700;
// Beyond, what one does in a time says nothing of another.
constexpr double kFarthest = 0.7;  // in logarithm: twice as long
// How near to a roof a kernel comes grows with what it has to do, and no faster than the time as a rule.
constexpr double kSlope = 1;
// A launch that is run alone has another clock than among the others, by so much of it.
constexpr double kClockAlone = 0.05;
// Where no two launches are alike, nobody knows by how much they differ.
constexpr double kVarianceUnknown = 0.01, kMaxVariance = 1;
// What other kinds show of the spread counts like so many launches more.
constexpr double kWeightOfOthers = 3;

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
  hash ^= value + 0x9e3779b97f4a7c15ULL + (hash << 6) + (hash >> 2);
  hash *= 0xbf58476d1ce4e5b9ULL;
  return hash ^ (hash >> 29);
}

// Ranges that are numbered, by layer or by step, are the same place.
std::uint64_t hash_without_numbers(std::string_view path) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : path)
    if (c < '0' || c > '9') hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  return hash;
}

// Of a kernel of another class a name without its template arguments says too little of what it does.
bool has_family(const store::Kernel* kernel) {
  return kernel != nullptr && kernel->kernel_class == KernelClass::gemm && !kernel->normalised_name.empty();
}

// nvjet writes the layouts of A, B and the result last, "_TNT". The library takes another layout of the result with
// another tile, for the same call.
std::string_view family_of(std::string_view normalised_name) {
  const std::size_t at = normalised_name.rfind('_');
  const bool has_layouts = normalised_name.starts_with("nvjet_") && at + 4 == normalised_name.size() &&
                           normalised_name.find_first_not_of("NT", at + 1) == std::string_view::npos;
  return has_layouts ? normalised_name.substr(0, normalised_name.size() - 1) : normalised_name;
}

// What launches say that tell the same of others, and how far the samples of each may be off: variances, summed.
struct ObservedValues {
  std::vector<double> values;
  double noise = 0;
  void add(double value, double variance) {
    values.push_back(value);
    noise += variance;
  }
};

double tolerance(double log_ns) {
  return std::max(kAboutTheSame, kJitterNs / std::exp(log_ns));
}

}  // namespace

bool is_amount(std::string_view metric) {
  for (const std::string_view share : {".pct", ".ratio", "per_second", "peak_sustained"})
    if (metric.find(share) != std::string_view::npos) return false;
  return true;
}

double reach_of_one_more(const std::vector<double>& values, const RelativeVariance& of_kinds) {
  if (values.empty()) return 0;
  const double middle = mean(values);
  const auto count = static_cast<double>(values.size());
  const double spread = standard_deviation(values).value_or(0);
  const double degrees = kWeightOfOthers + count - 1;
  const double variance =
      (kWeightOfOthers * of_kinds.between * middle * middle + (count - 1) * spread * spread) / degrees;
  return student_95(degrees) * std::sqrt(variance * (1 + 1 / count) + of_kinds.within * middle * middle);
}

double doubt_of_another_time(const LaunchKinds::Alike& alike) {
  return std::hypot(kSlope * alike.apart, alike.in_a_time ? kClockAlone : 0);
}

LaunchKinds::LaunchKinds(const Model& model, const StepAnalysis& analysis,
                         const std::vector<StepIndex>& steps, Tier tier)
    : model_(model), tier_(tier) {
  if (steps.empty()) return;
  note_sites();
  for (const StepIndex step : steps) {
    if (launches_as_usual(analysis, step))
      note_usual_times(analysis.representative, step);
    else
      coarsest_ = of_the_family;
  }
  for (const StepIndex step : steps) {
    for (const LaunchIndex launch : model_.steps[step].launches) {
      bool any = false;
      for (const MetricValue& value : model_.metrics_of(model_.launches.row(launch).id)) {
        if (value.tier != tier || !std::isfinite(value.value)) continue;
        metrics_.insert(value.name);
        any = true;
      }
      if (!any) continue;
      known_.push_back(launch);
      for (std::size_t fineness = 0; fineness <= coarsest_; ++fineness)
        known_by_[fineness][key(launch, static_cast<Fineness>(fineness))].push_back(
            {launch, std::log(std::max(usual_ns(launch), 1.0))});
    }
  }
  for (auto& by_key : known_by_)
    for (auto& [key, group] : by_key)
      std::stable_sort(group.begin(), group.end(),
                       [](const Known& a, const Known& b) { return a.log_ns < b.log_ns; });
  note_spreads();
}

void LaunchKinds::note_sites() {
  for (const store::Launch& site : model_.launches.sites()) {
    Key key = 1;
    for (const std::int64_t part : {site.device_id, site.kernel_id, site.grid.x, site.grid.y, site.grid.z,
                                    site.block.x, site.block.y, site.block.z, site.dynamic_smem_bytes})
      key = mixed(key, static_cast<std::uint64_t>(part));
    alone_.push_back(key);
    const Key kernel = mixed(mixed(mixed(mixed(2, static_cast<std::uint64_t>(site.device_id)),
                                         static_cast<std::uint64_t>(site.kernel_id)),
                                   static_cast<std::uint64_t>(site.block.x)),
                             static_cast<std::uint64_t>(site.block.y * 4096 + site.block.z));
    const auto blocks = static_cast<double>(std::max<std::int64_t>(site.grid.x, 1)) *
                        static_cast<double>(std::max<std::int64_t>(site.grid.y, 1)) *
                        static_cast<double>(std::max<std::int64_t>(site.grid.z, 1));
    of_the_kernel_.push_back(kernel);
    const store::Kernel* named = model_.kernel(site.kernel_id);
    of_the_family_.push_back(has_family(named)
                                 ? mixed(mixed(3, static_cast<std::uint64_t>(site.device_id)),
                                         std::hash<std::string_view>()(family_of(named->normalised_name)))
                                 : kernel);
    of_about_the_size_.push_back(mixed(kernel, 1 + static_cast<std::uint64_t>(std::log2(blocks))));
    with_ranges_.push_back(mixed(key, hash_without_numbers(model_.string(site.nvtx_path_id))));
  }
  std::map<std::tuple<store::Id, store::Id, std::int64_t>, std::size_t>
      streams;                         // by process, device, stream
  std::vector<std::size_t> stream_of;  // by site
  for (const store::Launch& site : model_.launches.sites())
    stream_of.push_back(
        streams.try_emplace({site.process_id, site.device_id, site.stream_id}, streams.size()).first->second);
  std::vector<Key> latest(streams.size(), 0);
  before_.resize(model_.launches.size());
  for (LaunchIndex i = 0; i < model_.launches.size(); ++i) {
    const std::uint32_t site = model_.launches.row(i).site;
    before_[i] = std::exchange(latest[stream_of[site]], of_the_kernel_[site]);
  }
}

bool LaunchKinds::launches_as_usual(const StepAnalysis& analysis, StepIndex step) {
  const RepresentativeStep& usual = analysis.representative;
  return !usual.whole_recording && usual.summary.step_id != 0 && step < analysis.steps.size() &&
         analysis.steps[step].sequence_hash == usual.summary.sequence_hash;
}

// A launch that is run alone, to be counted, takes another time than among the others. Where the representative of
// all launches the same, the launch at the same place has the time that counts.
void LaunchKinds::note_usual_times(const RepresentativeStep& usual, StepIndex step) {
  std::unordered_map<std::int64_t, LaunchIndex> places;
  for (const LaunchIndex launch : usual.launches)
    places.emplace(model_.launches.row(launch).ordinal_in_step, launch);
  for (const LaunchIndex launch : model_.steps[step].launches) {
    const std::int64_t ordinal = model_.launches.row(launch).ordinal_in_step;
    const auto place = ordinal == Launches::Row::kAbsent ? places.end() : places.find(ordinal);
    if (place == places.end()) continue;
    if (model_.launches.site(launch).kernel_id != model_.launches.site(place->second).kernel_id) continue;
    if (duration_ns(model_.launches.row(place->second)) > 0) places_.emplace(launch, place->second);
  }
}

LaunchIndex LaunchKinds::place(LaunchIndex launch) const {
  const auto found = places_.find(launch);
  return found != places_.end() ? found->second : launch;
}

std::uint64_t LaunchKinds::observation(LaunchIndex launch) const {
  if (coarsest_ == alone) return place(launch);
  const Launches::Row& row = model_.launches.row(launch);
  return mixed(alone_[row.site], row.step);
}

double LaunchKinds::usual_ns(LaunchIndex launch) const {
  return static_cast<double>(duration_ns(model_.launches.row(place(launch))));
}

void LaunchKinds::note_spreads() {
  for (std::size_t fineness = 0; fineness <= coarsest_; ++fineness) {
    for (const auto& [key, group] : known_by_[fineness]) {
      for (std::size_t begin = 0, end = 0; begin < group.size(); begin = end) {
        for (end = begin + 1; end < group.size(); ++end)
          if (group[end].log_ns - group[begin].log_ns > tolerance(group[begin].log_ns)) break;
        if (end - begin > 1) note_spread_of(group, begin, end, static_cast<Fineness>(fineness));
      }
    }
  }
}

// Kinds count by their time, since what is said of a kernel is, and by how much of a share there is to be off by.
void LaunchKinds::note_spread_of(const Group& group, std::size_t begin, std::size_t end, Fineness fineness) {
  std::map<std::string_view, std::map<std::uint64_t, ObservedValues>> values;
  double time_ns = 0;
  const std::size_t step = std::max<std::size_t>((end - begin) / kMaxPerKind, 1);
  for (std::size_t i = begin; i < end; i += step) {
    const double took_ns = usual_ns(group[i].launch);
    time_ns += took_ns;
    const bool rates = (coarsest_ > alone || tier_ == Tier::t1) && took_ns > 0;
    const std::uint64_t here = observation(group[i].launch);
    double dram = 0, dram_noise = 0;
    for (const MetricValue& value : model_.metrics_of(model_.launches.row(group[i].launch).id)) {
      if (value.tier != tier_ || !std::isfinite(value.value)) continue;
      const double in = rates && is_amount(value.name) ? took_ns : 1;
      const double each = value.value / in, noise = std::pow(value.error.value_or(0) / in, 2);
      values[value.name][here].add(each, noise);
      if (value.name != metric_name::kDramRead && value.name != metric_name::kDramWrite) continue;
      dram += each;
      dram_noise += noise;
    }
    if (dram > 0) values[kDramInAll][here].add(dram, dram_noise);
  }
  for (const auto& [name, observed] : values) {
    std::vector<double> all;
    double own_variance = 0, own = 0;
    for (const auto& [at, same] : observed) {
      all.push_back(mean(same.values));
      const auto deviation = standard_deviation(same.values);
      // Of one launch that was measured again there is one value.
      if (!deviation || coarsest_ == alone) continue;
      const auto count = static_cast<double>(same.values.size());
      own_variance += (count - 1) * std::max(*deviation * *deviation - same.noise / count, 0.0);
      own += count - 1;
    }
    const auto spread = standard_deviation(all);
    const double middle = mean(all);
    if (middle == 0) continue;
    // A pipe that a kernel does not use is read as next to nothing, of which any two readings are far apart.
    const double weight = is_amount(name) || name == kDramInAll ? time_ns : time_ns * std::fabs(middle);
    Spread& known = spreads_[fineness][name];
    if (spread) known.between.add(std::pow(*spread / middle, 2), weight);
    if (own > 0) known.within.add(own_variance / own / (middle * middle), weight);
  }
}

void LaunchKinds::Pooled::add(double of_group, double group_weight) {
  variance += group_weight * std::min(of_group, kMaxVariance);
  weight += group_weight;
}

RelativeVariance LaunchKinds::relative_variance(std::string_view metric, Fineness fineness) const {
  // What a coarser likeness shows is no less than what a finer one would.
  const auto shown = [&](Pooled Spread::*part, double unknown) {
    for (std::size_t f = fineness; f < finenesses; ++f)
      if (const auto found = spreads_[f].find(metric);
          found != spreads_[f].end() && (found->second.*part).weight > 0)
        return (found->second.*part).variance / (found->second.*part).weight;
    return unknown;
  };
  return {.between = shown(&Spread::between, kVarianceUnknown), .within = shown(&Spread::within, 0)};
}

LaunchKinds::Key LaunchKinds::key(LaunchIndex launch, Fineness fineness) const {
  const std::uint32_t site = model_.launches.row(launch).site;
  switch (fineness) {
    case with_neighbour:
      return mixed(with_ranges_[site], before_[launch]);
    case of_about_the_size_with_neighbour:
      return mixed(of_about_the_size_[site], before_[launch]);
    case of_the_kernel_with_neighbour:
      return mixed(of_the_kernel_[site], before_[launch]);
    case with_ranges:
      return with_ranges_[site];
    case of_about_the_size:
      return of_about_the_size_[site];
    case of_the_kernel:
      return of_the_kernel_[site];
    case of_the_family:
      return of_the_family_[site];
    default:
      return alone_[site];
  }
}

std::uint64_t LaunchKinds::number(LaunchIndex launch) const {
  const std::int64_t ns = duration_ns(model_.launches.row(launch));
  const double quarter = kAboutTheSame / 4;
  return mixed(key(launch, with_neighbour),
               ns <= 0 ? 0 : 1 + static_cast<std::uint64_t>(std::log(static_cast<double>(ns)) / quarter));
}

LaunchKinds::Alike LaunchKinds::nearest(const Group& group, double log_ns, Fineness fineness) const {
  Alike found{.launches = {}, .fineness = fineness};
  const auto first_from = [&](double from) {
    return std::lower_bound(group.begin(), group.end(), from,
                            [](const Known& known, double at) { return known.log_ns < at; });
  };
  const auto take = [&](auto begin, auto end) {
    const auto step = std::max<std::ptrdiff_t>((end - begin) / static_cast<std::ptrdiff_t>(kMaxPerKind), 1);
    for (auto i = begin; i < end; i += std::min(step, end - i)) found.launches.push_back(i->launch);
  };
  const double within = tolerance(log_ns);
  const auto begin = first_from(log_ns - within), end = first_from(log_ns + within);
  if (begin != end) {
    take(begin, end);
    // Where steps are alike they do the same and only the time differs; else who takes longer has more to do.
    found.in_a_time = coarsest_ > alone;
    double sum = 0;
    for (auto i = begin; i != end; ++i) sum += i->log_ns;
    if (found.in_a_time) found.apart = std::fabs(sum / static_cast<double>(end - begin) - log_ns);
    return found;
  }
  // Those that come nearest on both sides.
  double apart = kFarthest;
  if (begin != group.begin() && log_ns - std::prev(begin)->log_ns < kFarthest) {
    const double nearest = std::prev(begin)->log_ns;
    apart = std::min(apart, log_ns - nearest);
    take(first_from(nearest - tolerance(nearest)), begin);
  }
  if (end != group.end() && end->log_ns - log_ns < kFarthest) {
    apart = std::min(apart, end->log_ns - log_ns);
    take(end, first_from(end->log_ns + tolerance(end->log_ns)));
  }
  found.apart = apart;
  found.in_a_time = true;
  return found;
}

std::vector<LaunchKinds::Alike> LaunchKinds::alike(LaunchIndex launch) const {
  std::vector<Alike> all;
  if (known_.empty()) return all;
  const auto takes_ns = static_cast<double>(duration_ns(model_.launches.row(launch)));
  for (std::size_t f = 0; f <= coarsest_; ++f) {
    const auto fineness = static_cast<Fineness>(f);
    const auto group = known_by_[f].find(key(launch, fineness));
    if (group == known_by_[f].end()) continue;
    Alike found;
    if (takes_ns > 0) {
      found = nearest(group->second, std::log(takes_ns), fineness);
    } else if (fineness <= alone) {
      found.fineness = fineness;
      for (std::size_t i = 0; i < group->second.size() && i < kMaxPerKind; ++i)
        found.launches.push_back(group->second[i].launch);
    }
    if (!found.launches.empty()) all.push_back(std::move(found));
  }
  const auto doubt = [&](const Alike& one) {
    const RelativeVariance spread = relative_variance(kDramInAll, one.fineness);
    return spread.between + spread.within + std::pow(doubt_of_another_time(one), 2);
  };
  std::stable_sort(all.begin(), all.end(),
                   [&](const Alike& a, const Alike& b) { return doubt(a) < doubt(b); });
  return all;
}

}  // namespace ridgeline::analyzer
