#!/bin/sh
# SPDX-License-Identifier: MIT
# Compares the interfaces of two libraries, built with debug information, for programs linked with the first; fails where
# anything that they may use is gone or another, such as the layout of a structure.
# usage: compare_interface.sh OLD.so OLD_HEADERS NEW.so NEW_HEADERS
set -u
[ $# -eq 4 ] || {
  echo "usage: compare_interface.sh OLD.so OLD_HEADERS NEW.so NEW_HEADERS" >&2
  exit 2
}

for library in "$1" "$3"; do
  # abidiff's own check, --fail-no-debug-info, lets libraries pass that were built without.
  readelf -SW "$library" | grep -q '[.]debug_info' || {
    echo "$library: there is no debug information" >&2
    exit 2
  }
done

compare() { # OLD OLD_HEADERS NEW NEW_HEADERS [OPTION]
  abidiff --drop-private-types ${5:+"$5"} --headers-dir1 "$2" --headers-dir2 "$4" "$1" "$3"
}

# Bits of abidiff's status: 1 an error, 2 wrong arguments, 4 a change, 8 one that is incompatible for sure. A changed layout is
# a change like any other to it, and what was added is one too unless it is left out.
status=0
compare "$@" || status=$?
[ $((status & 3)) -eq 0 ] || exit 2
[ $status -ne 0 ] || echo "Nothing changed for programs that are linked with the library."
status=0
compare "$@" --no-added-syms >/dev/null || status=$?
[ $((status & 3)) -eq 0 ] || exit 2
[ $status -eq 0 ] || exit 1
