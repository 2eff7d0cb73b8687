#include "ridgeline/analyzer/values/roof.h"

namespace ridgeline::analyzer {

namespace {

struct QuantityRoof {
  Quantity quantity;
  Roof roof;
  std::string_view name;
};

constexpr Roof pipe(Pipe pipe, Precision precision) {
  return {RoofLevel::pipe, pipe, precision};
}

// Of two peaks of one precision the pipe's own comes before the tensor pipe's.
constexpr std::array kQuantities = {
    QuantityRoof{Quantity::dram_bytes_per_s, Roof::kDram, "DRAM"},
    QuantityRoof{Quantity::l2_bytes_per_s, Roof::kL2, "L2"},
    QuantityRoof{Quantity::bf16_flops_per_s, pipe(Pipe::tensor, Precision::bf16), "bf16"},
    QuantityRoof{Quantity::fp16_flops_per_s, pipe(Pipe::tensor, Precision::fp16), "fp16"},
    QuantityRoof{Quantity::tf32_flops_per_s, pipe(Pipe::tensor, Precision::tf32), "tf32"},
    QuantityRoof{Quantity::fp8_flops_per_s, pipe(Pipe::tensor, Precision::fp8), "fp8"},
    QuantityRoof{Quantity::int8_ops_per_s, pipe(Pipe::tensor, Precision::int8), "int8"},
    QuantityRoof{Quantity::fp64_flops_per_s, pipe(Pipe::fp64, Precision::fp64), "fp64"},
    QuantityRoof{Quantity::fp64_tensor_flops_per_s, pipe(Pipe::tensor, Precision::fp64), "fp64_tensor"},
    QuantityRoof{Quantity::fp32_flops_per_s, pipe(Pipe::fma, Precision::fp32), "fp32"},
};

const QuantityRoof& row_of(Quantity quantity) {
  for (const QuantityRoof& row : kQuantities) {
    if (row.quantity == quantity) return row;
  }
  return kQuantities.front();
}

std::string_view pipe_name(Pipe pipe) {
  switch (pipe) {
    case Pipe::none:
      break;
    case Pipe::alu:
      return "alu";
    case Pipe::fma:
      return "fma";
    case Pipe::fp16:
      return "fp16";
    case Pipe::fp64:
      return "fp64";
    case Pipe::tensor:
      return "tensor";
    case Pipe::xu:
      return "xu";
  }
  return "?";
}

}  // namespace

std::string_view to_string(Roof roof) {
  switch (roof.level) {
    case RoofLevel::dram:
      return "DRAM";
    case RoofLevel::l2:
      return "L2";
    case RoofLevel::l1:
      return "L1";
    case RoofLevel::issue:
      return "issue";
    case RoofLevel::pipe:
      return pipe_name(roof.pipe);
    case RoofLevel::launch:
      return "launch";
  }
  return "?";
}

std::string_view to_string(Precision precision) {
  switch (precision) {
    case Precision::any:
      break;
    case Precision::bf16:
      return "bf16";
    case Precision::fp16:
      return "fp16";
    case Precision::fp32:
      return "fp32";
    case Precision::fp64:
      return "fp64";
    case Precision::fp8:
      return "fp8";
    case Precision::int8:
      return "int8";
    case Precision::tf32:
      return "tf32";
  }
  return "";
}

Roof roof_of(Quantity quantity) {
  return row_of(quantity).roof;
}

std::string_view roof_name(Quantity quantity) {
  return row_of(quantity).name;
}

std::optional<Roof> compute_roof(std::string_view name) {
  for (const QuantityRoof& row : kQuantities) {
    if (row.roof.level == RoofLevel::pipe && row.name == name) return row.roof;
  }
  return std::nullopt;
}

bool is_bandwidth(Quantity quantity) {
  return roof_of(quantity).level != RoofLevel::pipe;
}

bool is_flops(Quantity quantity) {
  return !is_bandwidth(quantity) && roof_of(quantity).precision != Precision::int8;
}

std::optional<Quantity> flops_of(Precision precision) {
  for (const QuantityRoof& row : kQuantities) {
    if (row.roof.precision == precision && is_flops(row.quantity)) return row.quantity;
  }
  return std::nullopt;
}

}  // namespace ridgeline::analyzer
