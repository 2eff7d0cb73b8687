#include "ncu/ncu_join.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <set>
#include <tuple>

#include "ridgeline/base/text.h"

namespace ridgeline::import {

namespace {

constexpr std::size_t kMaxNamedKernel = 80;
constexpr std::size_t kMaxCandidates = 4;

std::string dims_text(const store::Dim3& dim) {
  return fmt::format("{}x{}x{}", dim.x, dim.y, dim.z);
}

using Sizes = std::array<std::int64_t, 6>;
Sizes sizes_of(const store::Dim3& grid, const store::Dim3& block) {
  return {grid.x, grid.y, grid.z, block.x, block.y, block.z};
}

// Kernels of the launches, by each way in which they may be called.
class KernelNames {
 public:
  KernelNames(const std::map<store::Id, store::Kernel>& kernels, const std::vector<store::Launch>& launches) {
    std::set<store::Id> seen;
    for (const store::Launch& launch : launches) {
      const auto kernel = kernels.find(launch.kernel_id);
      if (kernel == kernels.end() || !seen.insert(launch.kernel_id).second) continue;
      const store::Kernel& row = kernel->second;
      by_name_[comparable_name(row.demangled_name)].insert(row.id);
      if (!row.mangled_name.empty()) by_name_[comparable_name(row.mangled_name)].insert(row.id);
      by_function_[plain_function_name(row.demangled_name)].insert(row.id);
    }
  }

  // By the whole name, else by the function; null: no kernel is called so.
  [[nodiscard]] const std::set<store::Id>* called(std::string_view name) const {
    if (const auto found = by_name_.find(comparable_name(name)); found != by_name_.end())
      return &found->second;
    const auto found = by_function_.find(plain_function_name(name));
    return found == by_function_.end() ? nullptr : &found->second;
  }

 private:
  std::map<std::string, std::set<store::Id>> by_name_, by_function_;
};

struct Group {
  std::vector<std::size_t> profiled;      // in order of launch
  std::vector<const store::Launch*> ran;  // likewise
};

// The machine codes of one name are one kernel to whoever reads the names.
std::set<std::string> names_of(const std::set<store::Id>& ids,
                               const std::map<store::Id, store::Kernel>& kernels) {
  std::set<std::string> names;
  for (const store::Id id : ids) names.insert(kernels.at(id).demangled_name);
  return names;
}

std::string listed_names(const std::set<std::string>& names) {
  std::string text;
  std::size_t count = 0;
  for (const std::string& name : names) {
    if (count++ == kMaxCandidates) return text + fmt::format(" and {} more", names.size() - kMaxCandidates);
    text.append(text.empty() ? "" : ", ").append(one_line(bounded_text(name, kMaxNamedKernel)));
  }
  return text;
}

// The unnamed namespace, as each demangler calls it.
std::string without_unnamed(std::string_view name) {
  std::string text(name);
  for (const std::string_view unnamed :
       {"(anonymous namespace)::", "<unnamed>::", "{anonymous}::", "`anonymous namespace'::"})
    for (std::size_t at = text.find(unnamed); at != std::string::npos; at = text.find(unnamed))
      text.erase(at, unnamed.size());
  return text;
}

}  // namespace

std::string comparable_name(std::string_view name) {
  std::string text = without_unnamed(name);
  if (text.starts_with("void ")) text.erase(0, 5);
  std::erase(text, ' ');
  return text;
}

std::string plain_function_name(std::string_view name) {
  const std::string text = without_unnamed(name);
  std::size_t begin = 0, depth = 0, end = text.size();
  for (std::size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '<' || c == '[') ++depth;
    if ((c == '>' || c == ']') && depth > 0) --depth;
    if (depth > 0) continue;
    if (c == '(') {
      end = i;
      break;
    }
    if (c == ':' || c == ' ') begin = i + 1;  // of a namespace, of a return type
  }
  const std::string function = text.substr(begin, end - begin);
  return function.substr(0, function.find_first_of("<["));
}

NcuJoin join_ncu(const NcuResults& results, const std::map<store::Id, store::Kernel>& kernels,
                 const std::vector<store::Launch>& launches) {
  NcuJoin join;
  const KernelNames names(kernels, launches);
  std::map<std::pair<store::Id, Sizes>, std::vector<const store::Launch*>> ran;
  for (const store::Launch& launch : launches)
    ran[{launch.kernel_id, sizes_of(launch.grid, launch.block)}].push_back(&launch);

  // By what is printed of them, for all that is printed alike is joined alike.
  std::map<std::pair<std::string, Sizes>, Group> groups;
  for (std::size_t i = 0; i < results.launches.size(); ++i) {
    const NcuLaunch& launch = results.launches[i];
    groups[{launch.kernel, sizes_of(launch.grid, launch.block)}].profiled.push_back(i);
  }
  for (auto& [key, group] : groups) {
    const auto& [name, sizes] = key;
    const NcuLaunch& first = results.launches[group.profiled.front()];
    NcuLeftOver left{.name = fmt::format("{} {} {}", one_line(bounded_text(name, kMaxNamedKernel)),
                                         dims_text(first.grid), dims_text(first.block)),
                     .launches = static_cast<std::int64_t>(group.profiled.size()),
                     .candidates = {}};
    std::set<store::Id> with_size;
    if (const auto* called = names.called(name)) {
      for (const store::Id kernel : *called) {
        const auto found = ran.find({kernel, sizes});
        if (found == ran.end()) continue;
        with_size.insert(kernel);
        group.ran.insert(group.ran.end(), found->second.begin(), found->second.end());
      }
    }
    const std::set<std::string> candidates = names_of(with_size, kernels);
    if (candidates.empty()) {
      join.unmatched.push_back(std::move(left));
      continue;
    }
    if (candidates.size() > 1) {
      left.candidates = listed_names(candidates);
      join.ambiguous.push_back(std::move(left));
      continue;
    }
    std::sort(group.ran.begin(), group.ran.end(), [](const store::Launch* a, const store::Launch* b) {
      return std::tie(a->correlation_id, a->start_ns, a->id) <
             std::tie(b->correlation_id, b->start_ns, b->id);
    });
    const std::size_t places = group.ran.size();
    const bool whole_passes = group.profiled.size() % places == 0;
    if (!whole_passes) join.by_kind.push_back(std::move(left));
    for (std::size_t i = 0; i < group.profiled.size(); ++i) {
      // Of more than there are, and no multiple, none is known to be of another place than the first.
      const std::size_t place = whole_passes ? i % places : group.profiled.size() < places ? i : 0;
      join.pairs.push_back({group.profiled[i], group.ran[place]->id});
    }
  }
  return join;
}

}  // namespace ridgeline::import
