// rule_pattern.h: regular expressions of matching rules. They take time in proportion to the text, whatever the
// expression, and memory below a limit: a rule and the names of kernels may be anybody's.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "ridgeline/base/error.h"

namespace re2 {  // NOLINT(readability-identifier-naming): the library's name
class RE2;
}

namespace ridgeline::comparison {

class RulePattern {
 public:
  /// RE2's syntax, which is ECMAScript's without back references and look-around. Failure: usage.
  [[nodiscard]] static Result<RulePattern> compile(const std::string& pattern);
  RulePattern(RulePattern&& other) noexcept;
  ~RulePattern();

  /// If all of the text matches: `replacement` with $1 … $9 replaced by the groups, $& by all of it, $$ by a dollar.
  [[nodiscard]] std::optional<std::string> whole(std::string_view text, std::string_view replacement) const;
  [[nodiscard]] bool found_in(std::string_view text) const;

 private:
  explicit RulePattern(std::unique_ptr<re2::RE2> pattern);
  std::unique_ptr<re2::RE2> pattern_;
};

}  // namespace ridgeline::comparison
