// ncu_metrics.h: which metric a line of the page "details" is, which has names for people.
#pragma once

#include <string_view>

namespace ridgeline::import {

/// The metric behind a line of a section; "": none that has a meaning here.
[[nodiscard]] std::string_view metric_of_detail(std::string_view section, std::string_view name,
                                                std::string_view unit);

/// Whether a column of the page "raw" is a counter: attributes of the device and of the launch are known otherwise.
[[nodiscard]] bool is_counter(std::string_view metric);

}  // namespace ridgeline::import
