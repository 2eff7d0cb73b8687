// Samples put onto what ran, of windows drawn by lot: launches of every length about the limits at which they are taken
// otherwise, that overlap or not, of positions and families, with samples that are missing or cut. Every value is held
// against what was accepted.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "attribution/pm_attribution.h"
#include "attribution/sparse_nnls.h"
#include "recording/sampled_windows.h"
#include "support/accepted_cases.h"
#include "support/lots.h"

namespace ridgeline::import::testing {
namespace {

using ridgeline::testing::AcceptedCases;
using ridgeline::testing::fields;
using ridgeline::testing::Lots;

struct DrawnWindow {
  std::vector<PmActivity> activities;
  PmSamples samples;
  std::vector<double> amounts, rates, active;
};

// Lengths are in tenths of an interval; shares are of a hundred.
struct WindowLot {
  std::uint64_t seed = 1;
  std::int64_t interval_ns = 1000;
  int positions = 5, steps = 3;
  int overlapping = 0;  // launches that begin before the one before them ends
  int uneven = 0;       // samples of another length
  int missing = 0;      // samples that are not there
  int unknown = 0;      // shares of activity that are not known
  bool cut = false, idle = false;
  std::int64_t shift_ns = 0;
};

DrawnWindow drawn_window(const WindowLot& lot) {
  Lots lots(lot.seed);
  DrawnWindow made;
  struct Kind {
    std::int64_t length_ns = 0, level = 0;
    std::uint32_t family = 0;
  };
  std::vector<Kind> kinds;
  for (int i = 0; i < lot.positions; ++i) {
    Kind kind;
    const std::int64_t tenths =
        lots.one_of<std::int64_t>({2, 5, 10, 14, 15, 16, 29, 30, 31, 40, 59, 60, 61, 90, 140});
    kind.length_ns = std::max<std::int64_t>(1, tenths * lot.interval_ns / 10);
    kind.level = lots.one_of<std::int64_t>({0, 1, 10, 100, 100, 77});
    kind.family = static_cast<std::uint32_t>(lots.below(3));
    kinds.push_back(kind);
  }
  std::int64_t now = 100'000;
  const std::int64_t begin = now;
  for (int step = 0; step < lot.steps; ++step) {
    for (int i = 0; i < lot.positions; ++i) {
      const Kind& kind = kinds[static_cast<std::size_t>(i)];
      const std::int64_t length =
          std::max<std::int64_t>(1, kind.length_ns + kind.length_ns * lots.between(-2, 2) / 100);
      if (lots.percent(lot.overlapping) && !made.activities.empty()) {
        const PmActivity& before = made.activities.back();
        now = std::max(before.start_ns, before.end_ns - (before.end_ns - before.start_ns) *
                                                            lots.one_of<std::int64_t>({9, 10, 11, 50, 100}) /
                                                            100);
      }
      if (lots.percent(3)) continue;
      made.activities.push_back({now, now + length, static_cast<std::uint32_t>(i), kind.family});
      now += length +
             lots.one_of<std::int64_t>({0, 0, lot.interval_ns / 5, lot.interval_ns, 3 * lot.interval_ns});
    }
    now += lots.below(2 * lot.interval_ns);
  }
  std::stable_sort(made.activities.begin(), made.activities.end(),
                   [](const PmActivity& a, const PmActivity& b) { return a.start_ns < b.start_ns; });
  const std::int64_t from = lot.cut ? begin + (now - begin) / 5 : begin - 3 * lot.interval_ns;
  const std::int64_t to = lot.cut ? now - (now - begin) / 5 : now + 3 * lot.interval_ns;
  for (std::int64_t start = from; start < to;) {
    const std::int64_t length = lots.percent(lot.uneven)
                                    ? lot.interval_ns * lots.one_of<std::int64_t>({5, 9, 12, 15}) / 10
                                    : lot.interval_ns;
    const std::int64_t end = start + std::max<std::int64_t>(1, length);
    std::int64_t amount = 0, busy = 0;
    for (const PmActivity& each : made.activities) {
      const std::int64_t overlap =
          std::max<std::int64_t>(0, std::min(end, each.end_ns) - std::max(start, each.start_ns));
      amount += overlap * kinds[each.position].level;
      busy += overlap;
    }
    const std::int64_t noise = lots.below(5);
    if (!lots.percent(lot.missing)) {
      made.samples.start_ns.push_back(start - lot.shift_ns);
      made.samples.end_ns.push_back(end - lot.shift_ns);
      made.amounts.push_back(static_cast<double>(lot.idle ? 0 : amount + noise * (amount / 100)));
      made.rates.push_back(static_cast<double>(1'700'000 + 1000 * noise));
      made.active.push_back(lots.percent(lot.unknown)
                                ? NAN
                                : static_cast<double>(100 * std::min(busy, end - start) / (end - start)));
    }
    start = end;
  }
  return made;
}

TEST(DrawnAttribution, ValuesAndMeansOfEachLaunch) {
  for (std::uint64_t batch = 0; batch < 12; ++batch) {
    AcceptedCases::expect([&] {
      std::string all;
      for (std::uint64_t i = 0; i < 48; ++i) {
        const auto nth = static_cast<int>(i);
        const DrawnWindow window = drawn_window({.seed = 100 * batch + i,
                                                 .interval_ns = i % 4 == 0   ? 1
                                                                : i % 4 == 1 ? 777
                                                                             : 5000,
                                                 .positions = 1 + nth % 7,
                                                 .steps = 1 + nth % 4,
                                                 .overlapping = static_cast<int>(batch % 3) * 15,
                                                 .uneven = static_cast<int>(batch % 4) * 8,
                                                 .missing = static_cast<int>(batch % 2) * 10,
                                                 .cut = i % 3 == 2,
                                                 .idle = i % 12 == 11});
        const Attribution attribution(window.activities, window.samples);
        all += fields(attribution.interval_ns()) + " " + fields(attribution.values(window.amounts)) + "\n" +
               fields(attribution.means(window.rates)) + "\n";
      }
      return all;
    });
  }
}

TEST(DrawnAttribution, ShiftsOfTheSamples) {
  for (std::uint64_t batch = 0; batch < 10; ++batch) {
    AcceptedCases::expect([&] {
      std::string all;
      for (std::uint64_t i = 0; i < 20; ++i) {
        Lots lots(batch * 10 + i);
        const DrawnWindow window =
            drawn_window({.seed = 3000 + 100 * batch + i,
                          .interval_ns = lots.one_of<std::int64_t>({500, 2000, 5000}),
                          .positions = 6,
                          .steps = 1 + static_cast<int>(i % 3),
                          .uneven = static_cast<int>(batch % 2) * 8,
                          .unknown = static_cast<int>(batch % 3) * 10,
                          .shift_ns = lots.one_of<std::int64_t>(
                              {0, 50, -50, 70, 500, -520, 3'300, 9'950, -10'000, 10'050, 12'000})});
        all += fields(calibrate_shift(window.activities, window.samples, window.active)) + "\n";
        std::vector<double> turned = window.active;
        for (double& each : turned) each = 100 - each;
        all += fields(calibrate_shift(window.activities, window.samples, turned)) + "\n";
      }
      return all;
    });
  }
}

// Systems of few unknowns, some in no row, at each number of sweeps; and what their inverse says of few of them.
TEST(DrawnAttribution, SystemsOfEquations) {
  for (std::uint64_t batch = 0; batch < 10; ++batch) {
    AcceptedCases::expect([&] {
      Lots lots(batch);
      std::string all;
      for (int i = 0; i < 40; ++i) {
        const std::int64_t size = lots.between(1, 9);
        SparseGram gram(static_cast<std::size_t>(size));
        const std::int64_t rows = lots.below(12);
        for (std::int64_t r = 0; r < rows; ++r) {
          std::vector<SparseGram::Entry> row;
          for (std::int64_t n = lots.below(4); n >= 0; --n) {
            const auto column = static_cast<std::uint32_t>(lots.below(size));
            row.push_back({column, static_cast<double>(lots.between(-1, 4))});
          }
          gram.add(row, lots.one_of({1.0, 1.0, 0.25}));
        }
        if (lots.percent(50)) gram.add_diagonal(static_cast<std::uint32_t>(lots.below(size)), 0.5);
        gram.seal();
        for (std::int64_t r = 0; r < size; ++r) {
          all += fields(gram.diagonal(static_cast<std::size_t>(r)));
          for (const SparseGram::Entry& entry : gram.row(static_cast<std::size_t>(r)))
            all += " " + fields(entry.column) + ":" + fields(entry.value);
          all += "\n";
        }
        std::vector<double> b;
        for (std::int64_t r = 0; r < size; ++r) b.push_back(static_cast<double>(lots.between(-3, 9)));
        if (lots.percent(10)) b.assign(b.size(), 0.0);
        for (const int sweeps : {0, 1, 2, 7}) {
          std::vector<double> x(b.size(), 1.0);
          const NnlsReport report = solve_nnls(gram, b, x, sweeps);
          all += fields(x) + " " + fields(report.sweeps) + " " + fields(report.violation) + "\n";
        }
        std::vector<std::uint32_t> at;
        std::vector<double> w;
        for (std::uint32_t n = 0; n < std::min<std::uint32_t>(2, static_cast<std::uint32_t>(size)); ++n) {
          at.push_back(n);
          w.push_back(static_cast<double>(lots.between(1, 3)));
        }
        SparseGram firm(static_cast<std::size_t>(size));
        for (std::uint32_t n = 0; n + 1 < static_cast<std::uint32_t>(size); ++n) {
          const SparseGram::Entry pair[] = {{n, 1}, {n + 1, static_cast<double>(lots.between(0, 2))}};
          firm.add(pair);
        }
        for (std::uint32_t n = 0; n < static_cast<std::uint32_t>(size); ++n)
          firm.add_diagonal(n, lots.percent(90) ? 0.5 : 0);
        firm.seal();
        for (const int reach : {0, 1, 3})
          for (const std::size_t most : {1U, 3U, 40U})
            all += fields(inverse_form(firm, at, w, reach, most)) + " ";
        all += "\n";
      }
      return all;
    });
  }
}

TEST(DrawnAttribution, MeaningsOfMetrics) {
  AcceptedCases::expect([] {
    std::string all;
    for (const char* unit :
         {"dram__bytes", "lts__t_sector_hit_rate", "gpc__cycles_elapsed", "sm__cycles_active", "a"})
      for (const char* form :
           {".sum", ".avg", ".pct", ".sum.per_second", ".avg.pct_of_peak_sustained_elapsed",
            ".sum.peak_sustained", ".max", "", ".summed"})
        all += std::string(unit) + form + " " + fields(pm_meaning(std::string(unit) + form)) + "\n";
    return all;
  });
}

}  // namespace
}  // namespace ridgeline::import::testing
