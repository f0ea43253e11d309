#!/bin/sh
# SPDX-License-Identifier: MIT
# Draws the page of a graph in a real browser, without a window, and looks at what its script has made of the data.
# Usage: check_page.sh MAKE_PAGE; exits 77 when no browser is installed.
set -eu
for tool in chromium chromium-browser google-chrome; do
  if command -v "$tool" >/dev/null; then browser=$tool; fi
done
[ -n "${browser:-}" ] || {
  echo "no chromium is installed: the page is not checked"
  exit 77
}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
"$1" "$work/page.html"
HOME=$work timeout 120 "$browser" --headless --no-sandbox --disable-gpu --disable-dev-shm-usage --virtual-time-budget=20000 \
  --dump-dom "file://$work/page.html#all" >"$work/drawn.html" 2>"$work/log" || {
  cat "$work/log"
  exit 1
}
failed=0
# count PATTERN LEAST: at least that many such elements were drawn.
count() {
  found=$(grep -o -e "$1" "$work/drawn.html" | wc -l)
  [ "$found" -ge "$2" ] || {
    echo "FAILED: $found of '$1' were drawn, expected $2 or more"
    failed=1
  }
}
count 'data-ready="true"' 1
count '<g class="node"' 2000
count 'class="edge"' 2000
count '<rect class="block"' 5
count 'class="bar"' 100
count 'nodes recorded' 1
count 'text-anchor="end">[0-9.]* [KM]*i*B</text>' 5 # axis of addresses
count 'text-anchor="middle">step</text>' 1
if grep -q -e 'https\?://[^w]' "$work/page.html"; then
  echo "FAILED: the page refers to something on the network"
  failed=1
fi
[ "$failed" -eq 0 ] && echo "the page draws its graph, schedule and memory"
exit "$failed"
