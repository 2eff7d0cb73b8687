// errors.h: failures the user can act on, told apart from broken invariants.
#pragma once

#include <stdexcept>
#include <string>

namespace ridgeline::gpt2 {

/// A bad argument or a bad input file. The message is one line: what, where, what to do. Exit code 2.
class InputError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// The loss, the gradient or a logit is not finite: training cannot go on. Exit code 1.
class DivergedError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// No usable GPU, or too little memory on it. Exit code 4.
class EnvironmentError : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

}  // namespace ridgeline::gpt2
