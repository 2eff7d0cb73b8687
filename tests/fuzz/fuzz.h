// fuzz.h: a fuzzer that needs no compiler's help: inputs are changed by a seeded generator and handed to a target,
// which may fail as it likes but must neither crash, hang nor allocate without bound. CI runs it for seconds,
// scripts/fuzz for as long as wanted.
#pragma once

#include <cstdint>
#include <functional>
#include <random>
#include <string>
#include <vector>

namespace ridgeline::fuzz {

class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}
  /// 0 to limit - 1; 0 if limit is 0.
  std::size_t below(std::size_t limit) { return limit == 0 ? 0 : engine_() % limit; }
  bool one_in(std::size_t n) { return below(n) == 0; }
  template <typename T>
  const T& of(const std::vector<T>& values) {
    return values[below(values.size())];
  }
  /// Numbers at which arithmetic goes wrong, and some that are plain.
  std::int64_t odd_number();

 private:
  std::mt19937_64 engine_;
};

/// Flips bits, writes odd numbers, cuts, doubles, moves and splices parts: one to four changes.
[[nodiscard]] std::string mutated(std::string bytes, const std::vector<std::string>& corpus, Random& random);

/// One way to use a program's input.
struct Target {
  std::string name;  // of its folder in the corpus
  std::vector<std::string>
      corpus;  // inputs to begin with, made by the program; files of the folder are added
  std::function<void(const std::string& input, Random& random)> run;  // anything it throws is a failure
};

/// Runs targets for --seconds (divided among them) from --seed on; --only TARGET, --corpus FOLDER, --input FILE (once).
/// An input that fails is left in the working folder and named with the line that repeats it. Exit status 0: none did.
int main(int argc, char** argv, std::vector<Target> targets);

}  // namespace ridgeline::fuzz
