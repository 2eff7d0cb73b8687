// rounds.h: variants of a program, each recorded once a round, each run in a process of its own.
//
// The order within a round is that of a Williams design: over a cycle each variant runs equally often in each place and
// equally often behind each other one, so that neither a drifting clock nor what the run before left behind (heat,
// caches) falls on one variant. Two variants run A B, B A, A B … (E. J. Williams, Austral. J. Sci. Res. A 2, 1949.)
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/comparison/profile.h"
#include "ridgeline/experiment/directory.h"
#include "ridgeline/experiment/interruption.h"

namespace ridgeline::experiment {

/// What is run, where, and what its captures are called: LABEL-NAME-01.ridge.
struct Variant {
  std::string label;      ///< "a"
  std::string name;       ///< "3f2a91c04d11"
  std::string directory;  ///< the program's working directory
  std::vector<std::string> program;
};

struct RecordingPlan {
  /// Called as RECORDER... -q -f -o FILE --directory DIR OPTIONS... -- PROGRAM...
  std::vector<std::string> recorder;
  std::vector<std::string> options;
  /// Of the first round instead: counters take time and are the same in every run.
  std::optional<std::vector<std::string>> first_options;
};

/// Indices of the variants in the order in which they run in a round, counted from 0.
[[nodiscard]] std::vector<std::size_t> order_of_round(std::size_t variants, std::int64_t round);

class Rounds {
 public:
  /// Earlier recordings of these variants are removed. What is given by reference outlives the object.
  Rounds(const std::vector<Variant>& variants, const RecordingPlan& plan, ExperimentDirectory& directory,
         Interruption* interruption);

  /// Records each variant once. Throws Error: no_data (a run ended without a capture; names its log), cancelled, and
  /// those of reading captures.
  void record();
  [[nodiscard]] std::int64_t done() const noexcept { return done_; }
  [[nodiscard]] const std::vector<std::string>& captures(std::size_t variant) const {
    return captures_[variant];
  }
  [[nodiscard]] const std::vector<comparison::RunProfile>& profiles(std::size_t variant) const {
    return profiles_[variant];
  }

 private:
  [[nodiscard]] std::string record(const Variant& variant, std::int64_t number);

  const std::vector<Variant>& variants_;
  const RecordingPlan& plan_;
  ExperimentDirectory& directory_;
  Interruption* interruption_;
  std::int64_t done_ = 0;
  std::vector<std::vector<std::string>> captures_;             // by variant
  std::vector<std::vector<comparison::RunProfile>> profiles_;  // likewise
};

/// This program, as a recorder.
[[nodiscard]] std::vector<std::string> own_recorder();

}  // namespace ridgeline::experiment
