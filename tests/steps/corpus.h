/// corpus.h: launch sequences of programs of many kinds, with the steps that a person would call right, and the judge
/// of what a search for steps makes of them. Modelled on real programs: numbers of launches, which kernels repeat,
/// which grids change, where the host pauses.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "ridgeline/steps/launch_key.h"

namespace ridgeline::steps::corpus {

struct Sequence {
  std::vector<Launch> launches;
  std::vector<std::int64_t> times_ns;  ///< of the launches
  std::vector<std::size_t> steps;      ///< first launch of each step, in order
  std::size_t steady = 0;              ///< first step after the start-up
};

/// A kind of program: `make(seed)` is one run of it, start-up included.
struct Kind {
  std::string name;
  std::function<Sequence(std::uint32_t seed)> make;
};

[[nodiscard]] std::vector<Kind> kinds();
/// Recorded sequences that `directory` holds, `NAME.txt.gz` as sequences.py writes them. One that cannot be read is
/// empty.
[[nodiscard]] std::vector<Kind> recorded(const std::string& directory);

/// The part of a sequence from this step and `extra` launches on, as if the program were met there.
[[nodiscard]] Sequence from(const Sequence& whole, std::size_t step, double part);

struct Verdict {
  bool in_time = false;        ///< the right step within five steps or 0.3 s, whichever is later
  bool in_the_end = false;     ///< the right step over the last steps of the program
  bool ever_wrong = false;     ///< another step was in force for a while
  int replaced = 0;            ///< times
  double found_steps = -1;     ///< steps until the right one was in force; negative: never
  std::uint32_t launches = 0;  ///< of the step in force at the end
};
[[nodiscard]] Verdict judge(const Sequence& sequence);
/// The same of the search over the whole program at once, as the importer does it.
[[nodiscard]] bool right_at_import(const Sequence& sequence);

}  // namespace ridgeline::steps::corpus
