// SPDX-License-Identifier: MIT
// Writes the generated pages into a folder, or (`--check`) says which of them are not what the sources make them.
#include <algorithm>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>

#include "docs/generate/page.hpp"

namespace tyto::docs {

std::string table_row(const std::vector<std::string>& cells) {
  std::string out = "|";
  for (const std::string& cell : cells) {
    out += ' ';
    for (const char c : cell) {
      if (c == '|') out += '\\';
      out += c;
    }
    out += cell.empty() ? "|" : " |";
  }
  return out + '\n';
}

std::string code(std::string_view text) { return text.empty() ? std::string() : '`' + std::string(text) + '`'; }

}  // namespace tyto::docs

int main(int argc, char** argv) {
  const bool check = argc == 3 && std::string(argv[1]) == "--check";
  if (!check && argc != 2) {
    std::cerr << "usage: tyto_docs_generator [--check] FOLDER\n";
    return 2;
  }
  const std::string folder = argv[argc - 1];
  int stale = 0;
  for (const tyto::docs::Page& page :
       {tyto::docs::numpy_page(folder), tyto::docs::pytorch_page(folder), tyto::docs::operators_page(),
        tyto::docs::owl_page(), tyto::docs::rules_page(), tyto::docs::onnx_page(), tyto::docs::environment_page()}) {
    if (page.file.empty()) continue;
    const std::string path = folder + '/' + page.file;
    if (!check) {
      std::ofstream out(path, std::ios::binary);
      out << page.text;
      if (!out.flush()) {
        std::cerr << path << " cannot be written\n";
        return 1;
      }
      continue;
    }
    std::ifstream in(path, std::ios::binary);
    const std::string found((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    if (found == page.text) continue;
    ++stale;
    std::cerr << "docs/" << page.file << " is not what the sources say now: run ./dev docs and commit the page\n";
    const auto differ = std::mismatch(found.begin(), found.end(), page.text.begin(), page.text.end());
    const auto line_at = [](const std::string& text, std::string::const_iterator place) {
      const auto at = static_cast<std::size_t>(place - text.begin());
      const std::size_t start = at == 0 ? 0 : text.rfind('\n', at - 1) + 1;
      return text.substr(start, text.find('\n', start) - start);
    };
    std::cerr << "  committed: " << line_at(found, differ.first)
              << "\n  generated: " << line_at(page.text, differ.second) << '\n';
  }
  return stale == 0 ? 0 : 1;
}
