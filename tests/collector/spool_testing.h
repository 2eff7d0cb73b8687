// What the spool tests share: a directory that goes away, a writer in it, bytes of a file.
#pragma once

#include <gtest/gtest.h>
#include <stdlib.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "ridgeline/spool/reader.h"
#include "ridgeline/spool/writer.h"
#include "support/temporary_directory.h"
#include "support/whole_file.h"

namespace ridgeline::spool::testing {

using ridgeline::testing::TemporaryDirectory;

inline Writer* make_writer(const std::string& directory, std::uint64_t limit_bytes = 1ull << 30) {
  Writer::Options options;
  options.directory = directory;
  options.pid = static_cast<std::uint32_t>(getpid());
  options.start_ns = 1234567890;
  options.clock = kClockCupti;
  options.agent_version = "test";
  options.limit_bytes = limit_bytes;
  std::string error;
  Writer* writer = Writer::create(options, &error);
  EXPECT_NE(writer, nullptr) << error;
  return writer;
}

inline KernelRecord kernel(std::uint32_t correlation_id) {
  KernelRecord k{};
  k.correlation_id = correlation_id;
  k.kernel_id = correlation_id % 7 + 1;
  k.start_ns = 1000ll * correlation_id;
  k.end_ns = k.start_ns + 500;
  k.grid_x = correlation_id + 3;
  return k;
}

inline std::vector<char> file_bytes(const std::string& path) {
  const std::string bytes = ridgeline::testing::whole_file(path);
  return {bytes.begin(), bytes.end()};
}
inline void put_file(const std::string& path, const std::vector<char>& bytes) {
  std::ofstream out(path, std::ios::binary | std::ios::trunc);
  out.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
}

}  // namespace ridgeline::spool::testing

/// Writers and sessions are leaked by design (see writer.h), so a leak checker need not report them.
/// NOLINTNEXTLINE(bugprone-reserved-identifier)
extern "C" __attribute__((used)) inline const char* __lsan_default_suppressions() {
  return "leak:ridgeline::spool::Writer::\nleak:ridgeline::agent::\n";
}
