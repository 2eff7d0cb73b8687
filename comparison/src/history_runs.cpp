#include "history_runs.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "ridgeline/base/text.h"
#include "ridgeline/base/units.h"

namespace ridgeline::comparison {
namespace {

// Commits add and remove kernels; a step that was found elsewhere, or another job of the same command, differs by more.
constexpr double kMaxLaunchRatio = 1.25;
// Of a command line in a kind's name.
constexpr std::size_t kMaxProgramBytes = 160;

using RunKey = std::tuple<std::string, std::string, std::int64_t, std::string, std::string, std::string>;

std::int64_t devices_of(const StoredRun& run) {
  return run.devices.value_or(std::count(run.card.begin(), run.card.end(), ',') + 1);
}

struct Open {
  RunKey key;
  std::optional<std::int64_t> launches;  // of its last run that says so
  std::vector<std::size_t> runs;
};

double distance(const Open& kind, const StoredRun& run) {
  if (!kind.launches || !run.launches) return std::log(kMaxLaunchRatio);  // joins if nothing is nearer
  return std::abs(std::log(static_cast<double>(std::max<std::int64_t>(1, *kind.launches))) -
                  std::log(static_cast<double>(std::max<std::int64_t>(1, *run.launches))));
}

std::string name_of(const Open& kind) {
  const auto& [program, gpu, devices, driver, cuda, policy] = kind.key;
  std::string name = program.empty() ? "unknown program" : bounded_text(one_line(program), kMaxProgramBytes);
  if (kind.launches) name += ", " + counted(*kind.launches, "launch", "launches") + " a step";
  name += ", " + (devices > 1 ? integer(devices) + " × " : "") + gpu;
  if (!driver.empty()) name += ", driver " + driver;
  if (!cuda.empty()) name += ", CUDA " + cuda;
  if (!policy.empty()) name += ", " + policy;
  return name;
}

}  // namespace

std::vector<RunKind> kinds_of(const std::vector<StoredRun>& runs) {
  std::vector<Open> open;
  std::map<RunKey, std::vector<std::size_t>> by_key;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    const StoredRun& run = runs[i];
    RunKey key{run.program, run.gpu, devices_of(run), run.driver, run.cuda, run.policy};
    std::vector<std::size_t>& candidates = by_key[key];
    const auto nearest = std::min_element(
        candidates.begin(), candidates.end(),
        [&](std::size_t x, std::size_t y) { return distance(open[x], run) < distance(open[y], run); });
    std::size_t taken = open.size();
    if (nearest != candidates.end() && distance(open[*nearest], run) <= std::log(kMaxLaunchRatio) + 1e-12) {
      taken = *nearest;
    } else {
      candidates.push_back(taken);
      open.push_back({std::move(key), std::nullopt, {}});
    }
    if (run.launches) open[taken].launches = run.launches;
    open[taken].runs.push_back(i);
  }
  std::vector<RunKind> kinds;
  std::map<std::string, int> names;
  for (const Open& kind : open) {
    std::string name = name_of(kind);
    // Programs that differ in what is cut off.
    if (const int earlier = names[name]++; earlier > 0) name += " (" + std::to_string(earlier + 1) + ")";
    kinds.push_back({std::move(name), kind.runs});
  }
  return kinds;
}

}  // namespace ridgeline::comparison
