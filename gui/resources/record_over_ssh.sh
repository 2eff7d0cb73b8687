# record_over_ssh: records a program on another machine by the user's own ssh and fetches the capture. Run by the window as
#   sh -c SCRIPT record_over_ssh HOST CAPTURE RIDGELINE ARGUMENTS
# ARGUMENTS are those of `ridgeline record` behind -o, quoted for a shell. TERM ends the recording in order, and the capture is
# fetched then too. Exits with the status of `ridgeline record`, 4 if the machine cannot be used, 1 if the capture does not come.
host=$1 capture=$2 ridgeline=$3 arguments=$4
say() { echo "$host: $*"; }
local_folder=$(mktemp -d) || exit 1
held=
remote=
stopped=
program=
clean() {
  [ -z "$remote" ] || ssh "$host" "rm -rf $remote" </dev/null 2>/dev/null
  rm -rf "$local_folder"
}
trap clean EXIT
# Before the recording has begun there is nothing to end in order.
trap 'stopped=1; [ -z "$held" ] || exec 9>&-; [ -n "$held" ] || exit 1' TERM

found=$(ssh "$host" sh -s <<'END'
folder=$(mktemp -d) && echo "folder $folder"
echo "machine $(uname -sm)"
echo "program $(command -v ridgeline)"
END
) || { say "ssh does not get there: try \"ssh $host true\" in a terminal"; exit 4; }
# What a profile prints comes before.
remote=$(echo "$found" | sed -n 's/^folder //p' | tail -n 1)
machine=$(echo "$found" | sed -n 's/^machine //p' | tail -n 1)
program=$(echo "$found" | sed -n 's/^program //p' | tail -n 1)
case $remote in /*) ;; *) say "no folder can be made there"; exit 4 ;; esac

if [ -z "$program" ]; then
  [ "$machine" = "$(uname -sm)" ] || {
    say "ridgeline is not there, and that of this machine ($(uname -sm)) does not run on $machine: install it there"
    exit 4
  }
  beside=$(dirname "$ridgeline")
  agent=
  for each in "$beside/../lib" "$beside/../lib64" "$beside" "$beside/../lib/ridgeline"; do
    [ -n "$agent" ] || [ ! -f "$each/libridgeline_agent.so" ] || agent=$each/libridgeline_agent.so
  done
  [ -n "$agent" ] || { say "ridgeline is not there, and this one has no agent to carry: install it there"; exit 4; }
  say "carrying ridgeline and its agent"
  for file in "$ridgeline" "$agent"; do
    ssh "$host" "cat >$remote/$(basename "$file") && chmod 755 $remote/$(basename "$file")" <"$file" ||
      { say "it cannot be carried"; exit 4; }
  done
  program=$remote/ridgeline
fi

# Runs there. What it reads is held open from here as long as the recording shall go on.
cat >"$local_folder/run" <<END || exit 1
exec 3<&0
exec "$program" record -o $remote/recording.ridge $arguments </dev/null 3<&- &
recording=\$!
(cat <&3 >/dev/null 2>&1; kill -TERM \$recording) >/dev/null 2>&1 &
watching=\$!
wait \$recording
status=\$?
kill \$watching 2>/dev/null
exit \$status
END
ssh "$host" "cat >$remote/run" <"$local_folder/run" || { say "no script can be written there"; exit 4; }
mkfifo "$local_folder/held" || exit 1
say "recording with $program"
ssh "$host" "sh $remote/run" <"$local_folder/held" &
connection=$!
exec 9>"$local_folder/held"
held=1
[ -z "$stopped" ] || exec 9>&-
while :; do
  wait "$connection"
  status=$?
  # A signal ends the waiting, not the connection.
  kill -0 "$connection" 2>/dev/null || break
done
exec 9>&-
[ "$status" -ne 255 ] || say "the connection was lost"

if ssh "$host" "test -s $remote/recording.ridge" </dev/null; then
  say "fetching the capture"
  if ssh "$host" "cat $remote/recording.ridge" </dev/null >"$capture.part" && mv "$capture.part" "$capture"; then
    exit "$status"
  fi
  rm -f "$capture.part"
  say "the capture does not come: it is $remote/recording.ridge there"
  remote=
  exit 1
fi
[ "$status" -ne 0 ] || status=1
exit "$status"
