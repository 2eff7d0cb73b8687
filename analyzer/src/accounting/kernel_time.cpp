#include "accounting/kernel_time.h"

#include <algorithm>
#include <map>
#include <utility>

#include "ridgeline/analyzer/model/nvtx_path.h"

namespace ridgeline::analyzer {

namespace {

// Parts by name, without a tree.
class Cut {
 public:
  std::size_t part(std::string_view name) {
    const auto [place, fresh] = index_.try_emplace(std::string(name), parts_.size());
    if (fresh) parts_.push_back({.name = place->first, .path = {}, .parent = {}, .time = {}});
    return place->second;
  }
  TimePart& at(std::size_t part) { return parts_[part]; }
  std::vector<TimePart> sorted() && {
    std::stable_sort(parts_.begin(), parts_.end(), [](const TimePart& a, const TimePart& b) {
      return a.time.total_ns() > b.time.total_ns();
    });
    return std::move(parts_);
  }

 private:
  std::map<std::string, std::size_t> index_;
  std::vector<TimePart> parts_;
};

class Tree {
 public:
  // The chain of parts from the root to the range of this path.
  std::vector<std::size_t> chain(std::string_view path) {
    std::vector<std::size_t> chain;
    std::string prefix;
    for (const std::string_view name : parts_of_path(path)) {
      if (!prefix.empty()) prefix += kPathSeparator;
      prefix += name;
      const auto [place, fresh] = index_.try_emplace(prefix, parts_.size());
      if (fresh) {
        TimePart part;
        part.name = name;
        part.path = prefix;
        part.depth = static_cast<int>(chain.size());
        if (!chain.empty()) part.parent = chain.back();
        parts_.push_back(std::move(part));
      }
      chain.push_back(place->second);
    }
    return chain;
  }
  std::vector<TimePart>& parts() { return parts_; }

 private:
  std::map<std::string, std::size_t, std::less<>> index_;
  std::vector<TimePart> parts_;
};

// Time of the launches of one site.
struct SiteTime {
  std::int64_t launches = 0;
  BoundSplit time;
};

}  // namespace

KernelTime kernel_time(const Model& model, const UtilisationAnalysis& utilisation, const Exposure& exposure,
                       store::Id device_id, const BoundOptions& options) {
  KernelTime out;
  // Launches of a site have one path: each is added to its site, and then the sites to the parts of the program.
  std::vector<SiteTime> by_site(model.launches.sites().size());
  std::vector<Launches::SiteIndex> sites;  // in order of first launch
  // What the launches of a group have in common, which are of one site.
  struct GroupTime {
    SiteTime* site = nullptr;  // null: of another device
    KernelBound bound = KernelBound::unmeasured;
  };
  std::vector<GroupTime> groups;
  for (const LaunchUtilisations::Group& group : utilisation.launches.groups()) {
    const Launches::SiteIndex site = model.launches.row(utilisation.launches.row(group.longest).launch).site;
    const bool here = model.launches.sites()[site].device_id == device_id;
    groups.push_back({here ? &by_site[site] : nullptr, bound_of(group, options)});
    if (!here) continue;
    if (by_site[site].launches == 0) sites.push_back(site);
    by_site[site].launches += group.calls;
  }
  const std::vector<std::int64_t>& exposed_ns = exposure.whole_ns;
  std::vector<bool> own(exposed_ns.size(), false);  // steps may overlap: none is counted twice
  for (const LaunchUtilisations::Row& item : utilisation.launches.rows()) {
    const GroupTime& group = groups[item.group];
    if (group.site == nullptr || own[item.launch]) continue;
    own[item.launch] = true;
    group.site->time.add(group.bound, exposed_ns[item.launch]);
  }
  Tree tree;
  Cut phases, layers, operations;
  for (const Launches::SiteIndex site : sites) {
    const SiteTime& sum = by_site[site];
    const std::string_view path = model.string(model.launches.sites()[site].nvtx_path_id);
    const std::vector<std::string_view> parts = parts_of_path(path);
    const auto add_to = [&](TimePart& part) {
      part.launches += sum.launches;
      part.time.add(sum.time);
    };
    for (const std::size_t part : tree.chain(path.empty() ? kNoRange : path)) add_to(tree.parts()[part]);
    add_to(phases.at(phases.part(phase_of(path))));
    add_to(layers.at(layers.part(layer_of(path))));
    add_to(operations.at(operations.part(parts.empty() ? kNoRange : parts.back())));
    out.total.add(sum.time);
  }
  for (LaunchIndex i = 0; i < exposed_ns.size(); ++i) {
    if (exposed_ns[i] > 0 && !own[i] && model.launches.site(i).device_id == device_id)
      out.foreign_ns += exposed_ns[i];
  }
  out.tree = std::move(tree.parts());
  out.by_phase = std::move(phases).sorted();
  out.by_layer = std::move(layers).sorted();
  out.by_operation = std::move(operations).sorted();
  return out;
}

}  // namespace ridgeline::analyzer
