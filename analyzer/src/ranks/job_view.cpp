#include "ranks/job_view.h"

#include <map>

#include "ridgeline/base/error.h"

namespace ridgeline::analyzer::ranks {

JobView::JobView(const store::Job& job) : job_(job) {
  for (std::size_t i = 0; i < job.ranks.size(); ++i) places_[job.ranks[i].rank] = i;
  std::map<std::int64_t, std::size_t> seen;
  for (const store::JobStep& step : job.steps) ++seen[step.step_index];
  std::unordered_map<std::int64_t, std::size_t> step_places;
  for (const auto& [step, count] : seen) {
    if (count != job.ranks.size()) continue;
    step_places[step] = steps_.size();
    steps_.push_back(step);
  }
  step_rows_.resize(ranks() * steps_.size());
  kernel_rows_.resize(ranks() * steps_.size());
  std::vector<std::unordered_map<std::int64_t, std::int64_t>> step_starts(ranks());
  for (std::size_t i = 0; i < job.steps.size(); ++i) {
    const auto rank = places_.find(job.steps[i].rank);
    if (rank == places_.end()) throw Error(ErrorKind::corrupt, "job_step: a rank that is not there");
    step_starts[rank->second][job.steps[i].step_index] = job.steps[i].start_ns;
    const auto step = step_places.find(job.steps[i].step_index);
    if (step != step_places.end()) step_rows_[rank->second * steps_.size() + step->second] = i;
  }
  for (std::size_t i = 0; i < job.kernel_steps.size(); ++i) {
    const auto rank = places_.find(job.kernel_steps[i].rank);
    const auto step = step_places.find(job.kernel_steps[i].step_index);
    if (rank == places_.end() || step == step_places.end()) continue;
    RowRange& range = kernel_rows_[rank->second * steps_.size() + step->second];
    if (range.end == 0) range.begin = i;
    range.end = i + 1;
  }
  starts_.reserve(job.calls.size());
  for (const store::JobCall& call : job.calls) {
    const auto rank = places_.find(call.rank);
    if (rank == places_.end()) throw Error(ErrorKind::corrupt, "job_call: a rank that is not there");
    const auto start = step_starts[rank->second].find(call.step_index);
    if (start == step_starts[rank->second].end())
      throw Error(ErrorKind::corrupt, "job_call: a step that is not there");
    starts_.push_back(start->second + call.start_offset_ns);
  }
}

}  // namespace ridgeline::analyzer::ranks
