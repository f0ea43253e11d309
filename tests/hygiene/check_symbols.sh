#!/bin/sh
# SPDX-License-Identifier: MIT
# Checks that objects compiled for one instruction set share no inline function with the others: the linker would keep
# one copy for all, and a processor without the set would meet its instructions. And that no function of the library is
# inline in one object and another one of the same name in a second: the linker would keep one in silence.
# Usage: check_symbols.sh BUILD_FOLDER
set -eu
command -v nm >/dev/null || exit 77
find "$1" -type f \( -name '*.avx2.cpp.o' -o -name '*.avx512.cpp.o' \) | LC_ALL=C sort | {
  bad=0 count=0
  while read -r object; do
    count=$((count + 1))
    set=${object%.cpp.o}
    set=${set##*.}
    # Weak definitions (W, V, u) are fine within the set's own namespace; names that begin with two underscores are the
    # compiler's and the sanitizers' own.
    shared=$(nm --defined-only "$object" | awk -v set="$set" '$2 ~ /^[WVu]$/ && $3 !~ set && $3 !~ /^__/ {print "  " $3}')
    [ -z "$shared" ] || { printf '%s shares:\n%s\n' "$object" "$shared"; bad=1; }
  done
  echo "$count objects checked"
  exit $bad
}
find "$1/CMakeFiles" -type f -name '*.o' -exec nm --defined-only {} + | awk '
  $3 ~ /4tyto/ && $2 == "T" { strong[$3] = 1 }
  $3 ~ /4tyto/ && $2 == "W" { weak[$3] = 1 }
  END { for (name in weak) if (name in strong) { print name " is both inline and not"; bad = 1 } exit bad }'
