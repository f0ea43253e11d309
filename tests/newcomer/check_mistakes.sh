#!/bin/sh
# SPDX-License-Identifier: MIT
# Each file of mistakes/ must be refused by each compiler given, in the words of its first line and in few lines. (They
# end in .cxx, so that they are no sources of the area.)
# usage: check_mistakes.sh INCLUDE_DIRECTORY INCLUDE_DIRECTORY COMPILER...
set -u
sources=$1 built=$2
shift 2
folder=$(dirname "$0")/mistakes
status=0
for compiler in "$@"; do
  case $compiler in
    *clang*) most=20 ;; # it shows the code of each candidate
    # Since version 14 a deleted function and a failed assertion take a line or three more.
    *) [ "$("$compiler" -dumpversion | cut -d. -f1)" -lt 14 ] && most=12 || most=15 ;;
  esac
  for file in "$folder"/*.cxx; do
    words=$(sed -n '1s|^// The compiler must say: ||p' "$file")
    if told=$("$compiler" -std=c++20 -fsyntax-only -I "$sources" -I "$built" "$file" 2>&1); then
      echo "$file: $compiler accepts it"
      status=1
      continue
    fi
    lines=$(echo "$told" | wc -l)
    if [ "$lines" -gt "$most" ] || ! echo "$told" | grep -qF -- "$words"; then
      echo "$file: $compiler says in $lines lines, of at most $most, without or with '$words':"
      echo "$told"
      status=1
    fi
  done
done
exit $status
