// naming.h: failures that name the capture they are of.
#pragma once

#include <string>

#include "ridgeline/base/error.h"

namespace ridgeline::queries {

/// With the file's name in front, if it is not in it.
[[nodiscard]] inline Failure naming(const std::string& path, const Failure& failure) {
  if (failure.message.find(path) != std::string::npos) return failure;
  return {failure.kind, path + ": " + failure.message};
}

}  // namespace ridgeline::queries
