#!/usr/bin/env bash
# Print the newest Python from 3.13 down to 3.11 that works and can make an environment.
# A name on PATH is no proof: version managers leave stubs for versions that are switched off.
set -u
for name in python3.13 python3.12 python3.11 python3 python; do
  if "$name" -c 'import ensurepip, sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then
    command -v "$name"
    exit 0
  fi
done
echo "No usable Python found: hitl-widgets needs Python 3.11 or newer with venv and pip." >&2
echo "Debian and Ubuntu: apt-get install python3 python3-venv. Elsewhere: https://www.python.org/downloads/" >&2
exit 1
