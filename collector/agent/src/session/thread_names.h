// Names of the threads that launch or wait, as the operating system has them.
#pragma once

#include <string>

#include "ridgeline/spool/writer.h"
#include "thread_state.h"

namespace ridgeline::agent {

class ThreadNames {
 public:
  /// `executable` is the program's path: a thread that has only its name has none of its own.
  ThreadNames(spool::Writer& writer, const std::string& executable) noexcept;

  /// Writes the calling thread's name, once; the program's first thread is "main" unless it is named otherwise.
  void note(ThreadState& thread) noexcept {
    if (!thread.name_noted) write(thread);
  }

 private:
  void write(ThreadState& thread) noexcept;

  spool::Writer& writer_;
  std::string program_;  // as the kernel cuts it
  std::string command_;  // the same by argv[0]
};

}  // namespace ridgeline::agent
