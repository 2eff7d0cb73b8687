// accepted_import.h: an import held against what was accepted: what it says, and every row that it writes.
#pragma once

#include <string>

#include "ridgeline/base/error.h"
#include "support/accepted_cases.h"
#include "support/capture_rows.h"

namespace ridgeline::testing {

/// Returns what it is given.
template <typename Summary>
Result<Summary> expect_accepted_import(Result<Summary> done, const std::string& output) {
  AcceptedCases::expect([&] {
    if (!done.ok()) return "refused: " + fields(done.failure().kind) + " " + done.failure().message;
    return fields(done.value()) + "\n" + capture_rows(std::move(store::Capture::open(output)).value());
  });
  return done;
}

}  // namespace ridgeline::testing
