// foreign_fields.h: all that the reader of another profiler's file hands over, as text.
#pragma once

#include <cstdio>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "ridgeline/base/error.h"
#include "support/fields.h"
#include "traces/trace_source.h"

namespace ridgeline::testing {

template <>
struct ShownParts<import::NameTable> {
  static auto of(const import::NameTable& names) {
    std::vector<std::pair<std::string, std::string>> all;
    for (std::uint32_t i = 0; i < names.size(); ++i) all.emplace_back(names.text(i), names.domain(i));
    return std::tuple(all);
  }
};

template <>
struct ShownParts<import::ForeignProcess> {
  static auto of(const import::ForeignProcess& process) {
    std::vector<import::Execution> executions;
    std::vector<import::Copy> copies;
    std::vector<import::Wait> waits;
    process.log.visit([&](const import::Execution& event) { executions.push_back(event); },
                      [&](const import::Copy& event) { copies.push_back(event); },
                      [&](const import::Wait& event) { waits.push_back(event); });
    return std::tuple(process.row, process.host_name, process.devices, process.threads, process.kernels,
                      process.names, process.ranges, process.works, process.calls, executions, copies, waits,
                      process.world_ranks, process.samples, process.losses, process.first_ns, process.last_ns,
                      process.executions, process.hidden_graphs, process.has_calls);
  }
};

/// Bytes that are no letters of a file of text, as their numbers.
inline std::string printable(const std::string& text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if ((byte >= ' ' && byte < 0x7f) || c == '\n') {
      out += c;
      continue;
    }
    char number[8];
    std::snprintf(number, sizeof number, "\\x%02x", static_cast<unsigned>(byte));
    out += number;
  }
  return out;
}

/// What `read` returns, or why it refuses.
template <typename Read>
std::string read_fields(const Read& read) {
  try {
    return printable(fields(read()));
  } catch (const Error& error) {
    return printable("refused: " + fields(error.kind()) + " " + error.message());
  }
}

}  // namespace ridgeline::testing
