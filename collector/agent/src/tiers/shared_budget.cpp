#include "tiers/shared_budget.h"

#include <unistd.h>

#include <algorithm>
#include <bit>

#include "process_info.h"
#include "ridgeline/base/spin_guard.h"

namespace ridgeline::agent {
namespace {

std::uint64_t hash_of(const std::uint8_t (&uuid)[16]) noexcept {
  std::uint64_t hash = 0xcbf29ce484222325ULL;
  for (const std::uint8_t byte : uuid) hash = (hash ^ byte) * 0x100000001b3ULL;
  return hash == 0 ? 1 : hash;
}

template <typename Visit>
void for_each_ledger(spool::Control& control, std::uint64_t ledgers, Visit&& visit) noexcept {
  for (; ledgers != 0; ledgers &= ledgers - 1) visit(control.ledgers[std::countr_zero(ledgers)]);
}

// Of the time from `from_ns` to `to_ns` what nobody has paid for yet, `ns` at most.
void enter_into(spool::Ledger& ledger, std::int64_t ns, std::int64_t from_ns, std::int64_t to_ns) noexcept {
  std::int64_t until_ns = ledger.until_ns.load(std::memory_order_acquire);
  do {
    if (to_ns <= until_ns) return;
  } while (!ledger.until_ns.compare_exchange_weak(until_ns, to_ns, std::memory_order_acq_rel));
  ledger.spent_ns.fetch_add(std::min(ns, to_ns - std::max(from_ns, until_ns)), std::memory_order_acq_rel);
}

}  // namespace

// Null without a control file, and where there are more processes than places: such a one is not seen by the
// others, but what it spends is.
spool::Spender* SharedBudget::place() noexcept {
  if (spool::Spender* known = place_.load(std::memory_order_acquire)) return known;
  if (control_ == nullptr || left_.load(std::memory_order_acquire)) return nullptr;
  const SpinGuard guard(joining_);
  if (spool::Spender* known = place_.load(std::memory_order_acquire)) return known;
  const auto own = static_cast<std::uint32_t>(getpid());
  // Those that ended keep their places as long as there are free ones: their kernels are still to be written.
  for (const bool of_ended : {false, true})
    for (spool::Spender& spender : control_->spenders) {
      std::uint32_t holder = spender.pid.load(std::memory_order_acquire);
      if (holder != 0 && (!of_ended || lives(holder))) continue;
      if (!spender.pid.compare_exchange_strong(holder, own)) continue;
      spender.counts.store(0, std::memory_order_relaxed);
      spender.kernels.store(0, std::memory_order_relaxed);
      spender.ledgers.store(ledgers_.load(std::memory_order_relaxed), std::memory_order_release);
      place_.store(&spender, std::memory_order_release);
      return &spender;
    }
  return nullptr;
}

void SharedBudget::enter(std::uint64_t bit) noexcept {
  if ((ledgers_.fetch_or(bit, std::memory_order_acq_rel) & bit) != 0) return;
  if (spool::Spender* own = place()) own->ledgers.fetch_or(bit, std::memory_order_acq_rel);
}

void SharedBudget::use_device(const std::uint8_t (&uuid)[16]) noexcept {
  if (control_ == nullptr) return;
  const std::uint64_t gpu = hash_of(uuid);
  for (std::uint32_t i = 1; i < spool::kMaxLedgers; ++i) {
    std::uint64_t known = 0;
    if (control_->ledgers[i].gpu.compare_exchange_strong(known, gpu, std::memory_order_acq_rel)) known = gpu;
    if (known == gpu) return enter(std::uint64_t{1} << i);
  }
}

void SharedBudget::wait_for_peers() noexcept {
  if (control_ != nullptr) enter(kPeers);
}

void SharedBudget::take_part(bool counts) noexcept {
  if (counts_.exchange(counts, std::memory_order_acq_rel) == counts) return;
  if (spool::Spender* own = place()) own->counts.store(counts ? 1 : 0, std::memory_order_release);
}

void SharedBudget::spend(std::int64_t ns, std::int64_t from_ns, std::int64_t to_ns) noexcept {
  if (control_ == nullptr || ns <= 0) return;
  for_each_ledger(*control_, ledgers_.load(std::memory_order_acquire),
                  [&](spool::Ledger& ledger) { enter_into(ledger, ns, from_ns, to_ns); });
}

std::int64_t SharedBudget::spent_ns() const noexcept {
  std::int64_t max_ns = 0;
  if (control_ == nullptr) return max_ns;
  for_each_ledger(*control_, ledgers_.load(std::memory_order_acquire), [&](const spool::Ledger& ledger) {
    max_ns = std::max(max_ns, ledger.spent_ns.load(std::memory_order_acquire));
  });
  return max_ns;
}

std::uint32_t SharedBudget::sharers() const noexcept {
  if (control_ == nullptr) return 1;
  const std::uint64_t gpus = ledgers_.load(std::memory_order_acquire) & ~kPeers;
  const auto own = static_cast<std::uint32_t>(getpid());
  std::uint32_t count = 1;
  for (const spool::Spender& spender : control_->spenders) {
    const std::uint32_t pid = spender.pid.load(std::memory_order_acquire);
    if (pid != 0 && pid != own && spender.counts.load(std::memory_order_acquire) != 0 &&
        (spender.ledgers.load(std::memory_order_acquire) & gpus) != 0 && lives(pid))
      ++count;
  }
  return count;
}

std::uint64_t SharedBudget::kernels_of_all(std::uint64_t own) noexcept {
  spool::Spender* const mine = place();
  if (mine == nullptr) return own;
  mine->kernels.store(own, std::memory_order_release);
  const std::uint64_t ledgers = ledgers_.load(std::memory_order_acquire);
  std::uint64_t kernels = 0;
  for (const spool::Spender& spender : control_->spenders)
    if ((spender.ledgers.load(std::memory_order_acquire) & ledgers) != 0 || &spender == mine)
      kernels += spender.kernels.load(std::memory_order_acquire);
  return kernels;
}

void SharedBudget::leave() noexcept {
  left_.store(true, std::memory_order_release);
  if (spool::Spender* own = place_.load(std::memory_order_acquire))
    own->counts.store(0, std::memory_order_release);
}

}  // namespace ridgeline::agent
