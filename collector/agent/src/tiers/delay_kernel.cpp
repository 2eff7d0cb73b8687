#include "tiers/delay_kernel.h"

namespace ridgeline::agent {
namespace {

constexpr char kPtx[] = R"ptx(
.version 6.4
.target sm_70
.address_size 64

.visible .entry ridgeline_agent_delay_kernel(.param .u64 delay_ns)
{
  .reg .pred %over;
  .reg .b64 %delay, %since, %now, %passed;
  mov.u64 %since, %globaltimer;
  ld.param.u64 %delay, [delay_ns];
  setp.eq.u64 %over, %delay, 0;
  @%over bra DONE;
LOOK:
  mov.u64 %now, %globaltimer;
  sub.u64 %passed, %now, %since;
  setp.lt.u64 %over, %passed, %delay;
  @%over bra LOOK;
DONE:
  ret;
}
)ptx";

}  // namespace

bool DelayKernel::prepare(std::string* why) noexcept {
  if (ready()) return true;
  if (driver_.module_load_data == nullptr || driver_.module_get_function == nullptr ||
      driver_.launch_kernel == nullptr) {
    *why = "the driver lacks the calls that launch a kernel";
    return false;
  }
  const RelaxedCapture relaxed(driver_);
  CUmodule module = nullptr;
  CUresult result = driver_.module_load_data(&module, kPtx);
  if (result == CUDA_SUCCESS) result = driver_.module_get_function(&function_, module, kName);
  if (result == CUDA_SUCCESS) return true;
  function_ = nullptr;
  *why = "the driver refuses the kernel that delays (CUDA error ";
  why->append(std::to_string(static_cast<int>(result))).append(")");
  return false;
}

CUresult DelayKernel::launch(CUstream stream, std::uint64_t delay_ns) noexcept {
  const RelaxedCapture relaxed(driver_);
  void* arguments[] = {&delay_ns};
  return driver_.launch_kernel(function_, 1, 1, 1, 1, 1, 1, 0, stream, arguments, nullptr);
}

}  // namespace ridgeline::agent
