// what_if_table.cpp: what each transform makes of the launches, and gains.
#include <fmt/format.h>

#include "ridgeline/base/units.h"
#include "ridgeline/reports/what_if_document.h"

namespace ridgeline::reports {
namespace {

using analyzer::Gain;
using analyzer::GainRange;
using analyzer::LeftAlone;
using analyzer::TransformAnswer;

// One transform, or all together: then `one` is empty.
struct WhatIfRow {
  const analyzer::WhatIf* answer = nullptr;
  const TransformAnswer* one = nullptr;
  [[nodiscard]] const Gain& gain() const { return one != nullptr ? one->gain : answer->together; }
};
using WhatIfColumns = std::vector<Column<WhatIfRow>>;

struct TransformWords {
  std::string operator()(const analyzer::Faster& t) const {
    return fmt::format("{} {:g}x as fast", t.kernels, t.times);
  }
  std::string operator()(const analyzer::AtRoof& t) const {
    return fmt::format("{} at {} of the nearest roof", t.kernels == "*" ? "every kernel" : t.kernels,
                       percent_text(t.ratio, 0));
  }
  std::string operator()(const analyzer::Fused& t) const {
    return fmt::format("{} and {} fused{}", t.producer, t.consumer,
                       t.kept ? ", what is between them kept" : "");
  }
  std::string operator()(const analyzer::InPrecision& t) const {
    return fmt::format("{} in {}", t.kernels, to_string(t.precision));
  }
  std::string operator()(const analyzer::AsGraph&) const { return "launched as a graph"; }
  std::string operator()(const analyzer::HiddenCopies&) const { return "copies hidden"; }
};

std::string left_word(LeftAlone why) {
  switch (why) {
    case LeftAlone::none:
      return "";
    case LeftAlone::not_measured:
      return "not_measured";
    case LeftAlone::at_goal:
      return "at_goal";
    case LeftAlone::traffic_unknown:
      return "traffic_unknown";
    case LeftAlone::precision_unknown:
      return "precision_unknown";
  }
  return "";
}

// Of what a transform means; together there is no such figure.
template <typename Member>
auto of_one(Member member, Form form) {
  return [member, form](const WhatIfRow& row) {
    return row.one == nullptr ? Cell() : Cell::number(row.one->*member, form);
  };
}

// Of changed launches and copies; a graph changes none.
auto time_of_one(double TransformAnswer::*member) {
  return [member](const WhatIfRow& row) {
    return row.one == nullptr || row.one->before_ns <= 0 ? Cell()
                                                         : Cell::number(row.one->*member, Form::milliseconds);
  };
}

using MaybeRange = std::optional<GainRange> Gain::*;
auto range_value(MaybeRange range) {
  return [range](const WhatIfRow& row) {
    const auto& known = row.gain().*range;
    return known ? Cell::number(known->value, Form::milliseconds, Style::strong) : Cell::missing();
  };
}
auto range_end(MaybeRange range, std::optional<double> GainRange::*end) {
  return [range, end](const WhatIfRow& row) {
    const auto& known = row.gain().*range;
    return known ? Cell::number((*known).*end, Form::milliseconds) : Cell::missing();
  };
}

void add_launch_columns(WhatIfColumns& columns) {
  columns.push_back({{.key = "what",
                      .header = "what",
                      .help = "what is done otherwise",
                      .align = Align::left,
                      .elide = Elide::middle},
                     [](const WhatIfRow& row) {
                       return Cell::text(row.one != nullptr ? transform_text(row.one->transform)
                                                            : "together");
                     }});
  columns.push_back({{.key = "launches",
                      .header = "launches",
                      .help = "launches of the step that are meant: pairs, or copies",
                      .drop_order = 5},
                     of_one(&TransformAnswer::launches, Form::integer)});
  columns.push_back(
      {{.key = "changed", .header = "changed", .help = "of these", .drop_order = 6, .shown = false},
       of_one(&TransformAnswer::changed, Form::integer)});
  columns.push_back({{.key = "before_ns",
                      .header = "takes",
                      .unit = "ms",
                      .help = "time of the changed ones, as recorded",
                      .drop_order = 3},
                     time_of_one(&TransformAnswer::before_ns)});
  columns.push_back({{.key = "after_ns",
                      .header = "then",
                      .unit = "ms",
                      .help = "time that they take then; of hidden copies none that delays anything",
                      .drop_order = 4},
                     time_of_one(&TransformAnswer::after_ns)});
}

void add_gain_columns(WhatIfColumns& columns) {
  columns.push_back(
      {{.key = "bound_ns",
        .header = "Amdahl",
        .unit = "ms",
        .help = "Amdahl's bound of what the step gains: the time in which the changed work ran, times "
                "the share of it that goes"},
       [](const WhatIfRow& row) { return Cell::number(row.gain().bound_ns, Form::milliseconds); }});
  columns.push_back(
      {{.key = "naive_ns",
        .header = "sum",
        .unit = "ms",
        .help = "what the changed work takes less, added up",
        .title = "naive sum"},
       [](const WhatIfRow& row) { return Cell::number(row.gain().naive_ns, Form::milliseconds); }});
  columns.push_back({{.key = "simulated_ns",
                      .header = "simulated",
                      .unit = "ms",
                      .help = "what the step gains by its simulation, median of the recorded steps"},
                     range_value(&Gain::simulated)});
  columns.push_back({{.key = "simulated_low_ns",
                      .header = "least",
                      .unit = "ms",
                      .help = "nine of ten steps gain this or more …",
                      .drop_order = 1},
                     range_end(&Gain::simulated, &GainRange::low)});
  columns.push_back({{.key = "simulated_high_ns",
                      .header = "most",
                      .unit = "ms",
                      .help = "… and this or less",
                      .drop_order = 2},
                     range_end(&Gain::simulated, &GainRange::high)});
  columns.push_back({{.key = "after_power_ns",
                      .header = "power",
                      .unit = "ms",
                      .help = "what of that the power limit leaves; only where it holds the clock",
                      .title = "after power"},
                     range_value(&Gain::after_power)});
  columns.push_back({{.key = "after_power_low_ns",
                      .header = "least",
                      .unit = "ms",
                      .help = "with the steps' range and that of the exponents",
                      .title = "after power, least",
                      .shown = false},
                     range_end(&Gain::after_power, &GainRange::low)});
  columns.push_back({{.key = "after_power_high_ns",
                      .header = "most",
                      .unit = "ms",
                      .help = "likewise",
                      .title = "after power, most",
                      .shown = false},
                     range_end(&Gain::after_power, &GainRange::high)});
}

void add_other_columns(WhatIfColumns& columns) {
  columns.push_back({{.key = "shared_bytes",
                      .header = "not moved",
                      .unit = "MB",
                      .help = "of fused pairs: bytes that are neither written nor read any more; with "
                              "--fuse-kept those that are not read",
                      .shown = false},
                     of_one(&TransformAnswer::shared_bytes, Form::megabytes)});
  columns.push_back(
      {{.key = "left", .header = "left", .help = "launches that stay as they are", .shown = false},
       of_one(&TransformAnswer::left, Form::integer)});
  columns.push_back(
      {{.key = "left_because",
        .header = "because",
        .help = "why most of these stay: `not_measured`, `at_goal`, `traffic_unknown`, `precision_unknown`",
        .align = Align::left,
        .shown = false},
       [](const WhatIfRow& row) {
         return row.one == nullptr || row.one->left == 0 ? Cell()
                                                         : Cell::text(left_word(row.one->left_alone));
       }});
}

}  // namespace

std::string transform_text(const analyzer::Transform& transform) {
  return std::visit(TransformWords{}, transform);
}

Table what_if_table(const analyzer::WhatIf& answer) {
  WhatIfColumns columns;
  add_launch_columns(columns);
  add_gain_columns(columns);
  add_other_columns(columns);
  const std::size_t count = answer.transforms.size();
  return Table(std::move(columns), count > 1 ? count + 1 : count, [&answer, count](std::size_t i) {
    return WhatIfRow{&answer, i < count ? &answer.transforms[i] : nullptr};
  });
}

}  // namespace ridgeline::reports
