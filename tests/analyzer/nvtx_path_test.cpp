// Patterns of NVTX ranges, against code that tries everything.
#include "ridgeline/analyzer/model/nvtx_path.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

namespace ridgeline::analyzer {
namespace {

bool slowly_matches(std::string_view pattern, std::string_view name) {
  if (pattern.empty()) return name.empty();
  if (pattern.front() == '*') {
    for (std::size_t taken = 0; taken <= name.size(); ++taken) {
      if (slowly_matches(pattern.substr(1), name.substr(taken))) return true;
    }
    return false;
  }
  return !name.empty() && (pattern.front() == '?' || pattern.front() == name.front()) &&
         slowly_matches(pattern.substr(1), name.substr(1));
}

std::string joined(const std::vector<std::string>& names) {
  std::string path;
  for (const std::string& name : names) path += (path.empty() ? "" : std::string(kPathSeparator)) + name;
  return path;
}

// The shortest beginning of the path whose last names are those of the pattern.
std::optional<std::string> slowly_outermost(const std::vector<std::string>& pattern,
                                            const std::vector<std::string>& path) {
  for (std::size_t length = pattern.size(); length <= path.size(); ++length) {
    bool all = true;
    for (std::size_t i = 0; i < pattern.size(); ++i)
      all = all && slowly_matches(pattern[i], path[length - pattern.size() + i]);
    if (all) return joined({path.begin(), path.begin() + static_cast<std::ptrdiff_t>(length)});
  }
  return std::nullopt;
}

TEST(RangePattern, MeansNamesAtAnyDepth) {
  const RangePattern forward("forward"), layers("layer *"), both("forward / layer ?"), nothing("");
  EXPECT_EQ(forward.outermost("step / forward / layer 3 / forward"), "step / forward");
  EXPECT_FALSE(forward.holds("step / forward pass"));
  EXPECT_FALSE(forward.holds(""));
  EXPECT_EQ(layers.outermost("step / backward / layer 11 / gelu"), "step / backward / layer 11");
  EXPECT_EQ(both.outermost("step / forward / layer 3"), "step / forward / layer 3");
  EXPECT_FALSE(both.holds("step / forward / layer 11"));
  EXPECT_FALSE(both.holds("forward / attention / layer 3"));
  EXPECT_FALSE(nothing.holds("step"));
}

TEST(RangePattern, AgreesWithTryingEverything) {
  std::mt19937 random(26);
  const auto text = [&](std::string_view letters, std::size_t most) {
    std::string out;
    for (std::size_t n = 1 + random() % most; n > 0; --n) out += letters[random() % letters.size()];
    return out;
  };
  int held = 0;
  for (int i = 0; i < 20'000; ++i) {
    std::vector<std::string> pattern, path;
    for (std::size_t n = 1 + random() % 2; n > 0; --n) pattern.push_back(text("ab*?", 4));
    for (std::size_t n = 1 + random() % 4; n > 0; --n) path.push_back(text("ab", 4));
    const auto expected = slowly_outermost(pattern, path);
    const std::string whole = joined(path);
    const auto found = RangePattern(joined(pattern)).outermost(whole);
    ASSERT_EQ(found ? std::optional(std::string(*found)) : std::nullopt, expected)
        << joined(pattern) << " in " << whole;
    held += expected.has_value() ? 1 : 0;
  }
  EXPECT_GT(held, 2000);
  EXPECT_LT(held, 18'000);
}

}  // namespace
}  // namespace ridgeline::analyzer
