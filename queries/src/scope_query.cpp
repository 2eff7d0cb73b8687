#include "ridgeline/queries/scope_query.h"

#include <optional>

namespace ridgeline::queries {
namespace {

using analyzer::Session;

// Part of an answer that lives as long as the whole.
template <typename Whole, typename Part>
std::shared_ptr<const Part> part_of(const std::shared_ptr<const Whole>& whole, const Part& part) {
  return {whole, &part};
}

// Takes answers until one of them is a failure.
class Answers {
 public:
  template <typename T, typename Question>
  Answers& take(std::shared_ptr<const T>& into, Question question) {
    if (failure_) return *this;
    analyzer::Answer<T> answer = question();
    if (answer) {
      into = std::move(answer).value();
    } else {
      failure_ = answer.failure();
    }
    return *this;
  }
  [[nodiscard]] const std::optional<Failure>& failure() const { return failure_; }

 private:
  std::optional<Failure> failure_;
};

}  // namespace

analyzer::Answer<ScopeAnswer> ask(Session& session, const ScopeQuery& query,
                                  const analyzer::QueryOptions& how) {
  const analyzer::Scope& scope = query.scope;
  ScopeAnswer answer{.scope = scope, .key = query.key};
  Answers answers;
  answers.take(answer.model, [&] { return session.model(scope, how); })
      .take(answer.steps, [&] { return session.steps(scope, how); })
      .take(answer.utilisation, [&] { return session.utilisation(scope, how); })
      .take(answer.ranking, [&] { return session.ranking(scope, query.key, how); })
      .take(answer.accounting, [&] { return session.accounting(scope, how); })
      .take(answer.roofline, [&] { return session.roofline(scope, query.key, how); });
  if (answers.failure()) return *answers.failure();
  return std::make_shared<const ScopeAnswer>(std::move(answer));
}

Result<Overview> ask_overview(Session& session, const analyzer::QueryOptions& how) {
  Overview overview;
  std::shared_ptr<const analyzer::Model> model;
  Answers answers;
  answers.take(overview.recording, [&] { return session.recording(how); })
      .take(overview.analysis,
            [&] { return session.analysis({}, Session::kEverything & ~Session::kSamples, how); })
      .take(model, [&] { return session.model({}, how); });
  if (answers.failure()) return *answers.failure();
  const auto& all = overview.analysis;
  overview.step = std::make_shared<const ScopeAnswer>(ScopeAnswer{{},
                                                                  analyzer::RankingKey::kernel,
                                                                  std::move(model),
                                                                  part_of(all, all->steps),
                                                                  part_of(all, all->utilisation),
                                                                  part_of(all, all->ranking),
                                                                  part_of(all, all->accounting),
                                                                  part_of(all, all->roofline)});
  return overview;
}

}  // namespace ridgeline::queries
