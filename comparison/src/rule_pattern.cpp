#include "rule_pattern.h"

#include <re2/re2.h>

#include <algorithm>
#include <array>

namespace ridgeline::comparison {
namespace {

constexpr std::int64_t kMaxMemoryBytes = 8 << 20;  // of a pattern that is ready to match
constexpr std::size_t kMaxPatternBytes = 4096;
constexpr int kMaxGroups = 9;

re2::StringPiece piece_of(std::string_view text) {
  return {text.data(), text.size()};
}

}  // namespace

RulePattern::RulePattern(std::unique_ptr<re2::RE2> pattern) : pattern_(std::move(pattern)) {}
RulePattern::RulePattern(RulePattern&& other) noexcept = default;
RulePattern::~RulePattern() = default;

Result<RulePattern> RulePattern::compile(const std::string& pattern) {
  if (pattern.size() > kMaxPatternBytes)
    return Failure{ErrorKind::usage,
                   "longer than " + std::to_string(kMaxPatternBytes) + " characters: write several rules"};
  re2::RE2::Options options;
  options.set_encoding(re2::RE2::Options::EncodingLatin1);  // bytes: names need not be whole UTF-8
  options.set_log_errors(false);
  options.set_max_mem(kMaxMemoryBytes);
  auto compiled = std::make_unique<re2::RE2>(pattern, options);
  if (!compiled->ok()) return Failure{ErrorKind::usage, compiled->error()};
  return RulePattern(std::move(compiled));
}

std::optional<std::string> RulePattern::whole(std::string_view text, std::string_view replacement) const {
  std::array<re2::StringPiece, kMaxGroups + 1> groups;
  const int count = std::min(pattern_->NumberOfCapturingGroups(), kMaxGroups) + 1;
  if (!pattern_->Match(piece_of(text), 0, text.size(), re2::RE2::ANCHOR_BOTH, groups.data(), count))
    return std::nullopt;
  std::string out;
  for (std::size_t i = 0; i < replacement.size(); ++i) {
    const char next = replacement[i] == '$' && i + 1 < replacement.size() ? replacement[i + 1] : '\0';
    if (next == '$') {
      out += '$';
    } else if (next == '&' || (next >= '1' && next <= '9')) {
      const int group = next == '&' ? 0 : next - '0';
      if (group < count) {
        const re2::StringPiece& part = groups.at(static_cast<std::size_t>(group));
        if (part.data() != nullptr) out.append(part.data(), part.size());
      }
    } else {
      out += replacement[i];
      continue;
    }
    ++i;
  }
  return out;
}

bool RulePattern::found_in(std::string_view text) const {
  return pattern_->Match(piece_of(text), 0, text.size(), re2::RE2::UNANCHORED, nullptr, 0);
}

}  // namespace ridgeline::comparison
