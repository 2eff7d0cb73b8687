#include "transfers.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "ridgeline/base/statistics.h"

namespace ridgeline::comparison {
namespace {

using Runs = std::vector<RunProfile>;
using Work = std::tuple<TransferKind, CopyKind>;
using TransferKey = std::tuple<TransferKind, CopyKind, std::string>;

// One place: what each run did there.
struct Place {
  std::vector<double> calls, bytes, time_ns, exposed_ns;
  [[nodiscard]] bool does_as(const Place& other) const {
    return median(calls) == median(other.calls) && median(bytes) == median(other.bytes);
  }
};

std::map<TransferKey, Place> places_of(const Runs& runs) {
  std::map<TransferKey, Place> places;
  for (std::size_t r = 0; r < runs.size(); ++r) {
    for (const TransferSite& site : runs[r].transfers) {
      Place& place = places[{site.kind, site.direction, site.path}];
      for (auto* values : {&place.calls, &place.bytes, &place.time_ns, &place.exposed_ns})
        values->resize(runs.size());
      place.calls[r] += site.calls;
      place.bytes[r] += site.bytes;
      place.time_ns[r] += site.time_ns;
      place.exposed_ns[r] += site.exposed_ns;
    }
  }
  return places;
}

struct Matched {
  TransferKey key;
  const Place* a = nullptr;
  const Place* b = nullptr;
};

std::vector<Matched> match(const std::map<TransferKey, Place>& a, const std::map<TransferKey, Place>& b) {
  std::vector<Matched> result;
  std::vector<std::pair<TransferKey, const Place*>> only_a;
  for (const auto& [key, place] : a) {
    const auto same = b.find(key);
    if (same != b.end())
      result.push_back({key, &place, &same->second});
    else
      only_a.emplace_back(key, &place);
  }
  for (const auto& [key, place] : b) {
    if (a.contains(key)) continue;
    // A range was renamed, or the copy moved: the same work of the same direction.
    const auto moved =
        std::find_if(only_a.begin(), only_a.end(), [&of_key = key, &of_b = place](const auto& of_a) {
          return of_a.second != nullptr && std::get<0>(of_a.first) == std::get<0>(of_key) &&
                 std::get<1>(of_a.first) == std::get<1>(of_key) && of_a.second->does_as(of_b);
        });
    Matched one{key, nullptr, &place};
    if (moved != only_a.end()) std::swap(one.a, moved->second);
    result.push_back(std::move(one));
  }
  for (const auto& [key, place] : only_a) {
    if (place != nullptr) result.push_back({key, place, nullptr});
  }
  return result;
}

}  // namespace

std::vector<TransferChange> compare_transfers(const Runs& a, const Runs& b, const Judge& judge,
                                              double step_ns) {
  const auto places_a = places_of(a);
  const auto places_b = places_of(b);
  const ComparisonOptions& options = judge.options();
  const double min_ns = judge.min_ns(step_ns);
  std::vector<TransferChange> changes;
  std::vector<Series> series;
  std::vector<double> p_values;
  std::vector<std::size_t> with_p;
  for (const Matched& one : match(places_a, places_b)) {
    const auto of = [&](std::vector<double> Place::*member) {
      return Series{one.a != nullptr ? one.a->*member : std::vector<double>(a.size()),
                    one.b != nullptr ? one.b->*member : std::vector<double>(b.size()),
                    {},
                    {},
                    step_ns};
    };
    TransferChange change;
    std::tie(change.kind, change.direction, change.path) = one.key;
    const auto calls = of(&Place::calls);
    const auto bytes = of(&Place::bytes);
    change.calls_a = median(calls.a);
    change.calls_b = median(calls.b);
    change.bytes_a = median(bytes.a);
    change.bytes_b = median(bytes.b);
    const Demand wanted = judge.demand(step_ns > 0 ? min_ns / step_ns : 0);
    const auto measured = [&](const Series& values) {
      return change_of(values, judge.layout(), step_ns > 0 ? sample_of(values, judge.layout()) : std::nullopt,
                       wanted);
    };
    change.time = measured(of(&Place::time_ns));
    series.push_back(of(&Place::exposed_ns));
    change.exposed = measured(series.back());
    if (step_ns > 0) change.step_share = change.exposed.delta / step_ns;
    if (change.exposed.p && one.a != nullptr && one.b != nullptr) {
      p_values.push_back(*change.exposed.p);
      with_p.push_back(changes.size());
    }
    if (one.a == nullptr || one.b == nullptr)
      change.outcome = one.a == nullptr ? Outcome::added : Outcome::removed;
    changes.push_back(std::move(change));
  }
  const std::vector<double> adjusted = adjusted_p_values(p_values);
  for (std::size_t i = 0; i < with_p.size(); ++i) changes[with_p[i]].exposed.adjusted_p = adjusted[i];
  for (std::size_t i = 0; i < changes.size(); ++i) {
    TransferChange& change = changes[i];
    if (change.outcome == Outcome::added || change.outcome == Outcome::removed) continue;
    const Change& exposed = change.exposed;
    const bool significant = exposed.adjusted_p && *exposed.adjusted_p <= options.false_discovery_rate;
    const bool large = std::abs(exposed.ratio) >= options.kernel_ratio && std::abs(exposed.delta) >= min_ns;
    judge.decide(change.outcome, change.reason, exposed, significant, large, series[i]);
    // What nothing waits for on either side is not felt.
    if (!series[i].usable() && judge.enough_pairs()) {
      change.outcome = Outcome::same;
      change.reason = OutcomeReason::none;
    }
  }
  std::stable_sort(changes.begin(), changes.end(), [](const TransferChange& x, const TransferChange& y) {
    const double of_x = std::abs(x.exposed.delta);
    const double of_y = std::abs(y.exposed.delta);
    return of_x != of_y ? of_x > of_y : std::abs(x.time.delta) > std::abs(y.time.delta);
  });
  return changes;
}

}  // namespace ridgeline::comparison
