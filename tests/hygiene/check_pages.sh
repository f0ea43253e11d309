#!/bin/sh
# SPDX-License-Identifier: MIT
# Checks Markdown pages: each relative link leads to a file; each decision has a line in the index and fewer than 40 of
# its own.
# Usage: check_pages.sh [ROOT]
set -eu
root=${1:-$(dirname "$0")/../..}
cd "$root"
find . -name '*.md' ! -path './build/*' ! -path './.git/*' -print |
  LC_ALL=C sort |
  awk '
    function complain(what) { print what; bad = 1 }
    function exists(path) { return system("test -e \"" path "\"") == 0 }

    function check_links(page, line, number,   folder, target) {
      folder = page
      sub(/[^\/]*$/, "", folder)
      gsub(/`[^`]*`/, "", line)
      while (match(line, /\]\([^) ]+\)/)) {
        target = substr(line, RSTART + 2, RLENGTH - 3)
        line = substr(line, RSTART + RLENGTH)
        if (target ~ /^[a-z]+:/ || target ~ /^#/) continue
        sub(/#.*/, "", target)
        if (!exists(folder target)) complain(page ":" number ": the link " target " leads nowhere")
      }
    }

    {
      pages++
      page = $0
      number = 0
      code = 0
      decision = page ~ /\/docs\/adr\/[0-9]+-[^\/]*$/
      while ((getline line < page) > 0) {
        number++
        if (line ~ /^```/) code = !code
        if (code) continue
        check_links(page, line, number)
        if (number == 1 && decision) titles[page] = line
        if (page ~ /\/docs\/adr\/README.md$/ && split(line, cells, "|") > 3) listed[cells[3]] = cells[2]
      }
      close(page)
      if (decision && number >= 40) complain(page ": " number " lines, a decision has fewer than 40")
    }
    END {
      for (page in titles) {
        title = titles[page]
        if (title !~ /^# [0-9]+\. /) { complain(page ": the title has no number"); continue }
        sub(/^# [0-9]+\. /, "", title)
        file = page
        sub(/.*\//, "", file)
        if (index(listed[" " title " "], "(" file ")") == 0) complain(page ": docs/adr/README.md has no line for \"" title "\"")
      }
      printf "%d pages checked\n", pages
      exit bad
    }'
