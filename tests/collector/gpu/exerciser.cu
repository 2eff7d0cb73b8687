// A small training-like program for trying the agent: steps of known kernels with NVTX ranges.
// usage: agent_exerciser [steps=25] [options]
//   --tiny N        N tiny kernels per step (40)          --graph        the tiny kernels as one CUDA graph
//   --changing      every third step launches one kernel more
//   --threads       the second half of a step is launched by another thread
//   --plain-us      prints the median step time on stdout ("median_us X")
//   --end return|exit|_exit|kill|abort|segv             how the process ends (return)
//   --reset         cudaDeviceReset before the end      --fork         forks a child that uses CUDA, before the loop
//   --exit-in N     exit() in the middle of step N
//   --spin N        from step N on, a kernel that waits for one launched after it on another stream (--spin 0: always)
//   --collective    the same, by the name of a collective
#include <cuda_runtime.h>
#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <thread>
#include <vector>

#define CHECK(call)                                                                                \
  do {                                                                                             \
    const cudaError_t code = (call);                                                               \
    if (code != cudaSuccess) {                                                                     \
      std::fprintf(stderr, "%s:%d %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(code)); \
      std::exit(1);                                                                                \
    }                                                                                              \
  } while (0)

// a[i] = b[i] + s*c[i]; bytes 3*n*sizeof(float4)
__global__ void triad(float4* a, const float4* b, const float4* c, float s, std::int64_t n) {
  for (std::int64_t i = blockIdx.x * std::int64_t{blockDim.x} + threadIdx.x; i < n;
       i += std::int64_t{gridDim.x} * blockDim.x) {
    const float4 x = b[i], y = c[i];
    a[i] = make_float4(x.x + s * y.x, x.y + s * y.y, x.z + s * y.z, x.w + s * y.w);
  }
}
// flops 2*8*iterations*threads, no memory
__global__ void fma_chain(float* out, int iterations, float s) {
  float x[8];
  for (int i = 0; i < 8; ++i) x[i] = threadIdx.x + i;
  for (int k = 0; k < iterations; ++k)
    for (int i = 0; i < 8; ++i) x[i] = fmaf(x[i], s, 0.5f);
  float sum = 0;
  for (int i = 0; i < 8; ++i) sum += x[i];
  if (sum == 12345.678f) out[blockIdx.x] = sum;
}
__global__ void tiny(float* out) {
  if (threadIdx.x == 0) out[0] += 1.0f;
}

namespace {

struct Range {
  explicit Range(const char* name) { nvtxRangePushA(name); }
  Range(const char* name, std::int64_t bytes, std::int64_t flops) {
    const std::int64_t cost[2] = {bytes, flops};
    const nvtxPayloadData_t data{NVTX_PAYLOAD_ENTRY_TYPE_INT64, sizeof cost, cost};
    nvtxEventAttributes_t e{};
    e.version = NVTX_VERSION;
    e.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    e.messageType = NVTX_MESSAGE_TYPE_ASCII;
    e.message.ascii = name;
    e.payloadType = NVTX_PAYLOAD_TYPE_EXT;
    e.reserved0 = 1;
    e.payload.ullValue = reinterpret_cast<std::uint64_t>(&data);
    nvtxRangePushEx(&e);
  }
  ~Range() { nvtxRangePop(); }
};

bool has(int argc, char** argv, const char* name) {
  for (int i = 1; i < argc; ++i)
    if (std::strcmp(argv[i], name) == 0) return true;
  return false;
}
const char* value(int argc, char** argv, const char* name, const char* fallback) {
  for (int i = 1; i + 1 < argc; ++i)
    if (std::strcmp(argv[i], name) == 0) return argv[i + 1];
  return fallback;
}

}  // namespace

// Ends when another kernel, or the end of half a minute, sets it free.
__device__ void wait_for(volatile int* flag) {
  for (long long turns = 0; *flag == 0 && turns < 100'000'000ll; ++turns) __nanosleep(200);
}
__global__ void wait_for_partner(int* flag) {
  wait_for(flag);
}
__global__ void ncclDevKernel_Pretended(int* flag) {
  wait_for(flag);
}
__global__ void free_partner(int* flag) {
  *flag = 1;
  __threadfence();
}

int main(int argc, char** argv) {
  const int steps = argc > 1 && argv[1][0] != '-' ? std::atoi(argv[1]) : 25;
  const int tiny_count = std::atoi(value(argc, argv, "--tiny", "40"));
  const bool graph = has(argc, argv, "--graph");
  const std::string end = value(argc, argv, "--end", "return");
  const int exit_in = std::atoi(value(argc, argv, "--exit-in", "-1"));
  const bool collective = has(argc, argv, "--collective");
  const int spin_from = collective ? 0 : std::atoi(value(argc, argv, "--spin", "1000000000"));
  const std::int64_t n = std::int64_t{1} << 24;  // float4: 268 MB an array, well beyond L2

  CHECK(cudaSetDevice(0));
  cudaStream_t stream, side;
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CHECK(cudaStreamCreateWithFlags(&side, cudaStreamNonBlocking));
  float4 *a, *b, *c;
  float* out;
  CHECK(cudaMalloc(&a, n * sizeof(float4)));
  CHECK(cudaMalloc(&b, n * sizeof(float4)));
  CHECK(cudaMalloc(&c, n * sizeof(float4)));
  CHECK(cudaMalloc(&out, 1 << 20));
  int* flag;
  CHECK(cudaMalloc(&flag, sizeof(int)));
  CHECK(cudaMemset(b, 1, n * sizeof(float4)));
  CHECK(cudaMemset(c, 2, n * sizeof(float4)));
  std::vector<float> host(1024);

  if (has(argc, argv, "--fork")) {
    const pid_t child = fork();
    if (child == 0) {
      float* p = nullptr;
      const cudaError_t code = cudaMalloc(&p, 4096);  // CUDA does not survive a fork: an error, not a crash
      std::fprintf(stderr, "child: %s\n", cudaGetErrorName(code));
      std::exit(0);
    }
    int status = 0;
    waitpid(child, &status, 0);
    std::fprintf(stderr, "child ended with %d\n", status);
  }

  cudaGraphExec_t exec = nullptr;
  if (graph) {
    cudaGraph_t g;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    for (int i = 0; i < tiny_count; ++i) tiny<<<1, 32, 0, stream>>>(out);
    CHECK(cudaStreamEndCapture(stream, &g));
    CHECK(cudaGraphInstantiate(&exec, g, 0));
  }

  // Loaded in advance: loading a kernel waits for the one that waits for it.
  for (int k = 0; k < 2 && spin_from < steps; ++k) {
    free_partner<<<1, 1, 0, side>>>(flag);
    if (collective)
      ncclDevKernel_Pretended<<<1, 1, 0, side>>>(flag);
    else
      wait_for_partner<<<1, 1, 0, side>>>(flag);
    CHECK(cudaDeviceSynchronize());
  }

  std::vector<double> us;
  for (int step = 0; step < steps; ++step) {
    const auto begin = std::chrono::steady_clock::now();
    {
      Range range("step");
      {
        Range forward("forward");
        {
          Range op("triad", 3 * n * static_cast<std::int64_t>(sizeof(float4)), 8 * n);
          triad<<<132 * 8, 512, 0, stream>>>(a, b, c, 0.5f, n);
          CHECK(cudaGetLastError());
        }
        Range op("fma");
        fma_chain<<<132 * 8, 256, 0, stream>>>(out, 4096, 0.999f);
        CHECK(cudaGetLastError());
      }
      if (step == exit_in) std::exit(0);
      if (step >= spin_from) {
        CHECK(cudaMemsetAsync(flag, 0, sizeof(int), stream));
        CHECK(cudaStreamSynchronize(stream));
        if (collective)
          ncclDevKernel_Pretended<<<1, 1, 0, stream>>>(flag);
        else
          wait_for_partner<<<1, 1, 0, stream>>>(flag);
        free_partner<<<1, 1, 0, side>>>(flag);
        CHECK(cudaGetLastError());
      }
      auto second_half = [&] {
        Range backward("backward");
        if (graph)
          CHECK(cudaGraphLaunch(exec, stream));
        else
          for (int i = 0; i < tiny_count; ++i) tiny<<<1, 32, 0, stream>>>(out);
        if (has(argc, argv, "--changing") && step % 3 == 2) tiny<<<2, 64, 0, stream>>>(out);
        CHECK(cudaGetLastError());
        CHECK(cudaMemsetAsync(out, 0, 4096, stream));
      };
      if (has(argc, argv, "--threads"))
        std::thread(second_half).join();
      else
        second_half();
      CHECK(cudaMemcpyAsync(host.data(), out, host.size() * sizeof(float), cudaMemcpyDeviceToHost, stream));
      CHECK(cudaStreamSynchronize(stream));
    }
    us.push_back(std::chrono::duration<double, std::micro>(std::chrono::steady_clock::now() - begin).count());
  }
  // Work after the last step, still in flight when the process ends.
  for (int i = 0; i < 10; ++i) tiny<<<1, 32, 0, stream>>>(out);
  if (end != "kill" && end != "_exit") CHECK(cudaDeviceSynchronize());
  if (has(argc, argv, "--plain-us")) {
    std::sort(us.begin(), us.end());
    std::printf("median_us %.2f\n", us[us.size() / 2]);
    std::fflush(stdout);
  }
  if (has(argc, argv, "--reset")) CHECK(cudaDeviceReset());
  if (end == "exit") std::exit(0);
  if (end == "_exit") _exit(0);
  if (end == "kill") raise(SIGKILL);
  if (end == "abort") std::abort();
  if (end == "segv") *static_cast<volatile int*>(nullptr) = 1;
  return 0;
}
