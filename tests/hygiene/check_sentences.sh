#!/bin/sh
# SPDX-License-Identifier: MIT
# Checks that each public declaration in include/tyto has a sentence: a comment `///` that serves it, as
# docs/site/declarations.awk says which does. Names of macros need none.
# Usage: check_sentences.sh [ROOT]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "${1:-$here/../..}"
find include/tyto -name '*.hpp' -print | LC_ALL=C sort |
  xargs awk -v check=1 -f "$here/../../docs/site/declarations.awk"
