// command_line.h: the whole command line, without a process of its own: all verbs, and how failures end.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "verb.h"

namespace ridgeline::cli {

/// Every verb, in the order of the help, or that one `only`. `command`: what followed "--" on the command line;
/// outlives them.
[[nodiscard]] std::vector<Verb> add_verbs(Command program, const std::vector<std::string>& command,
                                          std::string_view only = {});

/// Parses, runs one verb, maps failures to exit codes (docs/cli.md). `arguments`: without the program's name. Throws
/// nothing: what goes wrong is a line on standard error.
[[nodiscard]] int run_command_line(const std::vector<std::string>& arguments);

}  // namespace ridgeline::cli
