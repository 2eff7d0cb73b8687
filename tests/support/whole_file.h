// whole_file.h: what a file holds, read at once: character by character, megabytes take a second under the sanitizers.
#pragma once

#include <filesystem>
#include <fstream>
#include <string>

namespace ridgeline::testing {

/// Empty if it cannot be read.
inline std::string whole_file(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  if (!file) return {};
  std::string bytes(static_cast<std::size_t>(file.tellg()), '\0');
  file.seekg(0);
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  return bytes;
}

}  // namespace ridgeline::testing
