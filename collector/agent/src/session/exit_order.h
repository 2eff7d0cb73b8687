/// The order of exit handlers: the agent's before those of the libraries it works with.
///
/// Exit handlers run in the reverse order of their registration. CUPTI and the driver load some libraries
/// only when counters are set up, a second or so into the program, and a library registers handlers when it
/// is loaded and, for the statics of its functions, when these first run. Such handlers would run before the
/// agent's, under a thread of the agent that is still inside the library or before the agent has closed what
/// is open there, and the program would crash. So the libraries are loaded before the agent registers its
/// handler, and the one that has statics of the second kind keeps them until the process is gone.
///
/// Loading takes 65 ms on an H200's host, nearly all of it the initialisers of CUPTI's library for counters;
/// a recording without counters loads only NVML (0.2 ms).
#pragma once

#include <string>

namespace ridgeline::agent {

struct LibrariesToLoad {
  bool counters = false;  // what sets up counters: CUPTI's library for the host, the driver's compiler
  bool clocks = false;    // NVML
};

/// Loads them and keeps them. `cupti_path`: CUPTI's own file, whose companion lies beside it if the loader
/// does not know it. What is not there is no error: it is reported when it is wanted.
void load_before_exit_handlers(const LibrariesToLoad& wanted, const std::string& cupti_path) noexcept;

/// From now on no exit handler that this library registers is ever run; those that it has registered are.
/// `library` as dlopen() gives it. False if the library registers none, as far as its relocations tell.
bool ignore_later_exit_handlers(void* library) noexcept;

}  // namespace ridgeline::agent
