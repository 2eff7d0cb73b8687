/// collective.h: what a collective between devices is called, once: the agent must not run such a kernel alone, the
/// capture classes it as communication, and the analysis counts it as that.
#pragma once

#include <string_view>

namespace ridgeline {

struct CollectiveMark {
  std::string_view words;  ///< lower case, one space between words, as names are split for their class
  std::string_view
      symbol;  ///< as it is in a mangled name; empty: names with these words need not wait for peers
};

/// A mark with a symbol is a library's own name: its kernels wait for those of their peers. One without is what people
/// call such kernels: enough to class one by its words, not to leave it out of counting.
inline constexpr CollectiveMark kCollectiveMarks[] = {
    {"nccl", "nccl"},
    {"nvshmem", "nvshmem"},
    {"deep ep", "deep_ep"},
    {"mscclpp", "mscclpp"},
    {"userbuffers", "userbuffers"},
    {"cross device reduce", "cross_device_reduce"},
    {"one shot all reduce", "one_shot_all_reduce"},
    {"two shot all reduce", "two_shot_all_reduce"},
    {"multimem all reduce", "multimem_all_reduce"},
    {"allreduce", ""},
    {"all reduce", ""},
    {"all gather", ""},
    {"reduce scatter", ""},
};

/// Whether a kernel of this mangled name waits for kernels of other devices.
[[nodiscard]] constexpr bool waits_for_peers(std::string_view mangled) noexcept {
  for (const CollectiveMark& mark : kCollectiveMarks) {
    if (!mark.symbol.empty() && mangled.find(mark.symbol) != std::string_view::npos) return true;
  }
  return false;
}

}  // namespace ridgeline
