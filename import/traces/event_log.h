// event_log.h: events of a process that another profiler recorded, until all of it has been read: executions, copies
// and waits in a file without a name, since there may be millions; calls and ranges, whose order counts, in memory.
#pragma once

#include <cstdint>
#include <cstdio>
#include <memory>
#include <string>
#include <type_traits>
#include <vector>

#include "recording/events.h"
#include "ridgeline/base/error.h"

namespace ridgeline::import {

/// A call that launches, as a foreign source has it. 40 bytes: there may be millions.
struct ForeignCall {
  std::int64_t enter_ns = 0, exit_ns = 0;
  std::uint32_t correlation_id = 0;
  std::uint32_t thread_id = 0;
  std::uint32_t path = 0;  ///< set by nest()
  bool graph = false;
  bool timed = true;  ///< false: stands for a call that the source does not have
};

/// A range of the program; nest() sets path, parent and depth.
struct ForeignRange {
  std::int64_t start_ns = 0, end_ns = 0;
  std::uint32_t thread_id = 0;
  std::uint32_t name = 0;    ///< index into the names of the process
  std::uint32_t path = 0;    ///< 0: none
  std::uint32_t parent = 0;  ///< position of the range round it plus one; 0: none
  std::uint32_t work = 0;    ///< index into ForeignProcess::works plus one; 0: nothing is declared for it
  std::uint16_t depth = 0;
  bool apart = false;  ///< may begin and end on any thread: no other is in it
  bool open = false;   ///< its end was not recorded
};

/// Executions, copies and waits in the order in which they were added.
class EventLog {
 public:
  /// `directory`: where there is room. Throws Error(io) if no file can be made there.
  explicit EventLog(const std::string& directory);

  void add(const Execution& event) { write('e', event); }
  void add(const Copy& event) { write('c', event); }
  void add(const Wait& event) { write('w', event); }

  /// Added to every time when it is read: a source may say last from when it counts.
  void shift(std::int64_t shift_ns) { shift_ns_ = shift_ns; }

  /// From the first on; each handler is called with a reference. Throws Error(io).
  template <typename OnExecution, typename OnCopy, typename OnWait>
  void visit(OnExecution&& on_execution, OnCopy&& on_copy, OnWait&& on_wait) const {
    rewind_for_reading();
    for (int tag = std::fgetc(file_.get()); tag != EOF; tag = std::fgetc(file_.get())) {
      if (tag == 'e')
        on_execution(shifted(read<Execution>()));
      else if (tag == 'c')
        on_copy(shifted(read<Copy>()));
      else
        on_wait(shifted(read<Wait>()));
    }
  }

 private:
  struct Close {
    void operator()(std::FILE* file) const { (void)std::fclose(file); }
  };
  template <typename Event>
  void write(char tag, const Event& event) {
    static_assert(std::is_trivially_copyable_v<Event>);
    if (std::fputc(tag, file_.get()) == EOF || std::fwrite(&event, sizeof event, 1, file_.get()) != 1)
      fail("write");
  }
  template <typename Event>
  [[nodiscard]] Event read() const {
    Event event;
    if (std::fread(&event, sizeof event, 1, file_.get()) != 1) fail("read");
    return event;
  }
  template <typename Event>
  [[nodiscard]] Event shifted(Event event) const {
    if constexpr (requires { event.start_ns; }) {
      if (!has_time(event.start_ns, event.end_ns)) return event;
      event.start_ns += shift_ns_;
      event.end_ns += shift_ns_;
    } else {
      event.enter_ns += shift_ns_;
      event.exit_ns += shift_ns_;
    }
    return event;
  }
  void rewind_for_reading() const;
  [[noreturn]] static void fail(const char* doing);

  std::unique_ptr<std::FILE, Close> file_;
  std::int64_t shift_ns_ = 0;
};

}  // namespace ridgeline::import
