// explain_document.cpp: one kernel, from what holds it to what to do.
#include "ridgeline/reports/explain_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "advice_parts.h"
#include "document_parts.h"
#include "json_parts.h"
#include "json_values.h"
#include "ridgeline/base/text.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/absence_text.h"
#include "ridgeline/reports/advice_text.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/elide.h"
#include "ridgeline/reports/escape.h"
#include "ridgeline/reports/tables.h"
#include "ridgeline/reports/why_text.h"
#include "scope_options.h"

namespace ridgeline::reports {
namespace {

using analyzer::Analysis;
using analyzer::KernelBound;
using analyzer::KernelExplanation;
using analyzer::RankingRow;

constexpr std::size_t kConfigurationsShown = 5;
constexpr std::size_t kReasonsShown = 5;

// The advice that concerns the kernel, as a report of its own.
analyzer::AdviceReport own_advice(const Analysis& analysis, const KernelExplanation& explanation) {
  analyzer::AdviceReport own = analysis.advice;
  own.advice = explanation.advice;
  own.small.clear();
  std::copy_if(explanation.small.begin(), explanation.small.end(), std::back_inserter(own.small),
               [](const analyzer::Advice& advice) { return advice.net.high_ns >= 1; });
  own.unknown = explanation.unknown;
  own.healthy.clear();
  return own;
}

std::string clock_sentence(const RankingRow& row) {
  if (!row.sm_clock_hz || !row.clock_loss_ratio || *row.clock_loss_ratio <= 0.01) return "";
  std::string text = fmt::format("It ran at {}, {} below the highest clock", clock_text(*row.sm_clock_hz),
                                 percent_text(*row.clock_loss_ratio));
  if (!row.clock_limit.empty()) text += fmt::format(" (held by {})", row.clock_limit);
  if (row.clock_cost_ns) text += fmt::format(", which costs {}", time_text(*row.clock_cost_ns));
  return text + ".";
}

std::string stall_sentence(const Analysis& analysis, const KernelExplanation& explanation) {
  if (!explanation.stalls) {
    if (analysis.stalls.requested) return "No sample of its program counters says what its warps wait for.";
    return "What its warps wait for was not recorded: record --stalls.";
  }
  const analyzer::KernelStalls& stalls = analysis.stalls.kernels[*explanation.stalls];
  std::vector<std::string> reasons;
  for (const analyzer::StallReason& reason : stalls.reasons) {
    if (reasons.size() == kReasonsShown) break;
    reasons.push_back(fmt::format("{} {}", reason.label, percent_text(reason.share)));
  }
  return fmt::format("Its warps issue in {} of {} and wait for {}.", percent_text(stalls.issuing_share),
                     counted(stalls.samples, "sample"),
                     reasons.empty() ? std::string("nothing") : listed_words(reasons));
}

std::string saving_sentence(const Analysis& analysis, const RankingRow& row, const KernelExplanation& of) {
  const std::string_view noun = scope_noun(analysis.ranking.scope);
  std::string text =
      fmt::format("Number {} of {} by saving: {}, {} ({} of the {}).", of.row + 1,
                  analysis.ranking.rows.size(), counted(row.calls, "launch", "launches"),
                  time_text(static_cast<double>(row.time_ns)), percent_text(row.step_share), noun);
  if (row.measured_calls == 0) return text;
  text += fmt::format(" At {} of its nearest roof it would take {} less",
                      target_text(analysis.ranking.options.target), time_text(row.saved_target_ns));
  if (row.saved_target_error_ns) text += fmt::format(" (± {})", time_text(*row.saved_target_error_ns));
  if (row.reached_target_ns) {
    text += fmt::format(", and the {} {}", simulated_noun(analysis.ranking.scope),
                        time_text(*row.reached_target_ns));
  } else {
    text += "; what of that reaches the step is not known";
  }
  return text + ".";
}

std::string coverage_sentence(const RankingRow& row) {
  if (row.time_ns <= 0) return "";
  return fmt::format(
      "Both roofs were measured for {} of its time; counters (T2) cover {}, samples (T1) {}.",
      percent_text(static_cast<double>(row.measured_time_ns) / static_cast<double>(row.time_ns)),
      percent_text(static_cast<double>(row.t2_time_ns) / static_cast<double>(row.time_ns)),
      percent_text(static_cast<double>(row.t1_time_ns) / static_cast<double>(row.time_ns)));
}

std::string nothing_to_do(const Analysis& analysis, const RankingRow& row) {
  std::string text = "No rule of advice knows a defect of this kernel";
  if (row.bound == KernelBound::latency && row.saved_target_ns > 0) {
    text += "; none of its roofs is near, so that what holds it is inside it: ";
    text += analysis.stalls.requested ? "its hottest lines (rank --stalls) come first."
                                      : "record it with --stalls, or ask Nsight Compute (below).";
    return text;
  }
  return text + ".";
}

// A range of time is not simulated.
std::vector<std::string> next_commands(const analyzer::Model& model, const RankingRow& row,
                                       const analyzer::Scope& scope) {
  const std::vector<std::string> same_part = scope_options(scope);
  const auto command = [&](std::string text, std::vector<std::string> words) {
    words.insert(words.end(), same_part.begin(), same_part.end());
    return std::move(text) + shell_quoted(words);
  };
  std::vector<std::string> commands = {
      command("ridgeline ncu-command ", {model.path, kernel_display_name(row.kernel)})};
  if (!scope.window)
    commands.push_back(command("ridgeline what-if ", {model.path, row.normalised_name + "=1.5x"}));
  return commands;
}

std::string text_of(const analyzer::Model& model, const Analysis& analysis, const KernelExplanation& of,
                    const analyzer::Scope& scope, const DocumentOptions& options) {
  const TextStyle& style = options.text;
  const RankingRow& row = analysis.ranking.rows[of.row];
  std::string out = headline(model, analysis, style) + "\n";
  out += styled(wrapped(terminal_safe(bounded(kernel_display_name(row.key))), style.columns, 2),
                Style::strong, style.colour) +
         "\n" + paragraph(saving_sentence(analysis, row, of), style) + "\n";
  out += heading("What holds it", style);
  for (const std::string& sentence : holding_sentences(analysis, of)) out += paragraph(sentence, style);
  if (!of.hold.limits.empty()) out += "\n" + render_text(limits_table(of), style);
  out += "\n" + heading("Evidence", style) +
         render_text(chosen(evidence_table(analysis, of), options), style) +
         paragraph(coverage_sentence(row), style);
  Table launches = configurations_table(of);
  if (!options.all) launches.keep(kConfigurationsShown);
  out += "\n" + heading("Launch configurations", style) + render_text(launches, style) +
         paragraph(cut_line(launches, "configuration"), style);
  for (const std::string& sentence : launch_sentences(analysis, of)) out += paragraph(sentence, style);
  out += "\n" + heading("What to do", style);
  const analyzer::AdviceReport own = own_advice(analysis, of);
  const std::vector<AdviceSaid> said = advice_said(model, own, true);
  for (const AdviceSaid& one : said) {
    out += paragraph(one.heading, style);
    for (const std::string& line : one.lines) out += paragraph("  " + line, style);
  }
  if (said.empty()) out += paragraph(nothing_to_do(analysis, row), style);
  // A command is not wrapped, so that it can be copied.
  for (const std::string& command : next_commands(model, row, scope))
    out.append("  ").append(terminal_safe(command)).append("\n");
  return out + "\n" + footing(model, analysis, options);
}

std::string explain_markdown(const analyzer::Model& model, const Analysis& analysis,
                             const KernelExplanation& of, const analyzer::Scope& scope,
                             const DocumentOptions& options) {
  const RankingRow& row = analysis.ranking.rows[of.row];
  std::string out = markdown_headline(model, analysis);
  out += "### " + markdown_cell(bounded(kernel_display_name(row.key))) + "\n\n";
  out += markdown_paragraph(saving_sentence(analysis, row, of));
  for (const std::string& sentence : holding_sentences(analysis, of)) out += markdown_paragraph(sentence);
  out += render_markdown(limits_table(of)) + "\n" +
         render_markdown(chosen(evidence_table(analysis, of), options)) + "\n" +
         markdown_paragraph(coverage_sentence(row));
  Table launches = configurations_table(of);
  if (!options.all) launches.keep(kConfigurationsShown);
  out += render_markdown(launches) + "\n";
  for (const std::string& sentence : launch_sentences(analysis, of)) out += markdown_paragraph(sentence);
  const std::vector<AdviceSaid> said = advice_said(model, own_advice(analysis, of), true);
  for (const AdviceSaid& one : said) {
    out += "- **" + markdown_cell(one.heading) + "**\n";
    for (const std::string& line : one.lines) out += "  - " + markdown_cell(line) + "\n";
  }
  out += said.empty() ? markdown_paragraph(nothing_to_do(analysis, row)) : "\n";
  for (const std::string& command : next_commands(model, row, scope))
    out += "- " + markdown_code(command) + "\n";
  return out + "\n" + markdown_footing(model, analysis, options);
}

Json spread_json(const analyzer::DurationSpread& spread) {
  if (spread.calls == 0) return nullptr;
  return {{"calls", spread.calls},
          {"min_ns", spread.min_ns},
          {"p10_ns", spread.p10_ns},
          {"median_ns", spread.median_ns},
          {"p90_ns", spread.p90_ns},
          {"max_ns", spread.max_ns},
          {"between_steps_ns", optional_json(spread.between_steps_ns)}};
}

Json explained_kernel_json(const Analysis& analysis, const KernelExplanation& of) {
  const RankingRow& row = analysis.ranking.rows[of.row];
  Json out = Json::object();
  out["rank"] = of.row + 1;
  out["of"] = analysis.ranking.rows.size();
  out["kernel"] = valid_utf8(row.kernel);
  out["name"] = valid_utf8(kernel_display_name(row.kernel));
  out["class"] = to_string(row.kernel_class);
  out["bound"] = to_string(row.bound);
  out["nearest"] = nearest_roof_word(row);
  Json near = Json::array();
  for (const analyzer::Roof roof : row.near_roofs) near.push_back(to_string(roof));
  out["near_roofs"] = std::move(near);
  const auto share = [&](std::int64_t ns) {
    return row.time_ns > 0 ? Json(static_cast<double>(ns) / static_cast<double>(row.time_ns)) : Json(nullptr);
  };
  out["coverage"] = {{"measured_ratio", share(row.measured_time_ns)},
                     {"t2_ratio", share(row.t2_time_ns)},
                     {"t1_ratio", share(row.t1_time_ns)}};
  out["reason"] = absence_text(row.why);
  return out;
}

Json texts_of(const std::vector<std::string>& texts) {
  Json list = Json::array();
  for (const std::string& text : texts) list.push_back(valid_utf8(text));
  return list;
}

// What is said of the step as a whole is not of the kernel.
Json own_advice_json(const Analysis& analysis, const KernelExplanation& of) {
  Json out = advice_json(own_advice(analysis, of), analysis.quality).value();
  out.erase("first");
  out.erase("together");
  return out;
}

Json own_stalls_json(const Analysis& analysis, const KernelExplanation& of) {
  if (!of.stalls) return nullptr;
  const analyzer::KernelStalls& stalls = analysis.stalls.kernels[*of.stalls];
  Json reasons = Json::array();
  for (const analyzer::StallReason& reason : stalls.reasons)
    reasons.push_back({{"reason", reason.label}, {"share_ratio", reason.share}});
  return {{"samples", stalls.samples},
          {"issuing_ratio", stalls.issuing_share},
          {"stalled_ratio", stalls.stalled_share},
          {"reasons", std::move(reasons)}};
}

}  // namespace

std::vector<std::string> holding_sentences(const Analysis& analysis, const KernelExplanation& explanation) {
  const RankingRow& row = analysis.ranking.rows.at(explanation.row);
  std::vector<std::string> all;
  for (std::string sentence :
       {why_sentence(analysis.ranking, row, explanation.hold), clock_sentence(row),
        row.measured_calls > 0 ? stall_sentence(analysis, explanation) : std::string()}) {
    if (!sentence.empty()) all.push_back(std::move(sentence));
  }
  return all;
}

std::vector<std::string> launch_sentences(const Analysis& analysis, const KernelExplanation& explanation) {
  std::vector<std::string> all;
  const analyzer::DurationSpread& spread = explanation.spread;
  if (spread.calls > 0) {
    std::string text =
        fmt::format("A launch takes {} (median of {}; p10 {}, p90 {}, {} to {})", time_text(spread.median_ns),
                    spread.calls, time_text(spread.p10_ns), time_text(spread.p90_ns),
                    time_text(spread.min_ns), time_text(spread.max_ns));
    if (spread.between_steps_ns)
      text += fmt::format("; from step to step one varies by {}", time_text(*spread.between_steps_ns));
    all.push_back(text + ".");
  }
  if (explanation.roofline) {
    const analyzer::RooflinePoint& point = analysis.roofline.points[*explanation.roofline];
    if (point.sol_ns && point.bound) {
      all.push_back(fmt::format("At its roofs the work takes {} (most of it {}): {} of the {} measured.",
                                time_text(*point.sol_ns), to_string(*point.bound),
                                point.covered_ns > 0 ? percent_text(*point.sol_ns / point.covered_ns) : "–",
                                time_text(point.covered_ns)));
    }
  }
  return all;
}

Document explain_document(const analyzer::Model& model, const Analysis& analysis, const KernelExplanation& of,
                          const analyzer::Scope& scope, const DocumentOptions& options) {
  switch (options.format) {
    case Format::csv:
      return csv_document(chosen(evidence_table(analysis, of), options));
    case Format::markdown:
      return Document(explain_markdown(model, analysis, of, scope, options));
    case Format::json: {
      const Table evidence = chosen(evidence_table(analysis, of), options);
      return Document([evidence, scope, &model, &analysis, &of](const Sink& sink) {
        JsonWriter out(sink, "ridgeline.explain");
        out.value("capture", capture_json(model));
        out.value("step", step_json(analysis.steps));
        out.value("kernel", JsonPart(explained_kernel_json(analysis, of)));
        out.value("holds", JsonPart(texts_of(holding_sentences(analysis, of))));
        out.rows("limits", limits_table(of));
        out.rows("rows", evidence);
        out.rows("configurations", configurations_table(of));
        out.value("spread", JsonPart(spread_json(of.spread)));
        out.value("stalls", JsonPart(own_stalls_json(analysis, of)));
        out.value("advice", JsonPart(own_advice_json(analysis, of)));
        const RankingRow& row = analysis.ranking.rows[of.row];
        out.value("next", JsonPart(texts_of(next_commands(model, row, scope))));
        out.value("quality", quality_json(analysis.quality));
        out.finish();
      });
    }
    case Format::text:
      break;
  }
  return Document(text_of(model, analysis, of, scope, options));
}

}  // namespace ridgeline::reports
