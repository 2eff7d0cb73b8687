#include "traces/api_calls.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <tuple>
#include <utility>

namespace ridgeline::import {

namespace {

// "_v3020" and "_ptsz" behind the name: the version of the interface, and per-thread streams.
std::string_view plain_name(std::string_view name) {
  for (bool again = true; again;) {
    again = false;
    const std::size_t at = name.rfind('_');
    if (at == std::string_view::npos) break;
    const std::string_view tail = name.substr(at + 1);
    const bool version =
        tail.size() > 1 && tail[0] == 'v' &&
        std::all_of(tail.begin() + 1, tail.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (version || tail == "ptsz" || tail == "ptds") {
      name = name.substr(0, at);
      again = true;
    }
  }
  return name;
}

constexpr std::array<std::pair<std::string_view, SynchronisationCall>, 6> kWaits = {{
    {"cudaDeviceSynchronize", SynchronisationCall::device},
    {"cuCtxSynchronize", SynchronisationCall::device},
    {"cudaStreamSynchronize", SynchronisationCall::stream},
    {"cuStreamSynchronize", SynchronisationCall::stream},
    {"cudaEventSynchronize", SynchronisationCall::event},
    {"cuEventSynchronize", SynchronisationCall::event},
}};

}  // namespace

ApiCall api_call(std::string_view name) {
  name = plain_name(name);
  if (name == "cudaGraphLaunch" || name == "cuGraphLaunch") return {.kind = ApiKind::graph_launch};
  if (name == "cudaStreamBeginCapture" || name == "cuStreamBeginCapture" ||
      name == "cudaStreamBeginCaptureToGraph" || name == "cuStreamBeginCaptureToGraph")
    return {.kind = ApiKind::capture_begin};
  if (name == "cudaStreamEndCapture" || name == "cuStreamEndCapture") return {.kind = ApiKind::capture_end};
  // LaunchHostFunc and the like run no kernel.
  if (name.starts_with("cudaLaunchKernel") || name.starts_with("cuLaunchKernel") || name == "cudaLaunch" ||
      name.starts_with("cuLaunchGrid") || name == "cuLaunch" ||
      name.starts_with("cudaLaunchCooperativeKernel") || name.starts_with("cuLaunchCooperativeKernel"))
    return {.kind = ApiKind::launch};
  for (const auto& [word, wait] : kWaits)
    if (name == word) return {.kind = ApiKind::wait, .wait = wait};
  return {};
}

void add_api_call(ForeignProcess& process, CaptureWatch& capture, const TimedApiCall& call) {
  if (!has_time(call.enter_ns, call.exit_ns)) return;
  switch (call.what.kind) {
    case ApiKind::capture_begin:
      capture.begin(call.thread_key);
      return;
    case ApiKind::capture_end:
      capture.end(call.thread_key);
      return;
    case ApiKind::other:
      return;
    case ApiKind::wait:
      process.log.add(Wait{.thread_id = call.thread_id,
                           .correlation_id = call.correlation_id,
                           .enter_ns = call.enter_ns,
                           .exit_ns = call.exit_ns,
                           .call = call.what.wait});
      process.saw(call.enter_ns, call.exit_ns);
      return;
    case ApiKind::launch:
    case ApiKind::graph_launch:
      break;
  }
  if (capture.is_capturing(call.thread_key) || call.correlation_id == 0) return;
  process.calls.push_back({.enter_ns = call.enter_ns,
                           .exit_ns = call.exit_ns,
                           .correlation_id = call.correlation_id,
                           .thread_id = call.thread_id,
                           .graph = call.what.kind == ApiKind::graph_launch});
  process.saw(call.enter_ns, call.exit_ns);
}

void leave_out_captured(ForeignProcess& process, std::vector<CaptureEdge> edges) {
  if (edges.empty()) return;
  const auto place = [](const CaptureEdge& edge) {
    return std::tuple(edge.thread_id, edge.time_ns, edge.begins);
  };
  std::sort(edges.begin(), edges.end(),
            [&](const CaptureEdge& a, const CaptureEdge& b) { return place(a) < place(b); });
  std::erase_if(process.calls, [&](const ForeignCall& call) {
    const auto next =
        std::upper_bound(edges.begin(), edges.end(), std::tuple(call.thread_id, call.enter_ns, true),
                         [&](const auto& of_call, const CaptureEdge& edge) { return of_call < place(edge); });
    return next != edges.begin() && std::prev(next)->thread_id == call.thread_id && std::prev(next)->begins;
  });
}

}  // namespace ridgeline::import
