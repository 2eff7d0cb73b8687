#include "ridgeline/analyzer/values/roof.h"

namespace ridgeline::analyzer {

std::string_view to_string(Roof roof) {
  switch (roof) {
    case Roof::dram:
      return "DRAM";
    case Roof::l2:
      return "L2";
    case Roof::issue:
      return "issue";
    case Roof::tensor:
      return "tensor";
    case Roof::fma:
      return "fma";
    case Roof::fp16:
      return "fp16";
    case Roof::fp64:
      return "fp64";
    case Roof::alu:
      return "alu";
    case Roof::xu:
      return "xu";
  }
  return "?";
}

}  // namespace ridgeline::analyzer
