// Whether the device is through with the graphs that the program launched: the latest launch of each has as many
// records as the one before it, which has them all. Of a launch of a kernel its one record tells.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>

namespace ridgeline::agent {

class GraphLaunches {
 public:
  /// Executable graphs that are told apart; of a program with more nothing is known.
  static constexpr std::size_t kGraphs = 64;
  /// Launches whose records are counted, the latest.
  static constexpr std::size_t kLaunches = 1u << 14;

  GraphLaunches() : counts_(new std::atomic<std::uint64_t>[kLaunches]()) {}

  /// A launch has been made. Any thread.
  void launched(const void* graph, std::uint32_t correlation_id) noexcept {
    if (graph == nullptr) return too_many_.store(true, std::memory_order_relaxed);
    for (Graph& slot : graphs_) {
      const void* known = slot.graph.load(std::memory_order_acquire);
      if (known == nullptr && slot.graph.compare_exchange_strong(known, graph, std::memory_order_acq_rel))
        known = graph;
      if (known != graph) continue;
      slot.before.store(slot.latest.exchange(correlation_id, std::memory_order_acq_rel),
                        std::memory_order_release);
      slot.number.store(launches_.fetch_add(1, std::memory_order_relaxed), std::memory_order_release);
      return;
    }
    too_many_.store(true, std::memory_order_relaxed);
  }
  /// The record of one of its nodes came. Any thread.
  void node_ran(std::uint32_t correlation_id) noexcept {
    std::atomic<std::uint64_t>& slot = counts_[correlation_id % kLaunches];
    std::uint64_t known = slot.load(std::memory_order_relaxed), next = 0;
    do {
      const auto newest = static_cast<std::uint32_t>(known >> 32);
      if (newest > correlation_id) return;
      next = newest == correlation_id ? known + 1 : std::uint64_t{correlation_id} << 32 | 1;
    } while (!slot.compare_exchange_weak(known, next, std::memory_order_relaxed));
  }

  enum class State : std::uint8_t {
    through,
    pending,  ///< records of a launch are still to come
    unknown,  ///< how many a launch has is not known
  };
  /// `newest_correlation_id`: of the records of kernels that came.
  State state(std::uint32_t newest_correlation_id) const noexcept {
    if (too_many_.load(std::memory_order_relaxed)) return State::unknown;
    State all = State::through;
    for (const Graph& slot : graphs_) {
      if (slot.graph.load(std::memory_order_acquire) == nullptr) break;
      const std::uint32_t latest = slot.latest.load(std::memory_order_acquire);
      const std::uint32_t before = slot.before.load(std::memory_order_acquire);
      if (newest_correlation_id > latest && newest_correlation_id - latest > kLongAgo) continue;
      if (before == 0) {  // launched once, by which nothing is known of it but that others came after it
        const std::uint64_t later =
            launches_.load(std::memory_order_relaxed) - 1 - slot.number.load(std::memory_order_acquire);
        if (later < kLaterLaunches || newest_correlation_id < latest) return State::unknown;
        continue;
      }
      if (is_gone(before)) return State::unknown;
      const std::uint32_t expected = count(before);  // 0: the host is so far ahead of the device
      if (expected == 0 || count(latest) < expected) all = State::pending;
    }
    return all;
  }

 private:
  /// Launches that later ones have long since followed are over.
  static constexpr std::uint32_t kLongAgo = kLaunches / 4;
  /// Of a graph that was launched once: launches of graphs after which it is over.
  static constexpr std::uint64_t kLaterLaunches = 16;
  struct Graph {
    std::atomic<const void*> graph{nullptr};
    std::atomic<std::uint32_t> latest{0}, before{0};
    std::atomic<std::uint64_t> number{0};  // of the latest, among all graphs' launches
  };
  /// Its place was taken by a later launch.
  bool is_gone(std::uint32_t correlation_id) const noexcept {
    return counts_[correlation_id % kLaunches].load(std::memory_order_relaxed) >> 32 > correlation_id;
  }
  std::uint32_t count(std::uint32_t correlation_id) const noexcept {
    const std::uint64_t known = counts_[correlation_id % kLaunches].load(std::memory_order_relaxed);
    return known >> 32 == correlation_id ? static_cast<std::uint32_t>(known) : 0;
  }

  std::unique_ptr<std::atomic<std::uint64_t>[]> counts_;  // correlation id << 32 | records
  std::array<Graph, kGraphs> graphs_;
  std::atomic<std::uint64_t> launches_{0};
  std::atomic<bool> too_many_{false};
};

}  // namespace ridgeline::agent
