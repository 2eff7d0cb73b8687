// The launches of one step in order, and the comparison of two steps.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "ridgeline/counting/kind.h"

namespace ridgeline::agent {

struct SequenceEntry {
  std::uint32_t kernel_id;
  std::uint32_t grid_x, grid_y, grid_z;
  bool measured = false;  // replay steps: run alone; not part of what is compared
  counting::Kind kind() const noexcept { return counting::kind_of(kernel_id, grid_x, grid_y, grid_z); }
  bool operator==(const SequenceEntry& other) const {
    return kernel_id == other.kernel_id && grid_x == other.grid_x && grid_y == other.grid_y &&
           grid_z == other.grid_z;
  }
};

/// Room for kCapacity launches, allocated once. Slots may be filled by several threads at a time; reading
/// waits for the step's end.
class LaunchSequence {
 public:
  static constexpr std::uint32_t kCapacity = 1u << 16;

  LaunchSequence() : entries_(new SequenceEntry[kCapacity]()) {}
  ~LaunchSequence() { delete[] entries_; }
  LaunchSequence(const LaunchSequence&) = delete;
  LaunchSequence& operator=(const LaunchSequence&) = delete;

  void clear() noexcept {
    count_.store(0, std::memory_order_relaxed);
    graph_launches_.store(0, std::memory_order_relaxed);
    foreign_context_.store(false, std::memory_order_relaxed);
    context_id_.store(0, std::memory_order_relaxed);
  }
  /// Launches are only counted, for nobody asks what they are. Before the first.
  void only_count() noexcept { kept_ = 0; }
  /// Stores a launch and gives its ordinal.
  std::uint32_t append(const SequenceEntry& entry, std::uint32_t context_id) noexcept {
    const std::uint32_t at = count_.fetch_add(1, std::memory_order_relaxed);
    if (at < kept_) entries_[at] = entry;
    if (context_id_.load(std::memory_order_relaxed) != context_id) [[unlikely]]
      note_context(context_id);
    return at;
  }
  /// One is about to be stored.
  void prefetch() const noexcept {
    if (kept_ != 0) __builtin_prefetch(entries_ + count() % kCapacity, 1);
  }
  void count_graph_launch() noexcept { graph_launches_.fetch_add(1, std::memory_order_relaxed); }

  std::uint32_t count() const noexcept { return count_.load(std::memory_order_relaxed); }
  std::uint32_t graph_launches() const noexcept { return graph_launches_.load(std::memory_order_relaxed); }
  /// Of the launches in their order.
  std::uint64_t hash() const noexcept {
    std::uint64_t hash = count();
    for (std::uint32_t i = 0; i < count() && i < kCapacity; ++i)
      hash = counting::mixed(hash, entries_[i].kind());
    return hash;
  }
  bool several_contexts() const noexcept { return foreign_context_.load(std::memory_order_relaxed); }
  bool complete() const noexcept { return count() <= kCapacity; }
  const SequenceEntry& operator[](std::uint32_t i) const noexcept { return entries_[i]; }

 private:
  [[gnu::cold]] void note_context(std::uint32_t context_id) noexcept {
    std::uint32_t none = 0;
    if (!context_id_.compare_exchange_strong(none, context_id, std::memory_order_relaxed) &&
        none != context_id)
      foreign_context_.store(true, std::memory_order_relaxed);
  }

  SequenceEntry* entries_;
  std::uint32_t kept_ = kCapacity;  // the first so many
  std::atomic<std::uint32_t> count_{0};
  std::atomic<std::uint32_t> graph_launches_{0};
  std::atomic<std::uint32_t> context_id_{0};
  std::atomic<bool> foreign_context_{false};
};

/// Why a step with these launches cannot be measured; empty if it can.
std::string why_not_replayable(const LaunchSequence& step);

}  // namespace ridgeline::agent
