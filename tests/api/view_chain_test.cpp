// SPDX-License-Identifier: MIT
// Chains of view operations at random against plain index arithmetic over a vector, in both modes.
#include <doctest/doctest.h>

#include <numeric>
#include <random>
#include <string>
#include <tyto/tyto.hpp>

#include "tests/support/numbers.hpp"

using tyto::IntList;
using tyto::Shape;
using tyto_test::Numbers;
using tyto_test::numbers;

namespace {

// The reference: elements in row-major order, moved one by one.
struct Plain {
  Numbers elements;
  std::vector<std::int64_t> shape;

  std::size_t rank() const { return shape.size(); }
  std::int64_t size() const {
    return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
  }
  double at(const std::vector<std::int64_t>& index) const {
    std::int64_t place = 0;
    for (std::size_t i = 0; i < shape.size(); ++i) place = place * shape[i] + index[i];
    return elements[static_cast<std::size_t>(place)];
  }
};

// A tensor of `shape` whose element at an index is that of `from` at source(index).
template <class F>
Plain moved(const Plain& from, std::vector<std::int64_t> shape, F source) {
  Plain out{{}, std::move(shape)};
  std::vector<std::int64_t> index(out.rank(), 0);
  const std::int64_t count = out.size();
  for (std::int64_t i = 0; i < count; ++i) {
    std::int64_t rest = i;
    for (std::size_t axis = out.rank(); axis-- > 0;) {
      index[axis] = rest % out.shape[axis];
      rest /= out.shape[axis];
    }
    out.elements.push_back(from.at(source(index)));
  }
  return out;
}

class Chain {
 public:
  explicit Chain(unsigned seed) : random_(seed) {}

  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }
  std::size_t axis_of(const Plain& x) {
    return static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(x.rank()) - 1));
  }
  std::int64_t spelled(std::size_t axis, std::size_t rank) {  // counted from the front or from the end
    const auto position = static_cast<std::int64_t>(axis);
    return pick(0, 1) == 0 ? position : position - static_cast<std::int64_t>(rank);
  }

  Plain start() {
    Plain x;
    const std::int64_t rank = pick(0, 4);
    for (std::int64_t i = 0; i < rank; ++i) x.shape.push_back(pick(0, 9) == 0 ? 0 : pick(1, 4));
    x.elements.resize(static_cast<std::size_t>(x.size()));
    std::iota(x.elements.begin(), x.elements.end(), 0.0);
    return x;
  }

  template <class T>
  void step(Plain& x, T& tensor) {
    switch (pick(0, 9)) {
      case 0: return reshape_it(x, tensor);
      case 1: return transpose_it(x, tensor);
      case 2:
      case 3: return slice_it(x, tensor);
      case 4: return broadcast_it(x, tensor);
      case 5: return squeeze_it(x, tensor);
      case 6: return expand_it(x, tensor);
      case 7: return flip_it(x, tensor);
      case 8: return split_it(x, tensor);
      default: return drop_it(x, tensor);
    }
  }

 private:
  // Factors of the element count put together anew.
  template <class T>
  void reshape_it(Plain& x, T& tensor) {
    std::vector<std::int64_t> target;
    if (x.size() == 0) {
      target = x.shape;
      std::shuffle(target.begin(), target.end(), random_);
    } else {
      std::int64_t rest = x.size();
      while (rest > 1 && target.size() < 5) {
        std::int64_t factor = pick(1, rest);
        while (rest % factor != 0) --factor;
        target.push_back(factor);
        rest /= factor;
      }
      if (rest > 1 || pick(0, 3) == 0) target.push_back(rest);
      std::shuffle(target.begin(), target.end(), random_);
    }
    Shape spelt(target);
    if (!target.empty() && x.size() != 0 && pick(0, 1) == 0) {
      spelt[static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(target.size()) - 1))] = -1;
    }
    x.shape = target;
    tensor = tensor.reshape(spelt);
  }

  template <class T>
  void transpose_it(Plain& x, T& tensor) {
    std::vector<std::size_t> order(x.rank());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::shuffle(order.begin(), order.end(), random_);
    std::vector<std::int64_t> shape;
    IntList axes;
    for (const std::size_t axis : order) {
      shape.push_back(x.shape[axis]);
      axes.push_back(spelled(axis, x.rank()));
    }
    x = moved(x, shape, [&](const std::vector<std::int64_t>& index) {
      std::vector<std::int64_t> from(index.size());
      for (std::size_t i = 0; i < index.size(); ++i) from[order[i]] = index[i];
      return from;
    });
    if (!axes.empty()) tensor = transpose(tensor, axes);
  }

  // Python's slice: positions are listed by stepping, not computed.
  template <class T>
  void slice_it(Plain& x, T& tensor) {
    if (x.rank() == 0) return;
    const std::size_t axis = axis_of(x);
    const std::int64_t n = x.shape[axis];
    std::int64_t step = pick(-3, 3);
    if (step == 0) step = 1;
    std::optional<std::int64_t> start, stop;
    if (pick(0, 2) != 0) start = pick(-n - 2, n + 2);
    if (pick(0, 2) != 0) stop = pick(-n - 2, n + 2);
    std::vector<std::int64_t> positions;
    const auto wrapped = [&](std::int64_t p) { return p < 0 ? p + n : p; };
    std::int64_t at, end;
    if (step > 0) {
      at = start ? std::max<std::int64_t>(wrapped(*start), 0) : 0;
      end = stop ? wrapped(*stop) : n;
      for (; at < end && at < n; at += step) positions.push_back(at);
    } else {
      at = start ? std::min<std::int64_t>(wrapped(*start), n - 1) : n - 1;
      end = stop ? wrapped(*stop) : -1;
      for (; at > end && at >= 0; at += step) positions.push_back(at);
    }
    std::vector<std::int64_t> shape = x.shape;
    shape[axis] = static_cast<std::int64_t>(positions.size());
    x = moved(x, shape, [&](std::vector<std::int64_t> index) {
      index[axis] = positions[static_cast<std::size_t>(index[axis])];
      return index;
    });
    std::vector<tyto::Index> entries;
    for (std::size_t i = 0; i < axis; ++i) entries.emplace_back(tyto::all);
    entries.emplace_back(tyto::slice(start, stop, step));
    if (pick(0, 1) == 0) entries.emplace_back(tyto::ellipsis);
    tensor = tensor.get(entries);
  }

  template <class T>
  void broadcast_it(Plain& x, T& tensor) {
    if (x.size() > 200) return;
    std::vector<std::int64_t> shape = x.shape;
    for (std::int64_t& length : shape) {
      if (length == 1 && pick(0, 1) == 0) length = pick(0, 3);
    }
    const std::size_t added = x.rank() < 4 ? static_cast<std::size_t>(pick(0, 1)) : 0;
    if (added == 1) shape.insert(shape.begin(), pick(1, 3));
    const std::vector<std::int64_t> old = x.shape;
    x = moved(x, shape, [&](const std::vector<std::int64_t>& index) {
      std::vector<std::int64_t> from;
      for (std::size_t i = 0; i < old.size(); ++i) from.push_back(old[i] == 1 ? 0 : index[i + added]);
      return from;
    });
    tensor = broadcast_to(tensor, Shape(shape));
  }

  template <class T>
  void squeeze_it(Plain& x, T& tensor) {
    std::vector<std::int64_t> shape;
    for (const std::int64_t length : x.shape) {
      if (length != 1) shape.push_back(length);
    }
    x.shape = shape;
    tensor = squeeze(tensor);
  }

  template <class T>
  void expand_it(Plain& x, T& tensor) {
    if (x.rank() > 5) return;
    const std::int64_t place = pick(0, static_cast<std::int64_t>(x.rank()));
    x.shape.insert(x.shape.begin() + place, 1);
    tensor = expand_dims(tensor, spelled(static_cast<std::size_t>(place), x.rank()));
  }

  template <class T>
  void flip_it(Plain& x, T& tensor) {
    if (x.rank() == 0) return;
    const std::size_t axis = axis_of(x);
    const std::int64_t last = x.shape[axis] - 1;
    x = moved(x, x.shape, [&](std::vector<std::int64_t> index) {
      index[axis] = last - index[axis];
      return index;
    });
    tensor = flip(tensor, spelled(axis, x.rank()));
  }

  template <class T>
  void split_it(Plain& x, T& tensor) {
    if (x.rank() == 0) return;
    const std::size_t axis = axis_of(x);
    const std::int64_t cut = pick(0, x.shape[axis]);
    const bool second = pick(0, 1) == 1;
    std::vector<std::int64_t> shape = x.shape;
    shape[axis] = second ? shape[axis] - cut : cut;
    const auto parts = split(tensor, IntList{cut}, static_cast<std::int64_t>(axis));
    REQUIRE(parts.size() == 2);
    x = moved(x, shape, [&](std::vector<std::int64_t> index) {
      if (second) index[axis] += cut;
      return index;
    });
    tensor = parts[second ? 1 : 0];
  }

  // An integer index takes an axis away.
  template <class T>
  void drop_it(Plain& x, T& tensor) {
    if (x.rank() == 0) return;
    const std::size_t axis = axis_of(x);
    if (x.shape[axis] == 0) return;
    const std::int64_t position = pick(0, x.shape[axis] - 1);
    std::vector<std::int64_t> shape = x.shape;
    shape.erase(shape.begin() + static_cast<std::ptrdiff_t>(axis));
    const std::int64_t spelt = pick(0, 1) == 0 ? position : position - x.shape[axis];
    x = moved(x, shape, [&](std::vector<std::int64_t> index) {
      index.insert(index.begin() + static_cast<std::ptrdiff_t>(axis), position);
      return index;
    });
    std::vector<tyto::Index> entries;
    for (std::size_t i = 0; i < axis; ++i) entries.emplace_back(tyto::all);
    entries.emplace_back(spelt);
    tensor = tensor.get(entries);
  }

  std::mt19937 random_;
};

template <class T>
T tensor_of(const Plain& x) {
  return T::from(x.elements, Shape(x.shape));
}

}  // namespace

TEST_CASE_TEMPLATE("a random chain of views reads what index arithmetic reads", Mode, tyto::Eager, tyto::Lazy) {
  using T = tyto::Tensor<Mode>;
  for (unsigned seed = 0; seed < 400; ++seed) {
    CAPTURE(seed);
    Chain chain(seed);
    Plain plain = chain.start();
    T tensor = tensor_of<T>(plain);
    std::vector<std::pair<Plain, T>> held;
    const std::int64_t length = chain.pick(1, 8);
    for (std::int64_t i = 0; i < length; ++i) {
      chain.step(plain, tensor);
      REQUIRE(tensor.shape() == Shape(plain.shape));
      if (chain.pick(0, 3) == 0) held.emplace_back(plain, tensor);
    }
    REQUIRE(numbers(tensor) == plain.elements);
    // Values computed from a view are indexed alike; values held in between are unchanged.
    Numbers doubled = plain.elements;
    for (double& element : doubled) element = element * 2 + 1;
    REQUIRE(numbers(tensor * 2.0 + 1.0) == doubled);
    REQUIRE(numbers(tyto::copy(tensor)) == plain.elements);
    for (const auto& [expected, view] : held) REQUIRE(numbers(view) == expected.elements);
  }
}

TEST_CASE("a chain of views inside a compiled function reads the same") {
  using T = tyto::Tensor<tyto::Lazy>;
  for (unsigned seed = 1000; seed < 1100; ++seed) {
    CAPTURE(seed);
    Plain expected;
    Plain begin = Chain(seed).start();
    auto f = tyto::compile([&](T x) {
      Chain chain(seed);
      Plain plain = chain.start();
      T tensor = x;
      for (int i = 0; i < 6; ++i) chain.step(plain, tensor);
      expected = plain;
      return std::pair(tensor, tensor + 0.5);
    });
    const auto [view, computed] = f(tensor_of<T>(begin));
    REQUIRE(numbers(view) == expected.elements);
    for (double& element : expected.elements) element += 0.5;
    REQUIRE(numbers(computed) == expected.elements);
  }
}

TEST_CASE_TEMPLATE("the gradient of a chain of views counts how often each element is seen", Mode, tyto::Eager,
                   tyto::Lazy) {
  using T = tyto::Tensor<Mode>;
  for (unsigned seed = 2000; seed < 2100; ++seed) {
    CAPTURE(seed);
    const Plain begin = Chain(seed).start();
    Plain seen;
    const auto total = [&](T x) {
      Chain chain(seed);
      seen = chain.start();
      T tensor = x;
      for (int i = 0; i < 6; ++i) chain.step(seen, tensor);
      return tensor.sum();
    };
    const Numbers found = numbers(tyto::grad(total)(tensor_of<T>(begin)));
    Numbers expected(begin.elements.size(), 0.0);
    for (const double element : seen.elements) expected[static_cast<std::size_t>(element)] += 1;
    REQUIRE(found == expected);
  }
}
