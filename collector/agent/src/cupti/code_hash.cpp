#include "cupti/code_hash.h"

#include <bit>
#include <cstring>
#include <utility>

namespace ridgeline::agent {
namespace {

constexpr std::uint64_t kPrime1 = 0x9E3779B185EBCA87ull;
constexpr std::uint64_t kPrime2 = 0xC2B2AE3D27D4EB4Full;
constexpr std::uint64_t kPrime3 = 0x165667B19E3779F9ull;
constexpr std::uint64_t kPrime4 = 0x85EBCA77C2B2AE63ull;
constexpr std::uint64_t kPrime5 = 0x27D4EB2F165667C5ull;

template <typename T>
T load(const std::byte* at) noexcept {
  T value;
  std::memcpy(&value, at, sizeof value);
  return value;
}

std::uint64_t mix(std::uint64_t accumulator, std::uint64_t input) noexcept {
  return std::rotl(accumulator + input * kPrime2, 31) * kPrime1;
}

std::uint64_t merge(std::uint64_t hash, std::uint64_t accumulator) noexcept {
  return (hash ^ mix(0, accumulator)) * kPrime1 + kPrime4;
}

constexpr std::string_view kTextPrefix = ".text.";
constexpr std::size_t kElfHeaderBytes = 64;
constexpr std::size_t kSectionHeaderBytes = 64;
constexpr std::uint32_t kNoBits = 8;  // SHT_NOBITS

}  // namespace

std::uint64_t hash_bytes(const void* bytes, std::size_t size) noexcept {
  const auto* at = static_cast<const std::byte*>(bytes);
  std::size_t left = size;
  std::uint64_t hash = kPrime5;
  if (left >= 32) {
    std::uint64_t a = kPrime1 + kPrime2, b = kPrime2, c = 0, d = 0 - kPrime1;
    for (; left >= 32; left -= 32, at += 32) {
      a = mix(a, load<std::uint64_t>(at));
      b = mix(b, load<std::uint64_t>(at + 8));
      c = mix(c, load<std::uint64_t>(at + 16));
      d = mix(d, load<std::uint64_t>(at + 24));
    }
    hash = std::rotl(a, 1) + std::rotl(b, 7) + std::rotl(c, 12) + std::rotl(d, 18);
    for (const std::uint64_t accumulator : {a, b, c, d}) hash = merge(hash, accumulator);
  }
  hash += size;
  for (; left >= 8; left -= 8, at += 8)
    hash = std::rotl(hash ^ mix(0, load<std::uint64_t>(at)), 27) * kPrime1 + kPrime4;
  if (left >= 4) {
    hash = std::rotl(hash ^ load<std::uint32_t>(at) * kPrime1, 23) * kPrime2 + kPrime3;
    at += 4;
    left -= 4;
  }
  for (; left > 0; --left, ++at)
    hash = std::rotl(hash ^ static_cast<std::uint64_t>(*at) * kPrime5, 11) * kPrime1;
  hash = (hash ^ hash >> 33) * kPrime2;
  hash = (hash ^ hash >> 29) * kPrime3;
  return hash ^ hash >> 32;
}

CubinReader::CubinReader(const void* cubin, std::size_t size) noexcept
    : base_(static_cast<const std::byte*>(cubin)), size_(cubin != nullptr ? size : 0) {
  if (size_ < kElfHeaderBytes || std::memcmp(base_, "\177ELF\2\1", 6) != 0) return;
  table_ = load<std::uint64_t>(base_ + 0x28);
  if (load<std::uint16_t>(base_ + 0x3A) != kSectionHeaderBytes || table_ == 0) return;
  std::uint64_t count = load<std::uint16_t>(base_ + 0x3C);
  std::uint64_t names = load<std::uint16_t>(base_ + 0x3E);
  Header first{};
  if (!header(0, &first)) return;
  // Numbers too large for the header stand in section 0.
  if (count == 0) count = first.size;
  if (names == 0xffff) names = first.link;
  if (count > (size_ - table_) / kSectionHeaderBytes || names >= count) return;
  Header strings{};
  if (!header(names, &strings) || strings.offset > size_ || strings.size > size_ - strings.offset) return;
  names_ = strings.offset;
  names_size_ = strings.size;
  budget_ = size_;
  section_count_ = count;
}

bool CubinReader::read(std::uint64_t offset, void* to, std::size_t bytes) const noexcept {
  if (offset > size_ || bytes > size_ - offset) return false;
  std::memcpy(to, base_ + offset, bytes);
  return true;
}

bool CubinReader::header(std::uint64_t index, Header* h) const noexcept {
  std::byte raw[kSectionHeaderBytes];
  if (index > size_ / kSectionHeaderBytes || table_ > size_ ||
      !read(table_ + index * kSectionHeaderBytes, raw, sizeof raw))
    return false;
  h->name = load<std::uint32_t>(raw);
  h->type = load<std::uint32_t>(raw + 4);
  h->offset = load<std::uint64_t>(raw + 24);
  h->size = load<std::uint64_t>(raw + 32);
  h->link = load<std::uint32_t>(raw + 40);
  return true;
}

bool CubinReader::next(CodeSection* section) noexcept {
  while (at_ < section_count_) {
    Header h{};
    if (!header(at_++, &h) || h.type == kNoBits || h.name >= names_size_) continue;
    const auto* name = reinterpret_cast<const char*>(base_ + names_ + h.name);
    const auto room = static_cast<std::size_t>(names_size_ - h.name);
    if (room <= kTextPrefix.size() || std::memcmp(name, kTextPrefix.data(), kTextPrefix.size()) != 0)
      continue;
    const void* end = std::memchr(name, 0, room);
    if (end == nullptr || h.offset > size_ || h.size > size_ - h.offset || h.size == 0) continue;
    const std::string_view text(name, static_cast<std::size_t>(static_cast<const char*>(end) - name));
    if (text.size() == kTextPrefix.size()) continue;
    if (h.size > budget_) return false;  // sections that overlap: no compiler makes them
    budget_ -= h.size;
    *section = {text.substr(kTextPrefix.size()), base_ + h.offset, static_cast<std::size_t>(h.size)};
    return true;
  }
  return false;
}

namespace {

// Odd: 0 stands for a free entry.
std::uint64_t hash_of_name(std::string_view name) noexcept {
  return hash_bytes(name.data(), name.size()) | 1;
}

}  // namespace

CodeHashes::Entry* CodeHashes::find(std::uint64_t name_hash) noexcept {
  const std::size_t mask = entries_.size() - 1;
  std::size_t at = name_hash & mask;
  while (entries_[at].name != 0 && entries_[at].name != name_hash) at = (at + 1) & mask;
  return &entries_[at];
}

void CodeHashes::grow() {
  std::vector<Entry> before(entries_.empty() ? 1024 : entries_.size() * 2);
  std::swap(before, entries_);
  for (const Entry& e : before)
    if (e.name != 0) *find(e.name) = e;
}

CodeHashes::Entry* CodeHashes::entry(std::string_view name) {
  const std::uint64_t name_hash = hash_of_name(name);
  if (2 * (count_ + 1) > entries_.size()) {
    if (count_ >= kMaxFunctions) return nullptr;
    grow();
  }
  Entry* e = find(name_hash);
  if (e->name == 0) {
    e->name = name_hash;
    ++count_;
  }
  return e;
}

std::uint32_t CodeHashes::set(std::string_view name, std::uint64_t code, std::uint32_t module_id) {
  if (code == 0) code = 1;  // 0 is "not taken"
  std::lock_guard<std::mutex> guard(mutex_);
  Entry* e = entry(name);
  if (e == nullptr) return 0;
  e->module_id = module_id;
  if (e->code == code) return 0;
  e->code = code;
  return e->kernel_id;
}

void CodeHashes::forget_module(std::uint32_t module_id) noexcept {
  std::lock_guard<std::mutex> guard(mutex_);
  std::erase_if(functions_, [&](const auto& each) { return each.second.module_id == module_id; });
  without_code_.clear();
}

bool CodeHashes::knows(const void* function) const noexcept {
  std::lock_guard<std::mutex> guard(mutex_);
  return functions_.contains(function) || without_code_.contains(function);
}

std::uint64_t CodeHashes::code_of(const void* function, std::string_view name) noexcept {
  const std::uint64_t name_hash = hash_of_name(name);
  std::lock_guard<std::mutex> guard(mutex_);
  if (const auto known = functions_.find(function);
      known != functions_.end() && known->second.name == name_hash)
    return known->second.code;
  static constexpr Entry kNone{};
  const Entry& newest = entries_.empty() ? kNone : *find(name_hash);
  if (function == nullptr) return newest.code;
  try {
    if (newest.code == 0) {
      if (without_code_.size() < kMaxFunctions) without_code_.insert(function);
      return 0;
    }
    if (functions_.size() < kMaxFunctions)
      functions_[function] = {.name = name_hash, .code = newest.code, .module_id = newest.module_id};
  } catch (...) {  // no memory: asked for again at the next launch
  }
  return newest.code;
}

std::uint64_t CodeHashes::bind(std::string_view name, std::uint32_t kernel_id) noexcept {
  try {
    std::lock_guard<std::mutex> guard(mutex_);
    Entry* e = entry(name);
    if (e == nullptr) return 0;
    e->kernel_id = kernel_id;
    return e->code;
  } catch (...) {  // no memory: a kernel without a hash
    return 0;
  }
}

std::size_t CodeHashes::size() const {
  std::lock_guard<std::mutex> guard(mutex_);
  return count_;
}

}  // namespace ridgeline::agent
