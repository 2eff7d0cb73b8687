// advice_documents.cpp: what to do first, as a document.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <sstream>

#include "advice_parts.h"
#include "document_parts.h"
#include "json_parts.h"
#include "json_values.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/advice_text.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/documents.h"
#include "ridgeline/reports/elide.h"
#include "ridgeline/reports/escape.h"
#include "ridgeline/reports/tables.h"

namespace ridgeline::reports {
namespace {

using analyzer::Advice;
using analyzer::AdviceHealthy;
using analyzer::AdviceReport;
using analyzer::AdviceRule;
using analyzer::AdviceUnknown;

constexpr int kTableSubjectColumns = 48;

// A rule's answer, or one case of it.
struct AdviceLine {
  AdviceRule rule = AdviceRule::tail_wave;
  std::string_view verdict;  // advice, small, healthy, unknown
  const Advice* advice = nullptr;
  const AdviceUnknown* unknown = nullptr;
};

std::vector<AdviceLine> lines_of(const AdviceReport& report, bool all) {
  std::vector<AdviceLine> lines;
  for (const Advice& advice : report.advice) lines.push_back({advice.rule, "advice", &advice, nullptr});
  if (!all) return lines;
  for (const Advice& advice : report.small) lines.push_back({advice.rule, "small", &advice, nullptr});
  for (const AdviceUnknown& unknown : report.unknown)
    lines.push_back({unknown.rule, "unknown", nullptr, &unknown});
  for (const AdviceHealthy& healthy : report.healthy)
    lines.push_back({healthy.rule, "healthy", nullptr, nullptr});
  return lines;
}

Cell gain_cell(const AdviceLine& line, double analyzer::AdviceGain::*level) {
  return line.advice == nullptr ? Cell::missing() : Cell::number(line.advice->net.*level, Form::milliseconds);
}

std::string subject_text(const AdviceLine& line) {
  if (line.advice != nullptr) return line.advice->subject;
  return line.unknown != nullptr ? line.unknown->subject : "";
}

using AdviceColumns = std::vector<Column<AdviceLine>>;

void add_gains(AdviceColumns& columns, double step_ns) {
  columns.push_back(
      {{.key = "net_mid_ns", .header = "gain", .unit = "ms", .help = "what the step would be shorter by"},
       [](const AdviceLine& l) { return gain_cell(l, &analyzer::AdviceGain::mid_ns); }});
  columns.push_back(
      {{.key = "net_mid_ratio", .header = "step", .unit = "%", .help = "that ÷ the step", .drop_order = 3},
       [step_ns](const AdviceLine& l) {
         return l.advice == nullptr || step_ns <= 0
                    ? Cell::missing()
                    : Cell::number(l.advice->net.mid_ns / step_ns, Form::percent);
       }});
  columns.push_back(
      {{.key = "net_low_ns", .header = "low", .unit = "ms", .help = "what is safe to expect of it"},
       [](const AdviceLine& l) { return gain_cell(l, &analyzer::AdviceGain::low_ns); }});
  columns.push_back(
      {{.key = "net_high_ns", .header = "high", .unit = "ms", .help = "the most that it can be"},
       [](const AdviceLine& l) { return gain_cell(l, &analyzer::AdviceGain::high_ns); }});
  columns.push_back(
      {{.key = "alone_mid_ns",
        .header = "alone",
        .unit = "ms",
        .help = "of the launches, copies and gaps themselves: before overlap, power and what cases before "
                "it have claimed",
        .shown = false},
       [](const AdviceLine& l) {
         return l.advice == nullptr ? Cell::missing()
                                    : Cell::number(l.advice->alone.mid_ns, Form::milliseconds);
       }});
  columns.push_back({{.key = "claimed_ns",
                      .header = "claimed",
                      .unit = "ms",
                      .help = "of that, what cases before it have claimed",
                      .shown = false},
                     [](const AdviceLine& l) {
                       return l.advice == nullptr ? Cell::missing()
                                                  : Cell::number(l.advice->claimed_ns, Form::milliseconds);
                     }});
}

void add_grounds(AdviceColumns& columns) {
  columns.push_back(
      {{.key = "basis",
        .header = "basis",
        .help = "`measured`, `modelled` (with an assumed efficiency of what would take its place), "
                "`estimated`",
        .align = Align::left,
        .drop_order = 2},
       [](const AdviceLine& l) {
         return l.advice == nullptr ? Cell::missing() : Cell::text(std::string(to_string(l.advice->basis)));
       }});
  columns.push_back({{.key = "simulated",
                      .header = "simulated",
                      .help = "true: overlap was simulated; else it is by what ran beside it",
                      .align = Align::left,
                      .shown = false},
                     [](const AdviceLine& l) {
                       return l.advice == nullptr
                                  ? Cell::missing()
                                  : Cell::worded(l.advice->simulated ? "yes" : "no", l.advice->simulated);
                     }});
  columns.push_back({{.key = "power_factor_ratio",
                      .header = "power",
                      .help = "of the gain, what the power limit leaves; 1: it holds no clock",
                      .shown = false},
                     [](const AdviceLine& l) {
                       return l.advice == nullptr ? Cell::missing()
                                                  : Cell::number(l.advice->power_factor, Form::ratio);
                     }});
  columns.push_back({{.key = "launches",
                      .header = "launches",
                      .help = "that it is about; of a gap the one behind it",
                      .drop_order = 1},
                     [](const AdviceLine& l) {
                       return l.advice == nullptr ? Cell::missing() : Cell::number(l.advice->launch_count);
                     }});
  columns.push_back(
      {{.key = "need",
        .header = "need",
        .help = "of `unknown`: what is to be recorded: `counters`, `samples`, `stalls`, `sectors`, "
                "`declared_work`, `ceilings`, `host_waits`, `clock_samples`, `device_facts`, `all_ranks`, "
                "`loader_range`, `whole_timeline`, `more_steps`, "
                "`recording_price`, `surer_price`",
        .align = Align::left,
        .shown = false},
       [](const AdviceLine& l) {
         return l.unknown == nullptr ? Cell::missing() : Cell::text(std::string(to_string(l.unknown->need)));
       }});
}

// What is said of a case after its number, a line each.
std::vector<std::string> details_of(const analyzer::Model& model, const AdviceReport& report,
                                    const Advice& advice) {
  std::vector<std::string> lines = {
      fmt::format("gain: {}; {}", gain_text(report, advice.net), certainty_text(advice))};
  std::string seen = evidence_text(advice.evidence);
  if (const std::string launches = launches_text(advice); !launches.empty())
    seen += (seen.empty() ? "" : " · ") + launches;
  if (!seen.empty()) lines.push_back(fmt::format("seen: {}", seen));
  lines.push_back(fmt::format("look: {}", look_command(advice.rule, model.path)));
  lines.push_back(fmt::format("read: {}", rule_reference(advice.rule)));
  return lines;
}

// Under its heading, wrapped.
std::string indented(const std::string& text, const TextStyle& style) {
  constexpr int kIndent = 3;
  std::istringstream lines(wrapped(text, style.columns - kIndent, 2));
  std::string out;
  for (std::string line; std::getline(lines, line);) out += std::string(kIndent, ' ') + line + "\n";
  return out;
}

std::string proof_line(const AdviceReport& report, const analyzer::Model& model) {
  return report.advice.empty()
             ? ""
             : fmt::format(
                   "To prove one: carry it out, record AFTER.ridge, and ridgeline compare {} "
                   "--against AFTER.ridge.",
                   model.path);
}

Json gain_json(const analyzer::AdviceGain& gain) {
  return {{"low_ns", gain.low_ns}, {"mid_ns", gain.mid_ns}, {"high_ns", gain.high_ns}};
}

Json evidence_json(const std::vector<analyzer::Evidence>& evidence) {
  Json out = Json::object();
  for (const analyzer::Evidence& figure : evidence) out[std::string(figure.name)] = figure.value;
  return out;
}

}  // namespace

std::vector<AdviceSaid> advice_said(const analyzer::Model& model, const AdviceReport& report, bool all) {
  std::vector<AdviceSaid> list;
  std::size_t number = 0;
  for (const Advice& advice : report.advice) {
    list.push_back({fmt::format("{}. {}: {}", ++number, to_string(advice.rule), advice_action(advice)),
                    details_of(model, report, advice)});
  }
  if (!all) return list;
  for (const Advice& advice : report.small) {
    list.push_back({fmt::format("small: {}: {}", to_string(advice.rule), advice_action(advice)),
                    {details_of(model, report, advice).front()}});
  }
  for (const AdviceUnknown& unknown : report.unknown) {
    list.push_back(
        {fmt::format("cannot say: {}: {}", to_string(unknown.rule), need_text(report, unknown)), {}});
  }
  for (const AdviceHealthy& healthy : report.healthy) {
    const std::string nearest = evidence_text(healthy.evidence);
    list.push_back({fmt::format("healthy: {} ({}): none{}", to_string(healthy.rule),
                                rule_meaning(healthy.rule), nearest.empty() ? "" : "; " + nearest),
                    {}});
  }
  return list;
}

std::string advice_closing(const AdviceReport& report, bool all) {
  std::string text;
  if (report.advice.size() > 1) {
    text +=
        fmt::format("All together: {}; no millisecond is in it twice. ", gain_text(report, report.together));
  }
  text +=
      report.once
          ? fmt::format(
                "Shown is what gives {} or more: the larger of 0.3 % of the {} and 10 µs, for without "
                "steps nothing says that it comes again.",
                time_text(report.min_ns), scope_noun(report.scope))
          : fmt::format(
                "Shown is what gives {} or more: the larger of 0.3 % of the {} and three times its noise.",
                time_text(report.min_ns), scope_noun(report.scope));
  if (!all) {
    text +=
        fmt::format(" {} {} less; {} found nothing, {} could not be judged: --all shows them.",
                    counted(static_cast<std::int64_t>(report.small.size()), "case"),
                    report.small.size() == 1 ? "gives" : "give",
                    counted(static_cast<std::int64_t>(report.healthy.size()), "rule"), report.unknown.size());
  }
  return text;
}

Table advice_table(const AdviceReport& report, bool all) {
  AdviceColumns columns;
  columns.push_back({{.key = "rule", .header = "rule", .help = "which rule", .align = Align::left},
                     [](const AdviceLine& l) { return Cell::text(std::string(to_string(l.rule))); }});
  columns.push_back(
      {{.key = "verdict",
        .header = "verdict",
        .help = "`advice`; `small`: below what is shown; `healthy`: nothing found; `unknown`: cannot say",
        .align = Align::left,
        .shown = all},
       [](const AdviceLine& l) { return Cell::text(std::string(l.verdict)); }});
  columns.push_back({{.key = "subject",
                      .header = "what",
                      .help = "kernel, call or cause that it is about; empty: the step as a whole",
                      .align = Align::left,
                      .elide = Elide::middle,
                      .min_width = 20},
                     [](const AdviceLine& l) {
                       const std::string subject = subject_text(l);
                       return Cell::worded(elide_kernel_name(subject, kTableSubjectColumns), subject);
                     }});
  add_gains(columns, report.step_ns);
  add_grounds(columns);
  auto lines = std::make_shared<const std::vector<AdviceLine>>(lines_of(report, all));
  return {std::move(columns), lines->size(), [lines](std::size_t i) { return (*lines)[i]; }};
}

JsonPart advice_json(const AdviceReport& report, const analyzer::Quality& quality) {
  Json out = Json::object();
  out["step_ns"] = report.step_ns;
  out["noise_ns"] = report.noise_ns;
  out["least_ns"] = report.min_ns;
  out["power_limited"] = report.power_limited;
  out["together"] = gain_json(report.together);
  Json first = Json::array();
  for (const std::string& line : first_lines(report, quality)) first.push_back(valid_utf8(line));
  out["first"] = std::move(first);
  Json cases = Json::array();
  for (const Advice& advice : report.advice) {
    Json one = Json::object();
    one["rule"] = to_string(advice.rule);
    one["subject"] = valid_utf8(advice.subject);
    one["action"] = valid_utf8(advice_action(advice));
    one["net"] = gain_json(advice.net);
    one["alone"] = gain_json(advice.alone);
    one["claimed_ns"] = advice.claimed_ns;
    one["basis"] = to_string(advice.basis);
    one["simulated"] = advice.simulated;
    one["power_factor_ratio"] = advice.power_factor;
    one["launch_count"] = advice.launch_count;
    one["launches"] = advice.launches;
    one["evidence"] = evidence_json(advice.evidence);
    one["reference"] = rule_reference(advice.rule);
    cases.push_back(std::move(one));
  }
  out["cases"] = std::move(cases);
  return {std::move(out)};
}

Document advice_document(const analyzer::Model& model, const analyzer::Analysis& analysis,
                         const DocumentOptions& options) {
  const AdviceReport& report = analysis.advice;
  const bool for_programs = options.format == Format::csv || options.format == Format::json;
  const Table table = chosen(advice_table(report, options.all || for_programs), options);
  const std::vector<std::string> first = first_lines(report, analysis.quality);
  // One rule's answer says nothing of the others.
  const bool all_rules = report.small.size() + report.unknown.size() + report.healthy.size() > 1;
  const std::string nothing = report.advice.empty() && all_rules && !first.empty() ? first.front() : "";
  switch (options.format) {
    case Format::csv:
      return csv_document(table);
    case Format::json:
      return Document([table, &model, &analysis](const Sink& sink) {
        JsonWriter out(sink, "ridgeline.advise");
        out.value("capture", capture_json(model));
        out.value("step", step_json(analysis.steps));
        out.rows("rows", table);
        out.value("advice", advice_json(analysis.advice, analysis.quality));
        out.value("quality", quality_json(analysis.quality));
        out.finish();
      });
    case Format::markdown: {
      std::string out = markdown_headline(model, analysis) + markdown_paragraph(nothing);
      if (table.size() > 0) out += render_markdown(table) + "\n";
      for (const AdviceSaid& one : advice_said(model, report, options.all)) {
        out += "- **" + markdown_cell(one.heading) + "**\n";
        for (const std::string& line : one.lines) out += "  - " + markdown_cell(line) + "\n";
      }
      return Document(out + "\n" + markdown_paragraph(advice_closing(report, options.all)) +
                      markdown_paragraph(proof_line(report, model)));
    }
    case Format::text:
      break;
  }
  std::string out = headline(model, analysis, options.text) + "\n" + paragraph(nothing, options.text);
  if (table.size() > 0) out += render_text(table, options.text) + "\n";
  for (const AdviceSaid& one : advice_said(model, report, options.all)) {
    out += styled(wrapped(terminal_safe(one.heading), options.text.columns, 3), Style::strong,
                  options.text.colour);
    out += "\n";
    for (const std::string& line : one.lines) out += indented(terminal_safe(line), options.text);
    if (!one.lines.empty()) out += "\n";
  }
  return Document(out + paragraph(advice_closing(report, options.all), options.text) +
                  paragraph(proof_line(report, model), options.text));
}

}  // namespace ridgeline::reports
