#include "spool/spool_words.h"

#include <fmt/format.h>

#include "ridgeline/base/text.h"

namespace ridgeline::import {

using namespace spool;  // NOLINT: record names all over this file

bool same_refusal(std::string_view a, std::string_view b) {
  constexpr std::string_view kPermission = "may not read GPU counters";
  if (a.find(kPermission) != std::string_view::npos) return b.find(kPermission) != std::string_view::npos;
  const std::size_t from = a.find("CUPTI_ERROR_");
  if (from == std::string_view::npos) return false;
  return b.find(a.substr(from, a.find(' ', from) - from)) != std::string_view::npos;
}

CopyKind copy_kind(MemcpyKind kind) {
  switch (kind) {
    case MemcpyKind::host_to_device:
    case MemcpyKind::host_to_array:
      return CopyKind::host_to_device;
    case MemcpyKind::device_to_host:
    case MemcpyKind::array_to_host:
      return CopyKind::device_to_host;
    case MemcpyKind::array_to_array:
    case MemcpyKind::array_to_device:
    case MemcpyKind::device_to_array:
    case MemcpyKind::device_to_device:
      return CopyKind::device_to_device;
    case MemcpyKind::host_to_host:
      return CopyKind::host_to_host;
    case MemcpyKind::peer_to_peer:
      return CopyKind::peer_to_peer;
    case MemcpyKind::unknown:
      break;
  }
  return CopyKind::unknown;
}

std::string version_text(const Reader& reader, const VersionRecord& record) {
  const std::string text = one_line(reader.string_or(record.text, ""));
  const std::int64_t n = record.number;
  switch (record.component) {
    case Component::agent:
    case Component::kernel_driver:
      return text;
    case Component::cupti: {
      const std::string path = text.empty() ? "" : " (" + text + ")";
      // 130001 is 13.0.1; older releases had a plain count.
      if (n >= 100000) return fmt::format("{}.{}.{}{}", n / 10000, n % 10000 / 100, n % 100, path);
      return n > 0 ? fmt::format("{}{}", n, path) : text;
    }
    case Component::cuda_driver:
    case Component::cuda_runtime:
      return n > 0 ? fmt::format("{}.{}", n / 1000, n % 1000 / 10) : text;
  }
  return text;
}

const char* component_name(Component component) {
  switch (component) {
    case Component::agent:
      return "agent";
    case Component::cupti:
      return "cupti";
    case Component::cuda_driver:
      return "cuda_driver";
    case Component::kernel_driver:
      return "driver";
    case Component::cuda_runtime:
      return "cuda_runtime";
  }
  return nullptr;
}

std::string overhead_kind(std::uint32_t kind) {
  switch (kind) {
    case 0:
      return "unknown";
    case 1:
      return "driver compiler";
    case 1u << 16:
      return "buffer flush";
    case 2u << 16:
      return "instrumentation";
    case 3u << 16:
      return "resource";
    case 4u << 16:
      return "runtime triggered module loading";
    case 5u << 16:
      return "lazy function loading";
    case 6u << 16:
      return "command buffer full";
    case 7u << 16:
      return "activity buffer request";
    case 8u << 16:
      return "unified memory activity";
    default:
      return fmt::format("{}", kind);
  }
}

}  // namespace ridgeline::import
