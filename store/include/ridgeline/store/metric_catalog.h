// metric_catalog.h: label, unit and meaning of the metrics Ridgeline collects. docs/metrics.md is checked
// against it.
#pragma once

#include <optional>
#include <span>
#include <string_view>

namespace ridgeline::store {

struct MetricDescription {
  std::string_view name;     // verbatim vendor name
  std::string_view label;    // for people
  std::string_view unit;     // bytes, ns, percent, ops, cycles, per_s, ...
  std::string_view meaning;  // one sentence
};

[[nodiscard]] std::span<const MetricDescription> metric_catalog();
[[nodiscard]] std::optional<MetricDescription> describe_metric(std::string_view name);

}  // namespace ridgeline::store
