// batch_insert.h: inserts rows of integers many at a time: starting a statement costs SQLite as much as a row.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/store/database.h"
#include "row_feed.h"

namespace ridgeline::store {

template <std::size_t Columns>
class BatchInsert {
 public:
  using Row = std::array<std::optional<std::int64_t>, Columns>;

  BatchInsert(Database& database, const std::string& table)
      : feed_(database, Columns),
        insert_(database.prepare("INSERT INTO " + table + " SELECT * FROM " + feed_.name())) {
    held_.reserve(kRows);
  }

  void add(const Row& row) {
    ++rows_;
    held_.push_back(row);
    if (held_.size() == kRows) flush();
  }
  /// Writes what is held back.
  void flush() {
    if (held_.empty()) return;
    feed_.set(held_.front().data(), held_.size());
    insert_.run();
    held_.clear();
  }
  [[nodiscard]] std::int64_t rows() const noexcept { return rows_; }  // added so far

 private:
  static constexpr std::size_t kRows = 256;

  RowFeed feed_;
  Statement insert_;
  std::vector<Row> held_;
  std::int64_t rows_ = 0;
};

}  // namespace ridgeline::store
