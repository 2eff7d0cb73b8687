#include "cupti/counters_in_use.h"

#include <vector>

namespace ridgeline::agent {
namespace {

// The image, which is of no use here, is asked for since it takes the counters to make one.
template <typename Call, typename Params>
bool in_use(Call call, Params& params) {
  CUptiResult result = call(&params);
  if (result == CUPTI_SUCCESS) {
    std::vector<std::uint8_t> image(params.counterAvailabilityImageSize);
    params.pCounterAvailabilityImage = image.data();
    result = call(&params);
  }
  return result == CUPTI_ERROR_HARDWARE_BUSY;
}

}  // namespace

bool counters_in_use(const CuptiApi& api, CUcontext context, std::uint32_t device_id) {
  if (api.has_range_profiler) {
    CUpti_Profiler_GetCounterAvailability_Params p = {
        CUpti_Profiler_GetCounterAvailability_Params_STRUCT_SIZE};
    p.ctx = context;
    if (in_use(api.profiler_get_counter_availability, p)) return true;
  }
  if (!api.has_pm_sampling) return false;
  CUpti_PmSampling_GetCounterAvailability_Params p = {
      CUpti_PmSampling_GetCounterAvailability_Params_STRUCT_SIZE};
  p.deviceIndex = device_id;
  return in_use(api.pm_get_counter_availability, p);
}

}  // namespace ridgeline::agent
