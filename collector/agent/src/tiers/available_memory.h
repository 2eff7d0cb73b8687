// How much memory this process may still take: the host's, and that of the cgroups it is in, whose limit kills it.
#pragma once

#include <cstdint>
#include <optional>

namespace ridgeline::agent {

/// In bytes, nothing if unknown: the least of what the host has and what each cgroup leaves, from the process's own up
/// to the root, of version 2 or of the memory controller of version 1. Pages of files that nobody uses count as free,
/// as the host counts them. `proc` and `cgroups`: where those file systems are mounted. Never fails.
std::optional<std::uint64_t> available_memory(const char* proc = "/proc",
                                              const char* cgroups = "/sys/fs/cgroup") noexcept;

}  // namespace ridgeline::agent
