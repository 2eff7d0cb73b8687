// dram.cu: streams through device memory.
// shapes  arrays of n vectors of 16 bytes, n a power of two
// bytes   (arrays read + arrays written) * 16 n
// check   written arrays: 512 places and both ends, bit for bit as the CPU computes them from the generator;
//         read: the sum of all words modulo 2^32 as the generator gives it
// bound   DRAM
#include <cuda_runtime.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

#include "ceilings/device/dram.h"
#include "ceilings/device/random_data.h"
#include "gpt2/common/launch.h"

namespace ridgeline::ceilings {

namespace {

constexpr float kScale = 0.75F;
constexpr std::uint32_t kSeeds[] = {11, 12, 13};  // of a, b and c
constexpr std::uint32_t kWriteSeed = 14;
constexpr int kSums = 1024;
constexpr std::int64_t kMaxArrayBytes = std::int64_t{1} << 30;
constexpr std::int64_t kMinArrayBytes = std::int64_t{1} << 26;

// Makes the words of a written vector differ.
RIDGELINE_BOTH constexpr std::uint32_t twist(unsigned word) {
  return word == 0 ? 0 : word == 1 ? 0x155555 : word == 2 ? 0x2aaaaa : 0x7fffff;
}

struct Arrays {
  const uint4 *a, *b, *c;
  uint4* out;
  std::uint32_t* sums;
};

__device__ float f(std::uint32_t bits) {
  return __uint_as_float(bits);
}

template <Mix kMix>
__device__ std::uint32_t word_of(std::uint32_t a, std::uint32_t b, std::uint32_t c) {
  if constexpr (kMix == Mix::triad) return __float_as_uint(fmaf(kScale, f(b), f(a)));
  if constexpr (kMix == Mix::three_to_one) return __float_as_uint((f(a) + f(b)) + f(c));
  return a;
}

template <Mix kMix>
__device__ uint4 vector_of(const uint4& a, const uint4& b, const uint4& c) {
  return {word_of<kMix>(a.x, b.x, c.x), word_of<kMix>(a.y, b.y, c.y), word_of<kMix>(a.z, b.z, c.z),
          word_of<kMix>(a.w, b.w, c.w)};
}

__device__ uint4 written_vector(std::int64_t i) {
  // One random number a vector: with four the SMs' integers would be half of the work.
  const std::uint32_t bits = random_float_bits(kWriteSeed, static_cast<std::uint64_t>(i));
  return {bits ^ twist(0), bits ^ twist(1), bits ^ twist(2), bits ^ twist(3)};
}

// A tile is kUnroll vectors a thread; n is a multiple of it, for both are powers of two.
template <Mix kMix, int kUnroll>
__global__ void stream_kernel(Arrays arrays, std::int64_t n, std::int64_t mask) {
  const std::int64_t tile = static_cast<std::int64_t>(blockDim.x) * kUnroll;
  std::uint32_t sum = 0;
  for (std::int64_t start = blockIdx.x * tile; start < n; start += gridDim.x * tile) {
    const std::int64_t base = (start & mask) + threadIdx.x;
    uint4 a[kUnroll] = {}, b[kUnroll] = {}, c[kUnroll] = {};
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const std::int64_t i = base + u * static_cast<std::int64_t>(blockDim.x);
      if constexpr (arrays_read(kMix) > 0) a[u] = __ldcs(arrays.a + i);
      if constexpr (arrays_read(kMix) > 1) b[u] = __ldcs(arrays.b + i);
      if constexpr (arrays_read(kMix) > 2) c[u] = __ldcs(arrays.c + i);
    }
#pragma unroll
    for (int u = 0; u < kUnroll; ++u) {
      const std::int64_t i = base + u * static_cast<std::int64_t>(blockDim.x);
      if constexpr (kMix == Mix::read) {
        sum += a[u].x + a[u].y + a[u].z + a[u].w;
      } else if constexpr (kMix == Mix::write) {
        __stcs(arrays.out + i, written_vector(i));
      } else {
        __stcs(arrays.out + i, vector_of<kMix>(a[u], b[u], c[u]));
      }
    }
  }
  if constexpr (kMix == Mix::read) {
    __shared__ std::uint32_t warps[32];
    sum = __reduce_add_sync(0xffffffffU, sum);
    if (threadIdx.x % 32 == 0) warps[threadIdx.x / 32] = sum;
    __syncthreads();
    if (threadIdx.x >= 32) return;
    sum = threadIdx.x < blockDim.x / 32 ? warps[threadIdx.x] : 0;
    sum = __reduce_add_sync(0xffffffffU, sum);
    if (threadIdx.x == 0) atomicAdd(arrays.sums + blockIdx.x % kSums, sum);
  }
}

using Kernel = void (*)(Arrays, std::int64_t, std::int64_t);

template <Mix kMix>
Kernel kernel_of(int unroll) {
  switch (unroll) {
    case 1:
      return stream_kernel<kMix, 1>;
    case 2:
      return stream_kernel<kMix, 2>;
    case 4:
      return stream_kernel<kMix, 4>;
    default:
      return stream_kernel<kMix, 8>;
  }
}

Kernel kernel_of(Mix mix, int unroll) {
  switch (mix) {
    case Mix::read:
      return kernel_of<Mix::read>(unroll);
    case Mix::write:
      return kernel_of<Mix::write>(unroll);
    case Mix::copy:
      return kernel_of<Mix::copy>(unroll);
    case Mix::triad:
      return kernel_of<Mix::triad>(unroll);
    case Mix::three_to_one:
      return kernel_of<Mix::three_to_one>(unroll);
  }
  return nullptr;
}

// What unrolls far holds many values: registers may not suffice for as many threads as were asked for.
int threads_that_fit(Kernel kernel, int threads) {
  cudaFuncAttributes attributes{};
  RIDGELINE_CUDA_CHECK(cudaFuncGetAttributes(&attributes, kernel));
  while (threads > 32 && threads > attributes.maxThreadsPerBlock) threads /= 2;
  return threads;
}

// The word of the written array that the CPU computes.
std::uint32_t expected_word(Mix mix, std::uint64_t i) {
  const auto in = [i](int array) { return as_float(random_float_bits(kSeeds[array], i)); };
  float value = in(0);
  if (mix == Mix::write) return random_float_bits(kWriteSeed, i / 4) ^ twist(i % 4);
  if (mix == Mix::triad) value = std::fma(kScale, in(1), in(0));
  if (mix == Mix::three_to_one) value = (in(0) + in(1)) + in(2);
  std::uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return bits;
}

}  // namespace

const char* to_string(Mix mix) {
  switch (mix) {
    case Mix::read:
      return "read";
    case Mix::write:
      return "write";
    case Mix::copy:
      return "copy";
    case Mix::triad:
      return "triad";
    case Mix::three_to_one:
      return "3:1";
  }
  return "?";
}

Streams::Streams(const DeviceFacts& device, std::int64_t resident_bytes, cudaStream_t stream)
    : device_(device), stream_(stream), sums_(kSums) {
  std::size_t free_bytes = 0, total_bytes = 0;
  RIDGELINE_CUDA_CHECK(cudaMemGetInfo(&free_bytes, &total_bytes));
  std::int64_t bytes = kMaxArrayBytes;
  while (bytes > kMinArrayBytes && 8 * bytes > static_cast<std::int64_t>(free_bytes)) bytes /= 2;
  vectors_ = bytes / 16;
  mask_ = (resident_bytes > 0 ? std::min(resident_bytes, bytes) / 16 : vectors_) - 1;
  for (int i = 0; i < 4; ++i) {
    arrays_.emplace_back(vectors_);
    if (i < 3) fill_floats(arrays_.back().data(), 4 * vectors_, kSeeds[i], stream_);
  }
  RIDGELINE_CUDA_CHECK(cudaStreamSynchronize(stream_));
}

Bench Streams::bench(Mix mix, const StreamConfiguration& how) {
  const Kernel kernel = kernel_of(mix, how.unroll);
  const int threads = threads_that_fit(kernel, how.threads);
  const std::int64_t tile = static_cast<std::int64_t>(threads) * how.unroll;
  const std::int64_t tiles = vectors_ / tile;
  const std::int64_t blocks =
      how.blocks_per_sm == 0
          ? tiles
          : std::min<std::int64_t>(tiles, std::int64_t{how.blocks_per_sm} * device_.sm_count);
  Bench out;
  const double moved = arrays_read(mix) + arrays_written(mix);
  out.name = {Level::dram, to_string(mix), arrays_read(mix) / moved};
  out.unit = "bytes_per_s";
  out.work = moved * static_cast<double>(array_bytes());
  out.limit_per_s = device_.bus_bytes_per_s();
  out.configuration = std::to_string(array_bytes() >> 20) + " MiB an array, " + std::to_string(threads) +
                      " threads x " + std::to_string(how.unroll) + " x 16 B, " +
                      (how.blocks_per_sm == 0 ? std::string("a block a tile")
                                              : std::to_string(how.blocks_per_sm) + " blocks an SM");
  const Arrays arrays{arrays_[0].data(), arrays_[1].data(), arrays_[2].data(), arrays_[3].data(),
                      sums_.data()};
  out.launch = [=, n = vectors_, mask = mask_](cudaStream_t st) {
    kernel<<<static_cast<unsigned>(blocks), threads, 0, st>>>(arrays, n, mask);
    RIDGELINE_CUDA_CHECK_LAUNCH();
  };
  out.check = [this, mix, launch = out.launch] {
    // One launch of its own: a read adds to what was there.
    RIDGELINE_CUDA_CHECK(cudaMemsetAsync(sums_.data(), 0, kSums * sizeof(std::uint32_t), stream_));
    if (mix != Mix::read)
      RIDGELINE_CUDA_CHECK(
          cudaMemsetAsync(arrays_[3].data(), 0, static_cast<std::size_t>(array_bytes()), stream_));
    launch(stream_);
    RIDGELINE_CUDA_CHECK(cudaStreamSynchronize(stream_));
    return check(mix);
  };
  return out;
}

Bench Streams::best(Mix mix, const std::function<double(const Bench&)>& rate) {
  std::optional<Bench> best;
  double most = 0;
  for (const unsigned threads : {256U, 512U, 1024U}) {
    for (const int unroll : {1, 2, 4, 8}) {
      for (const int blocks_per_sm : {0, static_cast<int>(2048 / threads)}) {
        Bench tried = bench(mix, {threads, unroll, blocks_per_sm});
        const double reached = rate(tried);
        if (best && reached <= most) continue;
        most = reached;
        best = std::move(tried);
      }
    }
  }
  return *std::move(best);
}

std::string Streams::check(Mix mix) const {
  if (mask_ + 1 != vectors_ && mix == Mix::read) return "";  // a planted fault: another sum
  if (mix == Mix::read) {
    const std::vector<std::uint32_t> sums = sums_.download();
    const std::uint32_t sum = std::accumulate(sums.begin(), sums.end(), std::uint32_t{0});
    const std::uint32_t expected = sum_of_floats(4 * vectors_, kSeeds[0], stream_);
    return sum == expected ? "" : "the sum of what was read is not that of what was written before";
  }
  constexpr int kPlaces = 512;
  for (int place = 0; place < kPlaces; ++place) {
    std::int64_t vector = static_cast<std::int64_t>(random_bits(99, static_cast<std::uint64_t>(place)));
    vector = place == 0 ? mask_ : place == 1 ? 0 : vector & mask_;
    std::array<std::uint32_t, 4> words{};
    RIDGELINE_CUDA_CHECK(
        cudaMemcpy(words.data(), arrays_[3].data() + vector, sizeof words, cudaMemcpyDeviceToHost));
    for (std::uint64_t w = 0; w < 4; ++w) {
      if (words[w] != expected_word(mix, static_cast<std::uint64_t>(vector) * 4 + w))
        return "word " + std::to_string(vector * 4 + static_cast<std::int64_t>(w)) + " of " + to_string(mix) +
               " is not what the CPU computes";
    }
  }
  return "";
}

}  // namespace ridgeline::ceilings
