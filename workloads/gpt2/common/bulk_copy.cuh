// bulk_copy.cuh: contiguous bytes from global to shared memory by Hopper's copy engine (cp.async.bulk,
// sm_90).
//
// Use  1 one thread: barrier_init, then barrier_init_fence; then synchronise the threads that will wait
//      2 one thread: barrier_expect with the bytes of all copies to come, then bulk_load for each
//      3 every reader: barrier_wait with the parity of the phase, 0 first, then 1, 0, ...
//      4 when all have read and one thread knows (a warp or block barrier, or an mbarrier): 2 again. A read counts
//        once its value has been used, in a store for example: barriers order reads among threads, but the copy
//        engine overtakes one that is only issued
// Global and shared addresses and sizes are multiples of 16 bytes. The copies cost their issuing thread one
// instruction each and the others none, so how much is in flight does not depend on occupancy.
#pragma once

#include <cstdint>

namespace ridgeline::gpt2 {

__device__ inline unsigned shared_window_address(const void* shared) {
  return static_cast<unsigned>(__cvta_generic_to_shared(shared));
}

/// `arrivals` completes a phase, together with the bytes expected in it.
__device__ inline void barrier_init(std::uint64_t* barrier, unsigned arrivals) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(shared_window_address(barrier)), "r"(arrivals)
               : "memory");
}

/// Shows initialised barriers to the copy engine.
__device__ inline void barrier_init_fence() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
}

__device__ inline void barrier_arrive(std::uint64_t* barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(shared_window_address(barrier)) : "memory");
}

/// Arrives, and makes the phase wait for this many bytes as well.
__device__ inline void barrier_expect(std::uint64_t* barrier, unsigned bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(shared_window_address(barrier)),
               "r"(bytes)
               : "memory");
}

__device__ inline void barrier_wait(std::uint64_t* barrier, unsigned parity) {
  const unsigned address = shared_window_address(barrier);
  unsigned done = 0;
  while (done == 0) {
    asm volatile(
        "{\n"
        ".reg .pred complete;\n"
        "mbarrier.try_wait.parity.shared::cta.b64 complete, [%1], %2;\n"
        "selp.u32 %0, 1, 0, complete;\n"
        "}\n"
        : "=r"(done)
        : "r"(address), "r"(parity)
        : "memory");
  }
}

/// An L2 policy for data that is read once and dead: evict it before anything else.
__device__ inline std::uint64_t evict_first_policy() {
  std::uint64_t policy = 0;
  asm("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

__device__ inline void bulk_load(void* shared, const void* global, unsigned bytes, std::uint64_t* barrier) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
          shared_window_address(shared)),
      "l"(global), "r"(bytes), "r"(shared_window_address(barrier))
      : "memory");
}
__device__ inline void bulk_load(void* shared, const void* global, unsigned bytes, std::uint64_t* barrier,
                                 std::uint64_t policy) {
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, "
      "[%3], "
      "%4;" ::"r"(shared_window_address(shared)),
      "l"(global), "r"(bytes), "r"(shared_window_address(barrier)), "l"(policy)
      : "memory");
}

}  // namespace ridgeline::gpt2
