#!/usr/bin/env bash
# real_window_test: the window's tests on an X server, and that an idle window costs no processor time. Exits 77 without Xvfb.
# usage: real_window_test.sh TEST_PROGRAM RIDGELINE_GUI REPOSITORY
set -euo pipefail
command -v Xvfb >/dev/null || { echo "no Xvfb here: skipped"; exit 77; }
work=$(mktemp -d)
exec 3<>"$work/display"
Xvfb -displayfd 3 -screen 0 1600x1000x24 -nolisten tcp >"$work/xvfb.log" 2>&1 &
server=$!
program=
trap 'kill $program $server 2>/dev/null || true; rm -rf "$work"' EXIT
for _ in $(seq 100); do
  [ -s "$work/display" ] && break
  kill -0 "$server" 2>/dev/null || { cat "$work/xvfb.log"; echo "Xvfb does not start here: skipped"; exit 77; }
  sleep 0.1
done
export DISPLAY=":$(tr -d '[:space:]' <"$work/display")"
export XDG_RUNTIME_DIR=$work XDG_CONFIG_HOME=$work XDG_DATA_HOME=$work
chmod 700 "$work"
# Under AddressSanitizer: what D-Bus keeps of a connection is not ours to free.
echo 'leak:libdbus-1.so' >"$work/leaks"
export LSAN_OPTIONS="suppressions=$work/leaks:print_suppressions=0"
RIDGELINE_GUI_TEST_PLATFORM=xcb "$1" || exit 1

# Ticks of processor time so far, of all threads.
ticks() { awk '{print $14 + $15}' "/proc/$program/stat"; }
"$2" "$3/examples/gpt2-h200.ridge" 2>"$work/said" &
program=$!
before=-1
for _ in $(seq 60); do
  sleep 1
  now=$(ticks) || { cat "$work/said"; echo "the window closed by itself"; exit 1; }
  [ "$now" -eq "$before" ] && break
  before=$now
done
sleep 5
after=$(ticks)
echo "processor time of five idle seconds: $(((after - now) * 10)) ms"
[ $((after - now)) -le 3 ] || { echo "an idle window works"; exit 1; }
