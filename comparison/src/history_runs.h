// history_runs.h: runs as a history holds them, put into kinds: one program that does one thing on one model of GPU.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace ridgeline::comparison {

/// A run without its values.
struct StoredRun {
  std::int64_t id = 0;
  std::int64_t start_ns = 0;
  std::string gpu;                      ///< models
  std::string card;                     ///< UUIDs, ", " between them
  std::optional<std::int64_t> devices;  ///< how many; empty: an older history did not say
  std::string driver, cuda, policy;
  std::string program;  ///< its name, else its command line
  std::string commit;
  std::optional<std::int64_t> launches;  ///< of a step; empty: an older history did not say
};

struct RunKind {
  std::string name;               ///< for people; unique
  std::vector<std::size_t> runs;  ///< into the stored runs, by time
};

/// Runs of one program, model and number of GPUs, driver, CUDA and policy are of one kind if their steps launch
/// alike: a run joins the kind whose last step had the launches nearest to its own, within a fifth, else it begins
/// another. `runs`: by time. Adding a newer run moves no older one.
[[nodiscard]] std::vector<RunKind> kinds_of(const std::vector<StoredRun>& runs);

}  // namespace ridgeline::comparison
