#include "session/exit_order.h"

#include <dlfcn.h>
#include <elf.h>
#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>

namespace ridgeline::agent {
namespace {

// In place of __cxa_atexit.
int ignore_handler(void (*)(void*), void*, void*) {
  return 0;
}

struct Relocations {
  const ElfW(Rela) * table = nullptr;
  std::size_t bytes = 0;
};

// The slots of the symbol among these relocations get another value.
bool redirect(const link_map& map, const Relocations& relocations, const ElfW(Sym) * symbols,
              const char* strings, const char* name, const void* target) noexcept {
  bool found = false;
  for (std::size_t i = 0; i < relocations.bytes / sizeof(ElfW(Rela)); ++i) {
    const ElfW(Rela)& relocation = relocations.table[i];
    const auto symbol = ELF64_R_SYM(relocation.r_info);
    if (symbol == 0 || std::strcmp(strings + symbols[symbol].st_name, name) != 0) continue;
    const std::uintptr_t slot = map.l_addr + relocation.r_offset;
    const auto page_bytes = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    // A library bound at load has its slots in pages that were made read-only.
    if (mprotect(reinterpret_cast<void*>(slot & ~(page_bytes - 1)), page_bytes, PROT_READ | PROT_WRITE) != 0)
      continue;
    *reinterpret_cast<const void* volatile*>(slot) = target;
    found = true;
  }
  return found;
}

}  // namespace

bool ignore_later_exit_handlers(void* library) noexcept {
  link_map* map = nullptr;
  if (library == nullptr || dlinfo(library, RTLD_DI_LINKMAP, &map) != 0 || map == nullptr) return false;
  const ElfW(Sym)* symbols = nullptr;
  const char* strings = nullptr;
  Relocations calls, data;
  bool with_addends = false;
  for (const ElfW(Dyn)* d = map->l_ld; d->d_tag != DT_NULL; ++d) {
    switch (d->d_tag) {
      case DT_SYMTAB:
        symbols = reinterpret_cast<const ElfW(Sym)*>(d->d_un.d_ptr);
        break;
      case DT_STRTAB:
        strings = reinterpret_cast<const char*>(d->d_un.d_ptr);
        break;
      case DT_JMPREL:
        calls.table = reinterpret_cast<const ElfW(Rela)*>(d->d_un.d_ptr);
        break;
      case DT_PLTRELSZ:
        calls.bytes = d->d_un.d_val;
        break;
      case DT_PLTREL:
        with_addends = d->d_un.d_val == DT_RELA;
        break;
      case DT_RELA:
        data.table = reinterpret_cast<const ElfW(Rela)*>(d->d_un.d_ptr);
        break;
      case DT_RELASZ:
        data.bytes = d->d_un.d_val;
        break;
      default:
        break;
    }
  }
  if (symbols == nullptr || strings == nullptr) return false;
  const auto* target = reinterpret_cast<const void*>(&ignore_handler);
  bool found = with_addends && calls.table != nullptr &&
               redirect(*map, calls, symbols, strings, "__cxa_atexit", target);
  if (data.table != nullptr) found = redirect(*map, data, symbols, strings, "__cxa_atexit", target) || found;
  return found;
}

void load_before_exit_handlers(const LibrariesToLoad& wanted, const std::string& cupti_path) noexcept try {
  if (wanted.counters) {
    // By its bare name first, as CUPTI does, or there would be two; bound to itself, since a program may
    // bring a C++ library of its own.
    const std::string name = "libnvperf_host.so";
    constexpr int kMode = RTLD_NOW | RTLD_LOCAL | RTLD_DEEPBIND;
    void* host = dlopen(name.c_str(), kMode);
    const std::size_t slash = cupti_path.rfind('/');
    if (host == nullptr && slash != std::string::npos)
      host = dlopen((cupti_path.substr(0, slash + 1) + name).c_str(), kMode);
    ignore_later_exit_handlers(host);
    dlopen("libnvidia-ptxjitcompiler.so.1", RTLD_NOW | RTLD_LOCAL);
  }
  if (wanted.clocks) dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
} catch (...) {
}

}  // namespace ridgeline::agent
