#include "units.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace ridgeline::comparison {
namespace {

// Sites of all runs, numbered through; those that are one thing have one root.
class Unions {
 public:
  explicit Unions(std::size_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), std::size_t{0});
  }
  std::size_t root(std::size_t item) {
    while (parent_[item] != item) item = parent_[item] = parent_[parent_[item]];
    return item;
  }
  void join(std::size_t x, std::size_t y) {
    parent_[std::max(root(x), root(y))] = std::min(root(x), root(y));
  }

 private:
  std::vector<std::size_t> parent_;
};

void join(Unions& unions, const Matching& matching, std::size_t first, std::size_t second) {
  for (const SiteMatch& match : matching.matches) {
    for (const std::uint32_t i : match.a) unions.join(first + match.a.front(), first + i);
    for (const std::uint32_t j : match.b) unions.join(first + match.a.front(), second + j);
  }
}

bool any(const std::vector<std::vector<std::uint32_t>>& runs) {
  return std::any_of(runs.begin(), runs.end(), [](const auto& sites) { return !sites.empty(); });
}

}  // namespace

bool Unit::in_a() const {
  return any(a);
}
bool Unit::in_b() const {
  return any(b);
}

Result<Units> make_units(const std::vector<RunProfile>& a, const std::vector<RunProfile>& b,
                         const MatchOptions& options) {
  std::vector<std::size_t> offsets = {0};
  for (const auto* side : {&a, &b}) {
    for (const RunProfile& run : *side) offsets.push_back(offsets.back() + run.sites.size());
  }
  Unions unions(offsets.back());
  const std::size_t first_b = a.size();
  // The user's rules lead from A to B and do not hold within a side.
  MatchOptions within = options;
  within.rules.clear();
  for (std::size_t r = 1; r < a.size() + b.size(); ++r) {
    if (r == first_b) continue;
    const bool of_a = r < first_b;
    const auto matching = match_kernels(of_a ? a[0] : b[0], of_a ? a[r] : b[r - first_b], within);
    if (!matching) return matching.failure();
    join(unions, matching.value(), offsets[of_a ? 0 : first_b], offsets[r]);
  }
  const auto across = match_kernels(a[0], b[0], options);
  if (!across) return across.failure();
  join(unions, across.value(), offsets[0], offsets[first_b]);

  Units result;
  result.families_only = across.value().families_only;
  std::map<std::size_t, std::size_t> by_root;
  double matched = 0;
  double all = 0;
  for (std::size_t r = 0; r < a.size() + b.size(); ++r) {
    const RunProfile& run = r < first_b ? a[r] : b[r - first_b];
    for (std::uint32_t i = 0; i < run.sites.size(); ++i) {
      const auto [at, added] = by_root.try_emplace(unions.root(offsets[r] + i), result.units.size());
      if (added) {
        result.units.emplace_back();
        result.units.back().a.resize(a.size());
        result.units.back().b.resize(b.size());
      }
      Unit& unit = result.units[at->second];
      (r < first_b ? unit.a[r] : unit.b[r - first_b]).push_back(i);
    }
  }
  for (const SiteMatch& match : across.value().matches) {
    Unit& unit = result.units[by_root.at(unions.root(offsets[0] + match.a.front()))];
    if (match.confidence < unit.confidence || unit.level == MatchLevel::exact) unit.level = match.level;
    unit.confidence = std::min(unit.confidence, match.confidence);
  }
  for (const Unit& unit : result.units) {
    const bool both = unit.in_a() && unit.in_b();
    for (std::size_t r = 0; r < a.size() + b.size(); ++r) {
      const RunProfile& run = r < first_b ? a[r] : b[r - first_b];
      const double time = sum_of(run, r < first_b ? unit.a[r] : unit.b[r - first_b],
                                 [](const KernelSite& site) { return site.time_ns; });
      all += time;
      if (both) matched += time;
    }
  }
  result.matched_share = all > 0 ? matched / all : 0;
  return result;
}

}  // namespace ridgeline::comparison
