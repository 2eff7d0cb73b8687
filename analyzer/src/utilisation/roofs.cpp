#include "roofs.h"

#include "timeline_clock.h"

namespace ridgeline::analyzer {

const Peak* Roofs::at(store::Id device_id, Quantity quantity, PeakSource source) {
  const auto [place, fresh] = known_.try_emplace({device_id, quantity});
  std::optional<Peak>& known = place->second;
  if (fresh) {
    if (auto chosen = choose_peak(model_, device_id, quantity, source, timeline_clock(device_id))) {
      known = std::move(chosen).value();
      used_.push_back(*known);
      if (known->fallback) {
        Finding fallback{.severity = Severity::warning, .code = FindingCode::peak_fallback};
        fallback.subject.name = to_string(quantity);
        fallback.subject.device_id = device_id;
        fallback.peak = *known;
        fallback.missing_source = source;
        findings_.push_back(std::move(fallback));
      }
    }
  }
  return known ? &*known : nullptr;
}

Absence Roofs::absence(store::Id device_id, Quantity quantity) const {
  Absence none{.cause = AbsenceCause::no_peak};
  const store::Device* device = model_.device(device_id);
  none.name = device == nullptr ? std::to_string(device_id) : device->name;
  none.detail = std::string(to_string(quantity));
  return none;
}

std::optional<double> Roofs::timeline_clock(store::Id device_id) {
  const auto found = clocks_.find(device_id);
  if (found != clocks_.end()) return found->second;
  return clocks_[device_id] = timeline_sm_clock_hz(model_, steps_, device_id);
}

}  // namespace ridgeline::analyzer
