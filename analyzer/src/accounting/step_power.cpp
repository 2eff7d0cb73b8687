#include "accounting/step_power.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>
#include <utility>
#include <vector>

#include "ridgeline/analyzer/roofline/roof_times.h"
#include "ridgeline/store/device_peaks.h"
#include "utilisation/timeline_clock.h"

namespace ridgeline::analyzer {

namespace {

constexpr double kOfNormal95 = 1.96;
constexpr std::size_t kMinPoints = 6;
constexpr double kMinSpread = 0.005;          // of 1/clock, standard deviation over mean
constexpr double kMinError = 0.02;            // of a slope: clocks are read some ten times a second
constexpr double kAtRoof = 0.60;              // of a roof: below, latency holds the launch
constexpr double kNearlyAll = 0.90;           // of kernel time
constexpr double kMinEnergyS = 2;             // power is averaged by the driver over up to a second
constexpr std::int64_t kFarNs = 200'000'000;  // a clock sample speaks for a step no farther away

// What a launch's time does when the clock moves, by what bounds it. Device memory has a clock of its own.
ClockShare prior_of(const std::optional<LaunchRoofTimes>& times, double time_ns) {
  if (!times) return {0.5, 0.30};
  if (times->sol_ns < kAtRoof * time_ns) return {0.6, 0.25};
  switch (times->bound.level) {
    case RoofLevel::dram:
      return {0.05, 0.10};
    case RoofLevel::l2:
      return {0.8, 0.20};
    case RoofLevel::l1:
    case RoofLevel::issue:
    case RoofLevel::pipe:
      return {0.95, 0.08};
    case RoofLevel::launch:
      break;
  }
  return {0.5, 0.30};
}

struct RowClock {
  double time_ns = 0;          // as it shows, of launches whose clock is known
  double cycles = 0;           // Σ time × clock
  double beta = 0, error = 0;  // Σ time × prior
};

class Power {
 public:
  Power(const PowerInput& input, Ranking& ranking)
      : in_(input), ranking_(ranking), times_(input.model, input.utilisation, input.peaks) {}

  void clock();
  void energy();

 private:
  [[nodiscard]] store::Id device_id() const;
  [[nodiscard]] double exposed_ns(std::size_t i) const {
    return in_.exposure.ns(in_.utilisation.launches.row(i).launch);
  }
  [[nodiscard]] std::optional<double> clock_of(std::size_t i) const;
  [[nodiscard]] std::optional<double> clock_of_step(const ModelStep& step) const;
  [[nodiscard]] std::map<std::size_t, std::vector<ClockPoint>> points_by_row() const;
  [[nodiscard]] RowClock row_clock(const RankingRow& row);
  [[nodiscard]] std::optional<double> measured_w(double& seconds) const;

  const PowerInput& in_;
  Ranking& ranking_;
  RoofTimes times_;
};

store::Id Power::device_id() const {
  return in_.utilisation.launches.empty()
             ? 0
             : in_.model.launches.site(in_.utilisation.launches.row(0).launch).device_id;
}

std::optional<double> Power::clock_of(std::size_t i) const {
  const LaunchUtilisations::Row& row = in_.utilisation.launches.row(i);
  const LaunchValues& values = *in_.utilisation.launches.group_of(i).values;
  if (values.in_situ_cycles && row.duration_ns > 0)
    return values.in_situ_cycles->value / static_cast<double>(row.duration_ns) * 1e9;
  const auto median = in_.utilisation.sm_clock_hz.find(in_.model.launches.site(row.launch).device_id);
  return median == in_.utilisation.sm_clock_hz.end() ? std::nullopt : std::optional(median->second);
}

// The mean of the samples in the step, else the nearest one.
std::optional<double> Power::clock_of_step(const ModelStep& step) const {
  if (!step.step.gpu_start_ns || !step.step.gpu_end_ns) return std::nullopt;
  const std::int64_t from = *step.step.gpu_start_ns, to = *step.step.gpu_end_ns;
  const store::Id device = device_id();
  double sum = 0, count = 0, nearest_hz = 0;
  std::int64_t nearest_ns = kFarNs;
  for (const store::ClockSample& sample : in_.model.clock_samples) {
    if (sample.device_id != device || sample.sm_clock_hz.value_or(0) <= 0) continue;
    const auto clock_hz = static_cast<double>(*sample.sm_clock_hz);
    if (sample.time_ns >= from && sample.time_ns <= to) {
      sum += clock_hz;
      ++count;
    }
    const std::int64_t away = std::min(std::abs(sample.time_ns - from), std::abs(sample.time_ns - to));
    if (away >= nearest_ns) continue;
    nearest_ns = away;
    nearest_hz = clock_hz;
  }
  if (count > 0) return sum / count;
  return nearest_hz > 0 ? std::optional(nearest_hz) : std::nullopt;
}

// What each row took in each of the representative's peers, where their launches are loaded.
std::map<std::size_t, std::vector<ClockPoint>> Power::points_by_row() const {
  std::vector<std::pair<StepIndex, double>> peers;  // with the clock of each
  for (const StepIndex peer : in_.steps.representative.peers) {
    const ModelStep& step = in_.model.steps[peer];
    if (step.launches.size() != in_.utilisation.launches.size()) continue;
    if (const std::optional<double> clock_hz = clock_of_step(step)) peers.emplace_back(peer, *clock_hz);
  }
  std::map<std::size_t, std::vector<ClockPoint>> points;
  // clock_share() takes no fewer: steps of millions of launches, of which there are few, are not gone through.
  if (peers.size() < kMinPoints) return points;
  std::unordered_map<std::int64_t, std::size_t> row_of;  // by ordinal
  row_of.reserve(in_.utilisation.launches.size());
  for (std::size_t r = 0; r < ranking_.rows.size(); ++r) {
    for (const std::size_t i : ranking_.rows[r].launches) row_of[in_.utilisation.launches.row(i).ordinal] = r;
  }
  for (const auto& [peer, clock_hz] : peers) {
    std::map<std::size_t, double> sums;
    for (const LaunchIndex launch : in_.model.steps[peer].launches) {
      const Launches::Row& row = in_.model.launches.row(launch);
      const auto found = row_of.find(row.ordinal_in_step);
      if (found != row_of.end()) sums[found->second] += static_cast<double>(duration_ns(row));
    }
    for (const auto& [row, time_ns] : sums) points[row].push_back({clock_hz, time_ns});
  }
  return points;
}

RowClock Power::row_clock(const RankingRow& row) {
  RowClock sum;
  for (const std::size_t i : row.launches) {
    const std::optional<double> clock_hz = clock_of(i);
    const double time_ns = exposed_ns(i);
    if (!clock_hz || time_ns <= 0) continue;
    const ClockShare prior =
        prior_of(times_.of(i), static_cast<double>(in_.utilisation.launches.row(i).duration_ns));
    sum.time_ns += time_ns;
    sum.cycles += time_ns * *clock_hz;
    sum.beta += time_ns * prior.beta;
    sum.error += time_ns * prior.error;
  }
  return sum;
}

void Power::clock() {
  const store::Device* device = in_.model.device(device_id());
  if (device == nullptr || device->max_sm_clock_hz.value_or(0) <= 0) return;
  ClockCost cost{.device_id = device->id, .reference_hz = static_cast<double>(*device->max_sm_clock_hz)};
  const auto points = points_by_row();
  double cycles = 0, max_ns = 0, told_variance = 0, assumed_error = 0;
  for (std::size_t r = 0; r < ranking_.rows.size(); ++r) {
    RankingRow& row = ranking_.rows[r];
    const RowClock sum = row_clock(row);
    if (sum.time_ns <= 0) continue;
    const double loss = std::max(0.0, 1 - sum.cycles / sum.time_ns / cost.reference_hz);
    const auto known = points.find(r);
    const ToldShare share = clock_share(known == points.end() ? std::vector<ClockPoint>() : known->second,
                                        {sum.beta / sum.time_ns, sum.error / sum.time_ns});
    row.clock_loss_ratio = loss;
    row.clock_cost_ns = sum.time_ns * share.beta * loss;
    cost.cost_ns += *row.clock_cost_ns;
    cost.covered_ns += sum.time_ns;
    cycles += sum.cycles;
    max_ns += sum.time_ns * loss;
    // What was measured of each row is its own; what is assumed of one kind of kernel is wrong of all of them alike.
    const double error_ns = sum.time_ns * loss * share.error;
    if (share.told) {
      told_variance += error_ns * error_ns;
      cost.steps = std::max(cost.steps, static_cast<std::int64_t>(known->second.size()));
    } else {
      assumed_error += error_ns;
    }
  }
  if (cost.covered_ns <= 0) return;
  cost.steps_alike = !points.empty() && cost.steps == 0;
  cost.clock_hz = cycles / cost.covered_ns;
  const double error_ns = kOfNormal95 * std::hypot(std::sqrt(told_variance), assumed_error);
  cost.low_ns = std::max(0.0, cost.cost_ns - error_ns);
  cost.high_ns = std::min(max_ns, cost.cost_ns + error_ns);
  const TimeWindow window = timeline_window(in_.steps);
  for (const store::ClockSample& sample : in_.model.clock_samples) {
    if (sample.device_id == device->id && sample.time_ns >= window.start_ns &&
        sample.time_ns <= window.end_ns)
      cost.throttle_reasons |= sample.throttle_reasons.value_or(0);
  }
  ranking_.power.clock = cost;
}

// Terms of the model by name: joules a byte or an operation, and their error.
struct EnergyModel {
  std::map<std::string, std::pair<double, double>, std::less<>> terms;

  EnergyModel(const std::vector<store::Ceiling>& rows, store::Id device_id) {
    for (const store::Ceiling& row : rows) {
      if (row.device_id != device_id || row.level != CeilingLevel::energy || !std::isfinite(row.value))
        continue;
      terms[row.kind] = {std::max(0.0, row.value), std::fabs(row.value * row.spread_ratio.value_or(0))};
    }
  }
};

struct Joules {
  double value = 0;
  double variance = 0;
  bool known = true;
  void add(const EnergyModel& model, std::string_view term, double amount) {
    if (amount <= 0) return;
    const auto found = model.terms.find(term);
    if (found == model.terms.end()) {
      known = false;
      return;
    }
    value += amount * found->second.first;
    variance += std::pow(amount * found->second.second, 2);
  }
  void add(const Joules& other) {
    value += other.value;
    variance += other.variance;
    known = known && other.known;
  }
};

// Beyond the device's own watts. The operations of products carry the bytes that they move.
Joules joules_of(const EnergyModel& model, const LaunchValues& values, const store::Device* device,
                 std::optional<double> clock_hz, double time_ns) {
  Joules sum;
  if (!values.dram_bytes || !values.compute_utilisation) {
    sum.known = false;
    return sum;
  }
  for (const TypedOperations& type : values.tensor_types)
    sum.add(model, std::string(roof_name(type.quantity)) + "_op", type.count);
  if (values.tensor_types.empty()) {
    const auto bytes = [&](Metric metric) {
      const auto value = values.metrics.of(metric);
      return value ? value->value : 0;
    };
    // Each level's joules hold those of the levels that its bytes pass on their way.
    const double dram = values.dram_bytes->value, l2 = bytes("l2_bytes"), l1 = bytes("l1_bytes");
    sum.add(model, "dram_byte", dram);
    sum.add(model, "l2_byte", l2 - dram);
    sum.add(model, "l1_byte", l1 - std::max(l2, dram));
  }
  if (values.instruction_ops) {
    sum.add(model, "fp32_op", values.instruction_ops->fp32);
    sum.add(model, "fp64_op", values.instruction_ops->fp64);
    return sum;
  }
  const TierUtilisation& tier = values.t2.compute_utilisation ? values.t2 : values.t1;
  for (const auto& [pipe, quantity, term] :
       {std::tuple(Roof::kFma, Quantity::fp32_flops_per_s, "fp32_op"),
        std::tuple(Roof::kFp64, Quantity::fp64_flops_per_s, "fp64_op")}) {
    const auto share = tier.cycles_of(pipe);
    if (!share || device == nullptr || !clock_hz) continue;
    if (const auto rate = store::operations_at_clock(*device, quantity, *clock_hz, ""))
      sum.add(model, term, *share * rate->value * time_ns * 1e-9);
  }
  return sum;
}

std::optional<double> Power::measured_w(double& seconds) const {
  const TimeWindow window = timeline_window(in_.steps);
  const store::Id device = device_id();
  double joules = 0;
  const store::ClockSample* before = nullptr;
  for (const store::ClockSample& sample : in_.model.clock_samples) {
    if (sample.device_id != device || !sample.power_mw || sample.time_ns < window.start_ns ||
        sample.time_ns > window.end_ns)
      continue;
    if (before != nullptr) {
      const double between_s = static_cast<double>(sample.time_ns - before->time_ns) * 1e-9;
      joules +=
          (static_cast<double>(*sample.power_mw) + static_cast<double>(*before->power_mw)) / 2e3 * between_s;
      seconds += between_s;
    }
    before = &sample;
  }
  return seconds >= kMinEnergyS ? std::optional(joules / seconds) : std::nullopt;
}

void Power::energy() {
  const store::Id device = device_id();
  StepEnergy out;
  const double step_s = static_cast<double>(ranking_.totals.step_ns) * 1e-9;
  if (const auto watts = measured_w(out.measured_s); watts && step_s > 0) out.measured_j = *watts * step_s;
  const EnergyModel model(in_.model.ceilings, device);
  if (const auto idle = model.terms.find("idle"); idle != model.terms.end() && step_s > 0) {
    Joules all;
    double known_ns = 0, kernel_ns = 0;
    for (RankingRow& row : ranking_.rows) {
      Joules of_row;
      double exposed = 0;
      for (const std::size_t i : row.launches) {
        const double time_ns = static_cast<double>(in_.utilisation.launches.row(i).duration_ns);
        const Joules each = joules_of(model, *in_.utilisation.launches.group_of(i).values,
                                      in_.model.device(device), clock_of(i), time_ns);
        kernel_ns += time_ns;
        if (each.known) known_ns += time_ns, all.add(each);
        of_row.add(each);
        exposed += exposed_ns(i);
      }
      if (of_row.known) row.energy_j = of_row.value + idle->second.first * exposed * 1e-9;
    }
    out.covered_ratio = kernel_ns > 0 ? known_ns / kernel_ns : 0;
    if (out.covered_ratio >= kNearlyAll) {
      out.modelled_j = all.value + idle->second.first * step_s;
      out.modelled_error_j = std::sqrt(all.variance + std::pow(idle->second.second * step_s, 2));
    }
  }
  if (out.modelled_j || out.measured_j) ranking_.power.energy = out;
}

}  // namespace

ToldShare clock_share(const std::vector<ClockPoint>& points, const ClockShare& prior) {
  const ToldShare alone{{prior.beta, prior.error}, false};
  const auto n = static_cast<double>(points.size());
  if (points.size() < kMinPoints) return alone;
  double mean_x = 0, mean_y = 0;
  for (const ClockPoint& point : points) {
    if (point.clock_hz <= 0) return alone;
    mean_x += 1 / point.clock_hz / n;
    mean_y += point.time_ns / n;
  }
  double xx = 0, xy = 0, yy = 0;
  for (const ClockPoint& point : points) {
    const double x = 1 / point.clock_hz - mean_x, y = point.time_ns - mean_y;
    xx += x * x, xy += x * y, yy += y * y;
  }
  if (mean_y <= 0 || std::sqrt(xx / n) < kMinSpread * mean_x) return alone;
  const double slope = xy / xx;
  const double residual = std::max(0.0, yy - slope * xy) / (n - 2);
  const double scale = mean_x / mean_y;
  const double told = slope * scale, error = std::max(kMinError, std::sqrt(residual / xx) * scale);
  const double weight = 1 / (error * error), assumed = 1 / (prior.error * prior.error);
  const double beta = (told * weight + prior.beta * assumed) / (weight + assumed);
  return {{std::clamp(beta, 0.0, 1.0), 1 / std::sqrt(weight + assumed)}, true};
}

void add_power(const PowerInput& input, Ranking& ranking) {
  if (input.utilisation.launches.empty() || input.steps.representative.whole_recording) return;
  Power power(input, ranking);
  power.clock();
  power.energy();
}

}  // namespace ridgeline::analyzer
