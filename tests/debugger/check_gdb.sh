#!/bin/sh
# SPDX-License-Identifier: MIT
# gdb shows tensors as packaging/libtyto-gdb.py says; 77 says that there is no gdb, or that it may not trace here.
# usage: [CXXFLAGS=...] check_gdb.sh COMPILER INCLUDE_DIRECTORY INCLUDE_DIRECTORY LIBRARY_DIRECTORY PRINTER
set -eu
command -v gdb >/dev/null || exit 77
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
# shellcheck disable=SC2086 # the flags are words
"$1" ${CXXFLAGS:-} -std=c++20 -g -I "$2" -I "$3" "$(dirname "$0")/shown.cxx" -o "$folder/shown" -L "$4" -ltyto -Wl,-rpath,"$4"
gdb -nx -batch -iex 'set auto-load no' -ex "source $5" -ex 'break here' -ex run -ex up -ex 'print numbers' \
  -ex 'print column' -ex 'print many' -ex 'print input' -ex 'print waiting' -ex 'print weights' -ex 'print undefined' \
  "$folder/shown" >"$folder/told" 2>&1 </dev/null || true
grep -q 'Could not trace\|Operation not permitted' "$folder/told" && exit 77
sed -n 's/^\$[0-9]* = //p' "$folder/told" >"$folder/found"
cat >"$folder/expected" <<'TEXT'
f32(2,2) constant, with strides (2,1) from element 0 = {1.5, 2, 3, 4}
f32(2,) constant, view with strides (2,) from element 0 = {1.5, 3}
i64(20,) constant, with strides (1,) from element 0 = {0, 1, 2, 3, 4, 5, 6, 7, ...}
f32(2,3) input, with no contents yet
f32(2,3), with no contents yet
f32(2,) persistent trainable, with strides (1,) from element 0 = {1, 2}
undefined tensor
TEXT
diff "$folder/expected" "$folder/found" || {
  tail -n 20 "$folder/told"
  exit 1
}
