#include "nccl/profiler_events.h"

#include <cstring>
#include <string_view>

namespace ridgeline::agent::nccl {
namespace {

constexpr std::size_t kLongestWord = 64;  // NCCL's are names of enumerators

std::string_view word(const char* text) noexcept {
  return text == nullptr ? std::string_view() : std::string_view(text, strnlen(text, kLongestWord));
}

template <typename Collective>
LaunchedCollective launched(const Collective& event, std::uint64_t communicator) noexcept {
  LaunchedCollective collective;
  collective.communicator = communicator;
  collective.function = word(event.function);
  collective.element_type = word(event.element_type);
  collective.count = event.count;
  collective.algorithm = word(event.algorithm);
  collective.protocol = word(event.protocol);
  return collective;
}

// These versions tell of the collectives of a group only if that has a handle.
template <typename Event>
void* group_or_none(const Event& event) noexcept {
  static char group = 0;
  return event.type == kGroupEvent ? &group : nullptr;
}

}  // namespace

void* on_event(Session& session, const EventV3& event) noexcept {
  if (event.type == kCollectiveEvent)
    session.collectives().launched(launched(event.collective, event.collective.communicator_hash));
  return group_or_none(event);
}

void* on_event(Session& session, std::uint64_t communicator, const EventV4& event) noexcept {
  if (event.type == kCollectiveEvent) {
    LaunchedCollective collective = launched(event.collective, communicator);
    collective.channels = event.collective.channels;
    session.collectives().launched(collective);
  }
  return group_or_none(event);
}

void* on_event(Session& session, std::uint64_t communicator, const EventV5& event) noexcept {
  if (event.type == kCollectiveCallEvent)
    return as_handle(session.collectives().called(word(event.call.element_type)));
  if (event.type == kCollectiveEvent) {
    LaunchedCollective collective = launched(event.collective, communicator);
    collective.channels = event.collective.channels;
    collective.call = as_number(event.parent);
    session.collectives().launched(collective);
  }
  return nullptr;
}

}  // namespace ridgeline::agent::nccl
