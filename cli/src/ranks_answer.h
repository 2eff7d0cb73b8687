// ranks_answer.h: what verbs about one process say over the ranks of a job (--ranks).
#pragma once

#include "ridgeline/reports/ranks_document.h"
#include "verb.h"

namespace ridgeline::cli {

/// Prints a view of `ranks`. Throws Error(usage) if the verb has another option than those of printing: they are about
/// the launches of one process, which a job of many ranks does not have.
void answer_of_ranks(const Command& app, const std::string& capture, reports::RanksView view,
                     const PrintOptions& how);

}  // namespace ridgeline::cli
