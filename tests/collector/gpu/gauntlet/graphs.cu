// Graphs: captured on this thread and on another, built by hand, instantiated, updated, uploaded and
// destroyed while kernels are counted; child, conditional, memory, host and event nodes; graphs that the
// device launches.
#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>

#include "gauntlet.h"

namespace gauntlet {
namespace {

__global__ void flip(std::uint32_t* words, std::uint32_t salt) {
  const std::uint32_t i = blockIdx.x * blockDim.x + threadIdx.x;
  words[i] = (words[i] + salt) ^ (words[i] >> 13);
}

__global__ void countdown(std::uint32_t* counter, cudaGraphConditionalHandle handle) {
  *counter -= 1;
  cudaGraphSetConditional(handle, *counter > 0 ? 1 : 0);
}

/// The body runs in every second launch.
__global__ void every_second(std::uint32_t* counter, cudaGraphConditionalHandle handle) {
  *counter += 1;
  cudaGraphSetConditional(handle, *counter % 2);
}

__global__ void set_counter(std::uint32_t* counter, std::uint32_t value) {
  *counter = value;
}

__global__ void launch_from_device(cudaGraphExec_t graph) {
  if (threadIdx.x == 0 && blockIdx.x == 0) cudaGraphLaunch(graph, cudaStreamGraphFireAndForget);
}

__global__ void launch_as_tail(cudaGraphExec_t graph) {
  if (threadIdx.x == 0 && blockIdx.x == 0) cudaGraphLaunch(graph, cudaStreamGraphTailLaunch);
}

constexpr dim3 kGrid{kWords / kThreads};

/// Three kernels into the stream.
void three(cudaStream_t stream, std::uint32_t* words, int number) {
  mix(stream, words, 17u + static_cast<std::uint32_t>(number));
  flip<<<kGrid, kThreads, 0, stream>>>(words, static_cast<std::uint32_t>(number));
  mix(stream, words, 19u);
}

cudaGraph_t captured(cudaStream_t stream, std::uint32_t* words, int number, cudaStreamCaptureMode mode) {
  cudaGraph_t graph = nullptr;
  check(cudaStreamBeginCapture(stream, mode), "beginning a capture");
  three(stream, words, number);
  check(cudaStreamEndCapture(stream, &graph), "ending a capture");
  return graph;
}

cudaGraphExec_t instantiated(cudaGraph_t graph) {
  cudaGraphExec_t exec = nullptr;
  check(cudaGraphInstantiate(&exec, graph, 0), "instantiating a graph");
  return exec;
}

void destroy(cudaGraphExec_t exec, cudaGraph_t graph) {
  if (exec != nullptr) check(cudaGraphExecDestroy(exec), "destroying an executable graph");
  if (graph != nullptr) check(cudaGraphDestroy(graph), "destroying a graph");
}

Step capture_case(const Bench& bench, cudaStreamCaptureMode mode) {
  return [bench, mode](int number) {
    cudaGraph_t graph = captured(bench.stream, bench.words, number, mode);
    cudaGraphExec_t exec = instantiated(graph);
    check(cudaGraphLaunch(exec, bench.stream), "launching a graph");
    three(bench.stream, bench.words, number);
    check(cudaGraphLaunch(exec, bench.stream), "launching a graph");
    destroy(exec, graph);
  };
}

Step update_case(const Bench& bench) {
  auto exec = std::make_shared<cudaGraphExec_t>(nullptr);
  return [bench, exec](int number) {
    cudaGraph_t graph = captured(bench.stream, bench.words, number, cudaStreamCaptureModeRelaxed);
    if (*exec == nullptr) {
      *exec = instantiated(graph);
    } else {
      cudaGraphExecUpdateResultInfo info{};
      check(cudaGraphExecUpdate(*exec, graph, &info), "updating a graph");
    }
    check(cudaGraphUpload(*exec, bench.stream), "uploading a graph");
    check(cudaGraphLaunch(*exec, bench.stream), "launching a graph");
    destroy(nullptr, graph);
  };
}

cudaGraphNode_t add_flip(cudaGraph_t graph, cudaGraphNode_t after, std::uint32_t* words, std::uint32_t salt) {
  void* arguments[] = {&words, &salt};
  cudaKernelNodeParams params{};
  params.func = reinterpret_cast<void*>(flip);
  params.gridDim = kGrid;
  params.blockDim = dim3{kThreads};
  params.kernelParams = arguments;
  cudaGraphNode_t node = nullptr;
  check(cudaGraphAddKernelNode(&node, graph, after != nullptr ? &after : nullptr, after != nullptr ? 1 : 0,
                               &params),
        "adding a kernel node");
  return node;
}

Step built_case(const Bench& bench) {
  return [bench](int number) {
    cudaGraph_t graph = nullptr;
    check(cudaGraphCreate(&graph, 0), "creating a graph");
    cudaGraphNode_t last = nullptr;
    for (std::uint32_t i = 0; i < 4; ++i)
      last = add_flip(graph, last, bench.words, i + static_cast<std::uint32_t>(number));
    cudaMemsetParams fill{};
    fill.dst = bench.spare;
    fill.elementSize = 4;
    fill.height = 1;
    fill.width = 64;
    fill.value = static_cast<unsigned>(number);
    cudaGraphNode_t set = nullptr;
    check(cudaGraphAddMemsetNode(&set, graph, &last, 1, &fill), "adding a memset node");
    add_flip(graph, set, bench.spare, 3);
    cudaGraphExec_t exec = instantiated(graph);
    check(cudaGraphUpload(exec, bench.stream), "uploading a graph");
    check(cudaGraphLaunch(exec, bench.stream), "launching a graph");
    destroy(exec, graph);
  };
}

Step child_case(const Bench& bench) {
  return [bench](int number) {
    cudaGraph_t inner = captured(bench.stream, bench.words, number, cudaStreamCaptureModeThreadLocal);
    cudaGraph_t outer = nullptr;
    check(cudaGraphCreate(&outer, 0), "creating a graph");
    cudaGraphNode_t first = add_flip(outer, nullptr, bench.words, 5), child = nullptr;
    check(cudaGraphAddChildGraphNode(&child, outer, &first, 1, inner), "adding a child graph");
    add_flip(outer, child, bench.words, 7);
    cudaGraphExec_t exec = instantiated(outer);
    check(cudaGraphLaunch(exec, bench.stream), "launching a graph");
    destroy(exec, outer);
    destroy(nullptr, inner);
  };
}

/// A while node that runs its body four times, as XLA's loops in command buffers do.
Step conditional_case(const Bench& bench) {
  std::uint32_t* counter = nullptr;
  check(cudaMalloc(&counter, sizeof *counter), "allocating");
  cudaGraph_t graph = nullptr;
  check(cudaGraphCreate(&graph, 0), "creating a graph");
  cudaGraphConditionalHandle handle{};
  check(cudaGraphConditionalHandleCreate(&handle, graph, 1, cudaGraphCondAssignDefault),
        "making a condition");
  cudaGraphNode_t begin = nullptr;
  {
    std::uint32_t four = 4;
    void* arguments[] = {&counter, &four};
    cudaKernelNodeParams params{};
    params.func = reinterpret_cast<void*>(set_counter);
    params.gridDim = dim3{1};
    params.blockDim = dim3{1};
    params.kernelParams = arguments;
    check(cudaGraphAddKernelNode(&begin, graph, nullptr, 0, &params), "adding a kernel node");
  }
  cudaGraphNodeParams loop{};
  loop.type = cudaGraphNodeTypeConditional;
  loop.conditional.handle = handle;
  loop.conditional.type = cudaGraphCondTypeWhile;
  loop.conditional.size = 1;
  cudaGraphNode_t node = nullptr;
  check(cudaGraphAddNode(&node, graph, &begin, nullptr, 1, &loop), "adding a conditional node");
  cudaGraph_t body = loop.conditional.phGraph_out[0];
  cudaGraphNode_t last = add_flip(body, nullptr, bench.words, 11);
  {
    void* arguments[] = {&counter, &handle};
    cudaKernelNodeParams params{};
    params.func = reinterpret_cast<void*>(countdown);
    params.gridDim = dim3{1};
    params.blockDim = dim3{1};
    params.kernelParams = arguments;
    cudaGraphNode_t end = nullptr;
    check(cudaGraphAddKernelNode(&end, body, &last, 1, &params), "adding a kernel node");
  }
  cudaGraphExec_t exec = instantiated(graph);
  return [bench, exec](int) {
    check(cudaGraphLaunch(exec, bench.stream), "launching a graph");
    mix(bench.stream, bench.words, 23);
  };
}

/// One executable graph whose nodes get other arguments in each step.
Step parameters_case(const Bench& bench) {
  cudaGraph_t graph = nullptr;
  check(cudaGraphCreate(&graph, 0), "creating a graph");
  cudaGraphNode_t first = add_flip(graph, nullptr, bench.words, 1),
                  second = add_flip(graph, first, bench.words, 2);
  cudaGraphExec_t exec = instantiated(graph);
  return [bench, exec, first, second](int number) {
    for (cudaGraphNode_t node : {first, second}) {
      std::uint32_t* words = number % 2 == 0 ? bench.words : bench.spare;
      std::uint32_t salt = static_cast<std::uint32_t>(number);
      void* arguments[] = {&words, &salt};
      cudaKernelNodeParams params{};
      params.func = reinterpret_cast<void*>(flip);
      params.gridDim = kGrid;
      params.blockDim = dim3{kThreads};
      params.kernelParams = arguments;
      check(cudaGraphExecKernelNodeSetParams(exec, node, &params), "setting a node's parameters");
    }
    check(cudaGraphLaunch(exec, bench.stream), "launching a graph");
    mix(bench.stream, bench.words, 37);
  };
}

/// An if node.
Step if_case(const Bench& bench) {
  std::uint32_t* counter = nullptr;
  check(cudaMalloc(&counter, sizeof *counter), "allocating");
  check(cudaMemset(counter, 0, sizeof *counter), "filling");
  cudaGraph_t graph = nullptr;
  check(cudaGraphCreate(&graph, 0), "creating a graph");
  cudaGraphConditionalHandle handle{};
  check(cudaGraphConditionalHandleCreate(&handle, graph, 0, cudaGraphCondAssignDefault),
        "making a condition");
  void* arguments[] = {&counter, &handle};
  cudaKernelNodeParams params{};
  params.func = reinterpret_cast<void*>(every_second);
  params.gridDim = dim3{1};
  params.blockDim = dim3{1};
  params.kernelParams = arguments;
  cudaGraphNode_t decides = nullptr, node = nullptr;
  check(cudaGraphAddKernelNode(&decides, graph, nullptr, 0, &params), "adding a kernel node");
  cudaGraphNodeParams branch{};
  branch.type = cudaGraphNodeTypeConditional;
  branch.conditional.handle = handle;
  branch.conditional.type = cudaGraphCondTypeIf;
  branch.conditional.size = 1;
  check(cudaGraphAddNode(&node, graph, &decides, nullptr, 1, &branch), "adding a conditional node");
  add_flip(branch.conditional.phGraph_out[0], nullptr, bench.words, 41);
  cudaGraphExec_t exec = instantiated(graph);
  return [bench, exec](int) {
    check(cudaGraphLaunch(exec, bench.stream), "launching a graph");
    mix(bench.stream, bench.words, 43);
  };
}

Step memory_node_case(const Bench& bench) {
  return [bench](int number) {
    cudaGraph_t graph = nullptr;
    check(cudaStreamBeginCapture(bench.stream, cudaStreamCaptureModeThreadLocal), "beginning a capture");
    std::uint32_t* piece = nullptr;
    check(cudaMallocAsync(&piece, kWords * sizeof *piece, bench.stream), "allocating in a graph");
    check(cudaMemcpyAsync(piece, bench.words, kWords * sizeof *piece, cudaMemcpyDeviceToDevice, bench.stream),
          "copying");
    mix(bench.stream, piece, static_cast<std::uint32_t>(number));
    check(cudaMemcpyAsync(bench.words, piece, kWords * sizeof *piece, cudaMemcpyDeviceToDevice, bench.stream),
          "copying");
    check(cudaFreeAsync(piece, bench.stream), "freeing in a graph");
    check(cudaStreamEndCapture(bench.stream, &graph), "ending a capture");
    cudaGraphExec_t exec = instantiated(graph);
    check(cudaGraphLaunch(exec, bench.stream), "launching a graph");
    destroy(exec, graph);
    check(cudaDeviceGraphMemTrim(0), "trimming the graphs' memory");
  };
}

/// A capture that goes through two streams and has a host node.
Step fork_case(const Bench& bench) {
  auto calls = std::make_shared<std::uint32_t>(0);
  return [bench, calls](int number) {
    cudaEvent_t forked = nullptr, joined = nullptr;
    check(cudaEventCreateWithFlags(&forked, cudaEventDisableTiming), "creating an event");
    check(cudaEventCreateWithFlags(&joined, cudaEventDisableTiming), "creating an event");
    cudaGraph_t graph = nullptr;
    check(cudaStreamBeginCapture(bench.stream, cudaStreamCaptureModeThreadLocal), "beginning a capture");
    mix(bench.stream, bench.words, static_cast<std::uint32_t>(number));
    check(cudaEventRecord(forked, bench.stream), "recording an event");
    check(cudaStreamWaitEvent(bench.beside, forked, 0), "waiting for an event");
    mix(bench.beside, bench.spare, static_cast<std::uint32_t>(number));
    check(cudaLaunchHostFunc(
              bench.beside, [](void* count) { ++*static_cast<std::uint32_t*>(count); }, calls.get()),
          "adding a host function");
    check(cudaEventRecord(joined, bench.beside), "recording an event");
    check(cudaStreamWaitEvent(bench.stream, joined, 0), "waiting for an event");
    mix(bench.stream, bench.words, 29);
    check(cudaStreamEndCapture(bench.stream, &graph), "ending a capture");
    cudaGraphExec_t exec = instantiated(graph);
    check(cudaGraphLaunch(exec, bench.stream), "launching a graph");
    check(cudaStreamSynchronize(bench.stream), "waiting");
    mix(bench.stream, bench.words, *calls);
    destroy(exec, graph);
    check(cudaEventDestroy(forked), "destroying an event");
    check(cudaEventDestroy(joined), "destroying an event");
  };
}

/// Another thread captures a graph while this one launches; this one then launches the graph.
Step elsewhere_case(const Bench& bench, cudaStreamCaptureMode mode) {
  return [bench, mode](int number) {
    cudaGraph_t graph = nullptr;
    cudaGraphExec_t exec = nullptr;
    std::thread other([&] {
      graph = captured(bench.beside, bench.spare, number, mode);
      exec = instantiated(graph);
    });
    for (int i = 0; i < 8; ++i) mix(bench.stream, bench.words, static_cast<std::uint32_t>(31 + i));
    other.join();
    check(cudaGraphLaunch(exec, bench.stream), "launching a graph");
    destroy(exec, graph);
  };
}

Step device_launch_case(const Bench& bench, void (*launch)(cudaGraphExec_t)) {
  cudaGraph_t inner = captured(bench.stream, bench.spare, 3, cudaStreamCaptureModeThreadLocal);
  cudaGraphExec_t launched = nullptr;
  check(cudaGraphInstantiate(&launched, inner, cudaGraphInstantiateFlagDeviceLaunch),
        "instantiating for the device");
  check(cudaGraphUpload(launched, bench.stream), "uploading a graph");
  check(cudaStreamBeginCapture(bench.stream, cudaStreamCaptureModeThreadLocal), "beginning a capture");
  launch<<<1, 32, 0, bench.stream>>>(launched);
  cudaGraph_t outer = nullptr;
  check(cudaStreamEndCapture(bench.stream, &outer), "ending a capture");
  cudaGraphExec_t exec = instantiated(outer);
  return [bench, exec](int number) {
    check(cudaGraphLaunch(exec, bench.stream), "launching a graph");
    check(cudaStreamSynchronize(bench.stream), "waiting");
    mix(bench.stream, bench.words, static_cast<std::uint32_t>(number));
  };
}

}  // namespace

std::vector<Case> graph_cases() {
  return {
      {"graph-capture", [](const Bench& b) { return capture_case(b, cudaStreamCaptureModeThreadLocal); }},
      {"graph-capture-global", [](const Bench& b) { return capture_case(b, cudaStreamCaptureModeGlobal); }},
      {"graph-update", update_case},
      {"graph-built", built_case},
      {"graph-child", child_case},
      {"graph-conditional", conditional_case},
      {"graph-memory", memory_node_case},
      {"graph-fork", fork_case},
      {"graph-elsewhere", [](const Bench& b) { return elsewhere_case(b, cudaStreamCaptureModeThreadLocal); }},
      {"graph-elsewhere-global",
       [](const Bench& b) { return elsewhere_case(b, cudaStreamCaptureModeGlobal); }},
      {"graph-parameters", parameters_case},
      {"graph-if", if_case},
      {"graph-device-launch", [](const Bench& b) { return device_launch_case(b, launch_from_device); }},
      {"graph-device-tail", [](const Bench& b) { return device_launch_case(b, launch_as_tail); }},
  };
}

}  // namespace gauntlet
