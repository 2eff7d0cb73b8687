#include "ceilings/core/roof.h"

namespace ridgeline::ceilings {

const char* to_string(Level level) {
  switch (level) {
    case Level::dram:
      return "dram";
    case Level::l2:
      return "l2";
    case Level::l1:
      return "l1";
    case Level::shared:
      return "shared";
    case Level::compute:
      return "compute";
    case Level::launch:
      return "launch";
    case Level::pcie:
      return "pcie";
    case Level::nvlink:
      return "nvlink";
  }
  return "?";
}

const char* to_string(State state) {
  return state == State::burst ? "burst" : "sustained";
}

const char* to_string(VoidRule rule) {
  switch (rule) {
    case VoidRule::wrong_result:
      return "wrong_result";
    case VoidRule::foreign_process:
      return "foreign_process";
    case VoidRule::above_possible:
      return "above_possible";
    case VoidRule::rounds_disagree:
      return "rounds_disagree";
    case VoidRule::no_burst:
      return "no_burst";
    case VoidRule::not_settled:
      return "not_settled";
    case VoidRule::failed:
      return "failed";
  }
  return "?";
}

std::string RoofName::text() const {
  return std::string(to_string(level)) + "." + kind;
}

}  // namespace ridgeline::ceilings
