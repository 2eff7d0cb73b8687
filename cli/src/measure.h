// measure.h: records two sides in turn until the verdict is clear, each run in a process of its own.
//
// Lifecycle of measure(): 1. pairs A B, B A, A B … 2. after three and after each further one a look, with the error
// spent over the looks, until the step's outcome is clear or time or pairs are up; the last look has what is left of
// the error 3. what was found must show again in one fresh pair 4. captures stay, named by side and number.
#pragma once

#include <chrono>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/analyzer/comparison.h"
#include "ridgeline/base/error.h"

namespace ridgeline::cli {

/// Where a side runs and what its captures are called.
struct MeasuredSide {
  std::string name;       // "3f2a91c04d11": part of the file names
  std::string directory;  // the program's working directory
};

struct MeasurePlan {
  std::vector<std::string>
      recorder;  // called as RECORDER... -q -f -o FILE --directory DIR OPTIONS... -- PROGRAM...
  std::vector<std::string> record_options;
  /// Of the first pair instead: counters take time and are the same in every run.
  std::optional<std::vector<std::string>> first_record_options;
  std::vector<std::string> program;
  std::string output_directory;                     // of the captures
  std::int64_t pairs = 10;                          // at most
  std::optional<std::chrono::milliseconds> budget;  // no pair begins that is not expected to end within it
  bool look = true;                                 // false: all pairs, one look at the end, no confirmation
  bool confirm = true;                              // what was found must show again
  analyzer::ComparisonOptions compare;
  std::function<void(const std::string&)> tell;  // a line about what is done now
};

struct Measured {
  analyzer::Comparison comparison;
  std::vector<std::string> captures_a, captures_b;
};

/// Failures: no_data (a run ended without a capture; names its log), usage, and those of reading captures.
[[nodiscard]] Result<Measured> measure(const MeasuredSide& a, const MeasuredSide& b, const MeasurePlan& plan);

/// This program, as a recorder.
[[nodiscard]] std::vector<std::string> own_recorder();

/// Runs a shell command in a directory with its output in a file; its exit status, 128 + N for a signal.
[[nodiscard]] int run_logged(const std::string& command, const std::string& directory,
                             const std::string& log);

}  // namespace ridgeline::cli
