#include "ridgeline/queries/job_query.h"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

#include "job_capture_query.h"
#include "naming.h"

namespace ridgeline::queries {
namespace {

constexpr std::size_t kMaxStepRows = 48;  // that a reader can follow

bool is_file(const std::filesystem::path& path) {
  std::error_code error;
  return std::filesystem::is_regular_file(path, error);
}

}  // namespace

Result<bool> is_merged_job(const std::string& path) {
  try {
    return store::is_job(path);
  } catch (const Error& error) {
    return Failure{error.kind(), error.message()};
  }
}

Result<JobAnswer> ask_job(const std::string& path) {
  try {
    const Result<bool> merged = is_merged_job(path);
    if (!merged.ok()) return merged.failure();
    Result<store::Job> job = job_of(path);
    if (!job.ok()) return naming(path, job.failure());
    JobAnswer answer;
    answer.path = path;
    answer.merged = merged.value();
    answer.job = std::make_shared<const store::Job>(std::move(job).value());
    Result<analyzer::JobAnalysis> analysed = analyzer::analyse_job(*answer.job);
    if (!analysed.ok()) return naming(path, analysed.failure());
    answer.analysis = std::make_shared<const analyzer::JobAnalysis>(std::move(analysed).value());
    return answer;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
    return naming(path, {error.kind(), error.message()});
  }
}

Result<analyzer::JobStepRows> ask_job_step(const JobAnswer& answer, std::int64_t step_index) {
  return analyzer::job_step_rows(*answer.job, *answer.analysis, step_index, kMaxStepRows);
}

Result<std::string> capture_of_rank(const JobAnswer& answer, std::int64_t rank) {
  const auto& ranks = answer.job->ranks;
  const auto row =
      std::find_if(ranks.begin(), ranks.end(), [&](const auto& one) { return one.rank == rank; });
  if (row == ranks.end())
    return Failure{ErrorKind::no_data, "rank " + std::to_string(rank) + " has no capture in this job"};
  if (!answer.merged) return answer.path;
  const std::filesystem::path named(row->file);
  const std::filesystem::path folder = std::filesystem::path(answer.path).parent_path();
  for (const auto& path : {named, folder / named, folder / named.filename()}) {
    if (is_file(path)) return path.string();
  }
  return Failure{ErrorKind::io, row->file + ": the capture of rank " + std::to_string(rank) +
                                    " is not there any more, nor beside " + answer.path};
}

}  // namespace ridgeline::queries
