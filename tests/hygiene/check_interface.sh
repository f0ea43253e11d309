#!/bin/sh
# SPDX-License-Identifier: MIT
# Tests packaging/compare_interface.sh on small libraries: the same, one with more in it, and ones that break programs.
set -eu
cd "$(dirname "$0")/../.."
command -v abidiff >/dev/null || {
  echo "abidiff (package abigail-tools) is not installed"
  exit 77
}
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# library NAME DECLARATIONS [FLAG]
library() {
  mkdir -p "$folder/$1"
  printf 'struct Shown { %s int last; };\n%s\n' "$2" "$3" >"$folder/$1/api.hpp"
  printf '#include "api.hpp"\nint read(const Shown& shown) { return shown.last; }\n%s\n' "$4" >"$folder/$1/api.cpp"
  "${CXX:-c++}" -shared -fPIC "${5:--g}" -I "$folder/$1" "$folder/$1/api.cpp" -o "$folder/$1/lib.so"
}

# compare NAME STATUS TEXT: from the library "old" to this one.
compare() {
  status=0
  packaging/compare_interface.sh "$folder/old/lib.so" "$folder/old" "$folder/$1/lib.so" "$folder/$1" >"$folder/told" 2>&1 ||
    status=$?
  if [ $status -ne "$2" ] || ! grep -q "$3" "$folder/told"; then
    echo "compare_interface.sh ends with $status for '$1', not $2, and says:" >&2
    cat "$folder/told" >&2
    exit 1
  fi
}

read='int read(const Shown& shown);'
more='int more();'
library old "" "$read $more" 'int more() { return 1; }'
library same "" "$read $more" 'int more() { return 1; }'
library added "" "$read $more int third();" 'int more() { return 1; } int third() { return 3; }'
library removed "" "$read" ''
library moved "double before;" "$read $more" 'int more() { return 1; }'
library stripped "double before;" "$read $more" 'int more() { return 1; }' -g0
compare same 0 "Nothing changed"
compare added 0 third
compare removed 1 more
compare moved 1 before
compare stripped 2 "no debug information"
compare missing 2 missing
