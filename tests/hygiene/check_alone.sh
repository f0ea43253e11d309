#!/bin/sh
# SPDX-License-Identifier: MIT
# Checks that every source of the product compiles alone, syntax only, with nothing but the standard headers precompiled.
# Usage: check_alone.sh CMAKE ROOT FOLDER [CMAKE OPTIONS]; FOLDER keeps what was checked, so that only changes are checked again.
set -eu
cmake=$1 root=$2 folder=$3
shift 3
command -v ninja > /dev/null || exit 77
"$cmake" -S "$root" -B "$folder" -G Ninja -DTYTO_UNITY_BATCH=1 -DTYTO_TESTS=OFF -DTYTO_BENCH=OFF -DTYTO_EXAMPLES=OFF \
  -DCMAKE_CXX_COMPILER_LAUNCHER="$root/tests/hygiene/syntax_only.sh" "$@" > /dev/null
# Sources with options of their own are compiled alone in every build.
objects=$(ninja -C "$folder" -t targets all | sed -n 's/^\([^:]*\/Unity\/[^:]*\.o\): .*/\1/p')
# shellcheck disable=SC2086 # the names hold no blanks
ninja -C "$folder" -k 0 $objects
