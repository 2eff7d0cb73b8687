/// ranks_query.h: many ranks of one job: merging their captures, and what a merged job or a capture with several ranks
/// says.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/base/error.h"
#include "ridgeline/queries/capture_queries.h"
#include "ridgeline/reports/ranks_document.h"

namespace ridgeline::queries {

struct RanksQuery {
  reports::RanksView view = reports::RanksView::rank;
  bool page = false;     ///< the whole report as HTML instead
  std::string alone;     ///< capture of a run of one rank, for the scaling loss; "": none
  std::string ceilings;  ///< machine file whose NVLink is the job's; "": what the captures have
};

/// `path`: a merged job, or a capture with several ranks. Failures: those of opening it, no_data (one rank alone; no
/// step that all ranks have; `ceilings` has no NVLink), usage (an unknown column; `alone` has several ranks), corrupt.
[[nodiscard]] Result<DocumentAnswer> ask_ranks(const std::string& path, const RanksQuery& query,
                                               const reports::DocumentOptions& how);

struct MergeAnswer {
  std::int64_t ranks = 0;
  std::int64_t hosts = 0;
  std::optional<std::int64_t> world_size;
  std::vector<std::int64_t> missing;
  std::vector<store::JobClock> clocks;
};

/// Writes one capture of the ranks of several, or of jobs merged before. `output` must not exist. Failures: those of
/// the files; usage, naming both, for what does not belong together; no_data; io.
[[nodiscard]] Result<MergeAnswer> merge_ranks(const std::vector<std::string>& files,
                                              const std::string& output);

}  // namespace ridgeline::queries
