#!/bin/sh
# SPDX-License-Identifier: MIT
# Installs the build, then moves the installed tree: a package that remembers where it was put would break.
# Usage: install_and_move.sh CMAKE BUILD CONFIGURATION DESTINATION
set -eu
cmake=$1 build=$2 configuration=$3 destination=$4
rm -rf "$destination" "$destination.staged"
for component in library development program openmpi mpich; do
  "$cmake" --install "$build" --config "$configuration" --component "tyto_$component" --prefix "$destination.staged"
done
mv "$destination.staged" "$destination"
for file in LICENSE THIRD_PARTY_NOTICES; do
  [ -n "$(find "$destination" -name $file)" ] || {
    echo "$file is not part of the installed copy"
    exit 1
  }
done
# The libraries for each MPI are found from where Tyto is now.
for library in $(find "$destination" -name 'libtyto-*.so'); do
  mpi=${library##*/libtyto-}
  "$destination/bin/tyto" launch --mpi "${mpi%.so}" --print true >/dev/null || exit 1
done
