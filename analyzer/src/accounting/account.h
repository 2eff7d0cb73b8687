// account.h: accounts for all that a selection means.
#pragma once

#include <optional>

#include "ridgeline/analyzer/accounting/accounting.h"
#include "steps/selection.h"

namespace ridgeline::analyzer {

/// The parts' accountings, added up; gaps in order of time.
[[nodiscard]] Accounting account(const Model& model, const Selection& selection,
                                 const AccountingOptions& options, std::optional<store::Id> device_id);

}  // namespace ridgeline::analyzer
