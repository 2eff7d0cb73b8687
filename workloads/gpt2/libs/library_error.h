// library_error.h: a call of cuBLASLt or cuDNN failed or was refused.
#pragma once

#include <stdexcept>
#include <string>

namespace ridgeline::gpt2 {

/// what() is one line: the call or problem, the library's reason, what to do where something can be done,
/// file:line.
class LibraryError : public std::runtime_error {
 public:
  LibraryError(const std::string& call, const std::string& reason, const char* file, int line)
      : std::runtime_error(call + " failed: " + reason + " at " + file + ":" + std::to_string(line)) {}
};

}  // namespace ridgeline::gpt2
