#include "doctor_probe.h"

#include <dlfcn.h>
#include <fmt/format.h>
#include <unistd.h>

#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <sstream>

#include "child_process.h"
#include "library_symbol.h"
#include "ridgeline/base/text.h"

namespace ridgeline::launch {

namespace fs = std::filesystem;

namespace {

constexpr auto kDriverPatience = std::chrono::seconds(30);  // a GPU without persistence mode wakes in seconds

std::optional<std::string> file_text(const std::string& path) {
  std::ifstream file(path);
  if (!file) return std::nullopt;
  std::stringstream text;
  text << file.rdbuf();
  return text.str();
}

// The driver API's few stable functions and attribute numbers, declared here: cuda.h is not needed to build.
std::string ask_cuda() {
  nlohmann::json answer = {
      {"library", false}, {"problem", ""}, {"version", 0}, {"gpus", nlohmann::json::array()}};
  void* library = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    answer["problem"] = one_line(dlerror());
    return answer.dump();
  }
  answer["library"] = true;
  const auto init = symbol<int (*)(unsigned)>(library, "cuInit");
  const auto version = symbol<int (*)(int*)>(library, "cuDriverGetVersion");
  const auto error_text = symbol<int (*)(int, const char**)>(library, "cuGetErrorString");
  const auto count = symbol<int (*)(int*)>(library, "cuDeviceGetCount");
  const auto get = symbol<int (*)(int*, int)>(library, "cuDeviceGet");
  const auto name = symbol<int (*)(char*, int, int)>(library, "cuDeviceGetName");
  const auto attribute = symbol<int (*)(int*, int, int)>(library, "cuDeviceGetAttribute");
  const auto memory = symbol<int (*)(std::size_t*, int)>(library, "cuDeviceTotalMem_v2");
  if (init == nullptr || version == nullptr || error_text == nullptr || count == nullptr || get == nullptr ||
      name == nullptr || attribute == nullptr || memory == nullptr) {
    answer["problem"] = "libcuda.so.1 lacks functions of the driver API";
    return answer.dump();
  }
  int number = 0;
  if (version(&number) == 0) answer["version"] = number;
  const auto problem = [&](const char* call, int code) {
    const char* text = nullptr;
    error_text(code, &text);
    answer["problem"] = fmt::format("{}: {} (CUDA error {})", call, text == nullptr ? "unknown" : text, code);
  };
  if (const int code = init(0); code != 0) {
    problem("cuInit", code);
    return answer.dump();
  }
  int gpus = 0;
  if (const int code = count(&gpus); code != 0) {
    problem("cuDeviceGetCount", code);
    return answer.dump();
  }
  constexpr int kMajor = 75;  // CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR
  constexpr int kMinor = 76;
  for (int i = 0; i < gpus; ++i) {
    int device = 0;
    char text[256] = {};
    int major = 0;
    int minor = 0;
    std::size_t bytes = 0;
    if (get(&device, i) != 0) continue;
    name(text, sizeof text - 1, device);
    attribute(&major, kMajor, device);
    attribute(&minor, kMinor, device);
    memory(&bytes, device);
    answer["gpus"].push_back(
        {{"name", one_line(text)}, {"capability", fmt::format("{}.{}", major, minor)}, {"memory", bytes}});
  }
  return answer.dump();
}

}  // namespace

CudaProbe probe_cuda() {
  CudaProbe probe;
  const auto answer = run_isolated(ask_cuda, kDriverPatience);
  if (!answer) {
    probe.library_found = true;
    probe.problem = fmt::format("the driver crashed or did not answer within {} s",
                                std::chrono::seconds(kDriverPatience).count());
    return probe;
  }
  const nlohmann::json json = nlohmann::json::parse(*answer, nullptr, false);
  if (json.is_discarded()) {
    probe.problem = "the driver probe gave no answer";
    return probe;
  }
  probe.library_found = json["library"];
  probe.problem = json["problem"];
  probe.driver_version = json["version"];
  for (const auto& gpu : json["gpus"]) probe.gpus.push_back({gpu["name"], gpu["capability"], gpu["memory"]});
  return probe;
}

std::optional<std::string> probe_nvml() {
  const auto answer = run_isolated(
      [] {
        void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
        if (library == nullptr) return std::string();
        const auto init = symbol<int (*)()>(library, "nvmlInit_v2");
        const auto version = symbol<int (*)(char*, unsigned)>(library, "nvmlSystemGetDriverVersion");
        char text[96] = {};
        if (init == nullptr || version == nullptr || init() != 0 || version(text, sizeof text - 1) != 0) {
          return std::string();
        }
        return std::string(text);
      },
      kDriverPatience);
  return answer && !answer->empty() ? std::optional(one_line(*answer)) : std::nullopt;
}

std::optional<std::int64_t> probe_cupti(const std::string& path) {
  const auto answer = run_isolated(
      [&] {
        void* library = dlopen(path.c_str(), RTLD_LAZY | RTLD_LOCAL);
        if (library == nullptr) return std::string();
        const auto version = symbol<int (*)(std::uint32_t*)>(library, "cuptiGetVersion");
        std::uint32_t number = 0;
        if (version == nullptr || version(&number) != 0) return std::string();
        return std::to_string(number);
      },
      kDriverPatience);
  if (!answer || answer->empty()) return std::nullopt;
  std::int64_t number = 0;
  std::from_chars(answer->data(), answer->data() + answer->size(), number);
  return number > 0 ? std::optional(number) : std::nullopt;
}

CounterPermission counter_permission_from(const std::optional<std::string>& driver_parameters,
                                          const std::string& process_status, bool is_root) {
  CounterPermission permission;
  permission.is_root = is_root;
  if (driver_parameters) {
    std::istringstream lines(*driver_parameters);
    for (std::string line; std::getline(lines, line);) {
      constexpr std::string_view kKey = "RmProfilingAdminOnly:";
      if (line.rfind(kKey, 0) == 0) permission.admin_only = line.find('1', kKey.size()) != std::string::npos;
    }
  }
  std::istringstream lines(process_status);
  for (std::string line; std::getline(lines, line);) {
    constexpr std::string_view kKey = "CapEff:";
    if (line.rfind(kKey, 0) != 0) continue;
    const std::size_t first = line.find_first_not_of(" \t", kKey.size());
    std::uint64_t bits = 0;
    if (first != std::string::npos) std::from_chars(line.data() + first, line.data() + line.size(), bits, 16);
    constexpr int kCapSysAdmin = 21;
    permission.has_sys_admin = (bits >> kCapSysAdmin & 1) != 0;
  }
  return permission;
}

CounterPermission probe_counter_permission() {
  return counter_permission_from(file_text("/proc/driver/nvidia/params"),
                                 file_text("/proc/self/status").value_or(""), geteuid() == 0);
}

std::vector<OtherTool> probe_other_tools() {
  std::vector<OtherTool> tools;
  for (const char* name : {"CUDA_INJECTION64_PATH", "NVTX_INJECTION64_PATH"}) {
    if (const char* value = std::getenv(name); value != nullptr && *value != '\0') {
      tools.push_back({fmt::format("{} is set to {}", name, one_line(value)), true});
    }
  }
  const auto name_of = [](const std::string& process) {
    return one_line(file_text(process + "/comm").value_or(""));
  };
  // Started under a tool: one of them is among the parents.
  pid_t pid = getppid();
  for (int depth = 0; pid > 1 && depth < 64; ++depth) {
    const std::string process = fmt::format("/proc/{}", pid);
    const std::string name = name_of(process);
    for (const std::string_view tool :
         {"nsys", "ncu", "cuda-gdb", "compute-sanitiz", "nsys-launcher", "nv-nsight-cu-cli"}) {
      if (name == tool) tools.push_back({fmt::format("this runs under {} (process {})", name, pid), true});
    }
    const std::string stat = file_text(process + "/stat").value_or("");
    const std::size_t close = stat.rfind(')');  // the name in parentheses may hold anything
    if (close == std::string::npos) break;
    std::istringstream fields(stat.substr(close + 1));
    std::string state;
    pid = 0;
    fields >> state >> pid;
  }
  std::error_code code;
  for (fs::directory_iterator entry("/proc", code), end; !code && entry != end; entry.increment(code)) {
    const std::string directory = entry->path().filename().string();
    if (directory.find_first_not_of("0123456789") != std::string::npos) continue;
    const std::string name = name_of(entry->path().string());
    if (name == "nv-hostengine" || name == "dcgm-exporter") {
      tools.push_back(
          {fmt::format("{} runs (process {}) and may hold the counters", name, directory), false});
    }
  }
  return tools;
}

}  // namespace ridgeline::launch
