// What the operating system tells about processes: this one, and whether another lives.
#pragma once

#include <cstdint>
#include <string>

namespace ridgeline::agent {

inline constexpr char kAgentVersion[] = RIDGELINE_VERSION;

struct ProcessInfo {
  std::string arguments;  // argv, joined by zero bytes
  std::string executable;
  std::string working_directory;
  std::string host_name;
  std::int64_t start_ns = 0;  // since the Unix epoch, to a clock tick; 0 if unknown
};

ProcessInfo describe_process();
/// Of the program; empty if the system does not say.
std::string executable_path();
/// Whether a process of this number is there, also one that is another user's. Not for 0.
bool lives(std::uint32_t pid) noexcept;

}  // namespace ridgeline::agent
