// temporary_capture.h: a fabricated capture, analysed, in a directory that goes away.
#pragma once

#include <string>

#include "fabricated_capture.h"
#include "support/analysed_model.h"
#include "support/temporary_directory.h"
#include "support/whole_model.h"

namespace ridgeline::testing {

struct TemporaryCapture {
  explicit TemporaryCapture(const FabricatedCapture& options = {},
                            const analyzer::AnalysisOptions& how = {}) {
    path = directory.file("capture.ridge");
    write_fabricated_capture(path, options);
    model = whole_model(store::Capture::open(path).value());
    analysis = analyzer::testing::analyse(model, how).value();
  }

  TemporaryDirectory directory;
  std::string path;
  analyzer::Model model;
  analyzer::Analysis analysis;
};

}  // namespace ridgeline::testing
