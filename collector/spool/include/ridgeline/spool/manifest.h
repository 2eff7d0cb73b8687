// manifest.h: launch.json in the spool directory: what the launcher knows and the agent cannot. Written
// before the program starts and again when it has ended, so that a dead launcher leaves enough to import
// from.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/base/error.h"
#include "ridgeline/base/tier_set.h"

namespace ridgeline::spool {

inline constexpr const char* kManifestName = "launch.json";
inline constexpr int kManifestVersion = 1;

struct LaunchManifest {
  std::vector<std::string> program;
  std::string working_directory;
  std::string output;  // absolute
  std::optional<std::string> git_commit;
  std::optional<bool> git_dirty;
  std::string host_name;
  std::string os;
  std::string ridgeline_version;
  std::string schedule;
  std::string step_range;
  std::optional<TierSet> tiers;  // that were asked for; none if the manifest does not say
  std::string window;  // options that delay recording, e.g. "--after 5m"; "": recorded from the start
  std::map<std::string, std::string> environment;  // what the program's behaviour may depend on; no secrets
  /// What NCCL has for a profiler plugin already, so that the agent is none; "": nothing, or it was not asked for.
  std::string nccl_profiler;
  std::vector<std::string> redact;  // patterns of words that the capture must not hold
  std::int64_t launcher_pid = 0;
  std::int64_t start_ns = 0;  // Unix epoch

  /// Known only when the program has ended; absent: the launcher died first.
  std::optional<std::int64_t> end_ns;
  std::optional<int> exit_status;
  std::optional<int> exit_signal;
  std::map<std::string, std::string> versions;  // of libraries that were mapped: cublas, cudnn, nccl, ...
  std::map<std::int64_t, int> ranks;            // of a distributed job, by pid
  std::vector<std::string> warnings;            // of the launcher, one line each
};

/// Replaces the manifest of a directory in one step. Failure: io.
[[nodiscard]] Result<void> write_manifest(const std::string& directory, const LaunchManifest& manifest);

/// nullopt: there is none. Failure: corrupt (unreadable, or of a newer version).
[[nodiscard]] Result<std::optional<LaunchManifest>> read_manifest(const std::string& directory);

}  // namespace ridgeline::spool
