#!/bin/sh
# SPDX-License-Identifier: MIT
# A compiler launcher that checks sources without generating code; only precompiled headers are made.
set -eu
case " $* " in
  *" c++-header "*) exec "$@" ;;
esac
"$@" -fsyntax-only
output=
for argument in "$@"; do
  [ "$output" != -o ] || : > "$argument" # what a build tool takes for an object
  output=$argument
done
