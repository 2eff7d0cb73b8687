// account.h: accounts for all that a selection means.
#pragma once

#include <optional>

#include "ridgeline/analyzer/accounting/accounting.h"
#include "steps/selection.h"

namespace ridgeline::analyzer {

/// The parts' accountings, added up; gaps in order of time.
[[nodiscard]] Accounting account(const Model& model, const Selection& selection,
                                 const AccountingOptions& options, std::optional<store::Id> device_id);

/// What recording made the gaps of a single step longer by (Accounting::gap_recording_ns), where the recording
/// measured it.
void mark_recording_gaps(const Model& model, const RepresentativeStep& step, Accounting& accounting);

}  // namespace ridgeline::analyzer
