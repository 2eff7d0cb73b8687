#!/usr/bin/env python3
"""sequential_simulation.py: how often `ridgeline commits` ends with which verdict of the step, and after how many pairs.

Needs SciPy. Differences of pairs are normal with the given standard deviation; after 3, 4 ... 10 pairs the t-test is held against
the nominal levels of comparison_sequential.h, as cli/src/measure.cpp does without a noise floor. docs/results/comparison.md has what
it printed.
"""
import numpy as np
from scipy import stats

ALPHA, MARGIN, MOST, TRIALS = 0.05, 0.01, 10, 4000


def spent(pocock, fraction):
    if fraction >= 1:
        return ALPHA
    if pocock:
        return ALPHA * np.log(1 + (np.e - 1) * fraction)
    return 4 * stats.norm.sf(stats.norm.isf(ALPHA / 4) / np.sqrt(fraction))


def levels(pocock):
    found, before, used, surviving = [], 0.0, 0.0, None
    for pairs in range(3, MOST + 1):
        fraction = pairs / MOST
        spend = spent(pocock, fraction) - used
        used += spend
        step = np.sqrt(fraction - before)
        if surviving is None:
            z = stats.norm.isf(spend / 2)
        else:
            at, density, weight = surviving
            low, high = 0.0, 20.0
            for _ in range(60):
                z = (low + high) / 2
                bound = z * np.sqrt(fraction)
                crossed = (weight * density * (stats.norm.sf((bound - at) / step) + stats.norm.cdf((-bound - at) / step))).sum()
                low, high = (z, high) if crossed > spend else (low, z)
        found.append(2 * stats.norm.sf(z))
        bound = z * np.sqrt(fraction)
        grid = np.linspace(-bound, bound, 401)
        weights = np.full(401, 2.0)
        weights[1::2] = 4
        weights[0] = weights[-1] = 1
        weights *= (grid[1] - grid[0]) / 3
        if surviving is None:
            densities = stats.norm.pdf(grid, 0, np.sqrt(fraction))
        else:
            densities = np.array([(weight * density * stats.norm.pdf(x - at, 0, step)).sum() for x in grid])
        surviving = (grid, densities, weights)
        before = fraction
    return found


def simulate(random, change, deviation, different, same):
    ended = {"difference": 0, "same": 0, "inconclusive": 0}
    pairs = 0
    for _ in range(TRIALS):
        d = random.normal(np.log1p(change), deviation, MOST)
        verdict = "inconclusive"
        for look, n in enumerate(range(3, MOST + 1)):
            mean, error = d[:n].mean(), d[:n].std(ddof=1) / np.sqrt(n)
            if 2 * stats.t.sf(abs(mean) / error, n - 1) <= different[look] and abs(mean) >= np.log1p(MARGIN):
                verdict = "difference"
                break
            if stats.t.sf((np.log1p(MARGIN) - abs(mean)) / error, n - 1) <= same[look]:
                verdict = "same"
                break
        ended[verdict] += 1
        pairs += n
    return {name: count / TRIALS for name, count in ended.items()}, pairs / TRIALS


def main():
    random = np.random.default_rng(1)
    different, same = levels(False), levels(True)
    print("| noise of a pair | change | difference | same | inconclusive | pairs |\n| ---: | ---: | ---: | ---: | ---: | ---: |")
    for deviation in (0.003, 0.006):
        for change in (0, 0.005, 0.01, 0.015, 0.02, 0.03):
            ended, pairs = simulate(random, change, deviation, different, same)
            print(f"| {100 * deviation:.1f} % | {100 * change:.1f} % | " + " | ".join(f"{value:.3f}" for value in ended.values()) + f" | {pairs:.1f} |")


if __name__ == "__main__":
    main()
