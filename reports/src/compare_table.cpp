// compare_table.cpp: the tables of a comparison.
#include <fmt/format.h>

#include <cmath>

#include "ridgeline/base/units.h"
#include "ridgeline/reports/compare_documents.h"
#include "ridgeline/reports/elide.h"
#include "ridgeline/reports/tables.h"

namespace ridgeline::reports {
namespace {

using comparison::Change;
using comparison::KernelChange;
using comparison::Outcome;

Style outcome_style(Outcome outcome) {
  switch (outcome) {
    case Outcome::regressed:
      return Style::bad;
    case Outcome::improved:
      return Style::good;
    case Outcome::added:
    case Outcome::removed:
      return Style::fair;
    default:
      return Style::dim;
  }
}

Cell outcome_cell(Outcome outcome, comparison::OutcomeReason reason, bool hint) {
  std::string words(to_string(outcome));
  for (char& c : words) c = c == '_' ? ' ' : c;
  // Its change may be large, and still nothing that the step feels.
  if (outcome == Outcome::same && reason == comparison::OutcomeReason::small) words = "negligible";
  if (hint) words += " (hint)";
  return Cell::worded(words, std::string(to_string(outcome)), outcome_style(outcome));
}

Cell interval_cell(const Change& change) {
  if (!change.interval) return Cell::missing();
  const auto number = [](double ratio) {
    const std::string digits = percent(std::abs(ratio));
    const bool zero = digits.find_first_not_of("0.") == std::string::npos;
    return (zero ? "" : ratio < 0 ? "−" : "+") + digits;
  };
  return Cell::text(number(change.interval->low) + " … " + number(change.interval->high));
}

Cell probability(const std::optional<double>& p) {
  if (!p) return Cell::missing();
  return Cell::worded(*p < 0.0001 ? "<0.0001" : fixed(*p, 4), *p);
}

Cell signed_cell(double value, Form form, Outcome outcome) {
  const Style style =
      outcome == Outcome::regressed || outcome == Outcome::improved ? outcome_style(outcome) : Style::plain;
  const std::string digits = form == Form::percent ? percent(std::abs(value)) : microseconds(std::abs(value));
  const bool zero = digits.find_first_not_of("0.") == std::string::npos;
  return Cell::worded((zero ? "" : value < 0 ? "−" : "+") + digits, value, style);
}

Cell two_values(const std::optional<double>& a, const std::optional<double>& b) {
  const auto words = [](const std::optional<double>& ratio) {
    return ratio ? percent(*ratio, 0) : std::string(kMissing);
  };
  if (!a && !b) return Cell::missing();
  return Cell::text(words(a) + "→" + words(b));
}

std::string bound_word_of(analyzer::KernelBound bound) {
  std::string word(to_string(bound));
  for (char& c : word) c = c == '_' ? ' ' : c;
  return bound == analyzer::KernelBound::unmeasured ? "?" : word;
}

Cell bounds_cell(const KernelChange& change) {
  if (change.bound_a == change.bound_b) return Cell::text(bound_word_of(change.bound_a), Style::dim);
  return Cell::text(bound_word_of(change.bound_a) + "→" + bound_word_of(change.bound_b));
}

ColumnHead hidden(ColumnHead head) {
  head.shown = false;
  return head;
}

std::string counts_text(const KernelChange& change) {
  std::string text;
  for (const comparison::CountChange& count : change.counts)
    text += fmt::format("{}{} {:.6g} → {:.6g}", text.empty() ? "" : ", ", count.name, count.a, count.b);
  return text;
}

using Columns = std::vector<Column<KernelChange>>;

void add_times(Columns& columns) {
  columns.push_back({{.key = "kernel",
                      .header = "kernel",
                      .help = "demangled name; `old → new` where it changed, with all kernels of a group",
                      .align = Align::left,
                      .elide = Elide::kernel_name,
                      .least_width = 28},
                     [](const KernelChange& k) { return Cell::text(change_name(k)); }});
  columns.push_back({{.key = "outcome",
                      .header = "outcome",
                      .help = "`regressed`, `improved`, `same` (shown to differ by less than the margin, "
                              "or, as negligible, for the step to feel), `inconclusive`, `added`, `removed`, "
                              "`not_measured`; (hint): one run a side, and more "
                              "than the spread inside it",
                      .align = Align::left},
                     [](const KernelChange& k) { return outcome_cell(k.outcome, k.reason, k.hint); }});
  columns.push_back({{.key = "time_a_ns",
                      .header = "A",
                      .unit = "µs",
                      .help = "time of all calls of a step in A, median over the runs",
                      .title = "time A"},
                     [](const KernelChange& k) { return Cell::number(k.time.a, Form::microseconds); }});
  columns.push_back(
      {{.key = "time_b_ns", .header = "B", .unit = "µs", .help = "the same in B", .title = "time B"},
       [](const KernelChange& k) { return Cell::number(k.time.b, Form::microseconds); }});
  columns.push_back(
      {{.key = "delta_ns",
        .header = "Δ",
        .unit = "µs",
        .help = "B less A as measured: what the step feels",
        .title = "difference"},
       [](const KernelChange& k) { return signed_cell(k.time.delta, Form::microseconds, k.outcome); }});
  columns.push_back({{.key = "change_ratio",
                      .header = "Δ",
                      .unit = "%",
                      .help = "B ÷ A − 1 less the common mode: what the outcome rests on",
                      .title = "change"},
                     [](const KernelChange& k) {
                       return k.kernels_a.empty() || k.kernels_b.empty()
                                  ? Cell::missing()
                                  : signed_cell(k.adjusted.ratio, Form::percent, k.outcome);
                     }});
  columns.push_back({{.key = "interval",
                      .header = "interval",
                      .unit = "%",
                      .help = "confidence interval of the change: of the test that the outcome rests on",
                      .drop_order = 1},
                     [](const KernelChange& k) { return interval_cell(k.adjusted); }});
  columns.push_back({{.key = "adjusted_p",
                      .header = "adj. p",
                      .help = "probability of so large a difference by chance, adjusted over all kernels "
                              "(Benjamini–Hochberg)",
                      .drop_order = 2},
                     [](const KernelChange& k) { return probability(k.adjusted.adjusted_p); }});
}

void add_roofs(Columns& columns) {
  columns.push_back({{.key = "dram",
                      .header = "DRAM",
                      .unit = "% A→B",
                      .help = "DRAM utilisation in A and B",
                      .drop_order = 4},
                     [](const KernelChange& k) { return two_values(k.dram_a, k.dram_b); }});
  columns.push_back({{.key = "compute",
                      .header = "compute",
                      .unit = "% A→B",
                      .help = "utilisation of the busiest pipe in A and B",
                      .drop_order = 5},
                     [](const KernelChange& k) { return two_values(k.compute_a, k.compute_b); }});
  columns.push_back({{.key = "bound",
                      .header = "bound by",
                      .help = "what bounds it, in A and B if that changed",
                      .align = Align::left,
                      .drop_order = 6},
                     [](const KernelChange& k) { return bounds_cell(k); }});
  columns.push_back(
      {{.key = "cause",
        .header = "cause",
        .help = "what the change comes of: `code` (other machine code), `launch`, `shapes` (another grid), "
                "`calls`, `data` (the same code and launch did other work), `clock`, `neighbours` (same code "
                "and launch, other cycles), `unknown`, `none`",
        .align = Align::left},
       [](const KernelChange& k) {
         return k.cause == comparison::ChangeCause::none ? Cell::worded("", std::string(to_string(k.cause)))
                                                         : Cell::text(std::string(to_string(k.cause)));
       }});
  columns.push_back(
      {{.key = "match",
        .header = "match",
        .help = "how A's kernel was found in B: `exact`, `normalised` (family), `code` (same machine code), "
                "`sequence` (alignment), `group`, `rule`",
        .align = Align::left,
        .drop_order = 3},
       [](const KernelChange& k) {
         return k.kernels_a.empty() || k.kernels_b.empty()
                    ? Cell::missing()
                    : Cell::text(std::string(to_string(k.level)), Style::dim);
       }});
}

void add_hidden(Columns& columns) {
  const auto text = [&](const std::string& key, const std::string& help,
                        std::function<std::string(const KernelChange&)> of) {
    columns.push_back({hidden({.key = key, .header = key, .help = help, .align = Align::left}),
                       [of = std::move(of)](const KernelChange& k) { return Cell::text(of(k)); }});
  };
  const auto number = [&](const std::string& key, const std::string& help, Form form,
                          std::function<std::optional<double>(const KernelChange&)> of) {
    columns.push_back(
        {hidden({.key = key, .header = key, .help = help}),
         [form, of = std::move(of)](const KernelChange& k) { return Cell::number(of(k), form); }});
  };
  using K = KernelChange;
  using Value = std::optional<double>;
  text("path", "NVTX ranges it is launched in, numbers folded", [](const K& k) { return k.path; });
  text("class", "what kind of kernel it is",
       [](const K& k) { return std::string(to_string(k.kernel_class)); });
  text("reason",
       "why an outcome is no better: `single_run`, `too_few_pairs`, `noise`, `two_modes`, `not_confirmed`, "
       "`small`, `none`",
       [](const K& k) { return std::string(to_string(k.reason)); });
  number("confidence", "of the match, 0 to 1", Form::ratio, [](const K& k) { return Value(k.confidence); });
  number("calls_a", "calls a step in A", Form::general, [](const K& k) { return Value(k.calls_a); });
  number("calls_b", "the same in B", Form::general, [](const K& k) { return Value(k.calls_b); });
  number("measured_ratio", "B ÷ A − 1 as measured", Form::percent,
         [](const K& k) { return Value(k.time.ratio); });
  number("low_ratio", "lower end of the change's interval", Form::percent,
         [](const K& k) { return k.adjusted.interval ? Value(k.adjusted.interval->low) : Value(); });
  number("high_ratio", "upper end", Form::percent,
         [](const K& k) { return k.adjusted.interval ? Value(k.adjusted.interval->high) : Value(); });
  number("level_ratio", "coverage of the interval", Form::percent,
         [](const K& k) { return k.adjusted.interval ? Value(k.adjusted.interval_level) : Value(); });
  number("p", "probability before adjustment", Form::general, [](const K& k) { return k.adjusted.p; });
  number("same_p", "probability of what was measured if the change were as large as the margin",
         Form::general, [](const K& k) { return k.adjusted.same_p; });
  number("detectable_ratio", "smallest change that these runs find four times of five", Form::percent,
         [](const K& k) { return k.adjusted.detectable_ratio; });
  number("pairs_needed", "pairs after which a change of the margin is found so", Form::general,
         [](const K& k) {
           return k.adjusted.pairs_needed ? Value(static_cast<double>(*k.adjusted.pairs_needed)) : Value();
         });
  number("cycles_ratio", "change of the cycles it takes", Form::percent,
         [](const K& k) { return k.cycles ? Value(k.cycles->ratio) : Value(); });
  number("dram_a_ratio", "DRAM utilisation in A", Form::percent, [](const K& k) { return k.dram_a; });
  number("dram_b_ratio", "the same in B", Form::percent, [](const K& k) { return k.dram_b; });
  number("compute_a_ratio", "utilisation of the busiest pipe in A", Form::percent,
         [](const K& k) { return k.compute_a; });
  number("compute_b_ratio", "the same in B", Form::percent, [](const K& k) { return k.compute_b; });
  number("dram_a_bytes", "DRAM bytes of all calls of a step in A", Form::gigabytes,
         [](const K& k) { return k.dram_bytes_a; });
  number("dram_b_bytes", "the same in B", Form::gigabytes, [](const K& k) { return k.dram_bytes_b; });
  text("counts", "registers, shared memory, counters and DRAM bytes that differ", counts_text);
  columns.push_back(
      {hidden({.key = "code_changed", .header = "code changed", .help = "whether the machine code differs"}),
       [](const K& k) {
         return k.code_changed ? Cell::worded(*k.code_changed ? "yes" : "no", *k.code_changed)
                               : Cell::missing();
       }});
  columns.push_back(
      {hidden({.key = "confirmed", .header = "confirmed", .help = "whether a fresh pair showed it again"}),
       [](const K& k) { return Cell::worded(k.confirmed ? "yes" : "no", k.confirmed); }});
}

}  // namespace

Table compare_table(const std::vector<KernelChange>& kernels) {
  Columns columns;
  add_times(columns);
  add_roofs(columns);
  add_hidden(columns);
  return {std::move(columns), kernels.size(), [&kernels](std::size_t i) { return kernels[i]; }};
}

Table endpoints_table(const std::vector<comparison::Endpoint>& endpoints) {
  using comparison::Endpoint;
  std::vector<Column<Endpoint>> columns;
  columns.push_back({{.key = "part",
                      .header = "part",
                      .help = "`step`, all `kernels`, the `gaps`, or the kernels of a range below the step's",
                      .align = Align::left,
                      .elide = Elide::end},
                     [](const Endpoint& e) { return Cell::text(e.name); }});
  columns.push_back({{.key = "outcome", .header = "outcome", .help = "as of kernels", .align = Align::left},
                     [](const Endpoint& e) { return outcome_cell(e.outcome, e.reason, false); }});
  columns.push_back({{.key = "time_a_ns", .header = "A", .unit = "ms", .help = "median over the runs of A"},
                     [](const Endpoint& e) { return Cell::number(e.time.a, Form::milliseconds); }});
  columns.push_back({{.key = "time_b_ns", .header = "B", .unit = "ms", .help = "the same of B"},
                     [](const Endpoint& e) { return Cell::number(e.time.b, Form::milliseconds); }});
  columns.push_back(
      {{.key = "delta_ns", .header = "Δ", .unit = "µs", .help = "B less A"},
       [](const Endpoint& e) { return signed_cell(e.time.delta, Form::microseconds, e.outcome); }});
  columns.push_back({{.key = "change_ratio", .header = "Δ", .unit = "%", .help = "B ÷ A − 1, as measured"},
                     [](const Endpoint& e) { return signed_cell(e.time.ratio, Form::percent, e.outcome); }});
  columns.push_back(
      {{.key = "interval", .header = "interval", .unit = "%", .help = "its confidence interval"},
       [](const Endpoint& e) { return interval_cell(e.time); }});
  columns.push_back({{.key = "p", .header = "p", .help = "probability of so large a difference by chance"},
                     [](const Endpoint& e) { return probability(e.time.p); }});
  const auto hidden_number = [&](const std::string& key, const std::string& help,
                                 std::function<std::optional<double>(const Endpoint&)> of) {
    columns.push_back(
        {hidden({.key = key, .header = key, .help = help}),
         [of = std::move(of)](const Endpoint& e) { return Cell::number(of(e), Form::general); }});
  };
  using Value = std::optional<double>;
  hidden_number("low_ratio", "lower end of the interval",
                [](const Endpoint& e) { return e.time.interval ? Value(e.time.interval->low) : Value(); });
  hidden_number("high_ratio", "upper end",
                [](const Endpoint& e) { return e.time.interval ? Value(e.time.interval->high) : Value(); });
  hidden_number("level_ratio", "coverage of the interval",
                [](const Endpoint& e) { return e.time.interval ? Value(e.time.interval_level) : Value(); });
  hidden_number("same_p", "probability of what was measured if the change were as large as the margin",
                [](const Endpoint& e) { return e.time.same_p; });
  hidden_number("detectable_ratio", "smallest change that these runs find four times of five",
                [](const Endpoint& e) { return e.time.detectable_ratio; });
  hidden_number("pairs_needed", "pairs after which a change of the margin is found so",
                [](const Endpoint& e) {
                  return e.time.pairs_needed ? Value(static_cast<double>(*e.time.pairs_needed)) : Value();
                });
  columns.push_back(
      {hidden({.key = "reason", .header = "reason", .help = "as of kernels", .align = Align::left}),
       [](const Endpoint& e) { return Cell::text(std::string(to_string(e.reason))); }});
  return {std::move(columns), endpoints.size(), [&endpoints](std::size_t i) { return endpoints[i]; }};
}

}  // namespace ridgeline::reports
