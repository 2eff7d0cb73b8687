// ranking_keys.h: what makes a row of a ranking.
#pragma once

#include <compare>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/base/error.h"

namespace ridgeline::analyzer {

enum class RankingKey {
  kernel,  // demangled name; after it the start of the code hash where kernels of a step share a name
  kernel_and_grid,  // demangled name and grid, and the block where a grid comes with several
  family,           // normalised name
  kernel_class,     // gemm, attention, …
  nvtx_path,        // open ranges at launch
  phase,            // the range below the outermost: forward, backward, optimizer
  layer,            // the outermost range whose name ends in a number
  launch,           // each launch on its own
};
/// "kernel", "kernel-grid", "family", "class", "nvtx", "phase", "layer", "launch"
[[nodiscard]] std::string_view to_string(RankingKey key);

/// One key, or several that together make a row: layer and phase.
class RankingKeys {
 public:
  RankingKeys(RankingKey key)
      : keys_{key} {}  // NOLINT(google-explicit-constructor): one key is the usual case
  /// At least one. What parse_ranking_keys() refuses is not asked for here.
  explicit RankingKeys(std::vector<RankingKey> keys) : keys_(std::move(keys)) {}

  [[nodiscard]] const std::vector<RankingKey>& all() const { return keys_; }
  [[nodiscard]] bool several() const { return keys_.size() > 1; }
  [[nodiscard]] bool has(RankingKey key) const;
  bool operator==(const RankingKeys&) const = default;
  auto operator<=>(const RankingKeys&) const = default;

 private:
  std::vector<RankingKey> keys_;
};
/// "layer,phase"
[[nodiscard]] std::string to_string(const RankingKeys& keys);

/// Names of keys, "op" being another for "nvtx", with commas between. Failure: usage (an unknown name: lists the valid
/// ones; one that says what another says already, as a kernel its class; a launch with others).
[[nodiscard]] Result<RankingKeys> parse_ranking_keys(std::string_view text);

/// A row's name of what its keys say: "layer 3 · forward".
[[nodiscard]] std::string joined_keys(const std::vector<std::string>& keys);

}  // namespace ridgeline::analyzer
