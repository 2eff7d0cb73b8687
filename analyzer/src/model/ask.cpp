#include "ridgeline/analyzer/model/ask.h"

#include "model/refusal.h"

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

void check_stop(const Ask& ask) {
  if (ask.stop.stop_requested()) throw Refused{{ErrorKind::cancelled, "the question was cancelled"}};
}

void tell(const Ask& ask, Stage stage, std::size_t total) {
  check_stop(ask);
  if (ask.progress) ask.progress({stage, 0, static_cast<std::int64_t>(total)});
}

}  // namespace ridgeline::analyzer
