#!/usr/bin/env bash
# Usage: unchanged.sh PATH... -- COMMAND...
# Run a generator and fail if what it wrote differs from what was there before.
# Compared by content, not with git, so that it also judges work that is not committed yet.
set -euo pipefail
paths=()
while [ $# -gt 0 ] && [ "$1" != -- ]; do paths+=("$1"); shift; done
[ $# -gt 1 ] && [ ${#paths[@]} -gt 0 ] || { echo "usage: $0 PATH... -- COMMAND..." >&2; exit 2; }
shift

digests() {
  for path in "${paths[@]}"; do
    [ -e "$path" ] && find "$path" -type f -exec cksum {} +
  done | sort -k 3
  return 0
}

before=$(digests)
"$@"
after=$(digests)
if [ "$before" != "$after" ]; then
  echo "These generated files did not match their sources (before '<', now '>'):" >&2
  diff <(echo "$before") <(echo "$after") >&2 || true
  echo "They are rebuilt now: look at the change and commit it." >&2
  exit 1
fi
