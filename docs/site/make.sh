#!/bin/sh
# Writes the site: pages, index of names and API reference by Doxygen, from copies that it reads more easily; checks
# that each link within it leads somewhere.
# Usage: make.sh OUTPUT; exits 77 when Doxygen is not installed.
set -eu
here=$(cd "$(dirname "$0")" && pwd)
cd "$here/../.."
command -v doxygen >/dev/null || {
  echo "doxygen is not installed: the site is not written"
  exit 77
}
out=$1
work=$out.work
rm -rf "$out" "$work"
mkdir -p "$work/pages" "$work/include/tyto/nn" "$work/include/tyto/interop" "$out"
out=$(cd "$out" && pwd)
work=$(cd "$work" && pwd)

# Pages.
pages=$(echo README.md CONTRIBUTING.md CHANGELOG.md SECURITY.md docs/*.md docs/adr/*.md docs/performance/*.md docs/pictures/*.md)
for page in $pages; do
  name=$(echo "$page" | sed 's/\//_/g')
  awk -v page="$page" -v pages="$pages" -f "$here/pages.awk" "$page" >"$work/pages/$name"
done
LC_ALL=C awk -f "$here/names.awk" docs/numpy.md docs/pytorch.md docs/owl.md | LC_ALL=C sort -u |
  awk -f "$here/names_page.awk" >"$work/pages/names.md"

# Headers. The functions of elementwise.hpp stand in the list of operators, with their sentences.
for header in include/tyto/*.hpp include/tyto/nn/*.hpp include/tyto/interop/*.hpp; do
  awk -f "$here/declarations.awk" "$header" >"$work/$header"
done
public() { find "$1" -name '*.hpp' -print | LC_ALL=C sort | xargs awk -v check=1 -f "$here/declarations.awk" | tail -n 1; }
[ "$(public include/tyto)" = "$(public "$work/include/tyto")" ] || {
  echo "of '$(public include/tyto)' Doxygen is given '$(public "$work/include/tyto")'"
  exit 1
}
sed -n 's/^TYTO_\([A-Z]*\) *( *\([a-z_0-9]*\),.*"\([^"]*\)") *$/\1 \2 \3/p' ops/elementwise.def | awk '
  { name = $2; kind = $1; doc = $0; sub(/^[A-Z]+ [a-z_0-9]+ /, "", doc) }
  NR == 1 { print "namespace tyto {\n/** @addtogroup tyto_elementwise_hpp\n@{ */" }
  { print "/// " doc }
  kind == "UNARY" { print "Tensor<M> " name "(const Tensor<M>& x);" }
  kind == "BINARY" { print "Tensor<M> " name "(const Tensor<M>& a, const Tensor<M>& b);" }
  kind == "TERNARY" { print "Tensor<M> " name "(const Tensor<M>& a, const Tensor<M>& b, const Tensor<M>& c);" }
  END { print "/** @} */\n}" }' >>"$work/include/tyto/elementwise.hpp"

version=$(sed -n 's/^project(.*VERSION \([0-9.]*\).*/\1/p' CMakeLists.txt)
{
  cat "$here/Doxyfile"
  echo "PROJECT_NUMBER = $version"
  echo "INPUT = $here/reference.dox $work/include $work/pages"
  echo "STRIP_FROM_PATH = $work/include $work/pages"
  echo "USE_MDFILE_AS_MAINPAGE = $work/pages/README.md"
  echo "OUTPUT_DIRECTORY = $work"
  echo "HTML_OUTPUT = $out"
  echo "HTML_HEADER = $here/header.html"
  echo "HTML_FOOTER = $here/footer.html"
  echo "HTML_STYLESHEET = $here/style.css"
  echo "HTML_EXTRA_FILES = $here/names.js"
  echo "LAYOUT_FILE = $here/layout.xml"
  echo "IMAGE_PATH = docs/pictures"
} >"$work/Doxyfile"
doxygen "$work/Doxyfile" >"$work/log" 2>&1 || {
  tail -n 20 "$work/log"
  exit 1
}
"$here/check_links.sh" "$out"
echo "$(find "$work/pages" -name '*.md' | wc -l) pages, $(
  cat "$work"/include/tyto/*.hpp "$work"/include/tyto/*/*.hpp | grep -c '^ */// ') lines of reference: $out/index.html"
