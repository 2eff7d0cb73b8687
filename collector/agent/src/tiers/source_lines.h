// Finds the source line of an instruction, from copies of the cubins that have a line table.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>
#include <vector>

#include "cupti/cupti_api.h"
#include "ridgeline/spool/writer.h"

namespace ridgeline::agent {

class SourceLines {
 public:
  /// Copies beyond this many bytes are not made.
  static constexpr std::size_t kMaxBytes = 256u << 20;

  SourceLines(const CuptiApi& api, spool::Writer& writer) : api_(api), writer_(writer) {}

  /// Keeps a copy if the cubin was compiled with source lines (-lineinfo, -G; Triton does). Thread-safe.
  void take_module(const void* cubin, std::size_t size) noexcept;
  /// An instruction that was sampled.
  void want(std::uint64_t cubin_crc, const char* function, std::uint32_t kernel_id, std::uint32_t pc_offset,
            std::uint64_t samples);
  /// Writes a record for each wanted instruction whose line is known, most samples first, for at most
  /// `budget_ns`; forgets what was wanted. True if all were looked up.
  bool write(std::int64_t budget_ns);
  /// Lets go of the copies.
  void clear() noexcept;

  bool incomplete() const noexcept { return incomplete_; }

 private:
  struct Key {
    std::uint64_t crc;
    std::string function;
    bool operator<(const Key& other) const {
      return crc != other.crc ? crc < other.crc : function < other.function;
    }
  };
  struct Wanted {
    std::uint32_t kernel_id = 0;
    std::map<std::uint32_t, std::uint64_t> samples;  // by offset
  };

  const CuptiApi& api_;
  spool::Writer& writer_;
  std::mutex mutex_;                                   // the copies
  std::map<std::uint64_t, std::vector<char>> cubins_;  // by CRC
  std::size_t bytes_ = 0;
  bool incomplete_ = false;
  std::map<Key, Wanted> wanted_;
};

}  // namespace ridgeline::agent
