#include "ridgeline/base/error.h"

#include <string_view>

namespace ridgeline {

int exit_code(ErrorKind kind) noexcept {
  switch (kind) {
    case ErrorKind::usage:
      return 2;
    case ErrorKind::no_data:
    case ErrorKind::not_a_capture:
    case ErrorKind::newer_capture:
    case ErrorKind::corrupt:
      return 3;
    case ErrorKind::environment:
    case ErrorKind::io:
      return 4;
    case ErrorKind::cancelled:
    case ErrorKind::internal:
      return 5;
  }
  return 5;
}

namespace {
std::string with_location(const std::string& message, const std::source_location& where) {
  std::string_view file = where.file_name();
  if (auto slash = file.rfind('/'); slash != std::string_view::npos) file.remove_prefix(slash + 1);
  return message + " (" + std::string(file) + ":" + std::to_string(where.line()) + ")";
}
}  // namespace

Error::Error(ErrorKind kind, const std::string& message, std::source_location where)
    : std::runtime_error(with_location(message, where)), kind_(kind), message_(message) {}

}  // namespace ridgeline
