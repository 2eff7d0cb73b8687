// A program whose dependencies are known: events between streams, host functions, graphs with forks, a graph inside a
// graph, memory taken and returned. Prints what waits for what; tests/gpu/dependencies.py holds a recording against it.
// With --cost it makes each of these calls often and prints what one takes on the host.
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <vector>

namespace {

constexpr int kSteps = 24;
constexpr long long kSpinCycles = 40'000;
constexpr std::size_t kLasting = std::size_t{64} << 20, kPassing = std::size_t{32} << 20;

void require(cudaError_t result, const char* call, int line) {
  if (result == cudaSuccess) return;
  std::fprintf(stderr, "orderer: line %d: %s: %s\n", line, call, cudaGetErrorString(result));
  std::exit(result == cudaErrorNoDevice || result == cudaErrorInsufficientDriver ? 4 : 1);
}
#define REQUIRE(call) require((call), #call, __LINE__)

__device__ void spin() {
  const long long begin = clock64();
  while (clock64() - begin < kSpinCycles) {
  }
}

}  // namespace

// C names, so that the checker finds them.
extern "C" {
#define KERNEL(name)       \
  __global__ void name() { \
    spin();                \
  }
KERNEL(order_first)
KERNEL(order_left)
KERNEL(order_right)
KERNEL(order_joined)
KERNEL(order_after_host)
KERNEL(order_blocking)
KERNEL(order_legacy)
KERNEL(graph_first)
KERNEL(graph_left)
KERNEL(graph_right)
KERNEL(graph_joined)
KERNEL(graph_before)
KERNEL(graph_inside)
KERNEL(graph_behind)
__global__ void nothing() {}
}

namespace {

void host_function(void* count) {
  ++*static_cast<int*>(count);
}

struct Streams {
  cudaStream_t main = nullptr, left = nullptr, right = nullptr, blocking = nullptr;
  cudaEvent_t first = nullptr, left_done = nullptr, right_done = nullptr, step_done = nullptr;
  Streams() {
    for (cudaStream_t* stream : {&main, &left, &right})
      REQUIRE(cudaStreamCreateWithFlags(stream, cudaStreamNonBlocking));
    REQUIRE(cudaStreamCreate(&blocking));
    for (cudaEvent_t* event : {&first, &left_done, &right_done, &step_done})
      REQUIRE(cudaEventCreateWithFlags(event, cudaEventDisableTiming));
  }
};

// Forks and joins as a capture makes them.
cudaGraphExec_t captured_graph(const Streams& s) {
  cudaGraph_t graph = nullptr;
  cudaGraphExec_t executable = nullptr;
  REQUIRE(cudaStreamBeginCapture(s.main, cudaStreamCaptureModeThreadLocal));
  graph_first<<<1, 1, 0, s.main>>>();
  REQUIRE(cudaEventRecord(s.first, s.main));
  REQUIRE(cudaStreamWaitEvent(s.left, s.first, 0));
  graph_left<<<1, 1, 0, s.left>>>();
  graph_right<<<1, 1, 0, s.main>>>();
  REQUIRE(cudaEventRecord(s.left_done, s.left));
  REQUIRE(cudaStreamWaitEvent(s.main, s.left_done, 0));
  graph_joined<<<1, 1, 0, s.main>>>();
  REQUIRE(cudaStreamEndCapture(s.main, &graph));
  REQUIRE(cudaGraphInstantiate(&executable, graph, 0));
  REQUIRE(cudaGraphDestroy(graph));
  return executable;
}

cudaGraphNode_t add_kernel(cudaGraph_t graph, void (*kernel)(), const std::vector<cudaGraphNode_t>& after) {
  cudaKernelNodeParams params{};
  params.func = reinterpret_cast<void*>(kernel);
  params.gridDim = params.blockDim = dim3(1, 1, 1);
  cudaGraphNode_t node = nullptr;
  REQUIRE(cudaGraphAddKernelNode(&node, graph, after.data(), after.size(), &params));
  return node;
}

// A graph inside a graph, and a function of the host after it.
cudaGraphExec_t built_graph(int* calls) {
  cudaGraph_t graph = nullptr, inner = nullptr;
  REQUIRE(cudaGraphCreate(&graph, 0));
  REQUIRE(cudaGraphCreate(&inner, 0));
  add_kernel(inner, graph_inside, {});
  const cudaGraphNode_t before = add_kernel(graph, graph_before, {});
  cudaGraphNode_t inside = nullptr, host = nullptr;
  REQUIRE(cudaGraphAddChildGraphNode(&inside, graph, &before, 1, inner));
  cudaHostNodeParams function{};
  function.fn = host_function;
  function.userData = calls;
  REQUIRE(cudaGraphAddHostNode(&host, graph, &inside, 1, &function));
  add_kernel(graph, graph_behind, {host});
  cudaGraphExec_t executable = nullptr;
  REQUIRE(cudaGraphInstantiate(&executable, graph, 0));
  return executable;
}

void step(const Streams& s, cudaGraphExec_t captured, cudaGraphExec_t built, int* calls) {
  void* passing = nullptr;
  REQUIRE(cudaMallocAsync(&passing, kPassing, s.main));
  order_first<<<1, 1, 0, s.main>>>();
  REQUIRE(cudaEventRecord(s.first, s.main));
  REQUIRE(cudaStreamWaitEvent(s.left, s.first, 0));
  order_left<<<1, 1, 0, s.left>>>();
  REQUIRE(cudaStreamWaitEvent(s.right, s.first, 0));
  order_right<<<1, 1, 0, s.right>>>();
  REQUIRE(cudaEventRecord(s.left_done, s.left));
  REQUIRE(cudaEventRecord(s.right_done, s.right));
  REQUIRE(cudaStreamWaitEvent(s.main, s.left_done, 0));
  REQUIRE(cudaStreamWaitEvent(s.main, s.right_done, 0));
  order_joined<<<1, 1, 0, s.main>>>();
  REQUIRE(cudaLaunchHostFunc(s.main, host_function, calls));
  order_after_host<<<1, 1, 0, s.main>>>();
  order_blocking<<<1, 1, 0, s.blocking>>>();
  order_legacy<<<1, 1>>>();
  REQUIRE(cudaGraphLaunch(captured, s.main));
  REQUIRE(cudaGraphLaunch(built, s.main));
  REQUIRE(cudaFreeAsync(passing, s.main));
  REQUIRE(cudaEventRecord(s.step_done, s.main));
  REQUIRE(cudaEventSynchronize(s.step_done));
  REQUIRE(cudaDeviceSynchronize());
}

int known_dependencies() {
  int calls = 0;
  const Streams streams;
  void* lasting = nullptr;
  REQUIRE(cudaMalloc(&lasting, kLasting));
  cudaGraphExec_t captured = captured_graph(streams), built = built_graph(&calls);
  for (int i = 0; i < kSteps; ++i) {
    nvtxRangePushA("step");
    step(streams, captured, built, &calls);
    nvtxRangePop();
  }
  REQUIRE(cudaFree(lasting));
  if (calls != 2 * kSteps) {
    std::fprintf(stderr, "orderer: host functions ran %d times\n", calls);
    return 1;
  }
  for (const char* line :
       {"wait order_first order_left", "wait order_first order_right", "wait order_left order_joined",
        "wait order_right order_joined", "edge graph_first graph_left", "edge graph_first graph_right",
        "edge graph_left graph_joined", "edge graph_right graph_joined", "edge graph_before [graph]",
        "edge [graph] [host]", "edge [host] graph_behind", "inside graph_inside"})
    std::printf("%s\n", line);
  std::printf("steps %d\nrecords_a_step 4\nwaits_a_step 4\nhost_functions_a_step 1\n", kSteps);
  std::printf("memory peak %zu end 0\n", kLasting + kPassing);
  return 0;
}

// Microseconds of the host for one of many calls, the device's queue never full.
template <typename Call>
double cost_us(Call call, int rounds = 40, int a_round = 500) {
  double total = 0;
  for (int round = 0; round < rounds; ++round) {
    REQUIRE(cudaDeviceSynchronize());
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < a_round; ++i) call();
    if (round >= rounds / 4)  // the first ones warm up
      total += std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count();
  }
  return total / (rounds - rounds / 4) / a_round;
}

int costs() {
  const Streams s;
  int calls = 0;
  const double launch = cost_us([&] { nothing<<<1, 1, 0, s.main>>>(); });
  const double record = cost_us([&] { REQUIRE(cudaEventRecord(s.first, s.main)); });
  const double wait = cost_us([&] { REQUIRE(cudaStreamWaitEvent(s.left, s.first, 0)); });
  const double query = cost_us([&] { (void)cudaEventQuery(s.first); });
  const double function =
      cost_us([&] { REQUIRE(cudaLaunchHostFunc(s.main, host_function, &calls)); }, 8, 200);
  const double pooled = cost_us([&] {
    void* memory = nullptr;
    REQUIRE(cudaMallocAsync(&memory, 4096, s.main));
    REQUIRE(cudaFreeAsync(memory, s.main));
  });
  const double allocated = cost_us(
      [&] {
        void* memory = nullptr;
        REQUIRE(cudaMalloc(&memory, 4096));
        REQUIRE(cudaFree(memory));
      },
      8, 200);
  constexpr int kNodes = 1000;
  cudaGraph_t graph = nullptr;
  REQUIRE(cudaGraphCreate(&graph, 0));
  std::vector<cudaGraphNode_t> last;
  for (int i = 0; i < kNodes; ++i) last = {add_kernel(graph, nothing, last)};
  const double instantiated = cost_us(
      [&] {
        cudaGraphExec_t executable = nullptr;
        REQUIRE(cudaGraphInstantiate(&executable, graph, 0));
        REQUIRE(cudaGraphExecDestroy(executable));
      },
      8, 4);
  std::printf(
      "{\"launch\": %.4f, \"event_record\": %.4f, \"stream_wait\": %.4f, \"event_query\": %.4f, "
      "\"host_function\": %.4f, \"pooled_memory\": %.4f, \"memory\": %.4f, \"graph_node\": %.4f}\n",
      launch, record, wait, query, function, pooled, allocated, instantiated / kNodes);
  return 0;
}

}  // namespace

int main(int argc, char** argv) {
  return argc > 1 && std::strcmp(argv[1], "--cost") == 0 ? costs() : known_dependencies();
}
