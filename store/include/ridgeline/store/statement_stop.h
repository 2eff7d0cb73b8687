// statement_stop.h: ends statements that run too long or take too much, for those who answer strangers.
#pragma once

#include <cstdint>
#include <stop_token>

namespace ridgeline::store {

/// While it lives, a statement that this thread runs on a capture ends soon after a stop is requested, with
/// Error(cancelled). One at a time for a thread; the one that began last counts.
class StatementStop {
 public:
  explicit StatementStop(std::stop_token stop);
  ~StatementStop();
  StatementStop(const StatementStop&) = delete;
  StatementStop& operator=(const StatementStop&) = delete;

 private:
  std::stop_token stop_;
  const std::stop_token* before_;
};

/// What SQLite may hold in memory at once, in all of the process. A statement that wants more fails:
/// Error(environment).
void limit_statement_memory(std::int64_t bytes);

}  // namespace ridgeline::store
