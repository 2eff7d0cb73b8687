#include "spool/spool_words.h"

#include <fmt/format.h>

#include <cctype>
#include <cstddef>
#include <string_view>
#include <utility>

#include "ridgeline/base/text.h"
#include "ridgeline/store/kernel_identity.h"

namespace ridgeline::import {

using namespace spool;  // NOLINT: record names all over this file

namespace {

ReasonCode code_of(Topic topic) {
  switch (topic) {
    case Topic::general:
      return ReasonCode::collector;
    case Topic::cupti_missing:
      return ReasonCode::cupti_missing;
    case Topic::subscriber_taken:
      return ReasonCode::subscriber_taken;
    case Topic::timeline_refused:
      return ReasonCode::timeline_refused;
    case Topic::counters_refused:
      return ReasonCode::counters_refused;
    case Topic::metric_unavailable:
      return ReasonCode::metric_unavailable;
    case Topic::replay:
      return ReasonCode::replay;
    case Topic::nvtx_missing:
      return ReasonCode::nvtx_missing;
    case Topic::clocks_missing:
      return ReasonCode::clocks_missing;
    case Topic::forked:
      return ReasonCode::forked;
    case Topic::configuration:
      return ReasonCode::configuration;
    case Topic::sampling:
      return ReasonCode::sampling;
    case Topic::sampling_refused:
      return ReasonCode::sampling_refused;
    case Topic::replay_exclusion:
      return ReasonCode::replay_exclusion;
    case Topic::replay_time_out:
      return ReasonCode::replay_time_out;
    case Topic::steps:
      return ReasonCode::steps;
    case Topic::window:
      return ReasonCode::window;
    case Topic::stalls:
      return ReasonCode::stalls;
    case Topic::flops:
      return ReasonCode::flops;
    case Topic::spool_full:
      return ReasonCode::spool_full;
    case Topic::nvtx_paths:
      return ReasonCode::nvtx_paths;
    case Topic::price:
      return ReasonCode::price;
    case Topic::turns:
    case Topic::company:
      return ReasonCode::turns;
  }
  return ReasonCode::collector;  // of another version
}

// The agent names kernels as the driver does, mangled; what is read is the kernel's family.
std::string with_families(std::string_view text) {
  const auto belongs = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) != 0 || c == '_' || c == '$' || c == '.';
  };
  std::string readable;
  for (std::size_t i = 0; i < text.size();) {
    std::size_t end = i;
    while (end < text.size() && belongs(text[end])) ++end;
    if (end == i) {
      readable += text[i++];
      continue;
    }
    std::string word(text.substr(i, end - i));
    if (word.starts_with("_Z")) {
      if (std::string family = store::identify_kernel(word).normalised_name; !family.empty())
        word = std::move(family);
    }
    readable += word;
    i = end;
  }
  return readable;
}

constexpr std::string_view kCause = "cause", kResult = "cupti_result";

}  // namespace

Reason words_of(const Reader& reader, ReasonCode code, StringId text) {
  if (text == 0) return Reason(ReasonCode::no_reason);
  const auto words = reader.string(text);
  return words ? Reason::said(code, one_line(*words)) : Reason(ReasonCode::text_lost);
}

Reason reason_of(const Reader& reader, const MessageRecord& message) {
  const ReasonCode code = code_of(message.topic);
  const auto words = reader.string(message.text);
  Reason reason = Reason::said(code, words ? one_line(with_families(*words)) : "");
  // Records of older agents have zero there.
  if (is_known(message.cause) && message.cause != RefusalCause::none_given) {
    reason.values.emplace_back(kCause, to_string(message.cause));
    if (message.cupti_result != 0) reason.values.emplace_back(kResult, message.cupti_result);
  }
  return reason;
}

bool same_refusal(const Reason& a, const Reason& b) {
  const std::string_view cause = a.word(kCause);
  if (cause.empty() || cause != b.word(kCause)) return false;
  if (cause == to_string(RefusalCause::permission)) return true;
  return cause == to_string(RefusalCause::cupti) && a.number(kResult) == b.number(kResult);
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
