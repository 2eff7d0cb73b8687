// scope_analysis.h: the stages of one scope, each computed once, over a model that is loaded already.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "model/query_failed.h"
#include "ranking/saving_reach.h"
#include "ridgeline/analyzer/session/session.h"
#include "steps/selection.h"

namespace ridgeline::analyzer {

template <typename T>
std::shared_ptr<const T> share(T value) {
  return std::make_shared<const T>(std::move(value));
}

class ScopeAnalysis {
 public:
  /// Keeps a reference to the options. Throws Refused.
  ScopeAnalysis(std::shared_ptr<const Model> model, const AnalysisOptions& options, Scope scope,
                const QueryOptions& ask);

  [[nodiscard]] const std::shared_ptr<const Model>& model() const { return model_; }
  [[nodiscard]] const std::shared_ptr<const Selection>& selection() const { return selection_; }

  std::shared_ptr<const UtilisationAnalysis> utilisation(const QueryOptions& ask);
  std::shared_ptr<const Ranking> ranking(const RankingKeys& key, const QueryOptions& ask);
  std::shared_ptr<const TargetCheck> check(const QueryOptions& ask);
  std::shared_ptr<const Accounting> accounting(const QueryOptions& ask);
  std::shared_ptr<const Roofline> roofline(const RankingKeys& key, const QueryOptions& ask);
  std::shared_ptr<const std::vector<DeclaredWork>> declared_work(bool by_operation, const QueryOptions& ask);
  std::shared_ptr<const StallAnalysis> stalls(const QueryOptions& ask);
  std::shared_ptr<const Throughput> throughput(const QueryOptions& ask);
  std::shared_ptr<const Quality> quality(const QueryOptions& ask);
  std::shared_ptr<const AdviceReport> advice(const QueryOptions& ask);
  /// Parts: Session::kCheck and its kind; without the samples, which a model does not hold.
  Analysis together(unsigned parts, const QueryOptions& ask);

 private:
  /// In the time that the scope covers.
  const Exposure& exposure(const QueryOptions& ask);
  DeclaredRanges& ranges(const QueryOptions& ask);
  const SavingReach& reach(const QueryOptions& ask);
  /// Quality without what is concluded from the ranking.
  const Quality& assessed(const QueryOptions& ask);

  std::shared_ptr<const Model> model_;
  const AnalysisOptions& options_;
  Scope scope_;
  std::shared_ptr<const Selection> selection_;
  std::shared_ptr<const UtilisationAnalysis> utilisation_;
  std::optional<Exposure> exposure_;
  std::unique_ptr<DeclaredRanges> ranges_;
  std::unique_ptr<SavingReach> reach_;
  std::map<RankingKeys, std::shared_ptr<const Ranking>> rankings_;
  std::shared_ptr<const TargetCheck> check_;
  std::shared_ptr<const Accounting> accounting_;
  std::map<RankingKeys, std::shared_ptr<const Roofline>> rooflines_;
  std::array<std::shared_ptr<const std::vector<DeclaredWork>>, 2> work_;  // by path, by operation
  std::shared_ptr<const StallAnalysis> stalls_;
  std::shared_ptr<const Throughput> throughput_;
  std::unique_ptr<Quality> assessed_;
  std::shared_ptr<const Quality> quality_;
  std::shared_ptr<const AdviceReport> advice_;
};

}  // namespace ridgeline::analyzer
