// hopper_ptx.cuh: the instructions of sm_90a that CUDA C++ has no name for, one function each: mbarriers,
// bulk tensor copies (TMA), warpgroup GEMMs (wgmma) and stmatrix.
//
// Addresses in shared memory are 32-bit shared-window addresses. Source: PTX ISA 8.x, sections "mbarrier",
// "cp.async.bulk.tensor", "Asynchronous Warpgroup Level Matrix Instructions".
#pragma once

#include <cuda.h>

#include <cstdint>

namespace ridgeline::gpt2::hopper {

__device__ inline std::uint32_t shared_address(const void* pointer) {
  return static_cast<std::uint32_t>(__cvta_generic_to_shared(pointer));
}

/// Rank of this block in its cluster (0 without a cluster).
__device__ inline std::uint32_t cluster_rank() {
  std::uint32_t rank;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
/// Every thread of every block of the cluster arrives, then waits for all.
__device__ inline void cluster_sync() {
  asm volatile(
      "barrier.cluster.arrive.release;\n"
      "barrier.cluster.wait.acquire;\n" ::
          : "memory");
}

__device__ inline void barrier_init(std::uint32_t barrier, std::uint32_t arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(arrivals) : "memory");
}
/// Makes initialised barriers visible to the copy engine and to the other blocks of the cluster.
__device__ inline void fence_barrier_init() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ inline void barrier_arrive(std::uint32_t barrier) {
  asm volatile("mbarrier.arrive.release.cta.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
/// Arrives and announces `bytes` that copies will bring.
__device__ inline void barrier_arrive_expect(std::uint32_t barrier, std::uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.release.cta.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}
/// Arrives at the barrier of the same name in block `rank` of the cluster. Orders nothing but what the copy
/// engine and the tensor cores did: a release at cluster scope would be a fence of the whole GPU.
__device__ inline void barrier_arrive_cluster(std::uint32_t barrier, std::uint32_t rank) {
  asm volatile(
      "{\n"
      ".reg .b32 remote;\n"
      "mapa.shared::cluster.u32 remote, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [remote];\n"
      "}\n" ::"r"(barrier),
      "r"(rank)
      : "memory");
}
/// Waits until the phase of this parity is over.
__device__ inline void barrier_wait(std::uint32_t barrier, std::uint32_t parity) {
  asm volatile(
      "{\n"
      ".reg .pred done;\n"
      "again:\n"
      "mbarrier.try_wait.parity.acquire.cta.shared::cta.b64 done, [%0], %1;\n"
      "@!done bra again;\n"
      "}\n" ::"r"(barrier),
      "r"(parity)
      : "memory");
}
/// Barrier `id` (1..15) among `threads` threads of the block.
__device__ inline void named_barrier_sync(int id, int threads) {
  asm volatile("bar.sync %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/// Arrives without waiting; the others of the `threads` wait by named_barrier_sync.
__device__ inline void named_barrier_arrive(int id, int threads) {
  asm volatile("bar.arrive %0, %1;" ::"r"(id), "r"(threads) : "memory");
}

/// All warps of a warpgroup: from now on kCount registers per thread, more or fewer than before. Taking waits
/// until others have released enough.
template <int kCount>
__device__ inline void take_registers() {
  asm volatile("setmaxnreg.inc.sync.aligned.u32 %0;" ::"n"(kCount));
}
template <int kCount>
__device__ inline void release_registers() {
  asm volatile("setmaxnreg.dec.sync.aligned.u32 %0;" ::"n"(kCount));
}

/// Copies the box at column x, row y of a tensor to shared memory; what lies outside the tensor arrives as
/// zeros. The whole box counts towards the bytes that `barrier` expects.
__device__ inline void tma_load(std::uint32_t destination, const CUtensorMap* map, std::uint32_t barrier,
                                int x, int y) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%3, %4}], "
      "[%2];" ::"r"(destination),
      "l"(map), "r"(barrier), "r"(x), "r"(y)
      : "memory");
}
/// The same under an L2 policy.
__device__ inline void tma_load(std::uint32_t destination, const CUtensorMap* map, std::uint32_t barrier,
                                int x, int y, std::uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], "
      "[%1, {%3, %4}], [%2], %5;" ::"r"(destination),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "l"(policy)
      : "memory");
}
/// The same into the blocks of the cluster named in `mask`, at the same address and barrier in each.
__device__ inline void tma_load_multicast(std::uint32_t destination, const CUtensorMap* map,
                                          std::uint32_t barrier, int x, int y, std::uint16_t mask) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes.multicast::cluster"
      " [%0], [%1, {%3, %4}], [%2], %5;" ::"r"(destination),
      "l"(map), "r"(barrier), "r"(x), "r"(y), "h"(mask)
      : "memory");
}
__device__ inline void tma_prefetch_map(const CUtensorMap* map) {
  asm volatile("prefetch.tensormap [%0];" ::"l"(map) : "memory");
}
/// The same of the box of a heads_map: 64 columns from `column` on of a head, at positions from `position` on.
__device__ inline void tma_load_heads(std::uint32_t destination, const CUtensorMap* map,
                                      std::uint32_t barrier, int column, int head, int position, int batch) {
  asm volatile(
      "cp.async.bulk.tensor.4d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], "
      "[%1, {%3, %4, %5, %6}], [%2];" ::"r"(destination),
      "l"(map), "r"(barrier), "r"(column), "r"(head), "r"(position), "r"(batch)
      : "memory");
}
/// Copies contiguous bytes, a multiple of 16 at addresses aligned to 16.
__device__ inline void bulk_load(std::uint32_t destination, const void* source, std::uint32_t bytes,
                                 std::uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          destination),
      "l"(source), "r"(bytes), "r"(barrier)
      : "memory");
}
/// Copies contiguous bytes the other way, or adds them, as floats, to what is there.
__device__ inline void bulk_store(void* destination, std::uint32_t source, std::uint32_t bytes) {
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(destination), "r"(source),
               "r"(bytes)
               : "memory");
}
__device__ inline void bulk_add(float* destination, std::uint32_t source, std::uint32_t bytes) {
  asm volatile(
      "cp.reduce.async.bulk.global.shared::cta.bulk_group.add.f32 [%0], [%1], %2;" ::"l"(destination),
      "r"(source), "r"(bytes)
      : "memory");
}
/// Shows what this thread wrote to shared memory to copies that start after it.
__device__ inline void fence_for_copies() {
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}
/// Copies from shared memory to the box at column x, row y of a tensor; what lies outside the tensor is left
/// out.
__device__ inline void tma_store(const CUtensorMap* map, std::uint32_t source, int x, int y) {
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%2, %3}], [%1];" ::"l"(map),
               "r"(source), "r"(x), "r"(y)
               : "memory");
}
__device__ inline void tma_store(const CUtensorMap* map, std::uint32_t source, int x, int y,
                                 std::uint64_t policy) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group.L2::cache_hint [%0, {%2, %3}], [%1], %4;" ::"l"(
          map),
      "r"(source), "r"(x), "r"(y), "l"(policy)
      : "memory");
}
__device__ inline void tma_store_heads(const CUtensorMap* map, std::uint32_t source, int column, int head,
                                       int position, int batch) {
  asm volatile(
      "cp.async.bulk.tensor.4d.global.shared::cta.bulk_group [%0, {%2, %3, %4, %5}], [%1];" ::"l"(map),
      "r"(source), "r"(column), "r"(head), "r"(position), "r"(batch)
      : "memory");
}
/// Orders accesses of global memory by copies and by ordinary instructions, as this thread has seen them.
__device__ inline void fence_copies_in_memory() {
  asm volatile("fence.proxy.async.global;" ::: "memory");
}
/// Closes the group of this thread's stores; bulk_wait_read waits until all its closed groups have been read
/// from shared memory, bulk_wait until they are in memory.
__device__ inline void bulk_commit() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
__device__ inline void bulk_wait_read() {
  asm volatile("cp.async.bulk.wait_group.read 0;" ::: "memory");
}
/// All but the last of them.
__device__ inline void bulk_wait_read_but_one() {
  asm volatile("cp.async.bulk.wait_group.read 1;" ::: "memory");
}
__device__ inline void bulk_wait() {
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

/// The same value in all lanes, and known to be: descriptors made of it are formed in uniform registers.
__device__ inline unsigned uniform(unsigned value) {
  return __reduce_or_sync(0xffffffffU, value);
}

/// Shared-memory matrix descriptor of wgmma without its address, of operands in rows of 128 bytes, swizzled. Byte
/// distances: K-major operands use only `stride`, from one group of 8 rows to the next; operands whose rows run along K
/// (MN-major) use `stride` from one group of 8 rows to the next and `leading` from one block of swizzled columns to the
/// next.
__host__ __device__ constexpr std::uint64_t matrix_descriptor(std::uint32_t leading_bytes,
                                                              std::uint32_t stride_bytes) {
  constexpr std::uint64_t kSwizzle128Bytes = 1;
  return kSwizzle128Bytes << 62 | static_cast<std::uint64_t>(stride_bytes >> 4) << 32 |
         static_cast<std::uint64_t>(leading_bytes >> 4) << 16;
}
__device__ inline std::uint64_t descriptor_at(std::uint64_t descriptor, std::uint32_t address) {
  return descriptor | ((address & 0x3FFFFU) >> 4);
}

__device__ inline void wgmma_fence() {
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
}
__device__ inline void wgmma_commit() {
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}
/// Until at most kPending groups are under way.
template <int kPending>
__device__ inline void wgmma_wait() {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(kPending) : "memory");
}

/// The accumulators of a 64 x 192 product: thread t of the warpgroup holds, for each block j of 8 columns, in
/// d[4j], d[4j+1] row 16*(t/32) + t%32/4, columns 8j + 2*(t%4) and the next; in d[4j+2], d[4j+3] the row 8
/// below.
using Accumulators = float[96];

/// Keeps the compiler from moving uses of registers that wgmma reads or writes across.
template <int kCount>
__device__ inline void pin(float (&d)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+f"(d[i])::"memory");
}
template <int kCount>
__device__ inline void pin(std::uint32_t (&a)[kCount]) {
#pragma unroll
  for (int i = 0; i < kCount; ++i) asm volatile("" : "+r"(a[i])::"memory");
}

/// d (64 x 192) = A (64 x 16) B (16 x 192) + (add ? d : 0), bfloat16 inputs; kTransposeB: B's rows run along
/// K.
template <int kTransposeB>
__device__ inline void wgmma_64x192x16(Accumulators& d, std::uint64_t a, std::uint64_t b, int add) {
#define RIDGELINE_D4(i) "+f"(d[i]), "+f"(d[(i) + 1]), "+f"(d[(i) + 2]), "+f"(d[(i) + 3])
#define RIDGELINE_D16(i) RIDGELINE_D4(i), RIDGELINE_D4((i) + 4), RIDGELINE_D4((i) + 8), RIDGELINE_D4((i) + 12)
  // clang-format off
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.b32 p, %98, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n192k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63, "
      "%64, %65, %66, %67, %68, %69, %70, %71, %72, %73, %74, %75, %76, %77, %78, %79, "
      "%80, %81, %82, %83, %84, %85, %86, %87, %88, %89, %90, %91, %92, %93, %94, %95"
      "}, %96, %97, p, 1, 1, 0, %99;\n"
      "}\n"
      : RIDGELINE_D16(0), RIDGELINE_D16(16), RIDGELINE_D16(32), RIDGELINE_D16(48), RIDGELINE_D16(64),
        RIDGELINE_D16(80)
      : "l"(a), "l"(b), "r"(add), "n"(kTransposeB)
      : "memory");
  // clang-format on
#undef RIDGELINE_D16
#undef RIDGELINE_D4
}

/// Stores four 8 x 8 matrices of 16-bit elements; lane l gives the address of row l%8 of matrix l/8.
__device__ inline void store_matrix_x4(std::uint32_t address, std::uint32_t a, std::uint32_t b,
                                       std::uint32_t c, std::uint32_t d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(a),
               "r"(b), "r"(c), "r"(d)
               : "memory");
}
/// Loads them, a thread's elements as store_matrix_x4 takes them.
__device__ inline void load_matrix_x4(std::uint32_t address, std::uint32_t& a, std::uint32_t& b,
                                      std::uint32_t& c, std::uint32_t& d) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
               : "r"(address)
               : "memory");
}
/// Where this lane's row of the first of the 8x8 blocks of 16 rows x 64 columns lies, for stmatrix and ldmatrix:
/// lanes 0..15 address 16 rows of an 8-column block, lanes 16..31 those of the next. A row is 128 bytes, its
/// 16-byte pieces exclusive-or row%8. Two blocks of columns further on are an exclusive or with 32 away.
__device__ inline std::uint32_t matrix_address(std::uint32_t rows, int lane) {
  return rows + lane % 16 * 128 + (((lane / 16) ^ (lane & 7)) << 4);
}
/// The same of rows of 64 bytes in the copy engine's swizzle of that width: pieces exclusive-or row/2%4.
__device__ inline std::uint32_t byte_matrix_address(std::uint32_t rows, int lane) {
  return rows + lane % 16 * 64 + (((lane / 16) ^ (lane / 2 & 3)) << 4);
}
/// The same of each matrix's transpose: a thread's two elements lie in one column of what is in memory.
__device__ inline void store_matrix_x4_transposed(std::uint32_t address, std::uint32_t a, std::uint32_t b,
                                                  std::uint32_t c, std::uint32_t d) {
  asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(address),
               "r"(a), "r"(b), "r"(c), "r"(d)
               : "memory");
}
__device__ inline void load_matrix_x4_transposed(std::uint32_t address, std::uint32_t& a, std::uint32_t& b,
                                                 std::uint32_t& c, std::uint32_t& d) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(a), "=r"(b), "=r"(c), "=r"(d)
               : "r"(address)
               : "memory");
}
__device__ inline uint4 load_shared_128(std::uint32_t address) {
  uint4 value;
  asm volatile("ld.shared.v4.u32 {%0, %1, %2, %3}, [%4];"
               : "=r"(value.x), "=r"(value.y), "=r"(value.z), "=r"(value.w)
               : "r"(address)
               : "memory");
  return value;
}
__device__ inline void store_shared_128(std::uint32_t address, float a, float b, float c, float d) {
  asm volatile("st.shared.v4.f32 [%0], {%1, %2, %3, %4};" ::"r"(address), "f"(a), "f"(b), "f"(c), "f"(d)
               : "memory");
}
__device__ inline std::uint32_t load_shared(std::uint32_t address) {
  std::uint32_t value;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(value) : "r"(address) : "memory");
  return value;
}
__device__ inline void store_shared(std::uint32_t address, std::uint32_t value) {
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(value) : "memory");
}
/// The lowest byte, or the lower two.
__device__ inline void store_shared_byte(std::uint32_t address, std::uint32_t value) {
  asm volatile("{\n.reg .u16 low;\ncvt.u16.u32 low, %1;\nst.shared.u8 [%0], low;\n}\n" ::"r"(address),
               "r"(value)
               : "memory");
}
__device__ inline void store_shared_two_bytes(std::uint32_t address, std::uint32_t value) {
  asm volatile("{\n.reg .u16 low;\ncvt.u16.u32 low, %1;\nst.shared.u16 [%0], low;\n}\n" ::"r"(address),
               "r"(value)
               : "memory");
}
__device__ inline void store_shared_128(std::uint32_t address, const uint4& value) {
  asm volatile("st.shared.v4.u32 [%0], {%1, %2, %3, %4};" ::"r"(address), "r"(value.x), "r"(value.y),
               "r"(value.z), "r"(value.w)
               : "memory");
}
__device__ inline float4 load_shared_float4(std::uint32_t address) {
  float4 value;
  asm volatile("ld.shared.v4.f32 {%0, %1, %2, %3}, [%4];"
               : "=f"(value.x), "=f"(value.y), "=f"(value.z), "=f"(value.w)
               : "r"(address)
               : "memory");
  return value;
}
__device__ inline float2 load_shared_float2(std::uint32_t address) {
  float2 value;
  asm volatile("ld.shared.v2.f32 {%0, %1}, [%2];" : "=f"(value.x), "=f"(value.y) : "r"(address) : "memory");
  return value;
}

}  // namespace ridgeline::gpt2::hopper
