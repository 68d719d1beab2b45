#!/usr/bin/env bash
# Make sure that the browser tests find a Chromium: on Debian as root install it, else say how.
set -u
[ -n "${HITL_CHROMIUM:-}" ] && [ -x "$HITL_CHROMIUM" ] && exit 0
for name in chromium chromium-browser google-chrome; do
  command -v "$name" >/dev/null 2>&1 && exit 0
done
if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
  echo "Installing Chromium from the distribution's packages for the browser tests"
  export DEBIAN_FRONTEND=noninteractive
  # One font is needed for text to be drawn at all; the recommended packages are not.
  { apt-get update -qq && apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core; } \
    </dev/null >/dev/null && exit 0
  echo "apt-get could not install the package 'chromium' (its messages are above)." >&2
  exit 1
fi
cat >&2 <<'TEXT'
The browser tests need Chromium or Chrome and found none.
  Debian, Ubuntu:  sudo apt-get install chromium
  Fedora:          sudo dnf install chromium
  macOS:           brew install --cask google-chrome
                   HITL_CHROMIUM="/Applications/Google Chrome.app/Contents/MacOS/Google Chrome" make test
  elsewhere:       set HITL_CHROMIUM to the program's path
TEXT
exit 1
