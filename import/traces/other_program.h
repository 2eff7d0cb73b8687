// other_program.h: runs a program of the user's that reads what it alone can read.
#pragma once

#include <string>
#include <vector>

#include "ridgeline/base/error.h"

namespace ridgeline::import {

struct ProgramRun {
  std::vector<std::string> words;  ///< the program, found in PATH, and its arguments
  std::string output = {};         ///< file for its standard output; "": nowhere
  bool plain_locale = false;       ///< LC_ALL=C, so that numbers are written as everywhere
};

/// Waits for it. Its standard input is empty, and what it says is not shown. True: it ended with status 0.
/// Failure: environment (it could not be started; the message says why, in a few words).
[[nodiscard]] Result<bool> run_program(const ProgramRun& run);

}  // namespace ridgeline::import
