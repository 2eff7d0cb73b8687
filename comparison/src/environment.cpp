#include "environment.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include "ridgeline/base/statistics.h"
#include "ridgeline/base/text.h"
#include "ridgeline/base/units.h"

namespace ridgeline::comparison {
namespace {

using Runs = std::vector<RunProfile>;
using Weight = EnvironmentWeight;

// A step's time follows the clock; less than this is within what a steady clock does.
constexpr double kClockRatio = 0.01;
constexpr int kTemperatureC = 10;
constexpr double kThrottledShare = 0.25;
// Of the clock samples: a moment of it at the beginning says nothing.
constexpr double kHardlyThrottled = 0.10;

std::string joined(const std::set<std::string>& values) {
  std::string text;
  for (const std::string& value : values) text += (text.empty() ? "" : ", ") + value;
  return text.empty() ? "none" : text;
}

std::set<std::string> values_of(const Runs& runs,
                                const std::function<std::string(const RunProfile&)>& value) {
  std::set<std::string> values;
  for (const RunProfile& run : runs) values.insert(value(run));
  return values;
}

std::set<std::string> keys_of(const Runs& a, const Runs& b,
                              std::map<std::string, std::string> RunProfile::*member) {
  std::set<std::string> keys;
  for (const Runs* runs : {&a, &b}) {
    for (const RunProfile& run : *runs) {
      for (const auto& [key, value] : run.*member) keys.insert(key);
    }
  }
  return keys;
}

std::string at(const std::map<std::string, std::string>& map, const std::string& key) {
  const auto found = map.find(key);
  return found == map.end() ? "not set" : found->second;
}

// Two builds of one program stand in two directories.
std::string without_directory(const std::string& command_line) {
  const std::size_t end = command_line.find(' ');
  const std::string program = command_line.substr(0, end);
  return std::string(base_name(program)) + (end == std::string::npos ? "" : command_line.substr(end));
}

std::string devices_text(const RunProfile& run, std::string DeviceFacts::*member) {
  std::set<std::string> values;
  for (const DeviceFacts& device : run.devices) values.insert(device.*member);
  return joined(values);
}

std::optional<double> median_of(const Runs& runs, std::optional<double> RunProfile::*member) {
  std::vector<double> values;
  for (const RunProfile& run : runs) {
    if (run.*member) values.push_back(*(run.*member));
  }
  if (values.empty()) return std::nullopt;
  return median(values);
}

std::optional<int> hottest(const Runs& runs) {
  std::optional<int> most;
  for (const RunProfile& run : runs) {
    if (run.temperature_c) most = std::max(most.value_or(0), *run.temperature_c);
  }
  return most;
}

class Differences {
 public:
  Differences(const Runs& a, const Runs& b) : a_(a), b_(b) {}

  void compare(Weight weight, const std::string& what,
               const std::function<std::string(const RunProfile&)>& value) {
    const auto of_a = values_of(a_, value);
    const auto of_b = values_of(b_, value);
    if (of_a != of_b) found_.push_back({weight, what, joined(of_a), joined(of_b)});
  }
  void add(Weight weight, const std::string& what, std::string a, std::string b) {
    found_.push_back({weight, what, std::move(a), std::move(b)});
  }
  std::vector<EnvironmentDifference> take() {
    std::stable_sort(found_.begin(), found_.end(),
                     [](const auto& x, const auto& y) { return x.weight > y.weight; });
    return std::move(found_);
  }

 private:
  const Runs& a_;
  const Runs& b_;
  std::vector<EnvironmentDifference> found_;
};

// Held down by its own heat or by the board: not a state to measure code in. The power limit is: a card that works
// hard is at it all the time.
std::set<std::string> bad_throttling(const Runs& runs) {
  std::set<std::string> reasons;
  for (const RunProfile& run : runs) {
    if (run.throttled_share < kHardlyThrottled) continue;
    for (const std::string& reason : run.throttle_reasons) {
      if (reason.find("thermal") != std::string::npos || reason.find("slowdown") != std::string::npos ||
          reason.find("brake") != std::string::npos)
        reasons.insert(reason);
    }
  }
  return reasons;
}

double throttled_share(const Runs& runs) {
  std::vector<double> shares;
  for (const RunProfile& run : runs) shares.push_back(run.throttled_share);
  return median(shares);
}

void compare_state(Differences& out, const Runs& a, const Runs& b) {
  const auto clock_a = median_of(a, &RunProfile::sm_clock_hz);
  const auto clock_b = median_of(b, &RunProfile::sm_clock_hz);
  if (clock_a && clock_b && std::abs(*clock_b / *clock_a - 1) > kClockRatio)
    out.add(Weight::explains, "sm_clock", clock_text(*clock_a), clock_text(*clock_b));
  const auto hot_a = hottest(a);
  const auto hot_b = hottest(b);
  if (hot_a && hot_b && std::abs(*hot_a - *hot_b) > kTemperatureC)
    out.add(Weight::note, "temperature", std::to_string(*hot_a) + " °C", std::to_string(*hot_b) + " °C");
  const auto bad_a = bad_throttling(a);
  const auto bad_b = bad_throttling(b);
  if (!bad_a.empty() || !bad_b.empty()) out.add(Weight::invalid, "throttled", joined(bad_a), joined(bad_b));
  const double share_a = throttled_share(a);
  const double share_b = throttled_share(b);
  if (std::abs(share_a - share_b) > kThrottledShare)
    out.add(Weight::note, "clock_held_down", percent_text(share_a, 0), percent_text(share_b, 0));
}

bool version_known(const Runs& runs, const std::string& version) {
  return std::all_of(runs.begin(), runs.end(),
                     [&](const RunProfile& run) { return run.versions.contains(version); });
}

}  // namespace

std::vector<EnvironmentDifference> environment_differences(const Runs& a, const Runs& b) {
  Differences out(a, b);
  out.compare(Weight::invalid, "gpu",
              [](const RunProfile& run) { return devices_text(run, &DeviceFacts::name); });
  out.compare(Weight::invalid, "gpu_count",
              [](const RunProfile& run) { return std::to_string(run.devices.size()); });
  out.compare(Weight::explains, "gpu_uuid",
              [](const RunProfile& run) { return devices_text(run, &DeviceFacts::uuid); });
  for (const std::string& name : keys_of(a, b, &RunProfile::versions)) {
    // A recording of another profiler may not say which driver it ran on, which is not another one.
    const bool known = version_known(a, name) && version_known(b, name);
    const bool decides = known && (name == "driver" || name == "cuda_driver");
    const Weight weight = decides                              ? Weight::invalid
                          : name == "agent" || name == "cupti" ? Weight::note
                                                               : Weight::explains;
    out.compare(weight, "version " + name, [&](const RunProfile& run) { return at(run.versions, name); });
  }
  out.compare(Weight::explains, "command_line",
              [](const RunProfile& run) { return without_directory(run.command_line); });
  out.compare(Weight::explains, "processes",
              [](const RunProfile& run) { return std::to_string(run.processes); });
  for (const std::string& name : keys_of(a, b, &RunProfile::environment)) {
    const bool is_path = name.ends_with("PATH") || name.ends_with("DIR") || name.ends_with("HOME");
    out.compare(is_path ? Weight::note : Weight::explains, "variable " + name,
                [&](const RunProfile& run) { return at(run.environment, name); });
  }
  out.compare(Weight::explains, "dram_roof", [](const RunProfile& run) { return run.dram_roof; });
  out.compare(Weight::note, "host", [](const RunProfile& run) { return run.host_name; });
  compare_state(out, a, b);
  return out.take();
}

}  // namespace ridgeline::comparison
