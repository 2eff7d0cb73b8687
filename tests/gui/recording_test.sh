#!/usr/bin/env bash
# recording_test: the dialog from the form to the opened capture, with a program in ridgeline's place that "records" the
# bundled capture. usage: recording_test.sh RIDGELINE_GUI_RECORDING SOURCE_DIR
set -euo pipefail
program=$1
bundled=$2/examples/gpt2-h200.ridge
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
fail() { echo "recording_test: $*" >&2; exit 1; }

cat > "$folder/ridgeline" <<END
#!/bin/sh
if [ "\$1" = doctor ]; then echo 'ok gpu'; echo; echo 'everything can be recorded here'; exit 0; fi
trap 'cp "$bundled" "\$3"; echo ended in order; exit 0' TERM
echo starting; echo one; echo two; echo three; echo four
case "\$*" in *endless*) while :; do sleep 0.05; done ;; esac
cp "$bundled" "\$3"
END
chmod +x "$folder/ridgeline"

mkdir "$folder/whole" "$folder/stopped"
said=$("$program" "$folder/ridgeline" "$folder/whole" train --steps 3)
grep -q 'machine: everything can be recorded here' <<< "$said" || fail "doctor's answer is missing: $said"
grep -q '^Recorded: ' <<< "$said" || fail "the end is not said: $said"
grep -q '^opened: step of 255 launches' <<< "$said" || fail "the capture was not opened: $said"
for picture in form recording recorded window; do
  [ -s "$folder/whole/$picture.png" ] || fail "there is no picture of $picture"
done

said=$("$program" --stop-after 0.2 "$folder/ridgeline" "$folder/stopped" train endless)
grep -q 'ended in order' <<< "$said" || fail "it was not stopped in order: $said"
grep -q '^opened: ' <<< "$said" || fail "what was recorded until then was not opened: $said"
