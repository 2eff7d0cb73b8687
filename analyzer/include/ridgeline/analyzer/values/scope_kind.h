// scope_kind.h: what sort of thing a question is about, for whoever puts the answer into words.
#pragma once

#include <cstdint>
#include <string_view>

#include "ridgeline/base/vocabulary.h"

namespace ridgeline::analyzer {

enum class ScopeKind : std::uint8_t {
  step,       ///< one step, a part of it, or several together
  range,      ///< instances of NVTX ranges, in steps or not
  window,     ///< a stretch of time
  recording,  ///< all that was recorded, for there are no steps
};

}  // namespace ridgeline::analyzer

namespace ridgeline {

template <>
struct Vocabulary<analyzer::ScopeKind> {
  using Kind = analyzer::ScopeKind;
  static constexpr std::string_view kName = "kind of scope";
  static constexpr Word<Kind> kWords[] = {
      {Kind::step, "step"}, {Kind::range, "range"}, {Kind::window, "window"}, {Kind::recording, "recording"}};
};

}  // namespace ridgeline
