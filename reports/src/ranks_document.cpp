#include "ridgeline/reports/ranks_document.h"

#include <nlohmann/json.hpp>
#include <optional>

#include "document_parts.h"
#include "json_parts.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/escape.h"
#include "ridgeline/reports/json_writer.h"

namespace ridgeline::reports {
namespace {

using analyzer::JobAnalysis;
using analyzer::Recurrence;
using RanksJson = nlohmann::ordered_json;

Table view_table(const JobAnalysis& analysis, RanksView view) {
  switch (view) {
    case RanksView::rank:
      return rank_costs_table(analysis);
    case RanksView::step:
      return job_steps_table(analysis);
    case RanksView::collective:
      return collectives_table(analysis);
    case RanksView::kernel:
      return kernels_over_ranks_table(analysis);
    case RanksView::account:
      return job_account_table(analysis);
  }
  return {};
}

std::string view_noun(RanksView view) {
  switch (view) {
    case RanksView::rank:
      return "rank";
    case RanksView::step:
      return "step";
    case RanksView::collective:
      return "collective";
    case RanksView::kernel:
      return "kernel";
    case RanksView::account:
      return "row";
  }
  return "row";
}

std::string recurrence_word(Recurrence recurrence) {
  switch (recurrence) {
    case Recurrence::nobody:
      return "nobody";
    case Recurrence::same_rank:
      return "same_rank";
    case Recurrence::rotating:
      return "rotating";
    case Recurrence::few_steps:
      return "few_steps";
    case Recurrence::cannot_say:
      return "cannot_say";
  }
  return "";
}

template <typename T>
RanksJson job_value(const std::optional<T>& value) {
  return value ? RanksJson(*value) : RanksJson(nullptr);
}

RanksJson job_json(const JobAnalysis& of) {
  return {{"ranks", of.ranks.size()},
          {"world_size", job_value(of.world_size)},
          {"missing", of.missing},
          {"hosts", of.hosts},
          {"steps", of.steps},
          {"joined_by_numbers", of.joined_by_numbers},
          {"late_threshold_ns", of.late_threshold_ns},
          {"late_steps", of.late_steps},
          {"recurrence", recurrence_word(of.recurrence)},
          {"straggler", of.straggler < 0 ? RanksJson(nullptr) : RanksJson(of.straggler)}};
}

RanksJson clocks_json(const JobAnalysis& of) {
  RanksJson all = RanksJson::array();
  for (const store::JobClock& clock : of.clocks)
    all.push_back({{"host", clock.host},
                   {"status", to_string(clock.status)},
                   {"offset_ns", job_value(clock.offset_ns)},
                   {"drift_ppb", job_value(clock.drift_ppb)},
                   {"low_ns", job_value(clock.low_ns)},
                   {"high_ns", job_value(clock.high_ns)},
                   {"collectives", clock.collectives}});
  return all;
}

RanksJson mismatches_json(const JobAnalysis& of) {
  constexpr const char* kKinds[] = {"lost", "extra", "reordered", "different"};
  RanksJson all = RanksJson::array();
  for (const analyzer::CallMismatch& one : of.mismatches)
    all.push_back({{"rank", one.rank},
                   {"step_index", one.step_index},
                   {"kind", kKinds[static_cast<std::size_t>(one.kind)]},
                   {"missing", one.missing},
                   {"extra", one.extra}});
  return all;
}

RanksJson loss_json(const JobAnalysis& of) {
  if (!of.loss) return nullptr;
  const auto& parts = of.loss->parts;
  return {{"alone_ns", of.loss->alone_ns},
          {"job_ns", of.loss->job_ns},
          {"efficiency_ratio", of.loss->efficiency_ratio},
          {"exposed_wait_ns", of.loss->exposed_wait_ns},
          {"exposed_transfer_ns", of.loss->exposed_transfer_ns},
          {"more_work_ns", parts.more_work_ns},
          {"more_cycles_ns", parts.more_cycles_ns},
          {"slower_kernels_ns", parts.slower_kernels_ns},
          {"beside_collectives_ns", parts.beside_collectives_ns},
          {"lower_clock_ns", parts.lower_clock_ns},
          {"host_gaps_ns", parts.host_gaps_ns},
          {"copies_ns", parts.copies_ns},
          {"rest_ns", parts.rest_ns}};
}

RanksJson cost_json(const analyzer::InterferenceCost& of) {
  return {{"cost_ns", of.cost_ns},
          {"low_ns", of.low_ns},
          {"high_ns", of.high_ns},
          {"beside_ns", of.beside_ns},
          {"controlled_ns", of.controlled_ns}};
}

RanksJson interference_json(const JobAnalysis& analysis) {
  constexpr const char* kRefusals[] = {"none", "not_kept", "none_beside", "no_controls", "few_steps"};
  const auto& of = analysis.interference;
  RanksJson ranks = RanksJson::array();
  for (const analyzer::RankInterference& rank : of.ranks) {
    RanksJson row = {{"rank", rank.rank}};
    row.update(cost_json(rank.cost));
    ranks.push_back(std::move(row));
  }
  const bool said = of.refusal == analyzer::InterferenceRefusal::none;
  return {{"refusal", said ? RanksJson(nullptr) : RanksJson(kRefusals[static_cast<std::size_t>(of.refusal)])},
          {"job", said ? cost_json(of.cost) : RanksJson(nullptr)},
          {"factor_ratio", job_value(of.factor_ratio)},
          {"ranks", std::move(ranks)}};
}

// A row a rank, a number a step.
RanksJson lateness_json(const JobAnalysis& of) {
  RanksJson all = RanksJson::array();
  for (std::size_t rank = 0; rank < of.ranks.size(); ++rank) {
    RanksJson row = RanksJson::array();
    for (const analyzer::JobStepCost& step : of.step_costs)
      row.push_back(std::llround(step.rank_lateness_ns[rank]));
    all.push_back(std::move(row));
  }
  return all;
}

// What is shown below a view's own table.
std::optional<Table> table_below(const JobAnalysis& analysis, RanksView view) {
  if (view != RanksView::account || analysis.interference.kernels.empty()) return std::nullopt;
  Table beside = interference_table(analysis);
  beside.keep(kRowsShown);
  return beside;
}

std::string ranks_text(const JobAnalysis& analysis, const Table& table, RanksView view,
                       const TextStyle& style) {
  std::string out;
  for (const std::string& sentence : ranks_sentences(analysis))
    out.append(paragraph(terminal_safe(sentence), style));
  out.append("\n").append(render_text(table, style));
  if (const std::string cut = cut_line(table, view_noun(view)); !cut.empty())
    out.append(paragraph(cut, style));
  if (const auto beside = table_below(analysis, view)) out.append("\n").append(render_text(*beside, style));
  return out;
}

}  // namespace

Document ranks_document(const JobAnalysis& analysis, RanksView view, const DocumentOptions& options) {
  DocumentOptions how = options;
  // Of more ranks than people are shown, those that are late.
  const bool for_people = how.format == Format::text || how.format == Format::markdown;
  if (for_people && view == RanksView::rank && how.sort.empty() && analysis.ranks.size() > kRowsShown)
    how.sort = "-late_ns";
  const Table table = chosen(view_table(analysis, view), how);
  switch (options.format) {
    case Format::csv:
      return csv_document(table);
    case Format::markdown: {
      std::string out;
      for (const std::string& sentence : ranks_sentences(analysis))
        out.append(markdown_paragraph(markdown_cell(sentence)));
      out.append(render_markdown(table));
      if (const auto beside = table_below(analysis, view)) out.append("\n").append(render_markdown(*beside));
      return Document(std::move(out));
    }
    case Format::json:
      return Document([table, &analysis](const Sink& sink) {
        JsonWriter out(sink, "ridgeline.ranks");
        out.value("job", job_json(analysis));
        out.value("said", texts_json(ranks_sentences(analysis)));
        out.rows("rows", table);
        out.rows("ranks", rank_costs_table(analysis));
        out.rows("steps", job_steps_table(analysis));
        out.rows("collectives", collectives_table(analysis));
        out.rows("kernels", kernels_over_ranks_table(analysis));
        out.rows("account", job_account_table(analysis));
        out.value("interference", interference_json(analysis));
        out.rows("kernels_beside", interference_table(analysis));
        out.value("scaling_loss", loss_json(analysis));
        out.value("clocks", clocks_json(analysis));
        out.value("mismatches", mismatches_json(analysis));
        out.value("lateness_ns", lateness_json(analysis));
        out.finish();
      });
    case Format::text:
      break;
  }
  return Document(ranks_text(analysis, table, view, options.text));
}

}  // namespace ridgeline::reports
