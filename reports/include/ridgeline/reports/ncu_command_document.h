// ncu_command_document.h: how Nsight Compute is told to profile one kernel of a recording.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/reports/documents.h"

namespace ridgeline::reports {

struct NcuCommand {
  std::string kernel;            ///< demangled
  std::string function;          ///< as ncu matches it: without namespaces and arguments
  std::int64_t launch_skip = 0;  ///< launches of functions of that name before the one that is meant
  std::int64_t launch_count = 1;
  std::int64_t recorded_launches = 0;  ///< of functions of that name, in the recording of the process
  std::int64_t same_function = 1;      ///< kernels of that name: instances of one template count together
  std::optional<std::int64_t> step_index;
  std::vector<std::string> sections;  ///< identifiers of ncu
  bool graph = false;                 ///< the launches are nodes of a graph
  std::string program;                ///< command line as it was recorded; "": not known
  std::optional<std::string> working_directory;
  std::int64_t processes = 1;  ///< that launched kernels
  std::int64_t pid = 0;        ///< of the one that is meant
  bool begins_late = false;    ///< the recording began after the program: launches before it are not counted
  bool incomplete = false;     ///< launches were lost
};

/// The words of the command, "ncu" first and without the program.
[[nodiscard]] std::vector<std::string> ncu_words(const NcuCommand& command);
/// What must be known of it, a sentence each.
[[nodiscard]] std::vector<std::string> ncu_notes(const NcuCommand& command);
/// In one line, as a shell takes it.
[[nodiscard]] std::string ncu_line(const NcuCommand& command);

/// Text is a script: the command, with what must be known as comments before it. Refers to the command.
[[nodiscard]] Document ncu_command_document(const analyzer::Model& model, const NcuCommand& command,
                                            const DocumentOptions& options);

}  // namespace ridgeline::reports
