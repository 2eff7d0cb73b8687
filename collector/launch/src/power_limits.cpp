#include "ridgeline/launch/power_limits.h"

#include <dlfcn.h>

#include <algorithm>
#include <chrono>
#include <nlohmann/json.hpp>

#include "child_process.h"
#include "library_symbol.h"
#include "ridgeline/base/signal_mask.h"

namespace ridgeline::launch {

namespace {

constexpr auto kNvmlPatience = std::chrono::seconds(10);
constexpr unsigned kMaxGpus = 64;

// NVML's stable functions, declared here: its header is not needed to build.
std::string ask_nvml() {
  nlohmann::json limits = nlohmann::json::object();
  void* library = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) return limits.dump();
  const auto init = symbol<int (*)()>(library, "nvmlInit_v2");
  const auto count = symbol<int (*)(unsigned*)>(library, "nvmlDeviceGetCount_v2");
  const auto get = symbol<int (*)(unsigned, void**)>(library, "nvmlDeviceGetHandleByIndex_v2");
  const auto uuid = symbol<int (*)(void*, char*, unsigned)>(library, "nvmlDeviceGetUUID");
  const auto limit = symbol<int (*)(void*, unsigned*)>(library, "nvmlDeviceGetEnforcedPowerLimit");
  if (init == nullptr || count == nullptr || get == nullptr || uuid == nullptr || limit == nullptr)
    return limits.dump();
  unsigned gpus = 0;
  if (init() != 0 || count(&gpus) != 0) return limits.dump();
  for (unsigned i = 0; i < std::min(gpus, kMaxGpus); ++i) {
    void* device = nullptr;
    char name[96] = {};
    unsigned milliwatts = 0;
    if (get(i, &device) == 0 && uuid(device, name, sizeof name - 1) == 0 && limit(device, &milliwatts) == 0)
      limits[name] = milliwatts / 1e3;
  }
  return limits.dump();
}

}  // namespace

std::map<std::string, double> power_limits_w() {
  std::map<std::string, double> limits;
  const auto answer = run_isolated(ask_nvml, kNvmlPatience);
  const nlohmann::json json =
      answer ? nlohmann::json::parse(*answer, nullptr, false) : nlohmann::json::object();
  for (const auto& [uuid, watts] : json.items()) {
    if (watts.is_number()) limits[uuid] = watts.get<double>();
  }
  return limits;
}

void PowerLimitsAhead::ask() noexcept {
  if (known_ || asked_.valid()) return;
  const AllSignalsBlocked whole;  // they are for the launcher's thread
  try {
    asked_ = std::async(std::launch::async, question_);
  } catch (...) {
  }
}

const PowerLimitsAhead::Limits& PowerLimitsAhead::get() {
  if (!known_) limits_ = asked_.valid() ? asked_.get() : question_();
  known_ = true;
  return limits_;
}

}  // namespace ridgeline::launch
