// nsys_tables.h: tables of an SQLite export of Nsight Systems, by names alone: every table and nearly every column is
// optional, and new columns come in the middle from one version to the next.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/store/database.h"

namespace ridgeline::import {

enum class ColumnNeed { required, optional };
enum class ColumnKind { integer, text };

/// A column that is asked for. The first of `names` that the table has is taken: versions call it differently.
struct NsysColumn {
  std::vector<std::string_view> names;
  ColumnKind kind = ColumnKind::integer;
  ColumnNeed need = ColumnNeed::optional;
};

class NsysExport {
 public:
  /// Throws Error: io, not_a_capture.
  explicit NsysExport(const std::string& path);

  [[nodiscard]] bool has(std::string_view table) const { return tables_.contains(std::string(table)); }
  /// "" if the file says none, as those of 2020 and 2021.
  [[nodiscard]] const std::string& schema_version() const { return schema_version_; }
  [[nodiscard]] const std::string& product_version() const { return product_version_; }
  [[nodiscard]] const std::string& path() const { return path_; }

  /// All rows of the columns, in the order asked for; a column that the table does not have is NULL in each row.
  /// Throws Error(corrupt) if a required column is missing, or if a value is of another type than the export's
  /// documentation says.
  [[nodiscard]] store::Statement rows(std::string_view table, const std::vector<NsysColumn>& columns) const;
  [[nodiscard]] bool has_column(std::string_view table, std::string_view column) const;

 private:
  [[nodiscard]] std::set<std::string> columns_of(std::string_view table) const;
  void check_types(std::string_view table, const std::vector<std::pair<std::string, ColumnKind>>& columns,
                   const std::set<std::string>& required) const;
  [[noreturn]] void refuse(const std::string& what) const;

  std::string path_;
  store::Database database_;
  std::set<std::string> tables_;
  std::string schema_version_, product_version_;
};

/// Whether these are the tables of such an export.
[[nodiscard]] bool is_nsys_export(const store::Database& database);

}  // namespace ridgeline::import
