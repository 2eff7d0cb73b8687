#include "ridgeline/reports/ladder_documents.h"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>

#include "document_parts.h"
#include "json_values.h"
#include "ladder_parts.h"
#include "ridgeline/base/text.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/escape.h"
#include "ridgeline/reports/json_writer.h"

namespace ridgeline::reports {
namespace {

using comparison::Contribution;
using comparison::LadderEnd;
using comparison::LadderEstimate;
using comparison::LadderRecord;
using comparison::LadderResult;
using comparison::LadderSource;
using comparison::LadderStep;
using comparison::LossVerdict;
using comparison::Outcome;
using LadderJson = nlohmann::ordered_json;

constexpr std::int64_t kFailuresShown = 3;  // of programs that do not run: often one rung is after all

std::string end_words(const LadderRecord& record) {
  switch (record.end) {
    case LadderEnd::decided:
      return "every rung is decided";
    case LadderEnd::rounds:
      return "as many as were asked for";
    case LadderEnd::budget:
      return "no further one fitted in the time";
    case LadderEnd::stopped:
      return "it was stopped";
  }
  return "";
}

std::string factor_text(double log_ratio) {
  return fmt::format("{:.2f}", std::exp(log_ratio));
}

std::string whole_sentence(const LadderRecord& record, const LadderResult& result) {
  const auto bottom = result.arms.front().step_ns;
  const auto top = result.arms[record.rungs.size()].step_ns;
  if (!bottom || !top || result.whole.rounds == 0) return "The top of the ladder did not run.";
  std::string text = fmt::format("From {} to {} a step: {} times as fast", time_text(*bottom),
                                 time_text(*top), factor_text(result.whole.log_ratio));
  if (result.whole.half_width) {
    const double half = *result.whole.half_width;
    text += fmt::format(" ({} to {}, 95 % interval over {})", factor_text(result.whole.log_ratio - half),
                        factor_text(result.whole.log_ratio + half), counted(result.whole.rounds, "round"));
  }
  return text + ".";
}

double saved_ns(const LadderEstimate& estimate) {
  return estimate.before_ns.value_or(0) * ladder_saved_ratio(estimate.log_ratio);
}

// "saves 2.10 %", "costs 2.10 %".
std::string saved_words(const LadderEstimate& estimate) {
  const double ratio = ladder_saved_ratio(estimate.log_ratio);
  return (ratio < 0 ? "costs " : "saves ") + ladder_percent(std::abs(ratio));
}

// Rungs whose effect depends on others, beyond chance. A rung that saves as many milliseconds of a shorter step saves
// more of it: that is no help.
void add_interactions(const LadderRecord& record, const LadderResult& result,
                      std::vector<std::string>& notes) {
  for (const LadderStep& step : result.steps) {
    const LadderEstimate* interaction = step.estimate(Contribution::interaction);
    if (interaction == nullptr || interaction->same_program) continue;
    const LadderEstimate& alone = *step.estimate(Contribution::alone);
    const LadderEstimate& climb = *step.estimate(Contribution::cumulative);
    const bool shared = interaction->outcome == Outcome::regressed;
    const bool helped =
        interaction->outcome == Outcome::improved &&
        saved_ns(climb) > saved_ns(alone) + record.options.margin_ratio * climb.before_ns.value_or(0);
    if (!shared && !helped) continue;
    notes.push_back(fmt::format("{} {} on top of the rungs below it and {} alone: {}.",
                                record.rungs[step.rung].name, saved_words(climb), saved_words(alone),
                                shared ? "they share an effect" : "they help it"));
  }
}

void add_sweeps(const LadderRecord& record, std::vector<std::string>& notes) {
  for (const auto& rung : record.rungs) {
    if (!rung.chosen) continue;
    std::string others;
    for (std::size_t i = 0; i < rung.choices.size(); ++i) {
      const auto& times = rung.choices[i].step_ns;
      double sum = 0;
      for (const double ns : times) sum += ns;
      others +=
          fmt::format("{}{} {}", others.empty() ? "" : ", ", rung.choices[i].name,
                      times.empty() ? "did not run" : time_text(sum / static_cast<double>(times.size())));
    }
    notes.push_back(fmt::format("{}: {} was chosen in rounds of its own, which count for nothing else ({}).",
                                rung.name, rung.choices[*rung.chosen].name, others));
  }
}

void add_losses(const LadderRecord& record, const LadderResult& result, std::vector<std::string>& notes) {
  for (const LadderStep& step : result.steps) {
    if (step.loss.verdict != LossVerdict::differs || !step.loss.ratio) continue;
    notes.push_back(fmt::format("{}: the loss differs by {} from that of the rung below ({}, margin {}).",
                                record.rungs[step.rung].name, ladder_percent(*step.loss.ratio),
                                counted(step.loss.seeds, "seed"),
                                percent_text(record.options.loss_margin_ratio, 2)));
  }
}

void add_failures(const LadderRecord& record, std::vector<std::string>& notes) {
  std::int64_t failed = 0;
  for (const auto& program : record.programs) {
    if (program.failure.empty() || ++failed > kFailuresShown) continue;
    notes.push_back(fmt::format("Not measured: {} ({})", program.command, program.failure));
  }
  if (failed > kFailuresShown)
    notes.push_back(
        fmt::format("{} could not be measured either.", counted(failed - kFailuresShown, "other program")));
  std::int64_t unsettled = 0;
  for (const auto& run : record.runs) unsettled += run.settled ? 0 : 1;
  if (unsettled > 0)
    notes.push_back(
        fmt::format("In {} of {} runs neither the clock nor the steps had settled by their half: let the "
                    "program run longer.",
                    unsettled, record.runs.size()));
  if (record.rounds < record.options.min_rounds)
    notes.push_back(fmt::format("{} {} too few for a verdict: it takes {}.", counted(record.rounds, "round"),
                                record.rounds == 1 ? "is" : "are", record.options.min_rounds));
}

std::string legend(const LadderRecord& record) {
  return fmt::format(
      "Saved: of the time before the rung, with the interval that holds in 95 of 100. No effect: "
      "shown to be less than {}.{}",
      percent_text(record.options.margin_ratio, 2),
      record.questions.alone ? " Alone: on top of the bottom. If left out: of the step without it, at "
                               "the top."
                             : "");
}

LadderJson whole_json(const LadderResult& result) {
  constexpr double kDust = 1.0 / (1 << 20);
  const auto clean = [](double value) { return std::round(value / kDust) * kDust; };
  LadderJson out;
  out["speedup"] =
      result.whole.rounds > 0 ? LadderJson(clean(std::exp(result.whole.log_ratio))) : LadderJson();
  out["rounds"] = result.whole.rounds;
  const auto half = result.whole.half_width;
  out["low_speedup"] =
      optional_json(half ? std::optional(clean(std::exp(result.whole.log_ratio - *half))) : half);
  out["high_speedup"] =
      optional_json(half ? std::optional(clean(std::exp(result.whole.log_ratio + *half))) : half);
  return out;
}

LadderJson sweeps_json(const LadderRecord& record) {
  LadderJson out = LadderJson::array();
  for (const auto& rung : record.rungs) {
    if (!rung.chosen) continue;
    LadderJson choices = LadderJson::array();
    for (const auto& choice : rung.choices)
      choices.push_back({{"name", valid_utf8(choice.name)}, {"step_ns", choice.step_ns}});
    out.push_back({{"rung", valid_utf8(rung.name)},
                   {"chosen", valid_utf8(rung.choices[*rung.chosen].name)},
                   {"choices", std::move(choices)}});
  }
  return out;
}

LadderJson notes_json(const std::vector<std::string>& notes) {
  LadderJson out = LadderJson::array();
  for (const std::string& note : notes) out.push_back(valid_utf8(note));
  return out;
}

Document ladder_json(const LadderRecord& record, const LadderResult& result, const Table& table) {
  return Document([&record, &result, table](const Sink& sink) {
    JsonWriter out(sink, "ridgeline.ladder");
    out.value("name", valid_utf8(record.name));
    out.value("begun", valid_utf8(record.begun));
    out.value("source", std::string(to_string(record.source)));
    out.value("end", std::string(to_string(record.end)));
    out.value("rounds", LadderJson(record.rounds));
    out.value("runs", LadderJson(record.runs.size()));
    out.value("duration_s", LadderJson(record.seconds));
    out.value("order_seed", LadderJson(record.order_seed));
    out.value("margin_ratio", LadderJson(record.options.margin_ratio));
    out.value("whole", whole_json(result));
    out.rows("rows", table);
    out.value("sweeps", sweeps_json(record));
    out.value("notes", notes_json(ladder_notes(record, result)));
    out.finish();
  });
}

}  // namespace

double ladder_saved_ratio(double log_ratio) {
  return -std::expm1(-log_ratio);
}

std::string ladder_verdict_word(const LadderEstimate& estimate) {
  if (estimate.same_program) return "same program";
  switch (estimate.outcome) {
    case Outcome::improved:
      return "faster";
    case Outcome::regressed:
      return "slower";
    case Outcome::same:
      return "no effect";
    case Outcome::not_measured:
      return "not run";
    default:
      return "open";
  }
}

std::string ladder_percent(double ratio) {
  return percent_text(ratio, std::abs(ratio) < 0.1 ? 2 : 1);
}

std::string ladder_headline(const LadderRecord& record) {
  std::string text = record.name;
  for (const auto& run : record.runs) {
    if (run.device.empty()) continue;
    text += ", " + run.device;
    break;
  }
  return text + fmt::format(": {} of {} in random order and its mirror ({}), step times {}. {}.",
                            counted(record.rounds, "round"),
                            counted(static_cast<std::int64_t>(record.programs.size()), "program"),
                            end_words(record),
                            record.source == LadderSource::recording ? "from recordings"
                                                                     : "as the program prints them",
                            record.begun);
}

std::vector<std::string> ladder_notes(const LadderRecord& record, const LadderResult& result) {
  std::vector<std::string> notes = {whole_sentence(record, result)};
  add_interactions(record, result, notes);
  add_sweeps(record, notes);
  add_losses(record, result, notes);
  add_failures(record, notes);
  return notes;
}

Document ladder_document(const LadderRecord& record, const LadderResult& result,
                         const DocumentOptions& options) {
  const Table table = chosen(ladder_table(record, result), options);
  switch (options.format) {
    case Format::csv:
      return csv_document(table);
    case Format::json:
      return ladder_json(record, result, table);
    case Format::markdown: {
      std::string out = markdown_paragraph(ladder_headline(record)) + render_markdown(table) + "\n";
      for (const std::string& note : ladder_notes(record, result)) out += markdown_paragraph(note);
      return Document(out + markdown_paragraph(legend(record)));
    }
    case Format::text:
      break;
  }
  std::string out = paragraph(ladder_headline(record), options.text);
  out += "\n" + render_text(table, options.text) + "\n";
  for (const std::string& note : ladder_notes(record, result)) out += paragraph(note, options.text);
  return Document(out + paragraph(legend(record), options.text));
}

}  // namespace ridgeline::reports
