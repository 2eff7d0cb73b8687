// range_table.h: writes NVTX ranges and the work declared for them compactly: what ranges have in common once,
// as a site, equal declared work once, and the rest in a short row whose times count from those of its chunk.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "batch_insert.h"
#include "chunk.h"
#include "ridgeline/store/database.h"
#include "ridgeline/store/records.h"
#include "step_sums.h"

namespace ridgeline::store {

class RangeTable {
 public:
  /// Both must outlive it; the sums are given every range of a step.
  RangeTable(Database& database, StepSums& sums);

  /// The next id, for a range whose row comes later: others may name it as their parent until then.
  Id reserve() {
    reserved_.insert(next_id_);
    return next_id_++;
  }
  Id add(const NvtxRange& range, std::optional<Id> work_id) {
    NvtxRange numbered = range;
    numbered.id = next_id_;
    add_with_id(numbered, work_id);
    return numbered.id;
  }
  /// Under the range's own id, which must be reserved or new.
  void add_with_id(const NvtxRange& range, std::optional<Id> work_id);
  /// Work for a range that has its row already.
  Id add(const Annotation& annotation);
  [[nodiscard]] Id work_id(const Annotation& work);  // whichever range it is for
  /// Takes the parent from ranges inside a reserved one whose row never came.
  void drop_missing_parents();

  /// Writes what is held back, so that the tables agree.
  void checkpoint();
  [[nodiscard]] std::int64_t rows() const noexcept { return rows_.rows(); }

 private:
  static constexpr std::size_t kSiteFields = 6;
  using SiteKey = std::array<std::int64_t, kSiteFields>;
  struct WorkKey {
    std::string name;
    std::optional<double> bytes, flops, tokens, samples;
    std::optional<std::int64_t> m, n, k;
    friend bool operator==(const WorkKey&, const WorkKey&) = default;
  };
  struct WorkHash {
    std::size_t operator()(const WorkKey& key) const;
  };
  /// All chunks are kept: a range that ends late has its row in an old one.
  struct Chunk {
    std::int64_t base_ns = 0;
    std::int64_t start_ns = 0;
    std::optional<std::int64_t> end_ns;
    bool open_ended = false;
    bool dirty = false;
  };

  Id site_id(const NvtxRange& range);

  StepSums& sums_;
  Statement insert_site_;
  Statement insert_chunk_;
  BatchInsert<7> rows_;
  Statement insert_work_;
  Statement insert_range_work_;
  Database& database_;
  std::unordered_map<SiteKey, Id, SiteHash> sites_;
  std::unordered_map<WorkKey, Id, WorkHash> works_;
  std::unordered_map<Id, Chunk> chunks_;
  std::vector<Id> dirty_chunks_;
  std::unordered_set<Id> reserved_;  // without a row as yet
  Id next_id_ = 1;
};

}  // namespace ridgeline::store
