#include "session/intervention_plan.h"

#include <algorithm>
#include <charconv>
#include <map>
#include <utility>

namespace ridgeline::agent {
namespace {

constexpr std::int64_t kMicrosecond = 1000;
constexpr std::int64_t kMinLevelNs = 10 * kMicrosecond, kMaxLevelNs = 100'000 * kMicrosecond;
// Of the step's length, where no delays are asked for: far enough apart to show slack, and short enough that the
// program goes on as it was.
constexpr double kLevelShares[] = {0.01, 0.02, 0.04, 0.08};
constexpr std::int64_t kMaxChosenLevelNs = 8000 * kMicrosecond;
constexpr std::int64_t kUnknownStepNs = 10'000 * kMicrosecond;

bool parse_levels(std::string_view text, std::vector<std::int64_t>* levels) {
  while (true) {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    double us = 0;
    const auto [at, error] = std::from_chars(part.data(), part.data() + part.size(), us);
    if (error != std::errc() || at != part.data() + part.size() || !(us >= 0) ||
        us * kMicrosecond > kMaxLevelNs)
      return false;
    if (us > 0) levels->push_back(std::max(static_cast<std::int64_t>(us * kMicrosecond), kMicrosecond));
    if (comma == std::string_view::npos) break;
    text.remove_prefix(comma + 1);
  }
  std::sort(levels->begin(), levels->end());
  levels->erase(std::unique(levels->begin(), levels->end()), levels->end());
  return !levels->empty();
}

std::vector<std::int64_t> chosen_levels(std::int64_t usual_step_ns) {
  const double step_ns = static_cast<double>(usual_step_ns > 0 ? usual_step_ns : kUnknownStepNs);
  std::vector<std::int64_t> levels;
  for (const double share : kLevelShares) {
    const auto level = std::clamp(static_cast<std::int64_t>(share * step_ns) / kMicrosecond * kMicrosecond,
                                  kMinLevelNs, kMaxChosenLevelNs);
    if (levels.empty() || level > levels.back()) levels.push_back(level);
  }
  return levels;
}

bool matches_whole(std::string_view pattern, std::string_view text) noexcept {
  std::size_t p = 0, t = 0, star = std::string_view::npos, from = 0;
  while (t < text.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = t;
    } else if (p < pattern.size() && (pattern[p] == '?' || pattern[p] == text[t])) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++from;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

struct KernelLaunches {
  std::string_view name;
  double time_ns = 0;
  std::vector<std::uint32_t> positions;
};

using ByKernel = std::map<std::uint32_t, KernelLaunches>;

// The kernels that are meant, those with the most time first.
std::vector<std::uint32_t> meant_by(const std::string& pattern, const ByKernel& kernels) {
  std::vector<std::uint32_t> meant;
  for (const auto& [id, kernel] : kernels)
    if (matches_part(pattern, kernel.name)) meant.push_back(id);
  std::stable_sort(meant.begin(), meant.end(), [&](std::uint32_t a, std::uint32_t b) {
    const KernelLaunches &one = kernels.at(a), &other = kernels.at(b);
    if (one.time_ns != other.time_ns) return one.time_ns > other.time_ns;
    return one.positions.size() > other.positions.size();
  });
  return meant;
}

}  // namespace

bool matches_part(std::string_view pattern, std::string_view mangled) noexcept {
  std::string around;
  try {
    around.append("*").append(pattern).append("*");
  } catch (...) {
    return false;
  }
  return matches_whole(around, mangled);
}

std::vector<InterventionRequest> parse_interventions(std::string_view text, std::string* wrong) {
  std::vector<InterventionRequest> requests;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    const std::string_view line = text.substr(0, end);
    text.remove_prefix(std::min(end + 1, text.size()));
    if (line.empty()) continue;
    InterventionRequest request;
    const std::size_t equals = line.rfind('=');
    request.pattern = line.substr(0, equals);
    const bool sound =
        !request.pattern.empty() &&
        (equals == std::string_view::npos || parse_levels(line.substr(equals + 1), &request.levels_ns));
    if (!sound) {
      *wrong = line;
      return {};
    }
    requests.push_back(std::move(request));
  }
  return requests;
}

std::vector<InterventionTarget> InterventionPlan::targets(const std::vector<InterventionRequest>& requests,
                                                          const std::vector<SeenLaunch>& launches,
                                                          std::int64_t usual_step_ns,
                                                          std::vector<std::string>* missed) {
  ByKernel kernels;
  for (const SeenLaunch& launch : launches) {
    KernelLaunches& kernel = kernels[launch.kernel_id];
    kernel.name = launch.name;
    kernel.time_ns += launch.time_ns;
    kernel.positions.push_back(launch.position);
  }
  std::vector<InterventionTarget> targets;
  for (const InterventionRequest& request : requests) {
    std::size_t wanted = request.pattern == "*" ? kChosenKernels : 1;
    const std::vector<std::uint32_t> meant = meant_by(request.pattern, kernels);
    if (meant.empty()) missed->push_back(request.pattern);
    for (const std::uint32_t id : meant) {
      if (wanted == 0 || targets.size() == kMaxTargets) break;
      const bool known = std::any_of(targets.begin(), targets.end(),
                                     [id](const auto& target) { return target.kernel_id == id; });
      if (known) continue;
      const auto& positions = kernels.at(id).positions;
      targets.push_back({positions[positions.size() / 2], id,
                         request.levels_ns.empty() ? chosen_levels(usual_step_ns) : request.levels_ns});
      --wanted;
    }
  }
  return targets;
}

// SplitMix64: the same draws from the same seed on every machine.
std::uint64_t InterventionPlan::random() noexcept {
  std::uint64_t z = (state_ += 0x9e3779b97f4a7c15ULL);
  z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
  z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
  return z ^ (z >> 31);
}

InterventionPlan::Draw InterventionPlan::delay_of_blocks() const noexcept {
  if (targets_.empty() || targets_.front().levels_ns.empty()) return {};
  const auto& levels = targets_.front().levels_ns;
  return {0U, levels[(levels.size() - 1) / 2]};
}

InterventionPlan::Draw InterventionPlan::next() {
  if (block_.empty()) {
    std::size_t shams = 0;
    for (std::uint32_t target = 0; target < targets_.size(); ++target) {
      for (const std::int64_t level : targets_[target].levels_ns) block_.push_back({target, level});
      shams = std::max(shams, targets_[target].levels_ns.size());
    }
    block_.resize(block_.size() + std::max<std::size_t>(shams, 1));
    for (std::size_t i = block_.size() - 1; i > 0; --i) std::swap(block_[i], block_[random() % (i + 1)]);
  }
  const Draw draw = block_.back();
  block_.pop_back();
  return draw;
}

}  // namespace ridgeline::agent
