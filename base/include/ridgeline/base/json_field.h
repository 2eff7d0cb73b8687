// json_field.h: the fields of a JSON document that somebody else wrote, each checked as it is read.
//
// Every function throws Error (corrupt) that names the key if the field is missing, has another type or a value that
// cannot be; who reads a document catches it and says which file it is. Two suffixes say what else may be there:
// `_or_null` takes null for no value, `_if` takes a key that is missing for none. Templates over the JSON type
// (nlohmann's, with its keys in order or not), so that this header parses no JSON library.
#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "ridgeline/base/error.h"
#include "ridgeline/base/text.h"
#include "ridgeline/base/vocabulary.h"

namespace ridgeline::field {

/// Numbers of which every JSON reader makes the same integer: up to 2^53 (RFC 8259, section 6).
constexpr double kMaxWhole = 9'007'199'254'740'992.0;

[[noreturn]] inline void refuse(const char* key, const std::string& what) {
  throw Error(ErrorKind::corrupt, "'" + std::string(key) + "' " + what);
}

template <typename Json>
[[nodiscard]] const Json& member(const Json& object, const char* key) {
  const auto found = object.find(key);
  if (found == object.end()) refuse(key, "is missing");
  return *found;
}

template <typename Json>
[[nodiscard]] bool is_null(const Json& object, const char* key) {
  return member(object, key).is_null();
}

template <typename Json>
[[nodiscard]] const Json& list(const Json& object, const char* key) {
  const Json& value = member(object, key);
  if (!value.is_array()) refuse(key, "is not a list");
  return value;
}

/// A list of objects.
template <typename Json>
[[nodiscard]] const Json& objects(const Json& object, const char* key) {
  const Json& values = list(object, key);
  for (const Json& each : values) {
    if (!each.is_object()) refuse(key, "holds something that is not an object");
  }
  return values;
}

template <typename Json>
[[nodiscard]] bool flag(const Json& object, const char* key) {
  const Json& value = member(object, key);
  if (!value.is_boolean()) refuse(key, "is neither true nor false");
  return value.template get<bool>();
}

template <typename Json>
[[nodiscard]] std::string text(const Json& object, const char* key) {
  const Json& value = member(object, key);
  if (!value.is_string()) refuse(key, "is not a text");
  return value.template get<std::string>();
}

template <typename Json>
[[nodiscard]] std::vector<std::string> texts(const Json& object, const char* key) {
  std::vector<std::string> found;
  for (const Json& each : list(object, key)) {
    if (!each.is_string()) refuse(key, "holds something that is not a text");
    found.push_back(each.template get<std::string>());
  }
  return found;
}

/// A finite number.
template <typename Json>
[[nodiscard]] double number(const Json& object, const char* key) {
  const Json& value = member(object, key);
  if (!value.is_number() || !std::isfinite(value.template get<double>())) refuse(key, "is not a number");
  return value.template get<double>();
}

template <typename Json>
[[nodiscard]] std::vector<double> numbers(const Json& object, const char* key) {
  std::vector<double> found;
  for (const Json& each : list(object, key)) {
    if (!each.is_number()) refuse(key, "holds something that is not a number");
    found.push_back(each.template get<double>());
  }
  return found;
}

/// A number from 0 to `max`.
template <typename Json>
[[nodiscard]] double amount(const Json& object, const char* key, double max) {
  const double value = number(object, key);
  if (value < 0 || value > max) refuse(key, "is out of range: " + member(object, key).dump());
  return value;
}

/// An integer, from -kMaxWhole to kMaxWhole; 12.0 is one too.
template <typename Json>
[[nodiscard]] std::int64_t whole(const Json& object, const char* key) {
  const double value = number(object, key);
  if (std::fabs(value) > kMaxWhole) refuse(key, "is too large");
  if (value != std::trunc(value)) refuse(key, "is not an integer");
  return static_cast<std::int64_t>(value);
}

/// An enumerator of the vocabulary.
template <typename E, typename Json>
[[nodiscard]] E word(const Json& object, const char* key) {
  const std::string name = text(object, key);
  const std::optional<E> value = parse_word<E>(name);
  if (!value) {
    const std::string known(Vocabulary<E>::kName);
    refuse(key, "is '" + bounded_text(name, 40) + "', which is not a known " + known);
  }
  return *value;
}

template <typename Json>
[[nodiscard]] std::optional<double> number_or_null(const Json& object, const char* key) {
  return is_null(object, key) ? std::nullopt : std::optional(number(object, key));
}

template <typename Json>
[[nodiscard]] std::optional<std::int64_t> whole_or_null(const Json& object, const char* key) {
  return is_null(object, key) ? std::nullopt : std::optional(whole(object, key));
}

/// "" for null.
template <typename Json>
[[nodiscard]] std::string text_or_null(const Json& object, const char* key) {
  return is_null(object, key) ? std::string() : text(object, key);
}

template <typename Json>
[[nodiscard]] std::optional<double> amount_if(const Json& object, const char* key, double max) {
  return object.contains(key) ? std::optional(amount(object, key, max)) : std::nullopt;
}

template <typename Json>
[[nodiscard]] std::optional<std::int64_t> whole_if(const Json& object, const char* key) {
  return object.contains(key) ? std::optional(whole(object, key)) : std::nullopt;
}

/// "" if the key is missing.
template <typename Json>
[[nodiscard]] std::string text_if(const Json& object, const char* key) {
  return object.contains(key) ? text(object, key) : std::string();
}

/// false if the key is missing.
template <typename Json>
[[nodiscard]] bool flag_if(const Json& object, const char* key) {
  return object.contains(key) && flag(object, key);
}

}  // namespace ridgeline::field
