// launch_utilisations.h: how busy each launch of a step kept the device, held compactly: a step may have millions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <memory>
#include <optional>
#include <vector>

#include "ridgeline/analyzer/model/model.h"
#include "ridgeline/analyzer/values/roof.h"

namespace ridgeline::analyzer {

struct LaunchValues;

/// What is known of a launch beside its time.
struct LaunchVerdict {
  store::Id kernel_id = 0;
  std::optional<double> nearest_roof_ratio;  // max of DRAM and compute; set only if both are known
  std::shared_ptr<const LaunchValues> values = nothing();  // never null
  LaunchStatus status = LaunchStatus::unmeasured;
  MissingReason missing = MissingReason::none;  // not none whenever dram or compute is empty
  std::optional<Roof>
      nearest;  // DRAM or the busiest pipe, whichever is used more; empty: none is used, or not known
  bool clamped = false;  // a utilisation above 1 was cut to 1 on request

  [[nodiscard]] static const std::shared_ptr<const LaunchValues>&
  nothing();  // of a launch that nobody looked at
};

struct LaunchUtilisation : LaunchVerdict {
  LaunchIndex launch = 0;  // into Model::launches
  std::int64_t ordinal = 0;
  std::int64_t duration_ns = 0;                 // T0; 0 without timestamps
  std::optional<double> duration_deviation_ns;  // standard deviation over the peers' same launch
};

/// Reads as a vector of LaunchUtilisation whose elements are made when they are asked for. A launch that was measured
/// is a group of its own; those of one site of which nothing was measured, and that took about the same, are one. Who
/// adds up goes through groups(), which are few where launches are many. Copies share their elements until one of
/// them is changed.
class LaunchUtilisations {
 public:
  using GroupIndex = std::uint32_t;

  /// What a launch has of its own.
  struct Row {
    std::int64_t duration_ns = 0;
    std::int64_t ordinal = 0;
    double deviation_ns = 0;   ///< NaN: unknown
    std::uint32_t launch = 0;  ///< into Model::launches
    GroupIndex group = 0;
  };

  /// Launches with one verdict, taken together.
  struct Group : LaunchVerdict {
    std::int64_t calls = 0;
    std::int64_t time_ns = 0;
    std::int64_t longest_ns = -1;
    std::size_t longest = 0;  ///< position of the first that took longest_ns
  };

  LaunchUtilisations();

  [[nodiscard]] std::size_t size() const { return all_->rows.size(); }
  [[nodiscard]] bool empty() const { return all_->rows.empty(); }
  [[nodiscard]] const Row& row(std::size_t i) const { return all_->rows[i]; }
  [[nodiscard]] const std::vector<Row>& rows() const { return all_->rows; }
  /// In the order of their first launches.
  [[nodiscard]] const std::vector<Group>& groups() const { return all_->groups; }
  [[nodiscard]] const Group& group_of(std::size_t i) const { return all_->groups[row(i).group]; }

  [[nodiscard]] LaunchUtilisation operator[](std::size_t i) const;
  [[nodiscard]] LaunchUtilisation front() const { return (*this)[0]; }

  class Iterator {
   public:
    using iterator_category = std::input_iterator_tag;
    using value_type = LaunchUtilisation;
    using difference_type = std::ptrdiff_t;
    using pointer = const LaunchUtilisation*;
    using reference = LaunchUtilisation;
    Iterator(const LaunchUtilisations& all, std::size_t i) : all_(&all), i_(i) {}
    LaunchUtilisation operator*() const { return (*all_)[i_]; }
    Iterator& operator++() {
      ++i_;
      return *this;
    }
    friend bool operator==(const Iterator&, const Iterator&) = default;

   private:
    const LaunchUtilisations* all_;
    std::size_t i_;
  };
  [[nodiscard]] Iterator begin() const { return {*this, 0}; }
  [[nodiscard]] Iterator end() const { return {*this, size()}; }

  void reserve(std::size_t count) { own().rows.reserve(count); }
  [[nodiscard]] GroupIndex add_group(const LaunchVerdict& verdict);
  /// Throws Error(corrupt) for more launches than can be counted in 32 bits.
  void add(const Row& row);
  /// As a group of its own.
  void push_back(const LaunchUtilisation& launch);

 private:
  struct All {
    std::vector<Row> rows;
    std::vector<Group> groups;
  };
  All& own();
  std::shared_ptr<All> all_;
};

}  // namespace ridgeline::analyzer
