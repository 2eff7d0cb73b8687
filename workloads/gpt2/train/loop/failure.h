// failure.h: what an exception means for the program's end. Host only.
#pragma once

#include <exception>
#include <string>

namespace ridgeline::gpt2 {

struct Failure {
  int exit_code = 0;
  std::string text;  // one line
};

/// Of an exception that was thrown.
Failure failure_of(const std::exception_ptr& error);

}  // namespace ridgeline::gpt2
