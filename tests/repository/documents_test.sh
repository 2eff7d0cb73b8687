#!/usr/bin/env bash
# README at most 200 lines; relative links of the documents lead somewhere; docs/schema.md shows the schema's DDL.
set -euo pipefail
cd "$(dirname "$0")/../.."
failed=0
complain() { echo "FAILED: $*"; failed=1; }

lines=$(wc -l <README.md)
[ "$lines" -le 200 ] || complain "README.md has $lines lines, 200 are allowed"

while IFS=: read -r file link; do
  target=${link#*](}
  target=${target%)}
  target=${target%%#*}
  case "$target" in ''|http://*|https://*|mailto:*) continue ;; esac
  [ -e "$(dirname "$file")/$target" ] || complain "$file links to $target, which does not exist"
done < <(git ls-files '*.md' ':!tests/golden/documents' | xargs grep -oE '\]\([^) ]+\)' --with-filename)

scripts/schema-doc | diff -u docs/schema.md - >/dev/null || complain "docs/schema.md is out of date: scripts/schema-doc > docs/schema.md"
exit "$failed"
