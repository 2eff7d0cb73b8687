// fields.h: every field of a struct as text, so that a test can hold all of them and not the ones it thought of.
//
// Fields are named by their position, from 0, and left out where they are as in a new struct: {0=12 3={1=0.5}}. A field
// that is added at the end, or one that no case sets, changes no text.
#pragma once

#include <concepts>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include "ridgeline/base/reason.h"
#include "support/each_field.h"
#include "support/temporary_directory.h"

namespace ridgeline::testing {

/// Of a struct that has fields and a base with fields, or that is to be shown otherwise: specialised with
/// `static auto of(const T&)`, a tuple of what is shown.
template <typename T>
struct ShownParts {};

template <>
struct ShownParts<Reason> {
  static auto of(const Reason& reason) {
    return std::tuple(reason.code, reason.text, reason.values, reason.because);
  }
};
template <>
struct ShownParts<ReasonValue> {
  static auto of(const ReasonValue& value) { return std::tuple(value.name, value.value); }
};

/// Beyond so many elements of a list only their sum is held, and beyond so many only how many there are.
inline constexpr std::size_t kShownElements = 8, kSummedElements = 200;
inline constexpr std::size_t kLongText = 40;

/// FNV-1a.
inline std::uint64_t text_sum(std::string_view text, std::uint64_t sum = 14695981039346656037ULL) {
  for (const char character : text) sum = (sum ^ static_cast<unsigned char>(character)) * 1099511628211ULL;
  return sum;
}

inline std::string text_sum_in_hex(std::uint64_t sum) {
  char text[20];
  std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(sum));
  return text;
}

template <typename T>
std::string fields(const T& value);

namespace shown {

template <typename T>
concept Listed = requires(const T& value) {
  value.begin();
  value.end();
};
template <typename T>
concept Worded = requires(const T& value) {
  { to_string(value) } -> std::convertible_to<std::string_view>;
};
template <typename T>
concept PointerLike = requires(const T& value) {
  typename T::element_type;
  static_cast<bool>(value);
  *value;
};

inline std::string indented(const std::string& text) {
  std::string out;
  out.reserve(text.size() + 64);
  std::size_t from = 0;
  for (std::size_t at = text.find('\n'); at != std::string::npos; at = text.find('\n', from)) {
    out.append(text, from, at + 1 - from);
    out += ' ';
    from = at + 1;
  }
  out.append(text, from);
  return out;
}

/// Where a line ends must not depend on how long the name of a test's folder is.
inline std::string quoted(std::string_view text) {
  std::string out = "\"";
  for (const char character : without_folders(std::string(text), RIDGELINE_SOURCE_DIR)) {
    if (character == '\n')
      out += "\\n";
    else
      out += character;
  }
  return out + "\"";
}

template <typename List>
std::string list(const List& values) {
  std::string out = "[";
  std::size_t count = 0, lines = 0;
  std::uint64_t sum = text_sum({});
  for (const auto& value : values) {
    if (++count > kSummedElements) continue;
    const std::string text = fields(value);
    if (count > kShownElements) {
      sum = text_sum(text, sum);
      continue;
    }
    const bool apart = text.size() > kLongText / 2 || lines > 0;
    lines += apart;
    out += apart ? "\n " + indented(text) : (count > 1 ? " " : "") + text;
  }
  if (count > kShownElements)
    out += " and " + std::to_string(count - kShownElements) + " more: " + text_sum_in_hex(sum);
  return out + "]";
}

template <typename T>
std::vector<std::string> texts_of(const T& value) {
  std::vector<std::string> texts;
  const auto all = [&](const auto&... parts) { (texts.push_back(fields(parts)), ...); };
  if constexpr (requires { ShownParts<T>::of(value); })
    std::apply(all, ShownParts<T>::of(value));
  else
    each_field(value, all);
  return texts;
}

template <typename T>
std::string aggregate(const T& value) {
  static const std::vector<std::string> kNew = [] {
    // Not std::default_initializable: of a struct within a class it is as it was first asked, and Clang asks before the
    // class is complete, when the struct has no initialisers yet.
    if constexpr (requires { T{}; })
      return texts_of(T{});
    else
      return std::vector<std::string>();
  }();
  const std::vector<std::string> texts = texts_of(value);
  std::string out = "{";
  for (std::size_t i = 0; i < texts.size(); ++i) {
    if (i < kNew.size() && texts[i] == kNew[i]) continue;
    // A long one begins a line, so that a difference is one of a short line.
    out += texts[i].size() > kLongText ? "\n " : out.size() > 1 ? " " : "";
    out += std::to_string(i) + "=" + indented(texts[i]);
  }
  return out + "}";
}

}  // namespace shown

template <typename T>
std::string fields(const T& value) {
  if constexpr (std::is_same_v<T, bool>) {
    return value ? "true" : "false";
  } else if constexpr (std::is_same_v<T, std::monostate> || std::is_same_v<T, std::nullptr_t>) {
    return "none";
  } else if constexpr (std::is_floating_point_v<T>) {
    // Nine digits: what another compiler adds up in another order is the same.
    char text[40];
    std::snprintf(text, sizeof text, "%.9g", static_cast<double>(value));
    return text;
  } else if constexpr (std::is_integral_v<T>) {
    return std::to_string(value);
  } else if constexpr (std::is_convertible_v<const T&, std::string_view>) {
    return shown::quoted(value);
  } else if constexpr (requires { ShownParts<T>::of(value); }) {
    return shown::aggregate(value);
  } else if constexpr (shown::Worded<T>) {
    return std::string(to_string(value));
  } else if constexpr (std::is_enum_v<T>) {
    return std::to_string(static_cast<std::int64_t>(value));
  } else if constexpr (requires {
                         value.has_value();
                         *value;
                       }) {
    return value.has_value() ? fields(*value) : "none";
  } else if constexpr (requires {
                         value.ok();
                         value.value();
                         value.failure();
                       }) {
    return value.ok() ? fields(value.value()) : "refused: " + fields(value.failure());
  } else if constexpr (requires { value.valueless_by_exception(); }) {
    return std::visit([](const auto& held) { return fields(held); }, value);
  } else if constexpr (shown::Listed<T>) {
    return shown::list(value);
  } else if constexpr (requires { std::tuple_size<T>::value; }) {
    return std::apply(
        [](const auto&... parts) {
          std::string out = "(";
          ((out += (out.size() > 1 ? " " : "") + fields(parts)), ...);
          return out + ")";
        },
        value);
  } else if constexpr (shown::PointerLike<T>) {
    return value ? fields(*value) : "none";
  } else {
    static_assert(std::is_aggregate_v<T>, "say with ShownParts what is shown of it");
    return shown::aggregate(value);
  }
}

}  // namespace ridgeline::testing
