// libraries.h: where the libraries are that a recording needs. Looks at files only; loads nothing.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace ridgeline::launch {

/// The agent: RIDGELINE_AGENT_LIBRARY, else beside this executable (../lib, ../lib64, .), as an absolute path.
/// nullopt: this build has none (it needs the CUDA toolkit with CUPTI).
[[nodiscard]] std::optional<std::string> find_agent_library();

/// Whether a file can be an injected library at all: it begins as ELF files do.
[[nodiscard]] bool is_shared_library(const std::string& path);

/// The directories that may hold CUDA's libraries for this program, most fitting first: the Python environment
/// it runs in, LD_LIBRARY_PATH, the CUDA toolkit (CUDA_HOME, nvcc in PATH, /usr/local/cuda*), the system's.
[[nodiscard]] std::vector<std::string> cuda_library_directories(const std::vector<std::string>& program = {});

/// The first file of that name: names in the order of preference, e.g. {"libcupti.so.13", "libcupti.so"}.
[[nodiscard]] std::optional<std::string> find_cuda_library(const std::vector<std::string>& names,
                                                           const std::vector<std::string>& program = {});

/// RIDGELINE_CUPTI_LIBRARY, else the first libcupti of cuda_library_directories().
[[nodiscard]] std::optional<std::string> find_cupti_library(const std::vector<std::string>& program = {});

}  // namespace ridgeline::launch
