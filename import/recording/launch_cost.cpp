#include "recording/launch_cost.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

namespace ridgeline::import {

namespace {

// From a call to its kernel's start on a free stream: what the quickest twentieth take, and no more than a launch does.
constexpr double kQuickest = 0.05;
constexpr double kMaxLatencyNs = 20'000;
// Others take longer by less than this.
constexpr double kLatencySpreadNs = 5'000;
// A kernel follows the one that it waited for on its stream in less, and on the mean in half of it.
constexpr std::int64_t kFollowsNs = 2'000;
// One that another stream's kernel held back, through an event, follows that in less.
constexpr std::int64_t kFollowsElsewhereNs = 3'000;
// A wait may be told to be over so long before the device writes its last kernel's end.
constexpr std::int64_t kClockErrorNs = 2'000;

double latency_of(const std::vector<BlockCalls>& blocks) {
  std::vector<double> latencies;
  for (const BlockCalls& block : blocks)
    for (const HostCall& call : block.calls)
      if (!call.waits && call.end_ns > 0)
        latencies.push_back(static_cast<double>(call.start_ns - call.enter_ns));
  if (latencies.empty()) return 0;
  const auto at =
      latencies.begin() + static_cast<std::ptrdiff_t>(kQuickest * static_cast<double>(latencies.size() - 1));
  std::nth_element(latencies.begin(), at, latencies.end());
  return std::clamp(*at, 0.0, kMaxLatencyNs);
}

}  // namespace

LaunchCost::LaunchCost(const std::vector<BlockCalls>& blocks) {
  const double latency_ns = latency_of(blocks);
  double steps = 0;
  for (const BlockCalls& calls : blocks) {
    if (calls.steps == 0 || calls.calls.empty()) continue;
    blocks_.push_back(block_of(calls, latency_ns));
    steps += calls.steps;
    calls_ +=
        static_cast<double>(std::count_if(calls.calls.begin(), calls.calls.end(), [](const HostCall& call) {
          return !call.waits && call.exit_ns > call.enter_ns;
        }));
  }
  if (steps > 0) calls_ /= steps;
  constexpr double kLittleNs = 1;
  slope_ = saved_ns(kLittleNs) / kLittleNs;
}

// Adds the calls of a block in the host's order.
class LaunchCost::BlockBuilder {
 public:
  explicit BlockBuilder(double latency_ns) : latency_ns_(latency_ns) {}

  void add(const HostCall& call) {
    const std::int64_t before_ns = calls_.empty() ? call.enter_ns : through_ns_;
    through_ns_ = std::max(before_ns, call.exit_ns);
    if (call.waits) return wait(call);
    Node node;
    node.own_ns = static_cast<double>(std::max<std::int64_t>(call.exit_ns - before_ns, 0));
    if (call.end_ns > 0) queue(call, node);
    push(call, node);
  }
  [[nodiscard]] std::vector<Node> take() { return std::move(nodes_); }

 private:
  using Stream = std::vector<std::size_t>;  // calls, in order of their ends

  void push(const HostCall& call, const Node& node) {
    calls_.push_back(call);
    nodes_.push_back(node);
  }

  // The one on a stream that was through last by then.
  [[nodiscard]] std::optional<std::size_t> last_through(const Stream& stream, std::int64_t by_ns) const {
    const auto after =
        std::upper_bound(stream.begin(), stream.end(), by_ns,
                         [&](std::int64_t at, std::size_t one) { return at < calls_[one].end_ns; });
    return after == stream.begin() ? std::nullopt : std::optional(*std::prev(after));
  }
  // Likewise on any of them but one.
  [[nodiscard]] std::optional<std::size_t> last_through_elsewhere(std::uint64_t here,
                                                                  std::int64_t by_ns) const {
    std::optional<std::size_t> last;
    for (const auto& [number, stream] : streams_)
      if (const auto one = last_through(stream, by_ns);
          number != here && one && (!last || calls_[*last].end_ns < calls_[*one].end_ns))
        last = one;
    return last;
  }

  // A node for each stream: for the one that was through last, and for the others if those are waited for too.
  void wait(const HostCall& call) {
    std::vector<std::size_t> awaited;
    for (const auto& [number, stream] : streams_)
      if (const auto last = last_through(stream, call.exit_ns + kClockErrorNs)) awaited.push_back(*last);
    if (awaited.empty()) return;
    std::sort(awaited.begin(), awaited.end(),
              [&](std::size_t a, std::size_t b) { return calls_[a].end_ns > calls_[b].end_ns; });
    if (!call.waits_for_all) awaited.resize(1);
    Node node{.waits = true, .own_ns = 0, .host_ns = 0, .device = std::nullopt};
    const std::int64_t last_ns = calls_[awaited.front()].end_ns;
    bind_to_later(node, awaited.front(), static_cast<double>(call.exit_ns - call.enter_ns),
                  static_cast<double>(call.exit_ns - last_ns));
    const double slack_ns = node.device->slack_ns;
    push(call, node);
    for (std::size_t i = 1; i < awaited.size(); ++i) {
      node.host_ns = 0;
      node.device = Bound{awaited[i], slack_ns + static_cast<double>(last_ns - calls_[awaited[i]].end_ns)};
      push(call, node);
    }
  }

  void queue(const HostCall& call, Node& node) {
    Stream& stream = streams_[call.stream];
    if (!stream.empty()) bind(call, node, stream.back());
    if (stream.empty() || calls_[stream.back()].end_ns <= call.end_ns) stream.push_back(calls_.size());
  }

  // What a kernel waited for: that before it on its stream if it follows at once, else its launch if it comes no later
  // than launches make it, else a kernel elsewhere that it follows at once.
  void bind(const HostCall& call, Node& node, std::size_t before) const {
    const std::int64_t free_ns = call.start_ns - calls_[before].end_ns;
    const double host_ns = static_cast<double>(call.start_ns - call.enter_ns) - latency_ns_;
    const double device_ns = static_cast<double>(free_ns - kFollowsNs / 2);
    if (free_ns <= kFollowsNs) {
      node.host_ns = std::max(host_ns, 0.0);
      node.device = Bound{before, 0};
    } else if (host_ns <= kLatencySpreadNs) {
      node.device = Bound{before, device_ns};
    } else if (const auto other = last_through_elsewhere(call.stream, call.start_ns);
               other && call.start_ns - calls_[*other].end_ns <= kFollowsElsewhereNs) {
      node.host_ns = host_ns;
      node.device = Bound{*other, 0};
    } else {
      bind_to_later(node, before, host_ns, device_ns);
    }
  }

  // What neither of the two explains stays.
  static void bind_to_later(Node& node, std::size_t to, double host_ns, double device_ns) {
    const double common_ns = std::min(host_ns, device_ns);
    node.host_ns = host_ns - common_ns;
    node.device = Bound{to, device_ns - common_ns};
  }

  double latency_ns_;
  std::vector<HostCall> calls_;
  std::vector<Node> nodes_;
  std::map<std::uint64_t, Stream> streams_;
  std::int64_t through_ns_ = 0;
};

LaunchCost::Block LaunchCost::block_of(const BlockCalls& calls, double latency_ns) {
  BlockBuilder block(latency_ns);
  for (std::size_t i = 0; i < calls.calls.size(); ++i) {
    const HostCall& call = calls.calls[i];
    // Another thread waits while this one goes on.
    const bool beside =
        call.waits && i + 1 < calls.calls.size() && calls.calls[i + 1].enter_ns < call.exit_ns;
    if (!beside) block.add(call);
  }
  if (calls.next) block.add(*calls.next);
  return {
      .steps = static_cast<double>(calls.steps), .has_next = calls.next.has_value(), .nodes = block.take()};
}

double LaunchCost::saved_ns(const Block& block, double of_a_call_ns, std::vector<double>& sooner) {
  sooner.clear();
  double host_ns = 0,
         through_ns = 0;  // how much sooner the host is, at the last call and before the next step's
  for (const Node& node : block.nodes) {
    through_ns = host_ns;
    if (!node.waits) host_ns += std::min(of_a_call_ns, node.own_ns);
    double at_ns = host_ns + node.host_ns;
    if (node.device) at_ns = std::min(at_ns, sooner[node.device->call] + node.device->slack_ns);
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
  if (saved_ns(high_ns) < saved) return kMaxNs;
  constexpr int kHalvings = 24;
  for (int i = 0; i < kHalvings; ++i) {
    const double middle_ns = (low_ns + high_ns) / 2;
    (saved_ns(middle_ns) < saved ? low_ns : high_ns) = middle_ns;
  }
  return high_ns;
}

}  // namespace ridgeline::import
