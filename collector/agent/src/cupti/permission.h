// What CUPTI answers to a user who may not read counters, and what to do about it: the same for counters,
// samples and program counters.
#pragma once

#include <cupti.h>

#include <string>

#include "messages.h"

namespace ridgeline::agent {

inline bool is_permission(CUptiResult result) noexcept {
  return result == CUPTI_ERROR_INSUFFICIENT_PRIVILEGES ||
         result == CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES;
}

/// A refusal that may pass: of several processes that ask at one moment some fail, not always as "in use".
inline bool may_pass(CUptiResult result) noexcept {
  return result != CUPTI_SUCCESS && !is_permission(result) && result != CUPTI_ERROR_NOT_SUPPORTED &&
         result != CUPTI_ERROR_INVALID_DEVICE;
}

/// What a refused call of CUPTI's rests on.
inline Refusal refusal_of(CUptiResult result) noexcept {
  return {is_permission(result) ? RefusalCause::permission : RefusalCause::cupti,
          static_cast<std::uint16_t>(result)};
}

/// `refused`, then the remedy: one line.
inline std::string with_permission_remedy(const char* refused) {
  return std::string(refused) +
         "; run as root or with CAP_SYS_ADMIN (containers: --cap-add SYS_ADMIN), or load the driver with "
         "NVreg_RestrictProfilingToAdminUsers=0";
}

}  // namespace ridgeline::agent
