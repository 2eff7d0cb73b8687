#include "ceilings/core/per_cycle.h"

namespace ridgeline::ceilings {

namespace {
struct Row {
  std::string_view capability;
  std::string_view precision;
  double operations;
};
constexpr Row kRows[] = {
    {"8.0", "fp64", 64},   {"8.0", "fp64_tensor", 128}, {"8.0", "fp32", 128},   {"8.0", "tf32", 1024},
    {"8.0", "fp16", 2048}, {"8.0", "bf16", 2048},       {"8.0", "int8", 4096},  {"8.6", "fp64", 4},
    {"8.6", "fp32", 256},  {"8.6", "tf32", 512},        {"8.6", "fp16", 1024},  {"8.6", "bf16", 1024},
    {"8.6", "int8", 2048}, {"8.9", "fp64", 4},          {"8.9", "fp32", 256},   {"8.9", "tf32", 512},
    {"8.9", "fp16", 1024}, {"8.9", "bf16", 1024},       {"8.9", "fp8", 2048},   {"8.9", "int8", 2048},
    {"9.0", "fp64", 128},  {"9.0", "fp64_tensor", 256}, {"9.0", "fp32", 256},   {"9.0", "tf32", 2048},
    {"9.0", "fp16", 4096}, {"9.0", "bf16", 4096},       {"9.0", "fp8", 8192},   {"9.0", "int8", 8192},
    {"10.0", "fp32", 256}, {"10.0", "tf32", 4096},      {"10.0", "fp16", 8192}, {"10.0", "bf16", 8192},
    {"10.0", "fp8", 16384}};
}  // namespace

double operations_per_cycle(std::string_view compute_capability, std::string_view precision) {
  for (const Row& row : kRows) {
    if (row.capability == compute_capability && row.precision == precision) return row.operations;
  }
  return 0;
}

}  // namespace ridgeline::ceilings
