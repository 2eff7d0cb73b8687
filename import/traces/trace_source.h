// trace_source.h: what every reader of another profiler's files hands over.
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "ridgeline/base/reason.h"
#include "ridgeline/store/records.h"
#include "traces/foreign_process.h"

namespace ridgeline::import {

/// Bytes of the file that have been read.
using ReadProgress = std::function<void(std::uint64_t bytes)>;

struct ForeignRecording {
  store::Run run;
  std::vector<std::pair<std::string, std::string>> versions;  ///< component, version
  std::vector<std::unique_ptr<ForeignProcess>> processes;     ///< also those that ran nothing
  std::vector<Reason> notes;  ///< what the source has and is not taken over, or does not have
  bool cut = false;           ///< the file ends before what was recorded does
  std::string empty_because;  ///< what to look at if nothing ran on a device; one sentence
};

}  // namespace ridgeline::import
