#include "execution/step_graph.h"

#include <algorithm>
#include <cmath>
#include <stdexcept>

namespace ridgeline::analyzer {

namespace {

// Repetitions: few are enough where the slowest part sets the pace at once; more where it takes a while to.
constexpr std::size_t kMin = 2;
constexpr std::size_t kFirst = 8;
constexpr std::size_t kMax = 64;
// Means over all and over the later half of the repetitions that differ by less are the same pace.
constexpr double kSettled = 1e-3;

}  // namespace

NodeIndex StepGraph::add_node(std::int64_t duration_ns, std::int64_t release_ns) {
  if (nodes_.size() >= kNoNode) throw std::logic_error("too many nodes in a step");
  const auto edges = static_cast<std::uint32_t>(edges_.size());
  nodes_.push_back({std::max<std::int64_t>(duration_ns, 0), release_ns, edges, edges});
  return static_cast<NodeIndex>(nodes_.size() - 1);
}

void StepGraph::check(const Edge& edge) {
  if (nodes_.empty() || (edge.back == 0 && edge.node + std::size_t{1} >= nodes_.size()))
    throw std::logic_error("an edge of a step leads forward");
  farthest_back_ = std::max(farthest_back_, edge.back);
}

void StepGraph::add_start_edge(const Edge& edge) {
  check(edge);
  if (nodes_.back().first_end_edge != edges_.size()) throw std::logic_error("a start edge after an end edge");
  edges_.push_back(edge);
  nodes_.back().first_end_edge = static_cast<std::uint32_t>(edges_.size());
}

void StepGraph::add_end_edge(const Edge& edge) {
  check(edge);
  edges_.push_back(edge);
}

std::int64_t StepGraph::latest(std::uint32_t first, std::uint32_t last, std::size_t repetition,
                               const std::vector<Times>& past, std::int64_t at_least_ns) const {
  std::int64_t latest_ns = at_least_ns;
  for (std::uint32_t i = first; i < last; ++i) {
    const Edge& edge = edges_[i];
    if (edge.back > repetition) continue;
    const Times& times = past[(repetition - edge.back) % past.size()];
    const std::int64_t from_ns =
        edge.point == Point::start ? times.start_ns[edge.node] : times.end_ns[edge.node];
    latest_ns = std::max(latest_ns, from_ns + edge.lag_ns);
  }
  return latest_ns;
}

void StepGraph::run_once(std::span<const std::int64_t> durations_ns, std::size_t repetition,
                         std::vector<Times>& past) const {
  Times& now = past[repetition % past.size()];
  for (std::size_t i = 0; i < nodes_.size(); ++i) {
    const Node& node = nodes_[i];
    const auto last =
        i + 1 < nodes_.size() ? nodes_[i + 1].first_edge : static_cast<std::uint32_t>(edges_.size());
    const std::int64_t release_ns = repetition == 0 ? std::max<std::int64_t>(node.release_ns, 0) : 0;
    now.start_ns[i] = latest(node.first_edge, node.first_end_edge, repetition, past, release_ns);
    now.end_ns[i] = latest(node.first_end_edge, last, repetition, past, now.start_ns[i] + durations_ns[i]);
  }
}

StepSimulation::StepSimulation(StepGraph graph, const Options& options)
    : graph_(std::move(graph)), options_(options) {
  durations_ns_.reserve(graph_.size());
  for (NodeIndex i = 0; i < graph_.size(); ++i) durations_ns_.push_back(graph_.duration_ns(i));
  if (options_.anchor == kNoNode) {
    total_ns_ = total_ns(graph_, durations_ns_);
    length_ns_ = static_cast<double>(total_ns_);
    return;
  }
  const auto affordable = static_cast<std::size_t>(
      std::max<std::int64_t>(options_.max_visits / static_cast<std::int64_t>(graph_.size() + 1), 0));
  const std::size_t most = std::clamp(affordable, kMin, kMax);
  std::vector<std::int64_t> starts_ns;
  const auto mean = [&](std::size_t from, std::size_t to) {
    return static_cast<double>(starts_ns[to] - starts_ns[from]) / static_cast<double>(to - from);
  };
  graph_.run(durations_ns_, most + 1, [&](std::size_t, const StepGraph::Times& times) {
    starts_ns.push_back(times.start_ns[options_.anchor]);
  });
  repetitions_ = std::min(kFirst, most);
  while (repetitions_ < most && std::fabs(mean(0, repetitions_) - mean(repetitions_ / 2, repetitions_)) >
                                    kSettled * mean(0, repetitions_))
    repetitions_ = std::min(2 * repetitions_, most);
  total_ns_ = starts_ns[repetitions_];
  length_ns_ = mean(0, repetitions_);
}

std::int64_t StepSimulation::total_ns(const StepGraph& graph,
                                      std::span<const std::int64_t> durations_ns) const {
  std::int64_t total_ns = 0;
  const bool repeats = options_.anchor != kNoNode;
  graph.run(durations_ns, repeats ? repetitions_ + 1 : 1, [&](std::size_t, const StepGraph::Times& times) {
    if (!times.start_ns.empty()) total_ns = repeats ? times.start_ns[options_.anchor] : times.start_ns.back();
  });
  return total_ns;
}

double StepSimulation::saving_ns(std::span<const Change> changes) const {
  std::vector<std::int64_t> durations_ns = durations_ns_;
  for (const Change& change : changes)
    durations_ns[change.node] = std::max<std::int64_t>(change.duration_ns, 0);
  return static_cast<double>(total_ns_ - total_ns(graph_, durations_ns)) / static_cast<double>(repetitions_);
}

double StepSimulation::saving_ns(const StepGraph& edited) const {
  if (edited.size() != graph_.size()) throw std::logic_error("an edited step has the nodes of the step");
  std::vector<std::int64_t> durations_ns;
  durations_ns.reserve(edited.size());
  for (NodeIndex i = 0; i < edited.size(); ++i) durations_ns.push_back(edited.duration_ns(i));
  return static_cast<double>(total_ns_ - total_ns(edited, durations_ns)) / static_cast<double>(repetitions_);
}

StepGraph::Times StepSimulation::settled_times() const {
  StepGraph::Times settled;
  const bool repeats = options_.anchor != kNoNode;
  graph_.run(durations_ns_, repeats ? repetitions_ + 1 : 1,
             [&](std::size_t, const StepGraph::Times& times) { settled = times; });
  if (!repeats) return settled;
  const std::int64_t origin_ns = settled.start_ns[options_.anchor];
  for (std::int64_t& time_ns : settled.start_ns) time_ns -= origin_ns;
  for (std::int64_t& time_ns : settled.end_ns) time_ns -= origin_ns;
  return settled;
}

std::int64_t StepSimulation::visits() const {
  return static_cast<std::int64_t>(graph_.size() * (options_.anchor == kNoNode ? 1 : repetitions_ + 1));
}

}  // namespace ridgeline::analyzer
