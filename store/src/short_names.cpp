#include "short_names.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <map>

namespace ridgeline::store {

namespace {

bool is_decimal(char c) {
  return c >= '0' && c <= '9';
}
bool is_word_character(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_';
}

// Goes through a name of the Itanium C++ ABI as far as it takes to tell identifiers from numbers: "14Foo" of a scope,
// "14" of a literal's value, "S14_" that stands for a part named before.
class NameReader {
 public:
  explicit NameReader(std::string_view mangled) : rest_(mangled) {}

  std::optional<ShortNames> read() {
    copy(2);  // "_Z"
    while (!rest_.empty()) {
      if (!step()) return std::nullopt;
    }
    return open_.empty() ? std::optional(std::move(out_)) : std::nullopt;
  }

 private:
  [[nodiscard]] char next(std::size_t at = 0) const { return at < rest_.size() ? rest_[at] : '\0'; }
  void copy(std::size_t count) {
    out_.mangled += rest_.substr(0, count);
    rest_.remove_prefix(std::min(count, rest_.size()));
  }
  void copy_digits() {
    while (is_decimal(next())) copy(1);
  }
  [[nodiscard]] bool in_arguments() const {
    return !open_.empty() && (open_.back() == 'I' || open_.back() == 'J');
  }

  bool step() {
    const char c = next();
    if (is_decimal(c)) return identifier() && value();
    switch (c) {
      case 'N':
      case 'I':
      case 'J':
      case 'F':
        open_ += c;
        copy(1);
        return true;
      case 'E':
        return close() && value();
      case 'L':
        return literal();
      case 'S':
        return substitution() && value();
      case 'T':
        return parameter() && value();
      case 'X':  // expressions have operators of two letters and more
        return false;
      case 'D':
        if (next(1) == 'T' || next(1) == 't') return false;
        copy(2);
        return true;
      case 'C':  // of constructors, as 'D' of destructors
        copy(is_decimal(next(1)) ? 2 : 1);
        return true;
      case 'U':
        return unnamed();
      case 'A':
        copy(1);
        copy_digits();
        return true;
      default:
        copy(1);
        return true;
    }
  }

  bool identifier() {
    std::size_t length = 0;
    const auto [end, error] = std::from_chars(rest_.data(), rest_.data() + rest_.size(), length);
    const auto digits = static_cast<std::size_t>(end - rest_.data());
    if (error != std::errc() || length == 0 || digits + length > rest_.size()) return false;
    const std::string_view name = rest_.substr(digits, length);
    for (const char each : name)
      if (!is_word_character(each) && each != '.' && each != '$') return false;
    if (name.starts_with("_GLOBAL_")) {  // an unnamed namespace, which the demangler writes as one
      copy(digits + length);
      return true;
    }
    const auto [known, first] = number_of_.try_emplace(std::string(name), out_.names.size());
    if (first) out_.names.emplace_back(name);
    const std::string token = "q" + std::to_string(known->second);
    out_.mangled += std::to_string(token.size()) + token;
    rest_.remove_prefix(digits + length);
    return true;
  }

  // "S_", "S1A_", "St", "Sa"; what is named in std follows.
  bool substitution() {
    copy(1);
    if (std::islower(static_cast<unsigned char>(next())) != 0) {
      copy(1);
      return true;
    }
    return sequence();
  }
  bool parameter() {
    copy(1);
    return sequence();
  }
  bool sequence() {
    while (is_decimal(next()) || std::isupper(static_cast<unsigned char>(next())) != 0) copy(1);
    if (next() != '_') return false;
    copy(1);
    return true;
  }

  // "Li128E", "LN1a4KindE0E", "L4Kind0E"; outside of template arguments 'L' marks what is of one file.
  bool literal() {
    copy(1);
    if (!in_arguments()) return true;
    if (next() == '_') return false;  // of a function
    open_ += 'L';
    if (std::islower(static_cast<unsigned char>(next())) != 0) {
      copy(1);
      return value();
    }
    return true;
  }

  // Of a literal whose type is complete: when its name has no template arguments after it.
  bool value() {
    if (open_.empty() || open_.back() != 'L' || next() == 'I') return true;
    if (next() == 'n') copy(1);
    copy_digits();
    if (next() != 'E') return false;
    copy(1);
    open_.pop_back();
    return true;
  }

  bool close() {
    if (open_.empty()) return false;
    const char closed = open_.back();
    open_.pop_back();
    copy(1);
    if (closed != 'U') return closed != 'L';
    copy_digits();
    if (next() != '_') return false;
    copy(1);
    return true;
  }

  // Lambdas ("UlvE_", "UlvE0_") and unnamed types ("Ut_").
  bool unnamed() {
    if (next(1) == 'l') {
      copy(2);
      open_ += 'U';
      return true;
    }
    if (next(1) != 't') return false;
    copy(2);
    copy_digits();
    if (next() != '_') return false;
    copy(1);
    return true;
  }

  std::string_view rest_;
  std::string open_;  // a letter each
  ShortNames out_;
  std::map<std::string, std::size_t> number_of_;
};

}  // namespace

std::optional<ShortNames> with_short_names(std::string_view mangled) {
  if (!mangled.starts_with("_Z")) return std::nullopt;
  return NameReader(mangled).read();
}

std::string with_own_names(std::string_view demangled, const ShortNames& names) {
  std::string text;
  for (std::size_t at = 0; at < demangled.size();) {
    std::size_t end = at;
    while (end < demangled.size() && is_word_character(demangled[end])) ++end;
    const std::string_view word = demangled.substr(at, end - at);
    std::size_t number = 0;
    const auto [stop, error] = word.size() > 1 && word.front() == 'q'
                                   ? std::from_chars(word.data() + 1, word.data() + word.size(), number)
                                   : std::from_chars_result{nullptr, std::errc::invalid_argument};
    if (error == std::errc() && stop == word.data() + word.size() && number < names.names.size()) {
      text += names.names[number];
    } else {
      text += word;
    }
    if (end == at) text += demangled[end++];
    at = end;
  }
  return text;
}

}  // namespace ridgeline::store
