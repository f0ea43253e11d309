#!/bin/sh
# SPDX-License-Identifier: MIT
# Checks the subjects of commits: at most 72 characters, beginning with an imperative verb that says what changed.
# Usage: check_subjects.sh [ROOT [SINCE]]; 77 where there is no history to read.
set -eu
root=${1:-$(dirname "$0")/../..}
since=${2:-d718fabb} # earlier subjects had other rules
cd "$root"
git cat-file -e "$since^{commit}" 2>/dev/null || exit 77
git log --no-merges --format='%h %s' "$since..HEAD" | awk '
  function complain(what) { print $1 ": " what ":\n  " subject; bad = 1 }
  {
    commits++
    subject = substr($0, length($1) + 2)
    if (length(subject) > 72) complain(length(subject) " characters; 72 is the limit")
    # Verbs of mood tell what somebody wants, not what changed.
    if ($2 ~ /^(Let|Say|Tell|Give|Take|Know|Hold|Call|Ask|Look|Set|See|WIP|wip)$/) complain("\"" $2 "\" does not say what changed")
    else if ($2 !~ /^[A-Z][a-z]+$/ || ($2 ~ /(ed|ing)$/ && $2 != "Speed")) complain("begins with no imperative verb")
  }
  END {
    printf "%d subjects checked\n", commits
    exit bad
  }'
