# Reads public headers declaration by declaration. Without options it writes them again for Doxygen: without what is
# private, and with the sentence of a group of declarations before each of them. With `-v check=1` it names what has no
# sentence, with `-v list=1` each declaration beside its sentence.
#
# A comment `///` serves the declarations below it up to a blank line or the next comment, of types only the first;
# `///<` serves its own line. The sentence of a class serves its constructors and its call operator, that of an
# overridden function the one that overrides it. Destructors, copies, moves, friends, specialisations, and what lies in a
# namespace `detail` need none.

function complain(what) {
  gsub(/[ \t]+/, " ", what)
  print file ":" first ": no sentence for: " substr(what, 1, 100)
  missing++
}

# The text without strings, characters and comments.
function code_of(line) {
  gsub(/\\./, "", line)
  gsub(/"[^"]*"/, "\"\"", line)
  gsub(/'[^']'/, "0", line)
  sub(/\/\/.*/, "", line)
  return line
}

# The text without what stands in round and angle brackets; requires-clauses are left out before.
function head_of(text) {
  gsub(/->/, " ", text)
  gsub(/operator(<=>|<<=|>>=|<<|>>|<=|>=|<|>)/, "operator", text)
  while (match(text, /\([^()]*\)/)) text = substr(text, 1, RSTART - 1) "@" substr(text, RSTART + RLENGTH)
  while (match(text, /<[^<>]*>/)) text = substr(text, 1, RSTART - 1) " " substr(text, RSTART + RLENGTH)
  gsub(/ +/, " ", text)
  return text
}

function is_type(text) { return head_of(text) ~ /^(template )?(requires [^;]*)?(class|struct|union|enum) / }
function is_hidden() { return hidden[depth] || access[depth] == "private" }

function needs_sentence(text,   head, name) {
  head = head_of(text)
  gsub(/^[ \t]+|[ \t;]+$/, "", head)
  if (is_hidden() || head == "") return 0
  if (text ~ /^(friend|static_assert|extern template|template <>|using namespace)/ || text ~ /^template <[^{]*> friend /) return 0
  if (text ~ /^template <.*> *requires.* friend / || text ~ /^(template <.*> *)?(class|struct|enum class) [A-Za-z_]+;$/) return 0
  if (text ~ /^using [^=]*;$/ || head ~ /(^| )override( |$)/ || head ~ /= (delete|default)$/) return 0
  if (text ~ /operator\(\)/ || head ~ /~/) return 0
  if (text ~ /operator=\((const )?[A-Za-z]+&&?( [a-z]+)?\)/) return 0
  name = type[depth]
  if (name != "" && text ~ ("(^|[ )])" name "\\(")) return 0  # a constructor
  if (text ~ /^([A-Za-z]+)\(.*\) -> / || text ~ /^template <.*> ([A-Za-z]+)\(.*\) -> [A-Za-z]+<.*>;$/) return 0
  return 1
}

function end_declaration(text) {
  if (text == "") return
  gsub(/[ \t]+/, " ", text)
  sub(/^ /, "", text)
  sub(/ $/, "", text)
  ended_type = is_type(text)
  if (needs_sentence(text)) {
    repeated = used && comment != "" && !trailing && !ended_type
    declarations++
    if ((comment == "" || (used && is_type(text))) && !trailing) {
      if (check) complain(text)
    } else if (list) {
      print file ":" first ": " (trailing ? trailing : comment) (used && !trailing ? "  [group]" : "") "\n      " substr(text, 1, 150)
    }
    if (!trailing) used++
  }
  trailing = ""
}

function push(kind, name) {
  depth++
  scope[depth] = kind
  type[depth] = name
  hidden[depth] = hidden[depth - 1] || access[depth - 1] == "private" || name == "detail"
  access[depth] = ""
  outer[depth] = comment
  comment = ""
  used = 0
}

# One line of code at a place where declarations stand, or within one.
function read_code(line,   i, c, text, name) {
  for (i = 1; i <= length(line); i++) {
    c = substr(line, i, 1)
    if (body > 0) {  # of a function, or an initialiser
      if (c == "{") body++
      if (c == "}" && --body == 0 && !initialiser) {
        end_declaration(pending)
        pending = ""
      }
      continue
    }
    if (c == "(") round++
    if (c == ")") round--
    if (round > 0 || (c != "{" && c != "}" && c != ";" && c != ":")) {
      if (pending ~ /^ *$/ && c !~ /[ \t]/) first = number
      pending = pending c
      continue
    }
    text = pending
    gsub(/[ \t]+/, " ", text)
    sub(/^ /, "", text)
    if (c == ":") {
      if (text ~ /^(public|private|protected)$/) {
        access[depth] = text == "public" ? "" : "private"
        pending = ""
      } else {
        pending = pending c
      }
      continue
    }
    if (c == ";") {
      end_declaration(pending ";")
      pending = ""
    } else if (c == "}") {
      closes_hidden = hidden[depth]
      comment = outer[depth--]
      used = 1
      pending = "~"  # what closes a class, up to its semicolon
      if (scope[depth + 1] == "namespace") {
        pending = ""
        closes_namespace = 1
      }
    } else if (text ~ /^(inline )?namespace/) {
      name = text
      sub(/^.*namespace */, "", name)
      sub(/ .*/, "", name)
      push("namespace", name)
      opens_namespace = 1
      pending = ""
    } else if (is_type(text) && head_of(text) !~ /^(template )?(requires [^;]*)?enum/) {
      name = head_of(text)
      sub(/ (final)? *:.*/, "", name)
      sub(/ *$/, "", name)
      sub(/.* /, "", name)
      end_declaration(text)
      push("class", name)
      opens_type = 1
      if (text ~ /(^|> |> requires .* )class /) access[depth] = "private"
      pending = ""
    } else {
      initialiser = text ~ /[A-Za-z_>=,(]$/ && text !~ /\)[^()]*(const|noexcept|override|final)$/ || is_type(text)
      if (text ~ /= *$/) initialiser = 1
      body = 1
    }
  }
  if (pending != "" && body == 0) pending = pending " "
}

# Lines of a declaration are held back until it is known what it is. Signatures are written for readers: the mode of a
# tensor goes without saying, and so does where it is not deduced.
function write(line) {
  if (check || list) return
  gsub(/std::type_identity_t<Tensor<M>>/, "Tensor<M>", line)
  held[++held_lines] = line
}
function flush(   i, dropped) {
  if (check || list) return
  dropped = (opens_type ? hidden[depth] : is_hidden()) || closes_hidden
  if (closes_namespace && !dropped) print "\n/// @}\n"
  if (repeated && !dropped) print "/// " comment
  for (i = 1; i <= held_lines; i++) {
    if (!dropped && (ended_type || held[i] !~ /^ *template <class M>$/)) print held[i]
  }
  if (opens_namespace && !dropped) {
    if (!announced++) print "\n/// @defgroup " topic() " " name_of_header "\n/// @brief " about "\n"
    print "/// @addtogroup " topic() "\n/// @{\n"
  }
  closes_namespace = opens_namespace = opens_type = held_lines = repeated = ended_type = closes_hidden = 0
}
# A topic of the reference is a header; Doxygen wants to be told so in each namespace.
function topic(   id) {
  id = name_of_header
  gsub(/[^a-z0-9]/, "_", id)
  return id
}

FNR == 1 {
  name_of_header = FILENAME
  sub(/^.*include\//, "", name_of_header)
  announced = 0
  about = $0
  sub(/^\/\/ /, "", about)
  in_about = 1
  file = FILENAME
  number = depth = body = round = used = 0
  pending = comment = trailing = ""
  scope[0] = "file"
  hidden[0] = 0
  access[0] = type[0] = ""
  macro = 0
}
{
  number++
  raw = $0
  if (in_about && FNR > 1) {
    if (raw ~ /^\/\/ /) about = about substr(raw, 3)
    else in_about = 0
  }
  write(raw)
  if (macro || raw ~ /^#/) {
    macro = raw ~ /\\$/
    flush()
    next
  }
  if (body == 0 && pending ~ /^[ ~]*$/) {
    if (raw ~ /^[ \t]*$/) {
      comment = ""
      used = 0
    } else if (raw ~ /^[ \t]*\/\/\/ /) {
      if (used) comment = ""
      used = 0
      line = raw
      sub(/^[ \t]*\/\/\/ /, "", line)
      if (line !~ /^ /) comment = comment (comment == "" ? "" : " ") line
    } else if (raw ~ /^[ \t]*\/\//) {
      if (raw !~ /\/\/\//) comment = ""
    }
  }
  if (match(raw, /\/\/\/< /)) trailing = substr(raw, RSTART + 5)
  if (pending == "~" || pending ~ /^~ *$/) pending = ""
  read_code(code_of(raw))
  if (body == 0 && pending ~ /^[ ~]*$/) flush()
}
END {
  if (check) {
    printf "%d public declarations, %d without a sentence\n", declarations, missing
    exit missing > 0
  }
}
