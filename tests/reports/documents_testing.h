// documents_testing.h: options of documents, and how tests look at their lines.
#pragma once

#include <cstddef>
#include <sstream>
#include <string>
#include <string_view>

#include "ridgeline/reports/documents.h"
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

inline std::size_t lines_that_begin(const std::string& text, std::string_view with) {
  std::istringstream stream(text);
  std::size_t count = 0;
  for (std::string line; std::getline(stream, line);) count += line.starts_with(with) ? 1u : 0u;
  return count;
}

}  // namespace ridgeline::testing
