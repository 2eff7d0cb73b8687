// matmul_cache.h: the chosen algorithms in a file, so that later runs start without a search.
// JSON: {"format": "ridgeline-matmul-cache", "version": 1, "cublaslt": int, "gpu": text, "entries":
// [{"problem": text (MatmulProblem::key), "algo": 128 hexadecimal digits, "workspace_bytes": int, "search":
// "full", "candidates": int, "time_ns": number, "default_time_ns": number}]}
#pragma once

#include <map>
#include <string>

#include "gpt2/libs/matmul_search.h"

namespace ridgeline::gpt2 {

/// What makes a stored algorithm valid: the library's version and the GPU.
struct MatmulCacheIdentity {
  std::size_t cublaslt_version = 0;
  std::string gpu_name;
};

/// Entries by problem key. A file that is missing gives none; one that is damaged or has another identity
/// gives none and sets ignored to one line that says why.
std::map<std::string, MatmulSelection> load_matmul_cache(const std::string& path,
                                                         const MatmulCacheIdentity& identity,
                                                         std::string* ignored);

/// Replaces the file in one step. Throws std::runtime_error when it cannot be written.
void store_matmul_cache(const std::string& path, const MatmulCacheIdentity& identity,
                        const std::map<std::string, MatmulSelection>& entries);

}  // namespace ridgeline::gpt2
