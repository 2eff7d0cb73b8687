// importer.h: turns the spools of a recording into a capture.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/base/error.h"
#include "ridgeline/base/kept_tracing.h"
#include "ridgeline/base/reason.h"

namespace ridgeline::import {

struct ImportProgress {
  std::uint64_t done_bytes = 0;  // of all passes over all spools
  std::uint64_t total_bytes = 0;
};

struct ImportOptions {
  bool overwrite = false;  // replace an existing output; the old file stays until the new one is whole
  std::function<void(const ImportProgress&)> progress;  // called a few times a second at most; may be empty
  /// Folder of machine files (docs/ceilings.md): the measured roofs of the recorded devices go into the capture. "":
  /// none do.
  std::string ceilings_directory = {};
  std::map<std::string, double> power_limits_w =
      {};  // of devices, by UUID; a file of another limit is not taken
  /// Asked of each process whose steps wait for the host; empty: nobody knows.
  std::function<std::optional<KeptTracing>()> kept_tracing = {};
};

/// A process that did not end in order: the line about it among the warnings, and what is known to be missing
/// of it, empty if nothing.
struct Unfinished {
  Reason warning;
  Reason missing;
};

/// What went into the capture.
struct ImportSummary {
  std::string capture_path;
  std::int64_t processes = 0;
  std::int64_t launches = 0;       // kernel executions
  std::int64_t launches_seen = 0;  // kernel launches on the host, graph launches not counted
  std::int64_t steps = 0;
  std::int64_t timeline_steps = 0;  // status ok
  std::int64_t replay_steps = 0;    // status ok
  std::int64_t counter_values = 0;
  std::vector<Reason> warnings;  // one line each: what is missing from the capture and why
  std::vector<Unfinished> unfinished;
  bool company_said = false;  // that processes shared a GPU is among the warnings
};

/// Imports every spool of a directory, with the launch manifest there if there is one, into a new capture.
/// Streams: memory grows with steps, graph launches and ranges still open, not with kernel launches.
/// The spools are left as they are, whatever happens. The capture appears under its name when it is whole.
/// Failures: usage (no such directory; output exists), no_data (no spool, or no kernel in any of them: the
/// message says why), environment (the agent could not record: its own words), io.
[[nodiscard]] Result<ImportSummary> import_spools(const std::string& spool_directory,
                                                  const std::string& output,
                                                  const ImportOptions& options = {});

/// Failure usage: no such folder, or neither a launch manifest nor a spool in it.
[[nodiscard]] Result<void> check_spool_directory(const std::string& spool_directory);

/// The output name the recording was started with, from the launch manifest; "" if there is none.
[[nodiscard]] std::string planned_output(const std::string& spool_directory);

}  // namespace ridgeline::import
