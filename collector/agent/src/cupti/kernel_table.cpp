#include "cupti/kernel_table.h"

namespace ridgeline::agent {

KernelTable::KernelTable(spool::Writer& writer)
    : writer_(writer), ids_(new std::atomic<std::uint32_t>[spool::Writer::kMaxStrings + 1]()) {}

KernelTable::~KernelTable() {
  delete[] ids_;
}

std::uint32_t KernelTable::id_of(std::string_view name) noexcept {
  const spool::StringId string = writer_.intern(name);
  if (string == 0) return 0;
  std::atomic<std::uint32_t>& slot = ids_[string];
  std::uint32_t id = slot.load(std::memory_order_acquire);
  if (id != 0) return id;
  const std::uint32_t fresh = count_.fetch_add(1, std::memory_order_relaxed) + 1;
  if (!slot.compare_exchange_strong(id, fresh, std::memory_order_acq_rel))
    return id;  // another thread was first
  spool::KernelFunctionRecord record{};
  record.kernel_id = fresh;
  record.name = string;
  record.code_hash = code_.bind(name, fresh);
  writer_.put(record);
  return fresh;
}

std::uint32_t KernelTable::code_of(const void* function, std::string_view name) noexcept {
  // A name that has no id yet gets it and its code's record before a newer code can take its place.
  if (id_of(name) == 0) return 0;
  return static_cast<std::uint32_t>(code_.code_of(function, name));
}

void KernelTable::module_loaded(std::uint32_t module_id, const void* cubin, std::size_t size_bytes) noexcept {
  try {
    code_.take_module(module_id, cubin, size_bytes, [&](std::uint32_t kernel_id, std::uint64_t code_hash) {
      spool::KernelFunctionRecord record{};
      // Records of several threads do not stand in order of time in the file.
      record.header.flags = static_cast<std::uint16_t>(revision_.fetch_add(1, std::memory_order_relaxed) + 1);
      record.kernel_id = kernel_id;
      record.code_hash = code_hash;
      writer_.put(record);
    });
  } catch (...) {
  }
}

}  // namespace ridgeline::agent
