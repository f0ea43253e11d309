# Makes the index by other libraries' names of the tables of docs/numpy.md, docs/pytorch.md and docs/owl.md: lines "name TAB
# library TAB rank TAB what to write here TAB page TAB section"; rank 1 where the name is only part of the row.
function slug(text) {
  text = tolower(text)
  gsub(/[^a-z0-9 _-]/, "", text)
  gsub(/ /, "-", text)
  return text
}
function cell(line, n,   i) {
  gsub(/\\\|/, "\001", line)
  split(line, cells, "|")
  line = cells[n + 1]
  gsub(/^ +| +$/, "", line)
  gsub(/\001/, "\\|", line)
  return line
}
FNR == 1 {
  page = FILENAME
  sub(/.*\//, "", page)
  sub(/\.md$/, "", page)
  section = "top"
  library = page == "numpy" ? "NumPy" : page == "pytorch" ? "PyTorch" : "Owl"
}
/^```/ { code = !code }
/^## / {
  section = page "-" slug(substr($0, 4))
}
!code && /^\| `/ {
  there = cell($0, 1)
  here = cell($0, 2)
  if (library == "Owl") {
    gsub(/`/, "", there)
    print there "\t" library "\t0\t" here "\t" page "\t" section
    next
  }
  if (match(there, /^(`[A-Za-z.]+`(, )?)+: /)) {  # `module`, `module`: `name`, `name`, ...
    modules = split(substr(there, 1, RLENGTH - 2), module, ", ")
    count = split(substr(there, RSTART + RLENGTH), name, ", ")
    space = match(here, /^`[a-z]+::` and the name$/) ? substr(here, 2, index(here, ":")) : ""
    for (m = 1; m <= modules; m++) {
      for (i = 1; i <= count; i++) {
        gsub(/`/, "", module[m])
        gsub(/`/, "", name[i])
        same = here ~ /the (same )?name$/ ? "`" space name[i] "`" : here
        print module[m] "." name[i] "\t" library "\t0\t" same "\t" page "\t" section
      }
    }
    next
  }
  rest = there
  delete named
  while (match(rest, /(np|torch|nn|F|optim|utils)(\.[A-Za-z_][A-Za-z_0-9]*)+/)) {
    word = substr(rest, RSTART, RLENGTH)
    before = RSTART > 1 ? substr(rest, RSTART - 1, 1) : ""
    rest = substr(rest, RSTART + RLENGTH)
    if (before ~ /[A-Za-z0-9_.]/ || (word in named)) continue
    if (word ~ /^(np|torch)\.(float|int|uint|complex|bool)[0-9_]*$/ || word == "np.array" && there !~ /^`np.array\(/) continue
    if (word == "torch.tensor" && there !~ /^`torch.tensor\(/) continue
    named[word] = 1
    print word "\t" library "\t" (index(there, "`" word) != 1) "\t" here "\t" page "\t" section
  }
  if (match(there, /^`[a-z]+\.[a-z_]+/)) {
    word = substr(there, 2, RLENGTH - 1)
    owner = word
    sub(/\..*/, "", owner)
    if (owner == "rng") owner = "Generator"
    else if (owner ~ /^(opt|optimizer)$/) owner = "Optimizer"
    else if (owner ~ /^(model|layer)$/) owner = "Module"
    else if (owner ~ /^[a-z]$/ || owner == "loss") owner = library == "NumPy" ? "ndarray" : "Tensor"
    else next
    sub(/^[a-z]+/, owner, word)
    print word "\t" library "\t0\t" here "\t" page "\t" section
  }
}
