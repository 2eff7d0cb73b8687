// nccl_calls.h: NCCL's calls for collectives, and what can be said of them from outside.
#pragma once

#include <cstdint>
#include <string_view>

#include "ridgeline/base/collective_words.h"

namespace ridgeline::import {

inline constexpr std::string_view kNcclPrefix = "nccl";

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

/// More than a rank has to send: what says so is damaged.
inline constexpr std::uint64_t kMaxMessageBytes = std::uint64_t{1} << 50;

}  // namespace ridgeline::import
