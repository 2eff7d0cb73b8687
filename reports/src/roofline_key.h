// roofline_key.h: what stands around a roofline that is a file of its own: what was recorded above it, and below it
// what colours, marks and numbers mean.
#pragma once

#include <string>
#include <vector>

#include "charts.h"
#include "ridgeline/reports/svg.h"

namespace ridgeline::reports {

struct RooflineKey {
  std::vector<const analyzer::RooflinePoint*> drawn;  ///< their classes have the colours
  std::vector<const analyzer::RooflinePoint*>
      numbered;       ///< kernels whose dots have a number instead of a name
  std::string marks;  ///< what sizes and lines mean, one line
};

/// Makes room above the picture and below `bottom`, where it ends, and fills it.
void draw_key(Svg& svg, double bottom, const RooflineDrawing& how, const RooflineKey& key);

}  // namespace ridgeline::reports
