#include "gpt2/model/model_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "gpt2/common/durable_file.h"
#include "gpt2/common/errors.h"
#include "gpt2/model/parameters.h"

namespace ridgeline::gpt2 {
namespace {

constexpr std::int32_t kMagic = 20240326;
constexpr std::int32_t kVersionFp32 = 3;
constexpr std::int32_t kVersionBf16 = 5;
constexpr std::int64_t kChunk = 1 << 20;  // elements converted at a time

std::uint16_t to_bf16(float value) {  // round to nearest even
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7fffffffu) > 0x7f800000u) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  return static_cast<std::uint16_t>((bits + 0x7fffu + ((bits >> 16) & 1u)) >> 16);
}

std::ifstream open_model(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  if (!in) throw InputError(fmt::format("model file {}: {}", path, std::strerror(errno)));
  return in;
}

ModelFile parse_header(std::ifstream& in, const std::string& path) {
  ModelFileHeader header{};
  if (!in.read(reinterpret_cast<char*>(header.data()), kModelFileHeaderBytes)) {
    throw InputError(
        fmt::format("model file {}: shorter than its {}-byte header", path, kModelFileHeaderBytes));
  }
  if (header[0] != kMagic) {
    throw InputError(
        fmt::format("model file {}: magic is {}, not {}: this is no model file", path, header[0], kMagic));
  }
  if (header[1] != kVersionFp32 && header[1] != kVersionBf16) {
    throw InputError(fmt::format("model file {}: version {} is neither {} (fp32) nor {} (bf16)", path,
                                 header[1], kVersionFp32, kVersionBf16));
  }
  ModelFile file;
  file.type = header[1] == kVersionFp32 ? ModelFileType::fp32 : ModelFileType::bf16;
  file.config = {.max_t = header[2],
                 .vocab = header[3],
                 .padded_vocab = header[7],
                 .layers = header[4],
                 .heads = header[5],
                 .channels = header[6]};
  try {
    validate(file.config);
  } catch (const InputError& error) {
    throw InputError(fmt::format("model file {}: {}", path, error.what()));
  }
  // A hostile header must not size an allocation: the file has to be as long as the header claims.
  const std::int64_t element_bytes = file.type == ModelFileType::fp32 ? 4 : 2;
  const std::int64_t want = kModelFileHeaderBytes + ParameterLayout(file.config).total() * element_bytes;
  const auto have = static_cast<std::int64_t>(std::filesystem::file_size(path));
  if (have != want) {
    throw InputError(fmt::format("model file {}: {} bytes, its header needs {}", path, have, want));
  }
  return file;
}

}  // namespace

ModelFile read_model_header(const std::string& path) {
  std::ifstream in = open_model(path);
  return parse_header(in, path);
}

ModelFile read_model_file(const std::string& path) {
  std::ifstream in = open_model(path);
  ModelFile file = parse_header(in, path);
  const std::int64_t total = ParameterLayout(file.config).total();
  file.parameters.resize(static_cast<std::size_t>(total));
  if (file.type == ModelFileType::fp32) {
    in.read(reinterpret_cast<char*>(file.parameters.data()), total * 4);
  } else {
    std::vector<std::uint16_t> chunk(static_cast<std::size_t>(std::min(total, kChunk)));
    for (std::int64_t begin = 0; begin < total && in; begin += kChunk) {
      const std::int64_t count = std::min(kChunk, total - begin);
      in.read(reinterpret_cast<char*>(chunk.data()), count * 2);
      for (std::int64_t i = 0; i < count; ++i) {
        const std::uint32_t bits = static_cast<std::uint32_t>(chunk[static_cast<std::size_t>(i)]) << 16;
        file.parameters[static_cast<std::size_t>(begin + i)] = std::bit_cast<float>(bits);
      }
    }
  }
  if (!in) throw InputError(fmt::format("model file {}: {}", path, "reading failed before the last tensor"));
  return file;
}

void write_model_file(const std::string& path, const ModelConfig& config, ModelFileType type,
                      const std::vector<float>& parameters) {
  const std::int64_t total = ParameterLayout(config).total();
  if (static_cast<std::int64_t>(parameters.size()) != total) {
    throw std::logic_error("write_model_file: parameter count does not match the configuration");
  }
  const std::string partial = path + ".partial";
  DurableFile out("model file", partial);
  const ModelFileHeader header = model_file_header(config, type);
  out.write(header.data(), kModelFileHeaderBytes);
  if (type == ModelFileType::fp32) {
    out.write(parameters.data(), total * 4);
  } else {
    std::vector<std::uint16_t> chunk(static_cast<std::size_t>(std::min(total, kChunk)));
    for (std::int64_t begin = 0; begin < total; begin += kChunk) {
      const std::int64_t count = std::min(kChunk, total - begin);
      for (std::int64_t i = 0; i < count; ++i) {
        chunk[static_cast<std::size_t>(i)] = to_bf16(parameters[static_cast<std::size_t>(begin + i)]);
      }
      out.write(chunk.data(), count * 2);
    }
  }
  out.close();
  durable_rename("model file", partial, path);
}

ModelFileHeader model_file_header(const ModelConfig& config, ModelFileType type) {
  ModelFileHeader header{};
  header[0] = kMagic;
  header[1] = type == ModelFileType::fp32 ? kVersionFp32 : kVersionBf16;
  header[2] = config.max_t;
  header[3] = config.vocab;
  header[4] = config.layers;
  header[5] = config.heads;
  header[6] = config.channels;
  header[7] = config.padded_vocab;
  return header;
}

}  // namespace ridgeline::gpt2
