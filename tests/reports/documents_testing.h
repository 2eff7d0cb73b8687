// documents_testing.h: options of documents, and how tests look at their lines.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstddef>
#include <sstream>
#include <string>
#include <string_view>

#include "ridgeline/reports/documents.h"
#include "ridgeline/reports/elide.h"
#include "temporary_capture.h"

namespace ridgeline::testing {

inline reports::DocumentOptions as(reports::Format format, int columns = 100) {
  reports::DocumentOptions options;
  options.format = format;
  options.text.columns = columns;
  return options;
}

inline reports::DocumentOptions all_of(reports::DocumentOptions options) {
  options.all = true;
  return options;
}

inline reports::DocumentOptions verbose(reports::DocumentOptions options) {
  options.verbose = true;
  return options;
}

/// Where a sentence wraps is no matter.
inline std::string in_one_line(std::string text) {
  std::replace(text.begin(), text.end(), '\n', ' ');
  return text;
}

inline void expect_width(const std::string& text, int columns) {
  std::istringstream stream(text);
  for (std::string line; std::getline(stream, line);)
    EXPECT_LE(reports::display_width(line), columns) << line;
}

inline FabricatedCapture with_samples() {
  FabricatedCapture options;
  options.sample_steps = 4;
  options.cold_steps = 2;
  options.exclude_attention = true;
  options.t1_outlier = 0.05;
  return options;
}

inline std::size_t lines_that_begin(const std::string& text, std::string_view with) {
  std::istringstream stream(text);
  std::size_t count = 0;
  for (std::string line; std::getline(stream, line);) count += line.starts_with(with) ? 1u : 0u;
  return count;
}

}  // namespace ridgeline::testing
