// compare_sides.h: which captures are compared.
#pragma once

#include <QString>
#include <vector>

namespace ridgeline::gui {

/// The runs of both sides, in the order in which they were recorded. What `ridgeline compare` takes.
struct CompareSides {
  std::vector<QString> a, b;
  bool paired = true;  ///< run i of A and run i of B were recorded one after the other
  friend bool operator==(const CompareSides&, const CompareSides&) = default;
};

}  // namespace ridgeline::gui
