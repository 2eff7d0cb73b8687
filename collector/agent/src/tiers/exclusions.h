// Kernels that replay steps must not run alone, because they wait for other kernels: which, and why.
#pragma once

#include <atomic>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/spool/writer.h"

namespace ridgeline::agent {

/// Thread-safe.
class Exclusions {
 public:
  using Reason = ExclusionReason;
  static constexpr std::uint32_t kMaxKernels = 1u << 16;  // ids above are excluded by name only

  /// `user_parts`: parts of mangled names.
  Exclusions(spool::Writer& writer, std::vector<std::string> user_parts);
  ~Exclusions();
  Exclusions(const Exclusions&) = delete;
  Exclusions& operator=(const Exclusions&) = delete;

  /// What the name alone says: the recording's own list, then the libraries known to wait for other devices.
  std::optional<Reason> by_name(std::string_view mangled) const noexcept;
  /// Excludes a kernel for another reason from now on.
  void add(std::uint32_t kernel_id, Reason reason) noexcept;
  /// What add() said.
  std::optional<Reason> added(std::uint32_t kernel_id) const noexcept;
  /// A replay step ran the kernel unmeasured: the first time, this goes into the spool.
  void used(std::uint32_t kernel_id, Reason reason) noexcept;

 private:
  static constexpr std::uint8_t kWritten = 0x80;
  spool::Writer& writer_;
  const std::vector<std::string> user_parts_;
  std::atomic<std::uint8_t>* reasons_;  // by kernel id; 0: none
};

}  // namespace ridgeline::agent
