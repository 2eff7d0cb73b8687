// cells.h: cells that several tables have.
#pragma once

#include <optional>

#include "ridgeline/analyzer/utilisation/utilisation.h"
#include "ridgeline/reports/table.h"

namespace ridgeline::reports {

[[nodiscard]] inline Cell value_of(const std::optional<analyzer::Measured>& measured,
                                   Form form = Form::percent, Style style = Style::plain) {
  return measured ? Cell::number(measured->value, form, style) : Cell::missing();
}

/// A small error is not shown as none.
[[nodiscard]] inline Cell error_of(const std::optional<analyzer::Measured>& measured) {
  constexpr double kShown = 0.0005;
  if (!measured || !measured->error) return Cell::missing();
  return *measured->error < kShown ? Cell::worded("<0.1", *measured->error)
                                   : Cell::number(*measured->error, Form::percent);
}

[[nodiscard]] inline Cell tier_of(const std::optional<analyzer::Measured>& measured) {
  return measured ? Cell::text(to_string(measured->tier), Style::dim) : Cell::missing();
}

}  // namespace ridgeline::reports
