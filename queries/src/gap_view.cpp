#include "ridgeline/queries/gap_view.h"

#include <algorithm>
#include <cctype>
#include <utility>

#include "gap_view_sql.h"
#include "ridgeline/analyzer/session/session.h"
#include "ridgeline/store/schema.h"

namespace ridgeline::queries {

namespace {

constexpr std::string_view kGapViewName = "v_gap";
constexpr std::size_t kGapColumns = 16;

using store::Value;
using ExtraRow = store::ExtraTable::Row;

// As a word by itself, in any case.
bool names_gap_view(std::string_view sql) {
  const auto is_word = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_'; };
  std::string lower(sql);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (std::size_t at = lower.find(kGapViewName); at != std::string::npos;
       at = lower.find(kGapViewName, at + 1)) {
    const std::size_t end = at + kGapViewName.size();
    if ((at == 0 || !is_word(lower[at - 1])) && (end == lower.size() || !is_word(lower[end]))) return true;
  }
  return false;
}

Value optional_text(std::string_view text) {
  return text.empty() ? Value() : Value(std::string(text));
}

template <typename T>
Value optional_number(const std::optional<T>& number) {
  return number ? Value(static_cast<std::int64_t>(*number)) : Value();
}

// The step of the process in whose time on the GPU a moment lies.
std::optional<std::int64_t> step_at(const analyzer::StepAnalysis& steps, std::int64_t time_ns) {
  for (const analyzer::StepSummary& step : steps.steps) {
    if (step.process_id == steps.process_id && step.gpu_start_ns > 0 && time_ns >= step.gpu_start_ns &&
        time_ns < step.gpu_start_ns + step.gpu_duration_ns)
      return step.step_index;
  }
  return std::nullopt;
}

ExtraRow row_of(const analyzer::Model& model, const analyzer::StepAnalysis& steps,
                const analyzer::Accounting& accounting, const analyzer::Gap& gap) {
  const auto launch_id = [&](const std::optional<analyzer::LaunchIndex>& launch) {
    return launch ? Value(model.launches.row(*launch).id) : Value();
  };
  const auto kernel = [&](const std::optional<analyzer::LaunchIndex>& launch) {
    return launch ? Value(std::string(model.kernel_name(model.launches.site(*launch)))) : Value();
  };
  const std::string_view path =
      gap.after ? model.string(model.launches.site(*gap.after).nvtx_path_id) : std::string_view();
  return {accounting.process_id,
          accounting.device_id,
          optional_number(step_at(steps, gap.start_ns)),
          gap.start_ns,
          gap.end_ns,
          gap.end_ns - gap.start_ns,
          std::string(to_string(gap.kind)),
          gap.synchronisation_ns,
          gap.wait ? Value(std::string(to_string(gap.wait->call))) : Value(),
          optional_number(gap.thread_id),
          gap.thread_id ? optional_text(model.thread_name(accounting.process_id, *gap.thread_id)) : Value(),
          launch_id(gap.before),
          kernel(gap.before),
          launch_id(gap.after),
          kernel(gap.after),
          optional_text(path)};
}

Result<void> add_gaps(analyzer::Session& session, const analyzer::Scope& scope,
                      const analyzer::QueryOptions& ask, std::vector<ExtraRow>& rows) {
  const auto accounting = session.accounting(scope, ask);
  if (!accounting) return accounting.failure();
  const auto model = session.model(scope, ask);
  if (!model) return model.failure();
  const auto steps = session.steps(scope, ask);
  if (!steps) return steps.failure();
  for (const analyzer::Gap& gap : accounting.value()->gaps)
    rows.push_back(row_of(*model.value(), *steps.value(), *accounting.value(), gap));
  return {};
}

}  // namespace

GapView::GapView(std::vector<ExtraRow> rows)
    : rows_(std::move(rows)),
      table_(std::string(kGapViewName), kGapView, kGapColumns,
             [this](const std::function<void(const ExtraRow&)>& add) {
               for (const ExtraRow& row : rows_) add(row);
             }) {}

Result<std::unique_ptr<GapView>> GapView::for_query(const std::string& capture_path, std::string_view sql,
                                                    const std::stop_token& stop) {
  if (!names_gap_view(sql)) return std::unique_ptr<GapView>();
  auto opened = analyzer::Session::open(capture_path);
  if (!opened) return opened.failure();
  analyzer::Session session = std::move(opened).value();
  const analyzer::QueryOptions ask{stop, {}};
  const auto recording = session.recording(ask);
  if (!recording) return recording.failure();
  const analyzer::Model& facts = *recording.value();
  std::vector<ExtraRow> rows;
  for (const store::Process& process : facts.processes) {
    const bool has_timeline =
        std::any_of(facts.steps.begin(), facts.steps.end(), [&](const analyzer::ModelStep& step) {
          return step.step.process_id == process.id && step.step.phase == Phase::timeline &&
                 step.step.status == StepStatus::ok;
        });
    for (const store::Device& device : facts.devices) {
      analyzer::Scope scope{.process_id = process.id, .device_id = device.id};
      if (has_timeline) scope.steps = analyzer::StepSelection::all_of(Phase::timeline);
      const Result<void> added = add_gaps(session, scope, ask, rows);
      if (added) continue;
      if (stop.stop_requested()) return Failure{ErrorKind::cancelled, "making v_gap was stopped"};
      // A process that launched nothing, or nothing on this device, has no gaps.
      const ErrorKind kind = added.failure().kind;
      if (kind != ErrorKind::no_data && kind != ErrorKind::usage) return added.failure();
    }
  }
  return std::unique_ptr<GapView>(new GapView(std::move(rows)));
}

std::string all_views_sql() {
  return std::string(store::views_sql()) + kGapView;
}

std::vector<ViewDescription> described_views() {
  std::vector<ViewDescription> views;
  const std::string all = all_views_sql();
  for (const std::string_view begin : {"CREATE VIEW ", "CREATE TEMP TABLE "}) {
    for (std::size_t at = all.find(begin); at != std::string::npos; at = all.find(begin, at + 1)) {
      if (at > 0 && all[at - 1] != '\n') continue;
      const std::string line = all.substr(at, all.find('\n', at) - at);
      const std::size_t name = begin.size(), comment = line.find("-- ");
      // A statement ends with a line's last semicolon: comments have others.
      std::size_t end = all.find(";\n", at);
      if (end == std::string::npos) end = all.size();
      views.push_back({line.substr(name, line.find(' ', name) - name),
                       comment == std::string::npos ? std::string() : line.substr(comment + 3),
                       all.substr(at, end - at)});
    }
  }
  return views;
}

}  // namespace ridgeline::queries
