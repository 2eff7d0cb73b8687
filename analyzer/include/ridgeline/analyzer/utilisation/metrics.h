// metrics.h: what counters and samples say of a launch beside its roofs: one entry a metric.
//
// An entry says what the metric is called, its unit, which counters and samples it comes from, how it adds up over
// launches, and what tables and the desktop program say of it. All of them read the entries, so that a new counter is
// one entry here and in no other file. Which counters are recorded is the agent's (collector/agent/src/tiers/
// metric_sets.cpp); formulas: docs/metrics.md.
#pragma once

#include <array>
#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "ridgeline/analyzer/values/measured.h"

namespace ridgeline::analyzer {

enum class MetricUnit : std::uint8_t { bytes, ratio };

/// Over launches.
enum class AddsUp : std::uint8_t {
  sum,   ///< of those that have it
  mean,  ///< of those that have it, weighted by their time
};

/// With which others a metric is looked at.
enum class MetricGroup : std::uint8_t { dram, caches, occupancy, sms };

/// Where a value of one tier comes from. Names are verbatim; all empty: it is worked out of other values.
struct MetricSource {
  std::string_view counter;           ///< as it is; in per cent where the metric is a ratio
  std::string_view hits{}, misses{};  ///< hits ÷ (hits + misses); without either `counter` stands in
};

/// What is said of a kernel in the desktop program: values of one line are side by side, each after its label.
struct MetricFact {
  std::string_view line{};  ///< empty: nothing is said, or elsewhere
  std::string_view label{};
};

struct MetricEntry {
  std::string_view key;  ///< of columns, and of the metric in code
  MetricUnit unit;
  AddsUp adds_up;
  MetricGroup group;
  MetricSource replayed{};  ///< T2
  MetricSource sampled{};   ///< T1; of bytes: of those that were moved while the launch ran
  /// Of a ranking's column: header, meaning, and name in full where the header is not.
  std::string_view header, help, title{};
  /// Of a column of the table of launches; empty: it has none.
  std::string_view launch_header{}, launch_help{};
  MetricFact fact{};
};

/// In the order of the columns.
inline constexpr std::array kMetrics = {
    MetricEntry{.key = "dram_read_bytes",
                .unit = MetricUnit::bytes,
                .adds_up = AddsUp::sum,
                .group = MetricGroup::dram,
                .replayed = {.counter = "dram__bytes_read.sum"},
                .header = "read",
                .help = "bytes read from DRAM (T2)",
                .title = "DRAM read",
                .launch_header = "read",
                .launch_help = "bytes read from DRAM (T2)"},
    MetricEntry{.key = "dram_write_bytes",
                .unit = MetricUnit::bytes,
                .adds_up = AddsUp::sum,
                .group = MetricGroup::dram,
                .replayed = {.counter = "dram__bytes_write.sum"},
                .header = "written",
                .help = "bytes written to DRAM (T2)",
                .title = "DRAM written",
                .launch_header = "written",
                .launch_help = "bytes written to DRAM (T2)"},
    MetricEntry{
        .key = "l2_utilisation_ratio",  // l2_bytes over the time, of the peak that is counted in replay
        .unit = MetricUnit::ratio,
        .adds_up = AddsUp::mean,
        .group = MetricGroup::caches,
        .header = "L2",
        .help = "L2 traffic ÷ its peak: by counters, else by samples",
        .launch_header = "L2",
        .launch_help = "L2 traffic ÷ its peak"},
    MetricEntry{.key = "l2_bytes",
                .unit = MetricUnit::bytes,
                .adds_up = AddsUp::sum,
                .group = MetricGroup::caches,
                .replayed = {.counter = "lts__t_bytes.sum"},
                .sampled = {.counter = "lts__t_bytes.sum"},
                .header = "L2",
                .help = "traffic between L1 and L2",
                .launch_header = "L2",
                .launch_help = "traffic between L1 and L2",
                .fact = {.line = "Traffic", .label = "L2"}},
    MetricEntry{.key = "l2_hit_ratio",
                .unit = MetricUnit::ratio,
                .adds_up = AddsUp::mean,
                .group = MetricGroup::caches,
                .replayed = {.counter = "lts__t_sector_hit_rate.pct",
                             .hits = "lts__t_sectors_lookup_hit.sum",
                             .misses = "lts__t_sectors_lookup_miss.sum"},
                .sampled = {.counter = "LTS.TriageCompute.lts__average_t_sector_hit_rate_realtime.pct"},
                .header = "L2 hit",
                .help = "sectors found in L2 ÷ sectors asked for",
                .launch_header = "L2 hit",
                .launch_help = "sectors found in L2 ÷ sectors asked for",
                .fact = {.line = "Cache hits", .label = "L2"}},
    MetricEntry{.key = "l1_bytes",
                .unit = MetricUnit::bytes,
                .adds_up = AddsUp::sum,
                .group = MetricGroup::caches,
                .replayed = {.counter = "l1tex__t_bytes.sum"},
                .header = "L1",
                .help = "traffic of the L1 caches (T2)",
                .launch_header = "L1",
                .launch_help = "traffic of the L1 caches",
                .fact = {.line = "Traffic", .label = "L1"}},
    MetricEntry{.key = "l1_hit_ratio",
                .unit = MetricUnit::ratio,
                .adds_up = AddsUp::mean,
                .group = MetricGroup::caches,
                .replayed = {.counter = "l1tex__t_sector_hit_rate.pct",
                             .hits = "l1tex__t_sectors_lookup_hit.sum",
                             .misses = "l1tex__t_sectors_lookup_miss.sum"},
                .header = "L1 hit",
                .help = "sectors found in L1 ÷ sectors asked for (T2)",
                .launch_header = "L1 hit",
                .launch_help = "sectors found in L1 ÷ sectors asked for",
                .fact = {.line = "Cache hits", .label = "L1"}},
    MetricEntry{.key = "occupancy_ratio",
                .unit = MetricUnit::ratio,
                .adds_up = AddsUp::mean,
                .group = MetricGroup::occupancy,
                .replayed = {.counter = "sm__warps_active.avg.pct_of_peak_sustained_active"},
                .header = "occup.",
                .help = "achieved occupancy: resident warps ÷ the most, while an SM was active (T2)",
                .title = "achieved occupancy",
                .launch_header = "occupancy",
                .launch_help = "achieved occupancy"},
    MetricEntry{
        .key = "issue_utilisation_ratio",
        .unit = MetricUnit::ratio,
        .adds_up = AddsUp::mean,
        .group = MetricGroup::sms,
        .header = "issue",
        .help = "issue slots in which an instruction was issued, of those of the cycles that passed (T2)",
        .title = "issue slots used",
        .fact = {.line = "Issue slots"}},
    MetricEntry{.key = "sm_active_ratio",
                .unit = MetricUnit::ratio,
                .adds_up = AddsUp::mean,
                .group = MetricGroup::sms,
                .sampled = {.counter = "sm__cycles_active.avg.pct_of_peak_sustained_elapsed"},
                .header = "SM act.",
                .help = "cycles in which an SM had a warp, of those that passed; mean over the SMs",
                .title = "SMs active",
                .fact = {.line = "SMs active"}},
};

/// An entry of kMetrics.
class Metric {
 public:
  /// By its key; a key that no entry has does not compile. Implicit, so that a key stands wherever a metric is meant.
  consteval Metric(const char* key) : place_(place_of(key)) {}
  /// By its place.
  static constexpr Metric at(std::size_t place) { return Metric(Place{static_cast<std::uint8_t>(place)}); }

  [[nodiscard]] constexpr std::size_t place() const { return place_; }
  [[nodiscard]] constexpr const MetricEntry& entry() const { return kMetrics[place_]; }
  friend constexpr auto operator<=>(Metric, Metric) = default;

 private:
  struct Place {
    std::uint8_t value;
  };
  constexpr explicit Metric(Place place) : place_(place.value) {}
  static consteval std::uint8_t place_of(std::string_view key) {
    std::size_t place = 0;
    while (kMetrics.at(place).key != key) ++place;
    return static_cast<std::uint8_t>(place);
  }

  std::uint8_t place_;
};

/// In the order of kMetrics.
inline constexpr auto kAllMetrics = []<std::size_t... Places>(std::index_sequence<Places...>) {
  return std::array{Metric::at(Places)...};
}
(std::make_index_sequence<kMetrics.size()>());

/// Values by metric; of most launches there are few.
class MetricValues {
 public:
  [[nodiscard]] std::optional<Measured> of(Metric metric) const {
    for (const auto& [known, value] : values_) {
      if (known == metric) return value;
    }
    return std::nullopt;
  }
  /// Replaces what was known of the metric; empty: leaves it.
  void set(Metric metric, const std::optional<Measured>& value) {
    if (!value) return;
    for (auto& [known, old] : values_) {
      if (known == metric) {
        old = *value;
        return;
      }
    }
    values_.emplace_back(metric, *value);
  }

 private:
  std::vector<std::pair<Metric, Measured>> values_;
};

}  // namespace ridgeline::analyzer
