// trace_packets.h: the events of a Perfetto trace that matter to a recording of GPUs, packet by packet, with what a
// sequence interned put in its place. Field numbers: protos/perfetto/trace of Perfetto.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "kineto/op_shapes.h"
#include "ridgeline/store/records.h"

namespace ridgeline::import {

struct PerfettoTrack {
  std::uint64_t uuid = 0, parent = 0;
  std::string name;
  std::optional<std::int64_t> pid;  ///< of a process or a thread
  std::optional<std::int64_t> tid;  ///< of a thread
  std::string process_name, thread_name;
};

/// Begin of a slice.
struct PerfettoSlice {
  std::int64_t time_ns = 0;
  std::uint64_t track = 0;
  std::string_view name, category;
  std::optional<std::int64_t> correlation;
  std::vector<std::uint64_t> launched;   ///< event ids of render stages
  std::optional<OpArguments> arguments;  ///< of operations that declare work by them
};

/// What ran on a device.
struct PerfettoStage {
  std::int64_t time_ns = 0, duration_ns = 0;
  std::uint64_t event_id = 0;
  std::int64_t device = 0;
  std::int64_t pid = 0;          ///< 0: not said
  std::string_view stage, name;  ///< "Kernel", "Memcpy"; of a kernel its own
  bool is_kernel = false;
  std::optional<store::Dim3> grid, block;
  std::map<std::string, std::string, std::less<>> extra;  ///< what the writer adds by name
};

struct PacketHandlers {
  std::function<void(const PerfettoTrack&)> track;
  std::function<void(const PerfettoSlice&)> begin;
  std::function<void(std::uint64_t track, std::int64_t time_ns)> end;
  std::function<void(const PerfettoStage&)> stage;
  std::function<void(std::int64_t offset_ns)> utc;      ///< from the times of events to UTC
  std::function<void(std::string_view what)> left_out;  ///< an event that is not taken over
};

class TracePackets {
 public:
  explicit TracePackets(PacketHandlers handlers) : handlers_(std::move(handlers)) {}

  /// False: it is malformed, and what it holds is left out.
  [[nodiscard]] bool take(std::string_view packet);

 private:
  using Names = std::unordered_map<std::uint64_t, std::string>;
  struct Specification {
    std::string name;
    bool compute = false;
  };
  struct Sequence {
    Names events, categories, annotations, texts, arguments, kernels;
    std::unordered_map<std::uint64_t, Specification> specifications;
    std::unordered_map<std::uint64_t, std::int64_t> contexts;  // pid
  };
  struct Envelope {
    std::optional<std::int64_t> time_ns;
    std::uint64_t sequence = 0, flags = 0, clock = 0;
    std::string_view interned, event, stage, track, clocks;
  };

  bool intern(std::string_view message, Sequence& sequence) const;
  bool take_track(std::string_view message) const;
  bool take_event(std::string_view message, const Envelope& envelope, const Sequence& sequence) const;
  bool take_stage(std::string_view message, const Envelope& envelope, const Sequence& sequence) const;
  bool take_clocks(std::string_view message);
  bool take_annotations(const std::vector<std::string_view>& messages, const Sequence& sequence,
                        PerfettoSlice& slice) const;

  PacketHandlers handlers_;
  std::unordered_map<std::uint64_t, Sequence> sequences_;
  bool has_utc_ = false;
};

}  // namespace ridgeline::import
