// Gives each kernel name a small id, and tells kernels that must not be serialised.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "ridgeline/spool/writer.h"

namespace ridgeline::agent {

/// Thread-safe; never allocates after construction.
class KernelTable {
 public:
  explicit KernelTable(spool::Writer& writer);
  ~KernelTable();
  KernelTable(const KernelTable&) = delete;
  KernelTable& operator=(const KernelTable&) = delete;

  /// Id of a mangled name, writing its KernelFunctionRecord at first sight. 0 for no name or a full string
  /// table.
  std::uint32_t id_of(std::string_view name) noexcept;

  /// True for kernels that wait for kernels of another stream or device (collectives): run one at a time, as
  /// counter collection does, they would wait for ever.
  static bool waits_for_others(std::string_view name) noexcept;

 private:
  spool::Writer& writer_;
  std::atomic<std::uint32_t>* ids_;  // by string id
  std::atomic<std::uint32_t> count_{0};
};

}  // namespace ridgeline::agent
