// Gradients of loops and branches in a graph beside those of eager mode's tape, at numbers where slopes are zeros of
// both signs.
#include <doctest/doctest.h>

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

/// What a body does: with or without a branch, and which rows it gives out.
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
std::vector<tyto::Tensor<M>> slopes(const Program& program, const Inputs& in) {
  using T = tyto::Tensor<M>;
  const auto of = [&](const T& carry, const T& weights, const T& stack) {
    return loss<M>(program, carry, weights, stack);
  };
  return tyto::value_and_grad(of, {0, 1, 2})(T::from(in.carry, {in.size}), T::from(in.weights, {in.size}),
                                             T::from(in.stack, {in.rows, in.size}))
      .second;
}

}  // namespace

TEST_CASE("slopes of loops and branches are eager mode's in every bit but the signs of zeros") {
  std::mt19937 random(5);
  for (unsigned trial = 0; trial < 300; ++trial) {
    CAPTURE(trial);
    const Inputs in(random);
    const Program program{trial % 2 == 1, random() % 3 == 0, trial % 3, static_cast<std::int64_t>(random() % 3)};
    const auto expected = slopes<tyto::Eager>(program, in);
    const auto recorded = slopes<tyto::Lazy>(program, in);
    tyto::Graph graph{{.outputs = recorded}, {.passes = "none"}};
    graph.run();
    // As numbers, so that 0 is -0; none is NaN.
    for (std::size_t i = 0; i < recorded.size(); ++i) {
      CHECK(graph.output(i).to_vector<double>() == expected[i].to_vector<double>());
    }
  }
}
