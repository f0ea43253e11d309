// SPDX-License-Identifier: MIT
// Memory of the host: large blocks lie where huge pages do, and freed ones are used again, those wanted least recently
// making room for others; fresh pages are known to hold zeros.
#include "devices/cpu/system/memory.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <complex>
#include <cstdint>
#include <cstring>
#include <numeric>
#include <tyto/tyto.hpp>
#include <vector>

namespace tyto::cpu {

namespace {

constexpr std::size_t mebibyte = std::size_t{1} << 20;
constexpr std::size_t pool_limit = 256 * mebibyte;

/// Memory that is allocated, written to and freed again: what the pool has of this size.
void* freed(std::size_t bytes) {
  void* const memory = allocate_memory(bytes).memory;
  std::memset(memory, 1, bytes);
  release_memory(memory, bytes);
  return memory;
}

/// Allocated and freed again: whether the memory came from the pool.
bool is_recycled(std::size_t bytes) {
  const Block block = allocate_memory(bytes);
  const bool written = *static_cast<const std::byte*>(block.memory) == std::byte{1};
  release_memory(block.memory, bytes);
  return written;
}

}  // namespace

TEST_CASE("a large block begins where a huge page does, and is used again after it was freed") {
  constexpr std::size_t large = 9 * mebibyte + 12'345;  // not whole huge pages
  trim_memory();
  const std::size_t before = allocated_memory();
  void* memory = allocate_memory(large).memory;
  CHECK(reinterpret_cast<std::uintptr_t>(memory) % (2 * mebibyte) == 0);
  CHECK(allocated_memory() >= before + large);
  std::memset(memory, 1, large);
  release_memory(memory, large);
  CHECK(allocate_memory(large).memory == memory);
  release_memory(memory, large);
  CHECK(allocated_memory() == before);
  trim_memory();
}

TEST_CASE("freed blocks of sizes that are wanted no more make room for others") {
  trim_memory();
  freed(64 * mebibyte);
  CHECK(is_recycled(64 * mebibyte));
  freed(160 * mebibyte);
  for (int i = 0; i < 40; ++i) REQUIRE(is_recycled(160 * mebibyte));
  freed(80 * mebibyte);  // 304 MiB in all
  CHECK(is_recycled(80 * mebibyte));
  CHECK(is_recycled(160 * mebibyte));
  CHECK_FALSE(is_recycled(64 * mebibyte));
  freed(pool_limit + mebibyte);  // more than the pool may hold: it stays as it is
  CHECK(is_recycled(80 * mebibyte));
  CHECK(is_recycled(160 * mebibyte));
  trim_memory();
}

TEST_CASE("sizes that take turns do not push each other out of the pool, nor do small blocks") {
  trim_memory();
  freed(192 * mebibyte);
  for (int i = 0; i < 4; ++i) {
    freed(80 * mebibyte);  // does not fit beside the other
    CHECK(is_recycled(192 * mebibyte));
  }
  freed(56 * mebibyte);
  for (int i = 0; i < 100; ++i) CHECK(is_recycled(56 * mebibyte));
  std::vector<void*> small;
  for (int i = 0; i < 9'000; ++i) small.push_back(allocate_memory(mebibyte / 512).memory);  // 17 MiB, of which 8 fit
  for (void* memory : small) release_memory(memory, mebibyte / 512);
  CHECK(is_recycled(192 * mebibyte));
  CHECK(is_recycled(56 * mebibyte));
  trim_memory();
}

#if !defined(__SANITIZE_ADDRESS__)
TEST_CASE("memory that is said to hold zeros does, and recycled memory is not said to") {
  constexpr std::size_t large = 6 * mebibyte;
  trim_memory();
  const Block fresh = allocate_memory(large);
  CHECK(fresh.zeroed);
  const auto* bytes = static_cast<const std::byte*>(fresh.memory);
  CHECK(std::all_of(bytes, bytes + large, [](std::byte each) { return each == std::byte{0}; }));
  std::memset(fresh.memory, 1, large);
  release_memory(fresh.memory, large);
  const Block again = allocate_memory(large);
  CHECK(again.memory == fresh.memory);
  CHECK_FALSE(again.zeroed);
  release_memory(again.memory, large);
  trim_memory();
}
#endif

TEST_CASE("operators that clear their result first are right in fresh memory and in recycled memory") {
  using Tensor = tyto::Tensor<Eager>;
  constexpr std::int64_t n = 1200;  // 11.5 MB in f64, twice that in c128
  for (const bool fresh : {true, false}) {
    CAPTURE(fresh);
    const auto prepare = [&] {
      trim_memory();
      if (!fresh) {
        freed(static_cast<std::size_t>(n * n) * 8);  // ones where the next tensor will lie
        freed(static_cast<std::size_t>(n * n) * 16);
      }
    };
    const auto sums_to = [](const Tensor& x, double wanted) {
      const std::vector<double> elements = x.template to_vector<double>();
      return std::accumulate(elements.begin(), elements.end(), 0.0) == wanted;
    };
    const auto all_negative = [](const Tensor& x) {
      const std::vector<double> elements = x.template to_vector<double>();
      return std::all_of(elements.begin(), elements.end(), [](double each) { return each == 0 && std::signbit(each); });
    };
    prepare();
    CHECK(sums_to(Tensor::zeros({n, n}, DType::f64), 0));
    prepare();
    CHECK(all_negative(Tensor::full({n, n}, -0.0, DType::f64)));
    prepare();
    CHECK(sums_to(Tensor::full({n, n}, 2, DType::f64), 2.0 * n * n));
    prepare();
    CHECK(sums_to(Tensor::eye(n, n, 3, DType::f64), n - 3));
    const Tensor threes = Tensor::full({n - 1}, 3, DType::f64);
    prepare();
    CHECK(sums_to(diag(threes, 1), 3.0 * (n - 1)));
    const Tensor classes = Tensor::arange(0, n, 1, DType::i64);
    prepare();
    CHECK(sums_to(one_hot(classes, n, DType::f64), n));
    prepare();
    const Tensor zeros = Tensor::zeros({n, n}, DType::c128);
    CHECK(sums_to(real(zeros), 0));
    CHECK(sums_to(imag(zeros), 0));
    prepare();
    const Tensor negative = Tensor::full({n, n}, std::complex<double>(0.0, -0.0), DType::c128);
    CHECK(all_negative(imag(negative)));
  }
  trim_memory();
}

}  // namespace tyto::cpu
