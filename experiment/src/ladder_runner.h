// ladder_runner.h: one run of one program of a ladder, and what it said.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "ridgeline/comparison/ladder.h"
#include "ridgeline/experiment/ladder.h"

namespace ridgeline::experiment {

/// What a program printed, read by the ladder's patterns. Throws Error(no_data): no step is found in it.
void read_output(const std::string& text, const LadderFile& file, comparison::LadderObservation& into);

class LadderRunner {
 public:
  /// What is given by reference outlives the object.
  LadderRunner(const LadderFile& file, const LadderPlan& plan, ExperimentDirectory& directory,
               Interruption* interruption)
      : file_(file), plan_(plan), directory_(directory), interruption_(interruption) {}

  /// Runs it in that folder; `name`: of capture and log, without a number. The capture goes unless it is to be kept.
  /// Throws Error: no_data (the run ended otherwise than it should, or says nothing), cancelled; what the run left is
  /// gone then, but for the log of one that failed.
  [[nodiscard]] comparison::LadderObservation run(const LadderCommand& command, const std::string& folder,
                                                  const std::string& name, std::int64_t seed,
                                                  bool keep_capture);

 private:
  const LadderFile& file_;
  const LadderPlan& plan_;
  ExperimentDirectory& directory_;
  Interruption* interruption_;
  std::map<std::string, std::int64_t> numbers_;  // of the runs so far, by name
};

}  // namespace ridgeline::experiment
