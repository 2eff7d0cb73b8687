// launches.cu: kernels that do next to nothing, one after another.
// shapes  out, in [4096] vectors of 8 bytes: 64 KiB moved
// check   the small kernel's out, as the CPU computes it
// bound   launches: the stream is held by a waiting kernel until all are queued, so that the CPU's pace does not count
#include <cuda_runtime.h>

#include <chrono>
#include <functional>
#include <memory>

#include "ceilings/core/statistics.h"
#include "ceilings/core/validity.h"
#include "ceilings/device/launches.h"
#include "ceilings/device/random_data.h"
#include "gpt2/common/cuda_raii.h"

namespace ridgeline::ceilings {

namespace {

using Clock = std::chrono::steady_clock;

constexpr int kQueued = 400;  // below the 1024 that a stream takes before a launch waits
constexpr int kRepeats = 5;   // graph launches behind one another
constexpr int kVectors = 4096;
constexpr unsigned kThreads = 256;
constexpr std::uint32_t kSeed = 61;
constexpr long long kMaxWaitCycles =
    4'000'000'000;  // two seconds: a host that died must not leave it waiting

__global__ void empty_kernel() {}

__global__ void small_kernel(float2* out, const float2* in) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const float2 v = in[i];
  out[i] = {v.x * 0.5F, v.y * 0.5F};
}

__global__ void wait_kernel(const volatile int* go) {
  const long long begin = clock64();
  while (*go == 0 && clock64() - begin < kMaxWaitCycles) {
  }
}

// A word of the host that a kernel of the device waits for.
class Gate {
 public:
  Gate() {
    RIDGELINE_CUDA_CHECK(cudaHostAlloc(reinterpret_cast<void**>(&host_), sizeof(int), cudaHostAllocMapped));
    RIDGELINE_CUDA_CHECK(cudaHostGetDevicePointer(reinterpret_cast<void**>(&device_), host_, 0));
  }
  ~Gate() {
    open();
    RIDGELINE_CUDA_CHECK_NOEXCEPT(cudaDeviceSynchronize());
    RIDGELINE_CUDA_CHECK_NOEXCEPT(cudaFreeHost(host_));
  }
  Gate(const Gate&) = delete;
  Gate& operator=(const Gate&) = delete;
  void close(cudaStream_t stream) {
    *static_cast<volatile int*>(host_) = 0;
    wait_kernel<<<1, 1, 0, stream>>>(device_);
    RIDGELINE_CUDA_CHECK_LAUNCH();
  }
  void open() { *static_cast<volatile int*>(host_) = 1; }

 private:
  int* host_ = nullptr;
  int* device_ = nullptr;
};

using Launch = std::function<void(cudaStream_t)>;

class Graph {
 public:
  Graph(const Launch& launch, int nodes, cudaStream_t stream) {
    cudaGraph_t graph = nullptr;
    RIDGELINE_CUDA_CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < nodes; ++i) launch(stream);
    RIDGELINE_CUDA_CHECK(cudaStreamEndCapture(stream, &graph));
    const cudaError_t made = cudaGraphInstantiate(&graph_, graph, 0);
    cudaGraphDestroy(graph);
    RIDGELINE_CUDA_CHECK(made);
  }
  ~Graph() { RIDGELINE_CUDA_CHECK_NOEXCEPT(cudaGraphExecDestroy(graph_)); }
  Graph(const Graph&) = delete;
  Graph& operator=(const Graph&) = delete;
  void launch(cudaStream_t stream) { RIDGELINE_CUDA_CHECK(cudaGraphLaunch(graph_, stream)); }

 private:
  cudaGraphExec_t graph_ = nullptr;
};

struct Timed {
  double gpu_ns = 0;   // each
  double call_ns = 0;  // each
  double seconds = 0;
};

// `calls` calls, each of `launches` launches.
Timed time_queue(const Launch& call, int calls, int launches, Gate& gate, ClockProbe& probe,
                 cudaStream_t stream) {
  gate.close(stream);
  probe.read(0, stream);
  const auto begin = Clock::now();
  for (int i = 0; i < calls; ++i) call(stream);
  const double host_s = std::chrono::duration<double>(Clock::now() - begin).count();
  probe.read(1, stream);
  gate.open();
  RIDGELINE_CUDA_CHECK(cudaStreamSynchronize(stream));
  const double seconds = between(probe.at(0), probe.at(1)).seconds;
  return {seconds * 1e9 / calls / launches, host_s * 1e9 / calls, seconds};
}

Roof measure(const Plan& plan, const std::string& kind, const Launch& call, int calls, int launches,
             cudaStream_t stream) {
  Gate gate;
  ClockProbe probe(2);
  std::vector<double> gpu, cpu;
  Reading reading;
  // A kernel that is loaded at its first launch would wait for the one that holds the stream.
  call(stream);
  probe.read(0, stream);
  gate.open();
  RIDGELINE_CUDA_CHECK(cudaStreamSynchronize(stream));
  (void)time_queue(call, calls, launches, gate, probe, stream);
  for (int round = 0; round < plan.rounds; ++round) {
    const Timed timed = time_queue(call, calls, launches, gate, probe, stream);
    gpu.push_back(timed.gpu_ns);
    cpu.push_back(timed.call_ns);
    reading.seconds += timed.seconds;
  }
  reading.value = median(gpu);
  reading.rounds = plan.rounds;
  reading.spread_ratio = disagreement(gpu);
  if (auto found = rounds_disagree(gpu, kMaxHostDisagreement)) reading.voids.push_back(*std::move(found));
  Roof roof;
  roof.name = {Level::launch, kind, {}};
  roof.unit = "ns";
  roof.configuration = std::to_string(calls * launches) + " launches, queued before the first starts";
  roof.call_ns = median(cpu);
  roof.readings.push_back(std::move(reading));
  return roof;
}

}  // namespace

std::vector<Roof> measure_launches(const Plan& plan, const std::vector<std::string>& only,
                                   cudaStream_t stream) {
  gpt2::DeviceBuffer<float2> in(kVectors), out(kVectors);
  fill_floats(in.data(), 2 * kVectors, kSeed, stream);
  RIDGELINE_CUDA_CHECK(cudaMemsetAsync(out.data(), 0, static_cast<std::size_t>(out.size_bytes()), stream));
  const Launch empty = [](cudaStream_t st) {
    empty_kernel<<<1, 32, 0, st>>>();
    RIDGELINE_CUDA_CHECK_LAUNCH();
  };
  const Launch small = [&](cudaStream_t st) {
    small_kernel<<<kVectors / kThreads, kThreads, 0, st>>>(out.data(), in.data());
    RIDGELINE_CUDA_CHECK_LAUNCH();
  };
  std::vector<Roof> roofs;
  for (const auto& [suffix, launch] : {std::pair{"", &empty}, std::pair{"_64kb", &small}}) {
    const std::string in_stream = std::string("stream") + suffix, in_graph = std::string("graph") + suffix;
    if (wanted(only, "launch", "launch." + in_stream))
      roofs.push_back(measure(plan, in_stream, *launch, kQueued, 1, stream));
    if (!wanted(only, "launch", "launch." + in_graph)) continue;
    Graph graph(*launch, kQueued, stream);
    const Launch whole = [&graph](cudaStream_t st) { graph.launch(st); };
    roofs.push_back(measure(plan, in_graph, whole, kRepeats, kQueued, stream));
  }
  RIDGELINE_CUDA_CHECK(cudaStreamSynchronize(stream));
  if (roofs.empty()) return roofs;
  small(stream);
  RIDGELINE_CUDA_CHECK(cudaStreamSynchronize(stream));
  const std::vector<float2> results = out.download();
  for (std::size_t i = 0; i < results.size(); ++i) {
    if (results[i].x == as_float(random_float_bits(kSeed, 2 * i)) * 0.5F &&
        results[i].y == as_float(random_float_bits(kSeed, 2 * i + 1)) * 0.5F)
      continue;
    for (Roof& roof : roofs) {
      if (roof.name.kind.ends_with("_64kb"))
        roof.readings.front().voids.push_back(
            {VoidRule::wrong_result, "element " + std::to_string(i) + " is not what the CPU computes"});
    }
    break;
  }
  return roofs;
}

}  // namespace ridgeline::ceilings
