// kernel_facts.h: a row of a ranking in words, for people.
#pragma once

#include <QString>
#include <utility>
#include <vector>

#include "models/capture_document.h"

namespace ridgeline::gui {

using Facts = std::vector<std::pair<QString, QString>>;

/// Time, bound, saving, utilisation by tier, traffic against what is declared, launch, occupancy, clock: what is known.
[[nodiscard]] Facts kernel_facts(const ScopeAnswer& answer, std::size_t ranking_row);
/// A table of two columns, escaped.
[[nodiscard]] QString facts_html(const Facts& facts);

}  // namespace ridgeline::gui
