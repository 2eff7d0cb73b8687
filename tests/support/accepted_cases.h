// accepted_cases.h: all that a case makes, held against what was accepted, beside the single figures that it looks at.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "support/accepted_table.h"
#include "support/fields.h"
#include "support/temporary_directory.h"

namespace ridgeline::testing {

/// The cases of one source of tests: a file of tests/golden/tables/cases, a section for each thing that a case made.
class AcceptedCases {
 public:
  /// Fails with the first lines that differ from what was accepted of this, the next thing that the running case made.
  /// With RIDGELINE_ACCEPT_TABLES set, which scripts/accept-documents does, it is accepted instead. `make` makes its
  /// text, unless the case has made enough.
  template <typename Make>
  static void expect(const Make& make) {
    const ::testing::TestInfo* info = ::testing::UnitTest::GetInstance()->current_test_info();
    if (info == nullptr) return;  // made for a whole suite
    AcceptedCases& file = of(name_of(info->file()));
    const std::string name = std::string(info->test_suite_name()) + "." + info->name();
    const int number = ++file.made_[name];
    if (number <= kWhole + kSums) file.hold(name, number, make());
  }

  explicit AcceptedCases(const std::string& name)
      : path_(std::string(RIDGELINE_SOURCE_DIR) + "/tests/golden/tables/cases/" + name) {
    std::ifstream in(path_, std::ios::binary);
    std::string* section = nullptr;
    for (std::string line; std::getline(in, line);) {
      if (line.starts_with(kHead)) {
        section = &sections_[line.substr(kHead.size())];
      } else if (section != nullptr) {
        *section += line + "\n";
      }
    }
  }

 private:
  static AcceptedCases& of(const std::string& name) {
    static std::map<std::string, AcceptedCases> files;
    return files.try_emplace(name, name).first->second;
  }

  /// Of a case that makes more: so many whole, so many as a sum alone, and no more.
  static constexpr int kWhole = 1, kSums = 11;
  static constexpr std::size_t kLines = 150, kShort = 100;
  static constexpr std::string_view kHead = "== ";

  /// "import-traces.txt" of ".../tests/import/traces_test.cpp".
  static std::string name_of(const std::string& file) {
    const std::size_t slash = file.rfind('/');
    const std::size_t before = file.rfind('/', slash - 1);
    return file.substr(before + 1, slash - before - 1) + "-" +
           file.substr(slash + 1, file.rfind("_test.cpp") - slash - 1) + ".txt";
  }

  /// What is beyond so many lines is held by its sum.
  static std::string shortened(const std::string& text) {
    std::size_t end = 0;
    for (std::size_t line = 0; line < kLines && end != std::string::npos; ++line)
      end = text.find('\n', end == 0 ? 0 : end + 1);
    if (end == std::string::npos || end + 1 >= text.size()) return text;
    return text.substr(0, end + 1) +
           "and more: " + text_sum_in_hex(text_sum(std::string_view(text).substr(end + 1))) + "\n";
  }

  void hold(const std::string& name, int number, std::string text) {
    text = without_folders(std::move(text), RIDGELINE_SOURCE_DIR);
    if (text.empty() || text.back() != '\n') text += '\n';
    const bool whole = number <= kWhole || text.size() < kShort;
    const std::string now = whole ? shortened(text) : text_sum_in_hex(text_sum(text)) + "\n";
    const std::string key = name + (number < 10 ? " 0" : " ") + std::to_string(number);
    if (std::getenv("RIDGELINE_ACCEPT_TABLES") != nullptr) {
      sections_[key] = now;
      write();
      return;
    }
    const auto accepted = sections_.find(key);
    if (accepted == sections_.end()) {
      ADD_FAILURE() << path_ << " has no \"" << key << "\": scripts/accept-documents";
    } else if (accepted->second != now) {
      report_differences(key, accepted->second, now);
    }
  }

  void write() const {
    std::ofstream out(path_, std::ios::binary);
    for (const auto& [key, text] : sections_) out << kHead << key << "\n" << text;
  }

  std::string path_;
  std::map<std::string, std::string> sections_;  // "Suite.Case 01"
  std::map<std::string, int> made_;              // by the case in this process
};

/// Holds every field of what a case asked for against what was accepted, and returns it.
template <typename T>
T accepted(T value) {
  AcceptedCases::expect([&] { return fields(value); });
  return value;
}

}  // namespace ridgeline::testing
