// What the launcher's tests share: the importer's fabricated spools, and the importer as the launcher asks for it.
#pragma once

#include "import/import_testing.h"
#include "ridgeline/launch/recorder.h"

namespace ridgeline::launch::testing {

namespace fs = std::filesystem;

using import::testing::FakeSpool;
using import::testing::file_text;
using import::testing::open_capture;
using import::testing::scalar;
using import::testing::script;
using ridgeline::testing::TemporaryDirectory;

inline Result<CaptureOutcome> import_capture(const CaptureRequest& request) {
  Result<import::ImportSummary> imported =
      import::import_spools(request.spool_directory, request.output, {.overwrite = request.overwrite});
  if (!imported.ok()) return imported.failure();
  CaptureOutcome outcome;
  for (const Reason& warning : imported.value().warnings)
    outcome.warnings.push_back(reports::reason_text(warning));
  for (const import::Unfinished& each : imported.value().unfinished)
    outcome.unfinished.push_back({reports::reason_text(each.warning), reports::reason_text(each.missing)});
  return outcome;
}

}  // namespace ridgeline::launch::testing
