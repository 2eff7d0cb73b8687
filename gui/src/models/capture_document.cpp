#include "models/capture_document.h"

#include <algorithm>
#include <set>
#include <unordered_map>
#include <utility>

#include "models/text.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/elide.h"

namespace ridgeline::gui {
namespace {

using analyzer::Session;

QString stage_words(analyzer::Stage stage) {
  switch (stage) {
    case analyzer::Stage::facts:
      return "Reading what was recorded";
    case analyzer::Stage::steps:
      return "Reading the steps";
    case analyzer::Stage::launches:
      return "Reading launches";
    case analyzer::Stage::counters:
      return "Reading counters";
    case analyzer::Stage::ranges:
      return "Reading ranges";
    case analyzer::Stage::utilisation:
      return "Computing utilisations";
    case analyzer::Stage::ranking:
      return "Ranking kernels";
    case analyzer::Stage::accounting:
      return "Accounting for the step";
    case analyzer::Stage::samples:
      return "Reading samples";
  }
  return {};
}

}  // namespace

CaptureDocument::CaptureDocument(QString path, QObject* parent)
    : QObject(parent),
      path_(std::move(path)),
      session_(std::make_shared<std::unique_ptr<analyzer::Session>>()) {}

CaptureDocument::~CaptureDocument() = default;

void CaptureDocument::load() {
  state_ = State::loading;
  worker_.ask<queries::Overview>(
      this, "load",
      [this, session = session_,
       path = path_.toStdString()](const std::stop_token& stop) -> Result<queries::Overview> {
        const analyzer::QueryOptions ask{stop, [this](const analyzer::Progress& progress) {
                                           worker_.tell(this, [this, progress] {
                                             emit progressed(stage_words(progress.stage), progress.done,
                                                             progress.total);
                                           });
                                         }};
        auto opened = Session::open(path);
        if (!opened) return opened.failure();
        *session = std::make_unique<Session>(std::move(opened).value());
        return queries::ask_overview(**session, ask);
      },
      [this](Result<queries::Overview> result) {
        if (result) {
          recording_ = result.value().recording;
          analysis_ = result.value().analysis;
          overview_ = result.value().step;
          operations_.reset();
          state_ = State::ready;
          emit loaded();
        } else {
          failure_ = result.failure();
          state_ = State::failed;
          emit failed();
        }
      });
}

void CaptureDocument::cancel_loading() {
  if (state_ != State::loading) return;
  worker_.cancel("load");
  failure_ = {ErrorKind::cancelled, "loading was cancelled"};
  state_ = State::failed;
  emit failed();
}

bool CaptureDocument::has_steps() const {
  return overview_->steps->representative.scope != analyzer::ScopeKind::recording;
}

QString CaptureDocument::noun() const {
  return plain(reports::scope_noun(overview_->steps->representative.scope));
}

store::Id CaptureDocument::process_id() const {
  return analysis_ ? analysis_->steps.process_id : 0;
}

store::Id CaptureDocument::device_id() const {
  return analysis_ ? analysis_->accounting.device_id : 0;
}

void CaptureDocument::ask_scope(QObject* receiver, const std::string& who, const analyzer::Scope& scope,
                                analyzer::RankingKey key, Done done) {
  using Answered = std::shared_ptr<const ScopeAnswer>;
  ask<Answered>(
      receiver, who,
      [scope, key](Session& session, const analyzer::QueryOptions& ask) -> Result<Answered> {
        return queries::ask(session, {scope, key}, ask);
      },
      std::move(done));
}

KernelChoice kernels_of(const ScopeAnswer& answer, std::size_t ranking_row) {
  KernelChoice choice;
  const analyzer::RankingRow& row = answer.ranking->rows.at(ranking_row);
  choice.name = row.key;
  for (const std::size_t i : row.launches) {
    const store::Id id = answer.utilisation->launches[i].kernel_id;
    if (choice.kernels.empty() || choice.kernels.back() != id) choice.kernels.push_back(id);
  }
  std::sort(choice.kernels.begin(), choice.kernels.end());
  choice.kernels.erase(std::unique(choice.kernels.begin(), choice.kernels.end()), choice.kernels.end());
  return choice;
}

namespace {

KernelChoice kernels_called(const ScopeAnswer& answer, const std::string& name) {
  KernelChoice choice;
  for (const auto& [id, kernel] : answer.model->kernels)
    if (kernel.demangled_name == name) choice.kernels.push_back(id);
  std::sort(choice.kernels.begin(), choice.kernels.end());
  if (!choice.empty()) choice.name = name;
  return choice;
}

}  // namespace

KernelChoice CaptureDocument::kernels_of(const analyzer::Subject& subject) const {
  if (subject.kernel_id) {
    const store::Kernel* kernel = overview_->model->kernel(*subject.kernel_id);
    return kernel == nullptr ? KernelChoice{} : KernelChoice{{kernel->id}, kernel->demangled_name};
  }
  if (subject.name.empty()) return {};
  KernelChoice choice = kernels_called(*overview_, subject.name);
  if (!choice.empty()) return choice;
  if (!operations_) operations_ = analyzer::kernels_by_operation(*overview_->model, *overview_->utilisation);
  const auto found = operations_->find(subject.name);
  if (found == operations_->end()) return {};
  return {{found->second.begin(), found->second.end()}, subject.name};
}

std::optional<analyzer::TimeWindow> window_of(const ScopeAnswer& answer, const analyzer::Subject& subject) {
  if (subject.steps.empty()) return std::nullopt;
  const store::Id process = subject.process_id.value_or(answer.steps->process_id);
  for (const analyzer::StepSummary& step : answer.steps->steps) {
    const bool meant = step.step_index == subject.steps.front() && step.process_id == process;
    if (meant && step.gpu_end_ns > step.gpu_start_ns)
      return analyzer::TimeWindow{step.gpu_start_ns, step.gpu_end_ns};
  }
  return std::nullopt;
}

}  // namespace ridgeline::gui
