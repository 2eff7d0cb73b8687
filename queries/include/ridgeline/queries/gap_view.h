// gap_view.h: v_gap, the gaps of all timeline steps as a table that queries see beside the capture's views.
#pragma once

#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

#include "ridgeline/base/error.h"
#include "ridgeline/store/extra_table.h"

namespace ridgeline::queries {

/// Queries of this thread see v_gap while it lives. What it holds is what the analyzer says of the gaps of each process
/// and device: of all its timeline steps, or of the step that stands for the recording if it has none.
class GapView {
 public:
  /// Makes it if the query names it; null otherwise. Takes the time that it takes to read the launches of these steps.
  /// Failures: those of the session's questions; cancelled.
  [[nodiscard]] static Result<std::unique_ptr<GapView>> for_query(const std::string& capture_path,
                                                                  std::string_view sql,
                                                                  const std::stop_token& stop);

 private:
  explicit GapView(std::vector<store::ExtraTable::Row> rows);
  std::vector<store::ExtraTable::Row> rows_;
  store::ExtraTable table_;
};

/// A view that queries can name.
struct ViewDescription {
  std::string name;
  std::string rows;        ///< what a row of it is
  std::string definition;  ///< its statement, whose comments say what the columns mean
};
/// Those of the capture's file, then v_gap.
[[nodiscard]] std::vector<ViewDescription> described_views();
/// The statements of all of them.
[[nodiscard]] std::string all_views_sql();

}  // namespace ridgeline::queries
