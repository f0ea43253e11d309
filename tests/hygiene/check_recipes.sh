#!/bin/sh
# SPDX-License-Identifier: MIT
# Checks the recipes of packaging/: all name the project's version, those of an archive have every place filled in.
# usage: check_recipes.sh
set -eu
cd "$(dirname "$0")/../.."
bad=0
complain() { printf '%s\n' "$*"; bad=1; }

version=$(sed -n 's/^project(Tyto VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
port=$(sed -n 's/^  "version": "\(.*\)",$/\1/p' packaging/vcpkg/tyto/vcpkg.json)
[ "$port" = "$version" ] || complain "packaging/vcpkg/tyto/vcpkg.json: version $port, CMakeLists.txt has $version"

# Each option that a recipe sets is one of the project's.
options=$(sed -n 's/^option(\(TYTO_[A-Z_]*\).*/\1/p' cmake/TytoOptions.cmake
  sed -n 's/^foreach(component IN ITEMS \(.*\))$/\1/p' cmake/TytoOptions.cmake | tr ' ' '\n' | sed 's/^/TYTO_/')
for name in $(grep -rhoE 'TYTO_[A-Z]+' packaging/conan packaging/vcpkg packaging/homebrew packaging/conda packaging/spack | sort -u | xargs); do
  printf '%s\n' "$options" | grep -qx "$name" || complain "packaging: $name is no option of cmake/TytoOptions.cmake"
done

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
printf 'sources' >"$folder/tyto-$version.tar.gz"
packaging/recipes.sh "$folder/tyto-$version.tar.gz" https://example.org/tyto "$folder"
sum=$(printf 'sources' | sha256sum | cut -d ' ' -f 1)
for recipe in homebrew/tyto.rb conda/recipe.yaml spack/package.py; do
  grep -qE '@[A-Z0-9]+@' "$folder/$recipe" && complain "$recipe: a place is not filled in"
  grep -q "$sum" "$folder/$recipe" || complain "$recipe: the sum of the archive is missing"
  grep -q "https://example.org/tyto/releases/download/v$version/tyto-$version.tar.gz" "$folder/$recipe" ||
    complain "$recipe: the address of the archive is missing"
done
if command -v python3 >/dev/null; then
  python3 - packaging/conan/conanfile.py packaging/conan/test_package/conanfile.py "$folder/spack/package.py" <<'END' || bad=1
import ast, json, sys
for path in sys.argv[1:]:
    with open(path) as source: ast.parse(source.read(), path)
with open("packaging/vcpkg/tyto/vcpkg.json") as port: json.load(port)
END
fi
! command -v ruby >/dev/null || ruby -c "$folder/homebrew/tyto.rb" >/dev/null || bad=1
[ $bad = 0 ] && echo "the recipes of version $version are complete"
exit $bad
