#!/bin/sh
# SPDX-License-Identifier: MIT
# Checks what every source file must keep: its licence, its length, its opening sentence, its name.
# Usage: check_files.sh [ROOT]
set -eu
root=${1:-$(dirname "$0")/../..}
cd "$root"

folders=""
for folder in include core engine ops numerics optimiser devices nn io onnx distributed cli examples tests bench docs/generate cmake; do
  [ -d "$folder" ] && folders="$folders $folder"
done
# shellcheck disable=SC2086 # the folder names hold no blanks
find $folders -type f \( -name '*.cpp' -o -name '*.hpp' -o -name '*.inc' -o -name '*.def' -o -name '*.cl' \
  -o -name '*.cmake' -o -name '*.sh' -o -name '*.py' -o -name CMakeLists.txt \) -print |
  LC_ALL=C sort |
  awk '
    function complain(path, what) { print path ": " what; bad = 1 }

    function check(path,   name, line, number, mark, guarded, first) {
      name = path
      sub(/.*\//, "", name)
      if (name ~ /^(utils?|common|misc|helpers?|manager)\.|^(utils?|misc|helpers?|manager)_/ || name ~ /_(utils?|misc|helpers?|manager)\./)
        complain(path, "a name that says nothing about the contents")
      mark = name ~ /\.(cmake|sh|py)$|^CMakeLists\.txt$/ ? "#" : "//"
      number = 0
      guarded = licensed = 0
      first = ""
      while ((getline line < path) > 0) {
        number++
        if (line == mark " SPDX-License-Identifier: MIT" && number <= 2) licensed = 1
        else if (first == "" && !(number == 1 && line ~ /^#!/)) first = line
        if (line == "#pragma once") guarded = 1
      }
      close(path)
      # A sentence: the comment mark, a blank, then at least three words. Python files may open with a docstring.
      if (first !~ "^(" mark "|\"\"\") ?[^ ]+( [^ ]+)( [^ ]+)")
        complain(path, "does not open with a comment that says in a sentence what it is")
      if (!licensed) complain(path, "does not begin with \"" mark " SPDX-License-Identifier: MIT\"")
      if (number > 800) complain(path, number " lines; 800 is the limit")
      if (name ~ /\.hpp$/ && !guarded) complain(path, "lacks #pragma once")
    }

    { files++; check($0) }
    END {
      printf "%d files checked\n", files
      exit bad
    }'
