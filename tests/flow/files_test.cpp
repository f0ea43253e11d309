// Saved graphs with nested regions: what was tampered with is refused or read, and never more than that.
#include <doctest/doctest.h>

#include <cstring>
#include <random>
#include <tyto/tyto.hpp>

namespace files_test {

using tyto::DType;
using tyto::Graph;
using Tensor = tyto::Tensor<tyto::Lazy>;
using List = std::vector<Tensor>;

// Magic, version and hash stand before what is hashed, as FNV-1a is published.
void seal(std::vector<std::byte>& bytes) {
  std::uint64_t hash = 14695981039346656037u;
  for (std::size_t i = 20; i < bytes.size(); ++i) {
    hash = (hash ^ std::to_integer<std::uint64_t>(bytes[i])) * 1099511628211u;
  }
  std::memcpy(bytes.data() + 12, &hash, sizeof hash);
}

std::vector<std::byte> nested() {
  const Tensor p = Tensor::placeholder({3}, DType::f32, "p");
  const Tensor n = Tensor::placeholder({}, DType::i64, "n");
  const auto [last, rows] = scan(
      [&](const List& c, const Tensor& x) {
        const Tensor inner = while_loop(
            c[0], [](const Tensor& v) { return v.sum() < 3.0; }, [&](const Tensor& v) { return v * 2 + x; },
            {.most = 4});
        const Tensor chosen = cond(
            inner.sum() > 0.0, [&] { return inner + Tensor::uniform({3}); }, [&] { return c[1]; });
        return std::pair(List{chosen, c[0]}, inner);
      },
      List{p, p * 2}, Tensor::ones({4, 3}));
  const Tensor counted = fori_loop(0, n, last[0], [](const Tensor& i, const Tensor& c) { return c + i; });
  return Graph({.inputs = {p, n}, .outputs = {counted, last[1], rows}}).to_bytes();
}

/// Whether the bytes were read; anything but a refusal by name fails the test.
bool is_read(const std::vector<std::byte>& bytes) {
  try {
    (void)Graph::from_bytes(bytes).text();
    return true;
  } catch (const tyto::IoError&) {
    return false;
  }
}

TEST_CASE("graph files with regions say that they are of version 2, others that they are of version 1") {
  const Tensor p = Tensor::placeholder({3}, DType::f32, "p");
  CHECK(std::to_integer<int>(nested()[8]) == 2);
  CHECK(std::to_integer<int>(Graph({.inputs = {p}, .outputs = {p * 2}}).to_bytes()[8]) == 1);
}

TEST_CASE("mutated graph files with nested regions are read or refused") {
  const std::vector<std::byte> whole = nested();
  REQUIRE(is_read(whole));
  std::mt19937_64 random(1);
  std::size_t read = 0;
  for (int trial = 0; trial < 6000; ++trial) {
    std::vector<std::byte> bytes = whole;
    const std::uint64_t changes = random() % 3 + 1;
    for (std::uint64_t i = 0; i < changes; ++i) {
      const std::size_t at = 20 + random() % (bytes.size() - 20);
      switch (random() % 4) {
        case 0: bytes[at] = static_cast<std::byte>(random()); break;
        case 1: bytes[at] ^= static_cast<std::byte>(1u << random() % 8); break;
        case 2: bytes.resize(at + 1); break;
        default: {  // a whole number elsewhere in the file, or a wild one
          const std::uint64_t wild[] = {0, 1, UINT64_MAX, UINT64_MAX / 2, 1u << 30};
          const std::uint64_t value = wild[random() % 5];
          std::memcpy(bytes.data() + at, &value, std::min<std::size_t>(random() % 2 == 0 ? 4 : 8, bytes.size() - at));
        }
      }
    }
    seal(bytes);
    read += is_read(bytes);
  }
  CHECK(read > 0);
  CHECK(read < 6000);
}

TEST_CASE("regions nest no deeper in a file than a reader follows") {
  const auto deep = [](int levels) {
    const Tensor p = Tensor::placeholder({2}, DType::f32, "p");
    std::function<Tensor(const Tensor&, int)> inside = [&](const Tensor& x, int level) -> Tensor {
      if (level == 0) return x * 2;
      return fori_loop(0, 1, x, [&](const Tensor&, const Tensor& c) { return inside(c, level - 1); });
    };
    return Graph({.inputs = {p}, .outputs = {inside(p, levels)}}).to_bytes();
  };
  CHECK(is_read(deep(32)));
  CHECK_THROWS_WITH_AS(Graph::from_bytes(deep(33), "deep"), doctest::Contains("more than 32 levels of nesting"),
                       tyto::IoError);
}

}  // namespace files_test
