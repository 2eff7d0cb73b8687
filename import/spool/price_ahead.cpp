#include "spool/price_ahead.h"

#include <thread>

#include "ridgeline/base/signal_mask.h"
#include "spool/block_calls.h"

namespace ridgeline::import {
namespace {

constexpr unsigned kCoresForBoth = 4;

}  // namespace

PriceAhead::PriceAhead(const spool::Reader& reader, const ScannedSpool& spool,
                       const std::function<std::optional<KeptTracing>()>& kept_tracing)
    : spool_(spool) {
  calls_of_ = [&reader, known = std::optional<std::vector<BlockCalls>>()](
                  const std::vector<StepBlock>& blocks) mutable {
    if (!known) known = calls_of_blocks(reader, blocks);
    return *known;
  };
  bool depends = false;
  without_ = price([&]() -> std::optional<KeptTracing> {
    depends = true;
    return std::nullopt;
  });
  if (!depends || !kept_tracing) return;
  const auto how =
      std::thread::hardware_concurrency() < kCoresForBoth ? std::launch::deferred : std::launch::async;
  const AllSignalsBlocked whole;  // they are for the thread that imports
  try {
    answer_ = std::async(how, kept_tracing);
  } catch (...) {
    answer_ = std::async(std::launch::deferred, kept_tracing);
  }
}

std::optional<Reason> PriceAhead::get() {
  if (!answer_.valid()) return without_;
  const std::optional<KeptTracing> kept = answer_.get();
  return price([&] { return kept; });
}

std::optional<Reason> PriceAhead::price(
    const std::function<std::optional<KeptTracing>()>& kept_tracing) const {
  return price_of(spool_.blocks, spool_, kept_tracing, calls_of_);
}

}  // namespace ridgeline::import
