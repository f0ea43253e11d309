// SPDX-License-Identifier: MIT
// vmap of loops and branches under gradients of every order, against the same lines written out, example by example.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <string>
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>
#include <utility>
#include <vector>

#include "tests/support/both_modes.hpp"
#include "tests/support/numbers.hpp"

using namespace tyto;

namespace vmap_regions {

using tyto_test::doubles;
using tyto_test::Numbers;
using tyto_test::numbers;

template <class T>
using Function = std::function<T(const T&)>;

/// A function of three numbers by region operators, and the same one without them.
template <class T>
struct Program {
  std::string name;
  Function<T> regions, written_out;
};

template <class T>
T number(double value) {
  return T::full({}, value, DType::f64);
}

template <class T>
std::vector<Program<T>> programs() {
  std::vector<Program<T>> list;
  list.push_back({"fori_loop",
                  [](const T& a) { return sum(fori_loop(0, 2, a, [](const T&, const T& c) { return c * c; })); },
                  [](const T& a) { return sum(a * a * (a * a)); }});
  list.push_back({"fori_loop that counts to a tensor",
                  [](const T& a) {
                    const T count = sum(a > 0.15).astype(DType::i64);
                    return sum(
                        fori_loop(0, count, a, [](const T& i, const T& c) { return sin(c) + i * 0.5; }, {.most = 4}));
                  },
                  [](const T& a) {
                    T c = a;
                    const auto count = sum(a > 0.15).template item<std::int64_t>();
                    for (std::int64_t i = 0; i < count; ++i) c = sin(c) + static_cast<double>(i) * 0.5;
                    return sum(c);
                  }});
  list.push_back({"while_loop",
                  [](const T& a) {
                    return sum(while_loop(
                        a, [](const T& c) { return sum(c * c) < 4.0; },
                        [](const T& c) { return c * 1.5 + c * c * 0.2; }, {.most = 9}));
                  },
                  [](const T& a) {
                    T c = a;
                    while (sum(c * c).template item<double>() < 4.0) c = c * 1.5 + c * c * 0.2;
                    return sum(c);
                  }});
  const auto step = [](const T& c, const T& q) {
    const T next = tanh(c + q * c);
    return std::pair(next, next * q);
  };
  const auto by_rows = [step](const T& a, bool reverse) {
    T c = number<T>(0.5), total = number<T>(0);
    for (std::int64_t i = 0; i < 3; ++i) {
      const auto [next, y] = step(c, a(reverse ? 2 - i : i));
      c = next;
      total = total + sin(y);
    }
    return total + c;
  };
  for (const bool reverse : {false, true}) {
    list.push_back({reverse ? "scan in reverse" : "scan",
                    [step, reverse](const T& a) {
                      const auto [last, ys] = scan(step, number<T>(0.5), a, {.reverse = reverse});
                      return sum(sin(ys)) + last;
                    },
                    [by_rows, reverse](const T& a) { return by_rows(a, reverse); }});
  }
  list.push_back({"scan_until",
                  [](const T& a) {
                    const auto found = scan_until(
                        [](const T& c, const T& q) {
                          const T next = c + q * q;
                          return std::tuple(next, next * q, next > 0.2);
                        },
                        number<T>(0.1), a);
                    return sum(std::get<1>(found)) + std::get<0>(found);
                  },
                  [](const T& a) {
                    T c = number<T>(0.1), total = number<T>(0);
                    for (std::int64_t i = 0; i < 3; ++i) {
                      c = c + a(i) * a(i);
                      total = total + c * a(i);
                      if (c.template item<double>() > 0.2) break;
                    }
                    return total + c;
                  }});
  list.push_back(
      {"fold",
       [](const T& a) { return fold(a, 0, number<T>(0), [](const T& s, const T& e) { return s * 0.5 + e * e * e; }); },
       [](const T& a) { return power(a(0), 3.0) * 0.25 + power(a(1), 3.0) * 0.5 + power(a(2), 3.0); }});
  list.push_back({"cond",
                  [](const T& a) {
                    return sum(cond(
                        sum(a) > 1.0, [](const T& b) { return b * b * b; }, [](const T& b) { return sin(b); }, a));
                  },
                  [](const T& a) { return sum(a).template item<double>() > 1.0 ? sum(a * a * a) : sum(sin(a)); }});
  list.push_back({"switch_case",
                  [](const T& a) {
                    const std::vector<Function<T>> arms{[](const T& b) { return sin(b); },
                                                        [](const T& b) { return b * b; },
                                                        [](const T& b) { return b * b * b; }};
                    return sum(switch_case(sum(a > 0.15), arms, a));
                  },
                  [](const T& a) {
                    const auto arm = sum(a > 0.15).template item<std::int64_t>();
                    return sum(arm == 0 ? sin(a) : arm == 1 ? a * a : a * a * a);
                  }});
  list.push_back({"a loop within a branch within a scan",
                  [](const T& a) {
                    const auto [last, ys] = scan(
                        [&](const T& c, const T& q) {
                          const T next = cond(
                              q > 0.0,
                              [&] { return fori_loop(0, 2, c, [&](const T&, const T& v) { return v * v + q; }); },
                              [&] { return c * q; });
                          return std::pair(next, next * c);
                        },
                        sum(a), a);
                    return last + sum(ys);
                  },
                  [](const T& a) {
                    T c = sum(a), total = number<T>(0);
                    for (std::int64_t i = 0; i < 3; ++i) {
                      const T q = a(i);
                      T next = c * q;
                      if (q.template item<double>() > 0) {
                        const T once = c * c + q;
                        next = once * once + q;
                      }
                      total = total + next * c;
                      c = next;
                    }
                    return total + c;
                  }});
  return list;
}

template <class T>
bool close(const T& got, const T& want) {
  return got.shape() == want.shape() && allclose(got, want, 1e-10, 1e-10);
}

/// f on each example, and vmap's way of doing that.
template <class T>
T one_by_one(const Function<T>& f, const T& x) {
  std::vector<T> each;
  for (std::int64_t i = 0; i < x.shape()[0]; ++i) each.push_back(f(T(x(i))));
  return stack(each);
}

const Numbers examples{0.1, 0.2, 0.3, -0.4, 0.5, 1.0};

BOTH_MODES("gradients of every order go through vmap into loops and branches") {
  using T = Tensor<Mode>;
  const T x = doubles<T>(examples, {2, 3}), along = doubles<T>({1.0, -0.5, 2.0, 0.3, 0.7, -1.1}, {2, 3});
  for (const Program<T>& program : programs<T>()) {
    CAPTURE(program.name);
    const Function<T> together = [&](const T& q) { return T(vmap(program.regions)(q)); };
    const Function<T> apart = [&](const T& q) { return one_by_one<T>(program.written_out, q); };
    CHECK(close(together(x), apart(x)));
    // First order, and second in both nestings.
    const auto first = [](const Function<T>& f) {
      return Function<T>([f](const T& q) { return T(grad([&](const T& u) { return sum(sin(f(u))); })(q)); });
    };
    const auto second = [&](const Function<T>& f) {
      return Function<T>(
          [f = first(f)](const T& q) { return T(grad([&](const T& u) { return sum(square(f(u))); })(q)); });
    };
    CHECK(close(first(together)(x), first(apart)(x)));
    CHECK(close(second(together)(x), second(apart)(x)));
    CHECK(close(T(compile(first(together))(x)), first(apart)(x)));
    CHECK(close(T(compile(second(together))(x)), second(apart)(x)));
    const auto each_own = [&](const T& q) { return T(vmap(first(program.regions))(q)); };
    CHECK(close(each_own(x), one_by_one<T>(first(program.written_out), x)));
    CHECK(close(T(grad([&](const T& q) { return sum(square(each_own(q))); })(x)),
                T(grad([&](const T& q) { return sum(square(one_by_one<T>(first(program.written_out), q))); })(x))));
    // The gradient within another vmap, and outside of two.
    const T wide = stack(std::vector<T>{x, x * 1.5});
    CHECK(close(T(vmap(first(together))(wide)), one_by_one<T>(first(apart), wide)));
    const Function<T> twice = [&](const T& q) { return T(vmap(together)(q)); };
    const Function<T> twice_apart = [&](const T& q) { return one_by_one<T>(apart, q); };
    CHECK(close(first(twice)(wide), first(twice_apart)(wide)));
    // Forward.
    const auto forward = [&](const Function<T>& f) {
      return T(jvp([&](const std::vector<T>& q) { return f(q[0]); }, std::vector<T>{x}, std::vector<T>{along}).second);
    };
    CHECK(close(forward(together), forward(apart)));
  }
}

BOTH_MODES("the gradient of a vmapped power by a loop is 4 q^3, its own 12 q^2, and eager ones are computed") {
  using T = Tensor<Mode>;
  const T x{0.5, 1.5};
  const auto loss = [](const T& q) {
    return sum(vmap([](const T& a) { return fori_loop(0, 2, a, [](const T&, const T& c) { return c * c; }); })(q));
  };
  CHECK(numbers(grad(loss)(x)) == Numbers{0.5, 13.5});
  CHECK(numbers(compile([&](const T& q) { return grad(loss)(q); })(x)) == Numbers{0.5, 13.5});
  CHECK(numbers(grad([&](const T& q) { return sum(grad(loss)(q)); })(x)) == Numbers{3, 27});
  const auto along = [](const T& q, std::int64_t axis) {
    return sum(apply_along_axis(
        [](const T& a) { return fori_loop(0, 2, a, [](const T&, const T& c) { return c * c; }); }, q, axis));
  };
  const T matrix{{0.5, 1.0}, {1.5, -1.0}};
  for (const std::int64_t axis : {0, 1}) {
    CHECK(numbers(grad([&](const T& q) { return along(q, axis); })(matrix)) == Numbers{0.5, 4, 13.5, -4});
  }
  // A captured value and the example have their gradients together.
  const T w{0.5};
  const auto [value, both] = vjp(
      [](const std::vector<T>& in) {
        return vmap([&](const T& a) {
          return fori_loop(0, 2, a, [&](const T&, const T& c) { return c * sum(in[1]); });
        })(in[0]);
      },
      std::vector<T>{x, w}, T{1.0, 1.0});
  CHECK(numbers(both[0]) == Numbers{0.25, 0.25});
  CHECK(numbers(both[1]) == Numbers{2});  // 2 w times the sum of x
}

BOTH_MODES("recurrent layers are differentiated by their input through vmap") {
  using T = Tensor<Mode>;
  const T x = doubles<T>(examples, {2, 3});
  const auto check = [&](const auto& layer) {
    const Function<T> one = [&](const T& a) { return T(layer(a.reshape({1, 3, 1}))); };
    const T got = grad([&](const T& q) { return sum(sin(vmap(one)(q))); })(x);
    const T want = grad([&](const T& q) { return sum(sin(T(layer(q.reshape({2, 3, 1}))))); })(x);
    CHECK(close(got, want));
  };
  seed(3);
  check(nn::GRU({.in = 1, .hidden = 2, .dtype = DType::f64}));
  check(nn::LSTM({.in = 1, .hidden = 2, .dtype = DType::f64}));
}

BOTH_MODES("a loop without a bound in vmap says what its gradient wants") {
  using T = Tensor<Mode>;
  const auto halved = [](const T& a) {
    return while_loop(
        a, [](const T& c) { return c > 1.0; }, [](const T& c) { return c * 0.5; });
  };
  CHECK_THROWS_WITH_AS(
      grad([&](const T& q) { return sum(vmap(halved)(q)); })(T{3.0, 0.5}),
      "grad: a while_loop or fori_loop without a bound has no reverse mode in a graph; give {.most = n}", GraphError);
}

}  // namespace vmap_regions
