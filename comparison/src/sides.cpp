#include "sides.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <string>

#include "ridgeline/base/statistics.h"
#include "ridgeline/base/text.h"
#include "ridgeline/base/units.h"
#include "statistics.h"

namespace ridgeline::comparison {
namespace {

using Runs = std::vector<RunProfile>;

// Runs of one program whose work follows its data launch about as much; those of two programs rarely do.
constexpr double kOtherProgram = 1.25;
// Sides that launch as much, give or take this, are taken to do the same work.
constexpr double kSameWork = 0.05;

bool one_recording(const RunProfile& x, const RunProfile& y) {
  return x.start_ns && x.start_ns == y.start_ns && x.host_name == y.host_name &&
         x.command_line == y.command_line && x.step.median_ns == y.step.median_ns &&
         x.kernel_ns == y.kernel_ns;
}

std::string program_of(const RunProfile& run) {
  return std::string(base_name(run.command_line.substr(0, run.command_line.find(' '))));
}

std::string in_capture(const std::string& what, const RunProfile& run) {
  return what + " in " + run.path;
}

std::optional<Failure> refused_side(const Runs& runs, const std::string& side) {
  const RunProfile& first = runs.front();
  const std::string of_side = "the runs of " + side;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const RunProfile& run = runs[i];
    for (std::size_t j = 0; j < i; ++j) {
      if (one_recording(run, runs[j]))
        return Failure{ErrorKind::usage,
                       run.path + " and " + runs[j].path +
                           " are one recording: a run counts once, so give runs of their own"};
    }
    const std::string program = program_of(run);
    if (!program.empty() && !program_of(first).empty() && program != program_of(first))
      return Failure{ErrorKind::usage,
                     of_side + " are of several programs: " + in_capture(program_of(first), first) + ", " +
                         in_capture(program, run)};
    const double more = std::max(run.launches(), first.launches());
    const double less = std::min(run.launches(), first.launches());
    if (more > kOtherProgram * less)
      return Failure{
          ErrorKind::usage,
          of_side + " do other work: " +
              in_capture(
                  counted(static_cast<std::int64_t>(first.launches()), "launch", "launches") + " a step",
                  first) +
              ", " + in_capture(integer(static_cast<std::int64_t>(run.launches())), run)};
  }
  return std::nullopt;
}

// How long a recording without steps is depends on when it was begun and ended.
std::optional<Failure> refused_without_steps(const Runs& a, const Runs& b) {
  const RunProfile *with = nullptr, *without = nullptr;
  for (const Runs* runs : {&a, &b})
    for (const RunProfile& run : *runs) (run.whole_recording ? without : with) = &run;
  if (with == nullptr || without == nullptr) return std::nullopt;
  return Failure{ErrorKind::no_data,
                 without->path + " has no steps and " + with->path +
                     " has: all of a recording is not to be held against a step. Mark the steps "
                     "with NVTX ranges and record with --step-range NAME"};
}

}  // namespace

std::optional<Failure> refused_sides(const Runs& a, const Runs& b) {
  if (auto refused = refused_side(a, "A")) return refused;
  if (auto refused = refused_side(b, "B")) return refused;
  return refused_without_steps(a, b);
}

bool share_a_recording(const Runs& a, const Runs& b) {
  return std::any_of(a.begin(), a.end(), [&](const RunProfile& of_a) {
    return std::any_of(b.begin(), b.end(), [&](const RunProfile& of_b) { return one_recording(of_a, of_b); });
  });
}

bool recorded_in_blocks(const Runs& a, const Runs& b) {
  if (a.size() < 2 || b.size() < 2) return false;
  std::vector<std::pair<std::int64_t, bool>> order;  // begin, whether of B
  for (const Runs* runs : {&a, &b}) {
    for (const RunProfile& run : *runs) {
      if (!run.start_ns) return false;
      order.emplace_back(*run.start_ns, runs == &b);
    }
  }
  std::sort(order.begin(), order.end());
  const auto equal = [](const auto& x, const auto& y) { return x.first == y.first; };
  if (std::adjacent_find(order.begin(), order.end(), equal) != order.end()) return false;
  double of_a = 0, of_b = 0;
  for (std::size_t i = 0; i < order.size(); ++i) (order[i].second ? of_b : of_a) += static_cast<double>(i);
  const double apart = std::abs(of_b / static_cast<double>(b.size()) - of_a / static_cast<double>(a.size()));
  // In blocks the mean places differ by half of all runs; in turn by one at most.
  return apart > static_cast<double>(order.size()) / 4;
}

ComparisonSide describe_side(const Runs& runs, const ComparisonOptions& options) {
  ComparisonSide side;
  std::vector<double> clocks, powers, steps, launches;
  std::set<std::string> commits;
  for (const RunProfile& run : runs) {
    side.captures.push_back(run.path);
    commits.insert(run.git_commit);
    side.git_dirty = side.git_dirty || run.git_dirty.value_or(false);
    if (run.sm_clock_hz) clocks.push_back(*run.sm_clock_hz);
    if (run.power_w) powers.push_back(*run.power_w);
    if (run.temperature_c) side.temperature_c = std::max(side.temperature_c.value_or(0), *run.temperature_c);
    steps.push_back(std::log(std::max(1.0, run.step.median_ns)));
    launches.push_back(run.launches());
  }
  if (commits.size() == 1) side.git_commit = *commits.begin();
  side.command_line = runs.front().command_line;
  if (!runs.front().devices.empty()) side.device = runs.front().devices.front().name;
  if (!clocks.empty()) side.sm_clock_hz = median(clocks);
  if (!powers.empty()) side.power_w = median(powers);
  side.two_modes = has_two_modes(steps, std::log1p(options.step_ratio));
  side.launches = median(launches);
  return side;
}

bool modes_overlap(const Comparison& comparison, const Runs& a, const Runs& b) {
  if (!comparison.a.two_modes && !comparison.b.two_modes) return false;
  const auto step = [](const RunProfile& x, const RunProfile& y) {
    return x.step.median_ns < y.step.median_ns;
  };
  const auto [low_a, high_a] = std::minmax_element(a.begin(), a.end(), step);
  const auto [low_b, high_b] = std::minmax_element(b.begin(), b.end(), step);
  return low_b->step.median_ns <= high_a->step.median_ns && low_a->step.median_ns <= high_b->step.median_ns;
}

bool Comparison::other_work() const {
  return std::abs(a.launches - b.launches) > kSameWork * std::max(a.launches, b.launches);
}

}  // namespace ridgeline::comparison
