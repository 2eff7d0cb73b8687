// merge.cpp: parts of a job put together, whichever way: what comes out depends on the ranks alone.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "ranks/aligned_steps.h"
#include "ranks/site_key.h"
#include "ridgeline/analyzer/ranks/job_capture.h"
#include "ridgeline/base/units.h"

namespace ridgeline::analyzer {

namespace {

std::string named(const store::JobRank& rank) {
  return fmt::format("rank {} ({})", rank.rank, rank.file);
}

// Groups of all ranks: every rank of one run is in the same.
std::set<std::string> world_groups(const store::Job& part, std::int64_t rank, std::int64_t world_size) {
  std::map<store::Id, std::string> of_all;
  for (const store::JobCommunicator& group : part.communicators) {
    if (group.ranks == world_size) of_all[group.id] = group.hash;
  }
  std::map<store::Id, store::Id> groups;
  for (const store::JobSite& site : part.sites) groups[site.id] = site.communicator_id;
  std::set<std::string> found;
  for (const store::JobCall& call : part.calls) {
    if (call.rank != rank) continue;
    const auto name = of_all.find(groups.at(call.site_id));
    if (name != of_all.end()) found.insert(name->second);
    if (found.size() == of_all.size()) break;
  }
  return found;
}

std::optional<Failure> refused(const store::Job& part, const store::Job& first) {
  const store::JobRank& reference = first.ranks.front();
  for (const store::JobRank& rank : part.ranks) {
    if (rank.program != reference.program)
      return Failure{ErrorKind::usage,
                     fmt::format("{} ran another program than {}: '{}' and '{}'", named(rank),
                                 named(reference), rank.program, reference.program)};
    if (rank.world_size != reference.world_size) {
      const auto size = [](const store::JobRank& of) {
        return of.world_size ? ridgeline::counted(*of.world_size, "rank")
                             : std::string("an unknown number of ranks");
      };
      return Failure{ErrorKind::usage, fmt::format("{} is of a job of {}, {} of one of {}", named(rank),
                                                   size(rank), named(reference), size(reference))};
    }
    if (rank.world_size && (rank.rank < 0 || rank.rank >= *rank.world_size))
      return Failure{ErrorKind::usage,
                     fmt::format("{} cannot be of a job of {} ranks", named(rank), *rank.world_size)};
    if (!rank.world_size) continue;
    const auto groups = world_groups(part, rank.rank, *rank.world_size);
    const auto expected = world_groups(first, reference.rank, *reference.world_size);
    const bool shared =
        std::any_of(groups.begin(), groups.end(), [&](const auto& g) { return expected.contains(g); });
    if (!groups.empty() && !expected.empty() && !shared)
      return Failure{ErrorKind::usage,
                     fmt::format("{} and {} are of two runs: their communicators of all ranks are {} and {}",
                                 named(rank), named(reference), *groups.begin(), *expected.begin())};
  }
  return std::nullopt;
}

// Numbers of names, made anew so that they do not depend on the order of the parts.
class Numbers {
 public:
  explicit Numbers(const std::vector<store::Job>& parts) {
    std::map<std::string, store::JobCommunicator> groups;
    std::set<std::string> kernels;
    std::map<Site, store::JobSite> sites;
    for (const store::Job& part : parts) {
      std::map<store::Id, std::string> hashes;
      for (const store::JobCommunicator& group : part.communicators) {
        groups.try_emplace(group.hash, group);
        hashes[group.id] = group.hash;
      }
      for (const store::JobSite& site : part.sites) {
        const auto at = sites.try_emplace({hashes.at(site.communicator_id), site.function, site.bytes}, site);
        if (!at.second) ranks::keep_what_agrees(at.first->second, site);
      }
      for (const store::JobKernel& kernel : part.kernels) kernels.insert(kernel.name);
    }
    for (auto& [hash, group] : groups) {
      group.id = static_cast<store::Id>(groups_.size() + 1);
      groups_[hash] = group;
    }
    for (auto& [key, site] : sites) {
      site.id = static_cast<store::Id>(sites_.size() + 1);
      site.communicator_id = groups_.at(std::get<0>(key)).id;
      sites_[key] = site;
    }
    for (const std::string& name : kernels) kernels_[name] = static_cast<store::Id>(kernels_.size() + 1);
  }

  void name(store::Job& job) const {
    for (const auto& [hash, group] : groups_) job.communicators.push_back(group);
    for (const auto& [key, site] : sites_) job.sites.push_back(site);
    for (const auto& [name, id] : kernels_) job.kernels.push_back({id, name});
  }

  void renumber(store::Job& part) const {
    std::map<store::Id, std::string> hashes;
    for (const store::JobCommunicator& group : part.communicators) hashes[group.id] = group.hash;
    std::map<store::Id, store::Id> sites;
    for (const store::JobSite& site : part.sites)
      sites[site.id] = sites_.at({hashes.at(site.communicator_id), site.function, site.bytes}).id;
    std::map<store::Id, store::Id> kernels;
    for (const store::JobKernel& kernel : part.kernels) kernels[kernel.id] = kernels_.at(kernel.name);
    for (store::JobCall& call : part.calls) call.site_id = sites.at(call.site_id);
    for (store::JobKernelStep& row : part.kernel_steps) row.kernel_id = kernels.at(row.kernel_id);
    for (store::JobInterference& row : part.interference) row.kernel_id = kernels.at(row.kernel_id);
    for (store::JobTraffic& row : part.traffic) {
      if (row.site_id) row.site_id = sites.at(*row.site_id);
    }
  }

 private:
  using Site = std::tuple<std::string, std::optional<CollectiveFunction>, std::optional<std::int64_t>>;
  std::map<std::string, store::JobCommunicator> groups_;
  std::map<Site, store::JobSite> sites_;
  std::map<std::string, store::Id> kernels_;
};

template <typename Row>
void append(std::vector<Row>& to, std::vector<Row>& from) {
  to.insert(to.end(), std::make_move_iterator(from.begin()), std::make_move_iterator(from.end()));
  from = {};
}

void sort_rows(store::Job& job) {
  const auto by_rank = [](const auto& a, const auto& b) { return a.rank < b.rank; };
  std::sort(job.ranks.begin(), job.ranks.end(), by_rank);
  // Rows of one rank are in order already.
  std::stable_sort(job.steps.begin(), job.steps.end(), by_rank);
  std::stable_sort(job.calls.begin(), job.calls.end(), by_rank);
  std::sort(job.kernel_steps.begin(), job.kernel_steps.end(), [](const auto& a, const auto& b) {
    return std::tie(a.rank, a.step_index, a.kernel_id) < std::tie(b.rank, b.step_index, b.kernel_id);
  });
  std::sort(job.traffic.begin(), job.traffic.end(), [](const auto& a, const auto& b) {
    return std::tie(a.rank, a.site_id) < std::tie(b.rank, b.site_id);
  });
  std::sort(job.interference.begin(), job.interference.end(), [](const auto& a, const auto& b) {
    return std::tie(a.rank, a.kernel_id, a.function) < std::tie(b.rank, b.kernel_id, b.function);
  });
}

}  // namespace

std::string clock_of(const store::JobRank& rank) {
  return rank.host ? *rank.host : fmt::format("rank {}", rank.rank);
}

std::vector<std::int64_t> missing_ranks(const store::Job& job) {
  std::vector<std::int64_t> missing;
  if (job.ranks.empty() || !job.ranks.front().world_size) return missing;
  std::set<std::int64_t> there;
  for (const store::JobRank& rank : job.ranks) there.insert(rank.rank);
  for (std::int64_t rank = 0; rank < *job.ranks.front().world_size; ++rank) {
    if (!there.contains(rank)) missing.push_back(rank);
  }
  return missing;
}

Result<store::Job> merged(std::vector<store::Job> parts) {
  std::erase_if(parts, [](const store::Job& part) { return part.ranks.empty(); });
  if (parts.empty()) return Failure{ErrorKind::no_data, "there is no rank to merge"};
  std::map<std::int64_t, const store::JobRank*> seen;
  for (const store::Job& part : parts) {
    for (const store::JobRank& rank : part.ranks) {
      const auto [at, fresh] = seen.try_emplace(rank.rank, &rank);
      if (!fresh)
        return Failure{ErrorKind::usage, fmt::format("rank {} is there twice: {} and {}", rank.rank,
                                                     at->second->file, rank.file)};
    }
    if (const auto failure = refused(part, parts.front())) return *failure;
  }
  const Numbers numbers(parts);
  store::Job job;
  numbers.name(job);
  for (store::Job& part : parts) {
    numbers.renumber(part);
    append(job.ranks, part.ranks);
    append(job.steps, part.steps);
    append(job.calls, part.calls);
    append(job.kernel_steps, part.kernel_steps);
    append(job.traffic, part.traffic);
    append(job.interference, part.interference);
    if (job.links.empty()) job.links = std::move(part.links);
  }
  sort_rows(job);
  ranks::align_steps(job);
  return job;
}

}  // namespace ridgeline::analyzer
