// sequential.h: looking at the data several times without more false alarms than one look has.
//
// Pairs are recorded until the verdict is clear. Each look at n of at most N pairs spends a part of the error that is
// allowed in all: for a difference as O'Brien and Fleming would (almost nothing at the beginning), for sameness as
// Pocock would. Lan and DeMets, Biometrika 70, 1983; boundaries by the recursion of Armitage, McPherson and Rowe (J. R.
// Stat. Soc. A 132, 1969). They hold for normal statistics; a t-test is held against the same nominal p (Jennison and
// Turnbull, Group Sequential Methods, 2000, section 3.8).
#pragma once

#include <vector>

#include "ridgeline/comparison/comparison.h"

namespace ridgeline::comparison {

enum class Spending { obrien_fleming, pocock };

/// The error spent until that fraction (0..1] of the information; two-sided.
[[nodiscard]] double spent_error(Spending spending, double alpha, double fraction);

/// The nominal two-sided p below which each look rejects. `fractions`: of the information, ascending, up to 1.
[[nodiscard]] std::vector<double> nominal_levels(Spending spending, double alpha,
                                                 const std::vector<double>& fractions);

/// Of looks after `first`, `first` + 1, … `last` pairs: one level a look.
[[nodiscard]] std::vector<double> nominal_levels(Spending spending, double alpha, int first, int last);

/// Whether further pairs have nothing more to say: the sides cannot be compared; or the step is decided, and no kernel
/// that matters would be blamed if this were the last look. `all` has the error of all looks together, `comparison`
/// that of this one.
[[nodiscard]] bool is_settled(const Comparison& comparison, const ComparisonOptions& all);

}  // namespace ridgeline::comparison
