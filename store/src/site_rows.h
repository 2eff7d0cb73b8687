// site_rows.h: what launches or ranges of one site share, read once a site.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "ridgeline/store/database.h"
#include "ridgeline/store/records.h"

namespace ridgeline::store {

/// How many sites are held; what is forgotten is read again.
inline constexpr std::size_t kMaxSitesHeld = 200'000;

/// The site of a launch or range, with the fields that its rows share.
template <typename Row>
class Sites {
 public:
  /// Valid until the next call. Throws Error if the capture lacks the site.
  template <typename Read>
  const Row& at(Id id, Statement& statement, Read read) {
    const auto place = static_cast<std::size_t>(id);
    if (place < by_id_.size() && by_id_[place] != nullptr) return *by_id_[place];
    auto found = rows_.find(id);
    if (found == rows_.end()) {
      if (rows_.size() >= kMaxSitesHeld) {
        by_id_.clear();
        rows_.clear();
      }
      statement.bind_all(id);
      if (!statement.step()) throw Error(ErrorKind::corrupt, "a row names a site that is not there");
      found = rows_.emplace(id, read(statement)).first;
      statement.reset();
    }
    if (place < kMaxSitesHeld) {
      if (place >= by_id_.size()) by_id_.resize(std::max(place + 1, 2 * by_id_.size()), nullptr);
      by_id_[place] = &found->second;
    }
    return found->second;
  }

 private:
  std::unordered_map<Id, Row> rows_;
  std::vector<const Row*> by_id_;  // of the small ids, which is nearly all of them; null: not known
};

/// The statement that launch_site_of() reads; its parameter is the site's id.
inline constexpr std::string_view kLaunchSite =
    "SELECT process_id, device_id, context_id, stream_id, graph_id, graph_node_id, kernel_id, thread_id,"
    " grid_x, grid_y, grid_z, block_x, block_y, block_z, cluster_x, cluster_y, cluster_z,"
    " registers_per_thread, static_smem_bytes, dynamic_smem_bytes, nvtx_path_id FROM launch_site WHERE id = "
    "?";
/// The fields of LaunchRow are as in an empty one.
[[nodiscard]] Launch launch_site_of(const Statement& row);

/// The statement that range_site_of() reads.
inline constexpr std::string_view kRangeSite =
    "SELECT process_id, thread_id, depth, name_id, path_id, domain_id FROM range_site WHERE id = ?";
[[nodiscard]] NvtxRange range_site_of(const Statement& row);

}  // namespace ridgeline::store
