// kernel_facts.h: a row of a ranking in words, for people.
#pragma once

#include <QString>
#include <utility>
#include <vector>

#include "models/capture_document.h"
#include "ridgeline/analyzer/ranking/kernel_hold.h"
#include "ridgeline/queries/launch_query.h"

namespace ridgeline::gui {

using Facts = std::vector<std::pair<QString, QString>>;

/// Time, bound, saving, utilisation by tier, traffic against what is declared, launch, occupancy, clock: what is known.
/// `hold` is of that row.
[[nodiscard]] Facts kernel_facts(const ScopeAnswer& answer, std::size_t ranking_row,
                                 const analyzer::KernelHold& hold);
/// Of one launch: length, step, NVTX ranges, who launched it, how long it waited for its turn: what is known.
[[nodiscard]] Facts launch_facts(const queries::LaunchFacts& launch, bool has_steps);
/// A table of two columns, escaped.
[[nodiscard]] QString facts_html(const Facts& facts);

}  // namespace ridgeline::gui
