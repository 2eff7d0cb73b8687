#include "gpt2/libs/matmul_cache.h"

#include <unistd.h>

#include <array>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>
#include <stdexcept>

#include "gpt2/common/durable_file.h"

namespace ridgeline::gpt2 {
namespace {

constexpr const char* kFormat = "ridgeline-matmul-cache";
constexpr int kVersion = 1;
constexpr const char* kSearch = "full";
constexpr std::uintmax_t kLargestFile_bytes = std::uintmax_t{16} << 20;

std::string to_hex(const cublasLtMatmulAlgo_t& algo) {
  std::array<unsigned char, sizeof(algo.data)> bytes{};
  std::memcpy(bytes.data(), algo.data, bytes.size());
  std::string text;
  for (const unsigned char byte : bytes) {
    constexpr const char* kDigits = "0123456789abcdef";
    text += kDigits[byte >> 4];
    text += kDigits[byte & 15];
  }
  return text;
}

cublasLtMatmulAlgo_t from_hex(const std::string& text) {
  cublasLtMatmulAlgo_t algo{};
  std::array<unsigned char, sizeof(algo.data)> bytes{};
  if (text.size() != 2 * bytes.size()) throw std::runtime_error("an algorithm of the wrong length");
  const auto digit = [](char c) -> unsigned {
    if (c >= '0' && c <= '9') return static_cast<unsigned>(c - '0');
    if (c >= 'a' && c <= 'f') return static_cast<unsigned>(c - 'a') + 10;
    throw std::runtime_error("an algorithm that is not hexadecimal");
  };
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = static_cast<unsigned char>(digit(text[2 * i]) << 4 | digit(text[2 * i + 1]));
  }
  std::memcpy(algo.data, bytes.data(), bytes.size());
  return algo;
}

}  // namespace

std::map<std::string, MatmulSelection> load_matmul_cache(const std::string& path,
                                                         const MatmulCacheIdentity& identity,
                                                         std::string* ignored) {
  ignored->clear();
  std::map<std::string, MatmulSelection> entries;
  std::error_code error;
  if (!std::filesystem::exists(path, error)) return entries;
  const auto ignore = [&](const std::string& why) {
    *ignored = "matmul cache " + path + " ignored: " + why + "; it is rebuilt";
    return std::map<std::string, MatmulSelection>{};
  };
  try {
    if (std::filesystem::file_size(path) > kLargestFile_bytes) return ignore("too large for a cache");
    std::ifstream file(path, std::ios::binary);
    if (!file) return ignore("cannot be read");
    const nlohmann::json document = nlohmann::json::parse(file);
    if (document.at("format").get<std::string>() != kFormat) return ignore("not a matmul cache");
    if (document.at("version").get<int>() != kVersion) return ignore("of another format version");
    if (document.at("cublaslt").get<std::size_t>() != identity.cublaslt_version) {
      return ignore("made with another cuBLASLt");
    }
    if (document.at("gpu").get<std::string>() != identity.gpu_name) return ignore("made on another GPU");
    for (const nlohmann::json& item : document.at("entries")) {
      const std::string search = item.at("search").get<std::string>();
      if (search == "fast") continue;  // of an older trainer, which had a shorter search: searched again
      if (search != kSearch) throw std::runtime_error("unknown search '" + search + "'");
      MatmulSelection selection;
      selection.algo = from_hex(item.at("algo").get<std::string>());
      selection.workspace_bytes = item.at("workspace_bytes").get<std::size_t>();
      selection.candidates = item.at("candidates").get<int>();
      selection.time_ns = item.at("time_ns").get<double>();
      selection.default_time_ns = item.at("default_time_ns").get<double>();
      entries.emplace(item.at("problem").get<std::string>(), selection);
    }
  } catch (const std::exception& problem) {
    std::string why = problem.what();
    for (char& c : why) {
      if (static_cast<unsigned char>(c) < ' ') c = ' ';
    }
    return ignore("damaged (" + why + ")");
  }
  return entries;
}

void store_matmul_cache(const std::string& path, const MatmulCacheIdentity& identity,
                        const std::map<std::string, MatmulSelection>& entries) {
  nlohmann::json document = {{"format", kFormat},
                             {"version", kVersion},
                             {"cublaslt", identity.cublaslt_version},
                             {"gpu", identity.gpu_name},
                             {"entries", nlohmann::json::array()}};
  for (const auto& [key, selection] : entries) {
    document["entries"].push_back({{"problem", key},
                                   {"algo", to_hex(selection.algo)},
                                   {"workspace_bytes", selection.workspace_bytes},
                                   {"search", kSearch},
                                   {"candidates", selection.candidates},
                                   {"time_ns", selection.time_ns},
                                   {"default_time_ns", selection.default_time_ns}});
  }
  // Written beside and renamed: two runs at once leave one whole file, never a mixture.
  const std::filesystem::path target(path);
  const std::string temporary = path + ".tmp." + std::to_string(::getpid());
  try {
    if (target.has_parent_path()) std::filesystem::create_directories(target.parent_path());
    const std::string text = document.dump(1) + '\n';
    DurableFile file("file", temporary);
    file.write(text.data(), static_cast<std::int64_t>(text.size()));
    file.close();
    durable_rename("file", temporary, path);
  } catch (const std::exception& problem) {
    std::error_code error;
    std::filesystem::remove(temporary, error);
    throw std::runtime_error("matmul cache " + path + " cannot be written: " + problem.what() +
                             "; name a writable file or none");
  }
}

}  // namespace ridgeline::gpt2
