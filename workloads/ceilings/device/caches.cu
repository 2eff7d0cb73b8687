// caches.cu: reads of small working sets, again and again.
// shapes  a working set of n vectors of 16 bytes, n a multiple of the threads that share it
// bytes   16 n for each pass
// check   the sum of all words that were read, modulo 2^32: passes * what the CPU adds up over the set
// bound   L2; L1; shared memory
#include <cuda_runtime.h>

#include <algorithm>
#include <numeric>

#include "ceilings/core/per_cycle.h"
#include "ceilings/device/caches.h"
#include "ceilings/device/random_data.h"
#include "gpt2/common/launch.h"

namespace ridgeline::ceilings {

namespace {

constexpr std::uint32_t kSeed = 21;
constexpr unsigned kThreads = 1024;
constexpr int kBlocksPerSm = 2;  // of L2's kernel
constexpr int kUnroll = 4;
constexpr std::int64_t kL2Granule = std::int64_t{kThreads} * kUnroll * 16;
constexpr std::int64_t kSharedBytes = 32 << 10;
constexpr std::int64_t kL2LaunchBytes = std::int64_t{4} << 30;  // half a millisecond and more
constexpr std::int64_t kSmLaunchBytes = 256 << 20;              // of each SM: a millisecond

// Past L1, and not to be left out by the compiler.
__device__ uint4 load_l2(const uint4* at) {
  uint4 v;
  asm volatile("ld.global.cg.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(at));
  return v;
}
__device__ uint4 load_l1(const uint4* at) {
  uint4 v;
  asm volatile("ld.global.ca.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(at));
  return v;
}
// ptxas keeps only volatile loads of one address apart where nothing is stored between them.
__device__ uint4 load_shared(unsigned at) {
  uint4 v;
  asm volatile("ld.volatile.shared.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "r"(at));
  return v;
}

__device__ std::uint32_t sum_of(const uint4& v) {
  return v.x + v.y + v.z + v.w;
}

__device__ void add_up(std::uint32_t own, std::uint32_t* sums) {
  own = __reduce_add_sync(0xffffffffU, own);
  if (threadIdx.x % 32 == 0) atomicAdd(sums, own);
}

// The set is cut into chunks of kThreads * kUnroll vectors; block after block takes the next, so that in each
// pass all blocks together read the set once.
__global__ void __launch_bounds__(kThreads)
    l2_kernel(const uint4* data, unsigned chunks, std::int64_t reads, std::uint32_t* sums) {
  std::uint32_t sum = 0;
  unsigned chunk = blockIdx.x % chunks;
  const unsigned step = gridDim.x % chunks;
  for (std::int64_t r = blockIdx.x; r < reads; r += gridDim.x) {
    const uint4* at = data + static_cast<std::int64_t>(chunk) * kUnroll * kThreads + threadIdx.x;
    uint4 v[kUnroll];
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) v[u] = load_l2(at + u * kThreads);
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) sum += sum_of(v[u]);
    chunk += step;
    if (chunk >= chunks) chunk -= chunks;
  }
  add_up(sum, sums);
}

// One block per SM, each with a set of its own of per_thread * kThreads vectors.
__global__ void __launch_bounds__(kThreads)
    l1_kernel(const uint4* data, int per_thread, int passes, std::uint32_t* sums) {
  const uint4* own = data + static_cast<std::int64_t>(blockIdx.x) * per_thread * kThreads + threadIdx.x;
  std::uint32_t sum = 0;
  for (int pass = 0; pass < passes; ++pass) {
#pragma unroll 4
    for (int u = 0; u < per_thread; ++u) sum += sum_of(load_l1(own + u * kThreads));
  }
  add_up(sum, sums + blockIdx.x);
}

__global__ void __launch_bounds__(kThreads)
    shared_kernel(const uint4* data, int passes, std::uint32_t* sums) {
  constexpr int kPerThread = static_cast<int>(kSharedBytes / 16 / kThreads);
  __shared__ uint4 set[kSharedBytes / 16];
  for (int u = 0; u < kPerThread; ++u) set[threadIdx.x + u * kThreads] = data[threadIdx.x + u * kThreads];
  __syncthreads();
  const auto at = static_cast<unsigned>(__cvta_generic_to_shared(set + threadIdx.x));
  std::uint32_t sum = 0;
#pragma unroll 4
  for (int pass = 0; pass < passes; ++pass) {
#pragma unroll
    for (int u = 0; u < kPerThread; ++u) sum += sum_of(load_shared(at + u * kThreads * 16));
  }
  add_up(sum, sums + blockIdx.x);
}

// Of words [from, from + count), as the CPU has them.
std::uint32_t sum_on_cpu(std::int64_t from, std::int64_t count) {
  std::uint32_t sum = 0;
  for (std::int64_t i = from; i < from + count; ++i)
    sum += random_float_bits(kSeed, static_cast<std::uint64_t>(i));
  return sum;
}

}  // namespace

CacheReads::CacheReads(const DeviceFacts& device, std::int64_t max_bytes, cudaStream_t stream)
    : device_(device), stream_(stream), data_(max_bytes / 16), sums_(device.sm_count) {
  fill_floats(data_.data(), data_.size() * 4, kSeed, stream_);
  RIDGELINE_CUDA_CHECK(cudaStreamSynchronize(stream_));
}

Bench CacheReads::l2(std::int64_t bytes) {
  const std::int64_t chunks = bytes / kL2Granule;
  const std::int64_t passes = std::max<std::int64_t>(1, kL2LaunchBytes / bytes);
  Bench out;
  out.name = {Level::l2, "read", {}};
  out.unit = "bytes_per_s";
  out.work = static_cast<double>(passes * bytes);
  out.configuration = std::to_string(bytes >> 10) + " KiB read by all SMs";
  const auto blocks = static_cast<unsigned>(kBlocksPerSm * device_.sm_count);
  out.launch = [=, data = data_.data(), sums = sums_.data()](cudaStream_t st) {
    l2_kernel<<<blocks, kThreads, 0, st>>>(data, static_cast<unsigned>(chunks), passes * chunks, sums);
    RIDGELINE_CUDA_CHECK_LAUNCH();
  };
  out.check = [this, bytes, passes, launch = out.launch] {
    RIDGELINE_CUDA_CHECK(cudaMemsetAsync(sums_.data(), 0, sizeof(std::uint32_t), stream_));
    launch(stream_);
    RIDGELINE_CUDA_CHECK(cudaStreamSynchronize(stream_));
    std::uint32_t sum = 0;
    RIDGELINE_CUDA_CHECK(cudaMemcpy(&sum, sums_.data(), sizeof sum, cudaMemcpyDeviceToHost));
    const std::uint32_t expected = sum_on_cpu(0, bytes / 4) * static_cast<std::uint32_t>(passes);
    return sum == expected ? std::string() : std::string("the sum of what was read from L2 is wrong");
  };
  return out;
}

std::string CacheReads::wrong_sums(
    const std::function<void(cudaStream_t)>& launch, const std::string& where,
    const std::function<std::optional<std::uint32_t>(std::int64_t)>& expected) {
  RIDGELINE_CUDA_CHECK(
      cudaMemsetAsync(sums_.data(), 0, static_cast<std::size_t>(sums_.size_bytes()), stream_));
  launch(stream_);
  RIDGELINE_CUDA_CHECK(cudaStreamSynchronize(stream_));
  const std::vector<std::uint32_t> sums = sums_.download();
  for (std::size_t block = 0; block < sums.size(); ++block) {
    const std::optional<std::uint32_t> sum = expected(static_cast<std::int64_t>(block));
    if (sum && sums[block] != *sum)
      return "the sum of what block " + std::to_string(block) + " read from " + where + " is wrong";
  }
  return "";
}

Bench CacheReads::l1(std::int64_t bytes) {
  const int per_thread = std::max(1, static_cast<int>(bytes / 16 / kThreads));
  const std::int64_t own = std::int64_t{per_thread} * kThreads * 16;
  const int passes = static_cast<int>(kSmLaunchBytes / own);
  Bench out;
  out.name = {Level::l1, "read", {}};
  out.unit = "bytes_per_s";
  out.work = static_cast<double>(own) * passes * device_.sm_count;
  out.per_cycle_sm = kL1BytesPerCycle;
  out.configuration = std::to_string(own >> 10) + " KiB an SM";
  const auto blocks = static_cast<unsigned>(device_.sm_count);
  out.launch = [=, data = data_.data(), sums = sums_.data()](cudaStream_t st) {
    l1_kernel<<<blocks, kThreads, 0, st>>>(data, per_thread, passes, sums);
    RIDGELINE_CUDA_CHECK_LAUNCH();
  };
  // Each block has a set of its own: the CPU adds up the first and the last.
  out.check = [this, own, passes, launch = out.launch] {
    const auto last = static_cast<std::int64_t>(sums_.size()) - 1;
    const std::uint32_t first_sum = sum_on_cpu(0, own / 4), last_sum = sum_on_cpu(last * own / 4, own / 4);
    return wrong_sums(launch, "L1", [=](std::int64_t block) -> std::optional<std::uint32_t> {
      if (block != 0 && block != last) return std::nullopt;
      return (block == 0 ? first_sum : last_sum) * static_cast<std::uint32_t>(passes);
    });
  };
  return out;
}

Bench CacheReads::shared() {
  const int passes = static_cast<int>(kSmLaunchBytes / kSharedBytes);
  Bench out;
  out.name = {Level::shared, "read", {}};
  out.unit = "bytes_per_s";
  out.work = static_cast<double>(kSharedBytes) * passes * device_.sm_count;
  out.per_cycle_sm = kL1BytesPerCycle;
  out.configuration = std::to_string(kSharedBytes >> 10) + " KiB an SM";
  const auto blocks = static_cast<unsigned>(device_.sm_count);
  out.launch = [=, data = data_.data(), sums = sums_.data()](cudaStream_t st) {
    shared_kernel<<<blocks, kThreads, 0, st>>>(data, passes, sums);
    RIDGELINE_CUDA_CHECK_LAUNCH();
  };
  // All blocks read the same set.
  out.check = [this, passes, launch = out.launch] {
    const std::uint32_t sum = sum_on_cpu(0, kSharedBytes / 4) * static_cast<std::uint32_t>(passes);
    return wrong_sums(launch, "shared memory", [=](std::int64_t) { return std::optional(sum); });
  };
  return out;
}

Sweep sweep_l2(CacheReads& caches, std::int64_t max_bytes, int per_octave,
               const std::function<double(const Bench&)>& rate) {
  constexpr std::int64_t kMin = 256 << 10;
  Sweep sweep;
  sweep.level = Level::l2;
  for (const std::int64_t bytes : working_sets(kMin, max_bytes, per_octave, kL2Granule))
    sweep.points.push_back({bytes, rate(caches.l2(bytes))});
  sweep.plateau = find_plateau(sweep.points, std::int64_t{4} << 20, std::int64_t{24} << 20);
  return sweep;
}

Sweep sweep_l1(CacheReads& caches, int per_octave, const std::function<double(const Bench&)>& rate) {
  constexpr std::int64_t kGranule = std::int64_t{kThreads} * 16;
  Sweep sweep;
  sweep.level = Level::l1;
  for (const std::int64_t bytes : working_sets(kGranule, 1 << 20, per_octave, kGranule))
    sweep.points.push_back({bytes, rate(caches.l1(bytes))});
  sweep.plateau = find_plateau(sweep.points, kGranule, 128 << 10);
  return sweep;
}

}  // namespace ridgeline::ceilings
