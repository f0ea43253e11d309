// SPDX-License-Identifier: MIT
// Packed and folded constants lie in memory once for all functions and graphs, and go with the last of them.
#include <doctest/doctest.h>

#include <array>
#include <barrier>
#include <cstdlib>
#include <cstring>
#include <optional>
#include <thread>
#include <vector>

#include "core/device/device.hpp"
#include "engine/run/arrays.hpp"
#include "engine/run/devices.hpp"
#include "engine/run/shared_arrays.hpp"
#include "tyto/tyto.hpp"

using namespace tyto;
using Lazily = Tensor<Lazy>;

namespace {

constexpr std::int64_t side = 512;
constexpr std::size_t weight_bytes = static_cast<std::size_t>(side * side) * sizeof(float);

std::size_t allocated() { return run::cpu_device().allocated(); }

// Small integers: sums of their products are whole, so that every order of summation has the same bits.
std::vector<float> integers(std::int64_t count, std::int64_t factor) {
  std::vector<float> numbers(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    numbers[i] = static_cast<float>(static_cast<std::int64_t>(i) * factor % 7 - 3);
  }
  return numbers;
}

template <class Mode>
Tensor<Mode> weights() {
  return Tensor<Mode>::from(integers(side * side, 5), {side, side});
}
template <class Mode>
Tensor<Mode> rows(std::int64_t count) {
  return Tensor<Mode>::from(integers(count * side, 3), {count, side});
}

/// Whether products of constants are packed on this machine, and nothing is kept to verify runs by.
bool packs() {
  auto f = compile([w = weights<Lazy>()](const Lazily& x) { return matmul(x, w); });
  f(rows<Lazy>(16)).to_vector<float>();
  return f.report().passes.fired("packed") != 0 && std::getenv("TYTO_VERIFY") == nullptr;
}

core::Array array_of(const std::vector<float>& numbers) {
  core::Array made = run::new_array(run::cpu_device(), DType::f32, Shape{static_cast<std::int64_t>(numbers.size())});
  std::memcpy(run::address_of(made).pointer(), numbers.data(), numbers.size() * sizeof(float));
  return made;
}

}  // namespace

TEST_CASE("arrays of the same bytes are one, those that differ in a byte are not") {
  std::vector<float> numbers = integers(2000, 3);
  const core::Array first = run::shared_array(array_of(numbers));
  CHECK(run::shared_array(array_of(numbers)).buffer == first.buffer);
  CHECK(first.buffer->read_only());
  numbers.back() = -0.0F;
  const core::Array negative = run::shared_array(array_of(numbers));
  CHECK(negative.buffer != first.buffer);
  numbers.back() = 0.0F;
  CHECK(run::shared_array(array_of(numbers)).buffer != negative.buffer);
  numbers.push_back(1);
  CHECK(run::shared_array(array_of(numbers)).buffer != first.buffer);
  // The same number of bytes, but of another shape.
  core::Array column = array_of(integers(2000, 3));
  column.view = core::View::dense({1000, 2});
  const core::Array shared = run::shared_array(column);
  CHECK(shared.buffer == first.buffer);
  CHECK(shared.view.shape == Shape{1000, 2});
}

TEST_CASE("threads that make the same bytes at once hold one array") {
  constexpr std::size_t count = 4;
  for (int round = 0; round < 50; ++round) {
    std::array<core::Array, count> arrays;
    std::barrier together(static_cast<std::ptrdiff_t>(count));
    std::vector<std::thread> threads;
    for (core::Array& array : arrays) {
      threads.emplace_back([&] {
        core::Array made = array_of(integers(1 << 14, 3));
        together.arrive_and_wait();
        array = run::shared_array(std::move(made));
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (const core::Array& array : arrays) CHECK(array.buffer == arrays[0].buffer);
  }
}

TEST_CASE("a shared array goes with the last who holds it") {
  const std::size_t before = allocated();
  for (int round = 0; round < 200; ++round) {
    const core::Array first = run::shared_array(array_of(integers(1 << 18, round + 1)));
    const core::Array second = run::shared_array(array_of(integers(1 << 18, round + 1)));
    CHECK(allocated() == before + (std::size_t{1} << 20));
  }
  CHECK(allocated() == before);
}

TEST_CASE("functions and graphs over the same constants hold their packed weights once") {
  const std::vector<float> want = matmul(rows<Eager>(16), weights<Eager>()).to_vector<float>();
  const std::vector<float> want_scaled =
      matmul(rows<Eager>(16), weights<Eager>() * Tensor<Eager>::full({side}, 2.0)).to_vector<float>();
  const Lazily w = weights<Lazy>(), x = rows<Lazy>(16), p = Lazily::placeholder({16, side});
  const Lazily scale = Lazily::full({side}, 2.0);
  const std::size_t before = allocated();
  {
    const auto product = [&](const Lazily& input) { return matmul(input, w); };
    const auto scaled = [&](const Lazily& input) { return matmul(input, w * scale); };
    auto first = compile(product);
    auto first_scaled = compile(scaled);
    CHECK(first(x).to_vector<float>() == want);
    CHECK(first_scaled(x).to_vector<float>() == want_scaled);
    const std::size_t after_two = allocated();
    auto second = compile([&](const Lazily& input) { return matmul(input, w) + 0.0; });
    auto second_scaled = compile([&](const Lazily& input) { return matmul(input, w * scale) + 0.0; });
    Graph graph{{.inputs = {p}, .outputs = {matmul(p, w)}}}, other{{.inputs = {p}, .outputs = {exp(matmul(p, w))}}};
    graph.set(p, x);
    graph.run();
    other.set(p, x * 0.0);
    other.run();
    CHECK(second(x).to_vector<float>() == want);
    CHECK(second_scaled(x).to_vector<float>() == want_scaled);
    CHECK(first(rows<Lazy>(17)).to_vector<float>() == matmul(rows<Eager>(17), weights<Eager>()).to_vector<float>());
    CHECK(graph.output(0).to_vector<float>() == want);
    CHECK(other.output(0).to_vector<float>() == std::vector<float>(16 * side, 1.0F));
    // Six programs and some arenas and results, of 32 kB each.
    if (packs()) CHECK(allocated() < after_two + weight_bytes / 2);
    CHECK(first(x).to_vector<float>() == want);
  }
  CHECK(allocated() < before + weight_bytes / 2);
}

TEST_CASE("threads that compile functions over the same constants at once hold one packing") {
  constexpr int count = 4;
  const std::vector<float> want = matmul(rows<Eager>(16), weights<Eager>()).to_vector<float>();
  const Lazily w = weights<Lazy>();
  const std::size_t before = allocated();
  const auto product = [&w](const Lazily& input) { return matmul(input, w); };
  for (int round = 0; round < 3; ++round) {
    std::vector<std::optional<decltype(compile(product))>> functions(count);
    std::array<int, count> wrong{};
    std::barrier together(count);
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < count; ++t) {
      threads.emplace_back([&, t] {
        together.arrive_and_wait();
        functions[t].emplace(compile(product));
        for (int i = 0; i < 2; ++i) wrong[t] += (*functions[t])(rows<Lazy>(16)).template to_vector<float>() != want;
      });
    }
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == std::array<int, count>{});
    CHECK(allocated() < before + weight_bytes + weight_bytes / 2);
  }
  CHECK(allocated() < before + weight_bytes / 2);
}

TEST_CASE("constants whose memory was written or reused since are never taken for what they were") {
  std::vector<float> numbers = integers(side * side, 5);
  const Lazily x = rows<Lazy>(16);
  const auto product = [&](const std::vector<float>& right) {
    const Lazily w = Lazily::borrow(right.data(), {side, side}, [] {});
    return compile([w](const Lazily& input) { return matmul(input, w); });
  };
  const auto eagerly = [&] {
    return matmul(rows<Eager>(16), Tensor<Eager>::from(numbers, {side, side})).to_vector<float>();
  };
  auto first = product(numbers);
  const std::vector<float> before = eagerly();
  CHECK(first(x).to_vector<float>() == before);
  numbers.back() += 1;
  const std::vector<float> after = eagerly();
  CHECK(after != before);
  auto second = product(numbers);
  CHECK(second(x).to_vector<float>() == after);
}

TEST_CASE("variables of equal contents share packed weights until one is assigned") {
  const Lazily v = Lazily::variable(weights<Lazy>()), w = Lazily::variable(weights<Lazy>()), x = rows<Lazy>(16);
  const std::vector<float> want = matmul(rows<Eager>(16), weights<Eager>()).to_vector<float>();
  auto by_v = compile([&](const Lazily& input) { return matmul(input, v); });
  auto by_w = compile([&](const Lazily& input) { return matmul(input, w); });
  CHECK(by_v(x).to_vector<float>() == want);
  const std::size_t with_one = allocated();
  CHECK(by_w(x).to_vector<float>() == want);
  // The plain array of w was released.
  if (packs()) CHECK(allocated() + weight_bytes / 2 < with_one);
  assign(w, Lazily::zeros({side, side}));
  CHECK(by_w(x).to_vector<float>() == std::vector<float>(16 * side, 0.0F));
  CHECK(by_v(x).to_vector<float>() == want);
  CHECK(v.to_vector<float>() == integers(side * side, 5));
  CHECK(by_v(x).to_vector<float>() == want);
}
