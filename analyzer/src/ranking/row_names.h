// row_names.h: what the keys of a ranking say of a launch.
#pragma once

#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ridgeline/analyzer/model/model.h"
#include "ridgeline/analyzer/ranking/ranking_keys.h"
#include "ridgeline/analyzer/utilisation/utilisation.h"

namespace ridgeline::analyzer {

class RowNames {
 public:
  /// Keeps a reference to the model.
  RowNames(const Model& model, const UtilisationAnalysis& utilisation);

  /// One text a key, in their order.
  [[nodiscard]] std::vector<std::string> of(const LaunchUtilisations::Row& item,
                                            const RankingKeys& keys) const;

 private:
  [[nodiscard]] std::string name_of(const LaunchUtilisations::Row& item, RankingKey key) const;

  const Model& model_;
  std::map<store::Id, std::string> codes_;  // tell kernels of one name apart, by kernel; none for all others
  /// Kernels and grids that come with several blocks: there the grid alone is no launch configuration.
  std::set<std::pair<store::Id, store::Dim3>> several_blocks_;
};

}  // namespace ridgeline::analyzer
