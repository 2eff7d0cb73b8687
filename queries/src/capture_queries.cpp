#include "ridgeline/queries/capture_queries.h"

#include <memory>
#include <optional>
#include <utility>

#include "ridgeline/analyzer/session/explanation.h"
#include "ridgeline/queries/gap_view.h"
#include "ridgeline/queries/step_pace_query.h"
#include "ridgeline/reports/explain_document.h"
#include "ridgeline/reports/interventions_document.h"
#include "ridgeline/reports/replayed_document.h"
#include "ridgeline/reports/steps_document.h"
#include "ridgeline/reports/what_if_document.h"
#include "ridgeline/store/job.h"

namespace ridgeline::queries {
namespace {

using analyzer::Session;

// A document that keeps alive what it refers to.
template <typename... Kept>
reports::Document keeping(reports::Document document, Kept... kept) {
  return reports::Document([document = std::move(document),
                            ... kept = std::move(kept)](const reports::Sink& out) { document.write(out); });
}

// The samples are there to be drawn; everything else is quick.
unsigned parts_of(const ReportQuery& query) {
  return query.format == reports::ReportFormat::html ? Session::kEverything
                                                     : Session::kEverything & ~Session::kSamples;
}

}  // namespace

class CaptureQueries::State {
 public:
  State(std::string path, analyzer::AnalysisOptions options)
      : path_(std::move(path)), options_(std::move(options)) {}

  DocumentAnswer answer(const CaptureQuery& query, const reports::DocumentOptions& how,
                        const analyzer::QueryOptions& ask) {
    return std::visit([&](const auto& one) { return answer_to(one, how, ask); }, query);
  }

  [[nodiscard]] const std::string& path() const { return path_; }

 private:
  // What documents about a scope are made of.
  struct Scoped {
    std::shared_ptr<const analyzer::Model> model;
    std::shared_ptr<const analyzer::Analysis> analysis;
  };

  Scoped scoped(const analyzer::Scope& scope, unsigned parts, const analyzer::QueryOptions& ask) {
    Scoped scoped;
    scoped.analysis = named(session().analysis(scope, parts, ask));
    scoped.model = named(session().model(scope, ask));
    return scoped;
  }
  // The analyzer knows no file; the reader of its message must.
  template <typename T>
  std::shared_ptr<const T> named(analyzer::Answer<T> answer) const {
    if (answer) return std::move(answer).value();
    const Failure& failure = answer.failure();
    const bool names_it = failure.message.find(path_) != std::string::npos;
    throw Error(failure.kind, names_it ? failure.message : path_ + ": " + failure.message);
  }

  DocumentAnswer answer_to(const RankingQuery& query, reports::DocumentOptions how,
                           const analyzer::QueryOptions& ask) {
    const Scoped of = scoped(
        query.scope,
        Session::kCheck | Session::kAdvice | (query.stalls ? Session::kStalls : Session::kRanking), ask);
    how.stalls = query.stalls;
    how.min_share = query.min_share;
    return {keeping(reports::ranking_document(*of.model, *of.analysis, how), of)};
  }
  DocumentAnswer answer_to(const CheckQuery& query, const reports::DocumentOptions& how,
                           const analyzer::QueryOptions& ask) {
    const Scoped of = scoped(query.scope, Session::kCheck, ask);
    return {keeping(reports::check_document(*of.model, *of.analysis, how), of),
            analyzer::exit_code(of.analysis->check.overall)};
  }
  DocumentAnswer answer_to(const AdviseQuery& query, reports::DocumentOptions how,
                           const analyzer::QueryOptions& ask) {
    Scoped of = scoped(query.scope, Session::kAccounting | Session::kAdvice, ask);
    if (query.rule) {
      auto narrowed = std::make_shared<analyzer::Analysis>(*of.analysis);
      narrowed->advice = of.analysis->advice.of(*query.rule);
      of.analysis = std::move(narrowed);
      how.all = true;  // whoever asks for a rule wants its answer, whatever that is
    }
    return {keeping(reports::advice_document(*of.model, *of.analysis, how), of)};
  }
  DocumentAnswer answer_to(const StepsQuery& query, const reports::DocumentOptions& how,
                           const analyzer::QueryOptions& ask) {
    const Scoped of = scoped(query.scope, Session::kAccounting, ask);
    const auto pace = std::make_shared<const std::vector<analyzer::StepPace>>(
        ask_step_pace(*capture(), of.analysis->steps, ask.stop).value());
    return {keeping(reports::steps_document(*of.model, *of.analysis, *pace, how), of, pace)};
  }
  DocumentAnswer answer_to(const RooflineQuery& query, const reports::DocumentOptions& how,
                           const analyzer::QueryOptions& ask) {
    const Scoped of = scoped(query.scope, Session::kRoofline, ask);
    switch (query.form) {
      case RooflineQuery::Form::svg:
        return {reports::Document(reports::roofline_svg(*of.model, *of.analysis, query.shown))};
      case RooflineQuery::Form::page:
        return {reports::Document(reports::roofline_page(*of.model, *of.analysis, query.shown))};
      case RooflineQuery::Form::table:
        break;
    }
    return {keeping(reports::roofline_document(*of.model, *of.analysis, query.shown, how), of)};
  }
  DocumentAnswer answer_to(const ReportQuery& query, const reports::DocumentOptions& how,
                           const analyzer::QueryOptions& ask) {
    const Scoped of = scoped(query.scope, parts_of(query), ask);
    return {keeping(reports::capture_document(*of.model, *of.analysis, query.format, query.fail_on, how), of),
            analyzer::exit_code(of.analysis->check, query.fail_on)};
  }
  DocumentAnswer answer_to(const WhatIfQuery& query, const reports::DocumentOptions& how,
                           const analyzer::QueryOptions& ask) {
    const auto answer = named(queries::ask(session(), query, ask));
    const Scoped of = scoped(analyzer::whole_step(query.scope), Session::kRanking, ask);
    return {keeping(reports::what_if_document(*of.model, *of.analysis, *answer, how), of, answer)};
  }
  DocumentAnswer answer_to(const ExplainQuery& query, const reports::DocumentOptions& how,
                           const analyzer::QueryOptions& ask) {
    constexpr unsigned kParts = Session::kCheck | Session::kAdvice | Session::kStalls | Session::kRoofline;
    const Scoped of = scoped(query.scope, kParts, ask);
    const std::size_t row = choose_kernel(by_kernel(*of.analysis), query.kernel).value();
    const auto explained = std::make_shared<const analyzer::KernelExplanation>(
        analyzer::explain_kernel(*of.model, *of.analysis, row));
    return {keeping(reports::explain_document(*of.model, *of.analysis, *explained, query.scope, how), of,
                    explained)};
  }
  DocumentAnswer answer_to(const NcuCommandQuery& query, const reports::DocumentOptions& how,
                           const analyzer::QueryOptions& ask) {
    const Scoped of = scoped(query.scope, Session::kRanking, ask);
    const std::size_t row = choose_kernel(by_kernel(*of.analysis), query.kernel).value();
    const auto command = std::make_shared<const reports::NcuCommand>(
        ncu_command(*capture(), *of.model, *of.analysis, row, query.launches, ask).value());
    return {keeping(reports::ncu_command_document(*of.model, *command, how), of, command)};
  }
  DocumentAnswer answer_to(const InterventionsQuery& query, const reports::DocumentOptions& how,
                           const analyzer::QueryOptions& ask) {
    const auto answer = named(queries::ask(session(), *capture(), query, ask));
    const Scoped of = scoped(analyzer::whole_step(query.scope), Session::kRanking, ask);
    return {keeping(reports::interventions_document(
                        *of.model, *of.analysis,
                        {answer->measured, answer->check, answer->blocks, answer->expected_left}, how),
                    of, answer)};
  }
  DocumentAnswer answer_to(const ReplayedQuery& query, const reports::DocumentOptions& how,
                           const analyzer::QueryOptions& ask) {
    const Scoped of = scoped(query.scope, Session::kRanking, ask);
    const auto replayed = std::make_shared<const analyzer::ReplayedInSitu>(
        analyzer::replayed_in_situ(*of.model, of.analysis->utilisation));
    return {keeping(reports::replayed_document(*of.model, *of.analysis, *replayed, how), of, replayed)};
  }
  DocumentAnswer answer_to(const InfoQuery&, const reports::DocumentOptions& how,
                           const analyzer::QueryOptions&) {
    const auto model = std::make_shared<analyzer::Model>(analyzer::load_recording(*capture()));
    model->order_summary = store::Order(*capture()).summary();
    return {keeping(reports::info_document(*model, capture()->row_counts(), how), model)};
  }
  DocumentAnswer answer_to(const VerifyQuery&, const reports::DocumentOptions& how,
                           const analyzer::QueryOptions&) {
    const auto found = std::make_shared<const store::Verification>(capture()->verify());
    return {keeping(reports::verification_document(capture()->path(), *found, how), found),
            found->damage.empty() ? 0 : exit_code(ErrorKind::corrupt)};
  }
  DocumentAnswer answer_to(const SqlQuery& query, const reports::DocumentOptions& how,
                           const analyzer::QueryOptions& ask) {
    const auto rows = std::make_shared<const SqlRows>(queries::ask(*capture(), query, ask.stop).value());
    return {keeping(reports::query_document(rows->table, rows->cut, how), rows), 0, rows->cut};
  }
  DocumentAnswer answer_to(const SqlStreamQuery& query, const reports::DocumentOptions& how,
                           const analyzer::QueryOptions& ask) {
    // The document asks when it is written, and sees v_gap as long as that takes.
    struct Asked {
      std::shared_ptr<const store::Capture> capture;
      std::unique_ptr<GapView> gaps;
    };
    const auto asked = std::make_shared<const Asked>(
        Asked{capture(), GapView::for_query(path_, query.sql, ask.stop).value()});
    return {keeping(reports::query_document(*asked->capture, query.sql, how), asked)};
  }

  static const analyzer::Ranking& by_kernel(const analyzer::Analysis& analysis) {
    if (analysis.ranking.options.key != analyzer::RankingKeys(analyzer::RankingKey::kernel))
      throw Error(ErrorKind::internal, "a kernel is chosen from a ranking by kernel");
    return analysis.ranking;
  }

  Session& session() {
    if (!session_) session_.emplace(store::Capture::open(path_).value(), options_);
    return *session_;
  }
  const std::shared_ptr<const store::Capture>& capture() {
    if (!capture_) capture_ = std::make_shared<const store::Capture>(store::Capture::open(path_).value());
    return capture_;
  }

  std::string path_;
  analyzer::AnalysisOptions options_;
  std::optional<Session> session_;
  std::shared_ptr<const store::Capture> capture_;
};

CaptureQueries::CaptureQueries(std::string path, analyzer::AnalysisOptions options)
    : state_(std::make_unique<State>(std::move(path), std::move(options))) {}
CaptureQueries::~CaptureQueries() = default;
CaptureQueries::CaptureQueries(CaptureQueries&&) noexcept = default;
CaptureQueries& CaptureQueries::operator=(CaptureQueries&&) noexcept = default;

Result<DocumentAnswer> CaptureQueries::ask(const CaptureQuery& query, const reports::DocumentOptions& how,
                                           const analyzer::QueryOptions& ask) {
  try {
    return state_->answer(query, how, ask);
  } catch (const Error& error) {
    if (error.kind() == ErrorKind::internal) throw;
    if (error.kind() == ErrorKind::no_data) {
      const Result<bool> job = store::is_job(state_->path());
      if (job.ok() && job.value())
        return Failure{ErrorKind::no_data, state_->path() +
                                               " is a merged job, whose launches are in its ranks' captures: "
                                               "ask it with `ridgeline ranks`, and this of one of them"};
    }
    return Failure{error.kind(), error.message()};
  }
}

}  // namespace ridgeline::queries
