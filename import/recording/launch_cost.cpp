#include "recording/launch_cost.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>
#include <utility>

namespace ridgeline::import {

namespace {

// From a call to its kernel's start on a free stream: what the quickest twentieth take, and no more than a launch does.
constexpr double kQuickest = 0.05;
constexpr double kMaxLatencyNs = 20'000;
// Others take longer by less than this.
constexpr double kLatencySpreadNs = 5'000;
// A kernel follows the one that it waited for on its stream in less, and on the mean in half of it.
constexpr double kFollowsNs = 2'000;
// A call that may wait and returns in less did not: the device's signal alone takes longer.
constexpr std::int64_t kAtOnceNs = 5'000;
// A wait may be over so long before the end that the device writes of its last kernel.
constexpr std::int64_t kClockErrorNs = 2'000;

double latency_of(const std::vector<BlockCalls>& blocks) {
  std::vector<double> latencies;
  for (const BlockCalls& block : blocks)
    for (const HostCall& call : block.calls)
      if (call.kind == HostCall::Kind::launch && call.end_ns > 0)
        latencies.push_back(static_cast<double>(call.start_ns - call.enter_ns));
  if (latencies.empty()) return 0;
  const auto at =
      latencies.begin() + static_cast<std::ptrdiff_t>(kQuickest * static_cast<double>(latencies.size() - 1));
  std::nth_element(latencies.begin(), at, latencies.end());
  return std::clamp(*at, 0.0, kMaxLatencyNs);
}

}  // namespace

// Adds the calls of a block in the host's order.
class LaunchCost::BlockBuilder {
 public:
  BlockBuilder(const BlockCalls& calls, double latency_ns)
      : latency_ns_(latency_ns),
        block_{.steps = static_cast<double>(calls.steps),
               .has_next = calls.next.has_value(),
               .nodes = {},
               .bounds = {}} {
    for (std::size_t i = 0; i < calls.calls.size(); ++i) {
      // Another thread waits while this one goes on.
      const bool beside = calls.calls[i].waits() && i + 1 < calls.calls.size() &&
                          calls.calls[i + 1].enter_ns < calls.calls[i].exit_ns;
      if (!beside) add(calls.calls[i]);
    }
    if (calls.next) add(*calls.next);
  }
  [[nodiscard]] Block take() { return std::move(block_); }

 private:
  using Kind = HostCall::Kind;
  struct Stream {
    std::vector<std::size_t> nodes;    // in order of their ends
    std::vector<std::size_t> awaited;  // by what is launched next
  };

  void add(const HostCall& call) {
    if (call.kind == Kind::event_record) {
      const Stream& stream = streams_[call.stream];
      events_[call.event] = stream.nodes.empty() ? std::nullopt : std::optional(stream.nodes.back());
      return;
    }
    if (call.kind == Kind::event_wait) {
      if (const auto event = events_.find(call.event); event != events_.end() && event->second)
        streams_[call.stream].awaited.push_back(*event->second);
      return;
    }
    const std::int64_t before_ns = ends_ns_.empty() ? call.enter_ns : through_ns_;
    through_ns_ = std::max(before_ns, call.exit_ns);
    Node node{.waits = call.waits(), .own_ns = 0, .host_ns = 0, .bounds_end = 0};
    if (call.waits())
      wait(call, node);
    else
      node.own_ns = static_cast<double>(std::max<std::int64_t>(call.exit_ns - before_ns, 0));
    if (call.kind == Kind::launch && call.end_ns > 0) queue(call, node);
    node.bounds_end = block_.bounds.size();
    block_.nodes.push_back(node);
    ends_ns_.push_back(call.end_ns);
  }

  // For whichever stream was through last, and for the others too if those are waited for.
  void wait(const HostCall& call, Node& node) {
    if (call.exit_ns - call.enter_ns <= kAtOnceNs) return;
    std::vector<std::size_t> awaited;
    for (const auto& [number, stream] : streams_) {
      const auto after =
          std::upper_bound(stream.nodes.begin(), stream.nodes.end(), call.exit_ns + kClockErrorNs,
                           [&](std::int64_t at, std::size_t one) { return at < ends_ns_[one]; });
      if (after != stream.nodes.begin()) awaited.push_back(*std::prev(after));
    }
    std::sort(awaited.begin(), awaited.end(),
              [&](std::size_t a, std::size_t b) { return ends_ns_[a] > ends_ns_[b]; });
    if (call.kind == Kind::wait && awaited.size() > 1) awaited.resize(1);
    for (const std::size_t one : awaited)
      block_.bounds.push_back({one, static_cast<double>(call.exit_ns - ends_ns_[one])});
    later_of(node, static_cast<double>(call.exit_ns - call.enter_ns), awaited.size());
  }

  // What a kernel waited for: what it follows at once, that before it on its stream or an event, else its launch if it
  // comes no later than launches make it.
  void queue(const HostCall& call, Node& node) {
    Stream& stream = streams_[call.stream];
    std::vector<std::size_t> awaited = std::exchange(stream.awaited, {});
    if (!stream.nodes.empty()) awaited.push_back(stream.nodes.back());
    double follows_ns = std::numeric_limits<double>::infinity();
    for (const std::size_t one : awaited) {
      const auto free_ns = static_cast<double>(call.start_ns - ends_ns_[one]);
      follows_ns = std::min(follows_ns, free_ns);
      block_.bounds.push_back({one, free_ns - kFollowsNs / 2});
    }
    const double host_ns = static_cast<double>(call.start_ns - call.enter_ns) - latency_ns_;
    if (follows_ns <= kFollowsNs) {
      node.host_ns = std::max(host_ns, 0.0);
      for (std::size_t i = block_.bounds.size() - awaited.size(); i < block_.bounds.size(); ++i)
        block_.bounds[i].slack_ns -= follows_ns - kFollowsNs / 2;
    } else if (host_ns > kLatencySpreadNs) {
      later_of(node, host_ns, awaited.size());
    }
    if (stream.nodes.empty() || ends_ns_[stream.nodes.back()] <= call.end_ns)
      stream.nodes.push_back(block_.nodes.size());
  }

  // With the last so many bounds: what none of them explains stays.
  void later_of(Node& node, double host_ns, std::size_t bounds) {
    const auto first = block_.bounds.end() - static_cast<std::ptrdiff_t>(bounds);
    double common_ns = host_ns;
    for (auto bound = first; bound != block_.bounds.end(); ++bound)
      common_ns = std::min(common_ns, bound->slack_ns);
    node.host_ns = host_ns - common_ns;
    for (auto bound = first; bound != block_.bounds.end(); ++bound) bound->slack_ns -= common_ns;
  }

  double latency_ns_;
  Block block_;
  std::vector<std::int64_t> ends_ns_;  // of what the nodes launched
  std::map<std::uint64_t, Stream> streams_;
  // By event: the latest node of its stream at its newest record.
  std::unordered_map<std::uint64_t, std::optional<std::size_t>> events_;
  std::int64_t through_ns_ = 0;
};

LaunchCost::LaunchCost(const std::vector<BlockCalls>& blocks) {
  const double latency_ns = latency_of(blocks);
  double steps = 0;
  for (const BlockCalls& calls : blocks) {
    if (calls.steps == 0 || calls.calls.empty()) continue;
    blocks_.push_back(BlockBuilder(calls, latency_ns).take());
    steps += calls.steps;
    calls_ +=
        static_cast<double>(std::count_if(calls.calls.begin(), calls.calls.end(), [](const HostCall& call) {
          return call.kind == HostCall::Kind::launch && call.exit_ns > call.enter_ns;
        }));
  }
  if (steps > 0) calls_ /= steps;
  constexpr double kLittleNs = 1;
  slope_ = saved_ns(kLittleNs) / kLittleNs;
}

double LaunchCost::saved_ns(const Block& block, double of_a_call_ns, std::vector<double>& sooner) {
  sooner.clear();
  // How much sooner the host is, at the last call and before the next step's.
  double host_ns = 0, through_ns = 0;
  std::size_t bound = 0;
  for (const Node& node : block.nodes) {
    through_ns = host_ns;
    if (!node.waits) host_ns += std::min(of_a_call_ns, node.own_ns);
    double at_ns = host_ns + node.host_ns;
    for (; bound < node.bounds_end; ++bound)
      at_ns = std::min(at_ns, sooner[block.bounds[bound].node] + block.bounds[bound].slack_ns);
    if (node.waits) host_ns = at_ns;
    sooner.push_back(at_ns);
  }
  return std::max(block.has_next ? std::min(through_ns, sooner.back()) : host_ns, 0.0);
}

double LaunchCost::saved_ns(double of_a_call_ns) const {
  if (of_a_call_ns < 0) return of_a_call_ns * slope_;
  double saved_of_all_ns = 0, steps = 0;
  std::vector<double> sooner;
  for (const Block& block : blocks_) {
    saved_of_all_ns += saved_ns(block, of_a_call_ns, sooner);
    steps += block.steps;
  }
  return steps > 0 ? saved_of_all_ns / steps : 0;
}

double LaunchCost::of_a_call_ns(double saved) const {
  if (saved < 0) return slope_ > 0 ? std::max(saved / slope_, -kMaxNs) : 0;
  double low_ns = 0, high_ns = kMaxNs;
  double at_low = 0, at_high = saved_ns(high_ns);
  if (at_high < saved) return kMaxNs;
  constexpr int kHalvings = 12;  // to 12 ns, within which the curve is nearly a line
  for (int i = 0; i < kHalvings; ++i) {
    const double middle_ns = (low_ns + high_ns) / 2, at_middle = saved_ns(middle_ns);
    (at_middle < saved ? low_ns : high_ns) = middle_ns;
    (at_middle < saved ? at_low : at_high) = at_middle;
  }
  return at_high > at_low ? low_ns + (high_ns - low_ns) * (saved - at_low) / (at_high - at_low) : low_ns;
}

}  // namespace ridgeline::import
