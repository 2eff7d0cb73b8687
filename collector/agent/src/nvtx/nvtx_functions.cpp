#include "nvtx/nvtx_functions.h"

#include <nvtx3/nvToolsExtPayload.h>

#include <cstring>
#include <new>
#include <string>
#include <unordered_map>

#include "injection.h"
#include "ridgeline/base/cancellation.h"
#include "ridgeline/base/spin_guard.h"

namespace ridgeline::agent {
namespace {

constexpr std::uint32_t kMaxBlobs = 8;
constexpr std::string_view kPayloadRange = "payload";  // a range that is begun with a payload has no name

// Handles given to the program. Never freed: the program may keep them to its end.
struct Domain {
  std::string name;
};
struct RegisteredString {
  std::string text;
};

// Registering the same string again gives the same handle, as programs rely on.
template <typename Handle>
class Interned {
 public:
  Handle* get(std::string text) {
    SpinGuard guard(lock_);
    auto& slot = table_[text];
    if (slot == nullptr) slot = new Handle{std::move(text)};
    return slot;
  }

 private:
  std::atomic_flag lock_ = ATOMIC_FLAG_INIT;
  std::unordered_map<std::string, Handle*> table_;
};
Interned<Domain>& domains() {
  static auto* t = new Interned<Domain>;
  return *t;
}
Interned<RegisteredString>& strings() {
  static auto* t = new Interned<RegisteredString>;
  return *t;
}

const Domain* as_domain(nvtxDomainHandle_t handle) {
  return reinterpret_cast<const Domain*>(handle);
}

spool::StringId domain_name(Session& session, nvtxDomainHandle_t handle) {
  return handle != nullptr ? session.writer().intern(as_domain(handle)->name) : 0;
}

std::string utf8(const wchar_t* text) {
  std::string out;
  for (; text != nullptr && *text != 0; ++text) {
    const auto c = static_cast<std::uint32_t>(*text);
    if (c < 0x80) {
      out += static_cast<char>(c);
    } else if (c < 0x800) {
      out += static_cast<char>(0xc0 | c >> 6);
      out += static_cast<char>(0x80 | (c & 0x3f));
    } else if (c < 0x10000) {
      out += static_cast<char>(0xe0 | c >> 12);
      out += static_cast<char>(0x80 | (c >> 6 & 0x3f));
      out += static_cast<char>(0x80 | (c & 0x3f));
    } else {
      out += static_cast<char>(0xf0 | (c >> 18 & 7));
      out += static_cast<char>(0x80 | (c >> 12 & 0x3f));
      out += static_cast<char>(0x80 | (c >> 6 & 0x3f));
      out += static_cast<char>(0x80 | (c & 0x3f));
    }
  }
  return out;
}

std::string_view text_or_empty(const char* text) {
  return text != nullptr ? std::string_view(text) : std::string_view();
}

// An event with everything taken out of NVTX's struct, whose size tells which fields the program's version
// has.
struct Event {
  std::string_view name;
  std::string wide;  // owns `name` if it came as wide characters
  NvtxAttributes attributes;
  NvtxAttributes::Blob blobs[kMaxBlobs];
};

void read_payloads(const nvtxPayloadData_t* data, std::size_t count, Event* event) {
  if (data == nullptr || count == 0) return;
  NvtxAttributes& a = event->attributes;
  a.payload_type = spool::NvtxPayloadType::binary;
  a.blob_count = count < kMaxBlobs ? static_cast<std::uint32_t>(count) : kMaxBlobs;
  for (std::uint32_t i = 0; i < a.blob_count; ++i)
    event->blobs[i] = {data[i].schemaId, data[i].size, data[i].payload};
  a.blobs = event->blobs;
}

void read_event(const nvtxEventAttributes_t* e, Event* event) {
  if (e == nullptr || e->size < NVTX_EVENT_ATTRIB_STRUCT_SIZE) return;
  switch (e->messageType) {
    case NVTX_MESSAGE_TYPE_ASCII:
      event->name = text_or_empty(e->message.ascii);
      break;
    case NVTX_MESSAGE_TYPE_UNICODE:
      event->wide = utf8(e->message.unicode);
      event->name = event->wide;
      break;
    case NVTX_MESSAGE_TYPE_REGISTERED:
      if (e->message.registered != nullptr)
        event->name = reinterpret_cast<const RegisteredString*>(e->message.registered)->text;
      break;
    default:
      break;
  }
  NvtxAttributes& a = event->attributes;
  a.category = e->category;
  if (e->colorType == NVTX_COLOR_ARGB) {
    a.has_color = true;
    a.color_argb = e->color;
  }
  switch (e->payloadType) {
    case NVTX_PAYLOAD_TYPE_UNSIGNED_INT64:
      a.payload_type = spool::NvtxPayloadType::uint64;
      a.payload = e->payload.ullValue;
      break;
    case NVTX_PAYLOAD_TYPE_INT64:
      a.payload_type = spool::NvtxPayloadType::int64;
      a.payload = e->payload.ullValue;
      break;
    case NVTX_PAYLOAD_TYPE_DOUBLE:
      a.payload_type = spool::NvtxPayloadType::float64;
      a.payload = e->payload.ullValue;
      break;
    case NVTX_PAYLOAD_TYPE_UNSIGNED_INT32:
      a.payload_type = spool::NvtxPayloadType::uint32;
      a.payload = e->payload.uiValue;
      break;
    case NVTX_PAYLOAD_TYPE_INT32:
      a.payload_type = spool::NvtxPayloadType::int32;
      a.payload = e->payload.uiValue;
      break;
    case NVTX_PAYLOAD_TYPE_FLOAT:
      a.payload_type = spool::NvtxPayloadType::float32;
      a.payload = e->payload.uiValue;
      break;
    case NVTX_PAYLOAD_TYPE_EXT:
      if (e->reserved0 > 0)
        read_payloads(reinterpret_cast<const nvtxPayloadData_t*>(e->payload.ullValue),
                      static_cast<std::size_t>(e->reserved0), event);
      break;
    default:
      break;
  }
}

// What each function has in common: no session or an exception gives the neutral answer.
template <typename Result, typename Body>
Result guarded(Result neutral, const Body& body) noexcept {
  Session* session = current_session();
  if (session == nullptr) return neutral;
  const NoCancellation whole;
  try {
    return body(*session);
  } catch (...) {
    session->totals().add(&Count::callback_errors);
    return neutral;
  }
}
template <typename Body>
void guarded_void(const Body& body) noexcept {
  guarded(0, [&](Session& s) {
    body(s);
    return 0;
  });
}

constexpr int kNoLevel = NVTX_NO_PUSH_POP_TRACKING;

int push(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* e) {
  return guarded(kNoLevel, [&](Session& s) {
    Event event;
    read_event(e, &event);
    return s.nvtx_push(domain, domain_name(s, domain), event.name, event.attributes);
  });
}
nvtxRangeId_t start(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* e) {
  return guarded(nvtxRangeId_t{0}, [&](Session& s) {
    Event event;
    read_event(e, &event);
    return nvtxRangeId_t{s.nvtx_start(domain_name(s, domain), event.name, event.attributes)};
  });
}
void mark(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* e) {
  guarded_void([&](Session& s) {
    Event event;
    read_event(e, &event);
    s.nvtx_mark(domain_name(s, domain), event.name, event.attributes);
  });
}

void NVTX_API mark_ex(const nvtxEventAttributes_t* e) {
  mark(nullptr, e);
}
void NVTX_API mark_a(const char* message) {
  guarded_void([&](Session& s) { s.nvtx_mark(0, text_or_empty(message), {}); });
}
void NVTX_API mark_w(const wchar_t* message) {
  guarded_void([&](Session& s) { s.nvtx_mark(0, utf8(message), {}); });
}
nvtxRangeId_t NVTX_API range_start_ex(const nvtxEventAttributes_t* e) {
  return start(nullptr, e);
}
nvtxRangeId_t NVTX_API range_start_a(const char* message) {
  return guarded(nvtxRangeId_t{0},
                 [&](Session& s) { return nvtxRangeId_t{s.nvtx_start(0, text_or_empty(message), {})}; });
}
nvtxRangeId_t NVTX_API range_start_w(const wchar_t* message) {
  return guarded(nvtxRangeId_t{0},
                 [&](Session& s) { return nvtxRangeId_t{s.nvtx_start(0, utf8(message), {})}; });
}
void NVTX_API range_end(nvtxRangeId_t id) {
  guarded_void([&](Session& s) { s.nvtx_end(id); });
}
int NVTX_API range_push_ex(const nvtxEventAttributes_t* e) {
  return push(nullptr, e);
}
int NVTX_API range_push_a(const char* message) {
  return guarded(kNoLevel, [&](Session& s) { return s.nvtx_push(nullptr, 0, text_or_empty(message), {}); });
}
int NVTX_API range_push_w(const wchar_t* message) {
  return guarded(kNoLevel, [&](Session& s) { return s.nvtx_push(nullptr, 0, utf8(message), {}); });
}
int NVTX_API range_pop() {
  return guarded(kNoLevel, [&](Session& s) { return s.nvtx_pop(nullptr); });
}
void NVTX_API name_thread_a(std::uint32_t thread_id, const char* name) {
  guarded_void([&](Session& s) { s.nvtx_name_thread(thread_id, text_or_empty(name)); });
}
void NVTX_API name_thread_w(std::uint32_t thread_id, const wchar_t* name) {
  guarded_void([&](Session& s) { s.nvtx_name_thread(thread_id, utf8(name)); });
}

void NVTX_API domain_mark_ex(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* e) {
  mark(domain, e);
}
nvtxRangeId_t NVTX_API domain_range_start_ex(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* e) {
  return start(domain, e);
}
void NVTX_API domain_range_end(nvtxDomainHandle_t, nvtxRangeId_t id) {
  range_end(id);
}
int NVTX_API domain_range_push_ex(nvtxDomainHandle_t domain, const nvtxEventAttributes_t* e) {
  return push(domain, e);
}
int NVTX_API domain_range_pop(nvtxDomainHandle_t domain) {
  return guarded(kNoLevel, [&](Session& s) { return s.nvtx_pop(domain); });
}
nvtxStringHandle_t NVTX_API register_string_a(nvtxDomainHandle_t, const char* text) {
  return guarded(nvtxStringHandle_t{}, [&](Session&) {
    return reinterpret_cast<nvtxStringHandle_t>(strings().get(std::string(text_or_empty(text))));
  });
}
nvtxStringHandle_t NVTX_API register_string_w(nvtxDomainHandle_t, const wchar_t* text) {
  return guarded(nvtxStringHandle_t{},
                 [&](Session&) { return reinterpret_cast<nvtxStringHandle_t>(strings().get(utf8(text))); });
}
nvtxDomainHandle_t NVTX_API domain_create_a(const char* name) {
  return guarded(nvtxDomainHandle_t{}, [&](Session&) {
    return reinterpret_cast<nvtxDomainHandle_t>(domains().get(std::string(text_or_empty(name))));
  });
}
nvtxDomainHandle_t NVTX_API domain_create_w(const wchar_t* name) {
  return guarded(nvtxDomainHandle_t{},
                 [&](Session&) { return reinterpret_cast<nvtxDomainHandle_t>(domains().get(utf8(name))); });
}

// The payload extension. NCCL closes the range in which it makes a communicator by it: left to NVTX's empty function,
// that range would never end, and all the thread's launches to come would count to it.
int NVTX_API range_push_payload(nvtxDomainHandle_t domain, const nvtxPayloadData_t* data, std::size_t count) {
  return guarded(kNoLevel, [&](Session& s) {
    Event event;
    read_payloads(data, count, &event);
    return s.nvtx_push(domain, domain_name(s, domain), kPayloadRange, event.attributes);
  });
}
int NVTX_API range_pop_payload(nvtxDomainHandle_t domain, const nvtxPayloadData_t* data, std::size_t count) {
  return guarded(kNoLevel, [&](Session& s) {
    Event event;
    read_payloads(data, count, &event);
    return s.nvtx_pop(domain, event.attributes);
  });
}
nvtxRangeId_t NVTX_API range_start_payload(nvtxDomainHandle_t domain, const nvtxPayloadData_t* data,
                                           std::size_t count) {
  return guarded(nvtxRangeId_t{0}, [&](Session& s) {
    Event event;
    read_payloads(data, count, &event);
    return nvtxRangeId_t{s.nvtx_start(domain_name(s, domain), kPayloadRange, event.attributes)};
  });
}
void NVTX_API range_end_payload(nvtxDomainHandle_t, nvtxRangeId_t id, const nvtxPayloadData_t*, std::size_t) {
  range_end(id);
}

template <typename Function>
void put(NvtxFunctionTable table, unsigned size, int id, Function function) {
  if (static_cast<unsigned>(id) < size && table[id] != nullptr)
    *table[id] = reinterpret_cast<NvtxFunctionPointer>(function);
}

}  // namespace

bool install_nvtx_functions(NvtxGetExportTableFunc_t get_export_table) noexcept {
  if (get_export_table == nullptr) return false;
  const auto* callbacks = static_cast<const NvtxExportTableCallbacks*>(get_export_table(NVTX_ETID_CALLBACKS));
  if (callbacks == nullptr || callbacks->struct_size < sizeof(NvtxExportTableCallbacks) ||
      callbacks->GetModuleFunctionTable == nullptr)
    return false;
  NvtxFunctionTable core = nullptr;
  NvtxFunctionTable core2 = nullptr;
  unsigned core_size = 0;
  unsigned core2_size = 0;
  if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE, &core, &core_size) == 0 || core == nullptr)
    return false;
  if (callbacks->GetModuleFunctionTable(NVTX_CB_MODULE_CORE2, &core2, &core2_size) == 0) core2 = nullptr;
  put(core, core_size, NVTX_CBID_CORE_MarkEx, mark_ex);
  put(core, core_size, NVTX_CBID_CORE_MarkA, mark_a);
  put(core, core_size, NVTX_CBID_CORE_MarkW, mark_w);
  put(core, core_size, NVTX_CBID_CORE_RangeStartEx, range_start_ex);
  put(core, core_size, NVTX_CBID_CORE_RangeStartA, range_start_a);
  put(core, core_size, NVTX_CBID_CORE_RangeStartW, range_start_w);
  put(core, core_size, NVTX_CBID_CORE_RangeEnd, range_end);
  put(core, core_size, NVTX_CBID_CORE_RangePushEx, range_push_ex);
  put(core, core_size, NVTX_CBID_CORE_RangePushA, range_push_a);
  put(core, core_size, NVTX_CBID_CORE_RangePushW, range_push_w);
  put(core, core_size, NVTX_CBID_CORE_RangePop, range_pop);
  put(core, core_size, NVTX_CBID_CORE_NameOsThreadA, name_thread_a);
  put(core, core_size, NVTX_CBID_CORE_NameOsThreadW, name_thread_w);
  if (core2 != nullptr) {
    put(core2, core2_size, NVTX_CBID_CORE2_DomainMarkEx, domain_mark_ex);
    put(core2, core2_size, NVTX_CBID_CORE2_DomainRangeStartEx, domain_range_start_ex);
    put(core2, core2_size, NVTX_CBID_CORE2_DomainRangeEnd, domain_range_end);
    put(core2, core2_size, NVTX_CBID_CORE2_DomainRangePushEx, domain_range_push_ex);
    put(core2, core2_size, NVTX_CBID_CORE2_DomainRangePop, domain_range_pop);
    put(core2, core2_size, NVTX_CBID_CORE2_DomainRegisterStringA, register_string_a);
    put(core2, core2_size, NVTX_CBID_CORE2_DomainRegisterStringW, register_string_w);
    put(core2, core2_size, NVTX_CBID_CORE2_DomainCreateA, domain_create_a);
    put(core2, core2_size, NVTX_CBID_CORE2_DomainCreateW, domain_create_w);
  }
  return true;
}

bool install_nvtx_payload_functions(void* module_info) noexcept {
  const auto* module = static_cast<const nvtxExtModuleInfo_t*>(module_info);
  if (module == nullptr || module->structSize < sizeof(nvtxExtModuleInfo_t) ||
      module->moduleId != NVTX_EXT_PAYLOAD_MODULEID || module->segmentsCount == 0 ||
      module->segments == nullptr)
    return false;
  const nvtxExtModuleSegment_t& segment = module->segments[0];
  const auto put_slot = [&](std::size_t id, auto function) {
    if (id < segment.slotCount) segment.functionSlots[id] = reinterpret_cast<std::intptr_t>(function);
  };
  put_slot(NVTX3EXT_CBID_nvtxRangePushPayload, range_push_payload);
  put_slot(NVTX3EXT_CBID_nvtxRangePopPayload, range_pop_payload);
  put_slot(NVTX3EXT_CBID_nvtxRangeStartPayload, range_start_payload);
  put_slot(NVTX3EXT_CBID_nvtxRangeEndPayload, range_end_payload);
  return true;
}

}  // namespace ridgeline::agent
