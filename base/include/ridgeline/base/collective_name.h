/// collective_name.h: which function a library's kernel of a collective has in its name.
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

}  // namespace ridgeline
