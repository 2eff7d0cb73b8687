// spool_devices.h: a device of a spool as a capture has it.
#pragma once

#include "ridgeline/spool/reader.h"
#include "ridgeline/store/records.h"

namespace ridgeline::import {

[[nodiscard]] store::Device device_of(const spool::Reader& reader, const spool::DeviceRecord& record);

}  // namespace ridgeline::import
