/// job_what_if_query.h: what the steps of a job would take with other communication, as people ask it.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/analyzer/ranks/job_what_if.h"
#include "ridgeline/base/error.h"
#include "ridgeline/queries/capture_queries.h"

namespace ridgeline::queries {

/// One question: "overlap", "links=2", "bucket=25MB", "no-skew", or several with commas between them, which are one
/// change. "buckets" is one change for each of nine sizes from 1 to 500 MB. Failure: usage, naming the text.
[[nodiscard]] Result<std::vector<analyzer::JobChange>> parse_job_changes(std::string_view text);

/// `path` as of ask_ranks(); `changes`: texts for parse_job_changes(). Failures: those, and usage.
[[nodiscard]] Result<DocumentAnswer> ask_job_what_if(const std::string& path,
                                                     const std::vector<std::string>& changes,
                                                     const reports::DocumentOptions& how);

}  // namespace ridgeline::queries
