// Puts lines for a person into the spool: refused tiers, failures, remedies.
#pragma once

#include <cstdint>
#include <string_view>

#include "ridgeline/spool/writer.h"

namespace ridgeline::agent {

/// One line: what, where, what to do. Thread-safe, never throws, survives a full disk for the first few
/// hundred.
inline void put_message(spool::Writer& writer, std::int64_t time_ns, Severity severity, spool::Topic topic,
                        std::string_view text) noexcept {
  spool::MessageRecord m{};
  m.time_ns = time_ns;
  m.severity = severity;
  m.topic = topic;
  m.text = writer.intern_reserved(text);
  writer.put_reserved(m);
}

}  // namespace ridgeline::agent
