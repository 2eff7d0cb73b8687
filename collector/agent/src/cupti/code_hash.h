// A hash of the machine code of each kernel, taken from the cubin when its module is loaded, so that two
// recordings can tell "the same kernel" from "the same name".
#pragma once

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string_view>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace ridgeline::agent {

/// XXH64 with seed 0 (the published algorithm; its results are the same on every machine).
std::uint64_t hash_bytes(const void* bytes, std::size_t size) noexcept;

/// One function of a cubin: section .text.<name>.
struct CodeSection {
  std::string_view name;  // mangled; points into the cubin
  const std::byte* bytes;
  std::size_t size;
};

/// Walks the functions of a cubin (an ELF file of 64 bits in memory). Reads nothing outside [cubin, cubin +
/// size): sections that do not lie in it are passed over, and it stops once more bytes were handed out than
/// the file has.
class CubinReader {
 public:
  CubinReader(const void* cubin, std::size_t size) noexcept;
  /// False: no ELF file, or its tables do not lie in it.
  bool valid() const noexcept { return section_count_ > 0; }
  /// The next function; false at the end.
  bool next(CodeSection* section) noexcept;

 private:
  struct Header {
    std::uint32_t name, type;
    std::uint64_t offset, size;
    std::uint32_t link;
  };
  bool read(std::uint64_t offset, void* to, std::size_t bytes) const noexcept;
  bool header(std::uint64_t index, Header* h) const noexcept;

  const std::byte* base_;
  std::size_t size_;
  std::uint64_t table_ = 0;
  std::uint64_t section_count_ = 0;
  std::uint64_t at_ = 0;
  std::uint64_t names_ = 0, names_size_ = 0;
  std::uint64_t budget_ = 0;
};

/// Code hashes by kernel name. Thread-safe; takes memory when modules are loaded and kernels first seen.
class CodeHashes {
 public:
  /// Functions beyond this many are not kept (cuBLAS has some ten thousand).
  static constexpr std::size_t kMaxFunctions = 1u << 20;

  /// Takes the functions of a module. `changed(kernel_id, code_hash)` is called for each that was bound to an
  /// id under another hash: of several modules with a kernel of one name the last loaded is the newest.
  template <typename Changed>
  void take_module(std::uint32_t module_id, const void* cubin, std::size_t size, Changed&& changed) {
    CubinReader reader(cubin, size);
    CodeSection section;
    while (reader.next(&section)) {
      const std::uint64_t code = hash_bytes(section.bytes, section.size);
      const std::uint32_t kernel_id = set(section.name, code, module_id);
      if (kernel_id != 0) changed(kernel_id, code);
    }
  }
  /// The module's functions are gone; the driver may give their handles to others.
  void forget_module(std::uint32_t module_id) noexcept;
  /// Hash of the code of a function of the driver's, by its handle: what was the newest code of that name when
  /// it was asked for first. CUPTI says of no handle which module it is from, but a function is launched when its
  /// module has been loaded and mostly before the next one. A null handle: the newest code. 0: not known.
  std::uint64_t code_of(const void* function, std::string_view name) noexcept;
  /// code_of() was asked of the handle, and no module was unloaded since that it may be from.
  bool knows(const void* function) const noexcept;
  /// Hash of a kernel's newest code, 0 if its module was not seen yet: where modules are loaded lazily that happens
  /// inside the kernel's first launch. The kernel has this id from now on.
  std::uint64_t bind(std::string_view name, std::uint32_t kernel_id) noexcept;

  std::size_t size() const;

 private:
  struct Entry {
    std::uint64_t name = 0;  // hash of the name; 0: free
    std::uint64_t code = 0;
    std::uint32_t kernel_id = 0;
    std::uint32_t module_id = 0;  // that the code is from
  };
  struct Function {
    std::uint64_t name = 0;  // its hash, as in Entry
    std::uint64_t code = 0;
    std::uint32_t module_id = 0;
  };
  /// Id that the name is bound to if its hash has changed, else 0.
  std::uint32_t set(std::string_view name, std::uint64_t code, std::uint32_t module_id);
  Entry* entry(std::string_view name);            // made if need be; null: too many
  Entry* find(std::uint64_t name_hash) noexcept;  // its entry or the free one it would take
  void grow();

  mutable std::mutex mutex_;
  std::vector<Entry> entries_;  // open addressing, a power of two, at most half full
  std::size_t count_ = 0;
  std::unordered_map<const void*, Function> functions_;  // by handle
  std::unordered_set<const void*> without_code_;         // further handles
};

}  // namespace ridgeline::agent
