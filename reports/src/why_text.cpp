#include "ridgeline/reports/why_text.h"

#include <fmt/format.h>

#include <algorithm>
#include <string_view>

#include "ridgeline/base/units.h"
#include "ridgeline/reports/absence_text.h"

namespace ridgeline::reports {
namespace {

using analyzer::KernelBound;
using analyzer::KernelHold;
using analyzer::KernelLimit;
using analyzer::LaunchConfiguration;
using analyzer::OccupancyLimiter;
using analyzer::RankingRow;

// Less of the device without a block is the rounding of a grid, and holds nothing.
constexpr double kIdleSms = 0.05;

std::string limit_words(const KernelLimit& limit) {
  return fmt::format("{} ({})", to_string(limit.roof), percent_text(limit.use.value));
}

const KernelLimit* limit_where(const KernelHold& hold, bool KernelLimit::*mark) {
  const auto found =
      std::find_if(hold.limits.begin(), hold.limits.end(), [&](const KernelLimit& l) { return l.*mark; });
  return found == hold.limits.end() ? nullptr : &*found;
}

std::string tie_words(const KernelHold& hold) {
  std::vector<std::string> as_near;
  for (const KernelLimit& limit : hold.limits)
    if (limit.as_near && !limit.nearest) as_near.push_back(limit_words(limit));
  if (as_near.empty()) return "";
  const bool one = as_near.size() == 1;
  return fmt::format("; {} {} as near, so that to relieve one of them alone gains nothing",
                     listed_words(as_near), one ? "is" : "are");
}

std::string hold_words(const RankingRow& row, const KernelHold& hold) {
  const KernelLimit* bounds = limit_where(hold, &KernelLimit::bounds);
  const KernelLimit* nearest = limit_where(hold, &KernelLimit::nearest);
  std::string text = row.bound == KernelBound::memory ? "Memory-bound: " : "Compute-bound: ";
  if (bounds == nullptr) {
    text.append(row.bound_roof ? to_string(*row.bound_roof) : "a roof").append(" holds most of its time");
  } else if (bounds == nearest || nearest == nullptr) {
    text += fmt::format("{} is used to {}", to_string(bounds->roof), percent_text(bounds->use.value));
  } else {
    text += fmt::format("{} holds most of its time", limit_words(*bounds));
  }
  if (nearest != nullptr && nearest != bounds) text += "; the nearest roof is " + limit_words(*nearest);
  return text + tie_words(hold);
}

// What an SM has room for, and who of several limits it.
std::string room_words(const RankingRow& row, const KernelHold& hold) {
  const LaunchConfiguration* longest = hold.configurations.empty() ? nullptr : &hold.configurations.front();
  if (longest == nullptr || !longest->occupancy) return "; dependences, too few warps or waits hold it";
  const analyzer::Occupancy& occupancy = *longest->occupancy;
  const bool all = occupancy.warps >= occupancy.max_warps;
  std::string text =
      fmt::format("; what holds it is waiting, and {}an SM has room for {} of its {} warps to hide that",
                  hold.configurations.size() == 1 ? "" : "where most of its time goes ",
                  all ? std::string("all") : fmt::format("{}", occupancy.warps), occupancy.max_warps);
  if (const auto achieved = row.metrics.of("occupancy_ratio"))
    text += fmt::format(" ({} were resident)", percent_text(achieved->value));
  if (!all) text += ", limited by " + limiters_words(occupancy);
  // With less than one wave no room for more blocks is of use.
  if (longest->waves && *longest->waves < 1 && longest->idle_ratio.value_or(0) >= kIdleSms)
    text +=
        fmt::format("; its grid leaves {} of the SMs without a block", percent_text(*longest->idle_ratio));
  return text;
}

std::string latency_words(const analyzer::Ranking& ranking, const RankingRow& row, const KernelHold& hold) {
  const KernelLimit* nearest = limit_where(hold, &KernelLimit::nearest);
  std::string text = fmt::format("Latency-bound: no roof is used to {} or more",
                                 percent_text(ranking.options.bounds.min_ratio, 0));
  if (nearest != nullptr) {
    std::vector<std::string> near = {limit_words(*nearest)};
    for (const KernelLimit& limit : hold.limits)
      if (limit.as_near && !limit.nearest) near.push_back(limit_words(limit));
    text.append(near.size() == 1 ? ", the nearest is " : ", the nearest are ").append(listed_words(near));
  }
  return text + room_words(row, hold);
}

std::string unmeasured_words(const RankingRow& row) {
  const std::string why = absence_text(row.why);
  return "How near it is to any roof was not measured" + (why.empty() ? why : ": " + why);
}

std::string_view limiter_word(OccupancyLimiter limiter) {
  switch (limiter) {
    case OccupancyLimiter::warps:
      return "warp slots";
    case OccupancyLimiter::blocks:
      return "block slots";
    case OccupancyLimiter::registers:
      return "registers";
    case OccupancyLimiter::shared_memory:
      return "shared memory";
  }
  return "";
}

}  // namespace

std::string listed_words(const std::vector<std::string>& words) {
  std::string text;
  for (std::size_t i = 0; i < words.size(); ++i)
    text.append(i == 0 ? "" : i + 1 == words.size() ? " and " : ", ").append(words[i]);
  return text;
}

std::string limiters_words(const analyzer::Occupancy& occupancy) {
  std::vector<std::string> words;
  for (const OccupancyLimiter limiter : occupancy.limiters()) words.emplace_back(limiter_word(limiter));
  return listed_words(words) + (words.size() > 1 ? " alike" : "");
}

std::string why_sentence(const analyzer::Ranking& ranking, const RankingRow& row, const KernelHold& hold) {
  switch (row.bound) {
    case KernelBound::memory:
    case KernelBound::compute:
      return hold_words(row, hold) + ".";
    case KernelBound::latency:
      return latency_words(ranking, row, hold) + ".";
    case KernelBound::too_short:
      return "Too short for any roof: a launch takes the device some microseconds however little it does.";
    case KernelBound::no_roof:
      return "No roof applies: it is communication, or does no work to speak of.";
    case KernelBound::unmeasured:
      break;
  }
  return unmeasured_words(row) + ".";
}

}  // namespace ridgeline::reports
