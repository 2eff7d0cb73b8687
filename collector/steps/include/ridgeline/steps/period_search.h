/// period_search.h: finds the step of a program in the sequence of its launches. Pure: no clock, no thread, no
/// exception; memory is taken once, by the constructor, and its amount does not depend on what is searched.
///
/// A boundary of steps is a launch, or a row of up to four, that comes once in each step. For each row the launches
/// from one occurrence to the next are compared: those of the commonest sequence are *explained*. A row's run reaches
/// back from the latest launch as far as what it explains outweighs what it does not. Of the rows whose runs explain
/// the most, the shortest period is a step, unless what is between its repeats belongs to the step as well
/// (docs/design/022-finding-steps.md says how that is decided).
#pragma once

#include <cstddef>
#include <cstdint>

#include "ridgeline/steps/launch_key.h"

namespace ridgeline::steps {

struct Period {
  Anchor anchor;
  std::uint32_t launches = 0;  ///< of a step; the median where they differ
  std::uint32_t repeats = 0;   ///< steps that were seen
  std::uint32_t odd = 0;       ///< segments between them that are no step
  double coverage = 0;         ///< share of the launches since `begin` that steps explain, 0..1
  std::int64_t ns = 0;         ///< median, of a step
  std::int64_t own_ns = 0;     ///< what the repeats took, none counted as more than four medians
  std::int64_t pause_ns = 0;   ///< median, of the host before the boundary
  std::uint32_t begin = 0;     ///< first launch of the run, as an index into what was searched
  bool varies = false;         ///< the steps are of one kind, but do not launch alike
};

class PeriodSearch {
 public:
  /// `max_launches`: of a longer history the latest count. 2^24 at most.
  explicit PeriodSearch(std::uint32_t max_launches) noexcept;
  ~PeriodSearch();
  PeriodSearch(const PeriodSearch&) = delete;
  PeriodSearch& operator=(const PeriodSearch&) = delete;

  /// False if there was no memory: nothing is ever found then.
  [[nodiscard]] bool usable() const noexcept { return memory_ != nullptr; }
  [[nodiscard]] std::uint32_t max_launches() const noexcept { return most_; }

  /// The step of this history, oldest launch first, if its repeats took this long together (Period::own_ns).
  /// O(n log n).
  [[nodiscard]] bool find(const Launch* launches, std::size_t count, std::int64_t shortest_ns,
                          Period* found) noexcept;

  /// The same of a program that is over, wherever in it the steps are: what came after them, an evaluation or another
  /// phase, is not held against them. Takes five times as long as find().
  [[nodiscard]] bool find_anywhere(const Launch* launches, std::size_t count, Period* found) noexcept;

 private:
  struct Candidate {
    Period period;
    std::uint64_t kind = 0;  // hash of the launches of a step; 0 of steps that vary
    double score = 0;        // launches explained, less a multiple of the others
    double best_score = 0;   // of all rows with this period
    std::uint32_t unexplained = 0;
    std::uint32_t since_odd = 0,
                  max_apart = 0;  // repeats after the last odd segment; between two, or before
    std::uint32_t rows = 0;       // of keys, that have this period
  };
  static constexpr std::size_t kMaxCandidates = 512;
  struct Table {
    Candidate* entries = nullptr;
    std::size_t count = 0;
  };

  void take_keys(bool exact) noexcept;
  std::uint64_t segment(std::uint32_t from, std::uint32_t to) const noexcept;
  std::uint32_t common_before(std::uint32_t end, std::uint32_t period) const noexcept;
  std::uint32_t common_after(std::uint32_t from, std::uint32_t period) const noexcept;
  std::size_t sort_rows(std::uint32_t length) noexcept;
  void search(bool exact, Table* table) noexcept;
  void search_varying(Table* table) noexcept;
  void judge(std::size_t first, std::size_t last, std::uint32_t length, bool exact, Table* table) noexcept;
  void judge_varying(std::size_t first, std::size_t last, std::uint32_t length, Table* table) noexcept;
  bool measure(std::size_t first, Candidate* c, std::size_t begin, std::size_t count) noexcept;
  void keep(const Candidate& c, Table* table) noexcept;
  const Candidate* choose(const Table& table) noexcept;
  bool is_the_step(const Candidate& inner, const Candidate& outer) noexcept;
  bool host_comes_back(const Period& p) const noexcept;
  bool is_round_of(const Candidate& inner, const Candidate& outer) const noexcept;
  template <typename Seen>
  void each_segment(const Period& p, Seen&& seen) const noexcept;
  bool is_repeat(const Candidate& c, std::uint32_t from, std::uint32_t to) const noexcept;
  std::uint32_t after_repeat(const Candidate& c, std::uint32_t from, std::uint32_t to) const noexcept;
  bool repeats_vary(const Candidate& c) const noexcept;
  double news_between(const Candidate& c) const noexcept;
  bool is_whole(const Candidate& c) const noexcept;
  const Candidate* choose_varying(const Table& table) noexcept;
  bool alike(const Candidate& c) noexcept;
  bool takes_turns(const Candidate& c) noexcept;
  std::uint32_t at(std::size_t entry) const noexcept {
    return static_cast<std::uint32_t>(rows_[entry] & 0xffffff);
  }

  std::uint32_t most_ = 0;
  unsigned char* memory_ = nullptr;
  /// Parts of it.
  std::uint64_t* hash_ = nullptr;         // of the keys before each position
  std::uint64_t* power_ = nullptr;        // of the base of hash_
  std::uint64_t* rows_ = nullptr;         // of keys, hashed, with their position, in order
  std::uint64_t* kinds_ = nullptr;        // of the segments of one row of keys
  std::uint64_t* sorted_ = nullptr;       // the same in order; also numbers whose median is wanted
  std::uint32_t* occurrences_ = nullptr;  // of the row, one key shorter, that ends at a position
  std::uint16_t* keys_ = nullptr;
  Candidate* candidates_ = nullptr;  // kMaxCandidates each, exact, by kernel, varying

  const Launch* launches_ = nullptr;
  std::uint32_t n_ = 0;
  std::int64_t gap_ns_ = 0;  // median, between launches
};

}  // namespace ridgeline::steps
