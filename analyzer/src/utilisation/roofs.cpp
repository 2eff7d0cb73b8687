#include "roofs.h"

#include "timeline_clock.h"

namespace ridgeline::analyzer {

const Peak* Roofs::at(store::Id device_id, Quantity quantity, PeakSource source, bool asked) {
  const auto [place, fresh] = known_.try_emplace({device_id, quantity});
  std::optional<Peak>& known = place->second;
  if (fresh) {
    if (auto chosen = choose_peak(model_, device_id, quantity, source, timeline_clock(device_id))) {
      known = std::move(chosen).value();
      known->fallback = known->fallback && asked;
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

const MeasuredRoofs& Roofs::measured(store::Id device_id) {
  const auto found = measured_.find(device_id);
  return found != measured_.end()
             ? found->second
             : measured_.emplace(device_id, MeasuredRoofs(model_.ceilings, device_id)).first->second;
}

double Roofs::dram_bytes_per_s(store::Id device_id, const Peak& roof, std::optional<double> read_share) {
  const auto state = state_of(roof.source);
  if (!state || !read_share) return roof.value;
  const auto mixed = measured(device_id).of(Roof::kDram, *state, read_share);
  return mixed ? mixed->per_s : roof.value;
}

const Peak* Roofs::l2(store::Id device_id) {
  const PeakSource source = dram_source(model_, device_id, policy_);
  const auto state = state_of(source);
  const bool is_measured = state && measured(device_id).of(Roof::kL2, *state);
  return at(device_id, Quantity::l2_bytes_per_s, is_measured ? source : PeakSource::counter, true);
}

const Peak* Roofs::measured_operations(store::Id device_id, Quantity quantity) {
  const auto state = state_of(compute_source(policy_));
  if (!state || !measured(device_id).of(roof_of(quantity), *state)) return nullptr;
  return operations(device_id, quantity);
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
