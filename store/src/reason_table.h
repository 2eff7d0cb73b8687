// reason_table.h: reasons as rows: a code, the source's words, values by name, and what explains it as rows below.
#pragma once

#include <map>
#include <optional>

#include "ridgeline/base/reason.h"
#include "ridgeline/store/database.h"
#include "ridgeline/store/records.h"

namespace ridgeline::store {

/// Writes each reason once.
class ReasonTable {
 public:
  explicit ReasonTable(Database& database);
  [[nodiscard]] Id id_of(const Reason& reason);
  [[nodiscard]] std::optional<Id> id_of(const std::optional<Reason>& reason) {
    return reason ? std::optional(id_of(*reason)) : std::nullopt;
  }

 private:
  Id write(const Reason& reason, std::optional<Id> parent_id);

  Database& database_;
  Statement insert_reason_;
  Statement insert_value_;
  std::map<Reason, Id> known_;
};

/// The reasons of a capture, of any version that is read in place: before version 9 they are sentences in the rows.
class Reasons {
 public:
  /// Throws Error(corrupt) where a reason explains itself or stands too deep.
  explicit Reasons(const Database& database);
  /// The column that holds one: "reason_id", or the sentence's own name.
  [[nodiscard]] std::string column(std::string_view of_sentence = "reason") const {
    return by_id_ ? "reason_id" : std::string(of_sentence);
  }
  /// None of NULL. Throws Error(corrupt) for an id that is not there.
  [[nodiscard]] std::optional<Reason> of(const Statement& row, int column) const;

 private:
  bool by_id_ = false;
  std::map<Id, Reason> reasons_;
};

}  // namespace ridgeline::store
