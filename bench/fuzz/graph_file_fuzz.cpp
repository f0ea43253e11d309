// SPDX-License-Identifier: MIT
// Open-ended fuzzing of saved graphs with nested regions: damaged files are refused, or read, optimised and planned.
#include <cstdio>
#include <cstdlib>

#include "tests/flow/damaged_files.hpp"

namespace {

constexpr char usage[] = "usage: graph_file_fuzz [FILES [SEED]]\n";

}  // namespace

int main(int count, char** arguments) {
  if (count > 3) {
    std::fputs(usage, stderr);
    return 2;
  }
  const std::uint64_t files = count > 1 ? std::strtoull(arguments[1], nullptr, 10) : 100'000;
  std::mt19937_64 draw(count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 1);
  const std::vector<std::byte> whole[] = {tyto::flow_files::nested(), tyto::flow_files::trained()};
  std::uint64_t refused = 0, unplanned = 0;
  for (std::uint64_t i = 0; i < files; ++i) {
    const std::vector<std::byte> bytes = tyto::flow_files::damaged(whole[draw() % 2], draw);
    try {
      tyto::Graph graph = tyto::Graph::from_bytes(bytes);
      try {
        (void)graph.plan();
      } catch (const tyto::Error&) {
        ++unplanned;  // such as one of tensors larger than memory
      }
    } catch (const tyto::IoError&) {
      ++refused;
    }
  }
  std::printf("%llu damaged files, %llu refused when read, %llu when planned\n", static_cast<unsigned long long>(files),
              static_cast<unsigned long long>(refused), static_cast<unsigned long long>(unplanned));
  return 0;
}
