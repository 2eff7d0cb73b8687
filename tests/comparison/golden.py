#!/usr/bin/env python3
"""golden.py: where the expected values of statistics_test.cpp and sequential_test.cpp come from.

Needs SciPy (Debian: python3-scipy; printed with 1.10.1). The tests do not run it. Formulas of the variance prior are
those of limma's fitFDist() and squeezeVar() (Bioconductor, R/fitFDist.R), written out.
"""
import numpy as np
from scipy import special, stats
from scipy.stats import multivariate_normal

PAIRS = [0.031, 0.024, 0.036, 0.027, 0.030]
FIRST = [4.605, 4.601, 4.611, 4.607]
SECOND = [4.632, 4.629, 4.641]
SAME = [0.001, -0.002, 0.003, 0.0, 0.001]
VARIANCES = [1.2e-5, 3.5e-6, 8.8e-5, 2.1e-5, 4.0e-7, 6.1e-5, 1.9e-5, 2.2e-4, 9.0e-6, 1.4e-5]


def inverse_trigamma(y):
    x = 0.5 + 1 / y
    for _ in range(50):
        tri = special.polygamma(1, x)
        step = tri * (1 - tri / y) / special.polygamma(2, x)
        x += step
        if -step / x < 1e-8:
            break
    return x


def fit_f_dist(x, df1):
    x = np.maximum(np.array(x), 1e-5 * np.median(x))
    e = np.log(x) - special.digamma(df1 / 2) + np.log(df1 / 2)
    spread = e.var(ddof=1) - special.polygamma(1, df1 / 2)
    if spread <= 0:
        return x.mean(), np.inf
    df2 = 2 * inverse_trigamma(spread)
    return np.exp(e.mean() + special.digamma(df2 / 2) - np.log(df2 / 2)), df2


def crossing(bounds, fractions):
    """P(some |Z_k| >= bound_k) of standard normal scores observed at these fractions of the information."""
    t = np.array(fractions)
    covariance = np.sqrt(np.minimum.outer(t, t) / np.maximum.outer(t, t))
    inside, _ = multivariate_normal_box(np.array(bounds), covariance)
    return 1 - inside


def multivariate_normal_box(bounds, covariance):
    normal = multivariate_normal(np.zeros(len(bounds)), covariance, allow_singular=True)
    total = 0.0
    for corner in range(2 ** len(bounds)):  # inclusion and exclusion over the corners of the box
        signs = np.array([1 if corner >> k & 1 else -1 for k in range(len(bounds))])
        total += np.prod(signs) * normal.cdf(signs * bounds)
    return total, None


d = np.array(PAIRS)
se = stats.sem(d)
print("paired: mean, variance, p", d.mean(), d.var(ddof=1), stats.ttest_1samp(d, 0).pvalue)
low, high = stats.t.interval(0.95, 4, d.mean(), se)
print("paired: half of the 95 % interval", (high - low) / 2)
print("two samples: p", stats.ttest_ind(SECOND, FIRST).pvalue)
s = np.array(SAME)
print("TOST, margin 0.01", max(stats.t.sf((0.01 - s.mean()) / stats.sem(s), 4), stats.t.sf((0.01 + s.mean()) / stats.sem(s), 4)))
print("TREAT, threshold 0.02", stats.t.sf((d.mean() - 0.02) / se, 4) + stats.t.sf((d.mean() + 0.02) / se, 4))
s0, d0 = fit_f_dist(VARIANCES, 4)
print("prior: variance, degrees of freedom", s0, d0)
moderated = (d0 * s0 + 4 * 8.8e-5) / (d0 + 4)
print("moderated: variance, p of mean 0.012 of 5 pairs", moderated, 2 * stats.t.sf(0.012 / np.sqrt(moderated / 5), d0 + 4))
print("prior of equal variances", fit_f_dist([1e-5, 1.1e-5, 0.9e-5, 1.05e-5], 4))
print("detectable mean", (stats.t.ppf(0.975, 4) + stats.t.ppf(0.8, 4)) * np.sqrt(d.var(ddof=1) / 5))
n = 2
while (stats.t.ppf(0.975, n - 1) + stats.t.ppf(0.8, n - 1)) * np.sqrt(1e-4 / n) > 0.01:
    n += 1
print("pairs needed: variance 1e-4, margin 0.01", n)
for name, bounds in (("O'Brien-Fleming", [4.8769, 3.3569, 2.6803, 2.2898, 2.0310]), ("Pocock", [2.4380, 2.4268, 2.4101, 2.3966, 2.3859])):
    spent = [crossing(bounds[: k + 1], [(i + 1) / 5 for i in range(k + 1)]) for k in range(5)]
    print("spent by the boundaries of Lan and DeMets,", name, np.round(spent, 5))
