// Loops within a memory limit: run in segments, they give the bits that they give without a limit.
#include <doctest/doctest.h>

#include <functional>
#include <tyto/autodiff.hpp>
#include <tyto/flow.hpp>
#include <tyto/tyto.hpp>

namespace {

using T = tyto::Tensor<tyto::Lazy>;
using List = std::vector<T>;
using Numbers = std::vector<double>;

struct Outcome {
  std::vector<Numbers> values;
  std::size_t bytes = 0;
  std::size_t unplanned = 0;
};

/// Of the variables, a number.
using Loss = std::function<T(const List&)>;

/// The loss and its gradients, twice.
Outcome run(const Loss& loss, const List& variables, std::size_t limit) {
  auto f = tyto::compile(
      [&](const T& factor) {
        return tyto::value_and_grad([&](const T& by) { return loss(variables) * by; }, variables)(factor);
      },
      {.check_plan = true, .poison = true, .memory_limit = limit});
  Outcome outcome;
  for (int round = 0; round < 2; ++round) {
    const auto [value, gradients] = f(T(1.0));
    outcome.values = {value.template to_vector<double>()};
    for (const T& gradient : gradients) outcome.values.push_back(gradient.to_vector<double>());
  }
  outcome.bytes = static_cast<std::size_t>(f.plan().height);
  outcome.unplanned = f.report().unplanned_allocations;
  return outcome;
}

/// Down to the given parts of what it needs without a limit.
void check_within(const Loss& loss, const List& variables, std::initializer_list<double> shares) {
  const Outcome free = run(loss, variables, 0);
  for (const double share : shares) {
    CAPTURE(share);
    const auto limit = static_cast<std::size_t>(share * static_cast<double>(free.bytes));
    const Outcome limited = run(loss, variables, limit);
    CHECK(limited.bytes <= limit);
    CHECK(limited.values == free.values);
    CHECK(limited.unplanned == 0);
  }
}

List some(std::initializer_list<tyto::Shape> shapes) {
  tyto::seed(3);
  List list;
  for (const tyto::Shape& shape : shapes) list.push_back(T::variable(T::normal(shape) * 0.3));
  return list;
}

}  // namespace

TEST_CASE("a recurrent network keeps within a tenth of its memory and gives the same bits") {
  const auto lstm = [](const List& in) {  // rows, weights of the input and of the state
    using State = std::pair<T, T>;
    const auto [last, outputs] = tyto::scan(
        [&](const State& state, const T& x) {
          const T gates = matmul(x, in[1]) + matmul(state.first, in[2]);
          const List part = split(gates, 4, 1);
          const T cell = sigmoid(part[0]) * state.second + sigmoid(part[1]) * tanh(part[2]);
          const T hidden = sigmoid(part[3]) * tanh(cell);
          return std::pair(State(hidden, cell), hidden(0, 0));
        },
        State(T::zeros({8, 16}), T::zeros({8, 16})), in[0]);
    return mean(square(outputs)) + (last.first * last.second).sum();
  };
  check_within(lstm, some({{400, 8, 4}, {4, 64}, {16, 64}}), {0.8, 0.5, 0.25, 0.1});
}

TEST_CASE("loops of every kind run in segments") {
  for (const std::int64_t trips : {64, 67}) {
    CAPTURE(trips);
    for (const bool reverse : {false, true}) {
      CAPTURE(reverse);
      const auto scanned = [&](const List& in) {
        const auto [last, rows] = tyto::scan(
            [&](const T& c, const T& x) {
              const T next = tanh(matmul(c, in[1]) + x);
              return std::pair(next, next * 2.0);
            },
            in[2], in[0], {.reverse = reverse});
        return (rows * in[0]).sum() + last.sum();
      };
      check_within(scanned, some({{trips, 4, 8}, {8, 8}, {4, 8}}), {0.85, 0.75});
    }
    const auto numbered = [&](const List& in) {
      const T last = tyto::fori_loop(0, trips, in[1], [&](const T& i, const T& c) {
        return sin(matmul(c, in[0]) + cast(i, tyto::DType::f32) * 0.1);
      });
      return last.sum();
    };
    check_within(numbered, some({{8, 8}, {16, 8}}), {0.7, 0.4});
  }
}

TEST_CASE("a limit that a part of the iterations in segments meets is met") {
  const auto small = [](const List& in) {
    return tyto::fori_loop(0, 100, in[0], [&](const T&, const T& c) { return sin(c) * in[0]; }).sum();
  };
  const List inputs = some({{112}});
  // As little as is promised, and every limit from there on.
  std::size_t least = 0;
  const Outcome free = run(small, inputs, 0);
  for (std::size_t limit = free.bytes - 64; least == 0; limit -= 64) {
    try {
      const Outcome limited = run(small, inputs, limit);
      CHECK(limited.bytes <= limit);
      CHECK(limited.values == free.values);
    } catch (const tyto::DeviceError& error) {
      const std::string message = error.what();
      least = std::stoul(message.substr(message.rfind(' ')));
      CAPTURE(message);
      CHECK(least > limit);
      CHECK(least <= limit + 64);
      CHECK(run(small, inputs, least).bytes <= least);
    }
  }
}

TEST_CASE("loops that others read, draw or follow keep within a limit as they can") {
  const auto both = [](const List& in) {
    const auto step = [&](const T& c, const T& x) {
      const T next = tanh(matmul(c, in[1]) + x);
      return std::pair(next, next);
    };
    const auto [first, rows] = tyto::scan(step, in[2], in[0]);
    const auto [second, more] = tyto::scan(step, first, rows);
    return (more * rows).sum() + second.sum();
  };
  check_within(both, some({{90, 4, 8}, {8, 8}, {4, 8}}), {0.9});
  const auto drawing = [](const List& in) {
    return tyto::scan(
               [&](const T& c, const T& x) {
                 const T kept = cast(T::bernoulli({4, 8}, {.probability = 0.5}), tyto::DType::f32);
                 const T next = tanh(matmul(c * kept, in[1]) + x);
                 return std::pair(next, next);
               },
               in[2], in[0])
        .first.sum();
  };
  const List inputs = some({{90, 4, 8}, {8, 8}, {4, 8}});
  const Outcome free = run(drawing, inputs, 0);
  CHECK_THROWS_WITH_AS(run(drawing, inputs, free.bytes / 4), doctest::Contains("cannot be met"), tyto::DeviceError);
}
