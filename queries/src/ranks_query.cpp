#include "ridgeline/queries/ranks_query.h"

#include <memory>
#include <set>
#include <utility>

#include "job_capture_query.h"
#include "naming.h"
#include "ridgeline/analyzer/ranks/job_capture.h"
#include "ridgeline/reports/version.h"
#include "ridgeline/store/machine_ceilings.h"

namespace ridgeline::queries {
namespace {
constexpr std::size_t kPageRows = 32;  // of the picture of one step
}

Result<DocumentAnswer> ask_ranks(const std::string& path, const RanksQuery& query,
                                 const reports::DocumentOptions& how) {
  try {
    Result<store::Job> job = job_of(path);
    if (!job.ok()) return naming(path, job.failure());
    if (!query.ceilings.empty()) {
      const auto machine = store::read_machine_ceilings(query.ceilings);
      if (!machine.ok()) return machine.failure();
      job.value().links = store::nvlink_of(store::ceiling_rows(machine.value(), {}));
      if (job.value().links.empty())
        return Failure{
            ErrorKind::no_data,
            query.ceilings + " has no NVLink: `ridgeline ceilings` measures it where a GPU reaches another"};
    }
    std::optional<store::Job> alone;
    if (!query.alone.empty()) {
      Result<store::Job> one = analyzer::ranks_of(query.alone);
      if (!one.ok()) return naming(query.alone, one.failure());
      alone = std::move(one).value();
    }
    Result<analyzer::JobAnalysis> analysed = analyzer::analyse_job(job.value(), alone ? &*alone : nullptr);
    if (!analysed.ok()) return naming(path, analysed.failure());
    const auto analysis = std::make_shared<const analyzer::JobAnalysis>(std::move(analysed).value());
    if (query.page) {
      const Result<analyzer::JobStepRows> step =
          analyzer::job_step_rows(job.value(), *analysis, analyzer::telling_step(*analysis), kPageRows);
      return DocumentAnswer{
          reports::Document(reports::ranks_page(*analysis, step.ok() ? &step.value() : nullptr))};
    }
    reports::Document document = reports::ranks_document(*analysis, query.view, how);
    return DocumentAnswer{reports::Document(
        [analysis, document = std::move(document)](const reports::Sink& out) { document.write(out); })};
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
    return naming(path, {error.kind(), error.message()});
  }
}

Result<MergeAnswer> merge_ranks(const std::vector<std::string>& files, const std::string& output) {
  try {
    std::vector<store::Job> parts;
    parts.reserve(files.size());
    for (const std::string& file : files) {
      Result<store::Job> part = analyzer::ranks_of(file);
      if (!part.ok()) return naming(file, part.failure());
      parts.push_back(std::move(part).value());
    }
    Result<store::Job> merged = analyzer::merged(std::move(parts));
    if (!merged.ok()) return merged.failure();
    store::Job job = std::move(merged).value();
    analyzer::align_clocks(job);
    MergeAnswer answer;
    std::set<std::string> hosts;
    for (const store::JobRank& rank : job.ranks) hosts.insert(analyzer::clock_of(rank));
    answer.ranks = static_cast<std::int64_t>(job.ranks.size());
    answer.hosts = static_cast<std::int64_t>(hosts.size());
    answer.world_size = job.ranks.front().world_size;
    answer.missing = analyzer::missing_ranks(job);
    answer.clocks = job.clocks;
    store::Run run;
    run.command_line = job.ranks.front().program;
    run.ridgeline_version = reports::kVersion;
    run.clock = "of each rank";
    run.start_ns = job.steps.front().start_ns;  // of the lowest rank
    for (const store::JobStep& step : job.steps) {
      if (step.rank == job.ranks.front().rank) run.end_ns = step.start_ns + step.duration_ns;
    }
    const Result<void> written = store::write_job(output, run, job);
    if (!written.ok()) return written.failure();
    return answer;
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
    return Failure{error.kind(), error.message()};
  }
}

}  // namespace ridgeline::queries
