/// collective_name.h: which function and which type of element a library's kernel of a collective has in its name.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "ridgeline/base/collective_words.h"

namespace ridgeline {

/// "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "one_shot_all_reduce": all_reduce. Empty: the name says none, as that of
/// a kernel that does several at once.
[[nodiscard]] inline std::optional<CollectiveFunction> collective_in_name(std::string_view kernel) {
  std::string name;
  for (const char c : kernel) {
    if (c != '_') name += c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  }
  constexpr std::pair<std::string_view, CollectiveFunction> kNames[] = {
      {"allreduce", CollectiveFunction::all_reduce},         {"allgather", CollectiveFunction::all_gather},
      {"reducescatter", CollectiveFunction::reduce_scatter}, {"alltoall", CollectiveFunction::all_to_all},
      {"broadcast", CollectiveFunction::broadcast},          {"sendrecv", CollectiveFunction::send_receive},
      {"kernelreduce", CollectiveFunction::reduce}};
  for (const auto& [word, function] : kNames) {
    if (name.find(word) != std::string::npos) return function;
  }
  return std::nullopt;
}

/// "ncclDevKernel_AllReduce_Sum_f32_RING_LL", "one_shot_all_reduce_kernel<float, 8>": fp32. Empty: the name says none,
/// as that of a gather, which moves bytes. The first word of the name that is a type's; the name is a collective's.
[[nodiscard]] inline std::optional<ElementType> element_in_name(std::string_view kernel) {
  constexpr std::pair<std::string_view, ElementType> kNames[] = {
      {"f64", ElementType::fp64},    {"f32", ElementType::fp32},        {"f16", ElementType::fp16},
      {"bf16", ElementType::bf16},   {"f8e4m3", ElementType::fp8_e4m3}, {"f8e5m2", ElementType::fp8_e5m2},
      {"i64", ElementType::int64},   {"i32", ElementType::int32},       {"i8", ElementType::int8},
      {"u64", ElementType::uint64},  {"u32", ElementType::uint32},      {"u8", ElementType::uint8},
      {"double", ElementType::fp64}, {"float", ElementType::fp32},      {"Half", ElementType::fp16},
      {"half", ElementType::fp16},   {"BFloat16", ElementType::bf16},   {"bfloat16", ElementType::bf16}};
  const auto separates = [](char c) {
    return (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9');
  };
  std::size_t begin = 0;
  for (std::size_t at = 0; at <= kernel.size(); ++at) {
    if (at < kernel.size() && !separates(kernel[at])) continue;
    const std::string_view word = kernel.substr(begin, at - begin);
    for (const auto& [name, type] : kNames) {
      if (word == name) return type;
    }
    begin = at + 1;
  }
  return std::nullopt;
}

}  // namespace ridgeline
