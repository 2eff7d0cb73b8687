// ranks_html.cpp: many ranks as one page, with the lateness of ranks over steps as a picture.
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "html_parts.h"
#include "html_style.h"
#include "html_table.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/escape.h"
#include "ridgeline/reports/ranks_document.h"
#include "ridgeline/reports/ranks_pictures.h"
#include "ridgeline/reports/svg.h"
#include "ridgeline/reports/version.h"

namespace ridgeline::reports {
namespace {

using analyzer::JobAnalysis;

constexpr std::size_t kMaxPictureRows = 128;
constexpr std::size_t kMaxPictureSteps = 100;
constexpr std::size_t kPageRows = 200;
// Of cells: seven shades, blue for early, red for late, of what is enough to be named.
constexpr const char* kRanksStyle =
    "svg .h-3{fill:#2f6fde}svg .h-2{fill:#8fb1ec}svg .h-1{fill:#cddcf6}svg .h0{fill:var(--track)}"
    "svg .h1{fill:#f6cfc9}svg .h2{fill:#ea8478}svg .h3{fill:#c3271b}"
    "svg .own{fill:var(--track)}svg .wait{fill:#e08a1e}svg .transfer{fill:#2f6fde}svg "
    ".join{stroke:currentColor;opacity:.35}"
    "svg .skew{fill:#8fb1ec}svg .late{fill:#c3271b}svg .waits{stroke:currentColor;stroke-width:1.5}";

// Of ranks and steps that share a cell: the latest, with its sign.
double cell_of(const JobAnalysis& of, std::size_t first_rank, std::size_t last_rank, std::size_t first_step,
               std::size_t last_step) {
  double most = 0;
  for (std::size_t step = first_step; step < last_step; ++step) {
    for (std::size_t rank = first_rank; rank < last_rank; ++rank) {
      const double value = of.step_costs[step].rank_lateness_ns[rank];
      if (std::abs(value) > std::abs(most)) most = value;
    }
  }
  return most;
}

// -3 to 3: 3 from twice what is named, 2 from what is, 1 from half of it.
int shade(double lateness_ns, double threshold_ns) {
  const double ratio = threshold_ns > 0 ? std::abs(lateness_ns) / threshold_ns : 0;
  const int level = ratio >= 2 ? 3 : ratio >= 1 ? 2 : ratio >= 0.5 ? 1 : 0;
  return lateness_ns < 0 ? -level : level;
}

std::string skew_section(const JobAnalysis& of) {
  return fmt::format(
      "<section>\n<h2>Skew over steps</h2>\n<figure>{}<figcaption>Columns: how much later the slowest rank "
      "is than the "
      "others, red where that is named. Line: what a rank waits for others, mean over "
      "ranks.</figcaption></figure>\n"
      "</section>\n",
      skew_picture(of));
}

std::string step_section(const analyzer::JobStepRows& step) {
  return fmt::format(
      "<section>\n<h2>One step, rank by rank</h2>\n<figure>{}<figcaption>{} Orange: in a collective, waiting "
      "for the last "
      "rank; blue: transfer; low where kernels compute beside it. Lines join the calls of one "
      "collective.</figcaption>"
      "</figure>\n</section>\n",
      step_rows_picture(step), html_escape(step_rows_sentence(step)));
}

std::string table_section(const char* title, const char* caption, Table table, const HtmlTable& how) {
  table.keep(kPageRows);
  return fmt::format("<section class=\"long\">\n<h2>{}</h2>\n<p class=\"soft\">{}</p>\n{}</section>\n", title,
                     caption, html_table(table, how));
}

}  // namespace

std::string lateness_picture(const JobAnalysis& of) {
  const std::size_t ranks = of.ranks.size();
  const std::size_t steps = of.step_costs.size();
  const std::size_t rows = std::min(ranks, kMaxPictureRows);
  const std::size_t columns = std::min(steps, kMaxPictureSteps);
  constexpr double kLeft = 70;
  constexpr double kWidth = 1000;
  constexpr double kTop = 6;
  const double cell_width = (kWidth - kLeft - 6) / static_cast<double>(columns);
  const double cell_height = std::clamp(600.0 / static_cast<double>(rows), 5.0, 24.0);
  const double bottom = kTop + cell_height * static_cast<double>(rows);
  Svg svg(kWidth, bottom + 40, "Lateness of each rank in each step");
  const std::size_t label_every =
      std::max<std::size_t>(1, static_cast<std::size_t>(std::ceil(14 / cell_height)));
  for (std::size_t row = 0; row < rows; ++row) {
    const std::size_t first = row * ranks / rows;
    const std::size_t last = (row + 1) * ranks / rows;
    const double y = kTop + cell_height * static_cast<double>(row);
    if (row % label_every == 0)
      svg.text(kLeft - 8, y + cell_height / 2 + 4, fmt::format("rank {}", of.ranks[first]), "tick",
               Svg::Anchor::end);
    for (std::size_t column = 0; column < columns; ++column) {
      const std::size_t first_step = column * steps / columns;
      const double value = cell_of(of, first, last, first_step, (column + 1) * steps / columns);
      svg.rect(kLeft + cell_width * static_cast<double>(column), y, cell_width - 1, cell_height - 1,
               fmt::format("h{}", shade(value, of.late_threshold_ns)),
               fmt::format("rank {}, step {}: {}{}", of.ranks[first], of.step_costs[first_step].step_index,
                           value > 0 ? "+" : "", time_text(value)));
    }
  }
  const std::size_t tick_every = std::max<std::size_t>(1, columns / 10);
  for (std::size_t column = 0; column < columns; column += tick_every)
    svg.text(kLeft + cell_width * (static_cast<double>(column) + 0.5), bottom + 16,
             fmt::format("{}", of.step_costs[column * steps / columns].step_index), "tick",
             Svg::Anchor::middle);
  svg.text(kLeft, bottom + 34, "step", "axis");
  return svg.finish();
}

std::string ranks_page(const JobAnalysis& of, const analyzer::JobStepRows* step) {
  std::string out = fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\" xmlns=\"http://www.w3.org/1999/xhtml\">\n<head>\n<meta "
      "charset=\"utf-8\"/>\n"
      "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
      "'unsafe-inline'\"/>\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>\n"
      "<title>Ranks – "
      "Ridgeline</title>\n<style>{}{}</style>\n</head>\n<body>\n<main>\n<header>\n<h1>{}</h1>\n",
      kStyle, kRanksStyle, html_escape(counted(static_cast<std::int64_t>(of.ranks.size()), "rank")));
  const std::vector<std::string> said = ranks_sentences(of);
  const bool healthy = of.recurrence == analyzer::Recurrence::nobody;
  const bool unsaid = of.recurrence == analyzer::Recurrence::cannot_say;
  for (std::size_t i = 0; i < said.size(); ++i) {
    if (i == 1) {
      out.append(fmt::format("<div class=\"verdict {}\">{}</div>\n",
                             healthy  ? "met"
                             : unsaid ? "unknown"
                                      : "missed",
                             html_escape(said[i])));
    } else {
      out.append(html_paragraph(said[i]));
    }
  }
  out.append("</header>\n<section>\n<h2>Who is late when</h2>\n<figure>").append(lateness_picture(of));
  out.append(fmt::format(
      "<figcaption>A row a rank, a column a step. Red: its own part of the step takes longer than that of "
      "the others; "
      "from the second shade on by more than {}, which is named. Blue: "
      "shorter.{}</figcaption></figure>\n</section>\n",
      html_escape(time_text(of.late_threshold_ns)),
      of.ranks.size() > kMaxPictureRows ? " Several ranks share a row: the one that is furthest off is shown."
                                        : ""));
  out.append(skew_section(of));
  if (step != nullptr) out.append(step_section(*step));
  HtmlTable kernels;
  kernels.name_key = "kernel";
  kernels.noun = "kernel";
  HtmlTable ranks;
  ranks.noun = "rank";
  HtmlTable collectives;
  collectives.noun = "collective";
  HtmlTable steps;
  steps.noun = "step";
  Table by_lateness = rank_costs_table(of);
  if (of.ranks.size() > kPageRows) by_lateness.sort("-lateness_ns");
  out.append(table_section("Ranks", "Medians over steps.", std::move(by_lateness), ranks));
  out.append(table_section("Where a step's time goes",
                           "Means over ranks and steps; the parts add up to the step.", job_account_table(of),
                           {}));
  if (!of.interference.kernels.empty())
    out.append(table_section("Kernels beside collectives",
                             "Against launches of the same kinds beside none; times of a step of a rank.",
                             interference_table(of), kernels));
  out.append(table_section("Collectives", "One row a place in the step's sequence.", collectives_table(of),
                           collectives));
  out.append(table_section("Steps", "Over all ranks.", job_steps_table(of), steps));
  out.append(table_section("Kernels over ranks", "Time in a step.", kernels_over_ranks_table(of), kernels));
  out.append(fmt::format("<footer>\n<p>Made by Ridgeline {}.</p>\n</footer>\n</main>\n</body>\n</html>\n",
                         kVersion));
  return out;
}

}  // namespace ridgeline::reports
