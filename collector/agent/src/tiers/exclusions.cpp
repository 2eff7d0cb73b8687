#include "tiers/exclusions.h"

#include <utility>

#include "ridgeline/base/collective.h"

namespace ridgeline::agent {

Exclusions::Exclusions(spool::Writer& writer, std::vector<std::string> user_parts)
    : writer_(writer),
      user_parts_(std::move(user_parts)),
      reasons_(new std::atomic<std::uint8_t>[kMaxKernels]()) {}

Exclusions::~Exclusions() {
  delete[] reasons_;
}

std::optional<Exclusions::Reason> Exclusions::by_name(std::string_view mangled) const noexcept {
  for (const std::string& part : user_parts_)
    if (mangled.find(part) != std::string_view::npos) return Reason::user;
  // Collectives between devices: each waits for its peers' kernels.
  if (waits_for_peers(mangled)) return Reason::name;
  return std::nullopt;
}

void Exclusions::add(std::uint32_t kernel_id, Reason reason) noexcept {
  if (kernel_id == 0 || kernel_id >= kMaxKernels) return;
  std::uint8_t none = 0;
  reasons_[kernel_id].compare_exchange_strong(none, static_cast<std::uint8_t>(reason));
}

std::optional<Exclusions::Reason> Exclusions::added(std::uint32_t kernel_id) const noexcept {
  if (kernel_id >= kMaxKernels) return std::nullopt;
  const std::uint8_t reason = reasons_[kernel_id].load(std::memory_order_relaxed) & ~kWritten;
  if (reason == 0) return std::nullopt;
  return static_cast<Reason>(reason);
}

void Exclusions::used(std::uint32_t kernel_id, Reason reason) noexcept {
  if (kernel_id == 0 || kernel_id >= kMaxKernels) return;
  add(kernel_id, reason);
  if ((reasons_[kernel_id].fetch_or(kWritten) & kWritten) != 0) return;
  spool::ReplayExclusionRecord record{};
  record.kernel_id = kernel_id;
  record.reason = reason;
  writer_.put(record);
}

}  // namespace ridgeline::agent
