// Gives each kernel name a small id.
#pragma once

#include <atomic>
#include <cstdint>
#include <string_view>

#include "cupti/code_hash.h"
#include "ridgeline/spool/writer.h"

namespace ridgeline::agent {

/// Thread-safe; allocates after construction only for modules and kernels that are new.
class KernelTable {
 public:
  explicit KernelTable(spool::Writer& writer);
  ~KernelTable();
  KernelTable(const KernelTable&) = delete;
  KernelTable& operator=(const KernelTable&) = delete;

  /// Id of a mangled name, writing its KernelFunctionRecord at first sight. 0 for no name or a full string
  /// table.
  std::uint32_t id_of(std::string_view name) noexcept;

  /// What LaunchRecord::code says of a launch of the driver's function (see CodeHashes::code_of), once its module
  /// is loaded: at the call's end. The code has its record then.
  std::uint32_t code_of(const void* function, std::string_view name) noexcept;

  /// Was launched before, and its module is still loaded.
  bool knows(const void* function) noexcept { return function != nullptr && code_.knows(function); }

  /// A module's machine code, valid during the call: kernels get its hash. Never throws; without memory they
  /// have none.
  void module_loaded(std::uint32_t module_id, const void* cubin, std::size_t size_bytes) noexcept;
  /// Its functions are gone.
  void module_unloaded(std::uint32_t module_id) noexcept { code_.forget_module(module_id); }

 private:
  spool::Writer& writer_;
  std::atomic<std::uint32_t>* ids_;  // by string id
  std::atomic<std::uint32_t> count_{0};
  CodeHashes code_;
  std::atomic<std::uint16_t> revision_{0};
};

}  // namespace ridgeline::agent
