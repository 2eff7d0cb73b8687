#include "ridgeline/store/kernel_identity.h"

#include <cxxabi.h>

#include <cstdlib>
#include <memory>

namespace ridgeline::store {

KernelIdentity identify_kernel(std::string_view mangled_name) {
  const std::string mangled(mangled_name);
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> text(abi::__cxa_demangle(mangled.c_str(), nullptr, nullptr, &status),
                                                    std::free);
  KernelIdentity identity;
  identity.demangled_name = status == 0 && text ? std::string(text.get()) : mangled;
  identity.normalised_name = identity.demangled_name.substr(0, identity.demangled_name.find('<'));
  identity.kernel_class = "other";
  return identity;
}

}  // namespace ridgeline::store
