// attention_hopper_forward.cu: causal flash attention forward on wgmma
// shapes  qkv (B,T,3,NH,HS) bf16, out (B,T,NH,HS) bf16, lse (B,NH,T) FP32; HS 64, any T. out in E4M3 too, and
//         transposed (NH,HS,B,T): T a multiple of 16
// bytes   B*T*NH*(8*HS + 4), with E4M3 2*B*T*NH*HS more
// flops   2*B*NH*T*(T+1)*HS (whole tiles of 128 x 128 are computed: 2*HS*2*128*128 for each at or below the
//         diagonal)
// check   ||gpu-ref|| <= 1e-2*||ref||, single values within 3e-2 of the largest; a non-finite mismatch fails
// bound   tensor pipe and exponentials (1024 cycles of a multiprocessor each for a tile)
//
// Persistent blocks of three warpgroups:
//   producer   one thread copies queries, keys and values into shared memory (TMA, swizzled): keys and values of
//              128 positions into a ring each
//   consumers  two warpgroups, 64 of a block's 128 queries each, which they hold in registers. A tile is: scores
//              (wgmma), exponentials, output += probabilities x values (wgmma, the probabilities never leave the
//              registers). The next tile's scores are issued in front of this tile's output, so that the tensor
//              cores have work while exponentials are formed. The two take turns at forming scores.
// A unit of work is a pair of row blocks of one head, the longest left and the shortest, so that all units take
// the same time; the pairs of a head run at the same time on neighbouring multiprocessors, which finds its keys
// and values in the L2 cache. The last rounds are dealt by row blocks (attention_hopper_tail.h).
//
// Exponentials do not wait for a tile's maximum. The shift of a row is the maximum of its first tile, the one on
// the diagonal; any shift is exact as long as nothing overflows, since bfloat16 has FP32's range. A warp whose
// sum of a later tile passes 2^64 forms that tile's scores again and moves the shift (`recover`).
//
// Barriers, phases counted from 0; a consumer warp arrives once:
//   keys_full[s], values_full[s]    the copies have arrived
//   keys_empty[s], values_empty[s]  8 warps are done with it
//   queries_full[c], queries_empty[c]  the same of consumer c's queries, 4 warps
#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>

#include "gpt2/common/launch.h"
#include "gpt2/common/nvtx.h"
#include "gpt2/common/packed.cuh"
#include "gpt2/ops/attention/attention.h"
#include "gpt2/ops/attention/attention_hopper.cuh"
#include "gpt2/ops/attention/attention_hopper.h"
#include "gpt2/ops/attention/attention_hopper_forward.cuh"
#include "gpt2/ops/attention/attention_hopper_fp8.cuh"
#include "gpt2/ops/attention/attention_hopper_tail.h"
#include "gpt2/ops/hopper/tensor_map.h"

namespace ridgeline::gpt2 {
namespace hopper {
namespace {

// A warp's 16 rows of queries as left operands.
__device__ inline void load_queries(std::uint32_t (&q)[kHeadSize / 4], std::uint32_t queries, int warp,
                                    int lane) {
#pragma unroll
  for (int k = 0; k < kHeadSize / 16; ++k) {
    const std::uint32_t panel = queries + warp * ForwardLayout::kWarpBytes;
    load_matrix_x4(matrix_address(panel, lane) ^ (k % 4 * 32), q[4 * k], q[4 * k + 1], q[4 * k + 2],
                   q[4 * k + 3]);
  }
}

// Scores of the consumer's 64 queries against 128 keys.
__device__ inline void issue_scores(float (&s)[64], const std::uint32_t (&q)[kHeadSize / 4],
                                    std::uint32_t keys) {
  const std::uint64_t b = descriptor_at(matrix_descriptor(16, 1024), keys);
  wgmma_fence();
#pragma unroll
  for (int k = 0; k < kHeadSize / 16; ++k) {
    wgmma<0>(s, q + 4 * k, b + k / 4 * (kPanelBytes / 16) + k % 4 * 2, k);
  }
}

// o (64 x HS) = (add ? o : 0) + P (64 x 128) V (128 x HS).
__device__ inline void issue_output(float (&o)[kHeadSize / 2], const std::uint32_t (&p)[32],
                                    std::uint32_t values, bool add) {
  const std::uint64_t b = descriptor_at(matrix_descriptor(kPanelBytes, 1024), values);
  wgmma_fence();
#pragma unroll
  for (int k = 0; k < kTile / 16; ++k) {
    wgmma<1>(o, p + 4 * k, b + k * (16 * kPanel * 2 / 16), (add ? 1 : 0) | k);
  }
}

// What a thread knows of its two rows, 8 apart.
struct RowState {
  float shift[2];  // subtracted from exponents
  float sum[2];    // of the thread's own columns
};

// The scores of a warp's rows again, by mma.sync: no other warp need take part.
__device__ inline void scores_again(float (&s)[64], const std::uint32_t (&q)[kHeadSize / 4],
                                    std::uint32_t keys, int lane) {
#pragma unroll
  for (int j = 0; j < kTile / 8; ++j) {
    float d[4] = {};
#pragma unroll
    for (int k = 0; k < kHeadSize / 16; k += 2) {
      // Rows of 8 keys; lanes 8m .. 8m+7 address the m-th 16 bytes of the 64 that two steps of 16 take.
      const std::uint32_t address = keys + k / 4 * kPanelBytes + (8 * j + (lane & 7)) * 128 +
                                    (((2 * (k % 4) + lane / 8) ^ (lane & 7)) << 4);
      std::uint32_t b[4];
      load_matrix_x4(address, b[0], b[1], b[2], b[3]);
#pragma unroll
      for (int step = 0; step < 2; ++step) {
        const std::uint32_t* a = q + 4 * (k + step);
        asm volatile(
            "mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, "
            "{%8, %9}, {%0, %1, %2, %3};"
            : "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3])
            : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[2 * step]), "r"(b[2 * step + 1]));
      }
    }
#pragma unroll
    for (int e = 0; e < 4; ++e) s[4 * j + e] = d[e];
  }
}

// Of the first kBlocks blocks of 8 columns.
template <int kBlocks>
__device__ inline float row_max(const float (&s)[64], int half) {
  float largest = -INFINITY;
#pragma unroll
  for (int j = 0; j < kBlocks; ++j) {
    largest = fmaxf(largest, fmaxf(s[4 * j + 2 * half], s[4 * j + 2 * half + 1]));
  }
  return quad_max(largest);
}

// Exponentials of the first kBlocks blocks of 8 columns, in place; adds to part[row][0..1].
template <int kBlocks>
__device__ inline void exponentials(float (&s)[64], const float (&shift)[2], float scale_log2,
                                    float (&part)[2][2]) {
#pragma unroll
  for (int j = 0; j < kBlocks; ++j) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      float& value = s[4 * j + e];
      value = exp2_flushed(fmaf(value, scale_log2, -shift[e / 2]));
      part[e / 2][e % 2] += value;
    }
  }
}

// Moves the shifts to where nothing overflows and forms the tile's exponentials again. What was summed up before
// is to be multiplied by `correction`.
__device__ inline void recover(float (&s)[64], RowState& rows, float (&part)[2][2], float (&correction)[2],
                               const std::uint32_t (&q)[kHeadSize / 4], std::uint32_t keys, float scale_log2,
                               int lane) {
  scores_again(s, q, keys, lane);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float shift = fmaxf(rows.shift[half], row_max<kTile / 8>(s, half) * scale_log2);
    correction[half] = exp2_flushed(rows.shift[half] - shift);
    rows.shift[half] = shift;
    rows.sum[half] *= correction[half];
    part[half][0] = part[half][1] = 0.0F;
  }
  exponentials<kTile / 8>(s, rows.shift, scale_log2, part);
}

// What is stored in E4M3, and the largest magnitude of it that a thread has met.
struct Fp8Rows {
  const Fp8Output& out;
  float scale;
  float largest;
};

template <bool kFp8>
__device__ inline void store_rows(const ForwardMaps& maps, const Problem& problem, float* lse, Fp8Rows& fp8,
                                  const ForwardLayout& layout, const uint4& work,
                                  const float (&o)[kHeadSize / 2], const RowState& rows, int consumer,
                                  int warp, int lane) {
  using Layout = ForwardLayout;
  const auto batch = static_cast<int>(work.z);
  const auto head = static_cast<int>(work.y);
  const int row0 = static_cast<int>(work.w) + consumer * kConsumerRows + warp * 16;
  float factor[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const float total = quad_sum(rows.sum[half]);
    factor[half] = __fdividef(1.0F, total);
    const int row = row0 + half * 8 + lane / 4;
    if (lse != nullptr && lane % 4 == 0 && row < problem.seq) {
      lse[(static_cast<std::int64_t>(batch) * problem.heads + head) * problem.seq + row] =
          (rows.shift[half] + __log2f(total)) * kLn2;
    }
  }
  const std::uint32_t staging = layout.base + Layout::kOut + (4 * consumer + warp) * Layout::kWarpBytes;
  if (lane == 0) bulk_wait_read();  // the rows before are out of the staging area
  __syncwarp();
  std::uint32_t words[kHeadSize / 4];
#pragma unroll
  for (int i = 0; i < kHeadSize / 16; ++i) {
#pragma unroll
    for (int w = 0; w < 4; ++w) {
      words[4 * i + w] = pack_bf16(o[8 * i + 2 * w] * factor[w % 2], o[8 * i + 2 * w + 1] * factor[w % 2]);
    }
    store_matrix_x4(matrix_address(staging, lane) ^ (i * 32), words[4 * i], words[4 * i + 1],
                    words[4 * i + 2], words[4 * i + 3]);
  }
  fence_for_copies();
  __syncwarp();
  if (lane == 0) {
    tma_store_heads(&maps.out, staging, 0, head, row0, batch);
    bulk_commit();
  }
  if constexpr (kFp8) {
    store_fp8(fp8.out, fp8.scale, fp8.largest, layout.fp8(consumer), words, problem, head, batch,
              static_cast<int>(work.w) + consumer * kConsumerRows, 3 + consumer);
  }
}

// Of the tile on the diagonal, in blocks of 8 columns, which begins a row's softmax. A row sees the columns
// up to its own, the lane's `limit`: column 8j + e hides from a row what 8(j+1) + e does from the row 8
// below.
template <int kBlocks>
__device__ __forceinline__ void begin_softmax(float (&s)[64], RowState& rows, float (&part)[2][2], int limit,
                                              float scale_log2) {
#pragma unroll
  for (int j = 0; j < kBlocks; ++j) {
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      if (8 * j + e > limit) {
        s[4 * j + e] = -INFINITY;
        if (j + 1 < kBlocks) s[4 * (j + 1) + 2 + e] = -INFINITY;
      }
    }
  }
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    rows.shift[half] = row_max<kBlocks>(s, half) * scale_log2;
    rows.sum[half] = 0.0F;
  }
  exponentials<kBlocks>(s, rows.shift, scale_log2, part);
#pragma unroll
  for (int i = 4 * kBlocks; i < 64; ++i) s[i] = 0.0F;
}

// One code for both consumers: their registers differ, and what the multiprocessor's instruction caches hold is short.
template <bool kFp8>
__device__ inline void consume(const ForwardMaps& maps, const Problem& problem, float* lse,
                               const Fp8Output& fp8_out, const ForwardLayout& layout, int consumer) {
  using Layout = ForwardLayout;
  constexpr float kRecoverAbove = 0x1p64F;
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int warp = static_cast<int>(threadIdx.x) % kWarpgroup / 32;
  const auto release = [&](std::uint32_t barrier) {
    __syncwarp();
    if (lane == 0) barrier_arrive(barrier);
  };

  std::uint32_t q[kHeadSize / 4];
  float s[64];
  std::uint32_t p[32];
  float o[kHeadSize / 2];
  RowState rows{};
  Fp8Rows fp8{fp8_out, kFp8 ? *fp8_out.scale.scale : 0.0F, 0.0F};
#pragma unroll
  for (int i = 0; i < kHeadSize / 2; ++i) o[i] = 0.0F;
#pragma unroll
  for (int i = 0; i < 32; ++i) p[i] = 0;

  std::uint32_t item_parity = 0;
  const auto take_queries = [&] {
    barrier_wait(layout.queries_full(consumer), item_parity);
    load_queries(q, layout.queries(consumer), warp, lane);
    item_parity ^= 1U;
  };
  // Whose scores are formed next: the two take turns, so that one's exponentials meet the other's products.
  const auto await_turn = [&] { named_barrier_sync(1 + consumer, 2 * kWarpgroup); };
  const auto turn_to_other = [&] { named_barrier_arrive(2 - consumer, 2 * kWarpgroup); };
  // Scores of the first tile of a block of rows. Its queries are given back after the products, which wait for what
  // was read: right after the reads, the arrival could overtake one of them.
  const auto issue_first_scores = [&](int stage) {
    issue_scores(s, q, layout.keys(stage));
    release(layout.queries_empty(consumer));
  };
  take_queries();
  barrier_wait(layout.keys_full(0), 0);
  uint4 work = load_shared_128(layout.work(0));
  issue_first_scores(0);
  wgmma_commit();
  wgmma_wait<0>();
  pin(s);
  if (consumer == 1) turn_to_other();

  for (unsigned tile = 0;; ++tile) {
    const int stage = static_cast<int>(tile % Layout::kStages);
    const bool first = (work.x & kFirstOfRows) != 0;
    float part[2][2] = {};
    float correction[2];
    bool recovered = false;
    if (first) {
      const int limit = consumer * kConsumerRows + warp * 16 + lane / 4 - lane % 4 * 2;
      // The upper consumer's queries see no key of the second half.
      if (consumer == 0) {
        begin_softmax<kTile / 16>(s, rows, part, limit, problem.scale_log2);
      } else {
        begin_softmax<kTile / 8>(s, rows, part, limit, problem.scale_log2);
      }
    } else {
      exponentials<kTile / 8>(s, rows.shift, problem.scale_log2, part);
      const float largest = fmaxf(part[0][0] + part[0][1], part[1][0] + part[1][1]);
      recovered = __any_sync(0xffffffffU, largest > kRecoverAbove);
      if (recovered) recover(s, rows, part, correction, q, layout.keys(stage), problem.scale_log2, lane);
    }
    // Until here the tile before this one was still being added to the output.
    wgmma_wait<0>();
    pin(o);
    pin(p);
    if (recovered) {
#pragma unroll
      for (int i = 0; i < kHeadSize / 2; ++i) o[i] *= correction[i / 2 % 2];
    }
#pragma unroll
    for (int half = 0; half < 2; ++half) rows.sum[half] += part[half][0] + part[half][1];
#pragma unroll
    for (int i = 0; i < 32; ++i) p[i] = pack_bf16(s[2 * i], s[2 * i + 1]);
    __syncwarp();
    if (lane == 0) {
      if (!first) barrier_arrive(layout.values_empty(static_cast<int>((tile - 1) % Layout::kStages)));
      barrier_arrive(layout.keys_empty(stage));
    }

    const int next_stage = static_cast<int>((tile + 1) % Layout::kStages);
    const std::uint32_t next_parity = (tile + 1) / Layout::kStages & 1U;
    const std::uint32_t parity = tile / Layout::kStages & 1U;
    if ((work.x & kLastOfRows) == 0) {
      barrier_wait(layout.keys_full(next_stage), next_parity);
      work = load_shared_128(layout.work(tile + 1));
      await_turn();
      issue_scores(s, q, layout.keys(next_stage));
      wgmma_commit();
      barrier_wait(layout.values_full(stage), parity);
      issue_output(o, p, layout.values(stage), !first);
      wgmma_commit();
      wgmma_wait<1>();
      pin(s);
      turn_to_other();
    } else {
      // The block of rows is complete: nothing may be under way when it is stored.
      const bool more = (work.x & kLastTile) == 0;
      const uint4 stored = work;
      if (more) {
        take_queries();
        barrier_wait(layout.keys_full(next_stage), next_parity);
        work = load_shared_128(layout.work(tile + 1));
      }
      barrier_wait(layout.values_full(stage), parity);
      await_turn();
      if (more) issue_first_scores(next_stage);
      wgmma_commit();
      issue_output(o, p, layout.values(stage), !first);
      wgmma_commit();
      wgmma_wait<1>();
      if (more || consumer == 0) turn_to_other();
      wgmma_wait<0>();
      pin(s);
      pin(o);
      pin(p);
      release(layout.values_empty(stage));
      store_rows<kFp8>(maps, problem, lse, fp8, layout, stored, o, rows, consumer, warp, lane);
      if (!more) break;
    }
  }
  if constexpr (kFp8) commit_warp_amax(fp8.out.scale.amax, fp8.largest, lane);
  // Shared memory outlives what the copy engine still reads.
  if (lane == 0) bulk_wait_read();
}

template <bool kFp8>
__global__ void __launch_bounds__(kThreads, 1)
    attention_hopper_forward_kernel(const __grid_constant__ ForwardMaps maps, const Problem problem,
                                    const __grid_constant__ ForwardTail tail, float* lse,
                                    const Fp8Output fp8) {
  using Layout = ForwardLayout;
  extern __shared__ unsigned char allocation[];
  const Layout layout{(shared_address(allocation) + 1023U) & ~1023U};
  if (!tail.has_work(static_cast<int>(blockIdx.x))) return;

  if (threadIdx.x == 0) {
    for (const CUtensorMap* map : {&maps.queries, &maps.keys, &maps.out}) tma_prefetch_map(map);
    for (int stage = 0; stage < Layout::kStages; ++stage) {
      barrier_init(layout.keys_full(stage), 1);
      barrier_init(layout.keys_empty(stage), kConsumerWarps);
      barrier_init(layout.values_full(stage), 1);
      barrier_init(layout.values_empty(stage), kConsumerWarps);
    }
    for (int consumer = 0; consumer < kConsumers; ++consumer) {
      barrier_init(layout.queries_full(consumer), 1);
      barrier_init(layout.queries_empty(consumer), kConsumerWarps / kConsumers);
    }
    fence_barrier_init();
  }
  __syncthreads();

  const int warpgroup = static_cast<int>(threadIdx.x) / kWarpgroup;
  if (warpgroup == 0) {
    release_registers<kProducerRegisters>();
    if (threadIdx.x == 0) produce(maps, problem, tail, layout);
  } else {
    take_registers<kConsumerRegisters>();
    const unsigned consumer = uniform(static_cast<unsigned>(warpgroup - 1));
    consume<kFp8>(maps, problem, lse, fp8, layout, static_cast<int>(consumer));
  }
}

// Packing takes as long as a launch: the last one is kept.
const ForwardTail& tail_of(const Problem& problem, int units, int grid) {
  thread_local std::array<int, 3> of{};
  thread_local ForwardTail tail;
  const std::array<int, 3> wanted{problem.blocks, units, grid};
  if (of != wanted) {
    tail = pack_forward_tail(problem, grid);
    of = wanted;
  }
  return tail;
}

template <bool kFp8>
void launch(bf16* out, const Fp8Output& fp8, float* lse, const bf16* qkv, const Problem& problem,
            cudaStream_t stream) {
  using Layout = ForwardLayout;
  ForwardMaps maps;
  maps.queries = heads_map(qkv, problem.batch, problem.seq, 3 * problem.heads, kHeadSize, kConsumerRows);
  maps.keys = heads_map(qkv, problem.batch, problem.seq, 3 * problem.heads, kHeadSize, kTile);
  maps.out = heads_map(out, problem.batch, problem.seq, problem.heads, kHeadSize, 16);
  const auto kernel = attention_hopper_forward_kernel<kFp8>;
  constexpr int kBytes = kFp8 ? Layout::kAllocatedWithFp8Bytes : Layout::kAllocatedBytes;
  RIDGELINE_CUDA_CHECK(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, kBytes));
  const int units = problem.batch * problem.heads * ((problem.blocks + 1) / 2);
  const int grid = std::min(units, multiprocessor_count());
  kernel<<<static_cast<unsigned>(grid), kThreads, kBytes, stream>>>(maps, problem,
                                                                    tail_of(problem, units, grid), lse, fp8);
  RIDGELINE_CUDA_CHECK_LAUNCH();
}

}  // namespace
}  // namespace hopper

bool hopper_attention_supported(int batch, int seq, int heads, int head_size) {
  if (batch < 1 || seq < 1 || heads < 1 || head_size != hopper::kHeadSize) return false;
  // Units of work are counted in 32 bits.
  if (std::int64_t{batch} * heads * ceil_div(seq, hopper::kTile) > (std::int64_t{1} << 30)) return false;
  int device = 0;
  int major = 0;
  int minor = 0;
  RIDGELINE_CUDA_CHECK(cudaGetDevice(&device));
  RIDGELINE_CUDA_CHECK(cudaDeviceGetAttribute(&major, cudaDevAttrComputeCapabilityMajor, device));
  RIDGELINE_CUDA_CHECK(cudaDeviceGetAttribute(&minor, cudaDevAttrComputeCapabilityMinor, device));
  return major == 9 && minor == 0;
}

bool hopper_attention_fp8_supported(int batch, int seq, int heads, int head_size) {
  return seq % 16 == 0 && hopper_attention_supported(batch, seq, heads, head_size);
}

namespace {

hopper::Problem problem_of(bool supported, const bf16* out, const bf16* qkv, int batch, int seq, int heads,
                           int head_size) {
  if (!supported || !is_aligned_16(out) || !is_aligned_16(qkv)) {
    throw std::invalid_argument("hopper attention: B " + std::to_string(batch) + ", T " +
                                std::to_string(seq) + ", NH " + std::to_string(heads) + ", HS " +
                                std::to_string(head_size) +
                                ": not supported on this GPU, with this size or alignment");
  }
  return {batch, seq, heads, static_cast<int>(ceil_div(seq, hopper::kTile)),
          hopper::kLog2e / std::sqrt(static_cast<float>(head_size))};
}

}  // namespace

void launch_hopper_attention_forward(bf16* out, float* lse, const bf16* qkv, int batch, int seq, int heads,
                                     int head_size, cudaStream_t stream) {
  const NvtxRange range("attention_forward", {attention_forward_bytes<bf16>(batch, seq, heads, head_size),
                                              attention_forward_flops(batch, seq, heads, head_size)});
  const hopper::Problem problem = problem_of(hopper_attention_supported(batch, seq, heads, head_size), out,
                                             qkv, batch, seq, heads, head_size);
  hopper::launch<false>(out, {}, lse, qkv, problem, stream);
}

void launch_hopper_attention_forward_fp8(bf16* out, const Fp8Output& fp8, float* lse, const bf16* qkv,
                                         int batch, int seq, int heads, int head_size, cudaStream_t stream) {
  const NvtxRange range("attention_forward",
                        {hopper_attention_forward_fp8_bytes(batch, seq, heads, head_size),
                         attention_forward_flops(batch, seq, heads, head_size)});
  const bool supported = hopper_attention_fp8_supported(batch, seq, heads, head_size) &&
                         is_aligned_16(fp8.data) && is_aligned_16(fp8.transposed);
  hopper::launch<true>(out, fp8, lse, qkv, problem_of(supported, out, qkv, batch, seq, heads, head_size),
                       stream);
}

}  // namespace ridgeline::gpt2
