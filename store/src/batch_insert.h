// batch_insert.h: inserts rows of integers many at a time: starting a statement costs SQLite as much as a row.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/store/database.h"

namespace ridgeline::store {

template <std::size_t Columns>
class BatchInsert {
 public:
  using Row = std::array<std::optional<std::int64_t>, Columns>;

  BatchInsert(Database& database, const std::string& table)
      : one_(database.prepare(sql_of(table, 1))), many_(database.prepare(sql_of(table, kRows))) {
    held_.reserve(kRows);
  }

  void add(const Row& row) {
    ++rows_;
    held_.push_back(row);
    if (held_.size() < kRows) return;
    int parameter = 0;
    for (const Row& each : held_) {
      for (const auto& value : each) many_.bind(++parameter, value);
    }
    many_.run();
    held_.clear();
  }
  /// Writes what is held back.
  void flush() {
    for (const Row& each : held_) {
      int parameter = 0;
      for (const auto& value : each) one_.bind(++parameter, value);
      one_.run();
    }
    held_.clear();
  }
  [[nodiscard]] std::int64_t rows() const noexcept { return rows_; }  // added so far

 private:
  static constexpr std::size_t kRows = 32;

  static std::string sql_of(const std::string& table, std::size_t rows) {
    std::string row = "(?";
    for (std::size_t i = 1; i < Columns; ++i) row += ",?";
    row += ")";
    std::string sql = "INSERT INTO " + table + " VALUES " + row;
    for (std::size_t i = 1; i < rows; ++i) sql += "," + row;
    return sql;
  }

  Statement one_;
  Statement many_;
  std::vector<Row> held_;
  std::int64_t rows_ = 0;
};

}  // namespace ridgeline::store
