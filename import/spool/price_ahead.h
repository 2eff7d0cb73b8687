// price_ahead.h: what recording costs, with the measurement that it takes made beside the rest of the import.
#pragma once

#include <functional>
#include <future>
#include <optional>
#include <vector>

#include "recording/price.h"
#include "ridgeline/base/kept_tracing.h"
#include "ridgeline/base/reason.h"
#include "ridgeline/spool/reader.h"
#include "spool/spool_scan.h"

namespace ridgeline::import {

class PriceAhead {
 public:
  /// `kept_tracing` is asked on a thread of its own, if the price depends on it, which takes a second; on a machine
  /// of few cores by get(), since what else runs there would be in it. It may be empty. Keeps references.
  PriceAhead(const spool::Reader& reader, const ScannedSpool& spool,
             const std::function<std::optional<KeptTracing>()>& kept_tracing);
  PriceAhead(const PriceAhead&) = delete;
  PriceAhead& operator=(const PriceAhead&) = delete;

  /// As price_of() has it; waits for the measurement. Once.
  [[nodiscard]] std::optional<Reason> get();

 private:
  [[nodiscard]] std::optional<Reason> price(
      const std::function<std::optional<KeptTracing>()>& kept_tracing) const;

  const ScannedSpool& spool_;
  std::function<std::vector<BlockCalls>(const std::vector<StepBlock>&)> calls_of_;
  std::optional<Reason> without_;  // the answer, if it makes no difference
  std::future<std::optional<KeptTracing>> answer_;
};

}  // namespace ridgeline::import
