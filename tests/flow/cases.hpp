// SPDX-License-Identifier: MIT
// The programs behind the goldens of loops and branches: each from named inputs to named results, in any mode.
#pragma once

#include <map>
#include <string>
#include <tyto/flow.hpp>
#include <tyto/tyto.hpp>
#include <vector>

namespace flow_cases {

template <class Tensor>
using Arrays = std::map<std::string, Tensor>;

template <class Tensor, class F>
auto times(std::int64_t count, F body, const auto& init) {
  return tyto::fori_loop(0, count, init, [&](const Tensor&, const auto& carry) { return body(carry); });
}

/// A convolution of one image with padding of one, and a bias.
template <class Tensor>
Tensor convolve(const Tensor& x, const Tensor& w, const Tensor& b) {
  const Tensor image = x.reshape({1, 5, 5, 4});
  return conv2d(image, w, {.padding = tyto::same}).reshape({5, 5, 4}) + b;
}
template <class Tensor>
Tensor pool(const Tensor& x) {
  const Tensor image = x.reshape({1, 5, 5, 4});
  return average_pool(image, 3, {.stride = 1, .padding = tyto::same}).reshape({5, 5, 4});
}

/// A piecewise function by the number of its piece.
template <class Tensor>
Tensor piece(const Tensor& x) {
  using Arm = std::function<Tensor(const Tensor&)>;
  const Tensor index =
      (x >= 0.0).astype(tyto::DType::i64) + (x >= 1.0).astype(tyto::DType::i64) + (x >= 2.0).astype(tyto::DType::i64);
  return tyto::switch_case(
      index,
      std::vector<Arm>{[](const Tensor& v) { return v * 0.0; }, [](const Tensor& v) { return v; },
                       [](const Tensor& v) { return v * 0.5 + 0.5; }, [](const Tensor& v) { return v * 0.0 + 1.5; }},
      x);
}

template <class Tensor>
Tensor row(const Tensor& x, std::int64_t i) {
  return x(i);
}

/// The number at the end of a case's name.
inline std::int64_t number_of(const std::string& name) { return std::stoll(name.substr(name.rfind('_') + 1)); }
inline bool starts(const std::string& name, const char* with) { return name.rfind(with, 0) == 0; }

template <class Tensor>
Arrays<Tensor> run(const std::string& name, const Arrays<Tensor>& in) {
  using tyto::DType;
  using Pair = std::pair<Tensor, Tensor>;
  using List = std::vector<Tensor>;
  const auto at = [&](const char* key) { return in.at(key); };
  if (name == "nnc_power_in_place") {
    const Tensor y = at("y");
    return {{"y", at("x") * times<Tensor>(
                                5, [&](const Tensor& z) { return z * y; }, y * 0.0 + 1.0)}};
  }
  if (name == "nnc_ping_pong") {
    const Tensor y = at("y");
    return {{"y", times<Tensor>(
                      5, [&](const Tensor& z) { return z * y; }, at("x"))}};
  }
  if (name == "nnc_x5y_then_z") {
    const Tensor x = at("x");
    const Tensor z = at("z");
    return {{"y", times<Tensor>(
                      5, [&](const Tensor& c) { return c * x; }, z) *
                          at("y") +
                      z}};
  }
  if (name == "nnc_bind") {
    const Tensor a = at("a"), b = at("b");
    return {{"y", times<Tensor>(
                      5, [&](const Tensor& z) { return a * z + b; }, at("x"))}};
  }
  if (name == "nnc_log_loop") {
    const Tensor y = at("y");
    return {{"y", at("v") * times<Tensor>(
                                5, [&](const Tensor& z) { return log(z * y); }, at("x"))}};
  }
  if (starts(name, "nnc_conv") || name == "nnc_nested" || starts(name, "nnc_delay")) {
    const Tensor x = at("x"), w = at("w"), b = at("b");
    const auto conv = [&](const Tensor& c) { return convolve(c, w, b); };
    if (name == "nnc_conv_pool")
      return {{"y", times<Tensor>(
                        5, [&](const Tensor& c) { return pool(conv(c)); }, x)}};
    if (name == "nnc_conv") return {{"y", times<Tensor>(5, conv, x)}};
    if (name == "nnc_conv_preserve") return {{"y", x + times<Tensor>(5, conv, x)}};
    if (name == "nnc_nested") {
      return {{"y", times<Tensor>(
                        5, [&](const Tensor& o) { return o + times<Tensor>(5, conv, o); }, x)}};
    }
    const Tensor none = zeros_like(x);
    if (name == "nnc_delay2") {
      return {{"y", times<Tensor>(
                        5, [&](const Pair& c) { return Pair(c.second, c.first + conv(c.second)); }, Pair(none, x))
                        .second}};
    }
    const List last = times<Tensor>(
        5,
        [&](const List& c) {
          const Tensor y = conv(c[1]);
          const Tensor next = c[0] + y * 1.2;
          return List{c[1], c[2], next, y, next};
        },
        List{none, x, none, none, none});
    return {{"z", last[3] + last[4] + last[2] + last[1] + last[0]}, {"x0", last[0]}, {"x1", last[1]}, {"x2", last[2]}};
  }
  if (starts(name, "nnc_piecewise")) return {{"y", piece(at("x"))}};
  if (starts(name, "nnc_loop_of_piecewise")) {
    return {{"y", times<Tensor>(
                      4, [](const Tensor& c) { return piece(c); }, at("x")) *
                      0.3}};
  }
  if (name == "nnc_loop_of_scaled_piecewise") {
    return {{"y", times<Tensor>(
                      4, [](const Tensor& c) { return piece(c * 0.8); }, at("b")) *
                      0.3}};
  }
  if (name == "nnc_schedule_loop_and_case") {
    const Tensor w = at("w");
    return {{"y", times<Tensor>(
                      5, [&](const Tensor& c) { return matmul(w, c); }, at("a"))}};
  }
  if (starts(name, "arms_with_temporaries")) {
    const auto arm = [](double a, double b, double c, double d) {
      return [=](const Tensor& x) {
        const Tensor p = x * a, q = x * b, r = x * c, s = x * d;
        return p + q + r + s;
      };
    };
    const Tensor first = Tensor::full({}, number_of(name) == 0 ? 1.0 : 0.0) > 0.5;
    return {{"y", tyto::cond(first, arm(1, 2, 3, 4), arm(3, 5, 7, 12), at("x"))}};
  }
  if (starts(name, "swap_")) {
    const Pair last = times<Tensor>(
        number_of(name), [](const Pair& c) { return Pair(c.second, c.first); }, Pair(at("a"), at("b")));
    return {{"a", last.first}, {"b", last.second}};
  }
  if (starts(name, "fibonacci_")) {
    return {{"y", times<Tensor>(
                      number_of(name), [](const Pair& c) { return Pair(c.second, c.first + c.second); },
                      Pair(at("a"), at("b")))
                      .first}};
  }
  if (starts(name, "delay4_") || starts(name, "cycle3_")) {
    const bool delays = starts(name, "delay4_");
    const Tensor x = at("x");
    const List last = times<Tensor>(
        number_of(name),
        [&](const List& c) {
          return delays ? List{c[1], c[2], c[3], sin(c[0]) + c[3]} : List{c[1], c[2], c[0], cumsum(c[3], 0) - c[0]};
        },
        List{row(x, 0), row(x, 1), row(x, 2), row(x, 3)});
    return {{"a", last[0]}, {"b", last[1]}, {"c", last[2]}, {"d", last[3]}};
  }
  if (starts(name, "collatz_")) {
    const Pair last = tyto::while_loop(
        Pair(at("x"), at("x") * 0.0), [](const Pair& c) { return c.first != 1.0; },
        [](const Pair& c) {
          return Pair(where(c.first % 2.0 == 0.0, c.first / 2.0, c.first * 3.0 + 1.0), c.second + 1.0);
        },
        {.most = 1000});
    return {{"y", last.second}};
  }
  if (name == "newton_square_root") {
    const Tensor x = at("x");
    return {{"y", tyto::while_loop(
                      x, [&](const Tensor& y) { return abs(y * y - x) > 1e-12; },
                      [&](const Tensor& y) { return (y + x / y) * 0.5; }, {.most = 20})}};
  }
  if (starts(name, "rnn_7")) {
    const Tensor u = at("u"), w = at("w");
    const auto [last, ys] = tyto::scan(
        [&](const Tensor& h, const Tensor& x) {
          const Tensor next = tanh(matmul(u, h) + matmul(w, x));
          return Pair(next, next);
        },
        at("h"), at("xs"), {.reverse = name == "rnn_7_reverse"});
    if (name == "rnn_7_reverse") return {{"ys", ys}};
    return {{"h", last}, {"ys", ys}};
  }
  if (name == "lstm_50") {
    const Tensor p = at("p"), q = at("q"), b = at("b");
    const Tensor zero = Tensor::zeros({3, 6}, DType::f64);
    const auto [last, ys] = tyto::scan(
        [&](const Pair& s, const Tensor& x) {
          const std::vector<Tensor> gates = split(matmul(x, p) + matmul(s.first, q) + b, 4, -1);
          const Tensor c = sigmoid(gates[1]) * s.second + sigmoid(gates[0]) * tanh(gates[3]);
          return std::pair(Pair(sigmoid(gates[2]) * tanh(c), c), std::vector<Tensor>());
        },
        Pair(zero, zero), at("xs"));
    return {{"y", last.first}};
  }
  if (name == "lorenz_40") {
    const auto [last, ys] = tyto::scan(
        [](const Tensor& c, const Tensor&) {
          const Tensor x = c(0), y = c(1), z = c(2);
          const Tensor next =
              c + stack(std::vector<Tensor>{(y - x) * 10.0, x * (28.0 - z) - y, x * y - z * (8.0 / 3)}) * .01;
          return Pair(next, next);
        },
        at("s"), Tensor::zeros({40}));
    return {{"y", ys}};
  }
  if (name == "nested_scan_triangle") {
    const Tensor x = at("x");
    return {{"y", tyto::fori_loop(0, 4, x, [&](const Tensor& i, const Tensor& outer) {
               return tyto::fori_loop(0, 4, outer, [&](const Tensor& j, const Tensor& a) {
                 return where(j <= i, a + x(i) * cos(a(j)), a);
               });
             })}};
  }
  if (name == "cond_shared_capture") {
    const Tensor a = at("a"), b = at("b");
    const auto choose = [&](double number) {
      return tyto::cond(
          Tensor::full({}, number) > 0.5, [&] { return a * b; }, [&] { return a - b; });
    };
    return {{"t", choose(1)}, {"e", choose(0)}};
  }
  if (name == "zero_rows") {
    const auto [last, ys] = tyto::scan([](const Tensor& c, const Tensor& x) { return Pair(c + x, c); }, at("h"),
                                       Tensor::zeros({0, 3}, DType::f64));
    return {{"c", last}};
  }
  return {};
}

}  // namespace flow_cases
