#!/bin/sh
# SPDX-License-Identifier: MIT
# Each file of mistakes/ must be refused by each compiler given, in the words of its first line and in few lines: 12, or
# as many as its second line says. (They end in .cxx, so that they are no sources of the area.)
# usage: [CXXFLAGS=...] check_mistakes.sh INCLUDE_DIRECTORY INCLUDE_DIRECTORY COMPILER...; the flags are the first compiler's
set -u
sources=$1 built=$2
shift 2
folder=$(dirname "$0")/mistakes
kept=$(mktemp -d) || exit 1
trap 'rm -rf "$kept"' EXIT
printf '#include <tyto/tyto.hpp>\n#include <tyto/nn.hpp>\n' >"$kept/all.hpp"
status=0
flags=${CXXFLAGS:-}
for compiler in "$@"; do
  # The headers are read once. That they are said to be included by all.hpp is a line (clang: two) more than users see.
  case $compiler in
    *clang*) headers="-include-pch $kept/all.pch" precompiled=$kept/all.pch extra=2 ;;
    *) headers="-include $kept/all.hpp" precompiled=$kept/all.hpp.gch extra=1 ;;
  esac
  case $compiler in
    *clang*) ;;
    # Since version 14 a deleted function and a failed assertion take a line or three more.
    *) [ "$("$compiler" -dumpversion | cut -d. -f1)" -lt 14 ] || extra=4 ;;
  esac
  # shellcheck disable=SC2086 # the flags are words
  "$compiler" $flags -std=c++20 -I "$sources" -I "$built" -x c++-header "$kept/all.hpp" -o "$precompiled" || exit 1
  for file in "$folder"/*.cxx; do
    words=$(sed -n '1s|^// The compiler must say: ||p' "$file")
    most=$(sed -n '2s|^// In lines, at most: ||p' "$file")
    # A precompiled header of g++ forgets the pragma against `x[0, 1]`.
    # shellcheck disable=SC2086 # options
    if told=$("$compiler" $flags -std=c++20 -fsyntax-only -I "$sources" -I "$built" $headers "$file" 2>&1) &&
      told=$("$compiler" $flags -std=c++20 -fsyntax-only -I "$sources" -I "$built" "$file" 2>&1); then
      echo "$file: $compiler accepts it"
      status=1
      continue
    fi
    lines=$(($(echo "$told" | wc -l) - extra))
    [ -z "${SHOW_LINES:-}" ] || echo "$lines $compiler $(basename "$file")"
    if [ "$lines" -gt "${most:-12}" ] || ! echo "$told" | grep -qF -- "$words"; then
      echo "$file: $compiler says in $lines lines, of at most ${most:-12}, without or with '$words':"
      echo "$told"
      status=1
    fi
  done
  flags=""
done
exit $status
