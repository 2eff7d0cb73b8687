// kernel_identity.h: from a mangled kernel name to what people and comparisons use.
#pragma once

#include <string>
#include <string_view>

#include "ridgeline/base/vocabulary.h"

namespace ridgeline::store {

struct KernelIdentity {
  std::string demangled_name;   // the mangled one if it cannot be demangled
  std::string normalised_name;  // family: without template arguments, literals, hashes, tile and stage tokens
  KernelClass kernel_class = KernelClass::other;
};

/// Pure; any text is accepted.
[[nodiscard]] KernelIdentity identify_kernel(std::string_view mangled_name);

/// The functor that tells one generic kernel of a framework from another, in its template arguments:
/// "CUDAFunctor_add" of "<4, at::native::CUDAFunctor_add<float>, …>"; "" if none is seen. Refers to
/// `arguments`.
[[nodiscard]] std::string_view functor_in(std::string_view arguments);

}  // namespace ridgeline::store
