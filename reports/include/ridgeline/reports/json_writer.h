// json_writer.h: a JSON document in pieces: small parts as values, tables row by row.
#pragma once

#include <concepts>
#include <memory>
#include <nlohmann/json_fwd.hpp>
#include <string_view>

#include "ridgeline/reports/sink.h"
#include "ridgeline/reports/table.h"

namespace ridgeline::reports {

/// A JSON value that is handed on. Who hands it on need not read the header of the library that makes it, which takes
/// the compiler longer than most sources.
class JsonPart {
 public:
  JsonPart(nlohmann::ordered_json value);  // NOLINT(google-explicit-constructor): it is that value
  ~JsonPart();
  JsonPart(JsonPart&& other) noexcept;
  JsonPart& operator=(JsonPart&& other) noexcept;
  [[nodiscard]] const nlohmann::ordered_json& value() const { return *value_; }

 private:
  std::unique_ptr<nlohmann::ordered_json> value_;
};

/// One object with its members in the order of the calls. Two spaces of indent, ASCII only, invalid UTF-8
/// replaced; the rows of a table stand one per line.
class JsonWriter {
 public:
  /// Begins a document with "format", "version" and "ridgeline". `out` must outlive the writer.
  JsonWriter(const Sink& out, std::string_view format);
  JsonWriter(const JsonWriter&) = delete;
  JsonWriter& operator=(const JsonWriter&) = delete;

  void value(std::string_view key, const nlohmann::ordered_json& value);
  void value(std::string_view key, const JsonPart& part) { value(key, part.value()); }
  template <std::convertible_to<std::string_view> Text>
  void value(std::string_view key, const Text& text) {
    text_value(key, text);
  }
  template <std::same_as<bool> Bool>
  void value(std::string_view key, Bool yes) {
    bool_value(key, yes);
  }
  void rows(std::string_view key, const Table& table);
  /// The same with tables of one shape, one after the other; end_rows() closes the list.
  void begin_rows(std::string_view key);
  void more_rows(const Table& table);
  void end_rows();
  void begin_object(std::string_view key);
  void end_object();
  /// Closes the document.
  void finish();

 private:
  void begin_member(std::string_view key);
  void text_value(std::string_view key, std::string_view text);
  void bool_value(std::string_view key, bool yes);

  const Sink& out_;
  int depth_ = 1;
  bool first_ = true;
  bool any_row_ = false;  // since begin_rows()
};

}  // namespace ridgeline::reports
