// gap_text.h: why the device did nothing, in words and as JSON.
#pragma once

#include <string>

#include "json_parts.h"

namespace ridgeline::reports {

/// "main", or "thread 4711" for one without a name, behind "thread "; "the CPU" if it is not known.
[[nodiscard]] std::string thread_words(const analyzer::Model& model, store::Id process_id,
                                       const std::optional<std::int64_t>& thread_id);

/// "cudaStreamSynchronize in thread main, 4.100 ms"; "" where nothing is known of the host.
[[nodiscard]] std::string gap_cause(const analyzer::Model& model, const analyzer::Accounting& accounting,
                                    const analyzer::Gap& gap);

/// "4.020 ms, 33.7 % of the step: CPU code in thread main, 4.010 ms, behind cudaStreamSynchronize"; "" without a gap
/// that matters, which is one of a per cent of the step or more.
[[nodiscard]] std::string longest_gap_words(const analyzer::Model& model,
                                            const analyzer::Accounting& accounting);
/// "Longest gap: ….", or "".
[[nodiscard]] std::string longest_gap_line(const analyzer::Model& model,
                                           const analyzer::Accounting& accounting);

/// null without gaps.
[[nodiscard]] JsonPart longest_gap_json(const analyzer::Model& model, const analyzer::Accounting& accounting);

}  // namespace ridgeline::reports
