// nvtx.h: RAII ranges in NVTX's default domain, so that every tool sees them without set-up.
#pragma once

#include <nvtx3/nvToolsExt.h>
#include <nvtx3/nvToolsExtPayload.h>

#include <cstddef>
#include <cstdint>

namespace ridgeline::gpt2 {

/// What an op must do at least: the bytes it must move through device memory when each input is read once
/// and each output written once, and its floating-point operations (a multiply-add counts 2).
/// Travels as the range's extended payload; the layout is a public interface of the trainer.
struct OpCost {
  std::int64_t bytes = 0;
  std::int64_t flops = 0;
  /// Of a GEMM [m, k] × [k, n]; 0: it is none.
  std::int64_t m = 0;
  std::int64_t n = 0;
  std::int64_t k = 0;
};

/// What a step works through.
struct StepSize {
  std::int64_t tokens = 0;
  std::int64_t samples = 0;
};

/// Schema ids of the payloads, in NVTX's range of static (user-chosen) ids. A tool that knows nothing of an id ignores
/// the payload; one that does reads little-endian int64 in the structures' order.
inline constexpr std::uint64_t kOpCostSchemaId = (std::uint64_t{1} << 24) + 0x524C;
inline constexpr std::uint64_t kStepSizeSchemaId = (std::uint64_t{1} << 24) + 0x524D;

/// Pushes a range on construction, pops it on destruction, on the same thread. Costs tens of ns when no tool
/// listens. `name` is copied by the tool during the call.
class NvtxRange {
 public:
  explicit NvtxRange(const char* name) noexcept { nvtxRangePushA(name); }

  NvtxRange(const char* name, const OpCost& cost) noexcept {
    register_schemas_once();
    push(name, {kOpCostSchemaId, sizeof(OpCost), &cost});
  }

  /// The size comes first: {a, b} after a name is an OpCost.
  NvtxRange(const StepSize& size, const char* name) noexcept {
    register_schemas_once();
    push(name, {kStepSizeSchemaId, sizeof(StepSize), &size});
  }

  NvtxRange(const NvtxRange&) = delete;
  NvtxRange& operator=(const NvtxRange&) = delete;
  ~NvtxRange() { nvtxRangePop(); }

 private:
  static void push(const char* name, const nvtxPayloadData_t& data) noexcept {
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

  /// Structures of int64, named in their order.
  template <std::size_t N>
  static void register_schema(std::uint64_t id, const char* name, const char* const (&fields)[N]) noexcept {
    nvtxPayloadSchemaEntry_t entries[N] = {};
    for (std::size_t i = 0; i < N; ++i) {
      entries[i].type = NVTX_PAYLOAD_ENTRY_TYPE_INT64;
      entries[i].name = fields[i];
      entries[i].offset = i * sizeof(std::int64_t);
    }
    nvtxPayloadSchemaAttr_t attributes{};
    attributes.fieldMask =
        NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NAME | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_TYPE |
        NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_ENTRIES | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_NUM_ENTRIES |
        NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_STATIC_SIZE | NVTX_PAYLOAD_SCHEMA_ATTR_FIELD_SCHEMA_ID;
    attributes.name = name;
    attributes.type = NVTX_PAYLOAD_SCHEMA_TYPE_STATIC;
    attributes.entries = entries;
    attributes.numEntries = N;
    attributes.payloadStaticSize = N * sizeof(std::int64_t);
    attributes.schemaId = id;
    nvtxPayloadSchemaRegister(nullptr, &attributes);
  }

  static void register_schemas_once() noexcept {
    static const bool registered = [] {
      static_assert(sizeof(OpCost) == 5 * sizeof(std::int64_t) &&
                    sizeof(StepSize) == 2 * sizeof(std::int64_t));
      register_schema(kOpCostSchemaId, "ridgeline.op_cost", {"bytes", "flops", "m", "n", "k"});
      register_schema(kStepSizeSchemaId, "ridgeline.step_size", {"tokens", "samples"});
      return true;
    }();
    (void)registered;
  }
};

}  // namespace ridgeline::gpt2
