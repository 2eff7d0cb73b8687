#include "spool/kernel_ids.h"

#include <fmt/format.h>

#include "ridgeline/base/text.h"

namespace ridgeline::import {

namespace {

constexpr std::size_t kMostNameBytes = 32 * 1024;  // of a kernel: every report would carry a longer one

}  // namespace

store::Id KernelIds::of_code(std::uint32_t id, std::uint64_t code) {
  auto& known = ids_[id];
  for (const auto& [its_code, its_id] : known) {
    if (its_code == code) return its_id;
  }
  const auto function = rows_.spool.kernels.find(id);
  std::string name = fmt::format("unknown kernel {}", id);
  if (function != rows_.spool.kernels.end())
    name = clean_text(bounded_text(rows_.reader.string_or(function->second.name, name), kMostNameBytes));
  std::optional<std::string> code_hash;
  if (code != 0) code_hash = fmt::format("{:016x}", code);
  return known.emplace_back(code, rows_.writer.kernel_id(name, code_hash)).second;
}

store::Id KernelIds::of(const spool::KernelRecord& kernel, const spool::LaunchRecord* call, bool node) {
  const ScannedSpool& spool = rows_.spool;
  const std::uint64_t code = node ? spool.code_hash_of_node(kernel.kernel_id)
                                  : spool.code_hash(kernel.kernel_id, call != nullptr ? call->code : 0);
  return of_code(kernel.kernel_id, code);
}

std::vector<store::Id> KernelIds::all_of(std::uint32_t id) {
  if (!ids_.contains(id)) (void)of_code(id, rows_.spool.code_hash(id, 0));
  std::vector<store::Id> all;
  for (const auto& [code, kernel] : ids_[id]) all.push_back(kernel);
  return all;
}

std::optional<store::Id> KernelIds::sampled(std::uint32_t id) {
  const auto several = stalled_.find(id);
  if (several == stalled_.end()) return all_of(id).back();
  if (several->second.size() == 1) return *several->second.begin();
  return std::nullopt;
}

}  // namespace ridgeline::import
