#include "ridgeline/analyzer/model/price.h"

namespace ridgeline::analyzer {

std::optional<RecordingPrice> recording_price(const Model& model, store::Id process_id) {
  for (const store::Message& message : model.messages) {
    const Reason& said = message.what;
    if (said.code != ReasonCode::recording_price || message.process_id != process_id) continue;
    RecordingPrice price;
    price.alone_ns = static_cast<double>(said.number("alone_ns"));
    price.recorded_ns = static_cast<double>(said.number("recorded_ns"));
    price.error_ns = static_cast<double>(said.number("error_ns"));
    price.steps_alone = said.number("steps_alone");
    price.steps_recorded = said.number("steps_recorded");
    price.launches = said.number("launches");
    price.remained_ns = static_cast<double>(said.number("remained_ns"));
    if (const auto kept_ns = said.number("kept_ns"); kept_ns > 0 || said.number("kept_known") > 0)
      price.kept_ns = static_cast<double>(kept_ns);
    if (price.alone_ns <= 0 || price.recorded_ns <= 0 || price.error_ns < 0) return std::nullopt;
    return price;
  }
  return std::nullopt;
}

}  // namespace ridgeline::analyzer
