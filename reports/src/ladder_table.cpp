#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>

#include "ladder_parts.h"
#include "ridgeline/base/units.h"
#include "ridgeline/reports/ladder_documents.h"

namespace ridgeline::reports {
namespace {

using comparison::Contribution;
using comparison::LadderArmFacts;
using comparison::LadderEstimate;
using comparison::LadderRecord;
using comparison::LadderResult;
using comparison::LadderStep;
using comparison::LossVerdict;
using comparison::Outcome;

// The bottom has no step.
struct RungRow {
  const LadderRecord* record = nullptr;
  const LadderResult* result = nullptr;
  const LadderStep* step = nullptr;
  [[nodiscard]] const LadderArmFacts& facts() const { return result->arms[step == nullptr ? 0 : step->arm]; }
  [[nodiscard]] const LadderEstimate* estimate(Contribution kind) const {
    return step == nullptr ? nullptr : step->estimate(kind);
  }
};

// Logarithms and back leave digits that mean nothing and differ from machine to machine.
double without_dust(double value, double unit) {
  return std::round(value / unit) * unit;
}
constexpr double kRatioDust = 1.0 / (1 << 20);
constexpr double kTimeDust = 0.125;
constexpr double kMinP = 1e-300;  // smaller ones have fewer digits than are printed

Style rung_style(const LadderEstimate& estimate) {
  switch (estimate.outcome) {
    case Outcome::improved:
      return Style::good;
    case Outcome::regressed:
      return Style::bad;
    case Outcome::same:
      return Style::dim;
    default:
      return Style::fair;
  }
}

Cell ratio_cell(const LadderEstimate* estimate, bool difference = false) {
  if (estimate == nullptr || (estimate->rounds == 0 && !estimate->same_program)) return Cell::missing();
  const double ratio =
      without_dust(difference ? estimate->log_ratio : ladder_saved_ratio(estimate->log_ratio), kRatioDust);
  return Cell::worded(estimate->same_program ? "0" : percent(ratio, 2), ratio, rung_style(*estimate));
}

Cell width_cell(const LadderEstimate* estimate) {
  if (estimate == nullptr || !estimate->half_width) return Cell::missing();
  const double ratio = without_dust(std::exp(-estimate->log_ratio) * *estimate->half_width, kRatioDust);
  return Cell::worded(percent(ratio, 2), ratio);
}

Cell saved_cell(const LadderEstimate* estimate) {
  if (estimate == nullptr || !estimate->before_ns) return Cell::missing();
  return Cell::number(without_dust(*estimate->before_ns * ladder_saved_ratio(estimate->log_ratio), kTimeDust),
                      Form::milliseconds);
}

Cell p_cell(const LadderEstimate* estimate, std::optional<double> LadderEstimate::*member) {
  if (estimate == nullptr || !(estimate->*member)) return Cell::missing();
  // Tails of distributions differ in their last digits from library to library.
  const double p = *(estimate->*member);
  return Cell::number(p < kMinP ? 0 : std::stod(fmt::format("{:.4g}", p)), Form::general);
}

std::string count_words(const LadderStep& step) {
  if (step.kernels_came.empty() && step.kernels_went.empty()) return "0";
  std::string words;
  if (!step.kernels_came.empty()) words += fmt::format("+{}", step.kernels_came.size());
  if (!step.kernels_went.empty())
    words += fmt::format("{}−{}", words.empty() ? "" : " ", step.kernels_went.size());
  return words;
}

bool kernels_known(const RungRow& row) {
  if (row.step == nullptr) return false;
  const auto& programs = row.record->programs;
  return !programs[row.result->arms[row.step->arm].program].kernels.empty() &&
         !programs[row.result->arms[row.step->below].program].kernels.empty();
}

Cell names_cell(const RungRow& row, std::vector<std::string> LadderStep::*member) {
  if (!kernels_known(row)) return Cell::missing();
  return Cell::text(fmt::format("{}", fmt::join(row.step->*member, ", ")));
}

std::string loss_words(LossVerdict verdict) {
  switch (verdict) {
    case LossVerdict::same_bits:
      return "equal";
    case LossVerdict::same:
      return "same";
    case LossVerdict::differs:
      return "differs";
    case LossVerdict::open:
      return "open";
    case LossVerdict::not_measured:
      break;
  }
  return "–";
}

Cell fact_cell(const RungRow& row, std::optional<double> LadderArmFacts::*member, int decimals,
               double per_unit = 1) {
  const auto& value = row.facts().*member;
  if (!value) return Cell::missing();
  return Cell::worded(fixed(*value / per_unit, decimals), *value);
}

auto ratio_of(Contribution kind) {
  return [kind](const RungRow& r) { return ratio_cell(r.estimate(kind), kind == Contribution::interaction); };
}
auto width_of(Contribution kind) {
  return [kind](const RungRow& r) { return width_cell(r.estimate(kind)); };
}

// What the climb says.
std::vector<Column<RungRow>> climb_columns() {
  using R = RungRow;
  return {
      {{.key = "rung",
        .header = "rung",
        .help = "the change, on top of those above it in the table; the first row is the program without any",
        .align = Align::left,
        .elide = Elide::end,
        .min_width = 18},
       [](const R& r) {
         return Cell::text(r.step == nullptr ? "(bottom)" : r.record->rungs[r.step->rung].name,
                           Style::strong);
       }},
      {{.key = "step_ns",
        .header = "step",
        .unit = "ms",
        .help = "the step's time with it: geometric mean over the rounds of each run's median"},
       [](const R& r) {
         const auto ns = r.facts().step_ns;
         return Cell::number(ns ? std::optional(without_dust(*ns, kTimeDust)) : ns, Form::milliseconds);
       }},
      {{.key = "saved_ns",
        .header = "saved",
        .unit = "ms",
        .help = "of the step, by this rung on top of those before it: from the mean over the rounds of the "
                "logarithm of the ratio"},
       [](const R& r) { return saved_cell(r.estimate(Contribution::cumulative)); }},
      {{.key = "saved_ratio", .header = "saved", .unit = "%", .help = "the same, of the time before it"},
       ratio_of(Contribution::cumulative)},
      {{.key = "half_width_ratio",
        .header = "±",
        .unit = "%",
        .help = "half the width of its interval, which holds in 95 of 100"},
       width_of(Contribution::cumulative)},
      {{.key = "verdict",
        .header = "verdict",
        .help = "`faster` or `slower`: beyond chance, over all rungs (Holm); `no effect`: shown to be "
                "smaller than "
                "the margin; `open`: neither; `same program`: the rung changes nothing here; `not run`",
        .align = Align::left},
       [](const R& r) {
         const LadderEstimate* e = r.estimate(Contribution::cumulative);
         return e == nullptr ? Cell::text("") : Cell::text(ladder_verdict_word(*e), rung_style(*e));
       }},
      {{.key = "adjusted_p",
        .header = "p",
        .help = "that the rung does nothing, two-sided, adjusted over the rungs (Holm)",
        .shown = false},
       [](const R& r) { return p_cell(r.estimate(Contribution::cumulative), &LadderEstimate::adjusted_p); }},
      {{.key = "same_p",
        .header = "p same",
        .help = "that it does as much as the margin or more",
        .shown = false},
       [](const R& r) { return p_cell(r.estimate(Contribution::cumulative), &LadderEstimate::same_p); }},
      {{.key = "rounds", .header = "rounds", .help = "that its interval rests on", .shown = false},
       [](const R& r) {
         const LadderEstimate* e = r.estimate(Contribution::cumulative);
         return Cell::number(e == nullptr ? r.facts().rounds : e->rounds);
       }}};
}

// What the other ways to ask say.
std::vector<Column<RungRow>> other_columns() {
  using R = RungRow;
  return {
      {{.key = "alone_ratio",
        .header = "alone",
        .unit = "%",
        .help = "saved by it on top of the bottom and of what it needs",
        .drop_order = 5},
       ratio_of(Contribution::alone)},
      {{.key = "alone_half_width_ratio",
        .header = "± alone",
        .unit = "%",
        .help = "of its interval",
        .shown = false},
       width_of(Contribution::alone)},
      {{.key = "left_out_ratio",
        .header = "if left out",
        .unit = "%",
        .help = "what it saves at the top: of the step without it, where all others are on but those that "
                "need it",
        .drop_order = 4},
       ratio_of(Contribution::left_out)},
      {{.key = "left_out_half_width_ratio",
        .header = "± left out",
        .unit = "%",
        .help = "of its interval",
        .shown = false},
       width_of(Contribution::left_out)},
      {{.key = "interaction_ratio",
        .header = "interaction",
        .unit = "%",
        .help = "ln of what it saves in the climb less ln of what it saves alone: below 0 it shares its "
                "effect with "
                "rungs below it, above 0 they help it",
        .shown = false},
       ratio_of(Contribution::interaction)},
      {{.key = "interaction_p",
        .header = "p inter.",
        .help = "that there is none, adjusted over the rungs",
        .shown = false},
       [](const R& r) { return p_cell(r.estimate(Contribution::interaction), &LadderEstimate::adjusted_p); }},
      {{.key = "shapley_ratio",
        .header = "Shapley",
        .unit = "%",
        .help = "saved by it in the mean over all orders of the rungs; with --shapley",
        .shown = false},
       ratio_of(Contribution::shapley)},
      {{.key = "shapley_half_width_ratio",
        .header = "± Shapley",
        .unit = "%",
        .help = "of its interval",
        .shown = false},
       width_of(Contribution::shapley)}};
}

// What the program was like.
std::vector<Column<RungRow>> fact_columns() {
  using R = RungRow;
  return {
      {{.key = "kernels",
        .header = "kernels",
        .help = "families of kernels that came and that went",
        .drop_order = 6},
       [](const R& r) { return kernels_known(r) ? Cell::text(count_words(*r.step)) : Cell::missing(); }},
      {{.key = "launches", .header = "launches", .help = "of a step", .drop_order = 7},
       [](const R& r) { return fact_cell(r, &LadderArmFacts::launches, 0); }},
      {{.key = "sm_clock_hz",
        .header = "clock",
        .unit = "MHz",
        .help = "of the SMs while the steps ran that count, median over the rounds",
        .drop_order = 8},
       [](const R& r) { return Cell::number(r.facts().sm_clock_hz, Form::megahertz); }},
      {{.key = "power_w", .header = "power", .unit = "W", .help = "likewise", .drop_order = 10},
       [](const R& r) { return fact_cell(r, &LadderArmFacts::power_w, 0); }},
      {{.key = "joules_per_step",
        .header = "energy",
        .unit = "J/step",
        .help = "power times the step's time, or what the program says",
        .drop_order = 9},
       [](const R& r) { return fact_cell(r, &LadderArmFacts::joules_per_step, 2); }},
      {{.key = "peak_memory_bytes",
        .header = "memory",
        .unit = "GB",
        .help = "the most that the process held, by its allocations, or what the program says",
        .drop_order = 11},
       [](const R& r) { return Cell::number(r.facts().peak_memory_bytes, Form::gigabytes); }},
      {{.key = "loss",
        .header = "loss",
        .help = "as the program prints it, median over the rounds",
        .title = "loss as printed",
        .shown = false},
       [](const R& r) {
         const auto loss = r.facts().loss;
         return loss ? Cell::worded(fmt::format("{:.6g}", *loss), *loss) : Cell::missing();
       }},
      {{.key = "loss_verdict",
        .header = "loss",
        .help = "beside the rung below, on equal seeds: `equal` to the last digit printed, `same` within the "
                "margin, "
                "`differs`, or `open` (too few seeds)",
        .align = Align::left,
        .drop_order = 3},
       [](const R& r) {
         if (r.step == nullptr || r.step->loss.verdict == LossVerdict::not_measured) return Cell::missing();
         const LossVerdict verdict = r.step->loss.verdict;
         return Cell::text(loss_words(verdict), verdict == LossVerdict::differs ? Style::bad : Style::plain);
       }},
      {{.key = "loss_ratio",
        .header = "Δ loss",
        .unit = "%",
        .help = "loss less that of the rung below, of it, mean over the seeds",
        .shown = false},
       [](const R& r) {
         if (r.step == nullptr || !r.step->loss.ratio) return Cell::missing();
         return Cell::worded(percent(*r.step->loss.ratio, 3), *r.step->loss.ratio);
       }},
      {{.key = "kernels_came",
        .header = "came",
        .help = "families of kernels",
        .align = Align::left,
        .shown = false},
       [](const R& r) { return names_cell(r, &LadderStep::kernels_came); }},
      {{.key = "kernels_went", .header = "went", .help = "likewise", .align = Align::left, .shown = false},
       [](const R& r) { return names_cell(r, &LadderStep::kernels_went); }},
      {{.key = "change",
        .header = "change",
        .help = "what the rung does to the program",
        .align = Align::left,
        .shown = false},
       [](const R& r) {
         return r.step == nullptr ? Cell() : Cell::text(r.record->rungs[r.step->rung].change);
       }},
      {{.key = "command", .header = "command", .help = "what runs", .align = Align::left, .shown = false},
       [](const R& r) { return Cell::text(r.record->programs[r.facts().program].command); }}};
}

// A column of nothing but dashes says nothing. Of a table without rows all columns are declared.
void hide_what_is_unknown(Table& table, const LadderResult& result) {
  if (result.steps.empty()) return;
  const auto known = [&](std::optional<double> LadderArmFacts::*member) {
    return std::any_of(result.arms.begin(), result.arms.end(),
                       [&](const LadderArmFacts& facts) { return (facts.*member).has_value(); });
  };
  const auto asked = [&](Contribution kind) { return result.steps.front().estimate(kind) != nullptr; };
  const std::pair<const char*, bool> columns[] = {
      {"alone_ratio", asked(Contribution::alone)},
      {"left_out_ratio", asked(Contribution::left_out)},
      {"kernels", known(&LadderArmFacts::launches)},
      {"launches", known(&LadderArmFacts::launches)},
      {"sm_clock_hz", known(&LadderArmFacts::sm_clock_hz)},
      {"power_w", known(&LadderArmFacts::power_w)},
      {"joules_per_step", known(&LadderArmFacts::joules_per_step)},
      {"peak_memory_bytes", known(&LadderArmFacts::peak_memory_bytes)},
      {"loss_verdict", known(&LadderArmFacts::loss)}};
  for (const auto& [key, shown] : columns) {
    if (!shown) table.show(key, false);
  }
  if (asked(Contribution::shapley)) table.show("shapley_ratio", true);
}

}  // namespace

Table ladder_table(const LadderRecord& record, const LadderResult& result) {
  std::vector<Column<RungRow>> columns = climb_columns();
  for (auto part : {other_columns, fact_columns}) {
    for (Column<RungRow>& column : part()) columns.push_back(std::move(column));
  }
  Table table(std::move(columns), result.steps.empty() ? 0 : result.steps.size() + 1,
              [whose = &record, what = &result](std::size_t i) {
                return RungRow{whose, what, i == 0 ? nullptr : &what->steps[i - 1]};
              });
  hide_what_is_unknown(table, result);
  table.set_groups(
      {{"ways",
        {"rung", "saved_ratio", "half_width_ratio", "alone_ratio", "alone_half_width_ratio", "left_out_ratio",
         "left_out_half_width_ratio", "interaction_ratio", "interaction_p"},
        2},
       {"machine",
        {"rung", "step_ns", "sm_clock_hz", "power_w", "joules_per_step", "peak_memory_bytes", "launches"},
        2}});
  return table;
}

}  // namespace ridgeline::reports
