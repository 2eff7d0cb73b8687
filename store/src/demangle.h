// demangle.h: readable names of C++ functions, whatever name a hostile file gives a kernel.
#pragma once

#include <string>
#include <string_view>

namespace ridgeline::store {

/// The demangled name; the name as it is if it is none of C++'s, or too long, or would grow beyond any use.
[[nodiscard]] std::string demangled(std::string_view mangled);

}  // namespace ridgeline::store
