#include "ridgeline/queries/compare_query.h"

#include "naming.h"

namespace ridgeline::queries {

Result<comparison::RunProfile> profile_of(const std::string& capture, const analyzer::QueryOptions& how,
                                          const analyzer::AnalysisOptions& analysis) {
  auto profile = comparison::profile_run(capture, {.analysis = analysis}, how);
  if (profile) return profile;
  return naming(capture, profile.failure());
}

Result<comparison::Comparison> ask(const CompareQuery& query, const analyzer::QueryOptions& how,
                                   const CompareProgress& progress) {
  std::vector<comparison::RunProfile> a, b;
  for (const bool of_a : {true, false}) {
    for (const std::string& capture : of_a ? query.a : query.b) {
      if (progress) progress(a.size() + b.size(), query.a.size() + query.b.size());
      auto profile = profile_of(capture, how, query.analysis);
      if (!profile) return profile.failure();
      (of_a ? a : b).push_back(std::move(profile).value());
    }
  }
  return comparison::compare(a, b, query.options);
}

Result<comparison::DurationSpread> ask(const RunDurationsQuery& query, const analyzer::QueryOptions& how) {
  auto spread = query.kernels.empty() ? comparison::steps_of_run(query.capture, {}, how)
                                      : comparison::durations_of_run(query.capture, query.kernels, {}, how);
  if (!spread) return naming(query.capture, spread.failure());
  return spread;
}

}  // namespace ridgeline::queries
