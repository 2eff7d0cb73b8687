// copy_kind.h: the kind of a copy by the name that PyTorch's profiler and Perfetto's traces give it.
#pragma once

#include <string_view>

#include "ridgeline/base/vocabulary.h"

namespace ridgeline::import {

/// "Memcpy HtoD (Pinned -> Device)": host to device; unknown if none of the words is in it.
[[nodiscard]] constexpr CopyKind copy_kind_in(std::string_view name) {
  for (const Word<CopyKind>& word : Vocabulary<CopyKind>::kWords)
    if (word.value != CopyKind::unknown && name.find(word.text) != std::string_view::npos) return word.value;
  return CopyKind::unknown;
}

}  // namespace ridgeline::import
