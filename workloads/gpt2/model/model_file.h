// model_file.h: the public model file: 256 int32 of header, then the 16 tensors in ParameterLayout's order.
// Header: [0] magic 20240326, [1] version (3 = fp32, 5 = bf16), [2..7] = T, V, L, NH, C, Vp.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "gpt2/model/config.h"

namespace ridgeline::gpt2 {

enum class ModelFileType { fp32, bf16 };

struct ModelFile {
  ModelConfig config;
  ModelFileType type = ModelFileType::fp32;
  std::vector<float> parameters;  // bf16 widened
};

using ModelFileHeader = std::array<std::int32_t, 256>;
inline constexpr std::int64_t kModelFileHeaderBytes = sizeof(ModelFileHeader);
ModelFileHeader model_file_header(const ModelConfig& config, ModelFileType type);

/// Only the header: enough to size a run before the gigabytes are read. Throws InputError.
ModelFile read_model_header(const std::string& path);

/// Throws InputError when the file is missing, is no model file, is truncated or has trailing bytes.
ModelFile read_model_file(const std::string& path);

/// Writes next to `path` and renames, so an interrupted save leaves the old file. Throws InputError.
void write_model_file(const std::string& path, const ModelConfig& config, ModelFileType type,
                      const std::vector<float>& parameters);

}  // namespace ridgeline::gpt2
