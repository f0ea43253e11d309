// SPDX-License-Identifier: MIT
// Times the compiler on a file that only includes a public header, at -O0, beside an empty file and a few standard
// headers. The budget is one second for <tyto/tyto.hpp>.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

namespace {

struct Case {
  const char* name;
  std::vector<const char*> headers;
};

/// Seconds of the fastest of a few compilations: what else the machine does only ever adds.
double seconds_to_compile(const std::filesystem::path& folder, const Case& one) {
  const std::filesystem::path source = folder / "unit.cpp";
  {
    std::ofstream out(source);
    for (const char* header : one.headers) out << "#include <" << header << ">\n";
  }
  const std::string command =
      std::string(TYTO_COMPILER " -std=c++20 -O0 " TYTO_HEADERS " -c -o /dev/null ") + source.string();
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    const auto start = std::chrono::steady_clock::now();
    if (std::system(command.c_str()) != 0) {
      std::fprintf(stderr, "the compiler fails: %s\n", command.c_str());
      std::exit(1);
    }
    best = std::min(best, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
  }
  return best;
}

}  // namespace

int main() {
  std::string pattern = (std::filesystem::temp_directory_path() / "tyto-headers-XXXXXX").string();
  if (mkdtemp(pattern.data()) == nullptr) {
    std::perror("no folder for the sources");
    return 1;
  }
  const std::filesystem::path folder = pattern;
  const std::vector<Case> cases{{"an empty file", {}},
                                {"<vector> <string> <functional>", {"vector", "string", "functional"}},
                                {"<tyto/tensor.hpp>", {"tyto/tensor.hpp"}},
                                {"<tyto/tyto.hpp>", {"tyto/tyto.hpp"}},
                                {"<tyto/nn.hpp>", {"tyto/nn.hpp"}},
                                {"<tyto/io.hpp>", {"tyto/io.hpp"}}};
  std::printf("%-32s %8s %9s %12s\n", "header, at -O0", "ms", "to empty", "to standard");
  double empty = 0;
  double standard = 0;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const double seconds = seconds_to_compile(folder, cases[i]);
    if (i == 0) empty = seconds;
    if (i <= 1) standard = seconds;
    std::printf("%-32s %8.0f %9.1f %12.2f\n", cases[i].name, seconds * 1e3, seconds / empty, seconds / standard);
  }
  std::filesystem::remove_all(folder);
  return 0;
}
