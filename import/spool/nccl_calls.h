// nccl_calls.h: NCCL's calls for collectives, and what can be said of them from outside.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <optional>
#include <string_view>

#include "ridgeline/base/collective_words.h"

namespace ridgeline::import {

inline constexpr std::string_view kNcclPrefix = "nccl";
inline constexpr std::string_view kNcclDomain = "NCCL";

struct NcclFunction {
  std::string_view name;
  CollectiveFunction function;
};
inline constexpr NcclFunction kNcclFunctions[] = {{"ncclAllReduce", CollectiveFunction::all_reduce},
                                                  {"ncclAllGather", CollectiveFunction::all_gather},
                                                  {"ncclReduceScatter", CollectiveFunction::reduce_scatter},
                                                  {"ncclBroadcast", CollectiveFunction::broadcast},
                                                  {"ncclReduce", CollectiveFunction::reduce},
                                                  {"ncclAlltoAll", CollectiveFunction::all_to_all},
                                                  {"ncclSend", CollectiveFunction::send_receive},
                                                  {"ncclRecv", CollectiveFunction::send_receive}};

/// By the name of the call; none: it is none of these.
[[nodiscard]] inline std::optional<CollectiveFunction> nccl_function_of(std::string_view call) {
  for (const auto& [name, function] : kNcclFunctions) {
    if (call == name) return function;
  }
  return std::nullopt;
}

/// Calls of all ranks whose function has no word here.
inline constexpr std::string_view kNcclOtherCalls[] = {"ncclGather", "ncclScatter"};

/// Calls that make or end a communicator: their payload begins with its hash.
struct NcclGroupCall {
  std::string_view prefix;  ///< of their names
  std::size_t payload_bytes = 0;
  std::size_t ranks_at = 0;  ///< number of its ranks, then the own one, both int; 0: they are the parent's
  bool makes = true;
};
/// A split has its payload since 2.29 alone: before, NCCL says of it that it was made, and nothing else until its end.
inline constexpr NcclGroupCall kNcclGroupCalls[] = {
    {"ncclCommInitRank", 24, 8},       {"ncclCommGrow", 32, 16},        {"ncclCommSplit", 40, 0},
    {"ncclCommDestroy", 24, 8, false}, {"ncclCommAbort", 24, 8, false}, {"ncclCommRevoke", 24, 8, false}};

/// By the name of the call; null: it is none of these.
[[nodiscard]] inline const NcclGroupCall* group_call_of(std::string_view call) {
  for (const NcclGroupCall& one : kNcclGroupCalls) {
    if (call.starts_with(one.prefix)) return &one;
  }
  return nullptr;
}

/// Calls that make communicators without saying which.
inline constexpr std::string_view kNcclUnnamedMakers[] = {"ncclCommInitAll", "ncclCommShrink"};

/// Of a split's payload, behind the new communicator's hash: the parent's hash, its ranks, the own one there, the
/// device, the colour, and the key that orders the new ranks.
inline constexpr std::size_t kSplitParentAt = 8, kSplitRanksAt = 16, kSplitRankAt = 20, kSplitKeyAt = 32;

/// A number of a payload; 0 if it ends before.
template <typename T>
[[nodiscard]] T number_at(std::string_view bytes, std::size_t offset) {
  T value{};
  if (offset + sizeof value <= bytes.size()) std::memcpy(&value, bytes.data() + offset, sizeof value);
  return value;
}

/// More than a rank has to send: what says so is damaged.
inline constexpr std::uint64_t kMaxMessageBytes = std::uint64_t{1} << 50;

}  // namespace ridgeline::import
