#include "reason_table.h"

#include <string>
#include <utility>
#include <variant>
#include <vector>

#include "ridgeline/base/error.h"
#include "ridgeline/store/schema.h"

namespace ridgeline::store {

namespace {

// Of reasons below reasons: an honest one is a tier's of a step's of a window's. Destructors and writers recurse.
constexpr int kMaxDepth = 16;

}  // namespace

ReasonTable::ReasonTable(Database& database)
    : database_(database),
      insert_reason_(database.prepare("INSERT INTO reason(parent_id, code, text) VALUES (?,?,?)")),
      insert_value_(database.prepare("INSERT INTO reason_value VALUES (?,?,?,?)")) {}

Id ReasonTable::id_of(const Reason& reason) {
  if (const auto known = known_.find(reason); known != known_.end()) return known->second;
  const Id id = write(reason, std::nullopt);
  known_.emplace(reason, id);
  return id;
}

Id ReasonTable::write(const Reason& reason, std::optional<Id> parent_id) {
  const auto text = reason.text.empty() && reason.code != ReasonCode::none_given
                        ? std::nullopt
                        : std::optional<std::string>(reason.text);
  insert_reason_.bind_all(parent_id, reason.code, text);
  insert_reason_.run();
  const Id id = database_.last_insert_id();
  std::int64_t position = 0;
  for (const ReasonValue& value : reason.values) {
    insert_value_.bind(1, id);
    insert_value_.bind(2, position++);
    insert_value_.bind(3, value.name);
    std::visit([&](const auto& held) { insert_value_.bind(4, held); }, value.value);
    insert_value_.run();
  }
  for (const Reason& below : reason.because) (void)write(below, id);
  return id;
}

Reasons::Reasons(const Database& database)
    : by_id_(database.scalar_int64("PRAGMA user_version") >= kReasonsAreCodes) {
  if (!by_id_) return;
  const auto corrupt = [&](Id id, const char* what) {
    return Error(ErrorKind::corrupt, database.path() + " is damaged (reason " + std::to_string(id) + " " +
                                         what + "): record again or use a backup");
  };
  std::map<Id, std::pair<Id, int>> below;  // of what, how deep
  Statement row = database.prepare("SELECT id, parent_id, code, text FROM reason ORDER BY id");
  while (row.step()) {
    const Id id = row.int64(0);
    if (const auto parent_id = row.optional_int64(1)) {
      // One is written before what explains it, so no circle passes here.
      if (*parent_id >= id || !reasons_.contains(*parent_id)) throw corrupt(id, "explains what is not there");
      const auto above = below.find(*parent_id);
      const int depth = above == below.end() ? 1 : above->second.second + 1;
      if (depth > kMaxDepth) throw corrupt(id, "stands too deep");
      below[id] = {*parent_id, depth};
    }
    Reason& reason = reasons_[id];
    reason.code = row.word<ReasonCode>(2, "reason.code");
    reason.text = row.text(3);
  }
  Statement value =
      database.prepare("SELECT reason_id, name, value FROM reason_value ORDER BY reason_id, position");
  while (value.step()) {
    const auto reason = reasons_.find(value.int64(0));
    if (reason == reasons_.end()) continue;
    const Value held = value.value(2);
    auto& values = reason->second.values;
    if (const auto* number = std::get_if<std::int64_t>(&held)) values.emplace_back(value.text(1), *number);
    if (const auto* real = std::get_if<double>(&held)) values.emplace_back(value.text(1), *real);
    if (const auto* text = std::get_if<std::string>(&held)) values.emplace_back(value.text(1), *text);
  }
  // The last first: what is put below another is whole then.
  for (auto each = below.rbegin(); each != below.rend(); ++each) {
    auto& because = reasons_.at(each->second.first).because;
    because.insert(because.begin(), std::move(reasons_.at(each->first)));
    reasons_.erase(each->first);
  }
}

std::optional<Reason> Reasons::of(const Statement& row, int column) const {
  if (row.is_null(column)) return std::nullopt;
  if (!by_id_) return Reason(row.text(column));
  const auto found = reasons_.find(row.int64(column));
  if (found == reasons_.end())
    throw Error(ErrorKind::corrupt,
                "a row refers to reason " + std::to_string(row.int64(column)) + ", which is not there");
  return found->second;
}

}  // namespace ridgeline::store
