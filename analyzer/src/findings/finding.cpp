#include "ridgeline/analyzer/finding.h"

namespace ridgeline::analyzer {

std::string_view to_string(Severity severity) {
  switch (severity) {
    case Severity::info:
      return "info";
    case Severity::warning:
      return "warning";
    case Severity::error:
      return "error";
  }
  return "info";
}

}  // namespace ridgeline::analyzer
