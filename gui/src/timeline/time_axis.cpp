#include "timeline/time_axis.h"

#include <algorithm>
#include <cmath>

#include "ridgeline/base/units.h"

namespace ridgeline::gui {
namespace {

struct Unit {
  double ns;
  const char* name;
};
constexpr double kMaxInUnit = 10'000;
constexpr Unit kUnits[] = {{1e9, "s"}, {1e6, "ms"}, {1e3, "µs"}, {1, "ns"}};

}  // namespace

std::int64_t TimeAxis::ns_at(double x) const {
  return view_.start_ns + static_cast<std::int64_t>(std::llround(x * ns_per_pixel()));
}

std::vector<TimeTick> TimeAxis::ticks(std::int64_t origin_ns, double min_distance) const {
  const double wanted = std::max(ns_per_pixel() * min_distance, 1.0);
  const double power = std::pow(10.0, std::floor(std::log10(wanted)));
  double step = power;
  for (const double factor : {1.0, 2.0, 5.0, 10.0}) {
    step = power * factor;
    if (step >= wanted) break;
  }
  const Unit* unit = &kUnits[3];
  for (const Unit& candidate : kUnits) {
    if (step >= candidate.ns) {
      unit = &candidate;
      break;
    }
  }
  // Of what is far from the origin a larger unit with decimals is read more easily: "655.3 ms", not "655300 µs".
  const double farthest = std::max(std::abs(static_cast<double>(view_.start_ns - origin_ns)),
                                   std::abs(static_cast<double>(view_.end_ns - origin_ns)));
  while (unit != kUnits && farthest >= kMaxInUnit * unit->ns) --unit;
  const int decimals = std::max(static_cast<int>(std::ceil(std::log10(unit->ns / step) - 1e-9)), 0);
  const auto whole_step = static_cast<std::int64_t>(step);
  const std::int64_t small = whole_step >= 5 ? whole_step / 5 : whole_step;
  const std::int64_t first = (view_.start_ns - origin_ns) / small - 1;
  std::vector<TimeTick> ticks;
  for (std::int64_t i = first;; ++i) {
    const std::int64_t offset = i * small;
    const std::int64_t ns = origin_ns + offset;
    if (ns > view_.end_ns) break;
    if (ns < view_.start_ns) continue;
    TimeTick tick{x_of(ns), ns, ""};
    if (offset % whole_step == 0)
      tick.text = with_minus_sign(fixed(static_cast<double>(offset) / unit->ns, decimals)) + " " + unit->name;
    ticks.push_back(std::move(tick));
  }
  return ticks;
}

TimeWindow TimeAxis::inside(TimeWindow view, const TimeWindow& extent) {
  const std::int64_t margin = std::max<std::int64_t>(extent.length_ns() / 100, 1);
  const std::int64_t low = extent.start_ns - margin, high = extent.end_ns + margin;
  std::int64_t length = std::clamp(view.length_ns(), std::min(kShortestNs, high - low), high - low);
  const std::int64_t start = std::clamp(view.start_ns, low, high - length);
  return {start, start + length};
}

TimeWindow TimeAxis::zoomed(double factor, double x, const TimeWindow& extent) const {
  const double shortest = static_cast<double>(kShortestNs) / static_cast<double>(view_.length_ns());
  factor = std::max(factor, shortest);
  const double share = std::clamp(x / width_, 0.0, 1.0);
  const auto length = static_cast<double>(view_.length_ns());
  const auto start = view_.start_ns + static_cast<std::int64_t>(std::llround(share * length * (1 - factor)));
  return inside({start, start + static_cast<std::int64_t>(std::llround(length * factor))}, extent);
}

TimeWindow TimeAxis::panned(double pixels, const TimeWindow& extent) const {
  const auto by = static_cast<std::int64_t>(std::llround(pixels * ns_per_pixel()));
  return inside({view_.start_ns + by, view_.end_ns + by}, extent);
}

TimeWindow TimeAxis::around(const TimeWindow& what, double room, const TimeWindow& extent) {
  const auto more = static_cast<std::int64_t>(static_cast<double>(what.length_ns()) * room) + 1;
  return inside({what.start_ns - more, what.end_ns + more}, extent);
}

}  // namespace ridgeline::gui
