// column_heads.h: heads that columns of several tables have.
#pragma once

#include <utility>

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

}  // namespace ridgeline::reports
