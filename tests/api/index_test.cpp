// SPDX-License-Identifier: MIT
// Reading and writing by every kind of index, at random, against positions listed one by one. Index tensors go by
// NumPy's rules; integers beside them take their axis away first, as in PyTorch.
#include <doctest/doctest.h>

#include <numeric>
#include <random>
#include <tyto/tyto.hpp>

#include "tests/support/numbers.hpp"

using tyto::all;
using tyto::DType;
using tyto::Index;
using tyto::Shape;
using tyto::slice;
using tyto_test::Numbers;
using tyto_test::numbers;

namespace {

using List = std::vector<std::int64_t>;

std::int64_t product(const List& shape) {
  return std::accumulate(shape.begin(), shape.end(), std::int64_t{1}, std::multiplies<>());
}

List unravel(std::int64_t place, const List& shape) {
  List index(shape.size(), 0);
  for (std::size_t axis = shape.size(); axis-- > 0;) {
    index[axis] = place % shape[axis];
    place /= shape[axis];
  }
  return index;
}

std::int64_t ravel_of(const List& index, const List& shape) {
  std::int64_t place = 0;
  for (std::size_t i = 0; i < shape.size(); ++i) place = place * shape[i] + index[i];
  return place;
}

// One entry of an index list in a form that both the reference and the library can be made of.
struct Entry {
  enum Kind { integer, range, fresh, tensor, mask } kind = integer;
  std::int64_t position = 0;
  std::optional<std::int64_t> start = {}, stop = {};
  std::int64_t step = 1;
  List shape = {};   // of the tensor or mask
  List values = {};  // its elements

  template <class T>
  Index index() const {
    switch (kind) {
      case integer: return position;
      case range: return slice(start, stop, step);
      case fresh: return tyto::newaxis;
      case tensor: return T::from(values, Shape(shape));
      case mask: return T::from(values, Shape(shape)).astype(DType::boolean);
    }
    return all;
  }
};

// The elements that an index list selects: the result's shape and, for each of its elements, the place in x.
struct Selection {
  List shape;
  List places;
};

Selection reference(const List& x, const std::vector<Entry>& entries) {
  // Each axis of x: a list of positions chosen by a result axis, one position, or an index tensor.
  struct Axis {
    List positions;
    bool dropped = false;
    int tensor = -1;
  };
  std::vector<Axis> axes;
  std::vector<List> tensors;
  std::vector<List> tensor_shapes;
  // The result's axes in order: number of the axis of x, -1 for a new one, -2 for where an index tensor stands.
  std::vector<int> order;
  std::size_t axis = 0;
  for (const Entry& e : entries) {
    if (e.kind == Entry::fresh) {
      order.push_back(-1);
      continue;
    }
    const std::int64_t n = x[axis];
    if (e.kind == Entry::integer) {
      axes.push_back({{e.position < 0 ? e.position + n : e.position}, true, -1});
    } else if (e.kind == Entry::range) {
      List positions;
      const auto wrapped = [&](std::int64_t p) { return p < 0 ? p + n : p; };
      if (e.step > 0) {
        for (std::int64_t at = e.start ? std::max<std::int64_t>(wrapped(*e.start), 0) : 0;
             at < n && at < (e.stop ? wrapped(*e.stop) : n); at += e.step)
          positions.push_back(at);
      } else {
        for (std::int64_t at = e.start ? std::min(wrapped(*e.start), n - 1) : n - 1;
             at >= 0 && at > (e.stop ? wrapped(*e.stop) : -1); at += e.step)
          positions.push_back(at);
      }
      order.push_back(static_cast<int>(axes.size()));
      axes.push_back({positions, false, -1});
    } else if (e.kind == Entry::tensor) {
      List wrapped;
      for (const std::int64_t p : e.values) wrapped.push_back(p < 0 ? p + n : p);
      order.push_back(-2);
      axes.push_back({{}, true, static_cast<int>(tensors.size())});
      tensors.push_back(wrapped);
      tensor_shapes.push_back(e.shape);
    } else {
      std::vector<List> coordinates(e.shape.size());
      for (std::int64_t i = 0; i < product(e.shape); ++i) {
        if (e.values[static_cast<std::size_t>(i)] == 0) continue;
        const List at = unravel(i, e.shape);
        for (std::size_t k = 0; k < at.size(); ++k) coordinates[k].push_back(at[k]);
      }
      for (std::size_t k = 0; k < e.shape.size(); ++k) {
        order.push_back(-2);
        axes.push_back({{}, true, static_cast<int>(tensors.size())});
        tensor_shapes.push_back({static_cast<std::int64_t>(coordinates[k].size())});
        tensors.push_back(coordinates[k]);
      }
      axis += e.shape.size() - 1;
    }
    ++axis;
  }
  while (axes.size() < x.size()) {
    List whole(static_cast<std::size_t>(x[axes.size()]));
    std::iota(whole.begin(), whole.end(), 0);
    order.push_back(static_cast<int>(axes.size()));
    axes.push_back({whole, false, -1});
  }
  // The index tensors' common shape.
  List common;
  for (const List& shape : tensor_shapes) {
    if (shape.size() > common.size()) common.insert(common.begin(), shape.size() - common.size(), 1);
    for (std::size_t i = 0; i < shape.size(); ++i) {
      std::int64_t& length = common[common.size() - shape.size() + i];
      if (length == 1) length = shape[i];
    }
  }
  // Where its axes go: in place of neighbouring index tensors, to the front when something stands between them.
  Selection out;
  std::vector<int> result_axes;  // as `order`, -2 - k for axis k of the common shape
  const auto common_axes = [&] {
    for (std::size_t k = 0; k < common.size(); ++k) result_axes.push_back(-2 - static_cast<int>(k));
  };
  std::vector<std::size_t> stands;
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i] == -2) stands.push_back(i);
  }
  const bool apart = !stands.empty() && stands.back() - stands.front() + 1 != stands.size();
  if (apart) common_axes();
  for (std::size_t i = 0; i < order.size(); ++i) {
    if (order[i] != -2) result_axes.push_back(order[i]);
    else if (!apart && i == stands.front()) common_axes();
  }
  for (const int a : result_axes) {
    out.shape.push_back(a >= 0    ? static_cast<std::int64_t>(axes[static_cast<std::size_t>(a)].positions.size())
                        : a == -1 ? 1
                                  : common[static_cast<std::size_t>(-2 - a)]);
  }
  for (std::int64_t i = 0; i < product(out.shape); ++i) {
    const List at = unravel(i, out.shape);
    List from(x.size(), 0);
    List picked(common.size(), 0);
    for (std::size_t k = 0; k < result_axes.size(); ++k) {
      if (result_axes[k] >= 0) {
        const auto a = static_cast<std::size_t>(result_axes[k]);
        from[a] = axes[a].positions[static_cast<std::size_t>(at[k])];
      } else if (result_axes[k] <= -2) {
        picked[static_cast<std::size_t>(-2 - result_axes[k])] = at[k];
      }
    }
    for (std::size_t a = 0; a < axes.size(); ++a) {
      if (axes[a].tensor >= 0) {
        const auto t = static_cast<std::size_t>(axes[a].tensor);
        List index(tensor_shapes[t].size());
        for (std::size_t k = 0; k < index.size(); ++k) {
          index[k] = tensor_shapes[t][k] == 1 ? 0 : picked[common.size() - index.size() + k];
        }
        from[a] = tensors[t][static_cast<std::size_t>(ravel_of(index, tensor_shapes[t]))];
      } else if (axes[a].dropped) {
        from[a] = axes[a].positions[0];
      }
    }
    out.places.push_back(ravel_of(from, x));
  }
  return out;
}

class Draw {
 public:
  explicit Draw(unsigned seed) : random_(seed) {}
  std::int64_t pick(std::int64_t low, std::int64_t high) {
    return std::uniform_int_distribution<std::int64_t>(low, high)(random_);
  }

  // Index lists for a tensor of shape x; masks only where asked for.
  std::vector<Entry> entries(const List& x, bool masks) {
    std::vector<Entry> out;
    List common;
    for (std::int64_t i = pick(0, 2); i > 0; --i) common.push_back(pick(1, 3));
    bool mask_used = false;
    for (std::size_t axis = 0; axis < x.size(); ++axis) {
      if (pick(0, 4) == 0) out.push_back({.kind = Entry::fresh});
      if (axis > 0 && pick(0, 5) == 0) break;
      const std::int64_t n = x[axis];
      switch (pick(0, 5)) {
        case 0:
          if (n > 0) {
            out.push_back({.kind = Entry::integer, .position = pick(-n, n - 1)});
            break;
          }
          [[fallthrough]];
        case 1:
        case 2: {
          Entry e{.kind = Entry::range};
          if (pick(0, 1) == 0) e.start = pick(-n - 1, n + 1);
          if (pick(0, 1) == 0) e.stop = pick(-n - 1, n + 1);
          e.step = pick(0, 1) == 0 ? 1 : pick(0, 1) == 0 ? -1 : pick(2, 3);
          out.push_back(e);
          break;
        }
        default: {
          if (n == 0) {
            out.push_back({.kind = Entry::range});
            break;
          }
          if (masks && !mask_used && common.size() <= 1 && pick(0, 1) == 0) {
            mask_used = true;
            Entry e{.kind = Entry::mask, .shape = {n}};
            if (axis + 1 < x.size() && x[axis + 1] > 0 && pick(0, 1) == 0) e.shape.push_back(x[++axis]);
            std::int64_t count = 0;
            for (std::int64_t i = 0; i < product(e.shape); ++i) {
              e.values.push_back(pick(0, 1));
              count += e.values.back();
            }
            common = {count};  // tensors that follow must broadcast with it
            if (std::any_of(out.begin(), out.end(), [](const Entry& o) { return o.kind == Entry::tensor; })) {
              out.push_back({.kind = Entry::range});
              if (e.shape.size() == 2) --axis;
              common = {1};
            } else {
              out.push_back(e);
            }
            break;
          }
          Entry e{.kind = Entry::tensor};
          for (std::size_t k = static_cast<std::size_t>(pick(0, static_cast<std::int64_t>(common.size())));
               k < common.size(); ++k) {
            e.shape.push_back(pick(0, 3) == 0 ? 1 : common[k]);
          }
          for (std::int64_t i = 0; i < product(e.shape); ++i) e.values.push_back(pick(-n, n - 1));
          out.push_back(e);
        }
      }
    }
    return out;
  }

 private:
  std::mt19937 random_;
};

template <class Mode>
void check_at_random(unsigned first_seed, int count, bool masks) {
  using T = tyto::Tensor<Mode>;
  for (unsigned seed = first_seed; seed < first_seed + static_cast<unsigned>(count); ++seed) {
    CAPTURE(seed);
    Draw draw(seed);
    List shape;
    for (std::int64_t i = draw.pick(1, 4); i > 0; --i) shape.push_back(draw.pick(0, 12) == 0 ? 0 : draw.pick(1, 4));
    Numbers elements(static_cast<std::size_t>(product(shape)));
    std::iota(elements.begin(), elements.end(), 0.0);
    const std::vector<Entry> entries = draw.entries(shape, masks);
    std::vector<Index> indices;
    for (const Entry& e : entries) indices.push_back(e.index<T>());
    const Selection expected = reference(shape, entries);
    const T x = T::from(elements, Shape(shape));

    const T part = x.get(indices);
    REQUIRE(part.shape() == Shape(expected.shape));
    Numbers read;
    for (const std::int64_t place : expected.places) read.push_back(static_cast<double>(place));
    REQUIRE(numbers(part) == read);

    // Written one by one in row-major order: where places repeat, the last one stays.
    Numbers values, written = elements;
    for (std::size_t i = 0; i < expected.places.size(); ++i) {
      values.push_back(-1.0 - static_cast<double>(i));
      written[static_cast<std::size_t>(expected.places[i])] = values.back();
    }
    REQUIRE(numbers(set(x, indices, T::from(values, Shape(expected.shape)))) == written);
    for (const std::int64_t place : expected.places) written[static_cast<std::size_t>(place)] = 0.5;
    REQUIRE(numbers(set(x, indices, 0.5)) == written);
    REQUIRE(numbers(x) == elements);
  }
}

}  // namespace

TEST_CASE_TEMPLATE("integers, slices, new axes and index tensors read and write what they name", Mode, tyto::Eager,
                   tyto::Lazy) {
  check_at_random<Mode>(0, 500, false);
}

TEST_CASE("masks read and write what they name in eager mode") { check_at_random<tyto::Eager>(5000, 500, true); }

TEST_CASE_TEMPLATE("an integer between index tensors does not part them", Mode, tyto::Eager, tyto::Lazy) {
  using T = tyto::Tensor<Mode>;
  // np.zeros((2,3,4,5))[:, [0,1,1], 0, [1,2,3]].shape == (2, 3)
  CHECK(T::zeros({2, 3, 4, 5})(all, T{0, 1, 1}, 0, T{1, 2, 3}).shape() == Shape{2, 3});
  // ...[:, [0,1,1], :, [1,2,3]].shape == (3, 2, 4)
  CHECK(T::zeros({2, 3, 4, 5})(all, T{0, 1, 1}, all, T{1, 2, 3}).shape() == Shape{3, 2, 4});
}

TEST_CASE_TEMPLATE("index tensors of every integer type pick", Mode, tyto::Eager, tyto::Lazy) {
  using T = tyto::Tensor<Mode>;
  for (const DType type :
       {DType::u8, DType::u16, DType::u32, DType::u64, DType::i8, DType::i16, DType::i32, DType::i64}) {
    CHECK(numbers(T{10, 20, 30}(T{2, 0}.astype(type))) == Numbers{30, 10});
  }
  CHECK_THROWS_AS((T{10, 20, 30}(T{1.0})), tyto::TypeError);
}

TEST_CASE_TEMPLATE("an index outside its axis is an error and not a read elsewhere", Mode, tyto::Eager, tyto::Lazy) {
  using T = tyto::Tensor<Mode>;
  const T x{10, 20, 30};
  CHECK_THROWS_AS(numbers(x(T{3})), tyto::IndexError);
  CHECK_THROWS_AS(numbers(x(T{-4})), tyto::IndexError);
  CHECK_THROWS_AS(numbers(set(x, {T{3}}, 1)), tyto::IndexError);
  CHECK(numbers(x(T{-3, 2})) == Numbers{10, 30});
}

// In NumPy, x[True] adds an axis; here a bool among the indices is a mistake that does not compile.
static_assert(!std::is_constructible_v<Index, bool> && std::is_constructible_v<Index, int>);

TEST_CASE("a mask of another shape is refused, and a mask reads in eager mode only") {
  using Eager = tyto::Tensor<tyto::Eager>;
  using Lazy = tyto::Tensor<tyto::Lazy>;
  CHECK_THROWS_AS((Eager{1, 2, 3}(Eager{true, false})), tyto::IndexError);
  Lazy x{1, 2, 3};
  const Lazy mask{true, false, true};
  const char* told =
      "index: the shape of what a mask picks depends on the data, so only eager mode reads it or gives each element a "
      "value of its own; choose by where(mask, v, x), or assign a single number: x(mask) = 0";
  CHECK_THROWS_WITH_AS(std::as_const(x)(mask), told, tyto::GraphError);
  CHECK_THROWS_WITH_AS(x.get({mask}), told, tyto::GraphError);
  // Of an x that can be assigned to as well, whatever becomes of the part.
  CHECK_THROWS_WITH_AS(Lazy(x(mask)).shape(), told, tyto::GraphError);
  Lazy y;
  CHECK_THROWS_WITH_AS(y = x(mask), told, tyto::GraphError);
  CHECK_THROWS_WITH_AS(([](Lazy part) { return part + 1; })(x(mask)), told, tyto::GraphError);
  CHECK_THROWS_WITH_AS(x(mask) += 1, told, tyto::GraphError);
  CHECK_THROWS_WITH_AS((x(mask) = Lazy{4, 5}), told, tyto::GraphError);
  CHECK_THROWS_WITH_AS(sum(x(mask)), told, tyto::GraphError);
  CHECK_THROWS_WITH_AS((void)x(mask).shape(), told, tyto::GraphError);
  x(mask) = 9;
  CHECK(numbers(x) == Numbers{9, 2, 9});
}

TEST_CASE_TEMPLATE("one number in braces is a position to split at, as in NumPy, and a bare one a count", Mode,
                   tyto::Eager, tyto::Lazy) {
  using T = tyto::Tensor<Mode>;
  const T x = T::arange(6);
  const auto lengths = [](const std::vector<T>& parts) {
    List out;
    for (const T& part : parts) out.push_back(part.size());
    return out;
  };
  CHECK(lengths(split(x, 2)) == List{3, 3});
  CHECK(lengths(split(x, {2})) == List{2, 4});
  CHECK(lengths(split(x, {2, 4})) == List{2, 2, 2});
  CHECK(lengths(split(x, {})) == List{6});
  CHECK(lengths(split(x.reshape({1, 6}), {5}, 1)) == List{5, 1});
  CHECK(numbers(split(x, {2})[1]) == Numbers{2, 3, 4, 5});
}

TEST_CASE("an eager index list is a view of the same memory, of views and parts of complex numbers too") {
  using T = tyto::Tensor<tyto::Eager>;
  const T x = T::arange(24).reshape({2, 3, 4});
  const auto* const first = x.data<std::int64_t>().data();
  CHECK(x(1, tyto::ellipsis, 2, tyto::newaxis).shape() == Shape{3, 1});
  CHECK(numbers(x(1, tyto::ellipsis, 2, tyto::newaxis)) == Numbers{14, 18, 22});
  const T row = x[1][2];
  CHECK(row.data<std::int64_t>().data() == first + 20);
  CHECK(numbers(x.T()(slice({}, {}, -2), -1, 0)) == Numbers{11, 9});
  CHECK(x(slice(2, 1), 1).shape() == Shape{0, 4});
  const T z = tyto::complex(x, -2 * x)(all, slice({}, {}, 2), slice(3, 1, -1));
  CHECK(numbers(real(z)) == Numbers{3, 2, 11, 10, 15, 14, 23, 22});
  CHECK(numbers(imag(z)) == Numbers{-6, -4, -22, -20, -30, -28, -46, -44});
  const std::vector<T> parts = unstack(x.T(), 1);
  REQUIRE(parts.size() == 3);
  CHECK(numbers(parts[2]) == Numbers{8, 20, 9, 21, 10, 22, 11, 23});
  CHECK(unstack(T::zeros({0, 2})).empty());
  CHECK(numbers(tyto::grad([](const T& y) { return y[1](0) * y[1](0); })(T{{1.0, 2.0}, {3.0, 4.0}})) ==
        Numbers{0, 0, 6, 0});
}
