#!/usr/bin/env bash
# usage: profile_test.sh BUILD_DIR. scripts/profile on the bundled capture: ranking, verdict, report.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT
cd "$directory"
"$root/scripts/profile" --bundled --no-build --no-install --build-dir "$1" >out 2>&1 || { cat out; exit 1; }
expect() { grep -qE "$1" "$2" || { echo "FAILED: $2 lacks '$1'"; tail -n 40 out; exit 1; }; }
expect 'Analysing the bundled capture' out
expect 'Saving: up to [0-9.]+ % of the step' out
expect 'The step (misses|meets) its target' out
expect '<svg' report.html
expect 'NVIDIA H200' report.html
if grep -qE '(src|href)="?https?:' report.html; then echo "FAILED: the report loads from elsewhere"; exit 1; fi
before=$(sha256sum <"$root/examples/gpt2-h200.ridge")
"$1/bin/ridgeline" steps "$root/examples/gpt2-h200.ridge" >/dev/null
[ "$before" = "$(sha256sum <"$root/examples/gpt2-h200.ridge")" ] || { echo "FAILED: a reader changed the capture"; exit 1; }
