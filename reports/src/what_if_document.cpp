#include "ridgeline/reports/what_if_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "document_parts.h"
#include "json_parts.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/absence_text.h"
#include "ridgeline/reports/escape.h"
#include "ridgeline/reports/json_writer.h"

namespace ridgeline::reports {
namespace {

using analyzer::Gain;
using analyzer::GainRange;
using analyzer::LeftAlone;
using analyzer::PowerTerm;
using analyzer::ReplayCheck;
using analyzer::TransformAnswer;
using analyzer::WhatIf;
using WhatIfJson = nlohmann::ordered_json;

std::string ms_text(double ns) {
  return milliseconds(ns) + " ms";
}

// The four figures side by side; refers to the lines.
Table gain_table(const std::vector<GainLine>& lines) {
  std::vector<Column<GainLine>> columns = {
      {{.key = "figure", .header = "figure", .help = "which figure", .align = Align::left},
       [](const GainLine& line) { return Cell::text(line.label); }},
      {{.key = "gain_ns", .header = "gain", .unit = "ms", .help = "what the step would be shorter by"},
       [](const GainLine& line) { return Cell::number(line.ns, Form::milliseconds, Style::strong); }},
      {{.key = "step_share", .header = "step", .unit = "%", .help = "of the step"},
       [](const GainLine& line) { return Cell::number(line.share, Form::percent); }},
      {{.key = "comment",
        .header = "",
        .help = "what it is, its range, or why it is not known",
        .align = Align::left,
        .elide = Elide::end},
       [](const GainLine& line) { return Cell::text(line.comment); }}};
  return Table(std::move(columns), lines.size(), [&lines](std::size_t i) { return lines[i]; });
}

// How the unchanged step comes out.
std::string check_sentence(const ReplayCheck& check) {
  if (!check.known()) return no_replay_text(check);
  const double off = check.measured_ns > 0 ? check.simulated_ns / check.measured_ns - 1 : 0;
  std::string text =
      fmt::format("Unchanged, the simulated step takes {} where {} measured {} ({}{} off).",
                  ms_text(check.simulated_ns), check.steps == 1 ? "the step" : counted(check.steps, "step"),
                  ms_text(check.measured_ns), off < 0 ? "−" : "+", percent_text(std::fabs(off), 2));
  if (!check.order_recorded)
    text += " What orders the streams was not all recorded: it is concluded from the times.";
  if (check.other_processes > 0)
    text += fmt::format(" {} of the recording {} not simulated.",
                        counted(check.other_processes, "other process", "other processes"),
                        check.other_processes == 1 ? "is" : "are");
  return text;
}

std::string left_sentence(const TransformAnswer& one) {
  if (one.left == 0) return "";
  std::string why;
  switch (one.left_alone) {
    case LeftAlone::none:
      return "";
    case LeftAlone::not_measured:
      why = "stay as they are, most because how near they are to a roof was not measured";
      break;
    case LeftAlone::at_goal:
      why = "stay as they are: they are there already";
      break;
    case LeftAlone::traffic_unknown:
      why = "lose only the launch between them: what of their data goes through DRAM was not measured";
      break;
    case LeftAlone::precision_unknown:
      why = "stay as they are, most because the type of their data, or a peak of it, is not known";
      break;
  }
  const bool pairs = std::holds_alternative<analyzer::Fused>(one.transform);
  return fmt::format("{}: {} of {} {}.", transform_text(one.transform), one.left,
                     counted(one.launches, pairs ? "pair" : "launch", pairs ? "pairs" : "launches"), why);
}

std::string assumption_sentence(const WhatIf& answer) {
  const bool graph = std::any_of(
      answer.transforms.begin(), answer.transforms.end(),
      [](const TransformAnswer& one) { return std::holds_alternative<analyzer::AsGraph>(one.transform); });
  return graph ? "Assumed of a graph: its launch takes the CPU 10 µs, and 0.5 µs lies between two nodes."
               : "";
}

std::vector<std::string> sentences(const WhatIf& answer) {
  std::vector<std::string> all;
  const auto add = [&](std::string text) {
    if (!text.empty()) all.push_back(std::move(text));
  };
  add(check_sentence(answer.check));
  add(power_term_text(answer.power));
  for (const TransformAnswer& one : answer.transforms) add(left_sentence(one));
  add(assumption_sentence(answer));
  return all;
}

WhatIfJson range_json(const std::optional<GainRange>& range) {
  if (!range) return nullptr;
  WhatIfJson json{{"value_ns", range->value}, {"low_ns", nullptr}, {"high_ns", nullptr}};
  if (range->low) json["low_ns"] = *range->low;
  if (range->high) json["high_ns"] = *range->high;
  return json;
}

WhatIfJson gain_json(const Gain& gain) {
  return {{"bound_ns", gain.bound_ns},
          {"naive_ns", gain.naive_ns},
          {"simulated", range_json(gain.simulated)},
          {"after_power", range_json(gain.after_power)}};
}

WhatIfJson check_of_replay_json(const ReplayCheck& check) {
  WhatIfJson json{{"known", check.known()},
                  {"steps", check.steps},
                  {"measured_ns", check.measured_ns},
                  {"simulated_ns", nullptr},
                  {"order_recorded", check.order_recorded},
                  {"other_processes", check.other_processes},
                  {"why", WhatIfJson::array()},
                  {"phases", WhatIfJson::array()},
                  {"worst", nullptr}};
  if (check.simulated_ns > 0) json["simulated_ns"] = check.simulated_ns;
  for (const analyzer::Absence& why : check.why) json["why"].push_back(absence_text(why));
  for (const ReplayCheck::Phase& phase : check.phases) {
    json["phases"].push_back(
        {{"name", phase.name}, {"measured_ns", phase.measured_ns}, {"simulated_ns", phase.simulated_ns}});
  }
  if (check.worst) {
    json["worst"] = {{"kernel", check.worst->kernel},
                     {"ordinal", check.worst->ordinal},
                     {"late_ns", check.worst->late_ns}};
  }
  return json;
}

WhatIfJson power_term_json(const PowerTerm& power) {
  const char* state = power.state == PowerTerm::State::holds   ? "holds"
                      : power.state == PowerTerm::State::clear ? "clear"
                                                               : "unknown";
  WhatIfJson json{{"limit", state},
                  {"limited_ratio", nullptr},
                  {"power_w", nullptr},
                  {"alpha", nullptr},
                  {"beta", nullptr}};
  if (power.state != PowerTerm::State::unknown) json["limited_ratio"] = power.limited_ratio;
  if (power.power_w) json["power_w"] = *power.power_w;
  if (power.state != PowerTerm::State::holds) return json;
  const auto interval = [](const analyzer::Interval& of) {
    return WhatIfJson{{"low", of.low}, {"value", of.value}, {"high", of.high}};
  };
  json["alpha"] = interval(power.alpha);
  json["beta"] = interval(power.beta);
  return json;
}

std::string text_document(const analyzer::Model& model, const analyzer::Analysis& analysis,
                          const WhatIf& answer, const Table& table, const TextStyle& style) {
  std::string out = headline(model, analysis, style) + "\n" + render_text(table, style) + "\n";
  const std::vector<GainLine> lines = gain_lines(answer, answer.together);
  out += render_text(gain_table(lines), style) + "\n";
  for (const std::string& sentence : sentences(answer)) out += paragraph(sentence, style);
  return out;
}

std::string what_if_markdown(const analyzer::Model& model, const analyzer::Analysis& analysis,
                             const WhatIf& answer, const Table& table) {
  std::string out = markdown_headline(model, analysis) + render_markdown(table) + "\n";
  for (const GainLine& line : gain_lines(answer, answer.together))
    out += fmt::format("- {}\n", markdown_cell(gain_line_text(line)));
  out += "\n";
  for (const std::string& sentence : sentences(answer)) out += markdown_paragraph(markdown_cell(sentence));
  return out;
}

}  // namespace

std::string gain_range_text(const GainRange& gain) {
  if (!gain.low || !gain.high) return "";
  return fmt::format("between {} and {}", milliseconds(*gain.low), ms_text(*gain.high));
}

std::string no_replay_text(const ReplayCheck& check) {
  if (check.known()) return "";
  std::string text = "What reaches the step cannot be said: ";
  for (std::size_t i = 0; i < check.why.size(); ++i) text += (i > 0 ? "; " : "") + absence_text(check.why[i]);
  if (check.simulated_ns > 0)
    text += fmt::format(" ({} for {})", ms_text(check.simulated_ns), ms_text(check.measured_ns));
  text += ".";
  if (check.worst) {
    text += fmt::format(" It goes wrong most at launch {} ({}), which begins {} {} than recorded.",
                        check.worst->ordinal, check.worst->kernel, time_text(std::fabs(check.worst->late_ns)),
                        check.worst->late_ns < 0 ? "earlier" : "later");
  }
  return text + " The bound and the sum hold all the same.";
}

std::string power_term_text(const PowerTerm& power) {
  switch (power.state) {
    case PowerTerm::State::unknown:
      return "Whether the power limit holds the clock was not recorded: what it takes back is left out.";
    case PowerTerm::State::clear:
      return fmt::format("The power limit held the clock in {} of the samples: nothing is taken back.",
                         percent_text(power.limited_ratio, 0));
    case PowerTerm::State::holds:
      break;
  }
  return fmt::format(
      "The power limit holds the clock ({} of the samples{}): of a gain remains 1 - beta / alpha e, with "
      "alpha {:.1f} "
      "({:.1f} to {:.1f}) and beta {:.2f} ({:.2f} to {:.2f}).",
      percent_text(power.limited_ratio, 0), power.power_w ? fmt::format(", {:.0f} W", *power.power_w) : "",
      power.alpha.value, power.alpha.low, power.alpha.high, power.beta.value, power.beta.low,
      power.beta.high);
}

std::vector<GainLine> gain_lines(const WhatIf& answer, const Gain& gain) {
  std::vector<GainLine> lines;
  const auto add = [&](std::string label, std::optional<double> ns, std::string comment) {
    std::optional<double> share;
    if (ns && answer.step_ns > 0) share = *ns / answer.step_ns;
    lines.push_back({std::move(label), ns, share, std::move(comment)});
  };
  add("Amdahl's bound", gain.bound_ns, "not to be exceeded");
  add("Naive sum", gain.naive_ns, "of the work, wherever it runs");
  if (gain.simulated) {
    add("Simulated", gain.simulated->value, gain_range_text(*gain.simulated));
  } else {
    add("Simulated", {}, "cannot be said");
  }
  if (gain.after_power) {
    add("After power", gain.after_power->value, gain_range_text(*gain.after_power));
  } else {
    add("After power", {},
        !gain.simulated ? "cannot be said"
        : answer.power.state == PowerTerm::State::clear
            ? "the same: the limit does not hold the clock"
            : "not known: no sample says whether the limit holds");
  }
  return lines;
}

std::string gain_line_text(const GainLine& line) {
  std::string text = line.label + ": " + (line.ns ? ms_text(*line.ns) : "–");
  if (line.share) text += ", " + percent_text(*line.share) + " of the step";
  return line.comment.empty() ? text : text + " (" + line.comment + ")";
}

Document what_if_document(const analyzer::Model& model, const analyzer::Analysis& analysis,
                          const WhatIf& answer, const DocumentOptions& options) {
  const Table table = chosen(what_if_table(answer), options);
  switch (options.format) {
    case Format::csv:
      return csv_document(table);
    case Format::markdown:
      return Document(what_if_markdown(model, analysis, answer, table));
    case Format::json:
      return Document([table, &model, &analysis, &answer](const Sink& sink) {
        JsonWriter out(sink, "ridgeline.what_if");
        out.value("capture", capture_json(model));
        out.value("step", step_json(analysis.steps));
        out.rows("rows", table);
        out.value("together", gain_json(answer.together));
        out.value("replay", check_of_replay_json(answer.check));
        out.value("power", power_term_json(answer.power));
        out.finish();
      });
    case Format::text:
      break;
  }
  return Document(text_document(model, analysis, answer, table, options.text));
}

}  // namespace ridgeline::reports
