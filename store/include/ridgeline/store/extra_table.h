// extra_table.h: a table that queries see beside those of a capture, made of what somebody computes from it.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "ridgeline/store/database.h"

namespace ridgeline::store {

/// While it lives, queries of the user's (Capture::query()) that this thread runs see one more table. The capture is
/// not changed: the table is the query's own, in memory, and goes with it. One at a time for a thread; the one that
/// began last counts.
class ExtraTable {
 public:
  using Row = std::vector<Value>;
  using Rows = std::function<void(const std::function<void(const Row&)>& add)>;
  /// `definition` is one CREATE TEMP TABLE of `name`; `rows` adds rows with a value for each of its columns, each time
  /// that a query begins.
  ExtraTable(std::string name, std::string definition, std::size_t columns, Rows rows);
  ~ExtraTable();
  ExtraTable(const ExtraTable&) = delete;
  ExtraTable& operator=(const ExtraTable&) = delete;

  /// What a query does: makes the thread's table, if there is one, and drops it in the end.
  class Made {
   public:
    explicit Made(sqlite3* database);
    ~Made();
    Made(const Made&) = delete;
    Made& operator=(const Made&) = delete;

   private:
    sqlite3* database_;
    std::string name_;
  };

 private:
  std::string name_, definition_;
  std::size_t columns_;
  Rows rows_;
  const ExtraTable* before_;
};

}  // namespace ridgeline::store
