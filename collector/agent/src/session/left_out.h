// Counts of what found no room, so that a recording says what it lacks.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "ridgeline/spool/writer.h"

namespace ridgeline::agent {

class LeftOutCounts {
 public:
  /// Any thread.
  void add(LeftOut what, std::uint64_t count = 1) noexcept {
    counts_[index(what)].fetch_add(count, std::memory_order_relaxed);
  }
  [[nodiscard]] std::uint64_t get(LeftOut what) const noexcept {
    return counts_[index(what)].load(std::memory_order_relaxed);
  }
  /// One thread at a time: a record of each count that has grown since.
  void write(spool::Writer& writer) noexcept {
    for (const auto& word : Vocabulary<LeftOut>::kWords) {
      const std::uint64_t count = get(word.value);
      if (count == written_[index(word.value)]) continue;
      written_[index(word.value)] = count;
      spool::LeftOutRecord record{};
      record.what = word.value;
      record.count = count;
      writer.put(record);
    }
  }

 private:
  static constexpr std::size_t index(LeftOut what) noexcept { return static_cast<std::size_t>(what); }
  static constexpr std::size_t kCounts = std::size(Vocabulary<LeftOut>::kWords) + 1;
  std::array<std::atomic<std::uint64_t>, kCounts> counts_{};
  std::array<std::uint64_t, kCounts> written_{};
};

}  // namespace ridgeline::agent
