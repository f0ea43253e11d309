// SPDX-License-Identifier: MIT
// Assignments to names outside of a compiled function: no state keeps them, so the trace refuses those that it can
// detect.
#include <doctest/doctest.h>

#include <memory>
#include <tyto/tyto.hpp>
#include <utility>

#include "tests/support/both_modes.hpp"
#include "tests/support/numbers.hpp"

using namespace tyto;
using tyto_test::Numbers;
using tyto_test::numbers;

namespace {

/// Half of the squared distance of w from 3, by which the derivative is w - 3 and a step at rate 0.5 halves the rest.
template <class T>
T distance(const T& w, const T& x) {
  return sum(square(w - 3.0 * x)) / 2.0;
}

constexpr const char* rebound =
    "compile: 'w' was rebound inside a compiled function, which leaves the state as it was; write w -= ... or "
    "assign(w, ...) instead of w = ...";
constexpr const char* no_variable =
    "value_and_grad: the parameters must be variables (Tensor::variable); `w = ...` makes a plain tensor of such a "
    "name: write w -= ... or assign(w, ...)";

}  // namespace

BOTH_MODES("w = w - rate * g in a compiled step is refused, by name and with the cure") {
  using T = Tensor<Mode>;
  T w = T::variable(0.0, "w");
  const T one = 1.0;
  auto step = compile([&](T x) {
    auto [loss, g] = value_and_grad([&](T in) { return distance(w, in); }, {w})(x);
    w = w - 0.5 * g[0];
    return loss;
  });
  if constexpr (std::is_same_v<Mode, Lazy>) {
    CHECK_THROWS_WITH_AS(step(one), rebound, GraphError);
  } else {
    CHECK(step(one).template item<double>() == 4.5);
  }
  // w is a plain tensor now.
  CHECK_THROWS_WITH_AS(step(one), no_variable, GraphError);
}

BOTH_MODES("w -= rate * g and assign(w, ...) in a compiled step train") {
  using T = Tensor<Mode>;
  T w = T::variable(0.0, "w"), v = T::variable(0.0, "v");
  auto step = compile([&](T x) {
    auto [loss, g] = value_and_grad([&](T in) { return distance(w, in) + distance(v, in); }, {w, v})(x);
    w -= 0.5 * g[0];
    assign(v, v - 0.5 * g[1]);
    return loss;
  });
  Numbers losses;
  for (int i = 0; i < 3; ++i) losses.push_back(step(T(1.0)).template item<double>());
  CHECK(losses == Numbers{9, 2.25, 0.5625});
  CHECK(numbers(w) == Numbers{2.625});
  CHECK(numbers(v) == Numbers{2.625});
}

TEST_CASE("a rebound state is refused though another name from outside has the same new value") {
  using T = Tensor<Lazy>;
  for (const bool state_first : {true, false}) {
    T w = T::variable(0.0, "w"), last = 0.0;
    auto step = compile([&](T x) {
      const T next = w - 0.5 * x;
      if (state_first) w = next;
      last = next;
      if (!state_first) w = next;
      return sum(x);
    });
    CHECK_THROWS_WITH_AS(step(T(1.0)), rebound, GraphError);
  }
}

TEST_CASE("a state that a list holds as well is refused all the same, and so is one without a name") {
  using T = Tensor<Lazy>;
  T w = T::variable(0.0, "w"), unnamed = T::variable(0.0);
  const std::vector<T> parameters{w, unnamed};
  auto step = compile([&](T x) {
    auto [loss, g] = value_and_grad([&](T in) { return distance(w, in) + distance(unnamed, in); }, parameters)(x);
    w = w - 0.5 * g[0];
    return loss;
  });
  CHECK_THROWS_WITH_AS(step(T(1.0)), rebound, GraphError);
  auto other = compile([&](T x) {
    unnamed = unnamed * x;
    return x;
  });
  CHECK_THROWS_WITH_AS(other(T(1.0)), doctest::Contains("write w -= ... or assign(w, ...) instead of w = ..."),
                       GraphError);
}

TEST_CASE("elements of a list and members of an object are names as well") {
  using T = Tensor<Lazy>;
  struct Model {
    T w = T::variable(1.0, "w");
  } model;
  std::vector<T> list{model.w};
  CHECK_THROWS_WITH_AS(compile([&](T x) {
                         list[0] = list[0] * x;
                         return x;
                       })(T(2.0)),
                       rebound, GraphError);
  CHECK_THROWS_WITH_AS(compile([&](T x) {
                         model.w = (model.w + x) * 2.0;
                         return x;
                       })(T(2.0)),
                       rebound, GraphError);
}

BOTH_MODES(
    "a plain tensor that accumulates from call to call is refused in lazy mode, where later calls would not see it") {
  using T = Tensor<Mode>;
  T total = T::zeros(2);
  auto add_up = compile([&](T x) {
    total = total + x;
    return total;
  });
  if constexpr (std::is_same_v<Mode, Lazy>) {
    CHECK_THROWS_WITH_AS(
        add_up(T::ones(2)),
        "compile: a tensor of shape (2,) from outside was rebound inside a compiled function, whose "
        "later calls would not see its new value; make it a Tensor::variable or Tensor::persistent and "
        "write x += ... or assign(x, ...), return the value, or compute it before the first call",
        GraphError);
  } else {
    CHECK(numbers(add_up(T::ones(2))) == Numbers{1, 1});
    CHECK(numbers(add_up(T::ones(2))) == Numbers{2, 2});
  }
}

BOTH_MODES("numbers from outside that a compiled function rebinds are refused in lazy mode") {
  using T = Tensor<Mode>;
  const T x = T{1.0, 3.0};
  const auto check = [&](double first, const Numbers& expected, const auto& change) {
    T number = first;
    auto f = compile([&](T in) {
      change(number, in);
      return sum(number + 0.0 * in) / 2.0;
    });
    if constexpr (std::is_same_v<Mode, Lazy>) {
      CHECK_THROWS_WITH_AS(f(x), doctest::Contains("compile: a tensor of shape () from outside was rebound"),
                           GraphError);
    } else {
      Numbers found;
      for (int i = 0; i < 3; ++i) found.push_back(f(x).template item<double>());
      CHECK(found == expected);
    }
  };
  check(0.0, {4, 8, 12}, [](T& total, const T& in) { total = total + sum(in); });
  check(0.0, {4, 8, 12}, [](T& total, const T& in) { total += sum(in); });
  check(8.0, {4, 2, 1}, [](T& rate, const T&) { rate *= 0.5; });
  check(1.0, {-1, 1, -1}, [](T& sign, const T&) { sign = -sign; });
  check(0, {1, 2, 3}, [](T& count, const T&) { count = count + 1; });
  check(0.0, {4, 8, 12}, [](T& total, const T& in) { total = sum(total.reshape({1}) + sum(in)); });
  check(0.0, {4, 8, 12}, [](T& total, const T& in) { std::exchange(total, total + sum(in)); });
  check(0.0, {4, 8, 12}, [](T& total, const T& in) {
    const T before = std::move(total);
    total = before + sum(in);
  });
  T w = T::variable(1.0, "w");
  auto f = compile([&](T in) { return std::exchange(w, w - in); });
  if constexpr (std::is_same_v<Mode, Lazy>) CHECK_THROWS_WITH_AS(f(T(1.0)), rebound, GraphError);
  else CHECK(numbers(f(T(1.0))) == Numbers{1});
}

BOTH_MODES(
    "a plain tensor that counts without an argument is refused in lazy mode, where later calls would not count") {
  using T = Tensor<Mode>;
  T count = T::zeros(2);
  auto f = compile([&](T x) {
    count = count + 1.0;
    return x * count;
  });
  if constexpr (std::is_same_v<Mode, Lazy>) {
    CHECK_THROWS_WITH_AS(f(T::ones(2)), doctest::Contains("a tensor of shape (2,) from outside was rebound"),
                         GraphError);
  } else {
    for (const double expected : {1, 2}) CHECK(numbers(f(T::ones(2))) == Numbers{expected, expected});
  }
}

BOTH_MODES("a compiled function's own numbers may be equal to those from outside") {
  using T = Tensor<Mode>;
  const T x = T{1.0, 3.0};
  T zero = 0.0, half = 0.5, hidden = 0.0, typed = T(0.0).astype(DType::f32), table = T::zeros(2);
  auto inner = compile([&](T in) {
    T total = 0.0;
    for (int i = 0; i < 2; ++i) total = total + half * sum(in);
    return total + zero;
  });
  auto f = compile([&](T in) {
    T total = 0.0, rate = half, from_zero = zero, grown = T(0.0).astype(DType::f32);
    hidden = 0.0;
    typed = T(0.0).astype(DType::f32);
    table(0) = 1.0;
    table(1) = 2.0;
    for (int i = 0; i < 3; ++i) {
      total += sum(in);
      rate *= 0.5;
      from_zero = from_zero + rate;
      grown = grown + half;
      hidden = hidden + total;
      typed = typed + total;
    }
    const T looped = fori_loop(0, 3, zero, [&](T, T sum_so_far) {
      T step = half;
      step = step + half;
      return sum_so_far + step * zero + 1.0;
    });
    const T found = while_loop(
        T(1.0), [&](T y) { return y < 10.0 + zero; }, [&](T y) { return y / half; }, {.most = 9});
    const T rows = vmap([&](T row) {
      T sum_so_far = 0.0;
      sum_so_far = sum_so_far + row * half;
      return sum_so_far;
    })(in);
    const auto slope = grad([&](T v) {
      T loss = 0.0;
      loss += half * sum(square(v));
      return loss;
    })(in);
    return stack(std::vector<T>{total, 64.0 * rate, 16.0 * from_zero, grown, hidden, typed, looped, found, sum(rows),
                                sum(slope), inner(in), sum(in * table)});
  });
  for (int i = 0; i < 2; ++i) CHECK(numbers(f(x)) == Numbers{12, 4, 7, 1.5, 24, 24, 3, 16, 2, 4, 4, 7});
  CHECK(zero.template item<double>() == 0);
  CHECK(half.template item<double>() == 0.5);
}

BOTH_MODES("a layer may make its constants in the first call, which is a compiled one") {
  using T = Tensor<Mode>;
  struct Scaled {
    T scale, table;
    double factor = 3;
    T operator()(const T& x) {
      if (!scale.defined()) {
        scale = 1.0;
        scale = scale / factor;
        table = T::zeros(2);
        for (int i = 0; i < 2; ++i) table(i) = scale * (i + 1);
      }
      return x * table / scale;
    }
  } layer;
  auto f = compile([&](T x) { return layer(x); });
  for (int i = 0; i < 2; ++i) CHECK(numbers(f(T{1.0, 3.0})) == Numbers{1, 6});
  CHECK(numbers(f(T::ones({3, 2}))) == Numbers{1, 2, 1, 2, 1, 2});
}

BOTH_MODES("the function's own variables may begin with a state or a value from outside") {
  using T = Tensor<Mode>;
  const T w = T::variable(2.0, "w"), start = T::ones(2);
  T kept;
  auto f = compile([&](T x) {
    T v = w;
    v = v * x;
    T sum_so_far = start;
    for (int i = 0; i < 3; ++i) sum_so_far = sum_so_far + v;
    kept = sum_so_far;  // a look at what was computed
    std::vector<T> list{w, start};
    list[0] = list[0] * x;
    list[1] = list[1] + x;
    assign(w, list[0]);
    return sum_so_far + list[1];
  });
  CHECK(numbers(f(T(3.0))) == Numbers{23, 23});
  CHECK(numbers(w) == Numbers{6});
  CHECK(numbers(f(T(3.0))) == Numbers{59, 59});
}

BOTH_MODES("values kept for show are no error, whatever the name held before") {
  using T = Tensor<Mode>;
  struct Network {
    T last, shown = T::zeros(1), log_of_first;
    std::vector<T> all_of_them = {};
    T operator()(const T& x) {
      last = x * 2.0;
      shown = exp(last);
      all_of_them.push_back(shown);
      return last + 1.0;
    }
  } network;
  CHECK(numbers(network(T{1.0, 2.0})) == Numbers{3, 5});  // plainly, so that the names hold values
  auto f = compile([&](T x) { return network(x); });
  CHECK(numbers(f(T{1.0, 2.0})) == Numbers{3, 5});
  CHECK(numbers(f(T{1.0, 2.0, 3.0})) == Numbers{3, 5, 7});  // traced again over what the first trace left
  CHECK(numbers(f(T{2.0, 2.0})) == Numbers{5, 5});
}

BOTH_MODES("a member that begins anew in each call is no error") {
  using T = Tensor<Mode>;
  struct Cell {
    T hidden = T::ones(2);
    T run(const T& x) {
      hidden = T::zeros(2);
      for (int i = 0; i < 3; ++i) hidden = 0.5 * hidden + x;
      return hidden;
    }
  } cell;
  auto f = compile([&](T x) { return cell.run(x); });
  for (int i = 0; i < 2; ++i) CHECK(numbers(f(T{4.0, 8.0})) == Numbers{7, 14});
}

BOTH_MODES("names that a compiled function exchanges are refused in lazy mode, where later calls would not see it") {
  using T = Tensor<Mode>;
  T w = T::variable(1.0, "w"), v = T::variable(2.0, "v"), now = T::full({2}, 3.0), last = T::zeros(2);
  std::vector<T> queue{T::full({2}, 4.0), T::full({2}, 5.0), T::full({2}, 6.0)};
  auto states = compile([&](T x) {
    std::swap(v, w);
    return v * x;
  });
  auto by_hand = compile([&](T x) {
    const T before = w;
    w = v;
    v = before;
    return v * x;
  });
  auto plain = compile([&](T x) {
    std::swap(now, last);
    return now * x;
  });
  auto taken = compile([&](T x) {
    const T first = queue[0];
    queue.erase(queue.begin());
    return first * x;
  });
  if constexpr (std::is_same_v<Mode, Lazy>) {
    CHECK_THROWS_WITH_AS(states(T(1.0)), doctest::Contains("or assign(v, ...) instead of std::swap"), GraphError);
    std::swap(v, w);  // as they were
    CHECK_THROWS_WITH_AS(by_hand(T(1.0)), rebound, GraphError);
    const auto of_shape = doctest::Contains("compile: a tensor of shape (2,) from outside was rebound");
    CHECK_THROWS_WITH_AS(plain(T(1.0)), of_shape, GraphError);
    CHECK_THROWS_WITH_AS(taken(T(1.0)), of_shape, GraphError);
  } else {
    for (const double expected : {1, 2, 1}) CHECK(states(T(1.0)).template item<double>() == expected);
    for (const double expected : {2, 1}) CHECK(by_hand(T(1.0)).template item<double>() == expected);
    for (const double expected : {0, 3}) CHECK(numbers(plain(T(1.0))) == Numbers{expected, expected});
    for (const double expected : {4, 5}) CHECK(numbers(taken(T(1.0))) == Numbers{expected, expected});
  }
}

BOTH_MODES("a name from outside may step over states, where each call does so again") {
  using T = Tensor<Mode>;
  const T w = T::variable(3.0, "w"), v = T::variable(4.0, "v");
  T current, first = w;
  auto f = compile([&](T x) {
    for (const T& each : {w, v}) {
      current = each;
      first = each;
      x = x * current;
    }
    return x * first;
  });
  for (int i = 0; i < 3; ++i) CHECK(f(T(2.0)).template item<double>() == 96);
  T taken = v;
  auto moved = compile([&](T x) {
    first = std::move(taken);
    taken = w;
    return first * taken * x;
  });
  if constexpr (std::is_same_v<Mode, Lazy>) {
    first = w;
    CHECK_THROWS_WITH_AS(moved(T(1.0)), doctest::Contains("was rebound inside a compiled function"), GraphError);
  } else {
    CHECK(moved(T(1.0)).template item<double>() == 12);
    CHECK(moved(T(1.0)).template item<double>() == 9);
  }
}

BOTH_MODES("states may be exchanged, and made, inside of a compiled function") {
  using T = Tensor<Mode>;
  T a = T::variable(1.0, "a"), b = T::variable(2.0, "b"), made;
  auto f = compile([&](T x) {
    std::swap(a, b);
    std::swap(a, b);
    return a * x + b;
  });
  CHECK(numbers(f(T(10.0))) == Numbers{12});
}

BOTH_MODES("an object that the function makes may begin with a state, and be looked at from outside") {
  using T = Tensor<Mode>;
  const T w = T::variable(2.0, "w");
  struct Cell {
    T hidden;
  };
  T shown = T::zeros(1);
  auto f = compile([&](T x) {
    const auto cell = std::make_unique<Cell>(Cell{w});
    cell->hidden = cell->hidden * x;
    shown = cell->hidden;
    return cell->hidden + 1.0;
  });
  CHECK(numbers(f(T(3.0))) == Numbers{7});
  CHECK(numbers(w) == Numbers{2});
}

BOTH_MODES("a name that a compiled function sets from outside first begins anew in each call") {
  using T = Tensor<Mode>;
  const T zero(0.0), other = T{1.0, 2.0};
  T total = zero, of_two = other, last(7.0);
  auto f = compile([&](T x) {
    total = zero;
    total += sum(x);
    of_two = other;
    of_two = of_two * x;
    last = zero;
    last = last + total;
    return total + sum(of_two) + last;
  });
  for (int call = 0; call < 3; ++call) CHECK(f(T{1.0, 1.0}).template item<float>() == 7);
}

BOTH_MODES("a tensor from outside may be given the type and shape that a compiled function needs") {
  using T = Tensor<Mode>;
  T table = T{1.0, 2.0};
  auto f = compile([&](T x) {
    if (table.dtype() != x.dtype()) table = table.astype(x.dtype());
    table = table.reshape({2, 1});
    return sum(table * x);
  });
  const T x = T::ones({3}, DType::f64);
  for (int call = 0; call < 3; ++call) CHECK(f(x).template item<double>() == 9);
}

TEST_CASE("reading a name that a trace assigned to is an error") {
  using T = Tensor<Lazy>;
  const T w = T::variable(1.0, "w");
  T seen;
  auto f = compile([&](T) {
    seen = w * 2.0;
    return w + 1.0;
  });
  CHECK(numbers(f(T(1.0))) == Numbers{2});
  CHECK_THROWS_WITH_AS(
      seen.to_string(),
      "a tensor made while a function or the body of a loop or branch was recorded is used outside of it; return it",
      GraphError);
}
