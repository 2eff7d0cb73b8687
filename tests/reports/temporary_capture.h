// temporary_capture.h: a fabricated capture, analysed, in a directory that goes away.
#pragma once

#include <stdlib.h>

#include <filesystem>
#include <stdexcept>
#include <string>

#include "fabricated_capture.h"
#include "ridgeline/analyzer/analysis.h"

namespace ridgeline::testing {

struct TemporaryCapture {
  explicit TemporaryCapture(const FabricatedCapture& options = {},
                            const analyzer::AnalysisOptions& how = {}) {
    std::string pattern = (std::filesystem::temp_directory_path() / "ridgeline-report-XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make a temporary directory");
    directory = pattern;
    path = (directory / "capture.ridge").string();
    write_fabricated_capture(path, options);
    model = analyzer::load_model(store::Capture::open(path).value());
    analysis = analyzer::analyze(model, how).value();
  }
  ~TemporaryCapture() {
    std::error_code ignored;
    std::filesystem::remove_all(directory, ignored);
  }
  TemporaryCapture(const TemporaryCapture&) = delete;
  TemporaryCapture& operator=(const TemporaryCapture&) = delete;

  std::filesystem::path directory;
  std::string path;
  analyzer::Model model;
  analyzer::Analysis analysis;
};

}  // namespace ridgeline::testing
