// nvtx.h: RAII ranges in NVTX's default domain, so that every tool sees them without set-up.
#pragma once

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include <cstdint>

namespace ridgeline::gpt2 {

/// What an op must do at least: the bytes it must move through device memory when each input is read once
/// and each output written once, and its floating-point operations (a multiply-add counts 2).
/// Travels as the range's extended payload; the layout is a public interface of the trainer.
struct OpCost {
  std::int64_t bytes = 0;
  std::int64_t flops = 0;
};

/// Schema id of an OpCost payload, in NVTX's range of static (user-chosen) ids. A tool that knows nothing of
/// the id ignores the payload; one that does reads two little-endian int64 {bytes, flops}.
inline constexpr std::uint64_t kOpCostSchemaId = (std::uint64_t{1} << 24) + 0x524C;

/// Pushes a range on construction, pops it on destruction, on the same thread. Costs tens of ns when no tool
/// listens. `name` is copied by the tool during the call.
class NvtxRange {
 public:
  explicit NvtxRange(const char* name) noexcept { nvtxRangePushA(name); }

  NvtxRange(const char* name, const OpCost& cost) noexcept {
    register_schema_once();
    const nvtxPayloadData_t data{kOpCostSchemaId, sizeof(OpCost), &cost};
    nvtxEventAttributes_t attributes{};
    attributes.version = NVTX_VERSION;
    attributes.size = NVTX_EVENT_ATTRIB_STRUCT_SIZE;
    attributes.messageType = NVTX_MESSAGE_TYPE_ASCII;
    attributes.message.ascii = name;
    attributes.payloadType = NVTX_PAYLOAD_TYPE_EXT;
    attributes.reserved0 = 1;  // the number of payload blobs, as NVTX's extension defines this field
    attributes.payload.ullValue = reinterpret_cast<std::uint64_t>(&data);
    nvtxRangePushEx(&attributes);
  }

  NvtxRange(const NvtxRange&) = delete;
  NvtxRange& operator=(const NvtxRange&) = delete;
  ~NvtxRange() { nvtxRangePop(); }

 private:
  static void register_schema_once() noexcept {
    static const bool registered = [] {
      nvtxPayloadSchemaEntry_t entries[2] = {};
      entries[0].type = NVTX_PAYLOAD_ENTRY_TYPE_INT64;
      entries[0].name = "bytes";
      entries[0].offset = 0;
      entries[1].type = NVTX_PAYLOAD_ENTRY_TYPE_INT64;
      entries[1].name = "flops";
      entries[1].offset = sizeof(std::int64_t);
      nvtxPayloadSchemaAttr_t attributes{};
      attributes.fieldMask =
          NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
          NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
          NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID;
      attributes.name = "ridgeline.op_cost";
      attributes.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
      attributes.entries = entries;
      attributes.numEntries = 2;
      attributes.payloadStaticSize = sizeof(OpCost);
      attributes.schemaId = kOpCostSchemaId;
      nvtxPayloadSchemaRegister(nullptr, &attributes);
      return true;
    }();
    (void)registered;
  }
};

}  // namespace ridgeline::gpt2
