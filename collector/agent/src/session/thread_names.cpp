#include "session/thread_names.h"

#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <string_view>

namespace ridgeline::agent {
namespace {

constexpr std::size_t kNameBytes = 16;  // with the zero: prctl(2)

std::string file_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  return std::string(path.substr(slash == std::string_view::npos ? 0 : slash + 1, path.npos))
      .substr(0, kNameBytes - 1);
}

}  // namespace

ThreadNames::ThreadNames(spool::Writer& writer, const std::string& executable) noexcept : writer_(writer) {
  try {
    program_ = file_name(executable);
    command_ = file_name(program_invocation_name != nullptr ? program_invocation_name : "");
  } catch (...) {
    // Without memory threads go by more names than needed.
  }
}

void ThreadNames::write(ThreadState& thread) noexcept {
  thread.name_noted = true;
  char buffer[kNameBytes] = {};
  if (prctl(PR_GET_NAME, buffer) != 0) return;
  std::string_view name(buffer, strnlen(buffer, sizeof buffer));
  if (name == program_ || name == command_) name = {};
  if (name.empty() && thread.thread_id == static_cast<std::uint32_t>(getpid())) name = "main";
  if (name.empty()) return;
  spool::ThreadRecord record{};
  record.header.flags = spool::kSystemThreadName;
  record.thread_id = thread.thread_id;
  record.name = writer_.intern(name);
  writer_.put(record);
}

}  // namespace ridgeline::agent
