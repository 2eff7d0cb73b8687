// large_vector.h: vectors with an element a launch, which may take hundreds of megabytes.
#pragma once

#include <cstddef>
#include <memory>
#include <new>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

namespace ridgeline::analyzer {

/// Asks the system for large pages where an allocation fills several: filling memory 4 KiB at a time costs a fault
/// each, which is a fifth of the time that ranking a step of millions of launches takes.
template <typename T>
class LargePageAllocator {
 public:
  using value_type = T;
  LargePageAllocator() = default;
  template <typename U>
  LargePageAllocator(const LargePageAllocator<U>&) {}  // NOLINT: one is as good as another

  [[nodiscard]] T* allocate(std::size_t count) {
    if (!is_large(count)) return std::allocator<T>().allocate(count);
    void* const memory = ::operator new(count * sizeof(T), kPage);
#ifdef __linux__
    (void)::madvise(memory, count * sizeof(T), MADV_HUGEPAGE);  // a wish: without it all works as well
#endif
    return static_cast<T*>(memory);
  }
  void deallocate(T* memory, std::size_t count) {
    if (is_large(count)) {
      ::operator delete(memory, kPage);
    } else {
      std::allocator<T>().deallocate(memory, count);
    }
  }
  friend bool operator==(const LargePageAllocator&, const LargePageAllocator&) {
    return true;
  }

 private:
  static constexpr std::align_val_t kPage{std::size_t{1} << 21};
  static constexpr bool is_large(std::size_t count) {
    return count > 4 * (static_cast<std::size_t>(kPage) / sizeof(T));
  }
};

template <typename T>
using LargeVector = std::vector<T, LargePageAllocator<T>>;

}  // namespace ridgeline::analyzer
