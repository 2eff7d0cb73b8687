#include "ranks/interference.h"

#include <algorithm>
#include <set>

#include "ridgeline/base/statistics.h"

namespace ridgeline::analyzer::ranks {

namespace {

// Fewer controls, or all of one step, say little of what a launch takes by itself.
constexpr std::size_t kMinControls = 4;
constexpr std::size_t kMinControlSteps = 2;
// Controls that differ more among themselves, as a share of their median, are not of one kind.
constexpr double kMaxControlSpread = 0.5;

using Key = std::tuple<store::Id, store::Id, store::Id, std::int64_t, std::int64_t, std::int64_t,
                       std::int64_t, std::int64_t, std::int64_t, std::int64_t, std::int64_t>;

Key key_of(const ComparedLaunch& of) {
  return {of.kernel_id, of.kernel_before_id, of.kernel_after_id, of.grid.x,  of.grid.y,
          of.grid.z,    of.block.x,          of.block.y,         of.block.z, of.registers_per_thread,
          of.smem_bytes};
}

// Launches and their time in a step.
struct LaunchSum {
  double count = 0;
  double time_ns = 0;
  void add(double ns) {
    ++count;
    time_ns += ns;
  }
};

struct BesideLaunch {
  const ComparedLaunch* launch = nullptr;
  std::int64_t beside_ns = 0;
  std::optional<CollectiveFunction> function;
};

struct Kind {
  std::vector<BesideLaunch> beside;
  std::vector<double> controls_ns;
  std::map<std::int64_t, LaunchSum> beside_of, controls_of;  // by step
  [[nodiscard]] bool comparable() const {
    if (controls_ns.size() < kMinControls || controls_of.size() < kMinControlSteps) return false;
    return quantile(controls_ns, 0.9) - quantile(controls_ns, 0.1) <= kMaxControlSpread * median(controls_ns);
  }
};

std::int64_t length_of(const Span& time) {
  return time.end_ns - time.start_ns;
}

// Who ran beside a launch.
class Collectives {
 public:
  explicit Collectives(std::vector<CollectiveTime> all) : all_(std::move(all)) {
    std::sort(all_.begin(), all_.end(),
              [](const auto& a, const auto& b) { return a.time.start_ns < b.time.start_ns; });
    Spans spans;
    std::int64_t latest = 0;
    for (const CollectiveTime& one : all_) {
      spans.push_back(one.time);
      latest = std::max(latest, one.time.end_ns);
      ended_.push_back(latest);
    }
    united_ = united(std::move(spans));
  }
  [[nodiscard]] std::int64_t beside_ns(const Span& launch) const {
    return length_ns(clipped(united_, launch));
  }
  // That of the collective which is longest beside it.
  [[nodiscard]] std::optional<CollectiveFunction> function(const Span& launch) const {
    const auto first = std::upper_bound(ended_.begin(), ended_.end(), launch.start_ns) - ended_.begin();
    std::int64_t longest = 0;
    std::optional<CollectiveFunction> found;
    for (auto i = static_cast<std::size_t>(first); i < all_.size() && all_[i].time.start_ns < launch.end_ns;
         ++i) {
      const std::int64_t together =
          std::min(launch.end_ns, all_[i].time.end_ns) - std::max(launch.start_ns, all_[i].time.start_ns);
      if (together <= longest) continue;
      longest = together;
      found = all_[i].function;
    }
    return found;
  }

 private:
  std::vector<CollectiveTime> all_;
  std::vector<std::int64_t> ended_;  // the latest end of those up to here
  Spans united_;
};

// Cost of the kind's launches, n of them taking S together against controls that take c = C / M each: S - n c. A step's
// part has its own share of the error of c, so that the parts add up to the cost and their spread is that of the ratio.
void add_cost(const Kind& kind, double control_ns, Interference& out) {
  const auto launches = static_cast<double>(kind.beside.size());
  const auto controls = static_cast<double>(kind.controls_ns.size());
  const auto part = [&](std::int64_t step, double ns) {
    auto& cost = out.steps[step].cost_ns;
    cost = cost.value_or(0) + ns;
  };
  for (const auto& [step, sum] : kind.beside_of) part(step, sum.time_ns - sum.count * control_ns);
  for (const auto& [step, sum] : kind.controls_of)
    part(step, -launches / controls * (sum.time_ns - sum.count * control_ns));
}

}  // namespace

Interference interference_of(const std::vector<ComparedLaunch>& launches,
                             std::vector<CollectiveTime> collectives) {
  const Collectives communication(std::move(collectives));
  Interference out;
  std::map<Key, Kind> kinds;
  for (const ComparedLaunch& launch : launches) {
    out.steps.try_emplace(launch.step_index);
    Kind& kind = kinds[key_of(launch)];
    const auto ns = static_cast<double>(length_of(launch.time));
    const std::int64_t beside = communication.beside_ns(launch.time);
    if (beside > 0) {
      kind.beside.push_back({&launch, beside, communication.function(launch.time)});
      kind.beside_of[launch.step_index].add(ns);
    } else {
      kind.controls_ns.push_back(ns);
      kind.controls_of[launch.step_index].add(ns);
    }
  }
  std::map<std::pair<store::Id, std::optional<CollectiveFunction>>, store::JobInterference> rows;
  bool any = false;
  for (const auto& [key, kind] : kinds) {
    if (kind.beside.empty()) continue;
    const bool comparable = kind.comparable();
    any = any || comparable;
    const double control_ns = comparable ? mean(kind.controls_ns) : 0;
    if (comparable) add_cost(kind, control_ns, out);
    std::set<std::optional<CollectiveFunction>> functions;
    for (const BesideLaunch& one : kind.beside) {
      store::JobInterference& row = rows[{one.launch->kernel_id, one.function}];
      StepInterference& step = out.steps[one.launch->step_index];
      ++row.launches;
      row.beside_ns += one.beside_ns;
      step.beside_ns += one.beside_ns;
      if (!comparable) continue;
      ++row.compared;
      row.controlled_ns += one.beside_ns;
      step.controlled_ns += one.beside_ns;
      row.cost_ns += static_cast<double>(length_of(one.launch->time)) - control_ns;
      if (functions.insert(one.function).second)
        row.controls += static_cast<std::int64_t>(kind.controls_ns.size());
    }
  }
  for (auto& [index, step] : out.steps) {
    if (any) step.cost_ns = step.cost_ns.value_or(0);
  }
  for (auto& [key, row] : rows) {
    std::tie(row.kernel_id, row.function) = key;
    out.kernels.push_back(row);
  }
  return out;
}

}  // namespace ridgeline::analyzer::ranks
