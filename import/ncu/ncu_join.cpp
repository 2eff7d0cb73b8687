#include "ncu/ncu_join.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <set>
#include <string_view>
#include <utility>

#include "ncu/ncu_names.h"
#include "ncu/ncu_order.h"
#include "ridgeline/base/text.h"

namespace ridgeline::import {

namespace {

constexpr std::size_t kMaxNamedKernel = 80;
constexpr std::size_t kMaxCandidates = 4;

using Kernels = std::map<store::Id, store::Kernel>;
using Sizes = std::array<std::int64_t, 6>;

Sizes sizes_of(const store::Dim3& grid, const store::Dim3& block) {
  return {grid.x, grid.y, grid.z, block.x, block.y, block.z};
}

std::string dims_text(const store::Dim3& dim) {
  return fmt::format("{}x{}x{}", dim.x, dim.y, dim.z);
}

// Kernels that may be called so.
struct Called {
  std::set<store::Id> kernels;
  bool contradicted = false;  // the function is theirs, its template arguments are not
};

// Kernels of the launches, by each way in which they may be called.
class KernelNames {
 public:
  KernelNames(const Kernels& kernels, const std::vector<store::Launch>& launches) {
    std::set<store::Id> seen;
    for (const store::Launch& launch : launches) {
      const auto kernel = kernels.find(launch.kernel_id);
      if (kernel == kernels.end() || !seen.insert(launch.kernel_id).second) continue;
      const store::Kernel& row = kernel->second;
      by_name_[comparable_name(row.demangled_name)].insert(row.id);
      if (!row.mangled_name.empty()) by_name_[comparable_name(row.mangled_name)].insert(row.id);
      const std::string with_arguments = template_text(row.demangled_name);
      if (!with_arguments.empty()) by_arguments_[with_arguments].insert(row.id);
      const std::string function = plain_function_name(row.demangled_name);
      by_function_[function].insert(row.id);
      if (with_arguments.empty()) plain_[function].insert(row.id);
    }
  }

  // By the whole name, else by the function and its template arguments, else by the function.
  [[nodiscard]] Called called(std::string_view name) const {
    if (const std::set<store::Id>* found = in(by_name_, comparable_name(name))) return {*found, false};
    const std::string with_arguments = template_text(name);
    const std::string function = plain_function_name(name);
    if (!with_arguments.empty()) {
      if (const std::set<store::Id>* found = in(by_arguments_, with_arguments)) return {*found, false};
      if (const std::set<store::Id>* found = in(plain_, function)) return {*found, false};
    }
    const std::set<store::Id>* found = in(by_function_, function);
    return found == nullptr ? Called() : Called{*found, !with_arguments.empty()};
  }

  // All kernels of the functions that these are of.
  [[nodiscard]] std::set<store::Id> of_functions(const std::set<store::Id>& some,
                                                 const Kernels& kernels) const {
    std::set<store::Id> all;
    for (const store::Id id : some) {
      const std::set<store::Id>* alike = in(by_function_, plain_function_name(kernels.at(id).demangled_name));
      if (alike != nullptr) all.insert(alike->begin(), alike->end());
    }
    return all;
  }

 private:
  using Index = std::map<std::string, std::set<store::Id>>;
  static const std::set<store::Id>* in(const Index& index, const std::string& text) {
    const auto found = index.find(text);
    return found == index.end() ? nullptr : &found->second;
  }

  Index by_name_, by_arguments_, by_function_;
  Index plain_;  // kernels whose names have no template arguments, by function
};

// The machine codes of one name are one kernel to whoever reads the names.
using Kind = std::pair<std::string, Sizes>;

// What is printed alike.
struct Group {
  std::string name;
  Sizes sizes{};
  std::vector<std::size_t> profiled;  // in order of launch
  std::set<store::Id> called;         // whatever the size
  bool contradicted = false;
  std::set<std::size_t> kinds;  // that it may be
  [[nodiscard]] bool known() const { return kinds.size() == 1 && !contradicted; }
};

std::string listed_names(const std::set<std::string>& names) {
  std::string text;
  std::size_t count = 0;
  for (const std::string& name : names) {
    if (count++ == kMaxCandidates) return text + fmt::format(" and {} more", names.size() - kMaxCandidates);
    text.append(text.empty() ? "" : ", ").append(one_line(bounded_text(name, kMaxNamedKernel)));
  }
  return text;
}

class Joining {
 public:
  Joining(const NcuResults& results, const Kernels& kernels, const std::vector<store::Launch>& launches,
          bool repeats)
      : results_(results), kernels_(kernels), launches_(launches), repeats_(repeats) {}

  NcuJoin joined() {
    find_kinds();
    find_groups();
    const std::vector<std::optional<std::size_t>> told = tell_apart();
    for (const Group& group : groups_) join_group(group, told);
    return std::move(join_);
  }

 private:
  void find_kinds() {
    for (const store::Launch& launch : launches_) {
      const auto kernel = kernels_.find(launch.kernel_id);
      if (kernel == kernels_.end()) continue;
      const Kind kind(kernel->second.demangled_name, sizes_of(launch.grid, launch.block));
      const auto [found, fresh] = kind_numbers_.try_emplace(kind, kinds_.size());
      if (fresh) kinds_.push_back(kind);
      kind_of_.push_back({found->second, &launch});
      by_kernel_[{launch.kernel_id, kind.second}].insert(found->second);
    }
    ran_.resize(kinds_.size());
    for (const auto& [kind, launch] : kind_of_) ran_[kind].push_back(launch);
  }

  void find_groups() {
    const KernelNames names(kernels_, launches_);
    std::map<std::pair<std::string, Sizes>, std::size_t> numbers;
    for (std::size_t i = 0; i < results_.launches.size(); ++i) {
      const NcuLaunch& launch = results_.launches[i];
      const Sizes sizes = sizes_of(launch.grid, launch.block);
      const auto [found, fresh] = numbers.try_emplace({launch.kernel, sizes}, groups_.size());
      if (fresh) groups_.push_back(group_of(launch.kernel, sizes, names));
      groups_[found->second].profiled.push_back(i);
      group_of_.push_back(found->second);
    }
    for (const Group& group : groups_) {
      const std::set<store::Id> alike = names.of_functions(group.called, kernels_);
      profiled_functions_.insert(alike.begin(), alike.end());
    }
  }

  [[nodiscard]] Group group_of(const std::string& name, const Sizes& sizes, const KernelNames& names) const {
    Called called = names.called(name);
    Group group{.name = name,
                .sizes = sizes,
                .profiled = {},
                .called = std::move(called.kernels),
                .contradicted = called.contradicted,
                .kinds = {}};
    for (const store::Id kernel : group.called)
      if (const auto found = by_kernel_.find({kernel, sizes}); found != by_kernel_.end())
        group.kinds.insert(found->second.begin(), found->second.end());
    return group;
  }

  // What the names leave open, by order: a filter of ncu is one by functions, so that all launches of these functions
  // are in both sequences. Files and processes are sequences of their own.
  [[nodiscard]] std::vector<std::optional<std::size_t>> tell_apart() const {
    LaunchOrder order;
    order.repeats = repeats_;
    for (const auto& [kind, launch] : kind_of_)
      if (profiled_functions_.contains(launch->kernel_id)) order.ran.push_back(kind);
    for (const Group& group : groups_) {
      std::vector<bool> fits(kinds_.size(), false);
      for (const std::size_t kind : group.kinds) fits[kind] = true;
      order.fits.push_back(std::move(fits));
      order.asked.push_back(!group.kinds.empty() && !group.known());
    }
    std::vector<std::optional<std::size_t>> told;
    for (std::size_t i = 0; i < group_of_.size(); ++i) {
      const NcuLaunch& launch = results_.launches[i];
      const bool ends = i + 1 == group_of_.size() || results_.launches[i + 1].pid != launch.pid ||
                        results_.launches[i + 1].id <= launch.id;
      order.profiled.push_back(group_of_[i]);
      if (!ends) continue;
      const std::vector<std::optional<std::size_t>> of_sequence = kinds_by_order(order);
      told.insert(told.end(), of_sequence.begin(), of_sequence.end());
      order.profiled.clear();
    }
    return told;
  }

  void join_group(const Group& group, const std::vector<std::optional<std::size_t>>& told) {
    std::map<std::size_t, std::vector<std::size_t>> of_kind;
    std::int64_t open = 0;
    for (const std::size_t profiled : group.profiled) {
      const std::optional<std::size_t> kind =
          group.known() ? std::optional(*group.kinds.begin()) : told[profiled];
      if (kind)
        of_kind[*kind].push_back(profiled);
      else
        ++open;
    }
    for (const auto& [kind, profiled] : of_kind) {
      if (!group.known()) join_.by_order += static_cast<std::int64_t>(profiled.size());
      pair_in_order(group, profiled, ran_[kind]);
    }
    if (open == 0) return;
    std::set<std::string> candidates;
    for (const std::size_t kind : group.kinds) candidates.insert(kinds_[kind].first);
    NcuLeftOver left = left_over(group, open);
    left.candidates = listed_names(candidates);
    (group.contradicted || candidates.empty() ? join_.unmatched : join_.ambiguous).push_back(std::move(left));
  }

  void pair_in_order(const Group& group, const std::vector<std::size_t>& profiled,
                     const std::vector<const store::Launch*>& ran) {
    const std::size_t places = ran.size();
    const bool whole_passes = profiled.size() % places == 0;
    if (!whole_passes) join_.by_kind.push_back(left_over(group, static_cast<std::int64_t>(profiled.size())));
    for (std::size_t i = 0; i < profiled.size(); ++i) {
      // Of more than there are, and no multiple, none is known to be of another place than the first.
      const std::size_t place = whole_passes ? i % places : profiled.size() < places ? i : 0;
      join_.pairs.push_back({profiled[i], ran[place]->id});
    }
  }

  [[nodiscard]] NcuLeftOver left_over(const Group& group, std::int64_t launches) const {
    const NcuLaunch& first = results_.launches[group.profiled.front()];
    return {.name = fmt::format("{} {} {}", one_line(bounded_text(group.name, kMaxNamedKernel)),
                                dims_text(first.grid), dims_text(first.block)),
            .launches = launches,
            .candidates = {}};
  }

  const NcuResults& results_;
  const Kernels& kernels_;
  const std::vector<store::Launch>& launches_;
  bool repeats_;

  std::map<Kind, std::size_t> kind_numbers_;
  std::vector<Kind> kinds_;
  std::vector<std::pair<std::size_t, const store::Launch*>> kind_of_;  // in order of launch
  std::vector<std::vector<const store::Launch*>> ran_;                 // [kind], likewise
  std::map<std::pair<store::Id, Sizes>, std::set<std::size_t>> by_kernel_;
  std::vector<Group> groups_;
  std::vector<std::size_t> group_of_;  // of each profiled launch
  std::set<store::Id> profiled_functions_;
  NcuJoin join_;
};

}  // namespace

NcuJoin join_ncu(const NcuResults& results, const Kernels& kernels,
                 const std::vector<store::Launch>& launches, bool repeats) {
  return Joining(results, kernels, launches, repeats).joined();
}

}  // namespace ridgeline::import
