// SPDX-License-Identifier: MIT
// Gradients of random programs of loops and branches in a graph beside those of eager mode's tape: sums of
// floating-point numbers depend on their order, so both modes must add in one.
#include <doctest/doctest.h>

#include <functional>
#include <random>
#include <tyto/autodiff.hpp>
#include <tyto/flow.hpp>
#include <tyto/tyto.hpp>

namespace gradient_orders {

constexpr std::int64_t size = 3, rows = 4;

/// Choices that are the same in both modes, whatever is called how often.
class Choices {
 public:
  explicit Choices(std::uint64_t seed) : random_(seed) {}
  std::size_t below(std::size_t limit) { return random_() % limit; }
  bool one_in(std::size_t n) { return below(n) == 0; }
  std::uint64_t seed() { return random_(); }

 private:
  std::mt19937_64 random_;
};

/// Lines over tensors of one shape that use one another, loops and branches among them.
template <class M>
class Lines {
  using T = tyto::Tensor<M>;
  using List = std::vector<T>;

 public:
  Lines(std::uint64_t seed, List values, T stack, T count, int depth)
      : choices_(seed), values_(std::move(values)), stack_(std::move(stack)), count_(std::move(count)), depth_(depth) {}

  void write() {
    const std::size_t lines = 1 + choices_.below(depth_ == 0 ? 6 : 5);
    for (std::size_t i = 0; i < lines; ++i) {
      if (depth_ < 3 && choices_.one_in(depth_ == 0 ? 2 : 4)) region();
      else line();
    }
  }

  /// Of what there is, at the last lines more often; a value may be among them several times.
  List some(std::size_t count) {
    List list;
    for (std::size_t i = 0; i < count; ++i) list.push_back(any());
    return list;
  }
  const T& any() {
    const std::size_t recent = std::min<std::size_t>(values_.size(), 3);
    return values_[choices_.one_in(2) ? values_.size() - 1 - choices_.below(recent) : choices_.below(values_.size())];
  }

 private:
  void line() {
    const T a = any(), b = any();
    switch (choices_.below(6)) {
      case 0: return values_.push_back(a + b);
      case 1: return values_.push_back(tanh(a) * b);
      case 2: return values_.push_back(sin(a) - b);
      case 3: return values_.push_back(a * 0.7);
      case 4: return values_.push_back(a / (b * b + 1.5));
      default: return values_.push_back(tanh(a * b) + b);
    }
  }

  void region() {
    switch (choices_.below(6)) {
      case 0:
      case 1: return branch();
      case 2: return counted();
      case 3: return tested();
      default: return scanned();
    }
  }

  /// The results of a region; the same in all iterations.
  struct Body {
    std::uint64_t seed;
    std::size_t carries, stacked;
  };
  Body body() { return {choices_.seed(), 1 + choices_.below(3), choices_.below(4)}; }
  Lines inside(const Body& body, const List& given) {
    List values = values_;
    values.insert(values.end(), given.begin(), given.end());
    Lines inner(body.seed, std::move(values), stack_, count_, depth_ + 1);
    inner.write();
    return inner;
  }
  void take(const List& results) {
    for (const T& each : results) {
      if (choices_.below(4) != 0) values_.push_back(each);
    }
  }
  T whole(std::size_t number) { return T::full({}, static_cast<double>(number), tyto::DType::i64); }

  void branch() {
    std::vector<std::function<List()>> arms;
    const std::size_t count = 1 + choices_.below(3), results = 1 + choices_.below(3);
    for (std::size_t i = 0; i < count; ++i) {
      arms.push_back([this, body = body(), results] { return inside(body, {}).some(results); });
    }
    const T index = remainder(count_ + whole(choices_.below(3)), whole(count));
    take(choices_.one_in(2) && count == 2 ? tyto::cond(index == 0, arms[0], arms[1]) : switch_case(index, arms));
  }

  void counted() {
    const Body made = body();
    const std::size_t trips = choices_.below(5);
    const tyto::Count upper = choices_.one_in(2) ? tyto::Count(static_cast<std::int64_t>(trips)) : whole(trips);
    take(tyto::fori_loop(0, upper, some(made.carries),
                         [&](const T&, const List& carries) { return inside(made, carries).some(made.carries); },
                         {.most = 5}));
  }

  void tested() {
    const Body made = body();
    const std::size_t trips = choices_.below(5);
    using State = std::pair<T, List>;
    take(tyto::while_loop(
             State(whole(0), some(made.carries)), [&](const State& s) { return s.first < whole(trips); },
             [&](const State& s) { return State(s.first + 1, inside(made, s.second).some(made.carries)); }, {.most = 5})
             .second);
  }

  void scanned() {
    const Body made = body();
    const auto step = [&](const List& carries, const T& row) {
      List given = carries;
      given.push_back(row);
      Lines inner = inside(made, given);
      List next = inner.some(made.carries);
      return std::pair(std::move(next), inner.some(made.stacked));
    };
    List stacks;
    if (choices_.one_in(3)) {
      using State = std::pair<T, List>;
      const T stop = whole(choices_.below(6));
      const auto [last, ys, count] = tyto::scan_until(
          [&](const State& s, const T& row) {
            auto [next, own] = step(s.second, row);
            return std::tuple(State(s.first + 1, std::move(next)), own, s.first >= stop);
          },
          State(whole(0), some(made.carries)), stack_);
      take(last.second);
      stacks = ys;
    } else {
      const auto [last, ys] = tyto::scan(step, some(made.carries), stack_, {.reverse = choices_.one_in(2)});
      take(last);
      stacks = ys;
    }
    for (const T& each : stacks) {
      if (!choices_.one_in(3)) values_.push_back(each(static_cast<std::int64_t>(choices_.below(rows))));
      else if (choices_.one_in(2)) stack_ = stack_ + each * 0.25;
    }
  }

  Choices choices_;
  List values_;
  T stack_, count_;
  int depth_;
};

template <class M>
std::vector<tyto::Tensor<M>> gradients(std::uint64_t seed) {
  using T = tyto::Tensor<M>;
  Choices choices(seed);
  const auto numbers = [&](std::int64_t count) {
    std::vector<double> list;
    for (std::int64_t i = 0; i < count; ++i) list.push_back(static_cast<double>(choices.below(4001)) / 1000 - 2);
    return list;
  };
  const T x = T::from(numbers(size), {size}), y = T::from(numbers(size), {size});
  const T stack = T::from(numbers(rows * size), {rows, size});
  const T count = T::full({}, static_cast<double>(choices.below(4)), tyto::DType::i64);
  const std::uint64_t lines = choices.seed();
  const auto loss = [&](const T& a, const T& b, const T& rows_in) {
    Lines<M> program(lines, {a, b}, rows_in, count, 0);
    program.write();
    T total = T::full({size}, 0.0, tyto::DType::f64);
    for (const T& each : program.some(3)) total = total + each;
    return sum(total);
  };
  return tyto::value_and_grad(loss, {0, 1, 2})(x, y, stack).second;
}

}  // namespace gradient_orders

TEST_CASE("gradients of what regions, lines before and lines after them share are eager mode's in every bit") {
  using namespace gradient_orders;
  constexpr std::uint64_t programs = 400;
  for (std::uint64_t seed = 1; seed <= programs; ++seed) {
    CAPTURE(seed);
    const auto expected = gradients<tyto::Eager>(seed);
    const auto recorded = gradients<tyto::Lazy>(seed);
    tyto::Graph graph{{.outputs = recorded}, {.passes = "none"}};
    graph.run();
    // As numbers, so that 0 is -0; none is NaN.
    for (std::size_t i = 0; i < recorded.size(); ++i) {
      CAPTURE(i);
      CHECK(graph.output(i).to_vector<double>() == expected[i].to_vector<double>());
    }
  }
}
