// NCCL's interface for profiler plugins, as far as the agent takes part in it: of each version the table of functions
// that a plugin shows, and of the events those that the agent asks for. Where a version's event has more kinds, their
// fields follow in the same place and are not read.
//
// A plugin is asked by its newest version that NCCL knows: 3 by NCCL 2.26, 4 by 2.27, 5 from 2.28 on (2.29 knows a
// version 6 and takes 5 as well). Versions 1 and 2, of NCCL 2.23 to 2.25, are left out on purpose: with a plugin those
// count calls for their health reports that they do not count without one.
#pragma once

#include <cstddef>
#include <cstdint>

namespace ridgeline::agent::nccl {

inline constexpr int kSuccess = 0;  // ncclSuccess

/// Kinds of events, as bits of the mask that init() answers with.
inline constexpr std::uint64_t kGroupEvent = 1u << 0;
inline constexpr std::uint64_t kCollectiveEvent = 1u << 1;      // a collective whose kernel was launched
inline constexpr std::uint64_t kCollectiveCallEvent = 1u << 9;  // version 5: the program calls for one

/// NCCL 2.26 (plugin/profiler/profiler_v3.h).
struct EventV3 {
  std::uint8_t type;
  void* parent;
  int rank;
  struct {
    const char* communicator_name;
    std::uint64_t communicator_hash;
    std::uint64_t sequence;
    const char* function;
    const void* send_buffer;
    void* receive_buffer;
    std::size_t count;
    int root;
    const char* element_type;
    std::uint8_t max_channels;  // not how many it has
    std::uint8_t warps;
    const char* algorithm;
    const char* protocol;
  } collective;
};
static_assert(offsetof(EventV3, collective) == 24 && sizeof(EventV3) == 120);

/// NCCL 2.27 (plugin/profiler/profiler_v4.h).
struct EventV4 {
  std::uint8_t type;
  void* parent;
  int rank;
  struct {
    std::uint64_t sequence;
    const char* function;
    const void* send_buffer;
    void* receive_buffer;
    std::size_t count;
    int root;
    const char* element_type;
    std::uint8_t channels;
    std::uint8_t warps;
    const char* algorithm;
    const char* protocol;
  } collective;
};
static_assert(offsetof(EventV4, collective) == 24 && sizeof(EventV4) == 104);

/// NCCL 2.28 to 2.30 (plugin/profiler/profiler_v5.h).
struct EventV5 {
  std::uint64_t type;
  void* parent;  // of a collective: what the plugin gave for its call
  int rank;
  union {
    struct {
      const char* function;
      std::size_t count;
      const char* element_type;
      int root;
      void* stream;
      bool captured;
    } call;
    struct {
      std::uint64_t sequence;
      const char* function;
      const void* send_buffer;
      void* receive_buffer;
      std::size_t count;
      int root;
      const char* element_type;
      std::uint8_t channels;
      std::uint8_t warps;
      const char* algorithm;
      const char* protocol;
      void* parent_group;
    } collective;
  };
};
static_assert(offsetof(EventV5, call) == 24 && offsetof(EventV5, collective) == 24 && sizeof(EventV5) == 112);

/// What the versions have in common behind their init().
template <typename Event>
struct Functions {
  int (*start_event)(void* context, void** handle, const Event* event);
  int (*stop_event)(void* handle);
  int (*record_event_state)(void* handle, int state, const void* arguments);
  int (*finalize)(void* context);
};

struct PluginV3 {
  const char* name;
  int (*init)(void** context, int* mask);
  Functions<EventV3> functions;
};
struct PluginV4 {
  const char* name;
  int (*init)(void** context, int* mask, const char* communicator_name, std::uint64_t communicator_hash,
              int nodes, int ranks, int rank, const void* log);
  Functions<EventV4> functions;
};
struct PluginV5 {
  const char* name;
  int (*init)(void** context, std::uint64_t communicator_hash, int* mask, const char* communicator_name,
              int nodes, int ranks, int rank, const void* log);
  Functions<EventV5> functions;
};
static_assert(sizeof(PluginV3) == 48 && sizeof(PluginV4) == 48 && sizeof(PluginV5) == 48);

}  // namespace ridgeline::agent::nccl
