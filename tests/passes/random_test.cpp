// SPDX-License-Identifier: MIT
// Random graphs through no pass, each pass alone, and all of them: the numbers stay, and a second time changes nothing.
#include <doctest/doctest.h>

#include <cmath>
#include <random>

#include "core/graph/op_ids.hpp"
#include "core/value/shape.hpp"
#include "tests/passes/sketch.hpp"

using namespace tyto;
using namespace tyto::testing;
using core::AxesAttributes;
using core::ListAttributes;
using core::OpId;
using core::Port;

namespace {

// Continuous operators only for floating-point types: a rounding that differs must not become another branch.
constexpr OpId floating_unary[] = {OpId::negate, OpId::abs,     OpId::square,       OpId::sin,
                                   OpId::tanh,   OpId::sigmoid, OpId::relu,         OpId::copy,
                                   OpId::exp,    OpId::atan,    OpId::stop_gradient};
constexpr OpId integer_unary[] = {OpId::negate, OpId::abs, OpId::square, OpId::bitwise_not, OpId::relu, OpId::copy};
constexpr OpId floating_binary[] = {OpId::add,     OpId::subtract, OpId::multiply,
                                    OpId::maximum, OpId::minimum,  OpId::divide};
constexpr OpId integer_binary[] = {OpId::add,        OpId::subtract,    OpId::multiply,   OpId::maximum,
                                   OpId::bitwise_or, OpId::bitwise_and, OpId::bitwise_xor};
constexpr double numbers[] = {0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 3.0};

class Drawing {
 public:
  Drawing(std::uint64_t seed, DType dtype) : random_(seed), dtype_(dtype) {
    for (const Shape& shape : {Shape{2, 3}, Shape{2, 3}, Shape{3}, Shape{3, 1}, Shape{}}) {
      tensors_.push_back(sketch_.input(shape, dtype));
    }
    const int nodes = 2 + below(40);
    for (int i = 0; i < nodes; ++i) tensors_.push_back(node());
    const int outputs = 1 + below(3);
    for (int i = 0; i < outputs; ++i) sketch_.builder().add_output(tensors_[tensors_.size() - 1 - index_below(5)]);
  }

  core::Graph graph() { return sketch_.graph({}); }

 private:
  int below(int limit) { return static_cast<int>(random_() % static_cast<std::uint64_t>(limit)); }
  std::size_t index_below(std::size_t limit) { return random_() % limit; }
  template <class T, std::size_t n>
  const T& one_of(const T (&list)[n]) {
    return list[random_() % n];
  }
  const Shape& shape(Port port) { return sketch_.builder().graph().type(port).shape; }
  bool floating() const { return is_floating(dtype_); }

  // Recent tensors are chosen more often, so that graphs grow deep as well as wide.
  Port any() {
    if (below(5) == 0) return tensors_[index_below(tensors_.size())];
    return tensors_[tensors_.size() - 1 - index_below(std::min<std::size_t>(6, tensors_.size()))];
  }
  Port number() {
    return sketch_.number(std::floor(one_of(numbers) * (floating() ? 2 : 1)) / (floating() ? 2 : 1), dtype_);
  }

  Port node() {
    switch (below(10)) {
      case 0:
      case 1: return sketch_.add(floating() ? one_of(floating_unary) : one_of(integer_unary), {any()});
      case 2: return binary(any(), number());
      case 3: return binary(number(), any());
      case 4:
      case 5: return binary(any(), any());
      case 6: return reshaped(any());
      case 7: return transposed(any());
      case 8: return stretched(any());
      default: return reduced(any());
    }
  }

  Port binary(Port a, Port b) {
    if (!core::broadcastable(shape(a), shape(b)) && !core::broadcastable(shape(b), shape(a))) return number();
    const OpId op = floating() ? one_of(floating_binary) : one_of(integer_binary);
    // Away from zero, where a quotient would make of a rounding whatever it likes.
    if (op == OpId::divide) b = sketch_.add(OpId::add, {sketch_.add(OpId::square, {b}), sketch_.number(0.5, dtype_)});
    return sketch_.add(op, {a, b});
  }
  Port reshaped(Port x) {
    Shape target = shape(x);
    if (target.size() >= 2 && below(2) == 0) {
      target = {element_count(target)};
    } else {
      target.insert(index_below(target.size() + 1), 1);
    }
    return target.size() > 4 ? x : sketch_.add(OpId::reshape, {x}, ListAttributes{target});
  }
  Port transposed(Port x) {
    IntList order;
    for (std::size_t i = shape(x).size(); i-- > 0;) order.push_back(static_cast<std::int64_t>(i));
    return order.empty() ? x : sketch_.add(OpId::transpose, {x}, ListAttributes{order});
  }
  Port stretched(Port x) {
    Shape target = shape(x);
    for (std::int64_t& length : target) length = length == 1 ? 2 : length;
    if (target.size() < 3) target.insert(0, 2);
    return element_count(target) > 200 ? x : sketch_.add(OpId::broadcast_to, {x}, ListAttributes{target});
  }
  Port reduced(Port x) {
    if (shape(x).empty()) return x;
    const auto axis = static_cast<std::int64_t>(index_below(shape(x).size()));
    constexpr OpId ops[] = {OpId::max, OpId::min, OpId::sum, OpId::mean};
    const OpId op = ops[index_below(floating() ? 4 : 2)];
    return sketch_.add(op, {x}, AxesAttributes{{axis}, below(2) == 0});
  }

  std::mt19937_64 random_;
  DType dtype_;
  Sketch sketch_;
  std::vector<Port> tensors_;
};

// Within a part in 10^7 of the tensor's largest element, where f64 has 16 digits: room for cancellation, none for
// error.
bool close(const std::vector<std::vector<double>>& a, const std::vector<std::vector<double>>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    double size = 1;
    for (const double value : a[i]) size = std::isfinite(value) ? std::max(size, std::abs(value)) : size;
    for (std::size_t k = 0; k < a[i].size(); ++k) {
      if (std::isnan(a[i][k]) && std::isnan(b[i][k])) continue;
      if (a[i][k] != b[i][k] && !(std::abs(a[i][k] - b[i][k]) <= 1e-7 * size)) return false;
    }
  }
  return true;
}

void compare(std::uint64_t seed, DType dtype) {
  const core::Graph graph = Drawing(seed, dtype).graph();
  const auto expected = results_of(graph);
  std::vector<std::string> choices{"", "all"};
  for (const PassDescription& pass : graph_passes()) {
    if (pass.name != "fast_math") choices.push_back(pass.name);
  }
  for (const std::string& passes : choices) {
    const std::string what = "seed " + std::to_string(seed) + ", passes " + passes;
    CAPTURE(what);
    const core::Graph out = optimised(graph, passes);
    const auto results = results_of(out);
    CHECK((is_floating(dtype) ? close(expected, results) : agree(expected, results)));
    PassReport again;
    (void)optimised(out, passes, &again);
    CHECK(again.fired() == 0);
  }
}

}  // namespace

TEST_CASE("floating graphs drawn at random compute the same after each pass alone and after all") {
  for (std::uint64_t seed = 1; seed <= 250; ++seed) compare(seed, DType::f64);
}

TEST_CASE("integer graphs drawn at random compute the same bit for bit") {
  for (std::uint64_t seed = 1; seed <= 250; ++seed) compare(seed, DType::i32);
}
