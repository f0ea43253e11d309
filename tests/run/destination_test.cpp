// SPDX-License-Identifier: MIT
// Parts computed straight into their destination in a larger tensor: copies saved, cases refused, and the same bits
// always.
#include <doctest/doctest.h>

#include <functional>
#include <random>
#include <tyto/tyto.hpp>
#include <vector>

#include "tests/run/same_bits.hpp"

namespace tyto {
namespace {

using L = Tensor<Lazy>;

constexpr std::int64_t kilo = 1024;

/// Steps and planned bytes of a compiled function.
struct Cost {
  std::size_t steps;
  std::int64_t bytes;
};

Cost cost_of(const std::function<L(L)>& function, const L& x, const std::string& passes = "none") {
  auto compiled = compile(function, CompileOptions{.passes = passes});
  (void)compiled(x);
  return {compiled.report().steps, compiled.plan().height};
}

/// The same bits compiled as computed line by line.
template <class F>
void check_as_eager(const F& function) {
  const auto x = Tensor<Eager>::uniform({8}, {.low = 0.5, .high = 2.0, .key = Key{7}});
  for (const char* passes : {"none", ""}) {
    CAPTURE(passes);
    auto compiled = compile([&](const L& v) { return function(v); }, CompileOptions{.passes = passes});
    CHECK(compiled(L::from(x.data<float>(), {8})).template to_vector<float>() ==
          function(x).template to_vector<float>());
  }
}

L drawn(const Shape& shape) { return L::uniform(shape, {.low = 0.5, .high = 2.0, .key = Key{7}}); }

}  // namespace

TEST_CASE("concat costs no step and no memory beyond its result when its parts are computed") {
  const auto join = [](std::int64_t axis) {
    return [axis](L x) { return concat<Lazy>({exp(x), log(x), sqrt(x)}, axis); };
  };
  for (const std::int64_t axis : {0, 1, 2}) {
    CAPTURE(axis);
    const Cost cost = cost_of(join(axis), drawn({8, 16, 32}));
    CHECK(cost.steps == 3);
    CHECK(cost.bytes == 0);  // the parts lie in the output's buffer
    check_same_bits(join(axis), drawn({8, 16, 32}));
  }
}

TEST_CASE("groups of element-wise operators write into their part, whatever their elements") {
  for (const std::int64_t axis : {0, 1, 2}) {
    CAPTURE(axis);
    const auto join = [axis](L x) {
      return concat<Lazy>({exp(x) * x + 1.0, log(x) - x * 2.0, sqrt(x) / (x + 3.0)}, axis);
    };
    const Cost cost = cost_of(join, drawn({8, 15, 33}), "");
    CHECK(cost.steps == 3);
    CHECK(cost.bytes == 0);
    check_same_bits(join, drawn({8, 15, 33}));
    for (const DType type : {DType::f16, DType::bf16, DType::f64, DType::i32, DType::u8, DType::c64, DType::c128}) {
      CAPTURE(type);
      check_same_bits(
          [axis, type](L x) {
            const L y = (x * 50.0).astype(type), z = (x + 20.0).astype(type);
            return concat<Lazy>({y * z + y, y - z * z, y + z * 3}, axis);
          },
          drawn({5, 7, 9}));
    }
  }
}

TEST_CASE("a skip that is pooled and joined later is computed in its place among the joined channels") {
  const auto skip = [](L x) {
    const L level = exp(x);
    return concat<Lazy>({level, upsample(max_pool(level, 2), 2) * 2.0}, 3);
  };
  const Cost cost = cost_of(skip, drawn({2, 8, 8, 5}));
  CHECK(cost.steps == 4);  // exp, pooling, resizing, product; nothing is joined
  check_same_bits(skip, drawn({2, 8, 8, 5}));
  const auto resized = [](L x) {
    const L level = exp(x);
    const L low = max_pool(level, 2);
    return concat<Lazy>({level, upsample(low, 2), upsample(low, 2, Resampling::bilinear)}, 3);
  };
  CHECK(cost_of(resized, drawn({2, 8, 8, 5})).steps == 4);  // what is resized lies in its place as well
  check_same_bits(resized, drawn({2, 8, 8, 5}));
  check_same_bits([&](L x) { return grad([&](L v) { return sum(square(resized(v))); })(x); }, drawn({2, 8, 8, 5}));
  // The way back looks for the maxima in the joined tensor.
  check_same_bits([&](L x) { return grad([&](L v) { return sum(square(skip(v))); })(x); }, drawn({2, 8, 8, 5}));
  check_same_bits(
      [](L x) {
        return concat<Lazy>({exp(x), max_pool(exp(x), 3, {.stride = 1, .padding = same})}, 3);
      },
      drawn({2, 7, 6, 3}));
}

TEST_CASE("stack, nested concat and reshaped parts are in place, too") {
  const auto stacked = [](L x) { return stack<Lazy>({exp(x), log(x)}, 1); };
  CHECK(cost_of(stacked, drawn({4, 8})).steps == 2);
  check_same_bits(stacked, drawn({4, 8}));

  const auto nested = [](L x) {
    const L inner = concat<Lazy>({exp(x), log(x)}, 1);
    return concat<Lazy>({inner, concat<Lazy>({sqrt(x), x * 2}, 1)}, 1);
  };
  CHECK(cost_of(nested, drawn({4, 8})).steps == 4);
  check_same_bits(nested, drawn({4, 8}));

  const auto turned = [](L x) { return concat<Lazy>({exp(x).transpose(), log(x).reshape({8, 4})}, 0); };
  CHECK(cost_of(turned, drawn({4, 8})).steps == 2);
  check_same_bits(turned, drawn({4, 8}));
}

TEST_CASE("growing concatenations, as in a dense net, cost no copy of what is there already") {
  const auto dense = [](L x) {
    L grown = exp(x);
    for (int i = 0; i < 6; ++i) {
      const L fresh = tanh((grown * 0.5).mean(Axes{1}, true) + x);
      grown = concat<Lazy>({grown, fresh}, 1);
    }
    return grown.sum(0);
  };
  const std::int64_t rows = 64, width = 256;
  const L x = drawn({rows, width});
  const Cost cost = cost_of(dense, x);
  // All seven parts once, and what one of them is made of: a scaled copy of all that came before it.
  CHECK(cost.bytes <= (7 + 6 + 1) * rows * width * 4 + 64 * kilo);
  check_same_bits(dense, x);
}

TEST_CASE("parts that cannot be in place are copied: inputs, constants, outputs, the same part twice") {
  check_same_bits([](L x) { return concat<Lazy>({x, exp(x)}, 0); }, drawn({3, 5}));
  check_same_bits([](L x) { return concat<Lazy>({L::constant(L{1.0F, 2.0F}), exp(x)}, 0); }, drawn({3}));
  check_same_bits(
      [](L x) {
        const L e = exp(x);
        return concat<Lazy>({e, e, e + 1}, 0);
      },
      drawn({3, 5}));
  check_same_bits([](L x) { return concat<Lazy>({exp(x)(slice(1, 3)), exp(x)(slice({}, {}, -1))}, 0); }, drawn({4, 5}));
  check_same_bits(
      [](L x) {
        return concat<Lazy>({broadcast_to(exp(x), {4, 3}), zeros_like(x)(newaxis)}, 0);
      },
      drawn({3}));

  auto two = compile([](L x) {
    const L e = exp(x);
    return std::pair(e, concat<Lazy>({e, log(x)}, 0));
  });
  const L x = drawn({3});
  const auto [e, both] = two(x);
  CHECK(both(slice(0, 3)).to_vector<float>() == e.to_vector<float>());
}

TEST_CASE("a part that is joined in reverse is not computed in place in its first order") {
  auto f = compile(
      [](const L& x) {
        const L y = exp(x);
        return concat(std::vector<L>{flip(y, 0), y * 2.0F}, 0);
      },
      {.passes = "none"});
  const std::vector<float> got = f(log(L{1.0F, 2.0F, 3.0F, 4.0F})).to_vector<float>();
  const std::vector<float> expected{4, 3, 2, 1, 2, 4, 6, 8};
  for (std::size_t i = 0; i < got.size(); ++i) CHECK(got[i] == doctest::Approx(expected[i]));
}

TEST_CASE("a tensor of which an output is a part is not computed in the output's buffer") {
  constexpr std::int64_t many = 1 << 20;
  auto f = compile([](const L& x) { return exp(x)(slice(0, 2)); }, {.passes = "none"});
  CHECK(f(L::zeros({many})).to_vector<float>() == std::vector<float>{1, 1});
  CHECK(f.plan().height >= many * 4);
}

TEST_CASE("a part that others read as well is read in its place") {
  check_same_bits(
      [](L x) {
        const L e = exp(x);
        const L joined = concat<Lazy>({e, log(x)}, 1);
        return matmul(e, x.transpose()).sum() + (joined * joined).sum() + e.max();
      },
      drawn({6, 7}));
}

TEST_CASE("a part that is summed over axes between which its place has gaps is computed apart and copied") {
  const auto joined = [](auto x) {
    using T = decltype(x);
    const T part = x * 1.1;
    return std::pair(concat<typename T::mode>({part, exp(x)}, 1), part);
  };
  int sums_apart = 0;
  for (std::uint64_t stream = 0; stream < 40; ++stream) {
    const auto eager = Tensor<Eager>::uniform({17, 5}, {.dtype = DType::f64, .key = Key{3, stream}});
    const auto [whole, part] = joined(eager);
    const auto [lazy_whole, lazy_part] = joined(L::from(eager.data<double>(), {17, 5}));
    Graph graph({.outputs = {lazy_whole, sum(lazy_part), sum(lazy_part, 0)}}, {.passes = "none"});
    graph.run();
    CHECK(graph.output(1).item<double>() == sum(part).item<double>());
    CHECK(graph.output(2).to_vector<double>() == sum(part, 0).to_vector<double>());
    CHECK(graph.output(0).to_vector<double>() == whole.to_vector<double>());
    // What makes the gap matter: rows added one after the other are another sum.
    sums_apart += sum(sum(part, 1)).item<double>() != sum(part).item<double>() ? 1 : 0;
  }
  CHECK(sums_apart > 0);
}

TEST_CASE("matrix products and convolutions write into their part") {
  const auto products = [](L x) { return concat<Lazy>({matmul(x, x), matmul(x, x.transpose())}, 1); };
  CHECK(cost_of(products, drawn({16, 16})).steps == 2);
  check_same_bits(products, drawn({16, 16}));
  const auto convolutions = [](L x) {
    const L a = conv2d(x, L::constant(drawn({3, 3, 4, 8}))), b = conv2d(x, L::constant(drawn({3, 3, 4, 5})));
    return concat<Lazy>({a, b, a}, 3);
  };
  CHECK(cost_of(convolutions, drawn({2, 8, 8, 4})).steps == 3);  // the second copy of a is one
  check_same_bits(convolutions, drawn({2, 8, 8, 4}));
  check_same_bits(
      [](L x) {
        const L a = conv2d(x, L::constant(drawn({3, 3, 4, 8})));
        return concat<Lazy>({a, max_pool(x, 1)(all, slice(0, a.shape()[1]), slice(0, a.shape()[2]))}, 3);
      },
      drawn({2, 8, 8, 4}));
}

TEST_CASE("pooling writes into its part, as the first features of a dense block do") {
  for (const bool averages : {false, true}) {
    const auto block = [averages](L x) {
      const L first = averages ? average_pool(x, 2) : max_pool(x, 2);
      const L grown = conv2d(first, L::constant(drawn({3, 3, 4, 3})), {.padding = same});
      return concat<Lazy>({first, grown}, 3);
    };
    // The convolution reads its input densely: it is copied once, but not into the whole.
    check_same_bits(block, drawn({2, 8, 8, 4}));
    const auto apart = [averages](L x) {
      const L pooled = averages ? average_pool(x, 2) : max_pool(x, 2);
      return concat<Lazy>({pooled, exp(pooled)}, 3);
    };
    CHECK(cost_of(apart, drawn({2, 8, 8, 4})).steps == 2);
    check_same_bits(apart, drawn({2, 8, 8, 4}));
  }
}

TEST_CASE("padding with a constant writes only the margins") {
  const auto padded = [](L x) { return pad(exp(x), {1, 0}, {2, 3}); };
  CHECK(cost_of(padded, drawn({5, 6})).steps == 2);
  check_same_bits(padded, drawn({5, 6}));
  check_same_bits([](L x) { return pad(concat<Lazy>({exp(x), x}, 0), {1, 1}, {1, 1}); }, drawn({5, 6}));
  check_same_bits([](L x) { return concat<Lazy>({pad(exp(x), {0, 0}, {0, 1}), x}, 1); }, drawn({5, 6}));
}

TEST_CASE("a replacement is computed into its part once the operand is there, and not before") {
  const auto rows = [](L x) {
    L y = L::zeros({3, 8});
    for (int i = 0; i < 3; ++i) y(i) = exp(x * static_cast<float>(i));
    return y;
  };
  CHECK(cost_of(rows, drawn({8})).steps <= 3 * 2 + 1);
  check_same_bits(rows, drawn({8}));
  // Overlapping parts: what is overwritten is still wanted elsewhere.
  check_same_bits(
      [](L x) {
        const L a = exp(x), b = log(x);
        L y = L::zeros({12});
        y(slice(0, 8)) = a;
        y(slice(4, 12)) = b;
        return y.sum() + (y(slice(0, 8)) * a).sum() + a;
      },
      drawn({8}));
  check_same_bits(
      [](L x) {
        const L a = exp(x);
        L y = L::zeros({9});
        y(slice(0, 8)) = a;
        y(slice(1, 9)) = a * 2;
        return concat<Lazy>({y, a}, 0);
      },
      drawn({8}));
  check_same_bits(
      [](L x) {
        L y = exp(x);
        const L part = log(x)(slice(0, 2));
        y(slice(2, 4)) = part * 3;
        L z = y * 1;
        z(slice(0, 2)) = y(slice(2, 4)) + part;
        return z - y;
      },
      drawn({8}));
}

TEST_CASE("an old part does not keep the room of the whole: skips over a long way are copied in") {
  // As in a U: the skip is made first, joined last, and in between the tensors are as large as the whole would be.
  const auto skip = [](L x) {
    const L early = exp(x);
    L way = concat<Lazy>({x, x, x, x, x, x}, 0);
    way = cumsum(way, 0) * 0.01;
    const L late = way.mean(Axes{0}, true) + x;
    return concat<Lazy>({early, late, late * 2, late * 3}, 0).sum();
  };
  const std::int64_t n = 64 * kilo;
  const Cost cost = cost_of(skip, drawn({1, n}));
  CHECK(cost.bytes <= (1 + 12) * n * 4 + 64 * kilo);  // the skip and two of the long way; not the whole of four as well
  check_same_bits(skip, drawn({1, n}));
}

TEST_CASE("gradients of parts come out the same") {
  check_same_bits(
      [](L x) {
        return grad([](const L& a) {
          const L joined = concat<Lazy>({exp(a), a * a}, 1);
          return (pad(joined, {1, 1}, {0, 2}) * 3).sum() + (joined(all, slice(1, 4)) * a(all, slice(0, 3))).sum();
        })(x);
      },
      drawn({4, 5}));
}

TEST_CASE("parts of a replacement are not written before what it replaces a part of") {
  // Each operand of set_slice is computed from `early`, and the replacement holds `early`: put into its place at once,
  // it would lie under the operand.
  check_as_eager([]<class T>(const T& x) {
    const T early = cumsum(x, 0);
    T whole = cumsum(concat(std::vector<T>{early * 2, early * 3, early * 4}, 0), 0);
    whole(slice(0, 2 * x.size())) = concat(std::vector<T>{early, cumsum(x * 2, 0)}, 0);
    return whole;
  });
  check_as_eager([]<class T>(const T& x) {
    const T early = exp(x);
    T whole = concat(std::vector<T>{early, early * 2, early * 3}, 0) + early.sum() * 0.5;
    whole(slice(0, 2 * x.size())) = concat(std::vector<T>{early, log(x) + early.sum()}, 0);
    return whole;
  });
  check_as_eager([]<class T>(const T& x) {
    const T early = exp(x);
    T whole = concat(std::vector<T>{early, early * 2, early * 3}, 0) + early.sum() * 0.5;
    T part = early * 1.5;
    part(slice(0, 2)) = x(slice(0, 2)) + early.sum();
    whole(slice(0, x.size())) = part;
    return whole;
  });
}

TEST_CASE("operands of a part are not computed where later parts of the whole are written") {
  check_as_eager([]<class T>(const T& x) {
    T front = cumsum(x, 0) * 2;
    const T late = cumsum(x(slice(0, 6)) * 3, 0);
    front(slice(2, 8)) = late;
    T whole = concat(std::vector<T>{front, cumsum(x * 2, 0)}, 0);
    whole(slice(0, 16, 2)) = cumsum(x * 7, 0);  // over what `late` may lie in, which is read again
    return concat(std::vector<T>{whole, late + whole.sum()}, 0);
  });
}

TEST_CASE("products computed in their place add in the order of eager mode, whatever their sizes and layouts") {
  std::mt19937 random(3);
  const auto one_of = [&](std::initializer_list<std::int64_t> list) { return list.begin()[random() % list.size()]; };
  const auto given = [](const Tensor<Eager>& x) {
    return L::from_bytes(x.bytes().data(), x.size(), x.shape(), x.dtype());
  };
  for (int i = 0; i < 80; ++i) {
    const std::int64_t batch = one_of({0, 1, 2, 5}), m = one_of({1, 2, 8, 13, 20, 64}),
                       n = one_of({1, 1, 3, 16, 33, 64}), k = one_of({2, 15, 16, 100, 300, 700});
    const DType type = random() % 3 == 0 ? DType::f64 : DType::f32;
    const bool is_shared = random() % 2 == 0, turns_a = random() % 4 == 0, turns_b = random() % 4 == 0;
    const auto matrices = [&](std::int64_t rows, std::int64_t columns, bool one) {
      const Shape shape = batch > 0 && !one ? Shape{batch, rows, columns} : Shape{rows, columns};
      return Tensor<Eager>::uniform(shape, {.dtype = type});
    };
    const Tensor<Eager> a = turns_a ? matrices(k, m, false) : matrices(m, k, false);
    const Tensor<Eager> b = turns_b ? matrices(n, k, is_shared) : matrices(k, n, is_shared);
    const auto product = [&](const auto& x, const auto& y) {
      return matmul(turns_a ? swapaxes(x, -1, -2) : x, turns_b ? swapaxes(y, -1, -2) : y);
    };
    const Tensor<Eager> expected = product(a, b);
    const std::int64_t axis = expected.ndim() - 1 - static_cast<std::int64_t>(random() % 2);
    const std::int64_t length = expected.shape()[static_cast<std::size_t>(axis)];
    auto function = compile(
        [&](const L& x, const L& y) {
          const L result = product(x, y);
          return concat({result, narrow(result * 2, axis, 0, 1)}, axis);
        },
        CompileOptions{.passes = "none"});
    const L found = narrow(function(given(a), given(b)), axis, 0, length);
    CAPTURE(batch);
    CAPTURE(m);
    CAPTURE(n);
    CAPTURE(k);
    CAPTURE(type);
    CAPTURE(axis);
    CAPTURE(is_shared);
    CAPTURE(turns_a);
    CAPTURE(turns_b);
    CHECK(found.astype(DType::f64).to_vector<double>() == expected.astype(DType::f64).to_vector<double>());
  }
}

}  // namespace tyto
