#!/bin/sh
# SPDX-License-Identifier: MIT
# Checks that the shared library exports the public namespace and nothing of its insides or of other libraries.
# Usage: check_exports.sh NM LIBRARY
set -eu
"$1" --dynamic --demangle --defined-only "$2" | awk '
  {
    exported++
    name = $0
    sub(/^[0-9a-f]+ [A-Za-z] /, "", name)
    # What is left of a name without its arguments, template arguments and return type says whose it is.
    owner = name
    sub(/^(typeinfo|typeinfo name|vtable|VTT|guard variable) for /, "", owner)
    sub(/operator.*/, "operator", owner)
    while (gsub(/<[^<>]*>/, "", owner)) {}
    sub(/ *\(.*/, "", owner)
    sub(/.* /, "", owner)
    if (owner ~ /^tyto::/ && owner !~ /^tyto::(core|memory|cpu|opencl|run)::/) next
    # Weak symbols of the standard library come with every C++ library; the dynamic linker merges them.
    if (owner ~ /^(std|__gnu_cxx)::/ && $2 ~ /^[WVuvw]$/) next
    print "exported, but not public: " name
    bad = 1
  }
  END {
    printf "%d exported symbols checked\n", exported
    exit bad || exported == 0
  }'
