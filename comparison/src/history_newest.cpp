#include "history_newest.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "history_judged.h"
#include "history_tails.h"

namespace ridgeline::comparison {
namespace {

// Machines differ, so that the guess is worth this many degrees of freedom only: on one of twice its noise identical
// code is called slower or faster in 1 of 20 cases still.
constexpr double kGuessedFreedom = 2.5;
constexpr double kGuessedKernelFreedom = 3;  // where Holm asks for more than of the step
// One-sided: below 1 in 20 of both sides, runs being not quite normal; of what is guessed the guess has room for that.
constexpr double kConfident = 0.9825, kConfidentOfGuess = 0.98;
constexpr double kConfidentAlone = 0.995;  // of a kernel in a step that is not called
constexpr double kMinRatio = 0.005;        // what does not matter
constexpr std::size_t kMaxKernels = 5;     // named
// Runs of normal scatter that a history is taken to have had besides. Of the step one value a run says how far out it
// lies; of kernels the least likely of many does, which shows heavy tails after a few runs.
constexpr double kNormalRuns = 10, kNormalRunsOfKernels = 1;

bool is_certain(const NewestChange& change, double one_sided) {
  return change.confidence >= 2 * one_sided - 1 && std::abs(change.ratio) >= kMinRatio;
}

}  // namespace

NewestRun newest_run(std::span<const NewestSeries> series, std::span<const std::size_t> cards) {
  NewestRun run;
  const auto newest = [&](const NewestSeries& one, double guessed_freedom) {
    return judged(one, cards, one.logs.size() - 1, runs_before(one), guessed_freedom);
  };
  const std::optional<Judged> step = newest(series.front(), kGuessedFreedom);
  if (!step) return run;
  run.runs_before = step->logs.size();
  run.other_cards = step->other_cards;
  run.spread_ratio = step->spread;
  run.spread_guessed = step->guessed;
  run.step = step->change;
  const Tails tails = tails_of(series.subspan(1), cards);
  const Tails tails_of_all = together(tails_of(series.first(1), cards), tails);
  if (!step->guessed) run.step->confidence = 1 - with_tails(step->p, tails_of_all, kNormalRuns);
  const double confident_of_step = step->guessed ? kConfidentOfGuess : kConfident;
  if (is_certain(*run.step, confident_of_step))
    run.verdict = run.step->ratio > 0 ? NewestVerdict::slower : NewestVerdict::faster;
  std::vector<Judged> kernels;
  for (const NewestSeries& one : series.subspan(1)) {
    if (std::optional<Judged> kernel = newest(one, kGuessedKernelFreedom))
      kernels.push_back(std::move(*kernel));
  }
  std::sort(kernels.begin(), kernels.end(), [](const Judged& x, const Judged& y) { return x.p < y.p; });
  // Step and kernels are one line: what is said of either is to be wrong in 1 of 20 together.
  const double confident = run.verdict == NewestVerdict::undecided ? kConfidentAlone : confident_of_step;
  double p = 0;
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const double of_all = std::min(1.0, kernels[i].p * static_cast<double>(kernels.size() - i));
    p = std::max(p, kernels[i].guessed ? of_all : with_tails(of_all, tails, kNormalRunsOfKernels));
    kernels[i].change.confidence = 1 - p;
    if (is_certain(kernels[i].change, confident)) run.kernels.push_back(kernels[i].change);
  }
  std::stable_sort(run.kernels.begin(), run.kernels.end(), [](const NewestChange& x, const NewestChange& y) {
    return std::abs(x.value_ns - x.before_ns) > std::abs(y.value_ns - y.before_ns);
  });
  if (run.kernels.size() > kMaxKernels) run.kernels.resize(kMaxKernels);
  return run;
}

}  // namespace ridgeline::comparison
