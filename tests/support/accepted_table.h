// accepted_table.h: a table that a test makes, held line by line against the one that was accepted.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace ridgeline::testing {

/// Fails with the first lines that differ; `accepted` and `now` are not equal.
inline void report_differences(const std::string& name, const std::string& accepted, const std::string& now) {
  const auto lines_of = [](const std::string& text) {
    std::vector<std::string> lines;
    std::istringstream in(text);
    for (std::string line; std::getline(in, line);) lines.push_back(line);
    return lines;
  };
  const std::vector<std::string> after = lines_of(now), before = lines_of(accepted);
  int shown = 0;
  for (std::size_t i = 0; i < std::max(after.size(), before.size()) && shown < 5; ++i) {
    const std::string a = i < before.size() ? before[i] : "(no line)",
                      b = i < after.size() ? after[i] : "(no line)";
    if (a == b) continue;
    ADD_FAILURE() << name << ":" << i + 1 << "\n  accepted: " << a << "\n  now:      " << b;
    ++shown;
  }
  EXPECT_GT(shown, 0) << name << " differs in its line ends";
  ADD_FAILURE() << "If that is meant: scripts/accept-documents";
}

/// Fails with the first lines that differ from tests/golden/tables/NAME. With RIDGELINE_ACCEPT_TABLES set, which
/// scripts/accept-documents does, it writes the file instead; what changed is a diff to be read.
inline void expect_accepted(const std::string& name, const std::string& table) {
  const std::string path = std::string(RIDGELINE_SOURCE_DIR) + "/tests/golden/tables/" + name;
  if (std::getenv("RIDGELINE_ACCEPT_TABLES") != nullptr) {
    std::ofstream(path, std::ios::binary) << table;
    return;
  }
  std::ifstream file(path, std::ios::binary);
  ASSERT_TRUE(file) << path << " is missing: scripts/accept-documents";
  const std::string accepted{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
  if (table != accepted) report_differences(name, accepted, table);
}

}  // namespace ridgeline::testing
