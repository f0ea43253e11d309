// SPDX-License-Identifier: MIT
// Gradients of loops and branches in a graph beside those of eager mode's tape, at numbers where gradients are zeros of
// both signs.
#include <doctest/doctest.h>

#include <cmath>
#include <random>
#include <tyto/autodiff.hpp>
#include <tyto/flow.hpp>
#include <tyto/tyto.hpp>

namespace {

using Numbers = std::vector<double>;

struct Inputs {
  std::int64_t rows, size;
  Numbers carry, weights, stack;

  explicit Inputs(std::mt19937& random) : rows(1 + random() % 4), size(1 + random() % 4) {
    constexpr double pool[] = {0.0, -0.0, 0.5, -0.5, 8, -8, 1, 2, -3};
    const auto draw = [&](std::int64_t count) {
      Numbers numbers;
      for (std::int64_t i = 0; i < count; ++i) numbers.push_back(pool[random() % std::size(pool)]);
      return numbers;
    };
    carry = draw(size);
    weights = draw(size);
    stack = draw(rows * size);
  }
};

/// Kinds of body: with or without a branch, and the rows that it yields.
struct Program {
  bool branch, reverse;
  unsigned rows_out;
  std::int64_t first_number;
};

template <class M>
tyto::Tensor<M> loss(const Program& program, const tyto::Tensor<M>& carry, const tyto::Tensor<M>& weights,
                     const tyto::Tensor<M>& stack) {
  using T = tyto::Tensor<M>;
  using State = std::pair<T, T>;
  const auto [last, ys] = tyto::scan(
      [&](const State& state, const T& row) {
        const T c = state.first;
        const T mixed = tanh(c * weights + row);
        const T next = program.branch ? tyto::cond(
                                            remainder(state.second, 2) == 0, [&] { return mixed * weights; },
                                            [&] { return sin(c); })
                                      : mixed;
        const T y = program.rows_out == 0 ? next : program.rows_out == 1 ? c * next : sin(next) * weights;
        return std::pair(State(next, state.second + 1), y);
      },
      State(carry, T::full({}, static_cast<double>(program.first_number), tyto::DType::i64)), stack,
      {.reverse = program.reverse});
  return sum(last.first * weights) + sum(ys);
}

template <class M>
std::vector<tyto::Tensor<M>> gradients(const Program& program, const Inputs& in) {
  using T = tyto::Tensor<M>;
  const auto of = [&](const T& carry, const T& weights, const T& stack) {
    return loss<M>(program, carry, weights, stack);
  };
  return tyto::value_and_grad(of, {0, 1, 2})(T::from(in.carry, {in.size}), T::from(in.weights, {in.size}),
                                             T::from(in.stack, {in.rows, in.size}))
      .second;
}

}  // namespace

TEST_CASE("gradients of loops and branches are eager mode's in every bit but the signs of zeros") {
  std::mt19937 random(5);
  for (unsigned trial = 0; trial < 300; ++trial) {
    CAPTURE(trial);
    const Inputs in(random);
    const Program program{trial % 2 == 1, random() % 3 == 0, trial % 3, static_cast<std::int64_t>(random() % 3)};
    const auto expected = gradients<tyto::Eager>(program, in);
    const auto recorded = gradients<tyto::Lazy>(program, in);
    tyto::Graph graph{{.outputs = recorded}, {.passes = "none"}};
    graph.run();
    // As numbers, so that 0 is -0; none is NaN.
    for (std::size_t i = 0; i < recorded.size(); ++i) {
      CHECK(graph.output(i).to_vector<double>() == expected[i].to_vector<double>());
    }
  }
}

namespace {

/// The gradient at 0 of a loss of the root of x, whose own gradient is infinite there.
template <class M, class F>
double gradient_behind_root(const F& loss) {
  using T = tyto::Tensor<M>;
  const T gradient = tyto::grad([&](const T& x) { return sum(loss(sqrt(x), T::full({}, 2.0))); })(T::full({}, 0.0));
  if constexpr (std::is_same_v<M, tyto::Eager>) {
    return gradient.template item<double>();
  } else {
    tyto::Graph graph{{.outputs = {gradient}}, {.passes = "none"}};
    graph.run();
    return graph.output(0).template item<double>();
  }
}

struct Gradients {
  double eager, lazy;
};

template <class F>
Gradients gradients_behind_root(const F& loss) {
  return {gradient_behind_root<tyto::Eager>(loss), gradient_behind_root<tyto::Lazy>(loss)};
}

template <class T>
T whole(int number) {
  return T::full({}, static_cast<double>(number), tyto::DType::i64);
}

}  // namespace

TEST_CASE("a loop's gradient that adds up minus zeros is minus zero, as a sum of them is") {
  const auto gradient = []<class M>(M) {
    using T = tyto::Tensor<M>;
    return tyto::grad([](const T& w) {
      return tyto::fori_loop(0, 3, T::full({}, 1.0), [&](const T&, const T& c) { return c + w * -0.0; });
    })(T::full({}, 2.0));
  };
  const double eager = gradient(tyto::Eager()).item<double>();
  tyto::Graph graph{{.outputs = {gradient(tyto::Lazy())}}, {.passes = "none"}};
  graph.run();
  const double lazy = graph.output(0).item<double>();
  CHECK((eager == 0 && std::signbit(eager)));
  CHECK((lazy == 0 && std::signbit(lazy)));
}

TEST_CASE("operands that no arm and no iteration uses get no gradient, which would be zero times infinity") {
  SUBCASE("a value that arms only compare") {
    const Gradients gradients = gradients_behind_root([](const auto& root, const auto& w) {
      return tyto::cond(
          w > 1, [&] { return where(root > 1, w, w * 2); }, [&] { return w; });
    });
    CHECK(gradients.eager == 0);
    CHECK(gradients.lazy == 0);
  }
  SUBCASE("a value that iterations only compare") {
    const Gradients gradients = gradients_behind_root([](const auto& root, const auto& w) {
      return tyto::fori_loop(0, 3, w, [&](const auto&, const auto& c) { return where(root > c, c, c * 2); });
    });
    CHECK(gradients.eager == 0);
    CHECK(gradients.lazy == 0);
  }
  SUBCASE("a carry that the first iteration replaces") {
    const Gradients gradients = gradients_behind_root([](const auto& root, const auto& w) {
      return tyto::fori_loop(0, 3, root, [&](const auto&, const auto&) { return w * 2; });
    });
    CHECK(gradients.eager == 0);
    CHECK(gradients.lazy == 0);
  }
  SUBCASE("a carry that moves up while there are iterations") {
    for (const int trips : {0, 1, 2, 3, 5, 100}) {
      CAPTURE(trips);
      const Gradients gradients = gradients_behind_root([trips]<class T>(const T& root, const T& w) {
        const auto next = [&](const T&, const std::vector<T>& c) { return std::vector<T>{c[1] * 2, c[2], w}; };
        return tyto::fori_loop(0, trips, std::vector<T>{w, w, root}, next)[0];
      });
      CHECK(gradients.eager == (trips == 2 ? INFINITY : 0));
      CHECK(gradients.lazy == gradients.eager);
    }
  }
  SUBCASE("what is captured for a carry that nothing reads") {
    const Gradients gradients = gradients_behind_root([]<class T>(const T& root, const T& w) {
      const auto next = [&](const T&, const std::vector<T>& c) { return std::vector<T>{c[0] * 2, c[1] * root}; };
      return tyto::fori_loop(0, 3, std::vector<T>{w, w}, next)[0];
    });
    CHECK(gradients.eager == 0);
    CHECK(gradients.lazy == 0);
  }
}

TEST_CASE("a count that is known only when the loop runs leaves a gradient of zero where eager mode has none") {
  SUBCASE("an initial value that is replaced") {
    const Gradients gradients = gradients_behind_root([]<class T>(const T& root, const T& w) {
      return tyto::fori_loop(0, tyto::Count(whole<T>(2)), root, [&](const T&, const T&) { return w * 2; }, {.most = 4});
    });
    CHECK(gradients.eager == 0);
    CHECK(std::isnan(gradients.lazy));
  }
  SUBCASE("what a loop of no iterations would have used") {
    const Gradients gradients = gradients_behind_root([]<class T>(const T& root, const T& w) {
      return tyto::fori_loop(0, tyto::Count(whole<T>(0)), w, [&](const T&, const T& c) { return c * root; },
                             {.most = 4});
    });
    CHECK(gradients.eager == 0);
    CHECK(std::isnan(gradients.lazy));
  }
}
