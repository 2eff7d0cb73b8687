// ranking_table.cpp: the ranking and the target check as tables.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <numeric>

#include "column_heads.h"
#include "ranking_columns.h"
#include "ridgeline/reports/check_text.h"
#include "ridgeline/reports/context.h"
#include "ridgeline/reports/tables.h"

namespace ridgeline::reports {
namespace {

using analyzer::RankingRow;

RankingRow rest_row(const analyzer::Ranking& ranking, std::span<const std::size_t> cut) {
  RankingRow rest;
  rest.key = fmt::format("{} more", cut.size());
  for (const std::size_t i : cut) {
    const RankingRow& row = ranking.rows[i];
    rest.calls += row.calls;
    rest.time_ns += row.time_ns;
    rest.step_share += row.step_share;
    rest.saved_target_ns += row.saved_target_ns;
    rest.saved_stretch_ns += row.saved_stretch_ns;
    rest.saved_target_latency_ns += row.saved_target_latency_ns;
    rest.measured_calls += row.measured_calls;
    rest.unmeasured_calls += row.unmeasured_calls;
  }
  return rest;
}

RankingRow sum_row(const analyzer::Ranking& ranking) {
  const analyzer::RankingTotals& t = ranking.totals;
  RankingRow sum;
  sum.key = "all";
  sum.calls = t.calls;
  sum.time_ns = t.time_ns;
  sum.step_share = t.step_ns > 0 ? static_cast<double>(t.time_ns) / static_cast<double>(t.step_ns) : 0.0;
  sum.saved_target_ns = t.saved_target_ns;
  sum.saved_stretch_ns = t.saved_stretch_ns;
  if (ranking.reach && ranking.reach->known()) {
    sum.reached_target_ns = ranking.reach->target_ns;
    sum.reached_stretch_ns = ranking.reach->stretch_ns;
  }
  sum.measured_calls = t.measured_calls;
  sum.unmeasured_calls = t.unmeasured_calls;
  sum.work = t.work;
  return sum;
}

// One row of the target check.
struct CheckLine {
  const analyzer::KernelCheck* check;
  const RankingRow* row;
  const analyzer::TargetCheck* all;
};

Style verdict_style(analyzer::KernelVerdict verdict) {
  switch (verdict) {
    case analyzer::KernelVerdict::missed:
      return Style::bad;
    case analyzer::KernelVerdict::stretch:
      return Style::good;
    case analyzer::KernelVerdict::not_measured:
      return Style::fair;
    default:
      return Style::plain;
  }
}

const analyzer::KernelBudget* budget_of(const CheckLine& line) {
  return line.check->budget ? &line.all->options.budgets[*line.check->budget] : nullptr;
}

using CheckColumns = std::vector<Column<CheckLine>>;

Cell saving_cell(const CheckLine& l, std::optional<double> saving_ns) {
  return saving_is_known(*l.row) ? Cell::number(saving_ns, Form::milliseconds) : Cell::missing();
}

void add_verdict(CheckColumns& columns, analyzer::ScopeKind scope) {
  const std::string noun(scope_noun(scope));
  columns.push_back({{.key = "key",
                      .header = "kernel",
                      .help = "demangled name",
                      .align = Align::left,
                      .elide = Elide::kernel_name,
                      .min_width = 28},
                     [](const CheckLine& l) { return Cell::text(l.row->key); }});
  columns.push_back(
      {{.key = "verdict",
        .header = "verdict",
        .help = "`missed`, `met`, `stretch`, `below_min_share`, `launch_bound`, `no_roof`, `not_measured`",
        .align = Align::left},
       [](const CheckLine& l) {
         const std::string_view verdict = to_string(l.check->verdict);
         return Cell::worded(in_words(verdict), std::string(verdict), verdict_style(l.check->verdict));
       }});
  columns.push_back({{.key = "step_share_ratio",
                      .header = noun,
                      .unit = "%",
                      .help = "time ÷ the step's time",
                      .title = "of " + noun},
                     [](const CheckLine& l) { return Cell::number(l.row->step_share, Form::percent); }});
  columns.push_back({{.key = "time_ns",
                      .header = "time",
                      .unit = "ms",
                      .help = "summed time of its launches in the step",
                      .drop_order = 3},
                     [](const CheckLine& l) { return Cell::number(l.row->time_ns, Form::milliseconds); }});
}

void add_roof(CheckColumns& columns) {
  columns.push_back(
      {{.key = "utilisation_ratio",
        .header = "roof",
        .unit = "%",
        .help = "utilisation of the nearest roof",
        .title = "nearest roof"},
       [](const CheckLine& l) { return Cell::number(l.row->nearest_roof_ratio, Form::percent); }});
  columns.push_back({{.key = "required_ratio",
                      .header = "target",
                      .unit = "%",
                      .help = "the utilisation that was required"},
                     [](const CheckLine& l) { return Cell::number(l.check->required, Form::percent); }});
  columns.push_back(
      {{.key = "limiter",
        .header = "nearest",
        .unit = "roof",
        .help = "nearest roof, as in `rank`",
        .align = Align::left,
        .drop_order = 2},
       [](const CheckLine& l) { return Cell::worded(nearest_word(*l.row), nearest_roof_word(*l.row)); }});
  columns.push_back({{.key = "bound",
                      .header = "bound",
                      .help = "what bounds it, as in `rank`",
                      .align = Align::left,
                      .drop_order = 1},
                     [](const CheckLine& l) {
                       return Cell::worded(bound_word(*l.row), std::string(to_string(l.row->bound)));
                     }});
}

void add_saving(CheckColumns& columns, bool simulated, analyzer::ScopeKind scope) {
  columns.push_back({{.key = "saved_target_ns",
                      .header = "saving",
                      .unit = "ms",
                      .help = "saving at the target, as in `rank`",
                      .title = "saving",
                      .drop_order = 4},
                     [](const CheckLine& l) { return saving_cell(l, l.row->saved_target_ns); }});
  columns.push_back({{.key = "reached_target_ns",
                      .header = "reaches",
                      .unit = std::string(simulated_noun(scope)) + ", ms",
                      .help = "what of it reaches the step, as in `rank`",
                      .title = "saving that reaches the " + std::string(simulated_noun(scope)),
                      .title_unit = "ms",
                      .drop_order = 2,
                      .shown = simulated},
                     [](const CheckLine& l) { return saving_cell(l, l.row->reached_target_ns); }});
  columns.push_back({extra({.key = "saved_target_exposed_ns",
                            .header = "exposed",
                            .unit = "ms",
                            .help = "of the saving, what does not run beside other kernels, as in `rank`",
                            .title = "saving beside no other kernel"}),
                     [](const CheckLine& l) { return saving_cell(l, l.row->saved_target_exposed_ns); }});
}

void add_reasons(CheckColumns& columns) {
  columns.push_back(
      {extra_text({.key = "text", .header = "why", .help = "the figures behind the verdict"}),
       [](const CheckLine& l) { return Cell::text(kernel_check_text(*l.all, *l.row, *l.check)); }});
  columns.push_back(
      {extra_text(
           {.key = "budget", .header = "budget", .help = "pattern of the budget that matched, if any"}),
       [](const CheckLine& l) {
         const auto* budget = budget_of(l);
         return budget == nullptr ? Cell::missing() : Cell::text(budget->kernel);
       }});
  columns.push_back({extra_text({.key = "budget_reason",
                                 .header = "reason of the budget",
                                 .help = "why that budget is what it is"}),
                     [](const CheckLine& l) {
                       const auto* budget = budget_of(l);
                       return budget == nullptr ? Cell::missing() : Cell::text(budget->reason);
                     }});
}

CheckColumns check_columns(bool simulated, analyzer::ScopeKind scope) {
  CheckColumns columns;
  add_verdict(columns, scope);
  add_roof(columns);
  add_saving(columns, simulated, scope);
  add_reasons(columns);
  return columns;
}

}  // namespace

Cell minimum_roof_cell(const analyzer::WorkSum& work) {
  if (!work.minimum_roof) return Cell::missing();
  return Cell::text(*work.minimum_roof == analyzer::Roof::kDram ? "DRAM" : "FLOP");
}

Style utilisation_style(double ratio, double target, double stretch) {
  return ratio >= stretch ? Style::good : ratio >= target ? Style::plain : Style::bad;
}

std::string nearest_roof_word(const RankingRow& row) {
  const std::int64_t largest =
      std::max({row.measured_time_ns, row.too_short_time_ns, row.no_roof_time_ns, row.unmeasured_time_ns});
  if (row.nearest_roof_ratio && row.nearest && row.measured_time_ns == largest)
    return std::string(to_string(*row.nearest));
  if (row.too_short_time_ns == largest && largest > 0) return "launch";
  if (row.no_roof_time_ns == largest && largest > 0) return "no roof";
  return "?";
}

std::string nearest_word(const RankingRow& row) {
  std::string text = nearest_roof_word(row);
  if (text == "launch") return bound_word(analyzer::KernelBound::too_short);
  // "no roof" and "?" are no roofs that another could be as near as.
  if (row.nearest && text == to_string(*row.nearest) && !row.near_roofs.empty()) text += "≈";
  return text;
}

std::string bound_word(analyzer::KernelBound bound) {
  switch (bound) {
    case analyzer::KernelBound::too_short:
      return "short";
    case analyzer::KernelBound::no_roof:
      return "no roof";
    case analyzer::KernelBound::unmeasured:
      return "?";
    default:
      return std::string(to_string(bound));
  }
}

std::string bound_word(const RankingRow& row) {
  return bound_word(row.bound);
}

Table ranking_table(const analyzer::UtilisationAnalysis& utilisation, const analyzer::Ranking& ranking) {
  const std::vector<Column<RankingLine>> columns =
      ranking_columns({ranking.options, utilisation.sampled, ranking.reach && ranking.reach->known(),
                       ranking.scope, ranking.scope != analyzer::ScopeKind::step, ranking.totals.step_ns});
  Table table(columns, ranking.rows.size(), [&ranking, &utilisation](std::size_t i) {
    return RankingLine{&ranking.rows[i], i + 1, &ranking.options, &utilisation};
  });
  table.set_groups(ranking_groups());
  const auto cells = [columns, &ranking, &utilisation](const RankingRow& row, Total kind) {
    return total_cells(columns, RankingLine{&row, 0, &ranking.options, &utilisation}, kind);
  };
  table.set_rest([cells, &ranking](std::span<const std::size_t> cut) {
    return cells(rest_row(ranking, cut), Total::parts);
  });
  table.add_total(cells(sum_row(ranking), Total::all));
  return table;
}

Table check_table(const analyzer::TargetCheck& check, const analyzer::Ranking& ranking, bool all) {
  auto order = std::make_shared<std::vector<std::size_t>>();
  for (std::size_t i = 0; i < check.kernels.size(); ++i) {
    if (all || check.kernels[i].verdict != analyzer::KernelVerdict::below_min_share) order->push_back(i);
  }
  const auto missed = [&](std::size_t i) {
    return check.kernels[i].verdict == analyzer::KernelVerdict::missed;
  };
  std::stable_sort(order->begin(), order->end(), [&](std::size_t a, std::size_t b) {
    if (missed(a) != missed(b)) return missed(a);
    return ranking.rows[check.kernels[a].row].step_share > ranking.rows[check.kernels[b].row].step_share;
  });
  const bool simulated = ranking.reach && ranking.reach->known();
  return {check_columns(simulated, ranking.scope), order->size(), [order, &check, &ranking](std::size_t i) {
            const analyzer::KernelCheck& kernel = check.kernels[(*order)[i]];
            return CheckLine{&kernel, &ranking.rows[kernel.row], &check};
          }};
}

}  // namespace ridgeline::reports
