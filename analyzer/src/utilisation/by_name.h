// by_name.h: some dozens of values by the names of their metrics.
#pragma once

#include <algorithm>
#include <string_view>
#include <utility>
#include <vector>

namespace ridgeline::analyzer {

/// Values by name, in the order of names, side by side in memory: each launch of each counted step has such a
/// table, and a tree would allocate each of its values. Names are not kept: they live elsewhere.
template <typename T>
class ByName {
 public:
  using Entry = std::pair<std::string_view, T>;
  using iterator = typename std::vector<Entry>::iterator;
  using const_iterator = typename std::vector<Entry>::const_iterator;

  [[nodiscard]] iterator begin() { return entries_.begin(); }
  [[nodiscard]] iterator end() { return entries_.end(); }
  [[nodiscard]] const_iterator begin() const { return entries_.begin(); }
  [[nodiscard]] const_iterator end() const { return entries_.end(); }
  [[nodiscard]] bool empty() const { return entries_.empty(); }
  [[nodiscard]] std::size_t size() const { return entries_.size(); }

  [[nodiscard]] const_iterator find(std::string_view name) const {
    const auto place = std::lower_bound(entries_.begin(), entries_.end(), name, before);
    return place != entries_.end() && place->first == name ? place : entries_.end();
  }

  [[nodiscard]] bool contains(std::string_view name) const { return find(name) != end(); }

  /// The value of that name and whether it is the one given: one that was there stays.
  std::pair<iterator, bool> emplace(std::string_view name, T value) {
    const auto place = std::lower_bound(entries_.begin(), entries_.end(), name, before);
    if (place != entries_.end() && place->first == name) return {place, false};
    return {entries_.emplace(place, name, std::move(value)), true};
  }

  T& operator[](std::string_view name) { return emplace(name, T{}).first->second; }

 private:
  static bool before(const Entry& entry, std::string_view name) { return entry.first < name; }

  std::vector<Entry> entries_;
};

}  // namespace ridgeline::analyzer
