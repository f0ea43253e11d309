#!/bin/sh
# Checks a site: each link to a file of its own leads to one, and to a place in it that is there.
# Usage: check_links.sh FOLDER
set -eu
cd "$1"
# shellcheck disable=SC2016 # the program is awk's
find . -name '*.html' ! -path './search/*' -print | LC_ALL=C sort | xargs awk '
  function record(kind, value) { print kind "\t" substr(FILENAME, 3) "\t" value }
  {
    line = $0
    while (match(line, /(id|name)="[^"]*"/)) {
      text = substr(line, RSTART, RLENGTH)
      line = substr(line, RSTART + RLENGTH)
      sub(/^[a-z]*="/, "", text)
      sub(/"$/, "", text)
      record("place", text)
    }
    line = $0
    while (match(line, /(href|src)="[^"]*"/)) {
      text = substr(line, RSTART, RLENGTH)
      line = substr(line, RSTART + RLENGTH)
      sub(/^[a-z]*="/, "", text)
      sub(/"$/, "", text)
      record("link", text)
    }
  }' | awk -F '\t' '
  BEGIN { while (("find . -type f" | getline file) > 0) files[substr(file, 3)] = 1 }
  $1 == "place" { places[$2 "#" $3] = 1 }
  $1 == "link" { from[++count] = $2; to[count] = $3 }
  END {
    for (i = 1; i <= count; i++) {
      target = to[i]
      if (target ~ /^(javascript|mailto|data):/ || target == "#") continue
      if (target ~ /^https?:/) { outside++; continue }
      file = target
      sub(/#.*/, "", file)
      sub(/\?.*/, "", file)
      if (file == "") file = from[i]
      place = ""
      if (index(target, "#")) { place = target; sub(/^[^#]*#/, "", place) }
      checked++
      if (!(file in files) || (place != "" && !((file "#" place) in places))) {
        if (!((from[i] target) in told)) print from[i] ": " target " leads nowhere"
        told[from[i] target] = 1
        bad++
      }
    }
    printf "%d links checked, %d to other sites, %d lead nowhere\n", checked, outside, bad
    exit bad > 0
  }'
