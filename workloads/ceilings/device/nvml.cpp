#include "ceilings/device/nvml.h"

#include <dlfcn.h>

namespace ridgeline::ceilings {

// NVML's numbers and structures: stable since its first releases, declared here because its header ships with
// few toolkits.
namespace {
constexpr int kSuccess = 0;
constexpr int kInsufficientSize = 7;
constexpr int kClockSm = 1;
constexpr int kClockMemory = 2;
constexpr int kTemperatureGpu = 0;
constexpr unsigned kFieldMemoryTemperature = 82;

struct Utilisation {
  unsigned gpu;
  unsigned memory;
};

struct FieldValue {
  unsigned field;
  unsigned scope;
  long long timestamp;
  long long latency_us;
  int type;
  int result;
  union {
    double real;
    unsigned small;
    unsigned long large;
    unsigned long long larger;
    long long whole;
  } value;
};

template <typename Function>
void find(void* library, const char* name, Function* function) {
  *function = reinterpret_cast<Function>(dlsym(library, name));
}
}  // namespace

struct Nvml::Functions {
  int (*init)() = nullptr;
  int (*shutdown)() = nullptr;
  int (*handle)(const char*, void**) = nullptr;
  int (*energy)(void*, unsigned long long*) = nullptr;
  int (*power_limit)(void*, unsigned*) = nullptr;
  int (*max_clock)(void*, int, unsigned*) = nullptr;
  int (*application_clock)(void*, int, unsigned*) = nullptr;
  int (*temperature)(void*, int, unsigned*) = nullptr;
  int (*fields)(void*, int, FieldValue*) = nullptr;
  int (*ecc)(void*, int*, int*) = nullptr;
  int (*driver)(char*, unsigned) = nullptr;
  int (*processes)(void*, unsigned*, void*) = nullptr;
  int (*utilisation)(void*, Utilisation*) = nullptr;
  int (*reasons)(void*, unsigned long long*) = nullptr;
};

Nvml::Nvml(const std::string& pci_bus_id) : functions_(new Functions) {
  library_ = dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
  if (library_ == nullptr) return;
  Functions& f = *functions_;
  find(library_, "nvmlInit_v2", &f.init);
  find(library_, "nvmlShutdown", &f.shutdown);
  find(library_, "nvmlDeviceGetHandleByPciBusId_v2", &f.handle);
  find(library_, "nvmlDeviceGetTotalEnergyConsumption", &f.energy);
  find(library_, "nvmlDeviceGetEnforcedPowerLimit", &f.power_limit);
  find(library_, "nvmlDeviceGetMaxClockInfo", &f.max_clock);
  find(library_, "nvmlDeviceGetApplicationsClock", &f.application_clock);
  find(library_, "nvmlDeviceGetTemperature", &f.temperature);
  find(library_, "nvmlDeviceGetFieldValues", &f.fields);
  find(library_, "nvmlDeviceGetEccMode", &f.ecc);
  find(library_, "nvmlSystemGetDriverVersion", &f.driver);
  find(library_, "nvmlDeviceGetComputeRunningProcesses_v3", &f.processes);
  find(library_, "nvmlDeviceGetUtilizationRates", &f.utilisation);
  find(library_, "nvmlDeviceGetCurrentClocksEventReasons", &f.reasons);
  if (f.reasons == nullptr) find(library_, "nvmlDeviceGetCurrentClocksThrottleReasons", &f.reasons);
  if (f.init == nullptr || f.handle == nullptr || f.init() != kSuccess) {
    f.shutdown = nullptr;
    return;
  }
  if (f.handle(pci_bus_id.c_str(), &device_) != kSuccess) device_ = nullptr;
}

Nvml::~Nvml() {
  if (functions_->shutdown != nullptr) functions_->shutdown();
  if (library_ != nullptr) dlclose(library_);
  delete functions_;
}

std::optional<double> Nvml::joules() const {
  unsigned long long millijoules = 0;
  if (!there() || functions_->energy == nullptr || functions_->energy(device_, &millijoules) != kSuccess)
    return std::nullopt;
  return static_cast<double>(millijoules) / 1e3;
}

std::optional<double> Nvml::power_limit_w() const {
  unsigned milliwatts = 0;
  if (!there() || functions_->power_limit == nullptr ||
      functions_->power_limit(device_, &milliwatts) != kSuccess)
    return std::nullopt;
  return milliwatts / 1e3;
}

std::optional<double> Nvml::max_sm_clock_hz() const {
  unsigned mhz = 0;
  if (!there() || functions_->max_clock == nullptr ||
      functions_->max_clock(device_, kClockSm, &mhz) != kSuccess)
    return std::nullopt;
  return mhz * 1e6;
}

std::optional<double> Nvml::max_memory_clock_hz() const {
  unsigned mhz = 0;
  if (!there() || functions_->max_clock == nullptr ||
      functions_->max_clock(device_, kClockMemory, &mhz) != kSuccess)
    return std::nullopt;
  return mhz * 1e6;
}

std::optional<double> Nvml::application_sm_clock_hz() const {
  unsigned mhz = 0;
  if (!there() || functions_->application_clock == nullptr ||
      functions_->application_clock(device_, kClockSm, &mhz) != kSuccess)
    return std::nullopt;
  return mhz * 1e6;
}

std::optional<int> Nvml::temperature_c() const {
  unsigned degrees = 0;
  if (!there() || functions_->temperature == nullptr ||
      functions_->temperature(device_, kTemperatureGpu, &degrees) != kSuccess)
    return std::nullopt;
  return static_cast<int>(degrees);
}

std::optional<int> Nvml::memory_temperature_c() const {
  FieldValue field{};
  field.field = kFieldMemoryTemperature;
  if (!there() || functions_->fields == nullptr || functions_->fields(device_, 1, &field) != kSuccess ||
      field.result != kSuccess || field.value.small == 0)
    return std::nullopt;
  return static_cast<int>(field.value.small);
}

std::optional<bool> Nvml::ecc() const {
  int current = 0, pending = 0;
  if (!there() || functions_->ecc == nullptr || functions_->ecc(device_, &current, &pending) != kSuccess)
    return std::nullopt;
  return current != 0;
}

std::string Nvml::driver_version() const {
  char text[96] = {};
  if (!there() || functions_->driver == nullptr || functions_->driver(text, sizeof text) != kSuccess)
    return {};
  return text;
}

std::optional<int> Nvml::processes() const {
  unsigned count = 0;
  if (!there() || functions_->processes == nullptr) return std::nullopt;
  const int code = functions_->processes(device_, &count, nullptr);  // asks for the number alone
  if (code != kSuccess && code != kInsufficientSize) return std::nullopt;
  return static_cast<int>(count);
}

std::optional<int> Nvml::utilisation_percent() const {
  Utilisation utilisation{};
  if (!there() || functions_->utilisation == nullptr ||
      functions_->utilisation(device_, &utilisation) != kSuccess)
    return std::nullopt;
  return static_cast<int>(utilisation.gpu);
}

unsigned long long Nvml::throttle_reasons() const {
  unsigned long long reasons = 0;
  if (!there() || functions_->reasons == nullptr || functions_->reasons(device_, &reasons) != kSuccess)
    return 0;
  return reasons;
}

std::vector<std::string> throttle_words(unsigned long long reasons) {
  constexpr struct {
    unsigned long long bit;
    const char* word;
  } kWords[] = {{0x4, "power limit"},     {0x8, "hardware slowdown"}, {0x10, "sync boost"},
                {0x20, "heat"},           {0x40, "heat (hardware)"},  {0x80, "power brake"},
                {0x100, "display clocks"}};
  std::vector<std::string> words;
  for (const auto& each : kWords) {
    if ((reasons & each.bit) != 0) words.emplace_back(each.word);
  }
  return words;
}

}  // namespace ridgeline::ceilings
