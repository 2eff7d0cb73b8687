// nccl_profiler.h: whether NCCL may take the agent for its profiler plugin. It takes one in a process, so that one of
// the user's goes first.
#pragma once

#include <string>
#include <vector>

namespace ridgeline::launch {

inline constexpr const char* kNcclProfiler = "NCCL_PROFILER_PLUGIN";

/// What names a plugin already, in the order in which NCCL looks: the variable, unless it is empty; the path of a
/// configuration file of NCCL's that sets it; the path of a library that NCCL takes by itself. "": nothing does.
/// `environment`: the program's, as NAME=value; `system_file`: NCCL's configuration file of the host.
[[nodiscard]] std::string nccl_profiler_in_place(const std::vector<std::string>& environment,
                                                 const std::vector<std::string>& program,
                                                 const std::string& system_file = "/etc/nccl.conf");

/// NCCL cuts longer paths off, and would look for another library then.
[[nodiscard]] bool nccl_takes_path(const std::string& path);

}  // namespace ridgeline::launch
