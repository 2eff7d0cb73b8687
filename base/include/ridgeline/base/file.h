// file.h: reading whole small files, and leaving none behind that is not whole.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "ridgeline/base/error.h"

namespace ridgeline {

/// What may be read.
enum class FileKind {
  regular,      ///< a file on a disk; a pipe or a device is refused without waiting for it
  handed_over,  ///< also what a shell has opened: /dev/stdin, and /dev/fd/N, which its <(command) stands for
};

/// All bytes of a file. Never holds more than `max_bytes` + 1 of them.
/// Failures: io (cannot be opened or read; not of that kind), corrupt (larger). Messages do not name the file.
[[nodiscard]] Result<std::string> read_file(const std::string& path, std::size_t max_bytes,
                                            FileKind kind = FileKind::regular);

/// Files that are removed if SIGINT, SIGTERM, SIGHUP or SIGQUIT ends the process while this lives, unless the program
/// handles or ignores that signal itself. At most 16 at once; any thread.
class UnfinishedFiles {
 public:
  explicit UnfinishedFiles(std::vector<std::string> paths);
  ~UnfinishedFiles();
  UnfinishedFiles(const UnfinishedFiles&) = delete;
  UnfinishedFiles& operator=(const UnfinishedFiles&) = delete;

  /// Unlinks them, and removes folders that are empty then; there need not be any.
  void remove() const noexcept;

 private:
  std::vector<std::string> paths_;
};

/// While it lives a write past a limit on the size of files (ulimit -f) is an error like a full disk, instead of the
/// signal SIGXFSZ that ends the process without a word. Not while a program is being started, which would inherit that.
class FileSizeSignalIgnored {
 public:
  FileSizeSignalIgnored();
  ~FileSizeSignalIgnored();
  FileSizeSignalIgnored(const FileSizeSignalIgnored&) = delete;
  FileSizeSignalIgnored& operator=(const FileSizeSignalIgnored&) = delete;

 private:
  void (*before_)(int);
};

}  // namespace ridgeline
