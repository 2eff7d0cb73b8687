// Launches whose order or neighbours matter: host functions, streams that wait for a value or for the host,
// cooperative and dependent launches, clusters, several streams and threads.
#include <cooperative_groups.h>

#include <atomic>
#include <chrono>
#include <memory>
#include <thread>

#include "gauntlet.h"

namespace gauntlet {
namespace {

constexpr dim3 kGrid{kWords / kThreads};

Step host_function_case(const Bench& bench) {
  auto calls = std::make_shared<std::atomic<std::uint32_t>>(0);
  return [bench, calls](int) {
    for (int i = 0; i < 3; ++i) {
      mix(bench.stream, bench.words, static_cast<std::uint32_t>(i));
      check(cudaLaunchHostFunc(
                bench.stream, [](void* count) { ++*static_cast<std::atomic<std::uint32_t>*>(count); },
                calls.get()),
            "launching a host function");
    }
    check(cudaStreamSynchronize(bench.stream), "waiting");
    mix(bench.stream, bench.words, calls->load());
  };
}

/// The older kind of host function.
Step callback_case(const Bench& bench) {
  auto calls = std::make_shared<std::atomic<std::uint32_t>>(0);
  return [bench, calls](int number) {
    mix(bench.stream, bench.words, static_cast<std::uint32_t>(number));
    check(cudaStreamAddCallback(
              bench.stream,
              [](cudaStream_t, cudaError_t, void* count) {
                ++*static_cast<std::atomic<std::uint32_t>*>(count);
              },
              calls.get(), 0),
          "adding a callback");
    mix(bench.stream, bench.words, 47);
    check(cudaStreamSynchronize(bench.stream), "waiting");
    mix(bench.stream, bench.words, calls->load());
  };
}

/// Waited for in a host function, and let go by a thread of the program.
struct Gate {
  std::atomic<bool> open{false};
  static void wait(void* gate) {
    while (!static_cast<Gate*>(gate)->open.load()) std::this_thread::yield();
  }
};

void hold_stream(cudaStream_t stream, Gate& gate) {
  gate.open.store(false);
  check(cudaLaunchHostFunc(stream, Gate::wait, &gate), "launching a host function");
}

/// The stream waits for a host function that waits for this thread, which launches after it first.
Step host_waits_case(const Bench& bench) {
  auto gate = std::make_shared<Gate>();
  return [bench, gate](int number) {
    hold_stream(bench.stream, *gate);
    for (int i = 0; i < 3; ++i) mix(bench.stream, bench.words, static_cast<std::uint32_t>(number + i));
    gate->open.store(true);
    check(cudaStreamSynchronize(bench.stream), "waiting");
  };
}

/// For so long that whatever a recording does beside the program falls into it: every 16th time.
Step long_host_waits_case(const Bench& bench) {
  auto gate = std::make_shared<Gate>();
  return [bench, gate](int number) {
    hold_stream(bench.stream, *gate);
    for (int i = 0; i < 3; ++i) {
      mix(bench.stream, bench.words, static_cast<std::uint32_t>(number + i));
      if (number % 16 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(20));
    }
    gate->open.store(true);
    check(cudaStreamSynchronize(bench.stream), "waiting");
  };
}

/// Another stream waits for an event after the host function, and what this thread does first is no launch alone.
Step host_waits_event_case(const Bench& bench) {
  auto gate = std::make_shared<Gate>();
  return [bench, gate](int number) {
    cudaEvent_t behind = nullptr;
    check(cudaEventCreateWithFlags(&behind, cudaEventDisableTiming), "creating an event");
    hold_stream(bench.stream, *gate);
    check(cudaEventRecord(behind, bench.stream), "recording an event");
    check(cudaStreamWaitEvent(bench.beside, behind, 0), "waiting for an event");
    mix(bench.beside, bench.spare, static_cast<std::uint32_t>(number));
    check(cudaMemsetAsync(bench.spare, number & 0xFF, 1024, bench.beside), "filling");
    mix(bench.stream, bench.words, static_cast<std::uint32_t>(number));
    gate->open.store(true);
    check(cudaStreamSynchronize(bench.beside), "waiting");
    check(cudaEventDestroy(behind), "destroying an event");
  };
}

/// It waits for another thread, which launches into a stream of its own first, while this one waits for the stream.
Step host_waits_thread_case(const Bench& bench) {
  auto gate = std::make_shared<Gate>();
  return [bench, gate](int number) {
    hold_stream(bench.stream, *gate);
    mix(bench.stream, bench.words, static_cast<std::uint32_t>(number));
    std::thread other([&] {
      mix(bench.beside, bench.spare, static_cast<std::uint32_t>(number));
      mix(bench.beside, bench.spare, static_cast<std::uint32_t>(number + 1));
      gate->open.store(true);
    });
    check(cudaStreamSynchronize(bench.stream), "waiting");
    other.join();
    check(cudaStreamSynchronize(bench.beside), "waiting");
  };
}

/// The host function is a node of a graph.
Step host_waits_graph_case(const Bench& bench) {
  auto gate = std::make_shared<Gate>();
  cudaGraph_t graph = nullptr;
  cudaGraphNode_t node = nullptr;
  cudaGraphExec_t exec = nullptr;
  cudaHostNodeParams host{};
  host.fn = Gate::wait;
  host.userData = gate.get();
  check(cudaGraphCreate(&graph, 0), "creating a graph");
  check(cudaGraphAddHostNode(&node, graph, nullptr, 0, &host), "adding a host function");
  check(cudaGraphInstantiate(&exec, graph, 0), "instantiating a graph");
  return [bench, gate, exec](int number) {
    gate->open.store(false);
    check(cudaGraphLaunch(exec, bench.stream), "launching a graph");
    for (int i = 0; i < 3; ++i) mix(bench.stream, bench.words, static_cast<std::uint32_t>(number + i));
    gate->open.store(true);
    check(cudaStreamSynchronize(bench.stream), "waiting");
  };
}

/// The stream waits for a value in memory that another stream writes, after what waits for it was launched.
Step value_waits_case(const Bench& bench) {
  std::uint32_t* flag = nullptr;
  check(cudaMalloc(&flag, sizeof *flag), "allocating");
  check(cudaMemset(flag, 0, sizeof *flag), "filling");
  return [bench, flag](int number) {
    const auto at = reinterpret_cast<CUdeviceptr>(flag);
    const auto value = static_cast<cuuint32_t>(number + 1);
    check(cuStreamWaitValue32(bench.stream, at, value, CU_STREAM_WAIT_VALUE_EQ), "waiting for a value");
    mix(bench.stream, bench.words, value);
    mix(bench.beside, bench.spare, value);
    check(cuStreamWriteValue32(bench.beside, at, value, 0), "writing a value");
    check(cudaStreamSynchronize(bench.stream), "waiting");
    check(cuStreamWriteValue32(bench.stream, at, 0, 0), "writing a value");
  };
}

__global__ void whole_grid(std::uint32_t* words) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x, n = gridDim.x * blockDim.x;
  for (int round = 0; round < 3; ++round) {
    const std::uint32_t neighbour = words[(i + 1) % n];
    cooperative_groups::this_grid().sync();
    words[i] = words[i] * 5u + neighbour;
    cooperative_groups::this_grid().sync();
  }
}

Step cooperative_case(const Bench& bench) {
  return [bench](int) {
    std::uint32_t* words = bench.words;
    void* arguments[] = {&words};
    check(cudaLaunchCooperativeKernel(reinterpret_cast<void*>(whole_grid), dim3{64}, dim3{kThreads},
                                      arguments, 0, bench.stream),
          "a cooperative launch");
    mix(bench.stream, bench.words, 3);
  };
}

__global__ void dependent(std::uint32_t* words, std::uint32_t salt) {
  cudaTriggerProgrammaticLaunchCompletion();
  cudaGridDependencySynchronize();
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  words[i] = (words[i] ^ salt) * 0x85EBCA6Bu;
}

void launch_dependents(const Bench& bench, int number) {
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  cudaLaunchConfig_t config{};
  config.gridDim = kGrid;
  config.blockDim = dim3{kThreads};
  config.stream = bench.stream;
  config.attrs = &attribute;
  config.numAttrs = 1;
  for (std::uint32_t i = 0; i < 4; ++i)
    check(cudaLaunchKernelEx(&config, dependent, bench.words, i + static_cast<std::uint32_t>(number)),
          "a dependent launch");
}

Step dependent_case(const Bench& bench) {
  return [bench](int number) {
    launch_dependents(bench, number);
    mix(bench.stream, bench.words, 4);
  };
}

/// The same inside a graph, whose edges are then programmatic.
Step captured_dependent_case(const Bench& bench) {
  return [bench](int number) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    check(cudaStreamBeginCapture(bench.stream, cudaStreamCaptureModeThreadLocal), "beginning a capture");
    launch_dependents(bench, number);
    check(cudaStreamEndCapture(bench.stream, &graph), "ending a capture");
    check(cudaGraphInstantiate(&exec, graph, 0), "instantiating a graph");
    check(cudaGraphLaunch(exec, bench.stream), "launching a graph");
    check(cudaGraphExecDestroy(exec), "destroying an executable graph");
    check(cudaGraphDestroy(graph), "destroying a graph");
  };
}

__global__ void child(std::uint32_t* words, std::uint32_t salt) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  words[i] = (words[i] + salt) * 0x27D4EB2Fu;
}

/// Launches two kernels that run one after the other, and ends after them.
__global__ void parent(std::uint32_t* words, std::uint32_t salt) {
  if (threadIdx.x != 0 || blockIdx.x != 0) return;
  child<<<kWords / kThreads, kThreads>>>(words, salt);
  child<<<kWords / kThreads, kThreads>>>(words, salt + 1);
}

Step nested_case(const Bench& bench) {
  return [bench](int number) {
    parent<<<1, 32, 0, bench.stream>>>(bench.words, static_cast<std::uint32_t>(number));
    check(cudaGetLastError(), "a launch that launches");
    mix(bench.stream, bench.words, 53);
  };
}

__global__ void __cluster_dims__(4, 1, 1) clustered(std::uint32_t* words) {
  __shared__ std::uint32_t mine;
  const auto cluster = cooperative_groups::this_cluster();
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x == 0) mine = words[i];
  cluster.sync();
  const std::uint32_t other =
      *cluster.map_shared_rank(&mine, (cluster.block_rank() + 1) % cluster.num_blocks());
  words[i] = words[i] * 7u + other;
  cluster.sync();
}

Step cluster_case(const Bench& bench) {
  return [bench](int) {
    clustered<<<kGrid, kThreads, 0, bench.stream>>>(bench.words);
    check(cudaGetLastError(), "a launch in clusters");
    mix(bench.stream, bench.words, 5);
  };
}

Step streams_case(const Bench& bench) {
  return [bench](int number) {
    cudaStream_t stream = nullptr;
    cudaEvent_t done = nullptr;
    check(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, number % 2 == 0 ? 0 : -1),
          "creating a stream");
    check(cudaEventCreate(&done), "creating an event");
    for (std::uint32_t i = 0; i < 3; ++i) mix(stream, bench.spare, i);
    check(cudaEventRecord(done, stream), "recording an event");
    for (std::uint32_t i = 0; i < 3; ++i) mix(bench.stream, bench.words, i);
    check(cudaStreamWaitEvent(bench.stream, done, 0), "waiting for an event");
    check(cudaMemcpyAsync(bench.spare, bench.words, kWords * sizeof(std::uint32_t) / 2,
                          cudaMemcpyDeviceToDevice, bench.stream),
          "copying");
    mix(nullptr, bench.words, 6);  // the legacy stream
    check(cudaStreamSynchronize(stream), "waiting");
    check(cudaEventDestroy(done), "destroying an event");
    check(cudaStreamDestroy(stream), "destroying a stream");
  };
}

__global__ void mix_part(std::uint32_t* words, std::uint32_t salt) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  words[i] = (words[i] ^ salt) * 0xC2B2AE35u + i;
}

/// Threads with a stream and a part of the words each.
Step threads_case(const Bench& bench) {
  return [bench](int number) {
    constexpr int kParts = 4;
    check(cudaStreamSynchronize(bench.stream), "waiting");
    std::thread threads[kParts];
    for (int part = 0; part < kParts; ++part)
      threads[part] = std::thread([&bench, part, number] {
        cudaStream_t stream = nullptr;
        check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), "creating a stream");
        for (std::uint32_t i = 0; i < 4; ++i)
          mix_part<<<kWords / kThreads / kParts, kThreads, 0, stream>>>(
              bench.words + part * (kWords / kParts), i + static_cast<std::uint32_t>(number));
        check(cudaGetLastError(), "launching from a thread");
        check(cudaStreamSynchronize(stream), "waiting");
        check(cudaStreamDestroy(stream), "destroying a stream");
      });
    for (std::thread& thread : threads) thread.join();
  };
}

}  // namespace

std::vector<Case> order_cases() {
  return {{"host-function", host_function_case},
          {"callback", callback_case},
          {"host-waits", host_waits_case},
          {"host-waits-long", long_host_waits_case},
          {"host-waits-event", host_waits_event_case},
          {"host-waits-thread", host_waits_thread_case},
          {"host-waits-graph", host_waits_graph_case},
          {"value-waits", value_waits_case},
          {"cooperative", cooperative_case},
          {"dependent", dependent_case},
          {"dependent-captured", captured_dependent_case},
          {"nested", nested_case},
          {"cluster", cluster_case},
          {"streams", streams_case},
          {"threads", threads_case}};
}

}  // namespace gauntlet
