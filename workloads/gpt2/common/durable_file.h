// durable_file.h: files that are whole or absent, whatever interrupts the program or the machine.
#pragma once

#include <cstdint>
#include <string>

namespace ridgeline::gpt2 {

/// A file that is written front to back. The data are on the disk when close() returns. A regular file
/// that is destroyed before close() is removed. `what` names the kind of file in messages, "model file". All
/// throw InputError: one line with the path and the system's reason.
class DurableFile {
 public:
  DurableFile(std::string what, std::string path);
  ~DurableFile();
  DurableFile(const DurableFile&) = delete;
  DurableFile& operator=(const DurableFile&) = delete;

  void write(const void* data, std::int64_t bytes);
  /// Replaces `bytes` that were written at `offset` (a header that is known only at the end).
  void rewrite(std::int64_t offset, const void* data, std::int64_t bytes);
  void close();

 private:
  [[noreturn]] void fail(int code) const;

  std::string what_;
  std::string path_;
  int descriptor_ = -1;
};

/// Renames, replacing a file (not a directory) of that name, and makes the new name durable.
void durable_rename(const std::string& what, const std::string& from, const std::string& to);

/// Makes the names in a directory durable.
void sync_directory(const std::string& what, const std::string& directory);

}  // namespace ridgeline::gpt2
