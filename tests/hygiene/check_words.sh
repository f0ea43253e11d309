#!/bin/sh
# SPDX-License-Identifier: MIT
# Checks that no file says what docs/words.md forbids, as far as words.txt lists it.
# Usage: check_words.sh [ROOT]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=${1:-$here/../..}
cd "$root"

folders=""
for folder in include core engine ops numerics optimiser devices nn io onnx distributed cli examples tests bench docs README.md CONTRIBUTING.md; do
  [ -e "$folder" ] && folders="$folders $folder"
done
# shellcheck disable=SC2086 # the folder names hold no blanks
find $folders -type f \( -name '*.cpp' -o -name '*.hpp' -o -name '*.inc' -o -name '*.def' -o -name '*.cl' -o -name '*.md' \
  -o -name '*.sh' -o -name '*.py' -o -name CMakeLists.txt \) ! -path 'docs/words.md' ! -path 'tests/hygiene/*' -print |
  LC_ALL=C sort |
  awk -v list="$here/words.txt" '
    function trimmed(text) {
      gsub(/^[ \t]+|[ \t]+$/, "", text)
      return text
    }

    # Words in lower case between single blanks; capitals and underscores begin words of identifiers, a point stands for
    # all punctuation.
    function words_of(line,   result, at) {
      result = ""
      while ((at = match(line, /[a-z0-9][A-Z]/)) > 0) {
        result = result substr(line, 1, at) " "
        line = substr(line, at + 1)
      }
      result = tolower(result line)
      gsub(/_/, " ", result)
      gsub(/[^a-z0-9 -]+/, " . ", result)
      gsub(/ +/, " ", result)
      return " " result " "
    }

    BEGIN {
      while ((getline line < list) > 0) {
        if (line ~ /^[ \t]*(#|$)/) continue
        split(line ": ", parts, ":")
        count++
        pattern[count] = " (" trimmed(parts[1]) ") "
        instead[count] = trimmed(parts[2])
        elsewhere[count] = trimmed(parts[3])
        any = any (count > 1 ? "|" : "") "(" trimmed(parts[1]) ")"
      }
      any = " (" any ") "
    }

    function check(path,   line, number, words, i) {
      number = 0
      while ((getline line < path) > 0) {
        number++
        words = words_of(line)
        if (words !~ any) continue
        for (i = 1; i <= count; i++) {
          if (words !~ pattern[i] || (elsewhere[i] != "" && path ~ elsewhere[i])) continue
          print path ":" number ": " trimmed(line) "\n  the word for it here is: " instead[i]
          bad = 1
        }
      }
      close(path)
    }

    { files++; check($0) }
    END {
      printf "%d files checked\n", files
      exit bad
    }'
