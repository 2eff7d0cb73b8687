// launch_table.h: writes launches compactly: what they have in common once, as a site, and the rest in a short
// row of offsets from what its chunk expects: that they follow each other as evenly as those of the chunk before.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "batch_insert.h"
#include "chunk.h"
#include "ridgeline/store/database.h"
#include "ridgeline/store/launch_site.h"
#include "ridgeline/store/records.h"
#include "step_sums.h"

namespace ridgeline::store {

class LaunchTable {
 public:
  /// Both must outlive it; the sums are given every launch.
  LaunchTable(Database& database, StepSums& sums);

  void add_step(Id id, const Step& step);
  /// Under the next id; one process's launches and the next one's are in different chunks.
  Id add(const Launch& launch);
  /// Under the launch's own id, which must be new.
  void add_with_id(const Launch& launch);

  /// Writes what is held back, so that the tables agree.
  void checkpoint();
  [[nodiscard]] std::int64_t rows() const noexcept { return rows_.rows(); }

 private:
  static constexpr Id kNoChunk = INT64_MIN;
  struct Total {
    std::int64_t launches = 0, timed_launches = 0, kernel_time_ns = 0;
  };
  struct Site {
    const LaunchSiteKey* key = nullptr;
    Site* next = nullptr;  // that the last launch after one of this site was of: steps repeat
    Id id = 0;
    bool dirty = false;
    std::vector<Total> totals;  // by number of the phase; 0: of no step
  };
  /// First and last of a quantity in a chunk: its mean increase is what the next chunk expects.
  class Increase {
   public:
    void add(std::int64_t place, std::int64_t value) {
      if (!known_) first_place_ = place, first_ = value;
      known_ = true;
      last_place_ = place;
      last_ = value;
    }
    [[nodiscard]] std::int64_t mean() const;

   private:
    bool known_ = false;
    std::int64_t first_place_ = 0, first_ = 0, last_place_ = 0, last_ = 0;
  };
  struct Chunk {
    Id id = kNoChunk;
    std::optional<Id> process_id;
    std::int64_t base_ns = 0;
    std::int64_t base_correlation_id = 0;
    std::optional<std::int64_t> start_ns, end_ns;
    std::int64_t stride_ns = 0, correlation_stride = 0;
    std::int64_t base_host_ns = 0, host_stride_ns = 0;
    std::int64_t base_step_id = 0, base_ordinal = 0;
    Increase starts, host_starts, correlation_ids;
  };

  void add_as(const Launch& launch, Id id);
  Site& site_of(const Launch& launch);
  Site& find_site(const Launch& launch, const LaunchSiteKey& key);
  void take_chunk(Id id, const Launch& launch);
  void write_chunk();
  void write_totals(Site& site);
  std::size_t phase_number(std::optional<Id> step_id) const;

  StepSums& sums_;
  Statement insert_site_;
  Statement insert_chunk_;
  BatchInsert<9> rows_;
  Statement insert_total_;
  Database& database_;
  std::unordered_map<LaunchSiteKey, Site, SiteHash> sites_;
  std::vector<Site*> dirty_sites_;
  Site* last_site_ = nullptr;
  std::vector<std::uint8_t> phase_of_step_;
  Chunk chunk_;
  Id next_id_ = 1;
};

}  // namespace ridgeline::store
