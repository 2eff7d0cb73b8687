// Puts lines for a person into the spool: refused tiers, failures, remedies.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "ridgeline/spool/writer.h"

namespace ridgeline::agent {

/// What a refusal rests on, as programs compare it.
struct Refusal {
  RefusalCause cause = RefusalCause::none_given;
  std::uint16_t cupti_result = 0;
};

/// One line: what, where, what to do. Thread-safe, never throws, survives a full disk for the first few
/// hundred.
inline void put_message(spool::Writer& writer, std::int64_t time_ns, Severity severity, spool::Topic topic,
                        std::string_view text, Refusal refusal = {}) noexcept {
  spool::MessageRecord m{};
  m.time_ns = time_ns;
  m.severity = severity;
  m.topic = topic;
  m.text = writer.intern_reserved(text);
  m.cause = refusal.cause;
  m.cupti_result = refusal.cupti_result;
  writer.put_reserved(m);
}

/// "107 ms", rounded.
inline std::string whole_milliseconds(std::int64_t ns) {
  return std::to_string((ns + 500'000) / 1'000'000) + " ms";
}

/// "step 12", or of a program without steps "stretch 2".
inline std::string name_of_step(std::uint32_t index) {
  return index >= spool::kFirstStretch ? "stretch " + std::to_string(index - spool::kFirstStretch)
                                       : "step " + std::to_string(index);
}

}  // namespace ridgeline::agent
