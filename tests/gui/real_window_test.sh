#!/usr/bin/env bash
# real_window_test: tests of the window on an X server, and that an idle window costs no processor time. Exits 77 without Xvfb,
# or fails if RIDGELINE_REQUIRE_XVFB says that it must be there.
# usage: real_window_test.sh RIDGELINE_GUI REPOSITORY TEST_PROGRAM FILE...
set -euo pipefail
gui=$1 repository=$2 program_of_tests=$3
shift 3
skip() {
  [ -z "${RIDGELINE_REQUIRE_XVFB:-}" ] || { echo "$1"; exit 1; }
  echo "$1: skipped"
  exit 77
}
command -v Xvfb >/dev/null || skip "no Xvfb here (package xvfb)"
work=$(mktemp -d)
exec 3<>"$work/display"
Xvfb -displayfd 3 -screen 0 1600x1000x24 -nolisten tcp >"$work/xvfb.log" 2>&1 &
server=$!
program=
trap 'kill $program $server 2>/dev/null || true; rm -rf "$work"' EXIT
for _ in $(seq 300); do
  [ -s "$work/display" ] && break
  kill -0 "$server" 2>/dev/null || { cat "$work/xvfb.log"; skip "Xvfb does not start here"; }
  sleep 0.1
done
DISPLAY=":$(tr -d '[:space:]' <"$work/display")"
export DISPLAY XDG_RUNTIME_DIR=$work XDG_CONFIG_HOME=$work XDG_DATA_HOME=$work
chmod 700 "$work"
# Under AddressSanitizer: what D-Bus keeps of a connection is not ours to free.
echo 'leak:libdbus-1.so' >"$work/leaks"
export LSAN_OPTIONS="suppressions=$work/leaks:print_suppressions=0"
for file in "$@"; do RIDGELINE_GUI_TEST_PLATFORM=xcb "$program_of_tests" "$file" || exit 1; done

# Ticks of processor time so far, of all threads. The name of a process may hold blanks: what follows it is counted.
ticks() { sed 's/^.*) //' "/proc/$program/stat" | awk '{print $12 + $13}'; }
"$gui" "$repository/examples/gpt2-h200.ridge" 2>"$work/said" &
program=$!
# How long it takes to read depends on the machine, and so does when it is idle: some five seconds in a row must cost
# nothing. A window that works whatever nobody does has none such.
idle=-1
for _ in $(seq 20); do
  before=$(ticks) || { cat "$work/said"; echo "the window closed by itself"; exit 1; }
  sleep 5
  after=$(ticks) || { cat "$work/said"; echo "the window closed by itself"; exit 1; }
  idle=$(((after - before) * 10))
  # Nothing at all before it has begun is not idle either.
  [ "$after" -gt 10 ] && [ "$idle" -le 30 ] && break
done
echo "processor time of five idle seconds: $idle ms"
[ "$idle" -le 30 ] || { echo "an idle window works"; exit 1; }
