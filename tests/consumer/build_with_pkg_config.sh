#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds the consumer by hand, with nothing but a compiler and pkg-config, and runs it.
# Usage: [CXXFLAGS=...] build_with_pkg_config.sh COMPILER PREFIX LIBDIR OUTPUT
set -eu
compiler=$1 prefix=$2 libdir=$3 output=$4
source=$(dirname "$0")/main.cpp
if ! command -v pkg-config >/dev/null; then
  echo "skipped: pkg-config is not installed"
  exit 77
fi
PKG_CONFIG_PATH=$prefix/$libdir/pkgconfig
export PKG_CONFIG_PATH
flags=$(pkg-config --cflags --libs tyto)
mkdir -p "$(dirname "$output")"
# shellcheck disable=SC2086 # the flags are words
"$compiler" ${CXXFLAGS:-} -std=c++20 "$source" $flags "-Wl,-rpath,$prefix/$libdir" -o "$output"
"$output"
