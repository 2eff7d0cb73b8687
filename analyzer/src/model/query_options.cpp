#include "ridgeline/analyzer/model/query_options.h"

#include "model/query_failed.h"

namespace ridgeline::analyzer {

std::string_view to_string(Stage stage) {
  switch (stage) {
    case Stage::facts:
      return "facts";
    case Stage::steps:
      return "steps";
    case Stage::launches:
      return "launches";
    case Stage::counters:
      return "counters";
    case Stage::ranges:
      return "ranges";
    case Stage::utilisation:
      return "utilisation";
    case Stage::ranking:
      return "ranking";
    case Stage::samples:
      return "samples";
    case Stage::accounting:
      return "accounting";
  }
  return "facts";
}

void check_stop(const QueryOptions& ask) {
  if (ask.stop.stop_requested()) throw QueryFailed{{ErrorKind::cancelled, "the question was cancelled"}};
}

void report_progress(const QueryOptions& ask, Stage stage, std::size_t total) {
  check_stop(ask);
  if (ask.progress) ask.progress({stage, 0, static_cast<std::int64_t>(total)});
}

}  // namespace ridgeline::analyzer
