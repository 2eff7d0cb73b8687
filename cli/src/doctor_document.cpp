#include "doctor_document.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "ridgeline/reports/escape.h"
#include "ridgeline/reports/json_writer.h"
#include "ridgeline/reports/table.h"

namespace ridgeline::cli {
namespace {

using reports::Style;

Style style_of(launch::CheckStatus status) {
  return status == launch::CheckStatus::ok     ? Style::good
         : status == launch::CheckStatus::warn ? Style::fair
                                               : Style::bad;
}

reports::Table checks_table(const launch::DoctorReport& report) {
  using launch::DoctorCheck;
  using reports::Align, reports::Cell, reports::Elide;
  std::vector<reports::Column<DoctorCheck>> columns = {
      {{.key = "name", .header = "check", .help = "what was looked at", .align = Align::left},
       [](const DoctorCheck& c) { return Cell::text(c.name); }},
      {{.key = "status", .header = "status", .help = "ok, warn or fail", .align = Align::left},
       [](const DoctorCheck& c) {
         return Cell::text(std::string(check_status_name(c.status)), style_of(c.status));
       }},
      {{.key = "detail",
        .header = "found",
        .help = "what was found",
        .align = Align::left,
        .elide = Elide::end},
       [](const DoctorCheck& c) { return Cell::text(c.detail); }},
      {{.key = "remedy",
        .header = "what to do",
        .help = "what to do about it",
        .align = Align::left,
        .elide = Elide::end,
        .drop_order = 1},
       [](const DoctorCheck& c) { return Cell::text(c.remedy); }},
  };
  return {std::move(columns), report.checks.size(),
          [&report](std::size_t i) -> const DoctorCheck& { return report.checks[i]; }};
}

// Sentences do not fit into a table: each check is a line, its remedy below it.
std::string doctor_text(const launch::DoctorReport& report, const reports::TextStyle& style) {
  std::size_t width = 0;
  for (const launch::DoctorCheck& check : report.checks) width = std::max(width, check.name.size());
  std::string out;
  const int indent = static_cast<int>(width) + 8;
  const auto hanging = [&](const std::string& text) {
    std::string hung;
    for (const char c : reports::wrapped(reports::terminal_safe(text), style.columns - indent)) {
      hung += c;
      if (c == '\n') hung += std::string(static_cast<std::size_t>(indent), ' ');
    }
    return hung + "\n";
  };
  const std::string margin(static_cast<std::size_t>(indent), ' ');
  for (const launch::DoctorCheck& check : report.checks) {
    const std::string status(check_status_name(check.status));
    out += reports::styled(fmt::format("{:<5}", status), style_of(check.status), style.colour) +
           fmt::format(" {:<{}}  ", reports::terminal_safe(check.name), width) + hanging(check.detail);
    if (!check.remedy.empty()) out += margin + hanging("→ " + check.remedy);
  }
  out += "\n";
  for (const launch::TierForecast& tier : report.tiers) {
    out += reports::styled(fmt::format("{:<5}", tier.available ? "yes" : "no"),
                           tier.available ? Style::good : Style::bad, style.colour) +
           fmt::format(" {:<{}}  ", "tier " + std::string(to_string(tier.tier)), width) +
           hanging(tier.reason);
  }
  return out + "\n" + reports::wrapped(reports::terminal_safe(report.overall), style.columns) + "\n";
}

reports::Document json_document(const launch::DoctorReport& report) {
  return reports::Document([&report](const reports::Sink& sink) {
    reports::JsonWriter out(sink, "ridgeline.doctor");
    out.value("can_record", report.can_record());
    out.value("overall", reports::valid_utf8(report.overall));
    out.rows("checks", checks_table(report));
    nlohmann::ordered_json tiers = nlohmann::ordered_json::array();
    for (const launch::TierForecast& tier : report.tiers) {
      tiers.push_back({{"tier", to_string(tier.tier)},
                       {"available", tier.available},
                       {"reason", reports::valid_utf8(tier.reason)}});
    }
    out.value("tiers", tiers);
    out.finish();
  });
}

}  // namespace

reports::Document doctor_document(const launch::DoctorReport& report, const reports::DocumentOptions& how) {
  switch (how.format) {
    case reports::Format::csv:
      return reports::Document([&report](const reports::Sink& out) { write_csv(checks_table(report), out); });
    case reports::Format::markdown:
      return reports::Document(reports::render_markdown(checks_table(report)));
    case reports::Format::json:
      return json_document(report);
    case reports::Format::text:
      break;
  }
  return reports::Document(doctor_text(report, how.text));
}

}  // namespace ridgeline::cli
