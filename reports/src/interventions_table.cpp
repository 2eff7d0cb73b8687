// interventions_table.cpp: delayed launches and the levels of their delays as tables.
#include "ridgeline/base/units.h"
#include "ridgeline/reports/interventions_document.h"

namespace ridgeline::reports {
namespace {

using analyzer::DelayLevel;
using analyzer::InterventionAnalysis;
using analyzer::InterventionEstimate;
using analyzer::LaunchIntervention;
using analyzer::SlopeVerdict;

struct InterventionRow {
  const analyzer::Model* model = nullptr;
  const LaunchIntervention* launch = nullptr;
  const DelayLevel* level = nullptr;  // of delay_levels_table()
};
using InterventionColumns = std::vector<Column<InterventionRow>>;

std::string kernel_text(const InterventionRow& row) {
  const auto kernel = row.model->kernels.find(row.launch->kernel_id);
  return kernel == row.model->kernels.end() ? "?" : kernel->second.demangled_name;
}

std::string verdict_word(SlopeVerdict verdict) {
  switch (verdict) {
    case SlopeVerdict::agree:
      return "agree";
    case SlopeVerdict::differ:
      return "differ";
    case SlopeVerdict::not_simulated:
      return "not_simulated";
    case SlopeVerdict::too_few_steps:
      return "too_few_steps";
    case SlopeVerdict::too_uncertain:
      return "too_uncertain";
    case SlopeVerdict::no_delays:
      return "no_delays";
  }
  return "";
}

Style verdict_style(SlopeVerdict verdict) {
  if (verdict == SlopeVerdict::agree) return Style::good;
  return verdict == SlopeVerdict::differ ? Style::bad : Style::fair;
}

auto estimate_value(std::optional<InterventionEstimate> LaunchIntervention::*of,
                    double InterventionEstimate::*member, Form form, Style style = Style::plain) {
  return [=](const InterventionRow& row) {
    const auto& known = row.launch->*of;
    return known ? Cell::number((*known).*member, form, style) : Cell::missing();
  };
}

void add_launch(InterventionColumns& columns) {
  columns.push_back({{.key = "kernel",
                      .header = "kernel",
                      .help = "kernel of the launch that was delayed",
                      .align = Align::left,
                      .elide = Elide::middle},
                     [](const InterventionRow& row) { return Cell::text(kernel_text(row)); }});
  columns.push_back(
      {{.key = "ordinal", .header = "launch", .help = "place of the launch in its step, from 0"},
       [](const InterventionRow& row) { return Cell::number(row.launch->ordinal); }});
  columns.push_back(
      {{.key = "process_id", .header = "process", .help = "id of the process in the capture", .shown = false},
       [](const InterventionRow& row) { return Cell::number(row.launch->process_id); }});
}

void add_slopes(InterventionColumns& columns) {
  using Launch = LaunchIntervention;
  columns.push_back(
      {{.key = "slope",
        .header = "slope",
        .help = "time that the step gets longer by for a time that the launch comes later: 1 on the "
                "critical path, 0 with slack"},
       estimate_value(&Launch::slope, &InterventionEstimate::value, Form::ratio, Style::strong)});
  columns.push_back(
      {{.key = "slope_low", .header = "from", .help = "95 % interval of the slope …", .drop_order = 3},
       estimate_value(&Launch::slope, &InterventionEstimate::low, Form::ratio)});
  columns.push_back({{.key = "slope_high", .header = "to", .help = "… and its end", .drop_order = 4},
                     estimate_value(&Launch::slope, &InterventionEstimate::high, Form::ratio)});
  columns.push_back(
      {{.key = "simulated_slope",
        .header = "simulated",
        .help = "slope of the simulated step, for the same delays"},
       [](const InterventionRow& row) { return Cell::number(row.launch->simulated_slope, Form::ratio); }});
  columns.push_back(
      {{.key = "verdict",
        .header = "verdict",
        .help = "`agree`: the simulated slope is within the interval, or 0.1 beside it; `differ`; or why it "
                "cannot be said: `not_simulated`, `too_few_steps`, `too_uncertain` (the interval is wider "
                "than 1), `no_delays`",
        .align = Align::left},
       [](const InterventionRow& row) {
         return Cell::text(verdict_word(row.launch->verdict), verdict_style(row.launch->verdict));
       }});
}

void add_slack(InterventionColumns& columns) {
  using Launch = LaunchIntervention;
  columns.push_back({{.key = "slack_ns",
                      .header = "slack",
                      .unit = "µs",
                      .help = "delay that the step bears before it gets longer; not known, or none: missing"},
                     estimate_value(&Launch::slack, &InterventionEstimate::value, Form::microseconds)});
  columns.push_back({{.key = "slack_low_ns",
                      .header = "from",
                      .unit = "µs",
                      .help = "95 % interval of it …",
                      .shown = false},
                     estimate_value(&Launch::slack, &InterventionEstimate::low, Form::microseconds)});
  columns.push_back(
      {{.key = "slack_high_ns", .header = "to", .unit = "µs", .help = "… and its end", .shown = false},
       estimate_value(&Launch::slack, &InterventionEstimate::high, Form::microseconds)});
  columns.push_back({{.key = "slack_reached",
                      .header = "end",
                      .help = "false: it bears the longest delay that there was, and perhaps more",
                      .align = Align::left,
                      .drop_order = 2},
                     [](const InterventionRow& row) {
                       if (!row.launch->slack) return Cell();
                       return Cell::worded(row.launch->slack_reached ? "" : "or more",
                                           row.launch->slack_reached);
                     }});
}

void add_counts(InterventionColumns& columns) {
  columns.push_back({{.key = "delayed_steps",
                      .header = "delayed",
                      .help = "steps in which it was delayed",
                      .drop_order = 5},
                     [](const InterventionRow& row) { return Cell::number(row.launch->delayed_steps); }});
  columns.push_back({{.key = "sham_steps",
                      .header = "shams",
                      .help = "drawn steps in which nothing was delayed",
                      .drop_order = 6},
                     [](const InterventionRow& row) { return Cell::number(row.launch->sham_steps); }});
  columns.push_back({{.key = "sham_ns",
                      .header = "sham",
                      .unit = "µs",
                      .help = "time on the device of a delay kernel that delays nothing, median",
                      .drop_order = 1},
                     [](const InterventionRow& row) {
                       return row.launch->sham_ns > 0 ? Cell::number(row.launch->sham_ns, Form::microseconds)
                                                      : Cell::missing();
                     }});
}

}  // namespace

Table interventions_table(const analyzer::Model& model, const InterventionAnalysis& answer) {
  InterventionColumns columns;
  add_launch(columns);
  add_slopes(columns);
  add_slack(columns);
  add_counts(columns);
  return Table(std::move(columns), answer.launches.size(), [&model, &answer](std::size_t i) {
    return InterventionRow{&model, &answer.launches[i], nullptr};
  });
}

Table delay_levels_table(const analyzer::Model& model, const InterventionAnalysis& answer) {
  std::vector<InterventionRow> rows;
  for (const LaunchIntervention& launch : answer.launches) {
    for (const DelayLevel& level : launch.levels) rows.push_back({&model, &launch, &level});
  }
  InterventionColumns columns;
  add_launch(columns);
  columns.push_back(
      {{.key = "level_ns", .header = "asked", .unit = "µs", .help = "delay that was asked for"},
       [](const InterventionRow& row) { return Cell::number(row.level->level_ns, Form::microseconds); }});
  columns.push_back(
      {{.key = "delay_ns",
        .header = "delay",
        .unit = "µs",
        .help = "by which the delay kernel took longer than a sham, median"},
       [](const InterventionRow& row) { return Cell::number(row.level->delay_ns, Form::microseconds); }});
  columns.push_back({{.key = "longer_ns",
                      .header = "step longer",
                      .unit = "µs",
                      .help = "median of these steps over that of the shams, each with the step after it"},
                     [](const InterventionRow& row) {
                       return Cell::number(row.level->longer_ns, Form::microseconds, Style::strong);
                     }});
  columns.push_back(
      {{.key = "simulated_ns",
        .header = "simulated",
        .unit = "µs",
        .help = "what the simulated step gets longer by"},
       [](const InterventionRow& row) { return Cell::number(row.level->simulated_ns, Form::microseconds); }});
  columns.push_back({{.key = "steps", .header = "steps", .help = "with this delay"},
                     [](const InterventionRow& row) { return Cell::number(row.level->steps); }});
  const std::size_t count = rows.size();
  return Table(std::move(columns), count, [rows = std::move(rows)](std::size_t i) { return rows[i]; });
}

}  // namespace ridgeline::reports
