// cast_parts.h: weights stored as FP8 of which this process has a part only: the largest magnitude of what it has, and
// its bytes as they lie. Whoever has all bytes makes the transposed copy of them (cast_transpose.h).
#pragma once

#include <cuda_runtime_api.h>

#include <cstdint>
#include <span>
#include <vector>

#include "gpt2/ops/fp8/fp8.h"

namespace ridgeline::gpt2 {

/// Neighbouring elements of one tensor. Both places are multiples of 4, and so is the count.
struct Fp8Part {
  std::int64_t from = 0;  // in the FP32 values
  std::int64_t to = 0;    // in the bytes
  std::int32_t count = 0;
  std::int32_t tensor = 0;
};
/// Most elements of one: what a block of the kernels works through.
inline constexpr std::int32_t kFp8PartElements = 8192;

/// Appends `count` neighbouring elements of one tensor, cut to what a block takes.
inline void append_fp8_parts(std::vector<Fp8Part>& parts, std::int64_t from, std::int64_t to,
                             std::int64_t count, std::int32_t tensor) {
  for (std::int64_t at = 0; at < count; at += kFp8PartElements) {
    const std::int64_t rest = count - at;
    parts.push_back({from + at, to + at,
                     static_cast<std::int32_t>(rest < kFp8PartElements ? rest : kFp8PartElements), tensor});
  }
}

/// On the host: the same bits. amax (one a tensor) only ever grows.
void fp8_amax_parts_cpu(float* amax, const float* inp, std::span<const Fp8Part> parts);
void fp8_cast_parts_cpu(std::uint8_t* out, const float* inp, const float* scale,
                        std::span<const Fp8Part> parts);

constexpr std::int64_t fp8_amax_parts_bytes(std::int64_t parts, std::int64_t elements) {
  return elements * std::int64_t{sizeof(float)} + parts * std::int64_t{sizeof(Fp8Part)};
}
constexpr std::int64_t fp8_cast_parts_bytes(std::int64_t parts, std::int64_t elements) {
  return elements * (std::int64_t{sizeof(float)} + 1) + parts * std::int64_t{sizeof(Fp8Part)};
}

/// Parts on the device, and how many elements they are together.
struct Fp8Parts {
  const Fp8Part* data = nullptr;
  std::int64_t count = 0;
  std::int64_t elements = 0;
};

/// amax[tensor] = the largest of itself and |inp| over the tensor's parts, as the bits of a float; NaN counts as
/// nothing. inp aligned to 16 bytes.
void launch_fp8_amax_parts(std::uint32_t* amax, const float* inp, const Fp8Parts& parts, cudaStream_t stream);
/// out[to] = inp[from] * scale[tensor] in E4M3, as launch_fp8_cast_weights has it. inp aligned to 16 bytes, out to 4.
void launch_fp8_cast_parts(std::uint8_t* out, const float* inp, const float* scale, const Fp8Parts& parts,
                           cudaStream_t stream);

}  // namespace ridgeline::gpt2
