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
    for (const auto& [correlation_id, kernel] : waiting_kernels_) emit(kernel, nullptr);
    waiting_kernels_.clear();
    waiting_calls_.clear();
  }

  [[nodiscard]] GraphLaunches take_graphs() { return std::move(graphs_); }

 private:
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
      emit(kernel->second, nullptr);
      kernel = waiting_kernels_.erase(kernel);
    }
    limit_ = 2 * (waiting_calls_.size() + waiting_kernels_.size()) + kWindow;
  }

  std::uint32_t newest_ = 0;
  std::size_t limit_ = kWindow;
  std::unordered_map<std::uint32_t, Call> waiting_calls_;
  std::vector<std::unordered_map<std::uint32_t, Call>::node_type> spare_;
  std::unordered_multimap<std::uint32_t, Execution> waiting_kernels_;
  GraphLaunches graphs_;
};

}  // namespace ridgeline::import
