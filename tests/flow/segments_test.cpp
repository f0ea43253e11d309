// SPDX-License-Identifier: MIT
// Loops within a memory limit: run in segments, they give the bits that they give without a limit.
#include <doctest/doctest.h>

#include <functional>
#include <tyto/autodiff.hpp>
#include <tyto/flow.hpp>
#include <tyto/tyto.hpp>

namespace segments_test {

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
  tyto::seed(11);
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

TEST_CASE("every memory limit down to the least that segments promise is met") {
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

TEST_CASE("loops that read each other's results keep within a memory limit") {
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
}

namespace {

T dropped(const T& x) { return x * cast(T::bernoulli(x.shape(), {.probability = 0.5}), tyto::DType::f32); }

}  // namespace

TEST_CASE("loops that draw random numbers run in segments and draw the same ones") {
  for (const std::int64_t trips : {90, 97}) {
    for (const bool reverse : {false, true}) {
      CAPTURE(trips);
      CAPTURE(reverse);
      const auto drawing = [&](const List& in) {
        return tyto::scan(
                   [&](const T& c, const T& x) {
                     const T next = tanh(matmul(dropped(c), in[1]) + dropped(x));
                     return std::pair(next, next);
                   },
                   in[2], in[0], {.reverse = reverse})
            .first.sum();
      };
      check_within(drawing, some({{trips, 4, 32}, {32, 32}, {4, 32}}), {0.7, 0.4});
    }
  }
}

TEST_CASE("a limit does not change what a loop draws from run to run") {
  const List in = some({{80, 4, 32}, {32, 32}, {4, 32}});
  const auto runs = [&](std::size_t limit, std::size_t& bytes) {
    auto f = tyto::compile(
        [&](const T& factor) {
          const auto loss = [&](const T& by) {
            return tyto::scan(
                       [&](const T& c, const T& x) {
                         const T next = tanh(matmul(dropped(c), in[1]) + x);
                         return std::pair(next, next);
                       },
                       in[2], in[0])
                       .first.sum() *
                   by;
          };
          const auto [value, gradients] = tyto::value_and_grad(loss, in)(factor);
          return value + gradients[0].sum() + gradients[1].sum();
        },
        {.check_plan = true, .memory_limit = limit});
    tyto::seed(5);
    const Numbers list{f(T(1.0)).item<float>(), f(T(1.0)).item<float>(), f(T(1.0)).item<float>()};
    bytes = static_cast<std::size_t>(f.plan().height);
    return list;
  };
  std::size_t free = 0, limited = 0;
  const Numbers drawn = runs(0, free);
  CHECK(drawn[0] != drawn[1]);
  CHECK(drawn[1] != drawn[2]);
  CHECK(runs(free / 2, limited) == drawn);
  CHECK(limited <= free / 2);
}

TEST_CASE("loops inside of regions run in segments") {
  const auto inner = [](const T& weights, const T& rows) {
    return tyto::scan(
               [&](const T& c, const T& x) {
                 const T next = tanh(matmul(c, weights) + x);
                 return std::pair(next, List{});
               },
               T::zeros({4, 32}), rows)
        .first.sum();
  };
  const auto within = [&](const auto& program, std::initializer_list<double> shares) {
    const List in = some({{120, 4, 32}, {32, 32}});
    const auto outcome = [&](std::size_t limit, std::size_t& bytes) {
      auto f = tyto::compile([&](const T& w, const T& rows) { return program(w, rows); },
                             {.check_plan = true, .poison = true, .memory_limit = limit});
      const Numbers list = f(in[1], in[0]).template to_vector<double>();
      bytes = static_cast<std::size_t>(f.plan().height);
      return list;
    };
    std::size_t free = 0, limited = 0;
    const Numbers expected = outcome(0, free);
    for (const double share : shares) {
      CAPTURE(share);
      const auto limit = static_cast<std::size_t>(share * static_cast<double>(free));
      CHECK(outcome(limit, limited) == expected);
      CHECK(limited <= limit);
    }
  };
  SUBCASE("steps of descent in a loop") {
    within(
        [&](const T& w, const T& rows) {
          return tyto::fori_loop(0, 3, w, [&](const T&, const T& c) {
            return c - tyto::grad([&](const T& each) { return inner(each, rows); })(c) * 0.01;
          });
        },
        {0.7, 0.4});
  }
  SUBCASE("a gradient in an arm of a branch") {
    within(
        [&](const T& w, const T& rows) {
          return tyto::cond(
              rows.sum() > -1e6, [&] { return tyto::grad([&](const T& each) { return inner(each, rows); })(w); },
              [&] { return w; });
        },
        {0.7, 0.4});
  }
}

}  // namespace segments_test
