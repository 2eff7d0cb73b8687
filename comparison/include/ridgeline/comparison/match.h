// match.h: which kernels of one run are which kernels of another.
//
// Levels, in the order of their trust; a site that a level has matched is not looked at by the next:
//   rule        what the user says, by regular expressions
//   exact       demangled name at the same place (NVTX path, launch shape; then another shape; then another path)
//   code        same machine code: a rename
//   normalised  same family at the same place: other template arguments, another tile of a library's product
//   sequence    alignment of what is left between what is matched (Gotoh's affine gaps, stream by stream), each place
//               once in the order of its first launch, so that repeated layers are folded
//   group       what is left of both sides at one place, compared as one unit: fusion and fission
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/comparison/profile.h"

namespace ridgeline::comparison {

enum class MatchLevel : std::uint8_t { exact, normalised, code, sequence, group, rule };

}  // namespace ridgeline::comparison

namespace ridgeline {

template <>
struct Vocabulary<comparison::MatchLevel> {
  using Level = comparison::MatchLevel;
  static constexpr std::string_view kName = "level of a match";
  static constexpr Word<Level> kWords[] = {{Level::exact, "exact"}, {Level::normalised, "normalised"},
                                           {Level::code, "code"},   {Level::sequence, "sequence"},
                                           {Level::group, "group"}, {Level::rule, "rule"}};
};

}  // namespace ridgeline

namespace ridgeline::comparison {

/// A kernel of the first run whose whole demangled name matches `kernel`, at a folded path that `path` is found in, is
/// the kernel of the second run whose demangled or normalised name is `becomes`.
struct MatchRule {
  std::string kernel;   ///< regular expression in RE2's syntax
  std::string becomes;  ///< text with $1 … $9 for the groups of `kernel`
  std::string path;     ///< likewise; "": anywhere
};

struct MatchOptions {
  std::vector<MatchRule> rules;
  /// Of devices of different models only ranges and families are compared. Set by match_kernels() itself where the
  /// profiles' devices differ.
  bool families_only = false;
};

/// Sites of the first run that are sites of the second, as one unit.
struct SiteMatch {
  std::vector<std::uint32_t> a, b;  ///< into RunProfile::sites; neither is empty
  MatchLevel level = MatchLevel::exact;
  double confidence = 1;  ///< 0..1: 1 same name at the same place; below 0.6 a guess
};

struct Matching {
  std::vector<SiteMatch> matches;     ///< by the first site of `a`
  std::vector<std::uint32_t> only_a;  ///< removed
  std::vector<std::uint32_t> only_b;  ///< added
  double time_share_a = 0;            ///< matched kernel time ÷ kernel time
  double time_share_b = 0;
  double time_share = 0;  ///< of both together
  bool families_only = false;
};

/// Failure: usage (a rule that is no regular expression).
[[nodiscard]] Result<Matching> match_kernels(const RunProfile& a, const RunProfile& b,
                                             const MatchOptions& options = {});

/// How alike two sites look, 0..1, apart from their time: class, path, words of the name, calls.
[[nodiscard]] double site_similarity(const KernelSite& a, const KernelSite& b);

}  // namespace ridgeline::comparison
