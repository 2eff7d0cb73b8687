#!/usr/bin/env bash
# Plants one forbidden include at a time in an empty tree and expects check-layering to find it.
set -euo pipefail
check=$(cd "$(dirname "$0")/../.." && pwd)/scripts/check-layering
tree=$(mktemp -d)
trap 'rm -rf "$tree"' EXIT
failed=0

expect() {  # expect found|clean FILE INCLUDE
  rm -rf "${tree:?}"/*
  mkdir -p "$tree/$(dirname "$2")"
  printf '#include %s\n' "$3" >"$tree/$2"
  if "$check" "$tree" >/dev/null; then result=clean; else result=found; fi
  if [ "$result" != "$1" ]; then
    echo "FAILED: $2 with #include $3: expected $1, got $result"
    failed=1
  fi
}

expect clean store/src/a.cpp '<sqlite3.h>'
expect found analyzer/src/model/a.cpp '<sqlite3.h>'
expect found cli/src/a.cpp '<cupti.h>'
expect clean collector/agent/a.cpp '<cupti.h>'
expect found collector/launch/a.cpp '<cuda.h>'
expect found import/spool/a.cpp '<cuda.h>'
expect found reports/src/a.h '<cuda_runtime.h>'
expect clean workloads/gpt2/a.cu '<cuda_runtime.h>'
expect found analyzer/a.cpp '<QString>'
expect clean gui/a.cpp '<QString>'
expect found store/a.cpp '"ridgeline/analyzer/model.h"'
expect found workloads/gpt2/a.cpp '"ridgeline/base/error.h"'
expect found collector/agent/a.cpp '"ridgeline/store/database.h"'
expect found collector/agent/a.cpp '"ridgeline/spool/manifest.h"'
expect found collector/agent/a.cpp '"ridgeline/base/error.h"'
expect clean collector/agent/a.cpp '"ridgeline/base/vocabulary.h"'
expect clean collector/agent/a.cpp '"ridgeline/spool/writer.h"'
expect found base/a.cpp '"ridgeline/store/records.h"'
expect clean store/a.cpp '"ridgeline/base/error.h"'
expect found collector/spool/a.cpp '"ridgeline/store/records.h"'
expect found collector/launch/a.cpp '"ridgeline/import/importer.h"'
expect found collector/launch/a.cpp '"ridgeline/store/capture.h"'
expect clean collector/launch/a.cpp '"ridgeline/spool/manifest.h"'
expect found import/spool/a.cpp '"ridgeline/launch/recorder.h"'
expect clean import/spool/a.cpp '"ridgeline/store/capture_writer.h"'
expect found import/attribution/a.cpp '"ridgeline/spool/reader.h"'
expect found import/attribution/a.cpp '"ridgeline/store/records.h"'
expect found import/spool/a.cpp '"ridgeline/analyzer/model.h"'
expect found analyzer/a.cpp '  "ridgeline/reports/table.h"'
expect found analyzer/a.cpp '"ridgeline/comparison/profile.h"'
expect clean comparison/src/a.cpp '"ridgeline/analyzer/session.h"'
expect found comparison/src/a.cpp '"ridgeline/reports/table.h"'
expect clean reports/src/a.cpp '"ridgeline/comparison/comparison.h"'
expect clean cli/a.cpp '"ridgeline/launch/recorder.h"'
expect found cli/a.cpp '"ridgeline/spool/reader.h"'
expect found analyzer/a.cpp '"ridgeline/import/importer.h"'
expect clean cli/a.cpp '"ridgeline/experiment/measure.h"'
expect clean experiment/a.cpp '"ridgeline/analyzer/comparison.h"'
expect found experiment/a.cpp '"ridgeline/reports/table.h"'
expect found experiment/a.cpp '"ridgeline/launch/recorder.h"'
expect found analyzer/a.cpp '"ridgeline/experiment/measure.h"'
expect clean gui/a.cpp '"ridgeline/queries/scope_query.h"'
expect clean cli/a.cpp '"ridgeline/queries/capture_queries.h"'
expect clean queries/a.cpp '"ridgeline/reports/documents.h"'
expect found queries/a.cpp '<QString>'
expect found queries/a.cpp '"ridgeline/launch/recorder.h"'
expect found reports/a.cpp '"ridgeline/queries/scope_query.h"'
expect found experiment/a.cpp '"ridgeline/queries/compare_query.h"'
expect clean mcp/a.cpp '"ridgeline/queries/capture_queries.h"'
expect found queries/a.cpp '"ridgeline/mcp/server.h"'
expect found mcp/a.cpp '"ridgeline/import/importer.h"'
expect clean exports/a.cpp '"ridgeline/analyzer/session/session.h"'
expect found exports/a.cpp '"ridgeline/reports/documents.h"'
expect found gui/a.cpp '"ridgeline/exports/export.h"'
expect found gui/a.cpp '"ridgeline/spool/reader.h"'
expect found gui/a.cpp '"ridgeline/launch/recorder.h"'
expect found gui/a.cpp '"ridgeline/import/importer.h"'
# Floors inside the analyzer.
expect clean analyzer/src/ranking/a.cpp '"utilisation/roofs.h"'
expect clean analyzer/src/ranking/a.cpp '"ranking/codes.h"'
expect clean analyzer/src/session/a.cpp '"ridgeline/analyzer/findings/quality.h"'
expect found analyzer/src/steps/a.cpp '"session/loader.h"'
expect found analyzer/src/utilisation/a.h '"ridgeline/analyzer/ranking/ranking.h"'
expect found analyzer/include/ridgeline/analyzer/values/a.h '"ridgeline/analyzer/model/model.h"'
expect found analyzer/include/ridgeline/analyzer/model/a.h '"ridgeline/analyzer/session/session.h"'
expect found analyzer/src/a.cpp '<vector>'
expect found analyzer/src/attic/a.cpp '<vector>'
expect found analyzer/include/ridgeline/analyzer/a.h '<vector>'
[ "$failed" -eq 0 ] && echo "every planted include was judged right"
exit "$failed"
