#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs a project that has Tyto as a subdirectory: nothing but the project's own program may arrive.
# Usage: check_install_of_parent.sh CMAKE BUILD CONFIGURATION DESTINATION
set -eu
cmake=$1 build=$2 configuration=$3 destination=$4
rm -rf "$destination"
"$cmake" --install "$build" --config "$configuration" --prefix "$destination" >/dev/null
files=$(cd "$destination" && find . ! -type d -print)
[ "$files" = ./bin/consumer ] || {
  printf 'installed with the parent project, expected ./bin/consumer alone:\n%s\n' "$files"
  exit 1
}
