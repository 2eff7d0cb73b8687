// column_heads.h: heads that columns of several tables have.
#pragma once

#include <string>
#include <utility>

#include "ridgeline/analyzer/utilisation/metrics.h"
#include "ridgeline/reports/table.h"

namespace ridgeline::reports {

/// A column that is shown only if asked for.
[[nodiscard]] inline ColumnHead extra(ColumnHead head) {
  head.shown = false;
  head.drop_order = 9;
  return head;
}

/// For programs first: a text that people rarely want.
[[nodiscard]] inline ColumnHead extra_text(ColumnHead head) {
  head.align = Align::left;
  head.elide = Elide::middle;
  head.min_width = 16;
  return extra(std::move(head));
}

/// What a metric is called where there is room.
[[nodiscard]] inline std::string metric_title(const analyzer::MetricEntry& entry) {
  if (!entry.title.empty()) return std::string(entry.title);
  std::string title(entry.header);
  if (entry.key == "l2_bytes" || entry.key == "l1_bytes") title += " traffic";
  if (entry.key == "l2_utilisation_ratio") title += " of its peak";
  return title;
}

}  // namespace ridgeline::reports
