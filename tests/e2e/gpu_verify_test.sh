#!/usr/bin/env bash
# gpu-verify: its rows come as they are known, and a time limit ends it in order. usage: gpu_verify_test.sh
# A GPU is made up, and so is Python: a check that prints a row and goes on until it is told to end.
set -euo pipefail
root=$(cd "$(dirname "$0")/../.." && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
fail() { echo "gpu_verify_test: $1" >&2; cat "$work/said" >&2; exit 1; }
mkdir "$work/bin" "$work/build"
printf '#!/bin/sh\n[ "$1" != -L ] || echo "GPU 0: made up"\n' >"$work/bin/nvidia-smi"
cat >"$work/bin/python3" <<'PYTHON'
#!/bin/bash
[ "$1" = -B ] || exit 0
trap 'echo "all            pass  1 cases"; echo "program  the table"; exit 124' TERM
echo "first          pass  done"
[ -n "${ENDLESS:-}" ] || exit 0
while :; do sleep 0.1; done
PYTHON
chmod +x "$work/bin/nvidia-smi" "$work/bin/python3"

# verify STATUS ARGUMENTS...
verify() {
  local status=0 wanted=$1
  shift
  PATH="$work/bin:$PATH" timeout 60 bash "$root/scripts/gpu-verify" --no-build --build-dir "$work/build" --out "$work/out" "$@" >"$work/said" 2>&1 || status=$?
  [ "$status" -eq "$wanted" ] || fail "ended with $status, not $wanted"
}
said() { grep -q -- "$1" "$work/said" || fail "it does not say: $1"; }

verify 0 intervene
said '^intervene       pass  first          pass  done$'

ENDLESS=1 verify 1 --seconds 1 intervene ladder
said '^-- cut off after'
said '^intervene       pass  first          pass  done$'
said '^intervene       pass  all            pass  1 cases$'
said '^program  the table$'
said '^ladder          FAIL  not run: no time was left$'
[ "$(grep -c '^intervene       pass  first ' "$work/said")" -eq 2 ] || fail "a row is printed when it is known and in the table"
[ "$(tail -n 2 "$work/out/intervene.txt" | tr '\n' '|')" = "all            pass  1 cases|program  the table|" ] || fail "the file has not all"

for wrong in "--seconds 0" "--seconds" "--seconds soon" "no-such-check"; do
  # shellcheck disable=SC2086
  verify 2 $wrong
done
echo "gpu-verify: rows as they come, an end in order"
