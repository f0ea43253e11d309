#!/bin/sh
# SPDX-License-Identifier: MIT
# Builds a release in build/release-VERSION: the sources, packages of this system, notes, what changed for programs
# that are linked with the library, and checksums. `--tag` marks the commit as well; nothing is uploaded.
# usage: ./dev release [--tag]
set -eu
cd "$(dirname "$0")/.."

die() {
  printf 'release: %s\n' "$*" >&2
  exit 1
}

# Types are compared by debug information alone.
with_debug_information() { # SOURCES BUILD
  cmake -S "$1" -B "$2" -DCMAKE_BUILD_TYPE=RelWithDebInfo -DTYTO_TESTS=OFF -DTYTO_EXAMPLES=OFF -DTYTO_BENCH=OFF >/dev/null
  cmake --build "$2" --parallel --target tyto >/dev/null
}

tag=no
case ${1:-} in
  --tag) tag=yes ;;
  "") ;;
  *) die "takes --tag or nothing, not '$1'" ;;
esac
version=$(sed -n 's/^project(Tyto VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
[ -n "$version" ] || die "CMakeLists.txt names no version"
[ -z "$(git status --porcelain)" ] || die "there are changes that are not committed"
heading=$(grep "^## $version " CHANGELOG.md) || die "CHANGELOG.md has no section '## $version (DATE)'"
if [ $tag = yes ]; then
  case $heading in *"(unreleased)"*) die "CHANGELOG.md calls $version unreleased; write the date there" ;; esac
  ! git rev-parse -q --verify "refs/tags/v$version" >/dev/null || die "the tag v$version is there already"
fi

folder=build/release-$version
rm -rf "$folder"
mkdir -p "$folder"
awk -v heading="$heading" '$0 == heading { on = 1; next } /^## / { on = 0 } on' CHANGELOG.md >"$folder/notes.md"
git archive --format=tar --prefix="tyto-$version/" HEAD | gzip -9n >"$folder/tyto-$version.tar.gz"

./dev package
cp build/package/*.deb "$folder"

# Programs that were linked with the last release must run on with a patch version, and with a minor one be told.
last=$(git describe --tags --abbrev=0 --match 'v*' 2>/dev/null || true)
if [ -z "$last" ]; then
  echo "There is no release before this one." >"$folder/interface.txt"
elif ! command -v abidiff >/dev/null; then
  echo "abidiff (package abigail-tools) is not installed: nothing was compared with $last." >"$folder/interface.txt"
else
  rm -rf build/last-release
  mkdir -p build/last-release
  git archive "$last" | tar -x -C build/last-release
  with_debug_information build/last-release build/last-release/build
  with_debug_information . build/this-release
  status=0
  packaging/compare_interface.sh build/last-release/build/lib/libtyto.so build/last-release/include \
    build/this-release/lib/libtyto.so include >"$folder/interface.txt" || status=$?
  [ $status -lt 2 ] || die "abidiff could not compare the library with that of $last"
  if [ $status -eq 1 ] && [ "${version%.*}" = "$(expr "$last" : 'v\(.*\)\.[0-9]*$')" ]; then
    die "programs linked with $last do not run with $version, a patch version: see $folder/interface.txt"
  fi
fi

(cd "$folder" && sha256sum -- *.tar.gz *.deb >sha256sums)
[ $tag = no ] || git tag -a "v$version" -m "Tyto $version"
ls -l "$folder"
