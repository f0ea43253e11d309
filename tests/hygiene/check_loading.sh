#!/bin/sh
# SPDX-License-Identifier: MIT
# Checks that a program that already runs, such as Python, can load the library: the system keeps 512 bytes of each
# thread's memory for libraries that come late and ask for theirs at once.
# Usage: check_loading.sh READELF LIBRARY
set -eu
size=$("$1" --program-headers --wide "$2" | awk '$1 == "TLS" {print $6}')
size=$((${size:-0}))
echo "$size bytes of memory of each thread"
[ "$size" -le 512 ]
