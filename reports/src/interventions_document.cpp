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

std::string side_text(const analyzer::BlockSide& side, const char* what) {
  std::string text =
      fmt::format("{} {}: {} a step", counted(side.blocks, "block"), what, time_text(side.step_ns));
  if (side.clock_hz) text.append(", ").append(clock_text(*side.clock_hz));
  if (side.power_w) text.append(fmt::format(", {:.0f} W", *side.power_w));
  if (side.limited_ratio)
    text.append(fmt::format(", at the power limit in {} of the samples", percent_text(*side.limited_ratio)));
  return text;
}

std::string estimate_text(const InterventionEstimate& of) {
  return fmt::format("{:.2f} ({:.2f} to {:.2f})", of.value, of.low, of.high);
}

std::string kernel_text(const analyzer::Model& model, const analyzer::PowerBlocks& blocks) {
  const auto kernel = model.kernels.find(blocks.kernel_id);
  return kernel == model.kernels.end() ? std::string("a kernel") : kernel->second.demangled_name;
}

std::vector<std::string> block_sentences(const analyzer::Model& model, const InterventionsToTell& told) {
  std::vector<std::string> all;
  if (!told.blocks) return all;
  const analyzer::PowerBlocks& blocks = *told.blocks;
  all.push_back(fmt::format(
      "In blocks of {}, of which the first {} are left out, {} before launch {} of {} in every step. {}; {}.",
      time_text(blocks.block_ns), time_text(blocks.settling_ns), time_text(blocks.delay_ns), blocks.ordinal,
      kernel_text(model, blocks), side_text(blocks.delayed, "with the delay"),
      side_text(blocks.alone, "without")));
  std::string text;
  switch (blocks.verdict) {
    case analyzer::BlockVerdict::too_few_blocks:
      text = fmt::format(
          "Too few blocks to say what is left of a delay: {} of either kind are needed, the program must go "
          "on as long",
          analyzer::kMinBlocks);
      break;
    case analyzer::BlockVerdict::no_slope:
      text = "What is left of a delay cannot be said: in single steps it is not known to reach the step";
      break;
    case analyzer::BlockVerdict::too_uncertain:
    case analyzer::BlockVerdict::known:
      text = fmt::format(
          "The step gets {} longer for each unit of delay over seconds, which is {} of what single steps "
          "show",
          estimate_text(*blocks.slope), estimate_text(*blocks.left));
      if (blocks.verdict == analyzer::BlockVerdict::too_uncertain)
        text.append(", too uncertain to say anything");
      if (told.expected_left)
        text.append(fmt::format("; what-if leaves {:.2f} ({:.2f} to {:.2f}) of a gain in pauses after power",
                                told.expected_left->value, told.expected_left->low,
                                told.expected_left->high));
      break;
  }
  all.push_back(text.append("."));
  return all;
}

std::vector<std::string> intervention_sentences(const analyzer::Model& model,
                                                const InterventionsToTell& told) {
  const InterventionAnalysis& answer = told.measured;
  const analyzer::ReplayCheck& check = told.check;
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
  for (std::string& sentence : block_sentences(model, told)) all.push_back(std::move(sentence));
  return all;
}

InterventionJson estimate_json(const std::optional<InterventionEstimate>& of) {
  if (!of) return nullptr;
  return {{"value", of->value}, {"low", of->low}, {"high", of->high}};
}

InterventionJson number_or_null(const std::optional<double>& value) {
  return value ? InterventionJson(*value) : InterventionJson(nullptr);
}

InterventionJson side_json(const analyzer::BlockSide& side) {
  return {{"blocks", side.blocks},
          {"steps", side.steps},
          {"step_ns", side.step_ns},
          {"clock_hz", number_or_null(side.clock_hz)},
          {"power_w", number_or_null(side.power_w)},
          {"limited_ratio", number_or_null(side.limited_ratio)}};
}

const char* word_of(analyzer::BlockVerdict verdict) {
  switch (verdict) {
    case analyzer::BlockVerdict::known:
      return "known";
    case analyzer::BlockVerdict::too_few_blocks:
      return "too_few_blocks";
    case analyzer::BlockVerdict::too_uncertain:
      return "too_uncertain";
    case analyzer::BlockVerdict::no_slope:
      return "no_slope";
  }
  return "";
}

InterventionJson blocks_json(const analyzer::Model& model, const InterventionsToTell& told) {
  if (!told.blocks) return nullptr;
  const analyzer::PowerBlocks& blocks = *told.blocks;
  InterventionJson json{{"kernel", kernel_text(model, blocks)},
                        {"ordinal", blocks.ordinal},
                        {"level_ns", blocks.level_ns},
                        {"delay_ns", blocks.delay_ns},
                        {"block_ns", blocks.block_ns},
                        {"settling_ns", blocks.settling_ns},
                        {"delayed", side_json(blocks.delayed)},
                        {"alone", side_json(blocks.alone)},
                        {"slope", estimate_json(blocks.slope)},
                        {"left", estimate_json(blocks.left)},
                        {"expected_left", nullptr},
                        {"verdict", word_of(blocks.verdict)}};
  if (told.expected_left)
    json["expected_left"] = {{"value", told.expected_left->value},
                             {"low", told.expected_left->low},
                             {"high", told.expected_left->high}};
  return json;
}

std::string interventions_text(const analyzer::Model& model, const analyzer::Analysis& analysis,
                               const InterventionsToTell& told, const Table& table, const TextStyle& style) {
  std::string out = headline(model, analysis, style);
  out.append("\n").append(render_text(table, style)).append("\n");
  out.append(render_text(delay_levels_table(model, told.measured), style)).append("\n");
  for (const std::string& sentence : intervention_sentences(model, told))
    out.append(paragraph(sentence, style));
  return out;
}

std::string interventions_markdown(const analyzer::Model& model, const analyzer::Analysis& analysis,
                                   const InterventionsToTell& told, const Table& table) {
  std::string out = markdown_headline(model, analysis);
  out.append(render_markdown(table)).append("\n");
  out.append(render_markdown(delay_levels_table(model, told.measured))).append("\n");
  for (const std::string& sentence : intervention_sentences(model, told))
    out.append(markdown_paragraph(markdown_cell(sentence)));
  return out;
}

}  // namespace

Document interventions_document(const analyzer::Model& model, const analyzer::Analysis& analysis,
                                const InterventionsToTell& told, const DocumentOptions& options) {
  const Table table = chosen(interventions_table(model, told.measured), options);
  switch (options.format) {
    case Format::csv:
      return csv_document(table);
    case Format::markdown:
      return Document(interventions_markdown(model, analysis, told, table));
    case Format::json:
      return Document([table, &model, &analysis, told](const Sink& sink) {
        JsonWriter out(sink, "ridgeline.interventions");
        out.value("capture", capture_json(model));
        out.value("step", step_json(analysis.steps));
        out.rows("rows", table);
        out.rows("levels", delay_levels_table(model, told.measured));
        const InterventionAnalysis& answer = told.measured;
        const analyzer::ReplayCheck& check = told.check;
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
        out.value("blocks", JsonPart(blocks_json(model, told)));
        out.finish();
      });
    case Format::text:
      break;
  }
  return Document(interventions_text(model, analysis, told, table, options.text));
}

}  // namespace ridgeline::reports
