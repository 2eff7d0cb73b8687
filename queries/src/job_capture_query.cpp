#include "job_capture_query.h"

#include <utility>

#include "ridgeline/analyzer/ranks/job_capture.h"

namespace ridgeline::queries {

Result<store::Job> job_of(const std::string& path) {
  Result<store::Job> job = analyzer::ranks_of(path);
  if (job.ok() && job.value().clocks.empty()) {
    store::Job whole = analyzer::merged({std::move(job).value()}).value();
    analyzer::align_clocks(whole);
    return whole;
  }
  return job;
}

}  // namespace ridgeline::queries
