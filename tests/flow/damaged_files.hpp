// SPDX-License-Identifier: MIT
// Saved graphs with nested regions, and ways to damage them.
#pragma once

#include <algorithm>
#include <cstring>
#include <random>
#include <vector>

#include <tyto/tyto.hpp>

namespace tyto::flow_files {

/// Puts the hash right again. Magic, version and hash stand before what is hashed, as FNV-1a is published.
inline void seal(std::vector<std::byte>& bytes) {
  std::uint64_t hash = 14695981039346656037u;
  for (std::size_t i = 20; i < bytes.size(); ++i) {
    hash = (hash ^ std::to_integer<std::uint64_t>(bytes[i])) * 1099511628211u;
  }
  std::memcpy(bytes.data() + 12, &hash, sizeof hash);
}

/// Loops and branches of every kind within each other.
inline std::vector<std::byte> nested() {
  using Tensor = tyto::Tensor<Lazy>;
  using List = std::vector<Tensor>;
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

/// A loop as gradients record it: stacks of carries, a loop that runs backwards, weights captured by both.
inline std::vector<std::byte> trained() {
  using Tensor = tyto::Tensor<Lazy>;
  const Tensor x = Tensor::placeholder({5, 2, 3}, DType::f32, "x");
  const Tensor w = Tensor::placeholder({3, 3}, DType::f32, "w");
  auto [loss, gradients] = value_and_grad([&](const Tensor& weights) {
    const auto step = [&](const Tensor& h, const Tensor& row) {
      const Tensor next = tanh(matmul(h, transpose(weights)) + row);
      return std::pair(next, next);
    };
    return sum(square(scan(step, Tensor::zeros({2, 3}), x).second));
  })(w);
  return Graph({.inputs = {x, w}, .outputs = {loss, gradients[0]}}).to_bytes();
}

/// A file after one to three changes, with its hash put right.
inline std::vector<std::byte> damaged(std::vector<std::byte> bytes, std::mt19937_64& random) {
  const std::uint64_t changes = random() % 3 + 1;
  for (std::uint64_t i = 0; i < changes; ++i) {
    const std::size_t at = 20 + random() % (bytes.size() - 20);
    switch (random() % 4) {
      case 0: bytes[at] = static_cast<std::byte>(random()); break;
      case 1: bytes[at] ^= static_cast<std::byte>(1u << random() % 8); break;
      case 2: bytes.resize(at + 1); break;
      default: {  // an integer elsewhere in the file, or a wild one
        const std::uint64_t wild[] = {0, 1, UINT64_MAX, UINT64_MAX / 2, 1u << 30};
        const std::uint64_t value = wild[random() % 5];
        std::memcpy(bytes.data() + at, &value, std::min<std::size_t>(random() % 2 == 0 ? 4 : 8, bytes.size() - at));
      }
    }
  }
  seal(bytes);
  return bytes;
}

}  // namespace tyto::flow_files
