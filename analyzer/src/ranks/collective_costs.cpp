#include "ranks/collective_costs.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <unordered_map>

#include "ranks/aligned_clocks.h"
#include "ranks/spans.h"
#include "ridgeline/analyzer/ranks/job_capture.h"
#include "ridgeline/analyzer/work/link_traffic.h"
#include "ridgeline/base/statistics.h"

namespace ridgeline::analyzer {

double bus_factor(CollectiveFunction function, std::int64_t ranks) {
  const auto n = static_cast<double>(ranks);
  switch (function) {
    case CollectiveFunction::all_reduce:
      return 2 * (n - 1) / n;
    case CollectiveFunction::all_gather:
    case CollectiveFunction::reduce_scatter:
    case CollectiveFunction::all_to_all:
      return (n - 1) / n;
    case CollectiveFunction::broadcast:
    case CollectiveFunction::reduce:
    case CollectiveFunction::send_receive:
      return 1;
  }
  return 1;
}

namespace ranks {

namespace {

constexpr double kDominates = 2.0 / 3;
// So few calls may have begun a kernel before their end that waited for them: of steps that are unlike the others.
constexpr double kFewCalls = 0.1;

// Of a call, what lies within [from, to) from its start and has kernels beside it.
double hidden_within(const store::JobCall& call, double from, double to) {
  double at = 0;
  double sum = 0;
  bool beside = false;
  for (const std::int64_t length : call.hidden_ns) {
    const double end = at + static_cast<double>(length);
    if (beside) sum += std::max(0.0, std::min(end, to) - std::max(at, from));
    at = end;
    beside = !beside;
  }
  return sum;
}

// Values of one place of the sequence, one a step.
struct PlaceValues {
  const MatchedCollective* first = nullptr;
  std::vector<double> duration, hidden, exposed, wait, transfer, exposed_wait, exposed_transfer, skew, error;
  std::map<std::int64_t, std::int64_t> last;
  /// By the kernels of the step: of each call those that began before its end, sorted.
  std::map<std::int64_t, std::vector<std::int64_t>> begun;
  std::int64_t by_clocks = 0;
  std::int64_t inconclusive = 0;
  std::int64_t ranks = std::numeric_limits<std::int64_t>::max();
  std::optional<std::size_t> host;  // of all its ranks
  bool several_hosts = false;
};

// One way, from a GPU to its neighbour: what a ring sends over each link in the time of its bus bandwidth.
std::optional<double> one_way(const std::vector<store::Ceiling>& links) {
  std::optional<double> most;
  for (const store::Ceiling& link : links) {
    if ((link.kind == "to_peer" || link.kind == "from_peer") && link.value > most.value_or(0))
      most = link.value;
  }
  return most;
}

class Costs {
 public:
  Costs(const JobView& view, const Matching& matching) : view_(view), matching_(matching), clocks_(view) {
    for (const store::JobSite& site : view.job().sites) sites_[site.id] = site;
    for (const store::JobCommunicator& group : view.job().communicators) groups_[group.id] = group;
    std::map<std::string, std::size_t> hosts;
    for (std::size_t rank = 0; rank < view.ranks(); ++rank) {
      costs_.clock_error_ns.push_back(clocks_.error_ns(rank));
      hosts_.push_back(hosts.try_emplace(clock_of(view.job().ranks[rank]), hosts.size()).first->second);
    }
    costs_.parts.resize(view.ranks() * view.steps().size());
    waited_.resize(costs_.parts.size());
    transferred_.resize(costs_.parts.size());
    costs_.times_last.resize(view.ranks());
    costs_.waited_for.resize(view.job().calls.size());
    for (const store::JobTraffic& row : view.job().traffic) {
      if (!row.site_id) continue;
      store::JobTraffic& sum = traffic_[*row.site_id];
      sum.count += row.count;
      add_link_bytes(sum.bytes, row.bytes);
    }
    for (std::size_t i = 0; i < view.steps().size(); ++i) step_places_[view.steps()[i]] = i;
  }

  CollectiveCosts run() {
    std::map<std::pair<store::Id, std::int64_t>, std::map<store::Id, PlaceValues>> places;
    for (const MatchedCollective& collective : matching_.collectives) {
      if (collective.ranks == 0) continue;
      const store::Id group = sites_.at(collective.site_id).communicator_id;
      count_kernels(collective, places[{group, collective.place}][collective.site_id]);
    }
    for (auto& [key, of_sites] : places) {
      for (auto& [site, values] : of_sites) {
        for (auto& [kernels, begun] : values.begun) std::sort(begun.begin(), begun.end());
      }
    }
    for (const MatchedCollective& collective : matching_.collectives) {
      if (collective.ranks == 0) continue;
      const store::Id group = sites_.at(collective.site_id).communicator_id;
      add(collective, places[{group, collective.place}][collective.site_id]);
    }
    for (auto& [key, of_sites] : places) {
      for (auto& [site, values] : of_sites) costs_.rows.push_back(row(std::move(values)));
    }
    fill_parts();
    return std::move(costs_);
  }

 private:
  struct Entered {
    bool by_clocks = false;
    double last_ns = 0;  // arrival of the last, aligned
    double first_ns = 0;
    double error_ns = 0;
    std::size_t last_rank = 0;
    double shortest_ns = 0;
    std::size_t shortest_rank = 0;
  };

  [[nodiscard]] Entered entered(const MatchedCollective& collective) const {
    Entered in;
    in.by_clocks = true;
    in.last_ns = -std::numeric_limits<double>::infinity();
    in.first_ns = in.shortest_ns = std::numeric_limits<double>::infinity();
    const store::JobClock* one = nullptr;
    double worst = 0;
    bool several = false;
    for (std::size_t rank = 0; rank < collective.calls.size(); ++rank) {
      if (collective.calls[rank] == kNoCall) continue;
      const auto call = static_cast<std::size_t>(collective.calls[rank]);
      const auto duration = static_cast<double>(view_.job().calls[call].duration_ns);
      if (duration < in.shortest_ns) {
        in.shortest_ns = duration;
        in.shortest_rank = rank;
      }
      if (!costs_.clock_error_ns[rank]) {
        in.by_clocks = false;
        continue;
      }
      several = several || (one != nullptr && one != clocks_.clock(rank));
      one = clocks_.clock(rank);
      worst = std::max(worst, *costs_.clock_error_ns[rank]);
      const double start = clocks_.aligned_ns(rank, view_.start_ns(call));
      in.first_ns = std::min(in.first_ns, start);
      if (start > in.last_ns) {
        in.last_ns = start;
        in.last_rank = rank;
      }
    }
    in.error_ns = several ? 2 * worst : 0;
    return in;
  }

  // Kernels of the call's step; none where not all ranks have it.
  [[nodiscard]] std::optional<std::int64_t> kernels_of(std::size_t rank, const store::JobCall& call) const {
    const auto step = step_places_.find(call.step_index);
    if (step == step_places_.end()) return std::nullopt;
    return view_.step(rank, step->second).launches;
  }

  void count_kernels(const MatchedCollective& collective, PlaceValues& values) const {
    for (std::size_t rank = 0; rank < collective.calls.size(); ++rank) {
      if (collective.calls[rank] == kNoCall) continue;
      const store::JobCall& call = view_.job().calls[static_cast<std::size_t>(collective.calls[rank])];
      if (const auto kernels = kernels_of(rank, call))
        values.begun[*kernels].push_back(call.kernels_before_end);
    }
  }

  // Whether the kernel after the call's end waits for it: it has begun before the end of no such call, or of few.
  [[nodiscard]] bool waited_for(std::size_t rank, const store::JobCall& call,
                                const PlaceValues& values) const {
    const auto kernels = kernels_of(rank, call);
    if (!kernels) return false;
    const std::vector<std::int64_t>& begun = values.begun.at(*kernels);
    const auto later = begun.end() - std::upper_bound(begun.begin(), begun.end(), call.kernels_before_end);
    return static_cast<double>(later) <= kFewCalls * static_cast<double>(begun.size());
  }

  void add(const MatchedCollective& collective, PlaceValues& values) {
    if (values.first == nullptr) values.first = &collective;
    const Entered in = entered(collective);
    const bool waits = synchronises(sites_.at(collective.site_id).function) && collective.ranks > 1;
    // Clocks that are further off than the transfer takes tell less than the durations do.
    const bool by_clocks = waits && in.by_clocks && in.error_ns <= in.shortest_ns;
    const double skew = in.last_ns - in.first_ns;
    Sums sums;
    for (std::size_t rank = 0; rank < collective.calls.size(); ++rank) {
      if (collective.calls[rank] == kNoCall) continue;
      const auto at = static_cast<std::size_t>(collective.calls[rank]);
      values.several_hosts = values.several_hosts || values.host.value_or(hosts_[rank]) != hosts_[rank];
      values.host = hosts_[rank];
      const auto duration = static_cast<double>(view_.job().calls[at].duration_ns);
      double wait = 0;
      if (by_clocks)
        wait = std::clamp(in.last_ns - clocks_.aligned_ns(rank, view_.start_ns(at)), 0.0, duration);
      else if (waits)
        wait = duration - in.shortest_ns;
      add_call(view_.job().calls[at], wait, sums);
      if (!waited_for(rank, view_.job().calls[at], values)) continue;
      costs_.waited_for[at] = true;
      add_wait(rank, at, wait);
    }
    const auto n = static_cast<double>(collective.ranks);
    values.duration.push_back(sums.duration / n);
    values.hidden.push_back(sums.hidden / n);
    values.exposed.push_back((sums.exposed_wait + sums.exposed_transfer) / n);
    values.wait.push_back(sums.wait / n);
    values.transfer.push_back(in.shortest_ns);
    values.exposed_wait.push_back(sums.exposed_wait / n);
    values.exposed_transfer.push_back(sums.exposed_transfer / n);
    values.ranks = std::min(values.ranks, collective.ranks);
    if (!waits) return;
    if (by_clocks) ++values.by_clocks;
    if (in.by_clocks) {
      values.skew.push_back(skew);
      values.error.push_back(in.error_ns);
    }
    const double longest_wait = by_clocks ? skew : sums.longest - in.shortest_ns;
    const double error = by_clocks ? in.error_ns : 0.05 * in.shortest_ns;
    if (longest_wait <= error) {
      ++values.inconclusive;
      return;
    }
    const std::size_t last = by_clocks ? in.last_rank : in.shortest_rank;
    ++values.last[view_.job().ranks[last].rank];
    ++costs_.times_last[last];
    ++costs_.told;
  }

  struct Sums {
    double duration = 0, hidden = 0, wait = 0, exposed_wait = 0, exposed_transfer = 0, longest = 0;
  };
  static void add_call(const store::JobCall& call, double wait, Sums& sums) {
    const auto duration = static_cast<double>(call.duration_ns);
    const double hidden_wait = hidden_within(call, 0, wait);
    const double hidden_transfer = hidden_within(call, wait, duration);
    sums.duration += duration;
    sums.hidden += hidden_wait + hidden_transfer;
    sums.wait += wait;
    sums.exposed_wait += wait - hidden_wait;
    sums.exposed_transfer += duration - wait - hidden_transfer;
    sums.longest = std::max(sums.longest, duration);
  }

  // From the end of the last kernel beside it to its own end.
  void add_wait(std::size_t rank, std::size_t at, double wait) {
    const store::JobCall& call = view_.job().calls[at];
    const auto step = step_places_.find(call.step_index);
    if (step == step_places_.end()) return;
    std::int64_t covered = 0;
    for (const std::int64_t length : call.hidden_ns) covered += length;
    const Span tail{view_.start_ns(at) + covered, view_.end_ns(at)};
    const std::int64_t all_in = view_.start_ns(at) + std::llround(wait);
    const std::size_t place = rank * view_.steps().size() + step->second;
    waited_[place].push_back(tail);
    transferred_[place].push_back({std::max(tail.start_ns, all_in), tail.end_ns});
  }

  void fill_parts() {
    for (std::size_t rank = 0; rank < view_.ranks(); ++rank) {
      for (std::size_t step = 0; step < view_.steps().size(); ++step) {
        const std::size_t place = rank * view_.steps().size() + step;
        const store::JobStep& row = view_.step(rank, step);
        const Span window{row.start_ns, row.start_ns + row.duration_ns};
        const auto within = [&](Spans spans) {
          return static_cast<double>(length_ns(clipped(united(std::move(spans)), window)));
        };
        const auto exposed = static_cast<double>(row.exposed_ns);
        const double waited = std::min(within(std::move(waited_[place])), exposed);
        StepParts& parts = costs_.parts[place];
        parts.transfer_ns = std::min(within(std::move(transferred_[place])), waited);
        parts.wait_ns = waited - parts.transfer_ns;
        const double beside = std::min(exposed - waited, static_cast<double>(row.copy_beside_ns));
        parts.copies_ns = static_cast<double>(row.copy_ns) + beside;
        parts.idle_ns = static_cast<double>(row.idle_ns) + exposed - waited - beside;
        parts.own_ns = static_cast<double>(row.compute_ns) + parts.copies_ns + parts.idle_ns;
      }
    }
  }

  [[nodiscard]] CollectiveCost row(PlaceValues values) const {
    const store::JobSite& site = sites_.at(values.first->site_id);
    CollectiveCost cost;
    cost.place = values.first->place;
    cost.function = site.function;
    cost.bytes = site.bytes;
    cost.element_type = site.element_type;
    cost.blocks = site.blocks;
    cost.algorithm = site.algorithm;
    cost.protocol = site.protocol;
    cost.copies = site.copies;
    cost.communicator = groups_.at(site.communicator_id).hash;
    cost.steps = static_cast<std::int64_t>(values.duration.size());
    cost.ranks = values.ranks;
    const auto steps = static_cast<double>(cost.steps);
    cost.duration_ns = median(values.duration);
    cost.hidden_ns = median(values.hidden);
    cost.exposed_ns = median(values.exposed);
    cost.wait_ns = median(values.wait);
    cost.transfer_ns = median(values.transfer);
    cost.exposed_wait_ns = median(values.exposed_wait);
    cost.exposed_transfer_ns = median(values.exposed_transfer);
    cost.source = 2 * values.by_clocks > cost.steps ? WaitSource::clocks : WaitSource::durations;
    if (!values.skew.empty()) cost.skew_ns = median(values.skew);
    if (!values.error.empty()) cost.wait_error_ns = median(values.error);
    add_bandwidth(site, cost);
    const bool on_one_host = !values.several_hosts && cost.ranks == groups_.at(site.communicator_id).ranks;
    if (link_bytes_per_s_ && cost.bus_bytes_per_s && on_one_host && cost.ranks > 1)
      cost.link_ratio = *cost.bus_bytes_per_s / *link_bytes_per_s_;
    add_links(site, cost);
    cost.kind = kind_of(cost, values);
    const auto most = std::max_element(values.last.begin(), values.last.end(),
                                       [](const auto& a, const auto& b) { return a.second < b.second; });
    if (most != values.last.end()) {
      cost.last_rank = most->first;
      cost.last_share = static_cast<double>(most->second) / steps;
    }
    return cost;
  }

  void add_bandwidth(const store::JobSite& site, CollectiveCost& cost) const {
    const auto ranks = groups_.at(site.communicator_id).ranks;
    if (!site.bytes || !site.function || ranks.value_or(0) < 1 || cost.transfer_ns <= 0) return;
    cost.algorithm_bytes_per_s = static_cast<double>(*site.bytes) / cost.transfer_ns * 1e9;
    cost.bus_bytes_per_s = *cost.algorithm_bytes_per_s * bus_factor(*site.function, *ranks);
  }

  void add_links(const store::JobSite& site, CollectiveCost& cost) const {
    const auto found = traffic_.find(site.id);
    if (found == traffic_.end()) return;
    cost.link_calls = found->second.count;
    cost.link_bytes = mean_link_bytes(found->second.bytes, found->second.count);
    const auto ranks = groups_.at(site.communicator_id).ranks;
    // Of the others not every rank sends the same.
    if (!synchronises(site.function) || !site.bytes || ranks.value_or(0) < 2) return;
    const double sends = static_cast<double>(*site.bytes) * bus_factor(*site.function, *ranks);
    if (cost.link_bytes.nvlink_sent_bytes && sends > 0)
      cost.nvlink_ratio = *cost.link_bytes.nvlink_sent_bytes / sends;
  }

  [[nodiscard]] static CollectiveClass kind_of(const CollectiveCost& cost, const PlaceValues& values) {
    if (!synchronises(cost.function) || cost.ranks < 2) return CollectiveClass::not_known;
    if (2 * values.inconclusive > cost.steps) {
      // Nobody waits longer than clocks can tell: then it is transfer, if that is long enough.
      return cost.wait_error_ns.value_or(0) <= (1 - kDominates) * cost.duration_ns
                 ? CollectiveClass::transfer
                 : CollectiveClass::inconclusive;
    }
    if (cost.wait_ns > kDominates * cost.duration_ns) return CollectiveClass::skew;
    if (cost.wait_ns < (1 - kDominates) * cost.duration_ns) return CollectiveClass::transfer;
    return CollectiveClass::mixed;
  }

  const JobView& view_;
  const Matching& matching_;
  std::unordered_map<store::Id, store::JobSite> sites_;
  std::unordered_map<store::Id, store::JobCommunicator> groups_;
  std::unordered_map<store::Id, store::JobTraffic> traffic_;  // by site, of all ranks
  AlignedClocks clocks_;
  std::unordered_map<std::int64_t, std::size_t> step_places_;
  const std::optional<double> link_bytes_per_s_ = one_way(view_.job().links);
  std::vector<std::size_t> hosts_;           // by rank, numbered
  std::vector<Spans> waited_, transferred_;  // by rank and step: from waited-for collectives
  CollectiveCosts costs_;
};

}  // namespace

CollectiveCosts collective_costs(const JobView& view, const Matching& matching) {
  return Costs(view, matching).run();
}

}  // namespace ranks
}  // namespace ridgeline::analyzer
