#!/bin/sh
# SPDX-License-Identifier: MIT
# Fills in the recipes that name an archive of the sources: Homebrew's, conda-forge's and Spack's.
# usage: packaging/recipes.sh ARCHIVE ADDRESS FOLDER
#   ARCHIVE  the sources of a release, tyto-VERSION.tar.gz
#   ADDRESS  where the project lies on the web; releases are taken for files of ADDRESS/releases/download/vVERSION
#   FOLDER   where the recipes are written to
set -eu
[ $# -eq 3 ] || { echo "usage: packaging/recipes.sh ARCHIVE ADDRESS FOLDER" >&2; exit 2; }
name=$(basename "$1")
version=${name#tyto-}
version=${version%.tar.gz}
sum=$(sha256sum "$1" | cut -d ' ' -f 1)
here=$(dirname "$0")
for recipe in homebrew/tyto.rb conda/recipe.yaml spack/package.py; do
  mkdir -p "$3/$(dirname "$recipe")"
  sed -e "s|@VERSION@|$version|g" -e "s|@SHA256@|$sum|g" -e "s|@HOMEPAGE@|$2|g" \
    -e "s|@URL@|$2/releases/download/v$version/$name|g" "$here/$recipe.in" >"$3/$recipe"
done
