#include "cause.h"

#include <algorithm>
#include <cmath>
#include <set>

namespace ridgeline::comparison {
namespace {

// DRAM bytes of the same work differ by caches and refresh.
constexpr double kBytesRatio = 0.005;
// Instructions of a kernel that waits for others vary with the moment, by some millionths to hundred-thousandths:
// a thread that looks again whether a tile is there executes what it would not have executed a microsecond later.
constexpr double kInstructionsRatio = 0.005;

using SiteList = std::vector<const KernelSite*>;

SiteList sites_of(const RunProfile& run, const std::vector<std::uint32_t>& indices) {
  SiteList sites;
  for (const std::uint32_t index : indices) sites.push_back(&run.sites[index]);
  std::stable_sort(sites.begin(), sites.end(),
                   [](const KernelSite* x, const KernelSite* y) { return x->time_ns > y->time_ns; });
  return sites;
}

std::vector<std::string> names(const SiteList& sites) {
  std::vector<std::string> result;
  for (const KernelSite* site : sites) {
    if (std::find(result.begin(), result.end(), site->kernel) == result.end()) result.push_back(site->kernel);
  }
  return result;
}

double calls(const SiteList& sites) {
  double sum = 0;
  for (const KernelSite* site : sites) sum += site->calls;
  return sum;
}

// Weighted by time over the sites that have it.
std::optional<double> mean_ratio(const SiteList& sites, std::optional<double> KernelSite::*member) {
  double weight = 0;
  double sum = 0;
  for (const KernelSite* site : sites) {
    if (!(site->*member)) continue;
    weight += site->time_ns;
    sum += site->time_ns * *(site->*member);
  }
  if (weight <= 0) return std::nullopt;
  return sum / weight;
}

// Only if all have it.
std::optional<double> total_bytes(const SiteList& sites) {
  if (sites.empty()) return std::nullopt;
  double sum = 0;
  for (const KernelSite* site : sites) {
    if (!site->dram_bytes) return std::nullopt;
    sum += *site->dram_bytes;
  }
  return sum;
}

// Bytes by samples or of launches of the kind differ between two runs of the same code by more than the limit.
bool all_counted(const SiteList& sites) {
  return std::all_of(sites.begin(), sites.end(),
                     [](const KernelSite* site) { return site->dram_bytes_counted; });
}

std::set<std::string> codes(const SiteList& sites) {
  std::set<std::string> result;
  for (const KernelSite* site : sites) result.insert(site->code);
  return result;
}

bool same_configuration(const LaunchConfiguration& x, const LaunchConfiguration& y) {
  return x.block == y.block && x.cluster == y.cluster && x.dynamic_smem_bytes == y.dynamic_smem_bytes;
}

void compare_counts(KernelChange& change, const KernelSite& a, const KernelSite& b) {
  const auto exact = [&](const std::string& name, double of_a, double of_b) {
    if (of_a != of_b) change.counts.push_back({name, of_a, of_b});
  };
  if (a.shape && b.shape) {
    exact("registers_per_thread", static_cast<double>(a.shape->registers_per_thread),
          static_cast<double>(b.shape->registers_per_thread));
    exact("static_smem_bytes", static_cast<double>(a.shape->static_smem_bytes),
          static_cast<double>(b.shape->static_smem_bytes));
    exact("dynamic_smem_bytes", static_cast<double>(a.shape->dynamic_smem_bytes),
          static_cast<double>(b.shape->dynamic_smem_bytes));
  }
  for (const auto& [name, value] : a.counts) {
    const auto other = b.counts.find(name);
    if (other != b.counts.end() && std::abs(other->second - value) > kInstructionsRatio * std::abs(value))
      change.counts.push_back({name, value, other->second});
  }
}

}  // namespace

void describe(KernelChange& change, const Unit& unit, const RunProfile& a, const RunProfile& b) {
  const SiteList of_a = sites_of(a, unit.a.front());
  const SiteList of_b = sites_of(b, unit.b.front());
  change.kernels_a = names(of_a);
  change.kernels_b = names(of_b);
  change.calls_a = calls(of_a);
  change.calls_b = calls(of_b);
  change.level = unit.level;
  change.confidence = of_a.empty() || of_b.empty() ? 0 : unit.confidence;
  const SiteList& shown = of_b.empty() ? of_a : of_b;
  if (!shown.empty()) {
    change.path = shown.front()->path;
    change.family = shown.front()->family;
    change.kernel_class = shown.front()->kernel_class;
  }
  change.dram_a = mean_ratio(of_a, &KernelSite::dram_ratio);
  change.dram_b = mean_ratio(of_b, &KernelSite::dram_ratio);
  change.compute_a = mean_ratio(of_a, &KernelSite::compute_ratio);
  change.compute_b = mean_ratio(of_b, &KernelSite::compute_ratio);
  change.dram_bytes_a = total_bytes(of_a);
  change.dram_bytes_b = total_bytes(of_b);
  if (!of_a.empty()) {
    change.bound_a = of_a.front()->bound;
    change.shape_a = of_a.front()->shape;
  }
  if (!of_b.empty()) {
    change.bound_b = of_b.front()->bound;
    change.shape_b = of_b.front()->shape;
  }
  if (of_a.empty() || of_b.empty()) return;
  const auto codes_a = codes(of_a);
  const auto codes_b = codes(of_b);
  if (!codes_a.contains("") && !codes_b.contains("")) {
    change.code_changed = codes_a != codes_b;
  } else if (change.level != MatchLevel::exact) {
    change.code_changed = true;  // another name without a hash to say otherwise
  }
  change.launch_changed = change.shape_a != change.shape_b;
  if (of_a.size() == 1 && of_b.size() == 1 && change.calls_a == change.calls_b)
    compare_counts(change, *of_a.front(), *of_b.front());
  if (all_counted(of_a) && all_counted(of_b) && change.dram_bytes_a && change.dram_bytes_b &&
      *change.dram_bytes_a > 0 && std::abs(*change.dram_bytes_b / *change.dram_bytes_a - 1) > kBytesRatio)
    change.counts.push_back({"dram_bytes", *change.dram_bytes_a, *change.dram_bytes_b});
}

void describe(KernelChange& change, const Unit& unit, const std::vector<RunProfile>& a,
              const std::vector<RunProfile>& b) {
  const auto first_with = [](const std::vector<std::vector<std::uint32_t>>& runs) {
    const auto found =
        std::find_if(runs.begin(), runs.end(), [](const auto& sites) { return !sites.empty(); });
    return found == runs.end() ? std::size_t{0} : static_cast<std::size_t>(found - runs.begin());
  };
  const std::size_t of_a = first_with(unit.a);
  const std::size_t of_b = first_with(unit.b);
  Unit shown = unit;
  shown.a = {unit.a[of_a]};
  shown.b = {unit.b[of_b]};
  describe(change, shown, a[of_a], b[of_b]);
}

namespace {

// Instructions and operations depend on the data alone once code and launch are the same; bytes depend on the caches.
bool did_other_work(const KernelChange& change) {
  return std::any_of(change.counts.begin(), change.counts.end(), [](const CountChange& count) {
    return count.name.ends_with(".sum") && count.a > 0 &&
           std::abs(count.b / count.a - 1) > kInstructionsRatio;
  });
}

}  // namespace

ChangeCause cause_of(const KernelChange& change, double margin_ratio) {
  if (change.code_changed.value_or(false)) return ChangeCause::code;
  if (change.calls_a != change.calls_b) return ChangeCause::calls;
  if (change.shape_a && change.shape_b) {
    if (!same_configuration(*change.shape_a, *change.shape_b)) return ChangeCause::launch;
    if (change.shape_a->grid != change.shape_b->grid) return ChangeCause::shapes;
  } else if (change.shape_a.has_value() != change.shape_b.has_value()) {
    return ChangeCause::shapes;
  }
  if (!change.code_changed) return ChangeCause::unknown;
  if (did_other_work(change)) return ChangeCause::data;
  if (change.cycles &&
      std::abs(change.cycles->ratio) < std::min(margin_ratio, 0.5 * std::abs(change.time.ratio)))
    return ChangeCause::clock;
  return ChangeCause::neighbours;
}

}  // namespace ridgeline::comparison
