/// job_step.h: one step of all ranks beside each other, with the collectives that join them: what a picture
/// of it draws.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/analyzer/ranks/job_analysis.h"
#include "ridgeline/base/collective_words.h"
#include "ridgeline/base/error.h"
#include "ridgeline/store/job.h"

namespace ridgeline::analyzer {

/// Part of a rank's time in a collective. Times are from JobStepRows::begin of all ranks, in nanoseconds.
struct CallSegment {
  double start_ns = 0;
  double end_ns = 0;
  bool waits = false;   ///< the last rank has not entered yet
  bool beside = false;  ///< kernels compute beside it
};

/// A rank's part in a collective.
struct RankCall {
  std::size_t collective = 0;  ///< place in JobStepRows::collectives
  double start_ns = 0;
  double end_ns = 0;
  std::vector<CallSegment> segments;  ///< from start to end, in order
};

struct RankRow {
  std::int64_t rank = 0;
  std::string host;
  double start_ns = 0;
  double end_ns = 0;
  double lateness_ns = 0;       ///< as JobStepCost has it
  std::vector<RankCall> calls;  ///< by start
};

/// A collective of the step.
struct JoinedCollective {
  std::optional<CollectiveFunction> function;
  std::optional<std::int64_t> bytes;  ///< of the whole array
  std::int64_t ranks = 0;             ///< that have a call
  double first_ns = 0;                ///< the first rank enters
  std::optional<double>
      arrival_ns;  ///< the last does; empty: clocks are not known, or ranks need not wait for all
  std::int64_t last_rank = -1;  ///< that one; -1: clocks do not tell
};

struct JobStepRows {
  std::int64_t step_index = 0;
  double duration_ns = 0;  ///< from the first rank's start to the last one's end
  std::int64_t ranks = 0;  ///< of the job; rows may be fewer
  std::optional<double>
      error_ns;  ///< how far the rows may be off against each other; empty: clocks are not known and
                 ///< every rank's step is drawn from the same place
  std::vector<RankRow> rows;  ///< by rank
  std::vector<JoinedCollective> collectives;
};

/// The step's rows of at most `max_rows` ranks: all, or half of them the latest in this step and half evenly over the
/// others. `analysis`: of the same job. Failures: no_data (no such step that all ranks have), corrupt.
[[nodiscard]] Result<JobStepRows> job_step_rows(const store::Job& job, const JobAnalysis& analysis,
                                                std::int64_t step_index, std::size_t max_rows);

/// The step that shows most of what the analysis says: with the largest lateness that is named; else the one whose
/// duration is the median. No step: 0.
[[nodiscard]] std::int64_t telling_step(const JobAnalysis& analysis);

}  // namespace ridgeline::analyzer
