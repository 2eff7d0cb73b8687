#include "cupti/counter_availability.h"

namespace ridgeline::agent {
namespace {

// First for the size of the image, then for the image.
template <typename Call, typename Params>
CUptiResult ask(Call call, Params& params, std::vector<std::uint8_t>* image) {
  if (const CUptiResult result = call(&params); result != CUPTI_SUCCESS) return result;
  image->resize(params.counterAvailabilityImageSize);
  params.pCounterAvailabilityImage = image->data();
  return call(&params);
}

}  // namespace

CUptiResult ask_counter_availability(const CuptiApi& api, CUcontext context,
                                     std::vector<std::uint8_t>* image) {
  CUpti_Profiler_GetCounterAvailability_Params p = {CUpti_Profiler_GetCounterAvailability_Params_STRUCT_SIZE};
  p.ctx = context;
  return ask(api.profiler_get_counter_availability, p, image);
}

CUptiResult ask_sample_availability(const CuptiApi& api, std::uint32_t device_id,
                                    std::vector<std::uint8_t>* image) {
  CUpti_PmSampling_GetCounterAvailability_Params p = {
      CUpti_PmSampling_GetCounterAvailability_Params_STRUCT_SIZE};
  p.deviceIndex = device_id;
  return ask(api.pm_get_counter_availability, p, image);
}

bool counters_in_use(const CuptiApi& api, CUcontext context, std::uint32_t device_id) {
  std::vector<std::uint8_t> image;
  if (api.has_range_profiler && ask_counter_availability(api, context, &image) == CUPTI_ERROR_HARDWARE_BUSY)
    return true;
  return api.has_pm_sampling && ask_sample_availability(api, device_id, &image) == CUPTI_ERROR_HARDWARE_BUSY;
}

}  // namespace ridgeline::agent
