// libcuda.so.1 of a machine of two cards, as far as devices are described. CUDA_VISIBLE_DEVICES numbers them
// anew.
#include <cuda.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace {

// The card that is device `ordinal` in this process; -1: none.
int card_of(int ordinal) {
  const char* visible = std::getenv("CUDA_VISIBLE_DEVICES");
  if (visible == nullptr) return ordinal < 2 ? ordinal : -1;
  for (int i = 0; *visible != '\0'; ++i) {
    char* end = nullptr;
    const long card = std::strtol(visible, &end, 10);
    if (i == ordinal) return card == 0 || card == 1 ? static_cast<int>(card) : -1;
    visible = *end == ',' ? end + 1 : end;
  }
  return -1;
}

}  // namespace

extern "C" {

CUresult cuDeviceGet(CUdevice* device, int ordinal) {
  *device = card_of(ordinal);
  return *device < 0 ? CUDA_ERROR_INVALID_DEVICE : CUDA_SUCCESS;
}

CUresult cuDeviceGetName(char* name, int size, CUdevice device) {
  std::snprintf(name, static_cast<std::size_t>(size), "card %d", device);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetUuid_v2(CUuuid* uuid, CUdevice device) {
  std::memset(uuid->bytes, 0x10 + device, sizeof uuid->bytes);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetPCIBusId(char* id, int size, CUdevice device) {
  std::snprintf(id, static_cast<std::size_t>(size), "0000:%02X:00.0", 0x1b + 0x20 * device);
  return CUDA_SUCCESS;
}

CUresult cuDeviceGetAttribute(int* value, CUdevice_attribute which, CUdevice device) {
  *value = which == CU_DEVICE_ATTRIBUTE_MULTIPROCESSOR_COUNT ? 132 - device : 1;
  return CUDA_SUCCESS;
}

}  // extern "C"
