#!/usr/bin/env bash
# program_test: `ridgeline gui` starts the desktop program, writes pictures without a screen and fails in words.
# usage: program_test.sh RIDGELINE REPOSITORY
set -euo pipefail
ridgeline=$1
capture=$2/examples/gpt2-h200.ridge
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failures=0

# expect STATUS WORDS ARGUMENTS...: runs `ridgeline gui ARGUMENTS`; no WORDS: it says nothing
expect() {
  local want=$1 words=$2 status=0
  shift 2
  env -u DISPLAY -u WAYLAND_DISPLAY -u QT_QPA_PLATFORM "$ridgeline" gui "$@" >"$work/out" 2>&1 || status=$?
  if [ "$status" -ne "$want" ] || { [ -n "$words" ] && ! grep -qF -- "$words" "$work/out"; } || { [ -z "$words" ] && [ -s "$work/out" ]; }; then
    echo "ridgeline gui $*: exit $status instead of $want, or no '$words' in:"
    cat "$work/out"
    failures=$((failures + 1))
  fi
}

expect 0 'usage: ridgeline gui' --help
expect 2 "no panel 'cake'" --panel cake "$capture"
expect 4 'there is no screen' "$capture"
expect 4 'missing.ridge' --screenshot "$work/no.png" "$work/missing.ridge"
head -c 5000 "$capture" >"$work/torn.ridge"
expect 3 'torn.ridge' --screenshot "$work/no.png" "$work/torn.ridge"
cp "$capture" "$work/kept.ridge"
expect 2 'kept.ridge is a capture, which is not written over' --screenshot "$work/kept.ridge" "$work/kept.ridge"
cmp -s "$capture" "$work/kept.ridge" || { echo "a picture replaced a capture"; failures=$((failures + 1)); }
expect 4 'cannot be written' --screenshot "$work/nowhere/no.png" "$capture"
expect 0 '' --screenshot "$work/window.png" --size 1200x800 "$capture"
expect 0 '' --screenshot "$work/ranking.png" --panel ranking --theme dark --size 1200x500 "$capture"
for picture in window:1200:800 ranking:1200:500; do
  IFS=: read -r name width height <<<"$picture"
  # Width and height stand big-endian at byte 16 of a PNG.
  found=$(od -An -tu1 -j16 -N8 "$work/$name.png" | awk '{print $3*256+$4 ":" $7*256+$8}')
  [ "$found" = "$width:$height" ] || { echo "$name.png is $found"; failures=$((failures + 1)); }
done
exit "$((failures > 0))"
