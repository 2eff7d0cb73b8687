#include "program_environment.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <fstream>
#include <string_view>

#include "child_process.h"
#include "ridgeline/base/pattern.h"
#include "ridgeline/base/secrets.h"
#include "ridgeline/base/text.h"

extern char** environ;

namespace ridgeline::launch {

namespace {

// What is kept: variables that libraries document as switches of theirs. Everything else may hold anything, passwords
// included, and stays out. docs/cli.md has the list.
constexpr std::string_view kNames[] = {
    "LD_LIBRARY_PATH", "LD_PRELOAD", "VIRTUAL_ENV", "CONDA_PREFIX", "MALLOC_ARENA_MAX", "GOMP_CPU_AFFINITY",
    // ranks
    "RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "MASTER_ADDR", "MASTER_PORT",
    "OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_RANK",
    "OMPI_COMM_WORLD_LOCAL_SIZE", "PMI_RANK", "PMI_SIZE", "SLURM_JOB_ID", "SLURM_JOB_NUM_NODES",
    "SLURM_NNODES", "SLURM_NTASKS", "SLURM_NTASKS_PER_NODE", "SLURM_PROCID", "SLURM_LOCALID", "SLURM_NODEID",
    "SLURM_CPUS_PER_TASK", "SLURM_CPUS_ON_NODE", "SLURM_GPUS", "SLURM_GPUS_PER_NODE", "SLURM_GPUS_PER_TASK",
    "SLURM_JOB_PARTITION",
    // CUDA and its driver
    "CUDA_VISIBLE_DEVICES", "CUDA_DEVICE_ORDER", "CUDA_LAUNCH_BLOCKING", "CUDA_DEVICE_MAX_CONNECTIONS",
    "CUDA_DEVICE_MAX_COPY_CONNECTIONS", "CUDA_MODULE_LOADING", "CUDA_MODULE_DATA_LOADING",
    "CUDA_CACHE_DISABLE", "CUDA_CACHE_MAXSIZE", "CUDA_CACHE_PATH", "CUDA_FORCE_PTX_JIT",
    "CUDA_DISABLE_PTX_JIT", "CUDA_FORCE_JIT", "CUDA_DISABLE_JIT", "CUDA_AUTO_BOOST",
    "CUDA_SCALE_LAUNCH_QUEUES", "CUDA_GRAPHS_USE_NODE_PRIORITY", "CUDA_DEVICE_WAITS_ON_EXCEPTION",
    "CUDA_MANAGED_FORCE_DEVICE_ALLOC", "CUDA_HOME", "CUDA_PATH", "CUDA_VERSION", "CUDA_MPS_PIPE_DIRECTORY",
    "CUDA_MPS_ACTIVE_THREAD_PERCENTAGE", "CUDA_MPS_PINNED_DEVICE_MEM_LIMIT", "NVIDIA_VISIBLE_DEVICES",
    "NVIDIA_DRIVER_CAPABILITIES", "NVIDIA_TF32_OVERRIDE", "NVIDIA_REQUIRE_CUDA",
    // frameworks
    "PYTORCH_ALLOC_CONF", "PYTORCH_CUDA_ALLOC_CONF", "PYTORCH_NVML_BASED_CUDA_CHECK",
    "PYTORCH_NO_CUDA_MEMORY_CACHING", "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE", "TORCH_CUDNN_V8_API_DISABLED",
    "TORCH_CUDNN_V8_API_LRU_CACHE_LIMIT", "TORCH_CUDA_ARCH_LIST", "TORCH_COMPILE_DISABLE",
    "TORCH_COMPILE_DEBUG", "TORCH_LOGS", "TORCH_BLAS_PREFER_CUBLASLT", "TORCHDYNAMO_DISABLE",
    "TRITON_CACHE_DIR", "TRITON_DEBUG", "TRITON_PTXAS_PATH", "TRITON_INTERPRET", "TRITON_ALWAYS_COMPILE",
    "TRITON_PRINT_AUTOTUNING", "JAX_PLATFORMS", "JAX_ENABLE_X64", "JAX_DISABLE_JIT",
    "JAX_DEFAULT_MATMUL_PRECISION", "JAX_COMPILATION_CACHE_DIR", "JAX_DEBUG_NANS", "XLA_FLAGS",
    "XLA_PYTHON_CLIENT_PREALLOCATE", "XLA_PYTHON_CLIENT_MEM_FRACTION", "XLA_PYTHON_CLIENT_ALLOCATOR",
    "TF_CPP_MIN_LOG_LEVEL", "TF_CPP_VMODULE", "TF_CUDNN_DETERMINISTIC", "TF_DETERMINISTIC_OPS",
    "TF_ENABLE_ONEDNN_OPTS", "TF_FORCE_GPU_ALLOW_GROWTH", "TF_GPU_ALLOCATOR", "TF_GPU_THREAD_MODE",
    "TF_GPU_THREAD_COUNT", "TF_XLA_FLAGS", "TF_ENABLE_CUBLAS_TENSOR_OP_MATH_FP32"};
// Libraries whose variables are all switches, documented as such.
constexpr std::string_view kFamilies[] = {"CUBLAS_", "CUBLASLT_", "CUDNN_",      "CUTLASS_",      "NCCL_",
                                          "NVTE_",   "NVSHMEM_",  "UCX_",        "OMP_",          "KMP_",
                                          "MKL_",    "NVTX_",     "TORCH_NCCL_", "TORCHINDUCTOR_"};

bool is_relevant(std::string_view name) {
  if (is_secret_name(name)) return false;
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames) ||
         std::any_of(std::begin(kFamilies), std::end(kFamilies),
                     [&](std::string_view family) { return name.starts_with(family); });
}

}  // namespace

std::map<std::string, std::string> relevant_environment(const std::vector<std::string>& environment,
                                                        std::span<const std::string> keep,
                                                        std::span<const std::string> redact) {
  std::map<std::string, std::string> relevant;
  for (const std::string& entry : environment) {
    const std::size_t equal = entry.find('=');
    if (equal == std::string::npos || equal == 0) continue;
    const std::string name = entry.substr(0, equal);
    const bool asked =
        !is_secret_name(name) && std::any_of(keep.begin(), keep.end(), [&](const std::string& pattern) {
          return matches_pattern(pattern, name);
        });
    if (asked || is_relevant(name))
      relevant[one_line(name)] = one_line(variable_without_secrets(name, entry.substr(equal + 1), redact));
  }
  return relevant;
}

std::vector<std::string> current_environment() {
  std::vector<std::string> entries;
  for (char** entry = environ; entry != nullptr && *entry != nullptr; ++entry) entries.emplace_back(*entry);
  return entries;
}

WorkingTree working_tree(const std::string& directory) {
  WorkingTree tree;
  // Looking must not write to somebody's repository, nor run the programs that its configuration names.
  const std::vector<std::string> git = {"git", "--no-optional-locks",     "-c", "core.fsmonitor=false",
                                        "-c",  "core.hooksPath=/dev/null"};
  const auto asked = [&](std::vector<std::string> words) {
    words.insert(words.begin(), git.begin(), git.end());
    return words;
  };
  const auto head =
      run_and_capture(asked({"rev-parse", "--verify", "HEAD"}), std::chrono::seconds(10), directory);
  if (!head || head->exit_status != 0) return tree;
  std::string commit = head->output.substr(0, head->output.find('\n'));
  const bool is_hash = commit.size() >= 40 && std::all_of(commit.begin(), commit.end(), [](unsigned char c) {
                         return std::isxdigit(c) != 0;
                       });
  if (!is_hash) return tree;
  tree.commit = std::move(commit);
  const auto status = run_and_capture(asked({"status", "--porcelain", "--untracked-files=no"}),
                                      std::chrono::seconds(30), directory);
  if (status && status->exit_status == 0) tree.dirty = !status->output.empty();
  return tree;
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? one_line(name.data()) : "";
}

std::string operating_system() {
  std::string distribution;
  std::ifstream release("/etc/os-release");
  for (std::string line; std::getline(release, line);) {
    constexpr std::string_view kKey = "PRETTY_NAME=";
    if (line.rfind(kKey, 0) != 0) continue;
    distribution = line.substr(kKey.size());
    if (distribution.size() >= 2 && distribution.front() == '"') {
      distribution = distribution.substr(1, distribution.size() - 2);
    }
  }
  utsname system{};
  if (uname(&system) != 0) return one_line(distribution);
  return one_line(fmt::format("{}{}{} {} {}", distribution, distribution.empty() ? "" : ", ", system.sysname,
                              system.release, system.machine));
}

}  // namespace ridgeline::launch
