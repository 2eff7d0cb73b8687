// The spool: what the agent writes while a program runs and the launcher imports afterwards.
//
// Layout. A file is one 4096-byte block holding FileHeader, then chunks of kChunkBytes. A chunk is a
// ChunkHeader and `used_bytes` of records back to back; each record starts with RecordHeader and is a
// multiple of 8 bytes long. The writer stores a record first and raises `used_bytes` after it (release
// order), and the file is a shared mapping: whatever the last `used_bytes` covers survives the death of the
// process, and nothing torn is ever covered. Chunks are independent, so damage in one costs only the rest of
// that chunk.
//
// Order. Records of one chunk are in the order of writing; chunks of several threads interleave. A record may
// refer to a string, kernel, NVTX path or metric that is defined later in the file: read definitions first.
//
// Everything is little-endian with fixed-size fields. A reader accepts records longer than it knows (fields
// are appended, never moved) and skips types it does not know.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "ridgeline/base/stream_words.h"
#include "ridgeline/base/vocabulary.h"

namespace ridgeline::spool {

static_assert(std::endian::native == std::endian::little, "the spool is defined little-endian");

inline constexpr char kMagic[8] = {'R', 'D', 'G', 'S', 'P', 'O', 'O', 'L'};
inline constexpr std::uint32_t kFormatVersion = 1;
inline constexpr std::uint32_t kFileHeaderBytes = 4096;
inline constexpr std::uint32_t kChunkBytes = 64 * 1024;
inline constexpr std::uint32_t kChunkMagic = 0x4b4e4843;  // "CHNK"
inline constexpr std::uint32_t kMaxStringBytes =
    32 * 1024;  // longer strings are cut, StringRecord.flags says so

/// The one clock of every `_ns` field: what CUPTI stamps on activity records, nanoseconds since the Unix
/// epoch. ClockPairRecord relates it to the system's clocks.
inline constexpr char kClockCupti[] = "cupti";
/// The clock when CUPTI could not be loaded: CLOCK_REALTIME, nanoseconds since the Unix epoch.
inline constexpr char kClockRealtime[] = "clock_realtime";

struct FileHeader {
  char magic[8];
  std::uint32_t version;
  std::uint32_t header_bytes;  // kFileHeaderBytes
  std::uint32_t chunk_bytes;   // kChunkBytes
  std::uint32_t pid;
  std::int64_t start_ns;       // when the agent started
  char clock[32];              // kClock…, zero-terminated
  char agent_version[32];      // zero-terminated
  std::uint64_t records_lost;  // no room (disk full, size limit); 0 = everything handed over was stored
  std::uint64_t bytes_lost;
};
static_assert(sizeof(FileHeader) == 112 && std::is_trivially_copyable_v<FileHeader>);

struct ChunkHeader {
  std::uint32_t magic;       // kChunkMagic; 0 = preallocated, never used
  std::uint32_t used_bytes;  // record bytes after this header
};
static_assert(sizeof(ChunkHeader) == 8);

enum class RecordType : std::uint16_t {
  none = 0,
  string = 1,
  process = 2,
  version = 3,
  device = 4,
  context = 5,
  thread = 6,
  clock_pair = 7,
  kernel_function = 8,
  kernel = 9,
  launch = 10,
  memcpy = 11,
  memset = 12,
  nvtx_path = 13,
  nvtx_range = 14,
  nvtx_payload = 15,
  step_start = 16,
  step_end = 17,
  metric = 18,
  counter_config = 19,
  counter_config_metric = 20,
  counter_value = 21,
  counter_step = 22,
  clock_sample = 23,
  overhead = 24,
  completeness = 25,
  message = 26,
  end = 27,
  pm_window = 28,
  pm_metric = 29,
  pm_sample = 30,
  graph_counter_value = 32,
  replay_exclusion = 33,
  recording_window = 36,
  stall_sample = 39,
  source_line = 40,
  stall_window = 41,
  synchronisation = 42,
  stream = 43,
  stream_call = 44,
  graph_node = 45,
  graph_node_clone = 46,
  graph_edge = 47,
  memory_call = 48,
  left_out = 49,
  step_block = 51,
  intervention = 52,
  delay = 53,
  collective_detail = 54,
};

struct RecordHeader {
  RecordType type;
  std::uint16_t flags;       // meaning by type; 0 unless a type says otherwise
  std::uint32_t size_bytes;  // this header included, multiple of 8
};
static_assert(sizeof(RecordHeader) == 8);

/// String ids are per file; 0 is "none".
using StringId = std::uint32_t;

inline constexpr std::uint16_t kStringCut = 1;

/// Followed by length_bytes bytes (any bytes, not zero-terminated) and padding to a multiple of 8.
struct StringRecord {
  RecordHeader header;
  StringId id;
  std::uint32_t length_bytes;
};
static_assert(sizeof(StringRecord) == 16);

struct ProcessRecord {
  RecordHeader header;
  std::uint32_t pid;
  std::uint32_t parent_pid;
  std::int64_t start_ns;          // agent start
  std::int64_t process_start_ns;  // start of the process by /proc/self/stat, 0 if unknown
  StringId arguments;             // argv joined by zero bytes
  StringId executable;
  StringId working_directory;
  StringId host_name;
  StringId schedule;    // as understood, in the syntax of RIDGELINE_SCHEDULE
  StringId step_range;  // NVTX range name that makes a step
};
static_assert(sizeof(ProcessRecord) == 56);

enum class Component : std::uint32_t {
  agent = 1,
  cupti = 2,          // number: cuptiGetVersion (130001 = 13.0.1); text: path of the library
  cuda_driver = 3,    // number: cuDriverGetVersion (13000 = 13.0)
  kernel_driver = 4,  // text: "580.159.03", from NVML
  cuda_runtime = 5,   // number: cudaRuntimeGetVersion of the program's runtime if it is a shared library
};
struct VersionRecord {
  RecordHeader header;
  Component component;
  StringId text;        // 0 if only a number is known
  std::int64_t number;  // 0 if only a text is known
};
static_assert(sizeof(VersionRecord) == 24);

struct DeviceRecord {
  RecordHeader header;
  std::uint32_t device_id;  // CUDA ordinal in this process
  StringId name;
  StringId chip_name;  // CUPTI's, e.g. GH100
  StringId pci_bus_id;
  std::uint8_t uuid[16];
  std::uint32_t compute_capability_major;
  std::uint32_t compute_capability_minor;
  std::uint32_t sm_count;
  std::uint32_t memory_bus_width_bits;
  std::int64_t memory_bytes;
  std::int64_t l2_bytes;
  std::int64_t max_sm_hz;      // 0 if unknown
  std::int64_t max_memory_hz;  // 0 if unknown
  std::uint32_t max_threads_per_sm;
  std::uint32_t max_shared_memory_per_sm_bytes;
  std::uint32_t max_registers_per_sm;
  std::uint32_t max_shared_memory_per_block_bytes;
};
static_assert(sizeof(DeviceRecord) == 104);

struct ContextRecord {
  RecordHeader header;
  std::uint32_t context_id;  // CUPTI's
  std::uint32_t device_id;
  std::int64_t created_ns;
};
static_assert(sizeof(ContextRecord) == 24);

/// The operating system's name of a thread, not one that the program gave it through NVTX, which has precedence.
inline constexpr std::uint16_t kSystemThreadName = 1;

struct ThreadRecord {
  RecordHeader header;      // flags: kSystemThreadName
  std::uint32_t thread_id;  // gettid()
  StringId name;
};
static_assert(sizeof(ThreadRecord) == 16);

/// One instant on three clocks. Several over a run; interpolate.
struct ClockPairRecord {
  RecordHeader header;
  std::int64_t cupti_ns;
  std::int64_t realtime_ns;
  std::int64_t monotonic_ns;
};
static_assert(sizeof(ClockPairRecord) == 32);

/// Written at a kernel's first sight. When another module with a kernel of that name is loaded later, another
/// record follows, without name, `flags` counting them over the file: the highest is the newest. Which of its
/// codes a launch ran says LaunchRecord::code; the newest where it does not.
struct KernelFunctionRecord {
  RecordHeader header;
  std::uint32_t kernel_id;  // per file, from 1
  StringId name;            // mangled; 0 in a later record of the id
  std::uint64_t code_hash;  // XXH64 of the machine code (section .text.<name> of the cubin); 0: not taken
};
static_assert(sizeof(KernelFunctionRecord) == 24);

inline constexpr std::uint16_t kZeroTimestamp = 1;  // start or end was 0: the times are unusable
inline constexpr std::uint16_t kUntraced =
    8;  // KernelRecord by the agent: instructions are counted, not times
inline constexpr std::uint16_t kGraphNode = 2;  // executed as a node of a CUDA graph

/// A kernel that ran on a device (T0). correlation_id joins it to its LaunchRecord; kernels of one graph
/// launch share the correlation id of that launch.
struct KernelRecord {
  RecordHeader header;
  std::uint32_t correlation_id;
  std::uint32_t kernel_id;
  std::int64_t start_ns;
  std::int64_t end_ns;
  std::uint32_t device_id;
  std::uint32_t context_id;
  std::uint32_t stream_id;
  std::uint32_t graph_id;
  std::uint64_t graph_node_id;
  std::uint32_t grid_x, grid_y, grid_z;
  std::uint32_t block_x, block_y, block_z;
  std::uint32_t cluster_x, cluster_y, cluster_z;  // 0 or 1: none
  std::uint32_t registers_per_thread;
  std::uint32_t static_smem_bytes;
  std::uint32_t dynamic_smem_bytes;
  std::uint32_t local_memory_per_thread_bytes;
  std::uint32_t channel_id;
};
static_assert(sizeof(KernelRecord) == 112);

inline constexpr std::uint32_t kNoStep = 0xffffffff;
inline constexpr std::uint16_t kLaunchIsGraph = 1;  // cuGraphLaunch: zero or more kernels
inline constexpr std::uint16_t kLaunchFailed = 2;  // the driver returned an error: no kernel record to expect
inline constexpr std::uint16_t kLaunchExcluded = 8;  // replay step: ran unmeasured, see ReplayExclusionRecord
inline constexpr std::uint16_t kLaunchCaptured = 4;  // stream capture was active: no kernel record to expect

/// A launch call seen on the host: who launched, inside which NVTX ranges, in which step.
struct LaunchRecord {
  RecordHeader header;
  std::uint32_t correlation_id;
  std::uint32_t thread_id;
  std::int64_t enter_ns;
  std::int64_t exit_ns;
  std::uint32_t nvtx_path_id;   // 0: outside every range
  std::uint32_t step_index;     // kNoStep: outside every step
  std::uint32_t step_ordinal;   // position among the kernel launches of the step, from 0; kNoStep for graph
                                /// launches, failed and captured ones: they have none
  std::uint32_t callback_id;    // CUPTI driver callback id
  std::uint64_t nvtx_range_id;  // innermost open range, 0: none
  std::uint32_t context_id;
  std::uint32_t code;  // lower half of the kernel's code_hash; 0: not known, or no launch of a kernel
};
static_assert(sizeof(LaunchRecord) == 64);

/// A call on which a thread waited for the device, or might have (T0). Shorter ones than kShortestWaitNs have
/// no record: they waited for nothing.
struct SynchronisationRecord {
  RecordHeader header;
  std::uint32_t thread_id;
  std::uint32_t correlation_id;
  std::int64_t enter_ns;
  std::int64_t exit_ns;
  SynchronisationCall call;
  std::uint32_t context_id;
  std::uint32_t step_index;  // step it began in, or kNoStep
  std::uint32_t reserved;
};
static_assert(sizeof(SynchronisationRecord) == 48);
inline constexpr std::int64_t kShortestWaitNs = 2000;

/// A stream and how it goes together with others. Of a stream that has none, what is known is in its calls.
struct StreamRecord {
  RecordHeader header;
  std::uint32_t context_id;
  std::uint32_t stream_id;  // as in KernelRecord
  StreamKind kind;
  std::int32_t priority;  // as the program gave it; 0 unless it did
};
static_assert(sizeof(StreamRecord) == 24);

/// A call that ordered streams, outside of stream captures. Which record of an event a wait is for follows from the
/// order of correlation ids: the newest of that event before it.
struct StreamCallRecord {
  RecordHeader header;
  std::uint32_t thread_id;
  std::uint32_t correlation_id;  // event_awaited and stream_awaited: of the SynchronisationRecord
  std::int64_t time_ns;          // the call had returned
  std::uint64_t event;           // the program's handle; 0: of no event. A handle may be used again
  std::uint32_t context_id;      // of the stream; event_awaited: 0
  std::uint32_t stream_id;       // event_awaited: 0
  StreamCall call;
  std::uint32_t step_index;  // it was made in, or kNoStep
};
static_assert(sizeof(StreamCallRecord) == 48);

/// A node of a graph that was instantiated, as it stood in the graph that the program handed over.
struct GraphNodeRecord {
  RecordHeader header;
  std::uint64_t node_id;    // CUPTI's
  std::uint64_t parent_id;  // node whose graph it is in; 0: of the outermost graph
  std::uint32_t graph;      // instantiations of a process are numbered from 1
  GraphNodeKind kind;
};
static_assert(sizeof(GraphNodeRecord) == 32);

/// This node was made of another, by an instantiation as a rule: kernels and copies that run name either.
struct GraphNodeCloneRecord {
  RecordHeader header;
  std::uint64_t node_id;
  std::uint64_t original_id;
  std::uint32_t graph;  // as in GraphNodeRecord; 0: not while one was instantiated
  std::uint32_t reserved;
};
static_assert(sizeof(GraphNodeCloneRecord) == 32);

inline constexpr std::uint16_t kProgrammaticEdge = 1;  // `to` may begin before `from` has ended
/// In an instantiated graph `to` follows `from`.
struct GraphEdgeRecord {
  RecordHeader header;  // flags: kProgrammaticEdge
  std::uint64_t from_id;
  std::uint64_t to_id;
  std::uint32_t graph;  // as in GraphNodeRecord
  std::uint32_t reserved;
};
static_assert(sizeof(GraphEdgeRecord) == 32);

/// A call that took device memory or gave it back, and succeeded.
struct MemoryCallRecord {
  RecordHeader header;
  std::uint32_t thread_id;
  std::uint32_t correlation_id;
  std::int64_t time_ns;   // the call had returned
  std::uint64_t address;  // or handle of physical memory: joins what is freed to what was allocated
  std::int64_t bytes;     // of an allocation; else 0
  MemoryCall call;
  std::uint32_t device_id;
  std::uint32_t step_index;  // it was made in, or kNoStep
  std::uint32_t reserved;
};
static_assert(sizeof(MemoryCallRecord) == 56);

/// How many of a kind have no record. The last one of a kind counts.
struct LeftOutRecord {
  RecordHeader header;
  LeftOut what;
  std::uint32_t reserved;
  std::uint64_t count;
};
static_assert(sizeof(LeftOutRecord) == 24);

enum class MemoryKind : std::uint8_t {
  unknown = 0,
  pageable = 1,
  pinned = 2,
  device = 3,
  array = 4,
  managed = 5,
  device_static = 6,
  managed_static = 7
};  // CUpti_ActivityMemoryKind
enum class MemcpyKind : std::uint8_t {
  unknown = 0,
  host_to_device = 1,
  device_to_host = 2,
  host_to_array = 3,
  array_to_host = 4,
  array_to_array = 5,
  array_to_device = 6,
  device_to_array = 7,
  device_to_device = 8,
  host_to_host = 9,
  peer_to_peer = 10
};  // CUpti_ActivityMemcpyKind

struct MemcpyRecord {
  RecordHeader header;  // flags: kZeroTimestamp, kGraphNode
  std::uint32_t correlation_id;
  MemcpyKind kind;
  MemoryKind source;
  MemoryKind destination;
  std::uint8_t asynchronous;
  std::int64_t start_ns;
  std::int64_t end_ns;
  std::int64_t bytes;
  std::uint32_t device_id;
  std::uint32_t context_id;
  std::uint32_t stream_id;
  std::uint32_t graph_id;
  std::uint64_t graph_node_id;
  std::uint32_t source_device_id;  // equal to device_id unless peer to peer
  std::uint32_t destination_device_id;
};
static_assert(sizeof(MemcpyRecord) == 72);

struct MemsetRecord {
  RecordHeader header;  // flags: kZeroTimestamp, kGraphNode
  std::uint32_t correlation_id;
  std::uint32_t value;
  std::int64_t start_ns;
  std::int64_t end_ns;
  std::int64_t bytes;
  std::uint32_t device_id;
  std::uint32_t context_id;
  std::uint32_t stream_id;
  std::uint32_t graph_id;
  std::uint64_t graph_node_id;
  MemoryKind memory;
  std::uint8_t asynchronous;
  std::uint8_t reserved[6];
};
static_assert(sizeof(MemsetRecord) == 72);

/// A node of the tree of NVTX push/pop nesting. Launches name the node they were made under.
struct NvtxPathRecord {
  RecordHeader header;
  std::uint32_t path_id;    // per file, from 1
  std::uint32_t parent_id;  // 0: a root
  StringId name;
  StringId domain;  // 0: the default domain
};
static_assert(sizeof(NvtxPathRecord) == 24);

enum class NvtxKind : std::uint8_t { push_pop = 1, start_end = 2, mark = 3 };
/// Type of `payload`, as NVTX numbers them (nvtxPayloadType_t); binary: see NvtxPayloadRecord.
enum class NvtxPayloadType : std::uint8_t {
  none = 0,
  uint64 = 1,
  int64 = 2,
  float64 = 3,
  uint32 = 4,
  int32 = 5,
  float32 = 6,
  binary = 255
};

inline constexpr std::uint16_t kRangeUnclosed = 1;  // still open when recording ended; end_ns is that moment
inline constexpr std::uint16_t kRangeHasColor = 2;

/// Written when the range ends.
struct NvtxRangeRecord {
  RecordHeader header;
  std::uint64_t range_id;         // per file, from 1
  std::uint64_t parent_range_id;  // 0: none; only push/pop ranges nest
  std::int64_t start_ns;
  std::int64_t end_ns;
  std::uint32_t thread_id;
  std::uint32_t path_id;     // for kStartEnd and kMark: a root node with their name; a range that marks a
                             /// step goes by the steps' common name, its number is step_index
  std::uint32_t depth;       // from 0
  std::uint32_t step_index;  // step it began in, or kNoStep
  std::uint32_t color_argb;
  std::uint32_t category;
  NvtxKind kind;
  NvtxPayloadType payload_type;
  std::uint8_t reserved[6];
  std::uint64_t payload;  // bits of the value
};
static_assert(sizeof(NvtxRangeRecord) == 80);

/// One binary payload (NVTX payload extension) of a range. Followed by length_bytes bytes and padding to 8.
struct NvtxPayloadRecord {
  RecordHeader header;
  std::uint64_t range_id;
  std::uint64_t schema_id;
  std::uint32_t position;  // payloads of one range are numbered from 0
  std::uint32_t length_bytes;
};
static_assert(sizeof(NvtxPayloadRecord) == 32);

/// What NCCL says of a collective by its profiler interface, in its own words. There may be several of a launch, which
/// then does all of them, and the same one again.
struct CollectiveDetailRecord {
  RecordHeader header;
  std::uint64_t communicator;    // hash, 0: not said
  std::uint64_t call_range_id;   // range of the program's call for it, 0: not said
  std::uint64_t message_bytes;   // of one rank, 0: not known
  std::uint32_t correlation_id;  // of the LaunchRecord, 0: only the call is known
  StringId function;             // "AllReduce"
  StringId element_type;         // "ncclFloat32", 0: not known
  StringId algorithm;            // "RING"
  StringId protocol;             // "SIMPLE"
  std::uint32_t channels;        // 0: not said
};
static_assert(sizeof(CollectiveDetailRecord) == 56);

inline constexpr std::uint16_t kStepByPeriod = 1;  // StepStart: found by the period of the launch sequence
inline constexpr std::uint16_t kStepUnmeasured =
    2;  // StepStart: a sample step that only lets the clocks settle
inline constexpr std::uint16_t kScheduleStarts = 4;  // StepStart: the schedule counts from this step
inline constexpr std::uint16_t kStepSupersedes =
    8;  // StepStart: the steps by period before this one were no steps of the program: they count as warm-up
inline constexpr std::uint16_t kStepByTime =
    16;  // StepStart: no step of the program, but a stretch in which launches are counted by kind, or samples taken
inline constexpr std::uint16_t kStepDeferred =
    64;  // StepStart or StepEnd: a timeline step beside the schedule, which waits for the GPU's counters
inline constexpr std::uint16_t kStepAlone =
    128;  // StepStart: a step of the timeline phase that runs without being recorded, beside the schedule
inline constexpr std::uint16_t kStepSamplesAgain =
    256;  // StepStart, with kStepDeferred: of the sample phase, which goes on for what was not sampled in its own steps
/// Stretches are numbered from here on, apart from the steps.
inline constexpr std::uint32_t kFirstStretch = 1u << 30;

struct StepStartRecord {
  RecordHeader header;
  std::uint32_t step_index;  // from 0, counts every step, warm-up included
  Phase phase;
  std::int64_t start_ns;
  std::uint32_t thread_id;
  std::uint32_t config_id;  // replay steps: the counter configuration meant for this step; else 0
};
static_assert(sizeof(StepStartRecord) == 32);

struct StepEndRecord {
  RecordHeader header;  // flags: kStepDeferred
  std::uint32_t step_index;
  std::uint32_t launches_seen;
  std::int64_t end_ns;
};
static_assert(sizeof(StepEndRecord) == 24);

inline constexpr std::uint16_t kBlockAlone = 1;  // its steps were not recorded
inline constexpr std::uint16_t kBlockByPeriod =
    2;  // but for the callbacks of launches, by which its steps were found
/// Steps that were timed together, from a device that was through with everything before to the boundary after the
/// last: some of them alone, some recorded, so that it shows what recording costs.
struct StepBlockRecord {
  RecordHeader header;  // flags: kBlockAlone, kBlockByPeriod
  std::uint32_t first_step;
  std::uint32_t steps;
  std::int64_t start_ns;
  std::int64_t end_ns;     // the host's; the device may be behind
  std::int64_t switch_ns;  // before and after it: waiting for the device, switching off and on
  std::uint64_t launches;  // of a block alone by period: that came to the callback
  std::int64_t own_ns;     // and what the agent took in them
  std::int64_t
      callback_ps;  // what CUPTI takes to call it for one launch, as measured in this process; 0: it was not
};
static_assert(sizeof(StepBlockRecord) == 64);

inline constexpr std::uint16_t kInterventionDrawn =
    1;  // its step was drawn; else it lets the one before it settle
/// A delay kernel of the agent's own in front of a launch of the program's (`record --intervene`). In every step of the
/// phase each target has one; all but the drawn one are shams. In steps after the schedule, of blocks of seconds, none
/// is drawn.
struct InterventionRecord {
  RecordHeader header;  // flags: kInterventionDrawn
  std::uint32_t launch_correlation_id;
  std::uint32_t delay_correlation_id;  // 0: not known, it is the next one after the launch's
  std::uint32_t step_index;
  std::uint32_t step_ordinal;  // of the program's launch
  std::uint32_t kernel_id;     // likewise
  std::uint32_t target;        // targets of a process are numbered from 0
  std::int64_t level_ns;       // asked for; 0: a sham
  std::uint64_t seed;          // of the draws of this process
};
static_assert(sizeof(InterventionRecord) == 48);

/// The delay kernel as it ran. It is no kernel of the program's and has no KernelRecord.
struct DelayRecord {
  RecordHeader header;  // flags: kZeroTimestamp
  std::uint32_t correlation_id;
  std::uint32_t stream_id;
  std::int64_t start_ns;
  std::int64_t end_ns;
};
static_assert(sizeof(DelayRecord) == 32);

struct MetricRecord {
  RecordHeader header;
  std::uint32_t metric_id;  // per file, from 1
  StringId name;            // verbatim
  StringId unit;            // CUPTI's, e.g. "bytes"; 0: none given
  StringId description;
};
static_assert(sizeof(MetricRecord) == 24);

struct CounterConfigRecord {
  RecordHeader header;
  std::uint32_t config_id;  // per file, from 1
  StringId name;            // "R1"
  std::uint32_t passes;     // of the configuration as resolved
  std::uint32_t metric_count;
};
static_assert(sizeof(CounterConfigRecord) == 24);

struct CounterConfigMetricRecord {
  RecordHeader header;
  std::uint32_t config_id;
  std::uint32_t metric_id;
};
static_assert(sizeof(CounterConfigMetricRecord) == 16);

/// One counter of one launch of a replay step. Joins the timeline on (step_ordinal, kernel_id, grid).
struct CounterValueRecord {
  RecordHeader header;
  std::uint32_t config_id;
  std::uint32_t step_index;
  std::uint32_t step_ordinal;
  std::uint32_t kernel_id;
  std::uint32_t grid_x, grid_y, grid_z;
  std::uint32_t metric_id;
  double value;  // NaN: CUPTI could not evaluate it
};
static_assert(sizeof(CounterValueRecord) == 48);

enum class CounterStatus : std::uint32_t {
  ok = 1,
  mismatch = 2,       // launches differ from the timeline steps; the step's values were discarded
  failed = 3,         // CUPTI refused or lost ranges; no values
  not_available = 4,  // the step contains what this tier cannot measure (graph launches, several contexts)
};
struct CounterStepRecord {
  RecordHeader header;
  std::uint32_t config_id;
  std::uint32_t step_index;
  CounterStatus status;
  StringId reason;  // 0 when ok
  std::uint32_t launches_expected;
  std::uint32_t ranges_received;
  std::int64_t open_ns;  // host time the program waited for the session to open, 0: unknown
  std::int64_t
      finish_ns;  // and at the step's end for stopping, decoding and closing; evaluation runs beside it
};
static_assert(sizeof(CounterStepRecord) == 48);

/// One window of periodic samples of a whole device (T1). Written twice: when it opens, as failed because the
/// program ended, which stands if the process is killed, and when its samples are read. The last one of a
/// window_id counts; samples and metrics may stand before it.
struct PmWindowRecord {
  RecordHeader header;
  std::uint32_t window_id;  // per file, from 1
  std::uint32_t device_id;
  std::uint32_t first_step;  // first and last step meant to be covered
  std::uint32_t last_step;
  std::int64_t interval_ns;  // asked for
  std::int64_t start_ns;     // host: sampling started
  std::int64_t stop_ns;      // host: sampling stopped
  std::uint64_t hardware_buffer_bytes;
  std::uint64_t samples;
  std::int64_t setup_ns;   // host time: enable and configure
  std::int64_t decode_ns;  // host time: decode and evaluate
  WindowStatus status;
  StringId reason;  // 0 when ok
};
static_assert(sizeof(PmWindowRecord) == 88);

/// Metric of a column of the samples of a window.
struct PmMetricRecord {
  RecordHeader header;
  std::uint32_t window_id;
  std::uint32_t position;  // from 0
  std::uint32_t metric_id;
  std::uint32_t reserved;
};
static_assert(sizeof(PmMetricRecord) == 24);

/// One sample. Followed by value_count doubles, by position; NaN: CUPTI could not evaluate it.
struct PmSampleRecord {
  RecordHeader header;
  std::uint32_t window_id;
  std::uint32_t value_count;
  std::int64_t start_ns;  // as CUPTI stamps it, without the calibration of the shift against kernel records
  std::int64_t end_ns;
};
static_assert(sizeof(PmSampleRecord) == 32);

inline constexpr std::uint32_t kWholeGraph = 0xffffffff;
/// One counter of a graph launch in a replay step: of one of its kernels, or of the whole graph.
struct GraphCounterValueRecord {
  RecordHeader header;
  std::uint32_t config_id;
  std::uint32_t step_index;
  std::uint32_t graph_launch;  // position among the graph launches of the step, from 0
  std::uint32_t kernel;  // position among the kernels of the graph in order of execution, or kWholeGraph
  std::uint32_t correlation_id;
  std::uint32_t metric_id;
  double value;
};
static_assert(sizeof(GraphCounterValueRecord) == 40);

/// A kernel that replay steps run without measuring it.
struct ReplayExclusionRecord {
  RecordHeader header;
  std::uint32_t kernel_id;
  ExclusionReason reason;
};
static_assert(sizeof(ReplayExclusionRecord) == 16);

enum class WindowEdge : std::uint32_t { open = 1, close = 2 };
/// Of an opening edge: calls that wait for the device are recorded in the window.
inline constexpr std::uint16_t kWindowHasSynchronisation = 1;
/// Likewise: the calls that order streams are.
inline constexpr std::uint16_t kWindowHasStreamCalls = 2;
/// The timeline begins or ends here: kernels outside a window are not recorded and not counted.
struct RecordingWindowRecord {
  RecordHeader header;  // flags: kWindowHasSynchronisation, kWindowHasStreamCalls
  std::int64_t time_ns;
  WindowEdge edge;
  WindowCause cause;
};
static_assert(sizeof(RecordingWindowRecord) == 24);

/// Samples of the program counter of one kernel at one instruction (T3).
struct StallSampleRecord {
  RecordHeader header;
  std::uint32_t kernel_id;
  std::uint32_t pc_offset;   // bytes from the function's start
  StringId stall_reason;     // CUPTI's name
  std::uint32_t step_index;  // first step of the window
  std::uint64_t samples;
};
static_assert(sizeof(StallSampleRecord) == 32);

/// Source line of an instruction, as far as the cubin says.
struct SourceLineRecord {
  RecordHeader header;
  std::uint32_t kernel_id;
  std::uint32_t pc_offset;
  StringId file;  // 0: none
  std::uint32_t line;
};
static_assert(sizeof(SourceLineRecord) == 24);

/// Steps of a phase `stalls` whose program counters were sampled. Written at the end of the last of them;
/// its samples stand before it.
struct StallWindowRecord {
  RecordHeader header;
  std::uint32_t device_id;
  std::uint32_t first_step;
  std::uint32_t last_step;
  std::uint32_t period_log2;      // each SM is sampled every 2^period_log2 of its cycles
  std::uint64_t samples;          // taken of the program's kernels, dropped ones not counted
  std::uint64_t dropped_samples;  // by the hardware
  std::uint64_t foreign_samples;  // of kernels that are not the program's own
  std::int64_t setup_ns;          // host time: enable, configure and start
  std::int64_t finish_ns;         // host time: stop, read and disable
  WindowStatus status;
  StringId reason;  // 0 when ok
};
static_assert(sizeof(StallWindowRecord) == 72);

struct ClockSampleRecord {
  RecordHeader header;
  std::int64_t time_ns;
  std::uint32_t device_id;
  std::uint32_t temperature_celsius;
  std::int64_t sm_hz;
  std::int64_t memory_hz;
  std::uint64_t power_mw;
  std::uint64_t throttle_reasons;  // NVML's bit mask (nvmlClocksEventReasons)
};
static_assert(sizeof(ClockSampleRecord) == 56);

/// Time CUPTI says it cost.
struct OverheadRecord {
  RecordHeader header;
  std::uint32_t kind;       // CUpti_ActivityOverheadKind
  std::uint32_t thread_id;  // 0 if not tied to a thread
  std::int64_t start_ns;
  std::int64_t end_ns;
};
static_assert(sizeof(OverheadRecord) == 32);

/// Running totals; the last one of a file holds.
struct CompletenessRecord {
  RecordHeader header;
  std::int64_t time_ns;
  std::uint64_t
      launches_seen;  // kernel launches that returned success, graph launches and captures not counted
  std::uint64_t graph_launches_seen;
  std::uint64_t launches_failed;
  std::uint64_t launches_captured;
  std::uint64_t kernel_records;  // of launches seen; graph nodes and own kernels not counted
  std::uint64_t graph_kernel_records;
  std::uint64_t own_kernel_records;  // CUPTI's helper kernels, filtered out
  std::uint64_t memcpy_records;
  std::uint64_t memset_records;
  std::uint64_t dropped_records;  // CUPTI's own count
  std::uint64_t zero_timestamp_records;
  std::uint64_t buffers_completed;
  std::uint64_t buffers_refused;  // CUPTI asked for a buffer and the pool was empty
  std::uint64_t unknown_records;
  std::uint64_t spool_records_lost;  // no room in the spool
  std::uint64_t strings_lost;        // string table full
  std::uint64_t nvtx_unbalanced;     // pops without push, ranges deeper than the stack
  std::uint64_t callback_errors;     // exceptions caught in callbacks
};
static_assert(sizeof(CompletenessRecord) == 160);

enum class Topic : std::uint32_t {
  general = 0,
  cupti_missing = 1,       // library not found or too old: nothing recorded
  subscriber_taken = 2,    // another tool holds CUPTI: nothing recorded
  timeline_refused = 3,    // an activity kind could not be enabled: T0 partial or absent
  counters_refused = 4,    // no permission for counters: T2 absent
  metric_unavailable = 5,  // a metric left out on this chip
  replay = 6,              // a replay step that failed
  nvtx_missing = 7,        // no NVTX callbacks: no steps, no ranges
  clocks_missing = 8,      // NVML absent: no clock samples
  forked = 9,              // a forked child used CUDA: that child is not recorded
  configuration = 10,      // a RIDGELINE_ variable could not be understood
  sampling = 11,           // T1: what became of in-situ sampling
  sampling_refused = 12,   // no permission for sampling, or the device does not have it: T1 absent
  replay_exclusion = 14,   // kernels left out of replay steps
  replay_time_out = 15,    // a kernel did not end when run alone
  steps = 17,              // how steps were found without NVTX
  window = 18,             // recording windows
  stalls = 19,             // T3: PC sampling
  flops = 20,              // T3: SASS counts
  spool_full = 21,         // records found no room in the spool
  nvtx_paths = 22,         // more nestings of ranges than are told apart
  price = 31,              // what recording costs was not measured
  turns = 30,              // when this process had the GPU's counters, which it shares with others
  company = 32,            // other processes on the GPU while values were taken
};
struct MessageRecord {
  RecordHeader header;
  std::int64_t time_ns;
  Severity severity;
  Topic topic;
  StringId text;  // one line: what, where, what to do
  RefusalCause cause;
  std::uint16_t cupti_result;  // of the call that was refused; 0: none, or of no such call
};
static_assert(sizeof(MessageRecord) == 32);

enum class EndReason : std::uint32_t { exit = 1, context_destroyed = 2 };
/// The agent saw the process end in order and flushed everything. Absent after SIGKILL, _exit or a crash.
struct EndRecord {
  RecordHeader header;
  std::int64_t time_ns;
  EndReason reason;
  std::uint32_t reserved;
};
static_assert(sizeof(EndRecord) == 24);

/// Record type of each struct: `kTypeOf<KernelRecord> == RecordType::kernel`.
template <typename T>
inline constexpr RecordType kTypeOf = RecordType::none;
template <>
inline constexpr RecordType kTypeOf<StringRecord> = RecordType::string;
template <>
inline constexpr RecordType kTypeOf<ProcessRecord> = RecordType::process;
template <>
inline constexpr RecordType kTypeOf<VersionRecord> = RecordType::version;
template <>
inline constexpr RecordType kTypeOf<DeviceRecord> = RecordType::device;
template <>
inline constexpr RecordType kTypeOf<ContextRecord> = RecordType::context;
template <>
inline constexpr RecordType kTypeOf<ThreadRecord> = RecordType::thread;
template <>
inline constexpr RecordType kTypeOf<ClockPairRecord> = RecordType::clock_pair;
template <>
inline constexpr RecordType kTypeOf<KernelFunctionRecord> = RecordType::kernel_function;
template <>
inline constexpr RecordType kTypeOf<KernelRecord> = RecordType::kernel;
template <>
inline constexpr RecordType kTypeOf<LaunchRecord> = RecordType::launch;
template <>
inline constexpr RecordType kTypeOf<MemcpyRecord> = RecordType::memcpy;
template <>
inline constexpr RecordType kTypeOf<MemsetRecord> = RecordType::memset;
template <>
inline constexpr RecordType kTypeOf<NvtxPathRecord> = RecordType::nvtx_path;
template <>
inline constexpr RecordType kTypeOf<NvtxRangeRecord> = RecordType::nvtx_range;
template <>
inline constexpr RecordType kTypeOf<NvtxPayloadRecord> = RecordType::nvtx_payload;
template <>
inline constexpr RecordType kTypeOf<StepStartRecord> = RecordType::step_start;
template <>
inline constexpr RecordType kTypeOf<StepEndRecord> = RecordType::step_end;
template <>
inline constexpr RecordType kTypeOf<MetricRecord> = RecordType::metric;
template <>
inline constexpr RecordType kTypeOf<CounterConfigRecord> = RecordType::counter_config;
template <>
inline constexpr RecordType kTypeOf<CounterConfigMetricRecord> = RecordType::counter_config_metric;
template <>
inline constexpr RecordType kTypeOf<CounterValueRecord> = RecordType::counter_value;
template <>
inline constexpr RecordType kTypeOf<CounterStepRecord> = RecordType::counter_step;
template <>
inline constexpr RecordType kTypeOf<ClockSampleRecord> = RecordType::clock_sample;
template <>
inline constexpr RecordType kTypeOf<OverheadRecord> = RecordType::overhead;
template <>
inline constexpr RecordType kTypeOf<CompletenessRecord> = RecordType::completeness;
template <>
inline constexpr RecordType kTypeOf<MessageRecord> = RecordType::message;
template <>
inline constexpr RecordType kTypeOf<EndRecord> = RecordType::end;
template <>
inline constexpr RecordType kTypeOf<PmWindowRecord> = RecordType::pm_window;
template <>
inline constexpr RecordType kTypeOf<PmMetricRecord> = RecordType::pm_metric;
template <>
inline constexpr RecordType kTypeOf<PmSampleRecord> = RecordType::pm_sample;
template <>
inline constexpr RecordType kTypeOf<GraphCounterValueRecord> = RecordType::graph_counter_value;
template <>
inline constexpr RecordType kTypeOf<ReplayExclusionRecord> = RecordType::replay_exclusion;
template <>
inline constexpr RecordType kTypeOf<RecordingWindowRecord> = RecordType::recording_window;
template <>
inline constexpr RecordType kTypeOf<StallSampleRecord> = RecordType::stall_sample;
template <>
inline constexpr RecordType kTypeOf<SourceLineRecord> = RecordType::source_line;
template <>
inline constexpr RecordType kTypeOf<StallWindowRecord> = RecordType::stall_window;
template <>
inline constexpr RecordType kTypeOf<StepBlockRecord> = RecordType::step_block;
template <>
inline constexpr RecordType kTypeOf<InterventionRecord> = RecordType::intervention;
template <>
inline constexpr RecordType kTypeOf<DelayRecord> = RecordType::delay;
template <>
inline constexpr RecordType kTypeOf<SynchronisationRecord> = RecordType::synchronisation;
template <>
inline constexpr RecordType kTypeOf<StreamRecord> = RecordType::stream;
template <>
inline constexpr RecordType kTypeOf<StreamCallRecord> = RecordType::stream_call;
template <>
inline constexpr RecordType kTypeOf<GraphNodeRecord> = RecordType::graph_node;
template <>
inline constexpr RecordType kTypeOf<GraphNodeCloneRecord> = RecordType::graph_node_clone;
template <>
inline constexpr RecordType kTypeOf<GraphEdgeRecord> = RecordType::graph_edge;
template <>
inline constexpr RecordType kTypeOf<MemoryCallRecord> = RecordType::memory_call;
template <>
inline constexpr RecordType kTypeOf<LeftOutRecord> = RecordType::left_out;
template <>
inline constexpr RecordType kTypeOf<CollectiveDetailRecord> = RecordType::collective_detail;

}  // namespace ridgeline::spool
