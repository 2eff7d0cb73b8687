#include "panels/phase_legend.h"

#include "models/text.h"
#include "style/theme.h"

namespace ridgeline::gui {

ColumnChart::Legend phase_legend(const std::set<Phase>& phases) {
  ColumnChart::Legend legend;
  if (phases.size() < 2) return legend;
  for (const Phase phase : phases) legend.emplace_back(plain(to_string(phase)), theme().of(phase));
  return legend;
}

}  // namespace ridgeline::gui
