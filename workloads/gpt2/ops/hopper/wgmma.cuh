// wgmma.cuh: warpgroup GEMMs of 64 x 64 and 64 x 128, with the left operand in shared memory or in
// registers.
//
// The accumulators of a 64 x N product: thread t of the warpgroup holds, for each block j of 8 columns, in d[4j],
// d[4j+1] row 16*(t/32) + t%32/4, columns 8j + 2*(t%4) and the next; in d[4j+2], d[4j+3] the row 8 below. Rounded
// to pairs of bfloat16 in this order, words 4i .. 4i+3 are the left operand of a product over columns 16i .. 16i+15.
//
// Use  1 wgmma_fence, once the registers of accumulators and operands hold their values
//      2 the products; wgmma_commit
//      3 wgmma_wait; then pin what is read or changed next
#pragma once

#include <cstdint>

#include "gpt2/ops/hopper/hopper_ptx.cuh"

namespace ridgeline::gpt2::hopper {

// d (64 x N) = A (64 x 16) B (16 x N) + (add ? d : 0), bfloat16 inputs, N twice the size of d. A's four words
// are in registers at `a`, or (N = 64) A lies in shared memory under the descriptor `a`. kTransposeB: B's rows run
// along K; kTransposeA: A's do.
//
// clang-format off
#define RIDGELINE_D4(i) "+f"(d[i]), "+f"(d[(i) + 1]), "+f"(d[(i) + 2]), "+f"(d[(i) + 3])
#define RIDGELINE_D16(i) RIDGELINE_D4(i), RIDGELINE_D4((i) + 4), RIDGELINE_D4((i) + 8), RIDGELINE_D4((i) + 12)
template <int kTransposeB>
__device__ inline void wgmma(float (&d)[32], const std::uint32_t* a, std::uint64_t b, int add) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.b32 p, %37, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
      "}, {%32, %33, %34, %35}, %36, p, 1, 1, %38;\n"
      "}\n"
      : RIDGELINE_D16(0), RIDGELINE_D16(16)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add), "n"(kTransposeB)
      : "memory");
}
template <int kTransposeB>
__device__ inline void wgmma(float (&d)[64], const std::uint32_t* a, std::uint64_t b, int add) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.b32 p, %69, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
      "}, {%64, %65, %66, %67}, %68, p, 1, 1, %70;\n"
      "}\n"
      : RIDGELINE_D16(0), RIDGELINE_D16(16), RIDGELINE_D16(32), RIDGELINE_D16(48)
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "l"(b), "r"(add), "n"(kTransposeB)
      : "memory");
}
template <int kTransposeA, int kTransposeB>
__device__ inline void wgmma(float (&d)[32], std::uint64_t a, std::uint64_t b, int add) {
  asm volatile(
      "{\n"
      ".reg .pred p;\n"
      "setp.ne.b32 p, %34, 0;\n"
      "wgmma.mma_async.sync.aligned.m64n64k16.f32.bf16.bf16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31"
      "}, %32, %33, p, 1, 1, %35, %36;\n"
      "}\n"
      : RIDGELINE_D16(0), RIDGELINE_D16(16)
      : "l"(a), "l"(b), "r"(add), "n"(kTransposeA), "n"(kTransposeB)
      : "memory");
}
#undef RIDGELINE_D16
#undef RIDGELINE_D4
// clang-format on

}  // namespace ridgeline::gpt2::hopper
