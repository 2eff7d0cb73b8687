// libnvidia-ml.so.1 of the machine of driver.cpp. It knows nothing of CUDA_VISIBLE_DEVICES, like the real
// one.
#include <unistd.h>

#include <cstring>

namespace {

struct Card {
  const char* bus_id;
  unsigned sm_mhz, max_sm_mhz, power_mw;
};
Card g_cards[] = {{"0000:1B:00.0", 345, 1980, 75'000}, {"0000:3B:00.0", 1500, 1755, 612'000}};

}  // namespace

extern "C" {

int nvmlInit_v2() {
  return 0;
}

int nvmlDeviceGetHandleByPciBusId_v2(const char* bus_id, void** device) {
  for (Card& card : g_cards) {
    if (std::strcmp(card.bus_id, bus_id) != 0) continue;
    *device = &card;
    return 0;
  }
  return 6;  // NVML_ERROR_NOT_FOUND
}

int nvmlDeviceGetClockInfo(void* device, int type, unsigned* mhz) {
  *mhz = type == 1 ? static_cast<Card*>(device)->sm_mhz : 3201;
  return 0;
}

int nvmlDeviceGetMaxClockInfo(void* device, int type, unsigned* mhz) {
  *mhz = type == 1 ? static_cast<Card*>(device)->max_sm_mhz : 3201;
  return 0;
}

int nvmlDeviceGetPowerUsage(void* device, unsigned* mw) {
  *mw = static_cast<Card*>(device)->power_mw;
  return 0;
}

// The first card has this process and two others, the second nobody that is seen here but one.
struct Process {
  unsigned pid;
  unsigned long long used_bytes;
  unsigned gpu_instance, compute_instance;
};
int nvmlDeviceGetComputeRunningProcesses_v3(void* device, unsigned* count, Process* processes) {
  const unsigned own = static_cast<unsigned>(getpid());
  const unsigned first[] = {4711, own, 4712}, second[] = {4713};
  const bool is_first = device == &g_cards[0];
  const unsigned all = is_first ? 3 : 1;
  if (*count < all) return 7;  // NVML_ERROR_INSUFFICIENT_SIZE
  *count = all;
  for (unsigned i = 0; i < all; ++i) processes[i] = {is_first ? first[i] : second[i], 1u << 20, 0, 0};
  return 0;
}

}  // extern "C"
