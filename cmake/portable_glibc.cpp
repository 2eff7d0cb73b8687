// portable_glibc.cpp: what the compiler's static runtime takes of glibc 2.35 and 2.36, done by what 2.34 has, so that
// a portable build also runs on the systems of manylinux_2_34. Linked into portable programs and the agent; hidden, so
// that nobody else meets it.
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <dlfcn.h>
#include <link.h>
#include <sys/random.h>
#include <sys/types.h>

#include <cstdint>
#include <cstdlib>

#define RIDGELINE_HIDDEN __attribute__((visibility("hidden"), used))

extern "C" {

#if __GLIBC_PREREQ(2, 35)
// std::random_device's source since glibc 2.36.
RIDGELINE_HIDDEN std::uint32_t arc4random() noexcept {
  std::uint32_t value = 0;
  if (getrandom(&value, sizeof value, 0) != static_cast<ssize_t>(sizeof value)) std::abort();
  return value;
}

// hypot got a version of its own in 2.35, with other handling of errno; the linker's --wrap sends calls here.
double hypot_of_2_2_5(double x, double y) noexcept;
__asm__(".symver hypot_of_2_2_5, hypot@GLIBC_2.2.5");
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): the name is the linker's
RIDGELINE_HIDDEN double __wrap_hypot(double x, double y) noexcept {
  return hypot_of_2_2_5(x, y);
}

// How the unwinder finds the unwind table of a piece of code since 2.35. Before, it walked the loaded objects, as here.
// NOLINTNEXTLINE(bugprone-reserved-identifier,readability-identifier-naming): the name is glibc's
RIDGELINE_HIDDEN int _dl_find_object(void* address, dl_find_object* found) noexcept {
  struct Search {
    std::uintptr_t address;
    dl_find_object* found;
  } search{reinterpret_cast<std::uintptr_t>(address), found};
  const auto look = [](dl_phdr_info* object, std::size_t, void* data) -> int {
    const auto* wanted = static_cast<const Search*>(data);
    const void* table = nullptr;
    bool inside = false;
    std::uintptr_t start = UINTPTR_MAX;
    std::uintptr_t end = 0;
    for (int i = 0; i < object->dlpi_phnum; ++i) {
      const ElfW(Phdr)& segment = object->dlpi_phdr[i];
      const std::uintptr_t from = object->dlpi_addr + segment.p_vaddr;
      const std::uintptr_t to = from + segment.p_memsz;
      if (segment.p_type == PT_GNU_EH_FRAME) table = reinterpret_cast<const void*>(from);
      if (segment.p_type != PT_LOAD) continue;
      inside = inside || (wanted->address >= from && wanted->address < to);
      start = from < start ? from : start;
      end = to > end ? to : end;
    }
    if (!inside || table == nullptr) return inside ? -1 : 0;
    *wanted->found = {};
    wanted->found->dlfo_map_start = reinterpret_cast<void*>(start);
    wanted->found->dlfo_map_end = reinterpret_cast<void*>(end);
    wanted->found->dlfo_eh_frame = const_cast<void*>(table);
    return 1;
  };
  return dl_iterate_phdr(look, &search) == 1 ? 0 : -1;
}
#endif

}  // extern "C"
