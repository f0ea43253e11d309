// SPDX-License-Identifier: MIT
// Open-ended fuzzing of the ONNX reader: damaged models are read or refused, in memory that their size bounds.
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <new>
#include <vector>

#include <tyto/onnx.hpp>

#include "tests/onnx/mutation.hpp"

namespace {

constexpr char usage[] = "usage: onnx_fuzz FOLDER [FILES [SEED]]   FOLDER holds .onnx files, at any depth\n";
constexpr std::size_t largest_seed = 65'536;  // larger models are mostly weights

std::size_t live = 0;
std::size_t peak = 0;

// Each allocation begins with its own size.
constexpr std::size_t head = alignof(std::max_align_t);

[[maybe_unused]] void* counted(std::size_t bytes) {
  void* memory = std::malloc(bytes + head);
  if (memory == nullptr) throw std::bad_alloc();
  *static_cast<std::size_t*>(memory) = bytes;
  live += bytes;
  peak = live > peak ? live : peak;
  return static_cast<char*>(memory) + head;
}
[[maybe_unused]] void uncounted(void* memory) {
  if (memory == nullptr) return;
  void* begin = static_cast<char*>(memory) - head;
  live -= *static_cast<std::size_t*>(begin);
  std::free(begin);
}

}  // namespace

// Sanitizers bring their own, and limit allocations themselves. One thread runs here.
#if !defined(__SANITIZE_ADDRESS__)
void* operator new(std::size_t bytes) { return counted(bytes); }
void operator delete(void* memory) noexcept { uncounted(memory); }
void operator delete(void* memory, std::size_t) noexcept { uncounted(memory); }
#endif

int main(int count, char** arguments) {
  if (count < 2 || count > 4) {
    std::fputs(usage, stderr);
    return 2;
  }
  std::error_code none;
  if (!std::filesystem::is_directory(arguments[1], none)) {
    std::fprintf(stderr, "onnx_fuzz: %s is no folder\n", arguments[1]);
    return 2;
  }
  std::vector<std::string> seeds;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(arguments[1])) {
    if (entry.path().extension() != ".onnx" || entry.file_size() > largest_seed) continue;
    std::ifstream in(entry.path(), std::ios::binary);
    seeds.emplace_back(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>());
  }
  if (seeds.empty()) {
    std::fprintf(stderr, "onnx_fuzz: no models of at most %zu bytes below %s\n", largest_seed, arguments[1]);
    return 2;
  }
  const std::uint64_t files = count > 2 ? std::strtoull(arguments[2], nullptr, 10) : 100'000;
  std::mt19937_64 draw(count > 3 ? std::strtoull(arguments[3], nullptr, 10) : 1);
  std::uint64_t refused = 0;
  double most = 0;
  for (std::uint64_t i = 0; i < files; ++i) {
    const std::string bytes = tyto::onnx_tests::mutated(seeds[draw() % seeds.size()], draw);
    const std::size_t before = live;
    peak = live;
    try {
      tyto::read_onnx<tyto::Tensor<tyto::Lazy>>(std::as_bytes(std::span(bytes)), "m.onnx");
    } catch (const tyto::IoError&) {
      ++refused;
    }
    // Small allocations do not count: messages, empty tables.
    constexpr std::size_t small = 65'536;
    if (peak - before > small) {
      const double factor = static_cast<double>(peak - before - small) / static_cast<double>(bytes.size() + 1);
      most = factor > most ? factor : most;
    }
  }
  std::printf("%llu damaged files, %llu refused, at most %.1f bytes of memory a byte above 64 KiB\n",
              static_cast<unsigned long long>(files), static_cast<unsigned long long>(refused), most);
  return most > 1024 ? 1 : 0;
}
