// spool_directory.h: the private directory a recording's spools go to.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <string>
#include <vector>

#include "ridgeline/base/error.h"

namespace ridgeline::launch {

class SpoolDirectory {
 public:
  /// Makes "<parent>/<stem>-<pid>.spool", of a name that is free. If the parent cannot be written and
  /// `fall_back` is set, under TMPDIR (else /tmp). Failure: io.
  [[nodiscard]] static Result<SpoolDirectory> create(const std::string& parent, const std::string& stem,
                                                     bool fall_back);

  [[nodiscard]] const std::string& path() const noexcept { return path_; }
  [[nodiscard]] std::uint64_t disk_bytes() const;  // that the spools take on the disk
  [[nodiscard]] std::vector<pid_t> pids() const;   // of the processes that have a spool
  /// Those that still run and were started for this directory: a process id alone may have been given anew.
  [[nodiscard]] std::vector<pid_t> running_pids() const;
  void remove();  // with everything in it

 private:
  explicit SpoolDirectory(std::string path) : path_(std::move(path)) {}
  std::string path_;
};

}  // namespace ridgeline::launch
