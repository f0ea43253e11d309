#!/bin/sh
# SPDX-License-Identifier: MIT
# A compiler launcher: an object is taken from another build of the same sources if the same command made it there, and
# compiled if not. So a second build shows that each file is compiled as in the first one, without compiling it.
# Usage: take_objects.sh BUILD FOLDER COMMAND...   (FOLDER, below the current one, stands for BUILD)
set -eu
build=$1
folder=$2
shift 2

object="" source="" words="" skip=""
for word in "$@"; do
  case $skip in
    object) object=$word ;;
    source) source=$word ;;
  esac
  skip=""
  case $word in
    -MD) continue ;;
    -MT | -MF) skip=dependencies ;;
    -o) skip=object ;;
    -c) skip=source ;;
  esac
  words="$words $word"
done
# What a build tool adds to learn of headers is not part of the command that is listed.
command=$(printf '%s\n' "$words" |
  sed -e 's/ -M[TF] [^ ]*//g' -e "s|$PWD/$folder|$build|g" -e "s| $folder/| |g" -e 's/^ //')

made_alike() {
  [ -f "$build/${object#"$folder"/}" ] || return 1
  sed -n 's/^ *"command": "\(.*\)",\{0,1\}$/\1/p' "$build/compile_commands.json" | grep -qxF -e "$command" || return 1
  case $source in
    "$PWD/$folder"/*) cmp -s "$source" "$build/${source#"$PWD/$folder"/}" || return 1 ;;
  esac
  diff -rq "$PWD/$folder/include" "$build/include" >/dev/null
}

if made_alike; then
  cp "$build/${object#"$folder"/}" "$object"
  printf '%s: %s\n' "$object" "$build/${object#"$folder"/}" >"$object.d"  # taken again when that is made again
else
  echo "compiled: $object"
  exec "$@"
fi
