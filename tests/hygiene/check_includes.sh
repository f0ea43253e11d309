#!/bin/sh
# SPDX-License-Identifier: MIT
# Checks every #include of a source tree against include_matrix.txt.
# Usage: check_includes.sh [ROOT]
set -eu
here=$(cd "$(dirname "$0")" && pwd)
root=${1:-$here/../..}
cd "$root"

folders=""
for folder in include core engine ops numerics optimiser devices nn io onnx distributed cli examples tests bench docs/generate; do
  [ -d "$folder" ] && folders="$folders $folder"
done
# shellcheck disable=SC2086 # the folder names hold no blanks
find $folders -type f \( -name '*.cpp' -o -name '*.hpp' -o -name '*.inc' -o -name '*.def' -o -name '*.cl' \) -print |
  LC_ALL=C sort |
  awk -v matrix="$here/include_matrix.txt" '
    # A shell pattern as a regular expression: a star stands for anything, deeper folders included.
    function pattern(text) {
      gsub(/[.+]/, "\\\\&", text)
      gsub(/[*]/, ".*", text)
      return "^" text "$"
    }

    function read_matrix(   line, parts, count, name, words, i) {
      while ((getline line < matrix) > 0) {
        if (line ~ /^[ \t]*(#|$)/) continue
        if (line ~ /^group /) {
          count = split(line, words, /[ \t]+/)
          for (i = 3; i <= count; i++) {
            group_size[words[2]]++
            group[words[2], group_size[words[2]]] = pattern(words[i])
          }
          continue
        }
        if (line ~ /^circle /) {
          split(line, words, /[ \t]+/)
          circles[words[2]] = words[3]
          continue
        }
        split(line, parts, /[ \t]*:[ \t]*/)
        name = parts[1]
        split(parts[2], words, /[ \t]*\|[ \t]*/)
        inner[name] = words[1]
        outer[name] = words[2]
      }
      close(matrix)
    }

    function folder_of(path,   best, name) {
      best = ""
      for (name in inner)
        if (index(path, name "/") == 1 && length(name) > length(best)) best = name
      return best
    }

    # The folder below one of the matrix that a file of the product lies in, or that of the matrix.
    function room_of(path,   folder, rest) {
      folder = folder_of(path)
      rest = substr(path, length(folder) + 2)
      return rest ~ /\// ? folder "/" substr(rest, 1, index(rest, "/") - 1) : folder
    }

    function note_edge(path, header,   from, to, prefix) {
      from = room_of(path)
      to = room_of(header)
      if (from == to || from ~ /^(tests|bench|examples|docs)/) return
      for (prefix in circles) if (index(path, prefix) == 1 && index(header, circles[prefix]) == 1) return
      edge[from, to] = path " includes " header
    }

    # Removes rooms that include none, or that none includes, until only those of circles and between them are left.
    function find_circles(   pair, ends, leaves, enters, removed) {
      do {
        split("", leaves)
        split("", enters)
        for (pair in edge) { split(pair, ends, SUBSEP); leaves[ends[1]]; enters[ends[2]] }
        removed = 0
        for (pair in edge) {
          split(pair, ends, SUBSEP)
          if (!(ends[1] in enters) || !(ends[2] in leaves)) { delete edge[pair]; removed = 1 }
        }
      } while (removed)
      for (pair in edge) { print edge[pair] ": a circle of rooms"; bad = 1 }
    }

    function inner_allowed(folder, header,   words, count, i) {
      count = split(inner[folder], words, /[ \t]+/)
      for (i = 1; i <= count; i++) {
        if (words[i] == "") continue
        if (words[i] ~ /[*]|[.]hpp$/) {
          # devices/*.hpp: the files of that folder itself, not those below it. core/value/text.hpp: that header.
          if (header ~ pattern(words[i]) && split(header, _, "/") == split(words[i], _, "/")) return 1
        } else if (index(header, words[i] "/") == 1) return 1
      }
      return 0
    }

    function in_group(name, header,   i) {
      if (name == "std") return header ~ /^[a-z_0-9]+$/
      if (!(name in group_size)) { print "include_matrix.txt: no group " name; bad = 1; return 0 }
      for (i = 1; i <= group_size[name]; i++) if (header ~ group[name, i]) return 1
      return 0
    }

    function outer_allowed(folder, header,   words, count, i) {
      count = split(outer[folder], words, /[ \t]+/)
      for (i = 1; i <= count; i++) if (words[i] != "" && in_group(words[i], header)) return 1
      return 0
    }

    function complain(path, number, header, why) {
      printf "%s:%d: #include %s: %s\n", path, number, header, why
      bad = 1
    }

    function exists(path,   ok, line) {
      ok = (getline line < path) >= 0
      close(path)
      return ok
    }

    function check(path,   folder, line, number, text, header, own) {
      folder = folder_of(path)
      if (folder == "") { print path ": no row of include_matrix.txt matches"; bad = 1; return }
      own = path
      sub(/\/[^\/]*$/, "", own)
      number = 0
      while ((getline line < path) > 0) {
        number++
        if (line !~ /^[ \t]*#[ \t]*include[ \t]*["<]/) continue
        includes++
        text = line
        sub(/^[ \t]*#[ \t]*include[ \t]*/, "", text)
        header = substr(text, 2)
        sub(/[">].*$/, "", header)
        if (substr(text, 1, 1) == "<" || header ~ /^tyto\//) {
          if (!outer_allowed(folder, header))
            complain(path, number, "<" header ">", folder " may use these groups: " outer[folder])
        } else if (header ~ /(^|\/)\.\.?\//) {
          complain(path, number, "\"" header "\"", "write the path from the root of the repository")
        } else if (header !~ /\//) {
          # A bare name may only be a part of the same folder that is no header of its own (x.inc).
          if (header ~ /\.hpp$/ && folder !~ /^examples/ || !exists(own "/" header))
            complain(path, number, "\"" header "\"", "write the path from the root of the repository")
        } else if (!inner_allowed(folder, header)) {
          complain(path, number, "\"" header "\"",
                   folder " may include: " (inner[folder] == "" ? "no internal header" : inner[folder]))
        } else {
          note_edge(path, header)
        }
      }
      close(path)
    }

    BEGIN { read_matrix() }
    { files++; check($0) }
    END {
      find_circles()
      printf "%d includes of %d files checked against the matrix\n", includes, files
      exit bad
    }'
