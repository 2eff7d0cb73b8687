// library_symbol.h: functions of libraries that are loaded at run time.
#pragma once

#include <dlfcn.h>

namespace ridgeline::launch {

/// Null: the library has none of that name.
template <typename Function>
[[nodiscard]] Function symbol(void* library, const char* name) {
  return reinterpret_cast<Function>(dlsym(library, name));
}

}  // namespace ridgeline::launch
