# Writes a Markdown page of the repository as Doxygen reads it: page and headings have names, links between pages lead to
# them, links to what is no page of the site become plain text.
# Usage: awk -v page=docs/guide.md -v pages="README.md docs/guide.md ..." -f pages.awk docs/guide.md

function slug(text) {
  text = tolower(text)
  gsub(/[^a-z0-9 _-]/, "", text)
  gsub(/ /, "-", text)
  return text
}

# "docs/adr/0001-x.md" is called "adr_0001-x", "README.md" "index_page".
function name_of(path) {
  if (path == "README.md") return "start"
  sub(/^docs\//, "", path)
  sub(/\.md$/, "", path)
  gsub(/\//, "_", path)
  return tolower(path)
}

function resolve(folder, path,   before) {
  path = folder path
  while (path ~ /(^|\/)[^\/.]+\/\.\.\//) sub(/[^\/.]+\/\.\.\//, "", path)
  gsub(/\.\//, "", path)
  return path
}

# One link [text](target) as the site has it.
function link(text, target,   anchor, path) {
  if (target ~ /^[a-z]+:/) return "[" text "](" target ")"
  anchor = ""
  if (index(target, "#")) {
    anchor = target
    sub(/^[^#]*#/, "", anchor)
    sub(/#.*/, "", target)
  }
  path = target == "" ? page : resolve(folder, target)
  if (path ~ /\.svg$/) {
    sub(/.*\//, "", path)
    return "[" text "](" path ")"
  }
  if ((path "/README.md") in known) path = path "/README.md"
  if (path ~ /\/$/ && (path "README.md") in known) path = path "README.md"
  if (!(path in known)) return text
  return "[" text "](@ref " name_of(path) (anchor == "" ? "" : "-" anchor) ")"
}

function links(line,   out, at, rest, text, target) {
  out = ""
  while (match(line, /\[[^]\[]+\]\([^) ]+\)/)) {
    rest = substr(line, RSTART, RLENGTH)
    out = out substr(line, 1, RSTART - 1)
    line = substr(line, RSTART + RLENGTH)
    at = index(rest, "](")
    text = substr(rest, 2, at - 2)
    target = substr(rest, at + 2, length(rest) - at - 2)
    out = out link(text, target)
  }
  return out line
}

# Code outside of links: a quote or a backslash within ends it for Doxygen, unless it stands between two marks.
function prose(line,   out, code) {
  out = ""
  while (match(line, /`[^`]+`/)) {
    code = substr(line, RSTART, RLENGTH)
    if (code ~ /['\\]/) code = "`" code "`"
    out = out plain(substr(line, 1, RSTART - 1)) code
    line = substr(line, RSTART + RLENGTH)
  }
  return out plain(line)
}
function plain(text) {
  gsub(/</, "\\&lt;", text)
  gsub(/@[a-z]/, "\\\\&", text)
  return text
}

BEGIN {
  count = split(pages, list, " ")
  for (i = 1; i <= count; i++) known[list[i]] = 1
  folder = page
  sub(/[^\/]*$/, "", folder)
  id = name_of(page)
}
/^```/ {
  code = !code
  if (code && $0 == "```cpp") print "```{.cpp}"
  else print "```"
  next
}
code {
  print
  next
}
/^#+ / {
  hashes = $1
  text = $0
  sub(/^#+ /, "", text)
  plain_text = text
  gsub(/`/, "", plain_text)
  gsub(/\[|\]\([^)]*\)/, "", plain_text)
  name = id "-" slug(plain_text)
  if (hashes == "#") name = id
  if (seen[name]++) name = name "-" (seen[name] - 1)
  print hashes " " plain_text " {#" name "}"
  next
}
# A link whose text goes on in the next line.
{
  line = before $0
  before = ""
  opened = line
  gsub(/`[^`]*`/, "", opened)
  gsub(/\[[^]\[]*\]/, "", opened)
  if (opened ~ /\[[^]]*$/ && line !~ /^\|/) {
    before = line " "
    next
  }
  print links(prose(line))
}
END { if (before != "") print before }
