// names.h: names as they are, or hashed.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace ridgeline::exports {

/// FNV-1a, 64 bits.
[[nodiscard]] inline std::string hash_of(std::string_view text) {
  std::uint64_t hash = 14695981039346656037ULL;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 1099511628211ULL;
  std::string digits;
  for (int shift = 60; shift >= 0; shift -= 4) digits += "0123456789abcdef"[(hash >> shift) & 15U];
  return digits;
}

/// What a name is called in the export: "kernel_1f2e…" if names are stripped.
class Names {
 public:
  explicit Names(bool strip) : strip_(strip) {}
  [[nodiscard]] std::string of(std::string_view kind, std::string_view name) const {
    if (!strip_ || name.empty()) return std::string(name);
    return std::string(kind) + "_" + hash_of(name);
  }
  [[nodiscard]] bool stripped() const { return strip_; }

 private:
  bool strip_;
};

}  // namespace ridgeline::exports
