// ask.h: how a question is asked, and how far it has come.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string_view>

#include "ridgeline/base/error.h"

namespace ridgeline::analyzer {

/// What a session is working at.
enum class Stage {
  facts,
  steps,
  launches,
  counters,
  ranges,
  utilisation,
  ranking,
  accounting,
  samples,
};
[[nodiscard]] std::string_view to_string(Stage stage);

/// How far a question has come.
struct Progress {
  Stage stage = Stage::facts;
  std::int64_t done = 0;   ///< rows read or launches worked on in this stage
  std::int64_t total = 0;  ///< 0: not known
};

/// How a question is asked. Both may be left out.
struct QueryOptions {
  std::stop_token stop;  ///< checked every few thousand rows; then Failure(cancelled)
  std::function<void(const Progress&)>
      progress;  ///< called on the asking thread, a few times a second at most
};

/// Immutable, shared with the session's memory; may be read by any number of threads.
template <typename T>
using Answer = Result<std::shared_ptr<const T>>;

/// Rows that a session has read so far.
struct ReadCounts {
  std::int64_t queries = 0;  ///< times the capture was asked for rows
  std::int64_t launches = 0;
  std::int64_t launch_metrics = 0;
  std::int64_t ranges = 0;
  std::int64_t copies = 0;  ///< and memsets
  std::int64_t samples = 0;
};

}  // namespace ridgeline::analyzer
