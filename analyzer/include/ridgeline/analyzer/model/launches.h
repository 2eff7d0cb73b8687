// launches.h: the launches of a model, held compactly: a step may have millions of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <optional>
#include <unordered_map>
#include <vector>

#include "ridgeline/store/activity.h"
#include "ridgeline/store/launch_site.h"
#include "ridgeline/store/records.h"

namespace ridgeline::analyzer {

/// Reads as a vector of store::Launch whose elements are made when they are asked for. What launches of one site
/// have in common (kernel, grid, stream, ...) is held once, the rest in a row of 64 bytes: who goes through all of
/// them asks for row() and site().
class Launches {
 public:
  using SiteIndex = std::uint32_t;

  /// What a launch has of its own. kAbsent where store::Launch has an empty optional.
  struct Row {
    static constexpr std::int64_t kAbsent = INT64_MIN;
    store::Id id = 0;
    std::int64_t start_ns = 0;
    std::int64_t end_ns = 0;
    std::int64_t host_start_ns = kAbsent;
    std::int64_t host_end_ns = kAbsent;
    std::int64_t correlation_id = 0;
    std::int64_t ordinal_in_step = kAbsent;
    SiteIndex site = 0;
    std::uint32_t step = 0;  ///< into step_ids(); 0: outside any step
  };

  [[nodiscard]] std::size_t size() const { return rows_.size(); }
  [[nodiscard]] bool empty() const { return rows_.empty(); }
  [[nodiscard]] const Row& row(std::size_t i) const { return rows_[i]; }
  [[nodiscard]] const std::vector<Row>& rows() const { return rows_; }
  /// The fields that launches of a site share; the others are as in an empty store::Launch.
  [[nodiscard]] const store::Launch& site(std::size_t i) const { return sites_[rows_[i].site]; }
  [[nodiscard]] const std::vector<store::Launch>& sites() const { return sites_; }
  /// The first means no step.
  [[nodiscard]] const std::vector<store::Id>& step_ids() const { return step_ids_; }
  /// How many launches there are of each of step_ids().
  [[nodiscard]] const std::vector<std::size_t>& step_sizes() const { return step_sizes_; }
  /// No time of a launch is farther from 0 than this; above INT64_MAX for INT64_MIN.
  [[nodiscard]] std::uint64_t farthest_time_ns() const { return farthest_time_ns_; }
  /// Sum of the durations, which may leave int64.
  [[nodiscard]] double total_ns() const { return total_ns_; }

  [[nodiscard]] store::Launch operator[](std::size_t i) const {
    const Row& row = rows_[i];
    return store::joined({.id = row.id,
                          .step_id = row.step == 0 ? std::nullopt : std::optional(step_ids_[row.step]),
                          .ordinal_in_step = optional(row.ordinal_in_step),
                          .start_ns = row.start_ns,
                          .end_ns = row.end_ns,
                          .host_start_ns = optional(row.host_start_ns),
                          .host_end_ns = optional(row.host_end_ns),
                          .correlation_id = row.correlation_id},
                         sites_[row.site]);
  }
  [[nodiscard]] store::Launch front() const { return (*this)[0]; }
  [[nodiscard]] store::Launch back() const { return (*this)[size() - 1]; }

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = store::Launch;
    using difference_type = std::ptrdiff_t;
    using pointer = const store::Launch*;
    using reference = store::Launch;
    Iterator(const Launches& launches, std::size_t i) : launches_(&launches), i_(i) {}
    store::Launch operator*() const { return (*launches_)[i_]; }
    Iterator& operator++() {
      ++i_;
      return *this;
    }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    const Launches* launches_;
    std::size_t i_;
  };
  [[nodiscard]] Iterator begin() const { return {*this, 0}; }
  [[nodiscard]] Iterator end() const { return {*this, size()}; }

  void reserve(std::size_t count) { rows_.reserve(count); }
  void clear() { *this = {}; }
  void push_back(const store::Launch& launch);
  /// For many launches: a site first, then what each has of its own.
  SiteIndex add_site(const store::Launch& site);
  void add(const store::LaunchRow& row, SiteIndex site);
  /// By process, start, id.
  void sort();

  /// The launches of a process whose time may overlap [start_ns, end_ns), as a range of positions: none that overlaps
  /// it is outside. Needs sort().
  struct Range {
    std::size_t first = 0, last = 0;  ///< without the last
  };
  /// The first of a process that starts at a time or later; where one would be if there is none. Needs sort().
  [[nodiscard]] std::size_t first_from(store::Id process_id, std::int64_t start_ns) const;
  [[nodiscard]] Range near(store::Id process_id, std::int64_t start_ns, std::int64_t end_ns) const;

 private:
  static std::optional<std::int64_t> optional(std::int64_t value) {
    return value == Row::kAbsent ? std::nullopt : std::optional(value);
  }
  std::uint32_t step_index(std::optional<store::Id> id);
  [[nodiscard]] bool in_order(const Row& a, const Row& b) const;
  void note_time(std::int64_t time_ns);

  std::vector<Row> rows_;
  /// Noted of each as it comes, so that nobody has to go through them again.
  bool sorted_ = true;
  std::int64_t longest_ns_ = 0;  // of a launch
  double total_ns_ = 0;
  std::uint64_t farthest_time_ns_ = 0;
  std::vector<store::Launch> sites_;
  std::vector<store::Id> step_ids_ = {0};
  std::vector<std::size_t> step_sizes_ = {0};
  std::unordered_map<store::Id, std::uint32_t> step_index_;
  std::uint32_t last_step_ = 0;
  std::map<store::LaunchSiteKey, SiteIndex> site_index_;  // of those that push_back() made
};

/// True if the driver gave the launch both timestamps.
[[nodiscard]] inline bool has_time(const Launches::Row& row) {
  return row.start_ns > 0 && row.end_ns >= row.start_ns;
}

/// Duration on the GPU; 0 without timestamps.
[[nodiscard]] inline std::int64_t duration_ns(const Launches::Row& row) {
  return has_time(row) ? row.end_ns - row.start_ns : 0;
}

}  // namespace ridgeline::analyzer
