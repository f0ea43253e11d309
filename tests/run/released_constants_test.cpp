// SPDX-License-Identifier: MIT
// Constants are held once: packed where that is all that runs read, plain where somebody else holds or reads them.
#include <doctest/doctest.h>

#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <optional>
#include <span>
#include <string>
#include <thread>
#include <vector>

#include "core/device/device.hpp"
#include "engine/run/devices.hpp"
#include "tyto/description.hpp"
#include "tyto/tyto.hpp"

using namespace tyto;
using Lazily = Tensor<Lazy>;

namespace {

constexpr std::int64_t width = 512;
constexpr std::size_t bytes = width * width * sizeof(float);

/// Integers, whose products with ones are exact.
std::vector<float> integers(std::int64_t rows = width, std::int64_t columns = width) {
  std::vector<float> numbers(static_cast<std::size_t>(rows * columns));
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<float>(i % 97) - 31;
  return numbers;
}

/// Column `column` of ones times the matrix.
float column_sum(const std::vector<float>& matrix, std::size_t column) {
  float sum = 0;
  for (std::size_t i = column; i < matrix.size(); i += width) sum += matrix[i];
  return sum;
}

Lazily constant_of(const std::vector<float>& numbers, const Shape& shape = {width, width}) {
  return Lazily::constant(Lazily::from(numbers, shape));
}

std::size_t allocated() { return run::cpu_device().allocated(); }
/// Arenas and results beside the weights.
constexpr std::size_t others = bytes / 2;

/// Verified runs keep what they were given; what packs depends on the processor.
bool packs() { return std::getenv("TYTO_VERIFY") == nullptr && std::getenv("TYTO_ISA") == nullptr; }

}  // namespace

TEST_CASE("a constant that a compiled function packs is held once, and read back bit for bit") {
  const std::vector<float> numbers = integers();
  const Lazily c = constant_of(numbers);
  const std::size_t before = allocated();  // with the plain contents
  auto f = compile([&](Lazily x) { return matmul(x, c); });
  const Lazily x = Lazily::ones({16, width});
  for (int i = 0; i < 10; ++i) {
    CHECK(f(x).to_vector<float>()[7] == column_sum(numbers, 7));
    if (packs()) CHECK(allocated() < before + others);
  }
  SUBCASE("a second signature, once and again") {
    for (int i = 0; i < 3; ++i) {
      CHECK(f(Lazily::ones({17, width})).to_vector<float>()[7] == column_sum(numbers, 7));
      CHECK(f(x).to_vector<float>()[7] == column_sum(numbers, 7));
      if (packs()) CHECK(allocated() < before + others);
    }
    CHECK(c.to_vector<float>() == numbers);
  }
  SUBCASE("descriptions need no contents") {
    const std::size_t packed = allocated();
    const TensorDescription described = describe(c);
    CHECK(described.kind == TensorKind::constant);
    REQUIRE(described.layout);
    CHECK(described.layout->strides == IntList{width, 1});
    CHECK(!described.layout->is_view);
    const Lazily turned = transpose(c), part = c(slice(3, 9));
    REQUIRE(describe(turned).layout);
    CHECK(describe(turned).layout->strides == IntList{1, width});
    CHECK(describe(turned).layout->is_view);
    REQUIRE(describe(part).layout);
    CHECK(describe(part).layout->offset == 3 * width);
    CHECK(std::string(detail::debugger_text(c)).find("constant") != std::string::npos);
    CHECK(allocated() == packed);
  }
  SUBCASE("copies leave it packed alone") {
    for (int i = 0; i < 3; ++i) CHECK(c.to_vector<float>() == numbers);
    if (packs()) CHECK(allocated() < before + others);
  }
  SUBCASE("expressions") {
    const Lazily doubled = c * 2.0F;
    const std::vector<float> seen = doubled.to_vector<float>();
    for (std::size_t i = 0; i < seen.size(); ++i) REQUIRE(seen[i] == 2 * numbers[i]);
    CHECK(transpose(c).to_vector<float>()[1] == numbers[width]);
  }
  SUBCASE("other sizes, and other functions") {
    for (const std::int64_t rows : {1, 17, 40, 16}) {
      CHECK(f(Lazily::ones({rows, width})).to_vector<float>()[9] == column_sum(numbers, 9));
    }
    auto g = compile([&](Lazily y) { return matmul(y, c) + 1.0F; });
    CHECK(g(x).to_vector<float>()[7] == column_sum(numbers, 7) + 1);
    auto h = compile([&](Lazily y) { return matmul(y, c) + sum(c, {0}); });
    CHECK(h(x).to_vector<float>()[7] == 2 * column_sum(numbers, 7));
    CHECK(f(x).to_vector<float>()[7] == column_sum(numbers, 7));
  }
  SUBCASE("a slope") {
    auto slope =
        compile([&](Lazily y) { return value_and_grad([&](Lazily t) { return sum(matmul(t, c)); })(y).second[0]; });
    float row = 0;
    for (std::size_t i = 0; i < width; ++i) row += numbers[3 * width + i];
    CHECK(slope(x).to_vector<float>()[3] == row);
    CHECK(f(x).to_vector<float>()[7] == column_sum(numbers, 7));
  }
  SUBCASE("a variable takes its contents") {
    const Lazily w = Lazily::variable(c);
    assign(w, w + 1.0F);
    CHECK(w.to_vector<float>()[5] == numbers[5] + 1);
    assign(w, c);
    CHECK(w.to_vector<float>() == numbers);
    CHECK(c.to_vector<float>() == numbers);
  }
  SUBCASE("the function goes first") {
    const Lazily other = constant_of(numbers);
    {
      auto g = compile([&](Lazily y) { return matmul(y, other); });
      CHECK(g(x).to_vector<float>()[5] == column_sum(numbers, 5));
    }
    CHECK(other.to_vector<float>() == numbers);
  }
  SUBCASE("a pointer that was given out stays good") {
    const std::span<const float> seen = c.data<float>();
    auto g = compile([&](Lazily y) { return matmul(y, c) - 1.0F; });
    CHECK(g(x).to_vector<float>()[7] == column_sum(numbers, 7) - 1);
    CHECK(c.data<float>().data() == seen.data());
    CHECK(std::memcmp(seen.data(), numbers.data(), bytes) == 0);
  }
}

TEST_CASE("a constant stays plain where another tensor shares its memory") {
  const std::vector<float> numbers = integers();
  const Lazily shared = Lazily::from(numbers, {width, width});
  const Lazily c = Lazily::constant(shared);
  const std::span<const float> seen = shared.data<float>();
  const Lazily top = c(slice(0, 2));
  eval({top});
  auto f = compile([&](Lazily x) { return matmul(x, c); });
  CHECK(f(Lazily::ones({16, width})).to_vector<float>()[3] == column_sum(numbers, 3));
  CHECK(std::memcmp(seen.data(), numbers.data(), bytes) == 0);
  CHECK(shared.to_vector<float>() == numbers);
  CHECK(top.to_vector<float>()[width + 1] == numbers[width + 1]);
}

TEST_CASE("views of a constant that are computed while a function is recorded leave it as it is") {
  const std::vector<float> numbers = integers();
  const Lazily c = constant_of(numbers);
  const std::vector<std::function<Lazily(Lazily)>> views = {
      [](Lazily t) { return t(slice(0, 256)); }, [](Lazily t) { return t(all, slice(128, 384)); },
      [](Lazily t) { return transpose(t); },     [](Lazily t) { return reshape(t, {2 * width, width / 2}); },
      [](Lazily t) { return flip(t, {0}); },
  };
  for (std::size_t i = 0; i < views.size(); ++i) {
    CAPTURE(i);
    const std::vector<float> want = Lazily(views[i](Lazily::from(numbers, {width, width}))).to_vector<float>();
    const Shape shape = views[i](c).shape();
    auto f = compile([&](Lazily x) {
      const Lazily view = views[i](c);
      eval({view});
      return matmul(x, view) + sum(c);
    });
    for (int run = 0; run < 3; ++run) {
      const std::vector<float> seen = f(Lazily::ones({16, shape[0]})).to_vector<float>();
      float column = 0, all_of_them = 0;
      for (std::int64_t row = 0; row < shape[0]; ++row) column += want[static_cast<std::size_t>(row * shape[1] + 5)];
      for (const float number : numbers) all_of_them += number;
      CHECK(seen[5] == column + all_of_them);
    }
    CHECK(c.to_vector<float>() == numbers);
  }
  const Lazily view = transpose(c);
  eval({view});
  auto g = compile([&](Lazily x) { return matmul(x, c); });
  for (int run = 0; run < 3; ++run) CHECK(g(Lazily::ones({16, width})).to_vector<float>()[5] == column_sum(numbers, 5));
  CHECK(view.to_vector<float>() == Lazily(transpose(Lazily::from(numbers, {width, width}))).to_vector<float>());
  CHECK(c.to_vector<float>() == numbers);
}

/// Uses of a constant besides packing it.
template <class M>
std::vector<std::function<Tensor<M>(Tensor<M> x, Tensor<M> c)>> programs() {
  using T = Tensor<M>;
  return {
      [](T x, T c) { return matmul(x(all, slice(0, 16)), c(slice(16, 32))); },
      [](T x, T c) { return matmul(x, c(all, slice(0, 24))); },
      [](T x, T c) { return matmul(x, transpose(c)) + matmul(x, c); },
      [](T x, T c) { return matmul(c, transpose(x)); },
      [](T x, T c) { return matmul(x, c) + c(3) + x * c(slice(0, 8)); },
      [](T x, T c) { return matmul(x, matmul(c, c)) - matmul(x, c); },
      [](T x, T c) { return matmul(x, c) * T::arange(64) + sum(c, {0}); },
      [](T x, T c) { return matmul(x, c * 2.0) + max(c); },
      [](T x, T c) {
        return fori_loop(0, 3, x, [&](T, T y) { return matmul(y, c) - floor(matmul(y, c) / 8.0) * 8.0; });
      },
      [](T x, T c) {
        return cond(
            sum(x) > 0.0, [&](T y) { return matmul(y, c); }, [&](T y) { return y; }, x);
      },
      [](T x, T c) { return vmap([&](T row) { return matmul(row, c); })(x); },
      [](T x, T c) {
        return convolution(reshape(x, {1, 2, 4, 64}), reshape(c, {1, 1, 64, 64})) * T::arange(64);
      },
      [](T x, T c) {
        return convolution(reshape(x, {2, 4, 8, 8}), reshape(c, {2, 4, 8, 64}), {.padding = 1});
      },
      [](T x, T c) { return value_and_grad([&](T y) { return sum(square(matmul(y, c))); })(x).second[0]; },
      [](T x, T c) {
        return concat({matmul(x, c), c}, 0);
      },
  };
}

TEST_CASE("functions and graphs of a constant compute what eager mode does, and leave it as it is") {
  std::vector<double> numbers(64 * 64), given(8 * 64);
  for (std::size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<double>(i * i % 7) - 3;
  for (std::size_t i = 0; i < given.size(); ++i) given[i] = static_cast<double>(i * 5 % 11) - 4;
  const auto eagerly = programs<Eager>();
  const auto lazily = programs<Lazy>();
  using E = Tensor<Eager>;
  for (const DType dtype : {DType::f32, DType::f64}) {
    const Lazily c = Lazily::constant(Lazily::from(numbers, {64, 64}).astype(dtype));
    const Lazily x = Lazily::from(given, {8, 64}).astype(dtype), p = Lazily::placeholder({8, 64}, dtype);
    for (std::size_t i = 0; i < eagerly.size(); ++i) {
      CAPTURE(i);
      const std::vector<double> want =
          eagerly[i](E::from(given, {8, 64}).astype(dtype), E::from(numbers, {64, 64}).astype(dtype))
              .to_vector<double>();
      auto f = compile([&](Lazily each) { return lazily[i](each, c); });
      Graph graph{{.inputs = {p}, .outputs = {lazily[i](p, c)}}};
      Graph read = Graph::from_bytes(graph.to_bytes(), "constants");
      for (int run = 0; run < 3; ++run) {
        CHECK(f(x).to_vector<double>() == want);
        graph.set(p, x);
        graph.run();
        CHECK(graph.output(0).to_vector<double>() == want);
        read.set(read.inputs()[0], x);
        read.run();
        CHECK(read.output(0).to_vector<double>() == want);
        CHECK(lazily[i](x, c).to_vector<double>() == want);
      }
      CHECK(read.text() == graph.text());
      CHECK(c.to_vector<double>() == numbers);
    }
    CHECK(known(c * 2.0)->to_vector<double>()[5] == 2 * numbers[5]);
    CHECK(simplify(c * 1.0).to_vector<double>() == numbers);
  }
}

TEST_CASE("the copy that Tensor::from makes is held once by all graphs and functions that read it") {
  const std::vector<float> numbers = integers();
  std::optional<Lazily> c = Lazily::from(numbers, {width, width});
  const std::size_t before = allocated();  // with the plain contents
  auto f = compile([&](Lazily x) { return matmul(x, *c); });
  CHECK(f(Lazily::ones({16, width})).to_vector<float>()[7] == column_sum(numbers, 7));
  std::vector<Graph> graphs;
  const Lazily x = Lazily::placeholder({16, width});
  for (int i = 0; i < 3; ++i) graphs.emplace_back(GraphSpec{.inputs = {x}, .outputs = {matmul(x, *c)}});
  const auto run_all = [&] {
    for (Graph& graph : graphs) {
      graph.set(x, Lazily::full({16, width}, 2.0));
      graph.run();
      CHECK(graph.output(0).to_vector<float>()[5] == 2 * column_sum(numbers, 5));
      if (packs()) CHECK(allocated() < before + others);
    }
  };
  run_all();
  CHECK(c->to_vector<float>() == numbers);
  c.reset();
  run_all();
}

TEST_CASE("a constant that another tensor shares is released once that is gone") {
  const std::vector<float> numbers = integers();
  std::optional<Lazily> shared = Lazily::from(numbers, {width, width});
  const Lazily c = Lazily::constant(*shared);
  auto f = compile([&](Lazily x) { return matmul(x, c); });
  const std::size_t before = allocated();
  for (int i = 0; i < 3; ++i) CHECK(f(Lazily::ones({16, width})).to_vector<float>()[3] == column_sum(numbers, 3));
  if (packs()) CHECK(allocated() > before + bytes / 2);
  shared.reset();
  for (int i = 0; i < 8; ++i) CHECK(f(Lazily::ones({16, width})).to_vector<float>()[3] == column_sum(numbers, 3));
  if (packs()) CHECK(allocated() < before + others);
  CHECK(c.to_vector<float>() == numbers);
}

TEST_CASE("memory that the user lends to a constant is left alone") {
  const std::vector<float> numbers = integers();
  std::vector<float> lent = numbers;
  {
    const Lazily c = Lazily::constant(Lazily::borrow(lent.data(), {width, width}));
    auto f = compile([&](Lazily x) { return matmul(x, c); });
    CHECK(f(Lazily::ones({16, width})).to_vector<float>()[3] == column_sum(numbers, 3));
    CHECK(c.data<float>().data() == lent.data());
  }
  CHECK(lent == numbers);
}

TEST_CASE("a graph holds constants once whose tensors are gone, and those of variables that are gone") {
  const std::vector<float> numbers = integers();
  for (const bool variable : {false, true}) {
    CAPTURE(variable);
    const Lazily x = Lazily::placeholder({16, width});
    const std::size_t before = allocated();
    std::optional<Graph> graph;
    {
      Lazily product;
      {
        const Lazily c = variable ? Lazily::variable(Lazily::from(numbers, {width, width})) : constant_of(numbers);
        product = matmul(x, c);
      }
      graph.emplace(Graph{{.inputs = {x}, .outputs = {product}}});
    }
    CHECK(graph->variables().empty());
    const std::string text = graph->text();
    const std::vector<std::byte> file = graph->to_bytes();
    for (const float value : {1.0F, 2.0F}) {
      graph->set(x, Lazily::full({16, width}, value));
      graph->run();
      CHECK(graph->output(0).to_vector<float>()[7] == value * column_sum(numbers, 7));
    }
    if (packs()) CHECK(allocated() < before + bytes + others);
    CHECK(graph->to_bytes() == file);
    CHECK(graph->text() == text);
    CHECK(!graph->dot().empty());
    CHECK(!graph->html().empty());
    CHECK(graph->formula().find("constant") != std::string::npos);
    if (packs()) CHECK(allocated() < before + bytes + others);

    Graph other = graph->session();
    other.set(x, Lazily::full({16, width}, 3.0));
    other.run();
    CHECK(other.output(0).to_vector<float>()[8] == 3 * column_sum(numbers, 8));
    CHECK(other.to_bytes() == file);

    Graph read = Graph::from_bytes(file, "constants");
    const std::size_t with_file = allocated();
    for (int i = 0; i < 2; ++i) {
      read.set(read.inputs()[0], Lazily::ones({16, width}));
      read.run();
      CHECK(read.output(0).to_vector<float>()[9] == column_sum(numbers, 9));
    }
    if (packs()) CHECK(allocated() < with_file + others);
    CHECK(read.to_bytes() == file);
    graph.reset();
    CHECK(other.to_bytes() == file);
  }
}

TEST_CASE("two graphs and a function of one constant each read what it holds") {
  const std::vector<float> numbers = integers();
  const Lazily x = Lazily::placeholder({16, width}), c = constant_of(numbers);
  Graph first{{.inputs = {x}, .outputs = {matmul(x, c)}}}, second{{.inputs = {x}, .outputs = {matmul(x, c) * 2.0F}}};
  auto f = compile([&](Lazily y) { return matmul(y, c) * 3.0F; });
  for (int i = 0; i < 2; ++i) {
    for (Graph* graph : {&first, &second}) {
      graph->set(x, Lazily::ones({16, width}));
      graph->run();
      CHECK(graph->output(0).to_vector<float>()[4] == (graph == &first ? 1 : 2) * column_sum(numbers, 4));
    }
    CHECK(f(Lazily::ones({16, width})).to_vector<float>()[4] == 3 * column_sum(numbers, 4));
  }
  CHECK(first.to_bytes() != second.to_bytes());
  CHECK(c.to_vector<float>() == numbers);
}

TEST_CASE("threads compile and run functions of a constant while others read it") {
  const std::vector<float> numbers = integers();
  const Lazily c = constant_of(numbers);
  auto shared = compile([&](Lazily y) { return matmul(y, c); });
  shared(Lazily::ones({16, width})).to_vector<float>();
  std::vector<int> wrong(5, 0);
  std::vector<std::thread> threads;
  for (std::size_t t = 0; t < wrong.size(); ++t) {
    threads.emplace_back([&, t, own = shared.session()]() mutable {
      const Lazily x = Lazily::ones({16, width});
      for (int round = 0; round < 10; ++round) {
        if (t == 0) {
          auto f = compile([&](Lazily y) { return matmul(y, c); });
          if (f(x).to_vector<float>()[7] != column_sum(numbers, 7)) ++wrong[t];
        } else if (t == 1) {
          if (own(x).to_vector<float>()[7] != column_sum(numbers, 7)) ++wrong[t];
        } else if (t == 2) {
          if (c.to_vector<float>() != numbers) ++wrong[t];
        } else if (t == 3) {
          if (Lazily(c + 1.0F).to_vector<float>()[11] != numbers[11] + 1) ++wrong[t];
        } else {
          if (Lazily(transpose(c)).to_vector<float>()[1] != numbers[width]) ++wrong[t];
          (void)describe(c);
        }
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(wrong == std::vector<int>(5, 0));
  CHECK(c.to_vector<float>() == numbers);
}
