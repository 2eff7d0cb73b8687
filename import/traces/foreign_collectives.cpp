#include "traces/foreign_collectives.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <utility>
#include <vector>

#include "ridgeline/base/text.h"
#include "ridgeline/store/collectives.h"

namespace ridgeline::import {

namespace {

constexpr std::int64_t kMaxElements = std::int64_t{1} << 50;
constexpr std::int64_t kMaxGroupRanks = 1 << 24;
constexpr std::size_t kMaxForeignGroups = 1U << 16;

std::optional<std::int64_t> count_in(std::string_view text, std::int64_t most) {
  std::int64_t value = 0;
  const auto read = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = read.ec == std::errc{} && read.ptr == text.data() + text.size();
  return whole && value >= 0 && value <= most ? std::optional(value) : std::nullopt;
}

constexpr std::array<std::pair<std::string_view, CollectiveFunction>, 8> kFunctions = {
    {{"allreduce", CollectiveFunction::all_reduce},
     {"allgather", CollectiveFunction::all_gather},
     {"reducescatter", CollectiveFunction::reduce_scatter},
     {"alltoall", CollectiveFunction::all_to_all},
     {"broadcast", CollectiveFunction::broadcast},
     {"reduce", CollectiveFunction::reduce},
     {"send", CollectiveFunction::send_receive},
     {"recv", CollectiveFunction::send_receive}}};

// "_allgather_base", "all_gather_into_tensor", "allreduce_coalesced": the function is what the name begins with.
std::optional<CollectiveFunction> function_of(std::string_view name) {
  std::string letters;
  for (const char c : name)
    if (c != '_') letters += c;
  for (const auto& [word, function] : kFunctions)
    if (letters.starts_with(word)) return function;
  return std::nullopt;
}

// Of PyTorch's scalar types.
std::optional<std::int64_t> scalar_bytes(std::string_view type) {
  constexpr std::array<std::pair<std::string_view, std::int64_t>, 13> kTypes = {{{"Float", 4},
                                                                                 {"BFloat16", 2},
                                                                                 {"Half", 2},
                                                                                 {"Double", 8},
                                                                                 {"Int", 4},
                                                                                 {"Long", 8},
                                                                                 {"Short", 2},
                                                                                 {"Byte", 1},
                                                                                 {"Char", 1},
                                                                                 {"Bool", 1},
                                                                                 {"Float8_e4m3fn", 1},
                                                                                 {"Float8_e5m2", 1},
                                                                                 {"ComplexFloat", 8}}};
  for (const auto& [name, bytes] : kTypes)
    if (type == name) return bytes;
  return std::nullopt;
}

// What a rank hands over of these is a part of the array, or what it gets.
std::optional<std::int64_t> elements_of(CollectiveFunction function, const CollectiveArguments& arguments) {
  const auto& in = arguments.in_elements;
  const auto& out = arguments.out_elements;
  if (function == CollectiveFunction::all_gather) return out;
  if (function == CollectiveFunction::all_to_all)
    return in && arguments.group_ranks ? std::optional(*in * *arguments.group_ranks) : std::nullopt;
  if (in && out && function != CollectiveFunction::reduce_scatter) return std::max(*in, *out);
  return in ? in : out;
}

// "[0, 1, 2]"; nothing if some are left out.
std::optional<std::vector<std::int64_t>> ranks_in(std::string_view members) {
  std::vector<std::int64_t> ranks;
  if (members.size() < 2 || members.front() != '[' || members.back() != ']') return std::nullopt;
  members = members.substr(1, members.size() - 2);
  while (!members.empty()) {
    const std::size_t end = std::min(members.find(','), members.size());
    std::string_view each = members.substr(0, end);
    each.remove_prefix(std::min(each.size(), each.find_first_not_of(' ')));
    const auto rank = count_in(each, kMaxGroupRanks);
    if (!rank) return std::nullopt;
    ranks.push_back(*rank);
    members.remove_prefix(std::min(members.size(), end + 1));
  }
  return ranks;
}

}  // namespace

bool CollectiveArguments::take(std::string_view key, std::string_view value) {
  if (key == "Collective name") {
    name = value;
  } else if (key == "dtype") {
    type = value;
  } else if (key == "Process Group Name") {
    group = value;
  } else if (key == "Process Group Ranks") {
    members = value;
  } else if (key == "In msg nelems") {
    in_elements = count_in(value, kMaxElements);
  } else if (key == "Out msg nelems") {
    out_elements = count_in(value, kMaxElements);
  } else if (key == "Group size") {
    group_ranks = count_in(value, kMaxGroupRanks);
  } else if (key == "Seq") {
    sequence = count_in(value, INT64_MAX);
  } else {
    return false;
  }
  return true;
}

void ForeignCollectives::note_group(std::string_view name, std::string_view members,
                                    std::optional<std::int64_t> ranks) {
  if (groups_.size() >= kMaxForeignGroups && !groups_.contains(name)) return;
  Group& group = groups_[std::string(name)];
  if (group.members.empty()) group.members = std::string(members);
  if (!group.ranks && ranks && *ranks > 0) group.ranks = ranks;
}

std::optional<ForeignCollective> ForeignCollectives::collective_of(const CollectiveArguments& arguments) {
  const auto function = function_of(arguments.name);
  if (!function) return std::nullopt;
  ForeignCollective collective{.function = *function,
                               .bytes = std::nullopt,
                               .ordinal = arguments.sequence,
                               .group = std::string(arguments.group)};
  const auto elements = elements_of(*function, arguments);
  const auto each = scalar_bytes(arguments.type);
  if (elements && each && *elements <= kMaxElements && *elements > 0) collective.bytes = *elements * *each;
  if (!arguments.group.empty()) note_group(arguments.group, arguments.members, arguments.group_ranks);
  return collective;
}

void ForeignCollectives::ran(std::uint32_t correlation_id, ForeignCollective collective) {
  collectives_.insert_or_assign(correlation_id, std::move(collective));
}

void ForeignCollectives::write_groups(ProcessRows& rows, std::optional<int> rank,
                                      std::optional<std::int64_t> world_ranks) {
  bool has_world = !world_ranks;
  for (auto& [name, group] : groups_) {
    store::Communicator row{.process_id = rows.process_id(),
                            .hash = std::nullopt,
                            .ranks = group.ranks,
                            .rank = std::nullopt,
                            .name = one_line(bounded_text(name, 200))};
    const auto ranks = ranks_in(group.members);
    if (!group.members.empty())
      row.hash = one_line(bounded_text(fmt::format("{} {}", name, group.members), 1000));
    if (ranks && !ranks->empty()) {
      row.ranks = static_cast<std::int64_t>(ranks->size());
      const auto own = rank ? std::find(ranks->begin(), ranks->end(), *rank) : ranks->end();
      if (own != ranks->end()) row.rank = own - ranks->begin();
    }
    has_world = has_world || row.ranks == world_ranks;
    group.id = rows.writer().add(row);
    rows.row_written();
  }
  if (has_world) return;
  (void)rows.writer().add(store::Communicator{.process_id = rows.process_id(),
                                              .hash = std::nullopt,
                                              .ranks = world_ranks,
                                              .rank = rank,
                                              .name = "world"});
  rows.row_written();
}

void ForeignCollectives::write(ProcessRows& rows, std::uint32_t correlation_id, store::Id launch_id) const {
  const auto found = collectives_.find(correlation_id);
  if (found == collectives_.end()) return;
  const ForeignCollective& collective = found->second;
  store::Collective row{.launch_id = launch_id,
                        .communicator_id = std::nullopt,
                        .ordinal = collective.ordinal,
                        .function = collective.function,
                        .bytes = collective.bytes,
                        .source = CollectiveSource::program};
  if (const auto group = groups_.find(collective.group); group != groups_.end() && group->second.id != 0)
    row.communicator_id = group->second.id;
  rows.writer().add(row);
  rows.row_written();
}

}  // namespace ridgeline::import
