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
                      .min_width = 28},
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
                      .help = "time of all calls of a step in A, geometric mean over the runs",
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
  columns.push_back({{.key = "measured_ratio",
                      .header = "Δ",
                      .unit = "%",
                      .help = "B ÷ A − 1 as measured",
                      .title = "change"},
                     [](const KernelChange& k) {
                       return k.kernels_a.empty() || k.kernels_b.empty()
                                  ? Cell::missing()
                                  : signed_cell(k.time.ratio, Form::percent, k.outcome);
                     }});
  columns.push_back({{.key = "change_ratio",
                      .header = "less mode",
                      .unit = "%",
                      .help = "B ÷ A − 1 less the common mode: what the outcome rests on",
                      .title = "change less the common mode"},
                     [](const KernelChange& k) {
                       return k.kernels_a.empty() || k.kernels_b.empty()
                                  ? Cell::missing()
                                  : signed_cell(k.adjusted.ratio, Form::percent, k.outcome);
                     }});
  columns.push_back(
      {{.key = "interval",
        .header = "interval",
        .unit = "%",
        .help = "confidence interval of the change less the common mode: of the test that the outcome "
                "rests on",
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
  const auto text = [&](const std::string& key, const std::string& title, const std::string& help,
                        std::function<std::string(const KernelChange&)> of) {
    columns.push_back(
        {hidden({.key = key, .header = key, .help = help, .title = title, .align = Align::left}),
         [of = std::move(of)](const KernelChange& k) { return Cell::text(of(k)); }});
  };
  const auto number = [&](const std::string& key, const std::string& title, const std::string& help,
                          Form form, std::function<std::optional<double>(const KernelChange&)> of) {
    columns.push_back(
        {hidden({.key = key, .header = key, .help = help, .title = title}),
         [form, of = std::move(of)](const KernelChange& k) { return Cell::number(of(k), form); }});
  };
  using K = KernelChange;
  using Value = std::optional<double>;
  text("path", "NVTX ranges", "NVTX ranges it is launched in, numbers folded",
       [](const K& k) { return k.path; });
  text("class", "class of the kernel", "what kind of kernel it is",
       [](const K& k) { return std::string(to_string(k.kernel_class)); });
  text("reason", "why the outcome is no better",
       "why an outcome is no better: `single_run`, `too_few_pairs`, `noise`, `two_modes`, `not_confirmed`, "
       "`small`, `blocks`, `clock`, `none`",
       [](const K& k) { return std::string(to_string(k.reason)); });
  number("confidence", "confidence of the match", "of the match, 0 to 1", Form::ratio,
         [](const K& k) { return Value(k.confidence); });
  number("calls_a", "calls a step in A", "calls a step in A", Form::general,
         [](const K& k) { return Value(k.calls_a); });
  number("calls_b", "calls a step in B", "calls a step in B", Form::general,
         [](const K& k) { return Value(k.calls_b); });
  number("low_ratio", "lower end of the interval, %", "lower end of the change's interval", Form::percent,
         [](const K& k) { return k.adjusted.interval ? Value(k.adjusted.interval->low) : Value(); });
  number("high_ratio", "upper end of the interval, %", "upper end of the change's interval", Form::percent,
         [](const K& k) { return k.adjusted.interval ? Value(k.adjusted.interval->high) : Value(); });
  number("level_ratio", "coverage of the interval, %", "coverage of the interval", Form::percent,
         [](const K& k) { return k.adjusted.interval ? Value(k.adjusted.interval_level) : Value(); });
  number("p", "p before adjustment", "probability before adjustment", Form::general,
         [](const K& k) { return k.adjusted.p; });
  number("same_p", "p of the margin",
         "probability of what was measured if the change were as large as the margin", Form::general,
         [](const K& k) { return k.adjusted.same_p; });
  number("detectable_ratio", "detectable change, %",
         "smallest change that these runs find four times of five", Form::percent,
         [](const K& k) { return k.adjusted.detectable_ratio; });
  number("pairs_needed", "pairs needed", "pairs after which a change of the margin is found so",
         Form::general, [](const K& k) {
           return k.adjusted.pairs_needed ? Value(static_cast<double>(*k.adjusted.pairs_needed)) : Value();
         });
  number("cycles_ratio", "change of the cycles, %", "change of the cycles it takes", Form::percent,
         [](const K& k) { return k.cycles ? Value(k.cycles->ratio) : Value(); });
  number("dram_a_ratio", "DRAM in A, %", "DRAM utilisation in A", Form::percent,
         [](const K& k) { return k.dram_a; });
  number("dram_b_ratio", "DRAM in B, %", "the same in B", Form::percent, [](const K& k) { return k.dram_b; });
  number("compute_a_ratio", "busiest pipe in A, %", "utilisation of the busiest pipe in A", Form::percent,
         [](const K& k) { return k.compute_a; });
  number("compute_b_ratio", "busiest pipe in B, %", "the same in B", Form::percent,
         [](const K& k) { return k.compute_b; });
  number("dram_a_bytes", "DRAM traffic in A, GB", "DRAM bytes of all calls of a step in A", Form::gigabytes,
         [](const K& k) { return k.dram_bytes_a; });
  number("dram_b_bytes", "DRAM traffic in B, GB", "the same in B", Form::gigabytes,
         [](const K& k) { return k.dram_bytes_b; });
  text("counts", "what else differs", "registers, shared memory, counters and DRAM bytes that differ",
       counts_text);
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

Table step_metrics_table(const std::vector<comparison::StepMetric>& step_metrics) {
  using comparison::StepMetric;
  std::vector<Column<StepMetric>> columns;
  columns.push_back(
      {{.key = "part",
        .header = "part",
        .help = "`step`, all `kernels`, `copies`, `memsets`, `gaps` and their causes, the CPU's time, what "
                "is `unexplained`, or the kernels of a range below the step's",
        .align = Align::left,
        .elide = Elide::end},
       [](const StepMetric& e) { return Cell::text(e.name); }});
  columns.push_back({{.key = "outcome", .header = "outcome", .help = "as of kernels", .align = Align::left},
                     [](const StepMetric& e) { return outcome_cell(e.outcome, e.reason, false); }});
  columns.push_back({{.key = "time_a_ns", .header = "A", .unit = "ms", .help = "mean over the runs of A"},
                     [](const StepMetric& e) { return Cell::number(e.time.a, Form::milliseconds); }});
  columns.push_back({{.key = "time_b_ns", .header = "B", .unit = "ms", .help = "the same of B"},
                     [](const StepMetric& e) { return Cell::number(e.time.b, Form::milliseconds); }});
  columns.push_back(
      {{.key = "delta_ns", .header = "Δ", .unit = "µs", .help = "B less A"},
       [](const StepMetric& e) { return signed_cell(e.time.delta, Form::microseconds, e.outcome); }});
  columns.push_back({{.key = "change_ratio", .header = "Δ", .unit = "%", .help = "B ÷ A − 1, as measured"},
                     [](const StepMetric& e) {
                       return e.time.a > 0 ? signed_cell(e.time.ratio, Form::percent, e.outcome)
                                           : Cell::missing();
                     }});
  columns.push_back({{.key = "step_share_ratio",
                      .header = "of step",
                      .unit = "%",
                      .help = "the difference, of the step's time in A: what a part is judged by",
                      .title = "difference of the step",
                      .drop_order = 1},
                     [](const StepMetric& e) {
                       return e.kind == comparison::PartKind::step
                                  ? Cell::missing()
                                  : signed_cell(e.step_share, Form::percent, e.outcome);
                     }});
  columns.push_back(
      {{.key = "interval", .header = "interval", .unit = "%", .help = "its confidence interval"},
       [](const StepMetric& e) { return interval_cell(e.time); }});
  columns.push_back({{.key = "p", .header = "p", .help = "probability of so large a difference by chance"},
                     [](const StepMetric& e) { return probability(e.time.p); }});
  const auto hidden_number = [&](const std::string& key, const std::string& help,
                                 std::function<std::optional<double>(const StepMetric&)> of) {
    columns.push_back(
        {hidden({.key = key, .header = key, .help = help}),
         [of = std::move(of)](const StepMetric& e) { return Cell::number(of(e), Form::general); }});
  };
  using Value = std::optional<double>;
  hidden_number("low_ratio", "lower end of the interval",
                [](const StepMetric& e) { return e.time.interval ? Value(e.time.interval->low) : Value(); });
  hidden_number("high_ratio", "upper end",
                [](const StepMetric& e) { return e.time.interval ? Value(e.time.interval->high) : Value(); });
  hidden_number("level_ratio", "coverage of the interval",
                [](const StepMetric& e) { return e.time.interval ? Value(e.time.interval_level) : Value(); });
  hidden_number("same_p", "probability of what was measured if the change were as large as the margin",
                [](const StepMetric& e) { return e.time.same_p; });
  hidden_number("detectable_ratio", "smallest change that these runs find four times of five",
                [](const StepMetric& e) { return e.time.detectable_ratio; });
  hidden_number("pairs_needed", "pairs after which a change of the margin is found so",
                [](const StepMetric& e) {
                  return e.time.pairs_needed ? Value(static_cast<double>(*e.time.pairs_needed)) : Value();
                });
  columns.push_back(
      {hidden({.key = "reason", .header = "reason", .help = "as of kernels", .align = Align::left}),
       [](const StepMetric& e) { return Cell::text(std::string(to_string(e.reason))); }});
  columns.push_back({hidden({.key = "kind",
                             .header = "kind",
                             .help = "what the part is of: `kernels` − `overlap` + `copies` + `memsets` + "
                                     "`gaps` + `unexplained` = "
                                     "`step`",
                             .align = Align::left}),
                     [](const StepMetric& e) { return Cell::text(std::string(to_string(e.kind))); }});
  return {std::move(columns), step_metrics.size(),
          [&step_metrics](std::size_t i) { return step_metrics[i]; }};
}

Table transfers_table(const std::vector<comparison::TransferChange>& transfers) {
  using comparison::TransferChange;
  std::vector<Column<TransferChange>> columns;
  const auto text = [&](ColumnHead head, std::function<std::string(const TransferChange&)> of) {
    head.align = Align::left;
    columns.push_back(
        {std::move(head), [of = std::move(of)](const TransferChange& t) { return Cell::text(of(t)); }});
  };
  const auto number = [&](ColumnHead head, Form form, std::function<double(const TransferChange&)> of) {
    columns.push_back({std::move(head), [form, of = std::move(of)](const TransferChange& t) {
                         return Cell::number(of(t), form);
                       }});
  };
  using T = TransferChange;
  text({.key = "kind", .header = "what", .help = "`copy` or `memset`"},
       [](const T& t) { return std::string(to_string(t.kind)); });
  text({.key = "direction", .header = "direction", .help = "of copies"}, [](const T& t) {
    return t.kind == comparison::TransferKind::copy ? std::string(to_string(t.direction)) : std::string();
  });
  text({.key = "path",
        .header = "range",
        .help = "NVTX ranges it is called in, numbers folded",
        .elide = Elide::start},
       [](const T& t) { return t.path; });
  columns.push_back({{.key = "outcome", .header = "outcome", .help = "as of kernels", .align = Align::left},
                     [](const T& t) { return outcome_cell(t.outcome, t.reason, false); }});
  number({.key = "calls_a", .header = "calls A", .help = "a step in A", .drop_order = 2}, Form::general,
         [](const T& t) { return t.calls_a; });
  number({.key = "calls_b", .header = "calls B", .help = "the same in B", .drop_order = 2}, Form::general,
         [](const T& t) { return t.calls_b; });
  number({.key = "bytes_a",
          .header = "A",
          .unit = "GB",
          .help = "bytes a step in A",
          .title = "bytes A",
          .drop_order = 1},
         Form::gigabytes, [](const T& t) { return t.bytes_a; });
  number({.key = "bytes_b",
          .header = "B",
          .unit = "GB",
          .help = "the same in B",
          .title = "bytes B",
          .drop_order = 1},
         Form::gigabytes, [](const T& t) { return t.bytes_b; });
  number({.key = "time_a_ns",
          .header = "A",
          .unit = "µs",
          .help = "time of a step in A, mean over the runs",
          .title = "time A"},
         Form::microseconds, [](const T& t) { return t.time.a; });
  number({.key = "time_b_ns", .header = "B", .unit = "µs", .help = "the same in B", .title = "time B"},
         Form::microseconds, [](const T& t) { return t.time.b; });
  columns.push_back({{.key = "exposed_delta_ns",
                      .header = "exposed Δ",
                      .unit = "µs",
                      .help = "B less A of the time in which no kernel ran beside: what the step feels"},
                     [](const T& t) { return signed_cell(t.exposed.delta, Form::microseconds, t.outcome); }});
  number(hidden({.key = "exposed_a_ns", .header = "exposed_a_ns", .help = "time with no kernel beside in A"}),
         Form::general, [](const T& t) { return t.exposed.a; });
  number(hidden({.key = "exposed_b_ns", .header = "exposed_b_ns", .help = "the same in B"}), Form::general,
         [](const T& t) { return t.exposed.b; });
  columns.push_back(
      {hidden({.key = "adjusted_p",
               .header = "adj. p",
               .help = "probability of so large an exposed difference by chance, adjusted over all copies"}),
       [](const T& t) { return probability(t.exposed.adjusted_p); }});
  text(hidden({.key = "reason", .header = "reason", .help = "as of kernels"}),
       [](const T& t) { return std::string(to_string(t.reason)); });
  return {std::move(columns), transfers.size(), [&transfers](std::size_t i) { return transfers[i]; }};
}

}  // namespace ridgeline::reports
