// clocks.cpp: how far hosts' clocks are apart, from what cannot be: a rank that leaves a collective of all before the
// last has entered it.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <set>

#include "ranks/job_view.h"
#include "ranks/matching.h"
#include "ridgeline/analyzer/ranks/job_capture.h"
#include "ridgeline/base/statistics.h"

namespace ridgeline::analyzer {

namespace {

using ranks::JobView;
using ranks::kNoCall;
using ranks::MatchedCollective;

constexpr double kMaxDrift = 500e-6;       // clocks of computers are nearer than this to each other
constexpr double kFarthestClockNs = 2e18;  // two clocks that begin in 1970 and with the machine are nearer
constexpr int kSearchSteps = 90;

// What one collective says of the offset of a host's clock to another's.
struct Bound {
  double time_ns = 0;  // on the host's clock, from `base`
  double low_ns = 0;
  double high_ns = 0;
  double ends_apart_ns = 0;
  double shortest_ns = 0;  // of both hosts' calls
};

struct HostCalls {
  std::int64_t first_end_ns = std::numeric_limits<std::int64_t>::max();
  std::int64_t last_start_ns = std::numeric_limits<std::int64_t>::min();
  std::int64_t shortest_ns = std::numeric_limits<std::int64_t>::max();
  std::vector<double> ends_ns;
  void add(std::int64_t start_ns, std::int64_t end_ns, std::int64_t base_ns) {
    first_end_ns = std::min(first_end_ns, end_ns - base_ns);
    last_start_ns = std::max(last_start_ns, start_ns - base_ns);
    shortest_ns = std::min(shortest_ns, end_ns - start_ns);
    ends_ns.push_back(static_cast<double>(end_ns - base_ns));
  }
};

// The offsets low(d) to high(d) at a time that the bounds allow for a drift d: low is convex in d, high concave.
class Allowed {
 public:
  explicit Allowed(const std::vector<Bound>& bounds) : bounds_(bounds) {}

  [[nodiscard]] double low(double drift, double at_ns) const {
    double value = -std::numeric_limits<double>::infinity();
    for (const Bound& bound : bounds_)
      value = std::max(value, bound.low_ns - drift * (bound.time_ns - at_ns));
    return value;
  }
  [[nodiscard]] double high(double drift, double at_ns) const {
    double value = std::numeric_limits<double>::infinity();
    for (const Bound& bound : bounds_)
      value = std::min(value, bound.high_ns - drift * (bound.time_ns - at_ns));
    return value;
  }
  [[nodiscard]] double room(double drift) const { return high(drift, 0) - low(drift, 0); }

  // The drifts for which anything is allowed.
  [[nodiscard]] std::optional<std::pair<double, double>> drifts() const {
    const double best = lowest([&](double d) { return -room(d); }, -kMaxDrift, kMaxDrift);
    if (room(best) < 0) return std::nullopt;
    const auto edge = [&](double inside, double outside) {
      if (room(outside) >= 0) return outside;
      for (int i = 0; i < kSearchSteps; ++i) {
        const double middle = (inside + outside) / 2;
        (room(middle) >= 0 ? inside : outside) = middle;
      }
      return inside;
    };
    return std::pair(edge(best, -kMaxDrift), edge(best, kMaxDrift));
  }
  [[nodiscard]] double lowest_low(std::pair<double, double> drifts, double at_ns) const {
    const double d = lowest([&](double drift) { return low(drift, at_ns); }, drifts.first, drifts.second);
    return std::min({low(d, at_ns), low(drifts.first, at_ns), low(drifts.second, at_ns)});
  }
  [[nodiscard]] double highest_high(std::pair<double, double> drifts, double at_ns) const {
    const double d = lowest([&](double drift) { return -high(drift, at_ns); }, drifts.first, drifts.second);
    return std::max({high(d, at_ns), high(drifts.first, at_ns), high(drifts.second, at_ns)});
  }

 private:
  // Of a convex function.
  template <typename F>
  static double lowest(F of, double from, double to) {
    for (int i = 0; i < kSearchSteps; ++i) {
      const double a = from + (to - from) / 3;
      const double b = to - (to - from) / 3;
      if (of(a) <= of(b))
        to = b;
      else
        from = a;
    }
    return (from + to) / 2;
  }
  const std::vector<Bound>& bounds_;
};

// The line through differences of ends: those of the shortest collectives, which leave the ends nearest to each other.
std::pair<double, double> line_of_ends(std::vector<Bound> bounds, std::pair<double, double> drifts) {
  std::sort(bounds.begin(), bounds.end(),
            [](const Bound& a, const Bound& b) { return a.shortest_ns < b.shortest_ns; });
  const double limit = 2 * bounds.front().shortest_ns + 1000;
  const auto longer =
      std::find_if(bounds.begin(), bounds.end(), [&](const Bound& b) { return b.shortest_ns > limit; });
  if (longer - bounds.begin() >= 8) bounds.erase(longer, bounds.end());
  std::sort(bounds.begin(), bounds.end(),
            [](const Bound& a, const Bound& b) { return a.time_ns < b.time_ns; });
  const std::size_t half = bounds.size() / 2;
  std::vector<double> slopes;
  for (std::size_t i = 0; i + half < bounds.size() && half > 0; ++i) {
    const double apart = bounds[i + half].time_ns - bounds[i].time_ns;
    if (apart > 0) slopes.push_back((bounds[i + half].ends_apart_ns - bounds[i].ends_apart_ns) / apart);
  }
  const double drift = std::clamp(slopes.empty() ? 0.0 : median(slopes), drifts.first, drifts.second);
  std::vector<double> offsets;
  offsets.reserve(bounds.size());
  for (const Bound& bound : bounds) offsets.push_back(bound.ends_apart_ns - drift * bound.time_ns);
  return {median(offsets), drift};
}

class ClockAlignment {
 public:
  explicit ClockAlignment(store::Job& job) : job_(job), view_(job), matching_(ranks::match_calls(view_)) {
    for (const store::JobRank& rank : job.ranks) {
      const auto host = hosts_.try_emplace(clock_of(rank), hosts_.size());
      host_of_.push_back(host.first->second);
    }
    names_.resize(hosts_.size());
    for (const auto& [name, at] : hosts_) names_[at] = name;
    base_ns_.assign(hosts_.size(), std::numeric_limits<std::int64_t>::max());
    for (const store::JobStep& step : job.steps) {
      std::int64_t& base = base_ns_[host_of_[view_.place_of(step.rank)]];
      base = std::min(base, step.start_ns);
    }
  }

  std::vector<store::JobClock> run() {
    std::vector<store::JobClock> clocks(hosts_.size());
    for (std::size_t i = 0; i < clocks.size(); ++i) clocks[i].host = names_[i];
    const std::vector<std::vector<Bound>> bounds = all_bounds();
    for (std::size_t host = 0; host < clocks.size(); ++host) {
      if (host == 0) {
        clocks[0].status = ClockStatus::reference;
        clocks[0].base_ns = base_ns_[0];
        clocks[0].offset_ns = clocks[0].low_ns = clocks[0].high_ns = 0;
        clocks[0].drift_ppb = 0;
      } else {
        align(host, bounds[host], clocks[host]);
      }
    }
    std::sort(clocks.begin(), clocks.end(), [](const auto& a, const auto& b) { return a.host < b.host; });
    return clocks;
  }

 private:
  // Collectives of the host with the reference; each clock from its own base, so that doubles hold nanoseconds.
  [[nodiscard]] std::vector<std::vector<Bound>> all_bounds() const {
    std::map<store::Id, std::optional<CollectiveFunction>> functions;
    for (const store::JobSite& site : job_.sites) functions[site.id] = site.function;
    std::vector<std::vector<Bound>> bounds(hosts_.size());
    for (const MatchedCollective& collective : matching_.collectives) {
      if (!synchronises(functions.at(collective.site_id))) continue;
      std::map<std::size_t, HostCalls> of_hosts;
      for (std::size_t rank = 0; rank < collective.calls.size(); ++rank) {
        if (collective.calls[rank] == kNoCall) continue;
        const auto call = static_cast<std::size_t>(collective.calls[rank]);
        const std::size_t host = host_of_[rank];
        of_hosts[host].add(view_.start_ns(call), view_.end_ns(call), base_ns_[host]);
      }
      const auto reference = of_hosts.find(0);
      if (reference == of_hosts.end()) continue;
      const double reference_end = median(reference->second.ends_ns);
      for (const auto& [host, of] : of_hosts) {
        if (host == 0) continue;
        Bound bound;
        bound.time_ns = median(of.ends_ns);
        bound.low_ns = static_cast<double>(of.last_start_ns - reference->second.first_end_ns);
        bound.high_ns = static_cast<double>(of.first_end_ns - reference->second.last_start_ns);
        bound.ends_apart_ns = bound.time_ns - reference_end;
        bound.shortest_ns = static_cast<double>(std::min(of.shortest_ns, reference->second.shortest_ns));
        bounds[host].push_back(bound);
      }
    }
    return bounds;
  }

  void align(std::size_t host, const std::vector<Bound>& bounds, store::JobClock& clock) const {
    clock.collectives = static_cast<std::int64_t>(bounds.size());
    if (bounds.empty()) return;
    const Allowed allowed(bounds);
    const auto drifts = allowed.drifts();
    if (!drifts) {
      clock.status = ClockStatus::contradicts;
      return;
    }
    auto [offset, drift] = line_of_ends(bounds, *drifts);
    offset = std::clamp(offset, allowed.low(drift, 0), allowed.high(drift, 0));
    double first = bounds.front().time_ns;
    double last = first;
    for (const Bound& bound : bounds) {
      first = std::min(first, bound.time_ns);
      last = std::max(last, bound.time_ns);
    }
    double low = 0;
    double high = 0;
    for (const double at : {first, last}) {
      const double estimate = offset + drift * at;
      low = std::min(low, allowed.lowest_low(*drifts, at) - estimate);
      high = std::max(high, allowed.highest_high(*drifts, at) - estimate);
    }
    const std::int64_t apart = base_ns_[host] - base_ns_[0];
    if (std::abs(offset + static_cast<double>(apart)) > kFarthestClockNs) {
      clock.status = ClockStatus::contradicts;
      return;
    }
    clock.status = ClockStatus::aligned;
    clock.base_ns = base_ns_[host];
    clock.offset_ns = std::llround(offset) + apart;
    clock.drift_ppb = drift * 1e9;
    clock.low_ns = static_cast<std::int64_t>(std::floor(low)) - 1;
    clock.high_ns = static_cast<std::int64_t>(std::ceil(high)) + 1;
  }

  store::Job& job_;
  JobView view_;
  ranks::Matching matching_;
  std::map<std::string, std::size_t> hosts_;
  std::vector<std::string> names_;
  std::vector<std::size_t> host_of_;  // by rank
  std::vector<std::int64_t> base_ns_;
};

}  // namespace

bool synchronises(std::optional<CollectiveFunction> function) {
  return function == CollectiveFunction::all_reduce || function == CollectiveFunction::all_gather ||
         function == CollectiveFunction::reduce_scatter || function == CollectiveFunction::all_to_all;
}

void align_clocks(store::Job& job) {
  job.clocks = ClockAlignment(job).run();
}

}  // namespace ridgeline::analyzer
