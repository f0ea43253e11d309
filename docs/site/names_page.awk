# Makes a page of sorted lines of names.awk: a table for each library, with a field that filters them.
BEGIN {
  FS = "\t"
  print "# Index by names of NumPy, PyTorch and Owl {#names}\n"
  print "What to write here for a name that you know from there. Each row is one of the pages [NumPy](@ref numpy),"
  print "[PyTorch](@ref pytorch) and [Owl](@ref owl), which tell more and whose lines the tests run.\n"
  print "@htmlonly\n<p class=\"filter\"><label>Name <input id=\"filter\" type=\"search\" placeholder=\"np.linalg.solve, nn.LSTM, Conv2d\"></label></p>\n<script src=\"names.js\"></script>\n@endhtmlonly\n"
}
{
  key = $1 "\t" $2
  if (++shown[key] > 3 || ($3 && best[key] == 1)) next
  if (!$3) best[key] = 1
  rows[$2] = rows[$2] "| <a href=\"" $5 ".html#" $6 "\"><code>" $1 "</code></a> | " code($4) " |\n"
}
function code(text,   out, part) {
  out = ""
  while (match(text, /`[^`]+`/)) {
    part = substr(text, RSTART, RLENGTH)
    if (part ~ /['\\]/) part = "`" part "`"
    out = out substr(text, 1, RSTART - 1) part
    text = substr(text, RSTART + RLENGTH)
  }
  return out text
}
END {
  split("NumPy PyTorch Owl", libraries, " ")
  for (i = 1; i <= 3; i++) {
    print "## " libraries[i] " {#names-" tolower(libraries[i]) "}\n\n| name there | here |\n|---|---|\n" rows[libraries[i]]
  }
}
