// Which launches of a step are delayed, by how much, and in which steps: pure, decided once the launches of a step
// are known, and by a seed alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace ridgeline::agent {

/// What was asked for: kernels, and delays for them.
struct InterventionRequest {
  std::string
      pattern;  // part of a mangled name, * and ? stand for any text; "*": the kernels with the most time
  std::vector<std::int64_t> levels_ns;  // rising, above 0; empty: chosen by the step's length
};

/// Lines of `PATTERN` or `PATTERN=MICROSECONDS,…`. Empty with the line that makes no sense in *wrong.
std::vector<InterventionRequest> parse_interventions(std::string_view text, std::string* wrong);

/// The mangled name has a part that the pattern means.
bool matches_part(std::string_view pattern, std::string_view mangled) noexcept;

/// A launch as it was seen in a step.
struct SeenLaunch {
  std::uint32_t position = 0;  // among the launches of the step
  std::uint32_t kernel_id = 0;
  std::string_view name;  // mangled
  double time_ns = 0;     // that it takes; 0: not known
};

/// A launch that is delayed.
struct InterventionTarget {
  std::uint32_t position = 0;
  std::uint32_t kernel_id = 0;
  std::vector<std::int64_t> levels_ns;
};

class InterventionPlan {
 public:
  static constexpr std::size_t kMaxTargets = 16;
  static constexpr std::size_t kChosenKernels = 3;  // where none is asked for by name

  /// Of each kernel that is meant, the middle one of its launches. `usual_step_ns` 0: not known. *missed: the patterns
  /// that mean no launch.
  static std::vector<InterventionTarget> targets(const std::vector<InterventionRequest>& requests,
                                                 const std::vector<SeenLaunch>& launches,
                                                 std::int64_t usual_step_ns,
                                                 std::vector<std::string>* missed);

  InterventionPlan(std::vector<InterventionTarget> targets, std::uint64_t seed)
      : targets_(std::move(targets)), state_(seed) {}

  struct Draw {
    std::optional<std::uint32_t> target;  // none: all are shams
    std::int64_t level_ns = 0;
  };
  /// Of blocks of seconds: the first target, and the middle one of its delays.
  Draw delay_of_blocks() const noexcept;
  /// Whether the first block is delayed: as the seed has it.
  bool first_block_is_delayed() noexcept { return (random() & 1) != 0; }
  /// For the next step. In every block of draws each target has each of its levels once, in a random order, and there
  /// are as many steps of shams alone as a target has levels.
  Draw next();
  const std::vector<InterventionTarget>& targets() const noexcept { return targets_; }

 private:
  std::uint64_t random() noexcept;
  std::vector<InterventionTarget> targets_;
  std::uint64_t state_;
  std::vector<Draw> block_;
};

}  // namespace ridgeline::agent
