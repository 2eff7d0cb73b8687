#include "ridgeline/reports/interventions_document.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "document_parts.h"
#include "json_parts.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/absence_text.h"
#include "ridgeline/reports/escape.h"
#include "ridgeline/reports/json_writer.h"

namespace ridgeline::reports {
namespace {

using analyzer::InterventionAnalysis;
using analyzer::InterventionEstimate;
using InterventionJson = nlohmann::ordered_json;

std::vector<std::string> intervention_sentences(const InterventionAnalysis& answer,
                                                const analyzer::ReplayCheck& check) {
  std::vector<std::string> all;
  all.push_back(fmt::format("{} of {} count, each with the step after it; seed {}.", answer.usable_steps,
                            counted(answer.drawn_steps, "drawn step"), answer.seed));
  if (answer.sham_cost) {
    all.push_back(fmt::format("Shams alone make the step longer by {} ({} to {}).",
                              time_text(answer.sham_cost->value), time_text(answer.sham_cost->low),
                              time_text(answer.sham_cost->high)));
  }
  if (!check.known()) {
    std::string text = "The simulated slopes cannot be said: ";
    for (std::size_t i = 0; i < check.why.size(); ++i) {
      if (i > 0) text.append("; ");
      text.append(absence_text(check.why[i]));
    }
    all.push_back(text.append("."));
  }
  return all;
}

InterventionJson estimate_json(const std::optional<InterventionEstimate>& of) {
  if (!of) return nullptr;
  return {{"value", of->value}, {"low", of->low}, {"high", of->high}};
}

std::string interventions_text(const analyzer::Model& model, const analyzer::Analysis& analysis,
                               const InterventionAnalysis& answer, const analyzer::ReplayCheck& check,
                               const Table& table, const TextStyle& style) {
  std::string out = headline(model, analysis, style);
  out.append("\n").append(render_text(table, style)).append("\n");
  out.append(render_text(delay_levels_table(model, answer), style)).append("\n");
  for (const std::string& sentence : intervention_sentences(answer, check))
    out.append(paragraph(sentence, style));
  return out;
}

std::string interventions_markdown(const analyzer::Model& model, const analyzer::Analysis& analysis,
                                   const InterventionAnalysis& answer, const analyzer::ReplayCheck& check,
                                   const Table& table) {
  std::string out = markdown_headline(model, analysis);
  out.append(render_markdown(table)).append("\n");
  out.append(render_markdown(delay_levels_table(model, answer))).append("\n");
  for (const std::string& sentence : intervention_sentences(answer, check))
    out.append(markdown_paragraph(markdown_cell(sentence)));
  return out;
}

}  // namespace

Document interventions_document(const analyzer::Model& model, const analyzer::Analysis& analysis,
                                const InterventionAnalysis& answer, const analyzer::ReplayCheck& check,
                                const DocumentOptions& options) {
  const Table table = chosen(interventions_table(model, answer), options);
  switch (options.format) {
    case Format::csv:
      return csv_document(table);
    case Format::markdown:
      return Document(interventions_markdown(model, analysis, answer, check, table));
    case Format::json:
      return Document([table, &model, &analysis, &answer, &check](const Sink& sink) {
        JsonWriter out(sink, "ridgeline.interventions");
        out.value("capture", capture_json(model));
        out.value("step", step_json(analysis.steps));
        out.rows("rows", table);
        out.rows("levels", delay_levels_table(model, answer));
        InterventionJson summary{{"seed", answer.seed},
                                 {"drawn_steps", answer.drawn_steps},
                                 {"usable_steps", answer.usable_steps},
                                 {"sham_step_ns", nullptr},
                                 {"sham_cost_ns", estimate_json(answer.sham_cost)},
                                 {"simulation_known", check.known()},
                                 {"why", InterventionJson::array()}};
        if (answer.sham_step_ns > 0) summary["sham_step_ns"] = answer.sham_step_ns;
        for (const analyzer::Absence& why : check.why) summary["why"].push_back(absence_text(why));
        out.value("summary", JsonPart(summary));
        out.finish();
      });
    case Format::text:
      break;
  }
  return Document(interventions_text(model, analysis, answer, check, table, options.text));
}

}  // namespace ridgeline::reports
