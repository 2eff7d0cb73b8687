// The agent as NCCL's profiler plugin: `record --nccl-profiler` names it in NCCL_PROFILER_PLUGIN, and NCCL asks for the
// tables below.
//
// Nothing here may change what the program does. Of all events only those of collectives on the host are asked for: the
// others need a proxy thread, or are written by the kernels. Nothing is allocated for a communicator or an event.
// Whatever happens, the answer is success: another ends the collective.
#include "injection.h"
#include "nccl/profiler_events.h"

namespace ridgeline::agent {
namespace {

constexpr const char* kName = "Ridgeline";

int init(void** context, int* mask, std::uint64_t communicator) noexcept {
  if (context != nullptr) *context = nccl::as_handle(communicator);
  if (mask != nullptr) *mask = current_session() != nullptr ? static_cast<int>(nccl::kCollectiveEvent) : 0;
  return nccl::kSuccess;
}
int init_v3(void** context, int* mask) noexcept {
  return init(context, mask, 0);
}
int init_v4(void** context, int* mask, const char*, std::uint64_t communicator, int, int, int,
            const void*) noexcept {
  return init(context, mask, communicator);
}
int init_v5(void** context, std::uint64_t communicator, int* mask, const char*, int, int, int,
            const void*) noexcept {
  return init(context, mask, communicator);
}

// `take(session)` gives the event's handle.
template <typename Take>
int start(void** handle, const void* event, const Take& take) noexcept {
  if (handle == nullptr) return nccl::kSuccess;
  *handle = nullptr;
  Session* const session = event != nullptr ? current_session() : nullptr;
  if (session != nullptr) *handle = take(*session);
  return nccl::kSuccess;
}
int start_v3(void*, void** handle, const nccl::EventV3* event) noexcept {
  return start(handle, event, [&](Session& session) { return nccl::on_event(session, *event); });
}
int start_v4(void* context, void** handle, const nccl::EventV4* event) noexcept {
  return start(handle, event,
               [&](Session& session) { return nccl::on_event(session, nccl::as_number(context), *event); });
}
int start_v5(void* context, void** handle, const nccl::EventV5* event) noexcept {
  return start(handle, event,
               [&](Session& session) { return nccl::on_event(session, nccl::as_number(context), *event); });
}

int stop(void*) noexcept {
  return nccl::kSuccess;
}
int record_state(void*, int, const void*) noexcept {
  return nccl::kSuccess;
}
int finalize(void*) noexcept {
  return nccl::kSuccess;
}

}  // namespace
}  // namespace ridgeline::agent

extern "C" {
// Not constant, since NCCL declares them so: what it wrote to them must not end the program.
// NOLINTBEGIN(cppcoreguidelines-avoid-non-const-global-variables,readability-identifier-naming)
__attribute__((visibility("default"))) ridgeline::agent::nccl::PluginV3 ncclProfiler_v3 = {
    ridgeline::agent::kName,
    ridgeline::agent::init_v3,
    {ridgeline::agent::start_v3, ridgeline::agent::stop, ridgeline::agent::record_state,
     ridgeline::agent::finalize}};
__attribute__((visibility("default"))) ridgeline::agent::nccl::PluginV4 ncclProfiler_v4 = {
    ridgeline::agent::kName,
    ridgeline::agent::init_v4,
    {ridgeline::agent::start_v4, ridgeline::agent::stop, ridgeline::agent::record_state,
     ridgeline::agent::finalize}};
__attribute__((visibility("default"))) ridgeline::agent::nccl::PluginV5 ncclProfiler_v5 = {
    ridgeline::agent::kName,
    ridgeline::agent::init_v5,
    {ridgeline::agent::start_v5, ridgeline::agent::stop, ridgeline::agent::record_state,
     ridgeline::agent::finalize}};
// NOLINTEND(cppcoreguidelines-avoid-non-const-global-variables,readability-identifier-naming)
}
