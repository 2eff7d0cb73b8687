#include "recording/ranges.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <string>
#include <tuple>

#include "ridgeline/base/text.h"

namespace ridgeline::import {

namespace {

// NVTX payload schema of a program's declared work: little-endian int64, algorithmic bytes and FLOPs; of a matrix
// product [m, k] x [k, n] also m, n, k.
constexpr std::uint64_t kOpCostSchemaId = (std::uint64_t{1} << 24) + 0x524C;
// Of what a step works through: tokens and samples; 0: not said.
constexpr std::uint64_t kStepSizeSchemaId = (std::uint64_t{1} << 24) + 0x524D;
constexpr int kMaxPathDepth = 256;
// Stored once for each of up to 65,536 nestings: longer texts would make gigabytes of a small spool.
constexpr std::size_t kMaxRangeNameBytes = 1024;
constexpr std::size_t kMaxPathBytes = 8 * 1024;
constexpr std::size_t kMaxRecent = 1u << 16;
constexpr const char* kWorkName = "op_cost";
constexpr const char* kSizeName = "step_size";

std::optional<double> positive(std::int64_t value) {
  return value > 0 ? std::optional(static_cast<double>(value)) : std::nullopt;
}

// "tokens=32768" or "samples=32", or both with a space between: for languages whose NVTX has no payloads. Another name
// declares nothing.
std::optional<store::Annotation> size_in_name(std::string_view name) {
  store::Annotation size{.name = kSizeName};
  while (!name.empty()) {
    const std::string_view word = name.substr(0, name.find(' '));
    name.remove_prefix(std::min(name.size(), word.size() + 1));
    const std::size_t equals = word.find('=');
    if (equals == std::string_view::npos) return std::nullopt;
    auto& amount = word.substr(0, equals) == "tokens" ? size.tokens : size.samples;
    if ((word.substr(0, equals) != "tokens" && word.substr(0, equals) != "samples") || amount)
      return std::nullopt;
    std::int64_t number = 0;
    const char* end = word.data() + word.size();
    if (const auto read = std::from_chars(word.data() + equals + 1, end, number);
        read.ec != std::errc{} || read.ptr != end || number <= 0)
      return std::nullopt;
    amount = static_cast<double>(number);
  }
  return size.tokens || size.samples ? std::optional(size) : std::nullopt;
}

// What a payload declares; nothing if it is of another schema or too short.
std::optional<store::Annotation> declared_in(std::uint64_t schema_id, std::string_view bytes) {
  std::array<std::int64_t, 5> numbers{};  // those that are missing are 0
  const std::size_t known = std::min(bytes.size() / sizeof(std::int64_t), numbers.size());
  if (known < 2) return std::nullopt;
  std::memcpy(numbers.data(), bytes.data(), known * sizeof(std::int64_t));
  if (schema_id == kStepSizeSchemaId) {
    store::Annotation size{.name = kSizeName};
    size.tokens = positive(numbers[0]);
    size.samples = positive(numbers[1]);
    return size.tokens || size.samples ? std::optional(size) : std::nullopt;
  }
  if (schema_id != kOpCostSchemaId) return std::nullopt;
  store::Annotation work{
      .name = kWorkName, .bytes = static_cast<double>(numbers[0]), .flops = static_cast<double>(numbers[1])};
  const auto [m, n, k] = std::tuple(numbers[2], numbers[3], numbers[4]);
  if (m > 0 && n > 0 && k > 0) {
    work.m = m;
    work.n = n;
    work.k = k;
  }
  return work;
}

}  // namespace

// The text of a path is made when it is first used; only ids are kept.
std::optional<store::Id> RecordedRanges::path_id(std::uint32_t id) {
  if (id == 0) return std::nullopt;
  if (auto known = path_ids_.find(id); known != path_ids_.end()) return known->second;
  std::string text;
  std::uint32_t at = id;
  for (int depth = 0; at != 0 && depth < kMaxPathDepth; ++depth) {
    const auto node = paths_.find(at);
    if (node == paths_.end()) break;
    const std::string name = one_line(bounded_text(node->second.name, kMaxRangeNameBytes));
    if (text.size() + name.size() > kMaxPathBytes) {
      text.insert(0, "… / ");
      break;
    }
    if (!text.empty()) text.insert(0, " / ");
    text.insert(0, name);
    at = node->second.parent;
  }
  const auto row = text.empty() ? std::nullopt : std::optional(rows_.writer().string_id(text));
  path_ids_[id] = row;
  return row;
}

void RecordedRanges::remember(std::uint64_t range_id, store::Id id) {
  recent_[range_id] = id;
  recent_order_.push_back(range_id);
  if (recent_order_.size() <= kMaxRecent) return;
  recent_.erase(recent_order_.front());
  recent_order_.pop_front();
}

void RecordedRanges::add(const Range& range, const store::Annotation* declared) {
  if (recent_.contains(range.id)) return;
  store::NvtxRange row;
  if (const auto reserved = parents_.find(range.id); reserved != parents_.end()) {
    row.id = reserved->second;
    parents_.erase(reserved);
  } else {
    row.id = rows_.writer().reserve_range_id();
  }
  if (range.parent != 0 && range.parent != range.id) {
    if (const auto known = recent_.find(range.parent); known != recent_.end()) {
      row.parent_id = known->second;
    } else {
      const auto [parent, fresh] = parents_.try_emplace(range.parent, 0);
      if (fresh) parent->second = rows_.writer().reserve_range_id();
      row.parent_id = parent->second;
    }
  }
  row.process_id = rows_.process_id();
  row.thread_id = range.thread_id;
  row.depth = static_cast<int>(range.depth);
  std::vector<store::Annotation> work;
  if (declared != nullptr) work.push_back(*declared);
  const auto path = path_id(range.path);
  const auto node = paths_.find(range.path);
  if (path && node != paths_.end()) {
    const Names& names = names_of(range.path, node->second);
    row.path_id = *path;
    row.name_id = names.name_id;
    row.domain_id = names.domain_id;
    if (names.size) work.push_back(*names.size);
  } else {
    row.path_id = row.name_id = rows_.writer().string_id("?");
  }
  if (const auto step = steps_.steps.find(steps_.step_at(range.step, range.start_ns));
      step != steps_.steps.end()) {
    row.step_id = step->second.id;
  }
  row.start_ns = range.start_ns;
  row.end_ns = range.end_ns;

  if (const auto payloads = declared_.find(range.id); payloads != declared_.end()) {
    work.insert(work.end(), payloads->second.begin(), payloads->second.end());
    declared_.erase(payloads);
  }
  std::optional<store::Id> work_id;
  if (!work.empty()) work_id = rows_.writer().work_id(work.front());
  rows_.writer().add_reserved(row, work_id);
  rows_.row_written();
  remember(range.id, row.id);
  for (std::size_t i = 1; i < work.size(); ++i) write(row.id, work[i]);
}

const RecordedRanges::Names& RecordedRanges::names_of(std::uint32_t path_id, const Path& path) {
  const auto [found, fresh] = names_.try_emplace(path_id);
  if (fresh) {
    const std::string name = one_line(bounded_text(path.name, kMaxRangeNameBytes));
    found->second.name_id = rows_.writer().string_id(name);
    found->second.size = size_in_name(name);
    if (path.domain)
      found->second.domain_id =
          rows_.writer().string_id(one_line(bounded_text(*path.domain, kMaxRangeNameBytes)));
  }
  return found->second;
}

void RecordedRanges::write(store::Id range_id, store::Annotation work) {
  work.nvtx_range_id = range_id;
  rows_.writer().add(work);
  rows_.row_written();
}

void RecordedRanges::declare(std::uint64_t range_id, std::uint64_t schema_id, std::string_view payload) {
  const std::optional<store::Annotation> work = declared_in(schema_id, payload);
  if (!work) return;
  // A source declares when a range begins, so mostly before its row.
  if (const auto known = recent_.find(range_id); known != recent_.end()) {
    write(known->second, *work);
  } else {
    declared_[range_id].push_back(*work);
  }
}

}  // namespace ridgeline::import
