#include "advice/copies.h"

#include <algorithm>
#include <cstdlib>
#include <unordered_map>

#include "advice/claims.h"

namespace ridgeline::analyzer {

namespace {

constexpr std::int64_t kMinPageableBytes = 65'536;  // smaller ones are staged without a wait
constexpr double kSlowForPinned = 0.6;
constexpr double kHeldForIt = 0.5;  // of the copy's time

}  // namespace

double pinned_rate(const RuleInput& in, store::Id device_id) {
  // PCIe 5.0 × 16 from Hopper on, 4.0 before.
  constexpr double kFifth = 50e9, kFourth = 24e9;
  const store::Device* device = in.input.model.device(device_id);
  if (device == nullptr || !device->compute_capability) return kFourth;
  return std::atof(device->compute_capability->c_str()) >= 9 ? kFifth : kFourth;
}

std::vector<HostCopy> host_copies(const RuleInput& in) {
  const Model& model = in.input.model;
  std::unordered_map<std::int64_t, std::int64_t> held;  // by correlation: ns
  for (const store::Synchronisation& wait : model.synchronisations) {
    if (wait.process_id != in.input.accounting.process_id) continue;
    if (wait.call == SynchronisationCall::async_copy_to_device ||
        wait.call == SynchronisationCall::async_copy_to_host ||
        wait.call == SynchronisationCall::copy_to_device || wait.call == SynchronisationCall::copy_to_host)
      held[wait.correlation_id] = wait.duration_ns;
  }
  std::vector<HostCopy> copies;
  const RepresentativeStep& step = in.input.steps.representative;
  for (const std::size_t i : step.memcpys) {
    const store::Memcpy& copy = model.memcpys[i];
    if (copy.kind != CopyKind::host_to_device && copy.kind != CopyKind::device_to_host) continue;
    if (copy.device_id != in.input.accounting.device_id || copy.end_ns <= copy.start_ns) continue;
    const auto length_ns = static_cast<double>(copy.end_ns - copy.start_ns);
    HostCopy one{.copy = static_cast<std::uint32_t>(i)};
    one.exposed_ns = exposed_copy_ns(in.input, one.copy);
    const double rate = static_cast<double>(copy.bytes) / length_ns * 1e9;
    const auto found = held.find(copy.correlation_id);
    one.pageable = copy.bytes >= kMinPageableBytes &&
                   rate < kSlowForPinned * pinned_rate(in, copy.device_id) && found != held.end() &&
                   static_cast<double>(found->second) >= kHeldForIt * length_ns;
    if (one.exposed_ns > 0) copies.push_back(one);
  }
  return copies;
}

}  // namespace ridgeline::analyzer
