// A program that says nothing of itself: no NVTX. For trying steps by period, recording windows, processes and
// contexts.
// usage: agent_looper SECONDS [options]
//   --graph      a step is one launch of a CUDA graph      --contexts   every step in two contexts, two streams
//   --children N N processes of this program (fork, exec; RANK and LOCAL_RANK set)
//   --irregular  no two steps alike                        --report     "at S.SS median_us X" four times a second
//   --tiny       a step is 200 empty kernels: what a launch costs the host
//   --sleep      the thread sleeps 4 ms after each step      --callback   a function on the stream does, and the
//                                                                         thread waits for the stream
#include <cuda.h>
#include <cuda_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#define CHECK(call)                                                                                \
  do {                                                                                             \
    const cudaError_t code = (call);                                                               \
    if (code != cudaSuccess) {                                                                     \
      std::fprintf(stderr, "%s:%d %s: %s\n", __FILE__, __LINE__, #call, cudaGetErrorString(code)); \
      std::exit(1);                                                                                \
    }                                                                                              \
  } while (0)

constexpr int kLayers = 12;
constexpr int kFloats = 1 << 22;

__global__ void embed(float* x) {
  x[blockIdx.x * blockDim.x + threadIdx.x] = 1.0f;
}
template <int kKind>
__global__ void layer(float* x, int rounds) {
  float v = x[blockIdx.x * blockDim.x + threadIdx.x];
  for (int i = 0; i < rounds; ++i) v = v * 1.0001f + kKind;
  x[blockIdx.x * blockDim.x + threadIdx.x] = v;
}
__global__ void update(float* x) {
  x[blockIdx.x * blockDim.x + threadIdx.x] *= 0.5f;
}
__global__ void empty() {}

namespace {

using Clock = std::chrono::steady_clock;

bool has(int argc, char** argv, const char* name) {
  for (int i = 2; i < argc; ++i)
    if (std::strcmp(argv[i], name) == 0) return true;
  return false;
}

void launch_step(float* x, cudaStream_t stream) {
  const int blocks = kFloats / 256;
  embed<<<blocks, 256, 0, stream>>>(x);
  for (int i = 0; i < kLayers; ++i) {
    layer<1><<<blocks, 256, 0, stream>>>(x, 100);
    layer<2><<<blocks, 256, 0, stream>>>(x, 300);
    layer<3><<<blocks, 256, 0, stream>>>(x, 50);
  }
  for (int i = 0; i < 9; ++i) update<<<100 + i, 256, 0, stream>>>(x);
  CHECK(cudaGetLastError());
}

constexpr useconds_t kPauseUs = 4000;
void pause_on_stream(void*) {
  usleep(kPauseUs);
}

// The same program again, as a launcher of ranks starts it.
int run_children(int count, char** argv) {
  std::vector<pid_t> children;
  for (int rank = 0; rank < count; ++rank) {
    const pid_t child = fork();
    if (child == 0) {
      setenv("RANK", std::to_string(rank).c_str(), 1);
      setenv("LOCAL_RANK", std::to_string(rank).c_str(), 1);
      execl("/proc/self/exe", argv[0], argv[1], static_cast<char*>(nullptr));
      _exit(127);
    }
    children.push_back(child);
  }
  int failed = 0;
  for (const pid_t child : children) {
    int status = 0;
    waitpid(child, &status, 0);
    failed |= status;
  }
  return failed == 0 ? 0 : 1;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) return 2;
  const double seconds = std::atof(argv[1]);
  for (int i = 2; i + 1 < argc; ++i)
    if (std::strcmp(argv[i], "--children") == 0) return run_children(std::atoi(argv[i + 1]), argv);
  const bool irregular = has(argc, argv, "--irregular"), report = has(argc, argv, "--report");
  const bool sleeps = has(argc, argv, "--sleep"), callback = has(argc, argv, "--callback");
  const bool tiny = has(argc, argv, "--tiny"), two = has(argc, argv, "--contexts");

  CHECK(cudaSetDevice(0));
  cudaStream_t stream, other_stream = nullptr;
  float *x, *other_x = nullptr;
  CHECK(cudaMalloc(&x, kFloats * sizeof(float)));
  CHECK(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  CUcontext first = nullptr, second = nullptr;
  if (two) {
    cuCtxGetCurrent(&first);
#if CUDA_VERSION >= 13000
    cuCtxCreate(&second, nullptr, 0, 0);
#else
    cuCtxCreate(&second, 0, 0);
#endif
    CHECK(cudaMalloc(&other_x, kFloats * sizeof(float)));
    CHECK(cudaStreamCreateWithFlags(&other_stream, cudaStreamNonBlocking));
    cuCtxSetCurrent(first);
  }
  cudaGraphExec_t graph = nullptr;
  if (has(argc, argv, "--graph")) {
    cudaGraph_t captured;
    CHECK(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal));
    launch_step(x, stream);
    CHECK(cudaStreamEndCapture(stream, &captured));
    CHECK(cudaGraphInstantiate(&graph, captured, 0));
  }
  const auto begin = Clock::now();
  auto since = [&](Clock::time_point t) { return std::chrono::duration<double>(t - begin).count(); };
  std::vector<double> us, all;
  double told = 0;
  unsigned random = 1;
  int steps = 0;
  while (since(Clock::now()) < seconds) {
    const auto start = Clock::now();
    if (tiny) {
      for (int i = 0; i < 200; ++i) empty<<<1, 32, 0, stream>>>();
    } else if (irregular) {
      for (unsigned n = 0; n < 40; ++n) {
        random = random * 1664525u + 1013904223u;
        const int blocks = static_cast<int>(1 + (random >> 16) % 200);
        if (random >> 30 == 0)
          embed<<<blocks, 256, 0, stream>>>(x);
        else if (random >> 30 == 1)
          update<<<blocks, 256, 0, stream>>>(x);
        else
          layer<1><<<blocks, 256, 0, stream>>>(x, 100);
      }
    } else if (graph != nullptr) {
      CHECK(cudaGraphLaunch(graph, stream));
    } else {
      launch_step(x, stream);
      if (two) {
        cuCtxSetCurrent(second);
        launch_step(other_x, other_stream);
        CHECK(cudaStreamSynchronize(other_stream));
        cuCtxSetCurrent(first);
      }
    }
    if (callback) CHECK(cudaLaunchHostFunc(stream, pause_on_stream, nullptr));
    CHECK(cudaStreamSynchronize(stream));
    if (sleeps) usleep(kPauseUs);
    us.push_back(std::chrono::duration<double, std::micro>(Clock::now() - start).count());
    all.push_back(us.back());
    ++steps;
    if (report && since(Clock::now()) - told >= 0.25) {
      told = since(Clock::now());
      std::sort(us.begin(), us.end());
      std::printf("at %.2f median_us %.1f steps %zu\n", told, us[us.size() / 2], us.size());
      std::fflush(stdout);
      us.clear();
    }
  }
  std::sort(all.begin(), all.end());
  std::printf("steps %d median_us %.2f\n", steps, all[all.size() / 2]);
  return 0;
}
