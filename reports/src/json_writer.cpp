#include "ridgeline/reports/json_writer.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <string>
#include <utility>

#include "ridgeline/reports/escape.h"
#include "ridgeline/reports/version.h"

namespace ridgeline::reports {
namespace {

constexpr int kIndent = 2;
constexpr int kVersionOfDocuments = 1;

std::string dumped(const nlohmann::ordered_json& value, int indent) {
  return json_log_safe(value.dump(indent, ' ', true, nlohmann::ordered_json::error_handler_t::replace));
}

}  // namespace

JsonPart::JsonPart(nlohmann::ordered_json value)
    : value_(std::make_unique<nlohmann::ordered_json>(std::move(value))) {}
JsonPart::~JsonPart() = default;
JsonPart::JsonPart(JsonPart&& other) noexcept = default;
JsonPart& JsonPart::operator=(JsonPart&& other) noexcept = default;

JsonWriter::JsonWriter(const Sink& out, std::string_view format) : out_(out) {
  out_("{");
  value("format", format);
  value("version", kVersionOfDocuments);
  value("ridgeline", kVersion);
}

void JsonWriter::begin_member(std::string_view key) {
  const std::string indent(static_cast<std::size_t>(depth_ * kIndent), ' ');
  out_(fmt::format("{}\n{}{}: ", first_ ? "" : ",", indent, dumped(key, -1)));
  first_ = false;
}

void JsonWriter::value(std::string_view key, const nlohmann::ordered_json& value) {
  begin_member(key);
  // A line break inside a string is written as \n, so that every one here ends a line of the document.
  const std::string indent(static_cast<std::size_t>(depth_ * kIndent), ' ');
  std::string text;
  for (const char c : dumped(value, kIndent)) {
    text += c;
    if (c == '\n') text += indent;
  }
  out_(text);
}

void JsonWriter::text_value(std::string_view key, std::string_view text) {
  value(key, nlohmann::ordered_json(text));
}

void JsonWriter::bool_value(std::string_view key, bool yes) {
  value(key, nlohmann::ordered_json(yes));
}

void JsonWriter::rows(std::string_view key, const Table& table) {
  begin_member(key);
  write_rows_json(table, out_, depth_ * kIndent);
}

void JsonWriter::begin_rows(std::string_view key) {
  begin_member(key);
  any_row_ = false;
}

void JsonWriter::more_rows(const Table& table) {
  if (table.size() == 0) return;
  write_row_lines_json(table, out_, depth_ * kIndent, !any_row_);
  any_row_ = true;
}

void JsonWriter::end_rows() {
  out_(any_row_ ? "\n" + std::string(static_cast<std::size_t>(depth_ * kIndent), ' ') + "]" : "[]");
}

void JsonWriter::begin_object(std::string_view key) {
  begin_member(key);
  out_("{");
  ++depth_;
  first_ = true;
}

void JsonWriter::end_object() {
  --depth_;
  out_("\n" + std::string(static_cast<std::size_t>(depth_ * kIndent), ' ') + "}");
  first_ = false;
}

void JsonWriter::finish() {
  out_("\n}\n");
}

}  // namespace ridgeline::reports
