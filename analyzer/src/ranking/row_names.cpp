#include "ranking/row_names.h"

#include <string_view>

#include "ridgeline/analyzer/model/nvtx_path.h"

namespace ridgeline::analyzer {

namespace {

std::string grid_text(const store::Dim3& grid) {
  return "[" + std::to_string(grid.x) + "," + std::to_string(grid.y) + "," + std::to_string(grid.z) + "]";
}

std::map<store::Id, std::string> codes_to_tell_apart(const Model& model,
                                                     const UtilisationAnalysis& utilisation) {
  constexpr std::size_t kDigits = 8;
  std::set<store::Id> ids;
  for (const LaunchUtilisations::Group& group : utilisation.launches.groups()) ids.insert(group.kernel_id);
  std::map<std::string_view, std::vector<const store::Kernel*>> by_name;
  for (const store::Id id : ids) {
    if (const store::Kernel* kernel = model.kernel(id)) by_name[kernel->demangled_name].push_back(kernel);
  }
  std::map<store::Id, std::string> codes;
  for (const auto& [name, kernels] : by_name) {
    if (kernels.size() < 2) continue;
    for (const store::Kernel* kernel : kernels)
      codes[kernel->id] = kernel->code_hash ? kernel->code_hash->substr(0, kDigits) : "?";
  }
  return codes;
}

std::set<std::pair<store::Id, store::Dim3>> of_several_blocks(const Model& model,
                                                              const UtilisationAnalysis& utilisation) {
  std::map<std::pair<store::Id, store::Dim3>, store::Dim3> first;
  std::set<std::pair<store::Id, store::Dim3>> several;
  for (const LaunchUtilisations::Group& group : utilisation.launches.groups()) {
    const store::Launch& site = model.launches.site(utilisation.launches.row(group.longest).launch);
    const auto [known, fresh] = first.try_emplace({site.kernel_id, site.grid}, site.block);
    if (!fresh && known->second != site.block) several.insert(known->first);
  }
  return several;
}

}  // namespace

RowNames::RowNames(const Model& model, const UtilisationAnalysis& utilisation)
    : model_(model),
      codes_(codes_to_tell_apart(model, utilisation)),
      several_blocks_(of_several_blocks(model, utilisation)) {}

std::vector<std::string> RowNames::of(const LaunchUtilisations::Row& item, const RankingKeys& keys) const {
  std::vector<std::string> names;
  for (const RankingKey key : keys.all()) names.push_back(name_of(item, key));
  return names;
}

std::string RowNames::name_of(const LaunchUtilisations::Row& item, RankingKey key) const {
  const store::Launch& launch = model_.launches.site(item.launch);
  const store::Kernel* kernel = model_.kernel(launch.kernel_id);
  std::string name(model_.kernel_name(launch));
  if (const auto code = codes_.find(launch.kernel_id); code != codes_.end()) name += " #" + code->second;
  switch (key) {
    case RankingKey::kernel:
      return name;
    case RankingKey::kernel_and_grid:
      // Whole graphs whose kernels the source hides have none.
      if (launch.grid == store::Dim3{0, 0, 0}) return name;
      return name + " " + grid_text(launch.grid) +
             (several_blocks_.contains({launch.kernel_id, launch.grid}) ? " × " + grid_text(launch.block)
                                                                        : "");
    case RankingKey::family:
      return kernel == nullptr ? name : kernel->normalised_name;
    case RankingKey::kernel_class:
      return std::string(to_string(model_.kernel_class(launch)));
    case RankingKey::nvtx_path: {
      const std::string_view path = model_.string(launch.nvtx_path_id);
      return std::string(path.empty() ? kNoRange : path);
    }
    case RankingKey::phase:
      return std::string(phase_of(model_.string(launch.nvtx_path_id)));
    case RankingKey::layer:
      return std::string(layer_of(model_.string(launch.nvtx_path_id)));
    case RankingKey::launch:
      return "#" + std::to_string(item.ordinal) + " " + name;
  }
  return name;
}

}  // namespace ridgeline::analyzer
