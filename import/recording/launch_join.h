// launch_join.h: brings the two halves of a launch together while a recording streams by: the host's call and the
// execution on the device, which share a correlation id.
//
// Either half may come first. Memory grows with the launches whose other half has not come yet, and those are
// given up once the program has gone on for kWindow correlation ids; graph launches are kept to the end,
// since any number of kernels may belong to one.
#pragma once

#include <cstdint>
#include <unordered_map>
#include <utility>
#include <vector>

#include "recording/events.h"

namespace ridgeline::import {

/// A graph launch and the nodes of it that ran.
struct GraphLaunch {
  Call call;
  std::vector<std::uint64_t> nodes;        // graph node ids of its kernels; sorted when all are there
  std::int64_t first_ordinal_in_step = 0;  // of its kernels, when all are there
};
using GraphLaunches = std::unordered_map<std::uint32_t, GraphLaunch>;  // by correlation id

class LaunchJoin {
 public:
  static constexpr std::uint32_t kWindow = 1u << 20;
  /// So many kernels a call may launch without a graph: one on each device, at most.
  static constexpr std::size_t kMaxKernelsOfCall = 20;

  /// Of calls that expect a kernel: a failed launch or a captured one does not.
  /// emit(const Execution&, const Call*): each kernel once; the call is null if it never came.
  template <typename Emit>
  void add(const Call& call, Emit&& emit) {
    newest_ = call.correlation_id > newest_ ? call.correlation_id : newest_;
    if (call.graph) graphs_[call.correlation_id].call = call;
    const auto [first, last] = waiting_kernels_.equal_range(call.correlation_id);
    const bool matched = first != last;
    for (auto kernel = first; kernel != last; ++kernel) {
      if (call.graph) graphs_[call.correlation_id].nodes.push_back(kernel->second.graph_node.value_or(0));
      emit(kernel->second, &call);
    }
    waiting_kernels_.erase(first, last);
    if (!call.graph && !matched) wait(call);
    give_up_old(emit);
  }

  template <typename Emit>
  void add(const Execution& kernel, Emit&& emit) {
    if (auto graph = graphs_.find(kernel.correlation_id); graph != graphs_.end()) {
      graph->second.nodes.push_back(kernel.graph_node.value_or(0));
      emit(kernel, &graph->second.call);
    } else if (auto call = waiting_calls_.find(kernel.correlation_id); call != waiting_calls_.end()) {
      emit(kernel, &call->second);
      spare_.push_back(waiting_calls_.extract(call));
    } else {
      waiting_kernels_.emplace(kernel.correlation_id, kernel);
    }
  }

  /// Call once at the end: hands out the kernels whose call never came.
  template <typename Emit>
  void finish(Emit&& emit) {
    hand_out(waiting_kernels_.begin(), waiting_kernels_.end(), emit);
    waiting_kernels_.clear();
    waiting_calls_.clear();
  }

  /// Kernels of no graph with the correlation id of more than kMaxKernelsOfCall: a source that takes a thread to be in
  /// one call for ever after says so, and of which calls they are nobody knows.
  [[nodiscard]] std::int64_t kernels_of_one_call() const { return kernels_of_one_call_; }

  [[nodiscard]] GraphLaunches take_graphs() { return std::move(graphs_); }

 private:
  using Kernels = std::unordered_multimap<std::uint32_t, Execution>;

  /// Those of one id stand together.
  template <typename Emit>
  void hand_out(Kernels::const_iterator from, Kernels::const_iterator to, Emit&& emit) {
    while (from != to) {
      const std::uint32_t id = from->first;
      std::size_t of_call = 0;
      for (; from != to && from->first == id; ++from) {
        of_call += from->second.graph_node ? 0U : 1U;
        emit(from->second, nullptr);
      }
      if (id != 0 && of_call > kMaxKernelsOfCall) kernels_of_one_call_ += static_cast<std::int64_t>(of_call);
    }
  }

  /// Nodes of the map are used again: nearly every call waits for its kernel once.
  void wait(const Call& call) {
    if (spare_.empty()) {
      waiting_calls_[call.correlation_id] = call;
      return;
    }
    auto node = std::move(spare_.back());
    spare_.pop_back();
    node.key() = call.correlation_id;
    node.mapped() = call;
    auto known = waiting_calls_.insert(std::move(node));
    if (known.inserted) return;
    known.position->second = call;
    spare_.push_back(std::move(known.node));
  }

  template <typename Emit>
  void give_up_old(Emit&& emit) {
    if (waiting_calls_.size() + waiting_kernels_.size() < limit_ || newest_ < kWindow) return;
    const std::uint32_t oldest = newest_ - kWindow;
    std::erase_if(waiting_calls_, [&](const auto& entry) { return entry.first < oldest; });
    for (auto kernel = waiting_kernels_.begin(); kernel != waiting_kernels_.end();) {
      if (kernel->first >= oldest) {
        ++kernel;
        continue;
      }
      const auto [first, last] = waiting_kernels_.equal_range(kernel->first);
      hand_out(first, last, emit);
      kernel = waiting_kernels_.erase(first, last);
    }
    limit_ = 2 * (waiting_calls_.size() + waiting_kernels_.size()) + kWindow;
  }

  std::uint32_t newest_ = 0;
  std::size_t limit_ = kWindow;
  std::unordered_map<std::uint32_t, Call> waiting_calls_;
  std::vector<std::unordered_map<std::uint32_t, Call>::node_type> spare_;
  Kernels waiting_kernels_;
  std::int64_t kernels_of_one_call_ = 0;
  GraphLaunches graphs_;
};

}  // namespace ridgeline::import
