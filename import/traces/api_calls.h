// api_calls.h: what the host's calls of CUDA mean for a recording, by their names alone.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_set>
#include <vector>

#include "traces/foreign_process.h"

namespace ridgeline::import {

enum class ApiKind : std::uint8_t { other, launch, graph_launch, wait, capture_begin, capture_end };

struct ApiCall {
  ApiKind kind = ApiKind::other;
  SynchronisationCall wait = SynchronisationCall::device;
};

/// Of a name as CUPTI has it, "cudaLaunchKernel_v7000" or "cuLaunchKernelEx" for two.
[[nodiscard]] ApiCall api_call(std::string_view name);

/// Threads that capture a stream: what they launch becomes a node of a graph and runs on no device.
class CaptureWatch {
 public:
  void begin(std::int64_t thread) { capturing_.insert(thread); }
  void end(std::int64_t thread) { capturing_.erase(thread); }
  [[nodiscard]] bool is_capturing(std::int64_t thread) const { return capturing_.contains(thread); }

 private:
  std::unordered_set<std::int64_t> capturing_;
};

struct TimedApiCall {
  ApiCall what;
  std::uint32_t thread_id = 0;
  std::int64_t thread_key = 0;  ///< tells threads of all processes apart
  std::uint32_t correlation_id = 0;
  std::int64_t enter_ns = 0, exit_ns = 0;
};

/// Calls of a thread in the order of time.
void add_api_call(ForeignProcess& process, CaptureWatch& capture, const TimedApiCall& call);

/// Where a thread begins or ends to capture a stream.
struct CaptureEdge {
  std::uint32_t thread_id = 0;
  std::int64_t time_ns = 0;
  bool begins = false;
};
/// Of sources whose events are in no order, once all are there: calls of a thread that captures go.
void leave_out_captured(ForeignProcess& process, std::vector<CaptureEdge> edges);

}  // namespace ridgeline::import
