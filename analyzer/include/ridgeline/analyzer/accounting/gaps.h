// gaps.h: the stretches of a step in which a device did nothing, held compactly: a step may have millions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iterator>
#include <memory>
#include <optional>
#include <string_view>
#include <vector>

#include "ridgeline/analyzer/execution/wait.h"
#include "ridgeline/analyzer/model/model.h"

namespace ridgeline::analyzer {

enum class GapKind {
  launch_bound,     // the next launch was being issued, or queued and only its start-up latency passed
  host_bound,       // the next launch's call had not begun when the GPU fell idle
  synchronisation,  // the same, and its thread spent at least half of the gap inside calls that wait
  queued,           // issued well before, yet not started: it waited for an event, a copy or another stream
  unknown,          // the call behind the next work is not known (most copies)
  tail,             // the same, after the step's last work
};
[[nodiscard]] std::string_view to_string(GapKind kind);

/// A stretch of the step in which the device did nothing.
struct Gap {
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
  GapKind kind = GapKind::unknown;
  std::optional<LaunchIndex> before;      // the launch it follows; empty if a copy, a memset or nothing
  std::optional<LaunchIndex> after;       // the launch that ended it; the next step's first at the step's end
  std::optional<std::int64_t> thread_id;  // that made the call which ended it; empty: not known
  /// Host-bound and synchronisation, where waits are recorded: the time of the gap that this thread spent inside
  /// calls that wait, before that call; and the one of them that took most of it.
  std::int64_t synchronisation_ns = 0;
  std::optional<Wait> wait;
};

/// Reads as a vector of Gap whose elements are made when they are asked for. Copies share their elements until one of
/// them is changed.
class Gaps {
 public:
  Gaps();
  Gaps(std::initializer_list<Gap> gaps);

  [[nodiscard]] std::size_t size() const { return all_->rows.size(); }
  [[nodiscard]] bool empty() const { return all_->rows.empty(); }
  [[nodiscard]] Gap operator[](std::size_t i) const;
  /// Throws std::out_of_range.
  [[nodiscard]] Gap at(std::size_t i) const;
  [[nodiscard]] std::int64_t length_ns(std::size_t i) const {
    return all_->rows[i].end_ns - all_->rows[i].start_ns;
  }

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = Gap;
    using difference_type = std::ptrdiff_t;
    using pointer = const Gap*;
    using reference = Gap;
    Iterator(const Gaps& gaps, std::size_t i) : gaps_(&gaps), i_(i) {}
    Gap operator*() const { return (*gaps_)[i_]; }
    Iterator& operator++() {
      ++i_;
      return *this;
    }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    const Gaps* gaps_;
    std::size_t i_;
  };
  [[nodiscard]] Iterator begin() const { return {*this, 0}; }
  [[nodiscard]] Iterator end() const { return {*this, size()}; }

  void reserve(std::size_t count) { own().rows.reserve(count); }
  void push_back(const Gap& gap);
  void append(const Gaps& other);

 private:
  struct Row {
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    std::uint32_t before = 0;  // kNone
    std::uint32_t after = 0;
    std::uint32_t host = 0;  // into All::hosts
    GapKind kind = GapKind::unknown;
  };
  /// What the host did, which gaps that follow each other mostly have in common: the thread that launches.
  struct Host {
    std::optional<std::int64_t> thread_id;
    std::int64_t synchronisation_ns = 0;
    std::optional<Wait> wait;
    friend bool operator==(const Host&, const Host&) = default;
  };
  struct All {
    std::vector<Row> rows;
    std::vector<Host> hosts;
  };
  All& own();
  std::shared_ptr<All> all_;
};

}  // namespace ridgeline::analyzer
