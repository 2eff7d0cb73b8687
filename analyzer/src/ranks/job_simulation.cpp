// job_simulation.cpp: how long the steps of a chain take, call after call in the order in which they begin.
#include <algorithm>
#include <deque>
#include <limits>
#include <map>

#include "ranks/job_replay.h"
#include "ridgeline/base/statistics.h"

namespace ridgeline::analyzer::ranks {

namespace {

constexpr double kNotStopped = std::numeric_limits<double>::infinity();
// Own times that are asked for lie in the step or shortly before it.
constexpr std::size_t kPointsKept = 256;

// A collective in flight beside a rank's kernels.
struct Load {
  double begin, end;
  double lost;
};

// What a rank stops for, by its own time.
struct Stop {
  double own, arrival, end;
};

// A rank as it goes on: its own time against that of all, what it still has to stop for, what runs beside it.
class RankState {
 public:
  explicit RankState(std::size_t groups) : points_{{0, 0}}, free_at_(groups, 0), load_free_at_(groups, 0) {}

  void stop(double own, double arrival, double end) {
    const Stop stop{own, arrival, end};
    stops_.insert(std::upper_bound(stops_.begin(), stops_.end(), stop,
                                   [](const Stop& a, const Stop& b) { return a.own < b.own; }),
                  stop);
  }
  void load(const Load& load) {
    if (load.lost > 0 && load.end > load.begin) loads_.push_back(load);
  }
  // Time at which the rank has come so far.
  double reach(double own) {
    while (!stops_.empty() && stops_.front().own <= own) {
      const Stop stop = stops_.front();
      stops_.pop_front();
      advance(stop.own);
      pause(stop);
    }
    if (own <= points_.back().own) return time_of(own);
    advance(own);
    return points_.back().time;
  }
  // The same, with one more beside it, and without going there.
  [[nodiscard]] double would_reach(double own, const Load& load) const {
    Point at = points_.back();
    if (own <= at.own) return time_of(own);
    std::vector<Load> loads(loads_.begin(), loads_.end());
    loads.push_back(load);
    for (const Stop& stop : stops_) {
      if (stop.own > own) break;
      while (at.own < stop.own) at = next(at, stop.own, loads);
      at.time = std::max(at.time, stop.end);
    }
    while (at.own < own) at = next(at, own, loads);
    return at.time;
  }
  [[nodiscard]] double& free_at(std::size_t group) { return free_at_[group]; }
  [[nodiscard]] double& load_free_at(std::size_t group) { return load_free_at_[group]; }
  // Since the last time it was asked.
  std::pair<double, double> take_waits() {
    if (points_.size() > kPointsKept)
      points_.erase(points_.begin(), points_.end() - static_cast<std::ptrdiff_t>(kPointsKept));
    return {std::exchange(wait_, 0), std::exchange(transfer_, 0)};
  }

 private:
  struct Point {
    double own, time;
  };
  // Up to there, or to where the pace changes.
  template <typename Loads>
  static Point next(const Point& at, double own, const Loads& loads) {
    double lost = 0;
    double until = kNotStopped;
    for (const Load& load : loads) {
      if (load.end <= at.time) continue;
      if (load.begin > at.time) {
        until = std::min(until, load.begin);
      } else {
        lost = std::max(lost, load.lost);
        until = std::min(until, load.end);
      }
    }
    const double there = at.time + (own - at.own) / (1 - lost);
    if (there <= until) return {own, there};
    return {at.own + (until - at.time) * (1 - lost), until};
  }
  void advance(double own) {
    while (points_.back().own < own) {
      std::erase_if(loads_, [&](const Load& load) { return load.end <= points_.back().time; });
      points_.push_back(next(points_.back(), own, loads_));
    }
  }
  // One that lies before where the rank is delays it there, as far as it has not waited since.
  void pause(const Stop& stop) {
    const double there = points_.back().time - (points_.back().own - stop.own);
    if (stop.end <= there) return;
    const double transfer = std::min(stop.end - there, stop.end - stop.arrival);
    transfer_ += transfer;
    wait_ += stop.end - there - transfer;
    points_.push_back({points_.back().own, points_.back().time + stop.end - there});
  }
  // Where it has been already.
  [[nodiscard]] double time_of(double own) const {
    const auto after = std::partition_point(points_.begin(), points_.end(),
                                            [&](const Point& point) { return point.own <= own; });
    if (after == points_.begin()) return after->time - (after->own - own);
    const Point& before = *(after - 1);
    if (after == points_.end() || after->own <= before.own) return before.time + (own - before.own);
    return before.time + (own - before.own) * (after->time - before.time) / (after->own - before.own);
  }

  std::vector<Point> points_;  // straight between them
  std::deque<Stop> stops_;
  std::vector<Load> loads_;
  std::vector<double> free_at_, load_free_at_;
  double wait_ = 0, transfer_ = 0;
};

// Own times at which ranks stop until a call has ended: for it, or for a later one of its communicator.
class HeldUp {
 public:
  explicit HeldUp(const ReplayedStep& step) : ranks_(step.begin.size()) {
    if (std::none_of(step.calls.begin(), step.calls.end(), [](const auto& call) { return call.lost > 0; }))
      return;
    at_.resize(step.calls.size() * ranks_, kNotStopped);
    std::map<std::size_t, std::size_t> later;  // by group: the call after
    for (std::size_t i = step.calls.size(); i-- > 0;) {
      const ReplayedCall& call = step.calls[i];
      const auto next = later.find(call.group);
      for (std::size_t r = 0; r < ranks_; ++r) {
        double& at = at_[i * ranks_ + r];
        if (next != later.end()) at = at_[next->second * ranks_ + r];
        if (call.ranks[r].stops) at = std::min(at, *call.ranks[r].stops);
      }
      later[call.group] = i;
    }
  }
  [[nodiscard]] double at(std::size_t call, std::size_t rank) const { return at_[call * ranks_ + rank]; }

 private:
  std::size_t ranks_;
  std::vector<double> at_;
};

// One call after the other, in the order in which they begin.
class Simulation {
 public:
  explicit Simulation(const StepChain& chain)
      : lost_(chain.lost), ranks_(chain.lost.size(), RankState(chain.groups)), begins_(chain.lost.size()) {}

  [[nodiscard]] RankState& rank(std::size_t rank) { return ranks_[rank]; }

  void run(const ReplayedStep& step) {
    const HeldUp held(step);
    for (std::size_t i = 0; i < step.calls.size(); ++i) run(step.calls[i], i, held);
  }

 private:
  // What of its pace the rank's own time loses beside the call.
  [[nodiscard]] double lost(const ReplayedCall& call, std::size_t rank) const {
    return lost_[rank] * static_cast<double>(call.ranks[rank].beside_ratio);
  }
  // When the rank stops while the call goes on.
  [[nodiscard]] double stopped(const ReplayedCall& call, std::size_t i, const HeldUp& held,
                               std::size_t rank) const {
    const double own = held.at(i, rank);
    if (own == kNotStopped) return kNotStopped;
    return ranks_[rank].would_reach(own, {begins_[rank], kNotStopped, lost(call, rank)});
  }
  // Of a transfer from there on, beside kernels that stop then.
  static double end_of(const ReplayedCall& call, double begin, double alone_ns, double stopped) {
    const double beside = std::max(0.0, stopped - begin);
    const double done = beside * (1 - call.lost);
    return alone_ns <= done ? begin + alone_ns / (1 - call.lost) : begin + beside + alone_ns - done;
  }

  void run(const ReplayedCall& call, std::size_t i, const HeldUp& held) {
    double arrival = 0;
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      const ReplayedCall::OfRank& of = call.ranks[r];
      if (!of.there) continue;
      begins_[r] = std::max(ranks_[r].reach(of.ready) + of.after_ready_ns,
                            ranks_[r].free_at(call.group) + of.after_queue_ns);
      arrival = std::max(arrival, begins_[r]);
    }
    double kernels_until = 0;  // of some rank
    for (std::size_t r = 0; call.lost > 0 && r < ranks_.size(); ++r) {
      if (call.ranks[r].there) kernels_until = std::max(kernels_until, stopped(call, i, held, r));
    }
    for (std::size_t r = 0; r < ranks_.size(); ++r) {
      const ReplayedCall::OfRank& of = call.ranks[r];
      if (!of.there) continue;
      const double all_in = call.all_wait ? arrival : begins_[r];
      double end = all_in + (call.all_wait ? call.transfer_ns : of.alone_ns);
      if (call.lost > 0)
        end = call.all_wait ? end_of(call, all_in, call.transfer_ns, kernels_until)
                            : end_of(call, all_in, of.alone_ns, stopped(call, i, held, r));
      ranks_[r].free_at(call.group) = end;
      ranks_[r].load({begins_[r], end, lost(call, r)});
      if (of.stops) ranks_[r].stop(*of.stops, all_in, end);
      if (call.unwaited_ns > 0) load_unwaited(call, r, end);
    }
  }
  void load_unwaited(const ReplayedCall& call, std::size_t rank, double end) {
    double& free = ranks_[rank].load_free_at(call.group);
    const double begin = std::max(end, free);
    free = begin + call.unwaited_ns / (1 - call.lost);
    ranks_[rank].load({begin, free, lost(call, rank)});
  }

  const std::vector<double>& lost_;
  std::vector<RankState> ranks_;
  std::vector<double> begins_;
};

}  // namespace

std::vector<SimulatedStep> simulated(const StepChain& chain) {
  return simulated(chain, [&](std::size_t i) -> const ReplayedStep& { return chain.steps[i]; });
}

std::vector<SimulatedStep> simulated(const StepChain& chain,
                                     const std::function<const ReplayedStep&(std::size_t)>& step_at) {
  std::vector<SimulatedStep> out;
  if (chain.steps.empty()) return out;
  const std::size_t n = chain.steps.front().begin.size();
  Simulation simulation(chain);
  std::vector<double> reached(n);
  for (std::size_t i = 0; i < chain.steps.size(); ++i) {
    const ReplayedStep& step = step_at(i);
    for (std::size_t r = 0; i == 0 && r < n; ++r) reached[r] = simulation.rank(r).reach(step.begin[r]);
    simulation.run(step);
    SimulatedStep result;
    result.place = step.place;
    std::vector<double> durations;
    for (std::size_t r = 0; r < n; ++r) {
      const double end = simulation.rank(r).reach(step.end[r]);
      durations.push_back(end - reached[r]);
      reached[r] = end;
      const auto [wait, transfer] = simulation.rank(r).take_waits();
      result.exposed_wait_ns += wait / static_cast<double>(n);
      result.exposed_transfer_ns += transfer / static_cast<double>(n);
      result.max_wait_ns = std::max(result.max_wait_ns, wait);
      result.max_transfer_ns = std::max(result.max_transfer_ns, transfer);
    }
    result.duration_ns = median(std::move(durations));
    out.push_back(result);
  }
  return out;
}

}  // namespace ridgeline::analyzer::ranks
