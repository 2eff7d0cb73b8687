#include "recording/kernels.h"

#include <fmt/format.h>

#include "ridgeline/base/text.h"

namespace ridgeline::import {

namespace {

constexpr std::size_t kMaxNameBytes = 32 * 1024;  // of a kernel: every report would carry a longer one

}  // namespace

store::Id RecordedKernels::id_of(std::uint32_t kernel, std::uint64_t code) {
  auto& known = ids_[kernel];
  for (const auto& [its_code, its_id] : known) {
    if (its_code == code) return its_id;
  }
  const KernelName name = name_of_(kernel);
  const std::string text = clean_text(bounded_text(name.text, kMaxNameBytes));
  std::optional<std::string> code_hash;
  if (code != 0) code_hash = fmt::format("{:016x}", code);
  store::CaptureWriter& writer = rows_.writer();
  const store::Id id =
      name.mangled ? writer.kernel_id(text, code_hash) : writer.demangled_kernel_id(text, code_hash);
  return known.emplace_back(code, id).second;
}

std::vector<store::Id> RecordedKernels::all_of(std::uint32_t kernel, std::uint64_t code) {
  if (!ids_.contains(kernel)) (void)id_of(kernel, code);
  std::vector<store::Id> all;
  for (const auto& [its_code, id] : ids_[kernel]) all.push_back(id);
  return all;
}

std::optional<store::Id> RecordedKernels::sampled(std::uint32_t kernel, std::uint64_t code) {
  const auto ran = stalled_.find(kernel);
  if (ran == stalled_.end()) return all_of(kernel, code).back();
  if (ran->second.size() == 1) return *ran->second.begin();
  return std::nullopt;
}

}  // namespace ridgeline::import
