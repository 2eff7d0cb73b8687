#include "ridgeline/store/interventions.h"

namespace ridgeline::store {

namespace {

std::optional<std::int64_t> integer_or_none(const Value& value) {
  const auto* number = std::get_if<std::int64_t>(&value);
  return number == nullptr ? std::nullopt : std::optional(*number);
}

std::int64_t integer_in(const Value& value) {
  const auto number = integer_or_none(value);
  if (!number) throw Error(ErrorKind::corrupt, "intervention: a value is no number");
  return *number;
}

std::string text_in(const Value& value) {
  const auto* text = std::get_if<std::string>(&value);
  if (text == nullptr) throw Error(ErrorKind::corrupt, "intervention: a seed is no text");
  return *text;
}

}  // namespace

std::vector<Intervention> interventions(const Capture& capture) {
  std::vector<Intervention> rows;
  const auto known =
      capture.query("SELECT 1 FROM sqlite_schema WHERE type = 'table' AND name = 'intervention'", 1);
  if (!known.ok() || known.value().rows.empty()) return rows;
  const auto table = capture.query(
      "SELECT process_id, step_id, target, kernel_id, ordinal, drawn, level_ns, start_ns, end_ns, seed"
      " FROM intervention ORDER BY step_id, target");
  if (!table.ok()) throw Error(ErrorKind::corrupt, table.failure().message);
  for (const std::vector<Value>& row : table.value().rows)
    rows.push_back({.process_id = integer_in(row[0]),
                    .step_id = integer_in(row[1]),
                    .target = integer_in(row[2]),
                    .kernel_id = integer_in(row[3]),
                    .ordinal = integer_in(row[4]),
                    .drawn = integer_in(row[5]) != 0,
                    .level_ns = integer_in(row[6]),
                    .start_ns = integer_or_none(row[7]),
                    .end_ns = integer_or_none(row[8]),
                    .seed = text_in(row[9])});
  return rows;
}

}  // namespace ridgeline::store
