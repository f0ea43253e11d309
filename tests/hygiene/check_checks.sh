#!/bin/sh
# SPDX-License-Identifier: MIT
# Shows that the checks of this folder refuse what they are there to refuse.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0

# tree: a fresh source tree in which nothing is wrong.
tree() {
  rm -rf "$work/tree"
  mkdir -p "$work/tree/core/value" "$work/tree/ops" "$work/tree/devices/cpu" "$work/tree/devices/opencl/runtime" \
    "$work/tree/include/tyto"
  printf '// SPDX-License-Identifier: MIT\n// A header that every layer speaks.\n#pragma once\n#include <vector>\n' >"$work/tree/include/tyto/shape.hpp"
  printf '// SPDX-License-Identifier: MIT\n// A header of the core.\n#pragma once\n#include <tyto/shape.hpp>\n' >"$work/tree/core/value/shape.hpp"
  printf '// SPDX-License-Identifier: MIT\n// An operator of the table.\n#include "core/value/shape.hpp"\n#include <vector>\n' >"$work/tree/ops/add.cpp"
}

# expect ok|refused CHECK WHAT [PATTERN]
expect() {
  if output=$("$here/$2" "$work/tree" 2>&1); then got=ok; else got=refused; fi
  if [ "$got" != "$1" ] || { [ -n "${4:-}" ] && ! printf '%s\n' "$output" | grep -q -e "$4"; }; then
    printf 'FAILED: %s: expected %s, got %s:\n%s\n' "$3" "$1" "$got" "$output"
    failed=1
  fi
}

# includes FILE LINE: adds a file with that include.
includes() {
  tree
  printf '// A file that includes something.\n%s\n' "$2" >"$work/tree/$1"
}

tree
expect ok check_includes.sh "a clean tree"
expect ok check_files.sh "a clean tree"

includes ops/mul.cpp '#include "devices/cpu/kernel.hpp"'
expect refused check_includes.sh "an operator that includes a device" 'ops/mul.cpp:2: .*may include: ops core'
includes core/value/view.cpp '#include "ops/table.hpp"'
expect refused check_includes.sh "the core looking up"
includes devices/cpu/gemm.cpp '#include "devices/opencl/runtime/queue.hpp"'
expect refused check_includes.sh "one device including the other"
includes devices/cpu/gemm.cpp '#include "core/value/shape.hpp"'
expect ok check_includes.sh "a device including the core"
includes devices/cpu/gemm.cpp '#include <oneapi/dnnl/dnnl.hpp>'
expect ok check_includes.sh "oneDNN in the CPU device"
includes ops/mul.cpp '#include <oneapi/dnnl/dnnl.hpp>'
expect refused check_includes.sh "oneDNN outside the CPU device"
includes devices/opencl/runtime/queue.cpp '  #  include <CL/cl.h>'
expect ok check_includes.sh "OpenCL in its device"
includes devices/cpu/gemm.cpp '  #  include <CL/cl.h>'
expect refused check_includes.sh "OpenCL in the CPU device, the directive indented"
includes include/tyto/graph.hpp '#include "core/value/shape.hpp"'
expect refused check_includes.sh "a public header that includes an internal one"
includes include/tyto/graph.hpp '#include <nlohmann/json.hpp>'
expect refused check_includes.sh "a public header that includes a third party"
includes core/value/view.cpp '#include <tyto/graph.hpp>'
expect refused check_includes.sh "a low layer that includes a high public header"
includes ops/mul.cpp '#include "../core/value/shape.hpp"'
expect refused check_includes.sh "a relative path" 'from the root'
includes ops/mul.cpp '#include "add.hpp"'
expect refused check_includes.sh "a bare name" 'from the root'

includes core/value/view.cpp '#include "core/graph/node.hpp"'
expect ok check_includes.sh "a room of the core that includes another"
mkdir "$work/tree/core/graph"
printf '// A file of another room.\n#include "core/value/shape.hpp"\n' >"$work/tree/core/graph/node.cpp"
expect refused check_includes.sh "two rooms that include each other" 'circle of rooms'

tree
awk 'BEGIN { print "// A file that goes on for ever."; for (i = 0; i < 800; i++) print "int x" i ";" }' \
  >"$work/tree/ops/long.cpp"
expect refused check_files.sh "a file of 801 lines" '801 lines'
tree
printf '#include <vector>\n' >"$work/tree/ops/mute.cpp"
expect refused check_files.sh "a file without an opening sentence" 'mute.cpp: does not open'
tree
printf '// A file of which nobody knows whether it may be used.\n' >"$work/tree/ops/closed.cpp"
expect refused check_files.sh "a file without its licence" 'closed.cpp: does not begin with'
tree
printf '// A header that can be included twice.\n' >"$work/tree/ops/twice.hpp"
expect refused check_files.sh "a header without a guard" 'pragma once'
tree
printf '// A drawer for whatever is left.\n' >"$work/tree/ops/utils.cpp"
expect refused check_files.sh "a file named utils" 'says nothing'

tree
expect ok check_words.sh "a clean tree"
printf '// A file in which a graph walk is called so.\n' >"$work/tree/ops/said.cpp"
expect refused check_words.sh "a forbidden word in a comment" 'said.cpp:1: .*graph walk'
tree
printf '// A file with a name.\nint GraphWalk(int x);\n' >"$work/tree/ops/named.cpp"
expect refused check_words.sh "a forbidden word in a name" 'here is: traversal'
tree
printf '// A file of other words: the loop, variables, a sidewalk.\n' >"$work/tree/ops/other.cpp"
expect ok check_words.sh "words that only look alike"

# declares TEXT: a public header with that text.
declares() {
  tree
  printf '// A header of functions.\n#pragma once\nnamespace tyto TYTO_API {\n%s\n}\n' "$1" >"$work/tree/include/tyto/sums.hpp"
}
declares '/// The sum.
template <class M>
Tensor<M> sum(const Tensor<M>& x, const Axes& axes = {});
template <class M>
Tensor<M> nansum(const Tensor<M>& x) {
  for (;;) return sum(x, {0});
}'
expect ok check_sentences.sh "a sentence that serves two functions" '2 public declarations'
declares '/// The sum.
int sum(int x);

int product(int x);'
expect refused check_sentences.sh "a function behind a blank line" 'sums.hpp:7: no sentence for: int product(int x);'
declares '/// A pair.
struct Pair {
  int first = 0;  ///< the smaller one
  int second = 0;
};'
expect refused check_sentences.sh "a member without a sentence" 'sums.hpp:7: no sentence for: int second'
declares '/// A class.
class Sum {
 public:
  explicit Sum(int x);
  ~Sum();
  Sum(const Sum&) = delete;
  int operator()(int x) const;

 private:
  int x_ = 0;
};
namespace detail {
int hidden(int x);
}'
expect ok check_sentences.sh "what a class says for its members, and what is private"
declares 'class Sum;
/// How it adds.
enum class Order { up, down };
struct Options {
  int count() const;
};'
expect refused check_sentences.sh "a type below the sentence of another" 'no sentence for: struct Options'
expect refused check_sentences.sh "a member function without a sentence" 'no sentence for: int count() const'

# decision TITLE LINE: a decision, and its line in the index.
decision() {
  tree
  mkdir -p "$work/tree/docs/adr"
  printf '%s\n' "$1" >"$work/tree/docs/adr/0001-one.md"
  printf '%s\n' "$2" >"$work/tree/docs/adr/README.md"
}
decision '# 1. One library' '| [1](0001-one.md) | One library | in force |'
expect ok check_pages.sh "an index that lists its decision"
decision '# 1. One library' '| [1](0001-one.md) | Another title | in force |'
expect refused check_pages.sh "an index with another title" 'no line for "One library"'
decision '# 1. One library' '| [1](0002-two.md) | One library | in force |'
expect refused check_pages.sh "a link to a file that is not there" 'README.md:1: the link 0002-two.md'

# site LINK: a site of one page with that link.
site() {
  tree
  printf '<h1 id="top">Title</h1>\n<a href="%s">there</a>\n' "$1" >"$work/tree/index.html"
}
site 'index.html#top'
expect ok ../../docs/site/check_links.sh "a link that leads to a place"
site 'index.html#bottom'
expect refused ../../docs/site/check_links.sh "a link to a place that is not there" 'index.html#bottom leads nowhere'
site 'other.html'
expect refused ../../docs/site/check_links.sh "a link to a page that is not there"

# subject TEXT ok|refused: a history with a commit of that subject behind its first one.
subject() {
  tree
  git -C "$work/tree" init -q
  for text in "Add a library" "$1"; do
    git -C "$work/tree" -c user.name=n -c user.email=n@example.org commit -q --allow-empty -m "$text"
  done
  first=$(git -C "$work/tree" rev-list --max-parents=0 HEAD)
  if "$here/check_subjects.sh" "$work/tree" "$first" >/dev/null; then got=ok; else got=refused; fi
  [ "$got" = "$2" ] || {
    echo "FAILED: the subject '$1': expected $2, got $got"
    failed=1
  }
}
if command -v git >/dev/null; then
  subject 'Fix fusion cycle on empty tensors' ok
  subject 'Know linear integers and order' refused
  subject 'Fixed fusion cycle on empty tensors' refused
  subject "Fix $(printf '%069d' 0)" refused
fi

# An exports list is what nm prints, so a printed one stands in for a library here.
exports() {
  tree
  printf '#!/bin/sh\ncat <<"TEXT"\n%s\nTEXT\n' "$1" >"$work/nm"
  chmod +x "$work/nm"
  if "$here/check_exports.sh" "$work/nm" library >/dev/null; then got=ok; else got=refused; fi
  [ "$got" = "$2" ] || {
    echo "FAILED: the export '$1': expected $2, got $got"
    failed=1
  }
}
exports '0000000000021a30 T tyto::version()' ok
exports '0000000000021a30 W std::vector<int, std::allocator<int> > tyto::read<int>(tyto::Value const&)' ok
exports '0000000000021a30 V typeinfo for tyto::Error' ok
exports '0000000000021a30 V typeinfo for tyto::Value (*)(tyto::Value const&)' ok
exports '0000000000021a30 W std::vector<int, std::allocator<int> >::push_back(int const&)' ok
exports '0000000000021a30 T tyto::core::op_table()' refused
exports '0000000000021a30 T helper(tyto::Value const&)' refused
exports '0000000000021a30 V typeinfo for tyto::cpu::Device' refused

[ "$failed" -eq 0 ] && echo "the checks refuse what they should"
exit "$failed"
