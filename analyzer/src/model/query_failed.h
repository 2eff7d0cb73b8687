// refusal.h: how a question ends early, from its depth to its surface.
#pragma once

#include <cstddef>
#include <utility>

#include "ridgeline/analyzer/model/query_options.h"

namespace ridgeline::analyzer {

/// Carries an expected outcome from the depth of a question to its surface.
struct QueryFailed {
  Failure failure;
};

template <typename T>
T value_or_throw(Result<T> result) {
  if (!result) throw QueryFailed{result.failure()};
  return std::move(result).value();
}

/// Throws Refused(cancelled) if the asker wants to stop, and says what comes next.
void check_stop(const QueryOptions& ask);
void report_progress(const QueryOptions& ask, Stage stage, std::size_t total = 0);

}  // namespace ridgeline::analyzer
