#!/usr/bin/env bash
# Print the interpreters of every supported Python on this machine: on the PATH, or pyenv's.
set -u
for version in 3.11 3.12 3.13 3.14; do
  for python in "python$version" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$version"*/bin/python; do
    if "$python" -c '' 2>/dev/null; then
      command -v "$python"
      break
    fi
  done
done
