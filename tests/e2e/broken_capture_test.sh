#!/usr/bin/env bash
# usage: broken_capture_test.sh RIDGELINE. Breaks a copy of the bundled capture in four ways; capture_checks.py must
# find each, so that its "pass" means something.
set -euo pipefail
ridgeline=$1
root=$(cd "$(dirname "$0")/../.." && pwd)
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
failed=0

expect_failure() {  # expect_failure CHECK SQL
  rm -f "$directory"/*
  cp "$root/tests/store/version-2.ridge" "$directory/broken.ridge"
  sqlite3 "$directory/broken.ridge" "$2"
  python3 -B "$root/tests/gpu/capture_checks.py" "$directory/broken.ridge" --ridgeline "$ridgeline" >"$directory/out" 2>&1 || true
  if ! grep -q "^$1 *FAIL" "$directory/out"; then
    echo "FAILED: check '$1' did not notice: $2"
    cat "$directory/out"
    failed=1
  fi
}

expect_failure records "UPDATE completeness SET kernel_records = kernel_records - 1"
expect_failure values "UPDATE launch SET end_ns = start_ns WHERE step_id IN (SELECT id FROM step WHERE phase = 'timeline') AND ordinal_in_step = 5"
expect_failure gemm-ops "UPDATE launch_metric SET value = value * 1.03 WHERE metric_id = (SELECT id FROM metric WHERE name = 'sm__ops_path_tensor_src_bf16_dst_fp32.sum')"
expect_failure accounting "UPDATE step SET host_start_ns = host_start_ns + 2000000 * step_index"
exit "$failed"
