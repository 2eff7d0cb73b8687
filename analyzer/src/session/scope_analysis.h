// scope_analysis.h: the stages of one scope, each computed once, over a model that is loaded already.
#pragma once

#include <array>
#include <map>
#include <memory>
#include <optional>
#include <vector>

#include "model/refusal.h"
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
                const Ask& ask);

  [[nodiscard]] const std::shared_ptr<const Model>& model() const { return model_; }
  [[nodiscard]] const std::shared_ptr<const Selection>& selection() const { return selection_; }

  std::shared_ptr<const UtilisationAnalysis> utilisation(const Ask& ask);
  std::shared_ptr<const Ranking> ranking(const RankKeys& key, const Ask& ask);
  std::shared_ptr<const TargetCheck> check(const Ask& ask);
  std::shared_ptr<const Accounting> accounting(const Ask& ask);
  std::shared_ptr<const Roofline> roofline(const RankKeys& key, const Ask& ask);
  std::shared_ptr<const std::vector<DeclaredWork>> declared_work(bool by_operation, const Ask& ask);
  std::shared_ptr<const StallAnalysis> stalls(const Ask& ask);
  std::shared_ptr<const Throughput> throughput(const Ask& ask);
  std::shared_ptr<const Quality> quality(const Ask& ask);
  std::shared_ptr<const AdviceReport> advice(const Ask& ask);
  /// Parts: Session::kCheck and its kind; without the samples, which a model does not hold.
  Analysis together(unsigned parts, const Ask& ask);

 private:
  /// In the time that the scope covers.
  const Exposure& exposure(const Ask& ask);
  DeclaredRanges& ranges(const Ask& ask);
  const SavingReach& reach(const Ask& ask);
  /// Quality without what is concluded from the ranking.
  const Quality& assessed(const Ask& ask);

  std::shared_ptr<const Model> model_;
  const AnalysisOptions& options_;
  Scope scope_;
  std::shared_ptr<const Selection> selection_;
  std::shared_ptr<const UtilisationAnalysis> utilisation_;
  std::optional<Exposure> exposure_;
  std::unique_ptr<DeclaredRanges> ranges_;
  std::unique_ptr<SavingReach> reach_;
  std::map<RankKeys, std::shared_ptr<const Ranking>> rankings_;
  std::shared_ptr<const TargetCheck> check_;
  std::shared_ptr<const Accounting> accounting_;
  std::map<RankKeys, std::shared_ptr<const Roofline>> rooflines_;
  std::array<std::shared_ptr<const std::vector<DeclaredWork>>, 2> work_;  // by path, by operation
  std::shared_ptr<const StallAnalysis> stalls_;
  std::shared_ptr<const Throughput> throughput_;
  std::unique_ptr<Quality> assessed_;
  std::shared_ptr<const Quality> quality_;
  std::shared_ptr<const AdviceReport> advice_;
};

}  // namespace ridgeline::analyzer
