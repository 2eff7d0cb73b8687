#include "traces/event_log.h"

#include <fmt/format.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace ridgeline::import {

EventLog::EventLog(const std::string& directory) {
  std::string path = (directory.empty() ? std::string(".") : directory) + "/.ridgeline-import-XXXXXX";
  const int descriptor = mkstemp(path.data());
  if (descriptor < 0)
    throw Error(ErrorKind::io, fmt::format("cannot make a file in {}: {}",
                                           directory.empty() ? "." : directory, std::strerror(errno)));
  (void)unlink(path.c_str());  // gone with the process, whatever ends it
  file_.reset(fdopen(descriptor, "w+b"));
  if (!file_) {
    (void)close(descriptor);
    fail("open");
  }
  constexpr std::size_t kBufferBytes = 256 * 1024;
  (void)std::setvbuf(file_.get(), nullptr, _IOFBF, kBufferBytes);
}

void EventLog::rewind_for_reading() const {
  if (std::fflush(file_.get()) != 0) fail("write");
  std::rewind(file_.get());
}

void EventLog::fail(const char* doing) {
  throw Error(ErrorKind::io,
              fmt::format("cannot {} the events that were read: {}", doing, std::strerror(errno)));
}

}  // namespace ridgeline::import
