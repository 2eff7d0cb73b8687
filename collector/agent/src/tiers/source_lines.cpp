#include "tiers/source_lines.h"

#include <string.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>

namespace ridgeline::agent {

void SourceLines::take_module(const void* cubin, std::size_t size) noexcept {
  if (cubin == nullptr || size == 0 || !api_.has_pc_sampling) return;
  // Both the ELF section that debuggers use and NVIDIA's own are named like this.
  constexpr char kMark[] = "debug_line";
  if (memmem(cubin, size, kMark, sizeof kMark - 1) == nullptr) return;
  try {
    CUpti_GetCubinCrcParams p = {};
    p.size = CUpti_GetCubinCrcParamsSize;
    p.cubin = cubin;
    p.cubinSize = size;
    if (api_.get_cubin_crc(&p) != CUPTI_SUCCESS) return;
    std::lock_guard<std::mutex> guard(mutex_);
    if (bytes_ + size > kMaxBytes) {
      incomplete_ = true;
      return;
    }
    const auto* bytes = static_cast<const char*>(cubin);
    if (cubins_.try_emplace(p.cubinCrc, bytes, bytes + size).second) bytes_ += size;
  } catch (...) {
    incomplete_ = true;
  }
}

void SourceLines::want(std::uint64_t cubin_crc, const char* function, std::uint32_t kernel_id,
                       std::uint32_t pc_offset, std::uint64_t samples) {
  Wanted& wanted = wanted_[{cubin_crc, function}];
  wanted.kernel_id = kernel_id;
  wanted.samples[pc_offset] += samples;
}

bool SourceLines::write(std::int64_t budget_ns) {
  struct Instruction {
    std::uint64_t samples;
    const Key* key;
    const std::vector<char>* cubin;
    std::uint32_t kernel_id, pc_offset;
  };
  std::lock_guard<std::mutex> guard(mutex_);
  std::vector<Instruction> instructions;
  for (const auto& [key, wanted] : wanted_) {
    const auto cubin = cubins_.find(key.crc);
    if (cubin == cubins_.end()) continue;
    for (const auto& [offset, samples] : wanted.samples)
      instructions.push_back({samples, &key, &cubin->second, wanted.kernel_id, offset});
  }
  std::stable_sort(instructions.begin(), instructions.end(),
                   [](const Instruction& a, const Instruction& b) { return a.samples > b.samples; });
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::nanoseconds(budget_ns);
  bool all = true;
  for (const Instruction& each : instructions) {
    if (std::chrono::steady_clock::now() > deadline) {
      all = false;
      break;
    }
    CUpti_GetSassToSourceCorrelationParams p = {};
    p.size = CUpti_GetSassToSourceCorrelationParamsSize;
    p.cubin = each.cubin->data();
    p.cubinSize = each.cubin->size();
    p.functionName = each.key->function.c_str();
    p.pcOffset = each.pc_offset;
    if (api_.get_sass_to_source(&p) == CUPTI_SUCCESS && p.lineNumber != 0) {
      std::string file = p.fileName != nullptr ? p.fileName : "";
      if (p.dirName != nullptr && *p.dirName != 0 && (file.empty() || file[0] != '/'))
        file = std::string(p.dirName) + "/" + file;
      spool::SourceLineRecord record{};
      record.kernel_id = each.kernel_id;
      record.pc_offset = each.pc_offset;
      record.file = writer_.intern(file);
      record.line = p.lineNumber;
      writer_.put(record);
    }
    std::free(p.fileName);
    std::free(p.dirName);
  }
  wanted_.clear();
  return all;
}

void SourceLines::clear() noexcept {
  std::lock_guard<std::mutex> guard(mutex_);
  cubins_.clear();
  bytes_ = 0;
}

}  // namespace ridgeline::agent
