// SPDX-License-Identifier: MIT
// Moves that change shape, layout and type: views, copies, joins, cuts.
#include <algorithm>
#include <numeric>

#include "tests/fuzz/drawing.hpp"

namespace tyto::fuzz {

namespace {

template <class M>
Tensor<M> change_type(Drawing<M>& d) {
  return cast(d.any(), d.dtype());
}

template <class M>
Tensor<M> duplicate(Drawing<M>& d) {
  return d.dice().one_in(2) ? copy(d.any()) : stop_gradient(d.any());
}

// The elements distributed over the factors of their count.
template <class M>
Tensor<M> change_shape(Drawing<M>& d) {
  const Tensor<M> x = d.any();
  if (x.size() == 0 || d.dice().one_in(4)) return ravel(x);
  Shape shape;
  std::int64_t rest = x.size();
  while (shape.rank() < 3) {
    std::int64_t factor = d.dice().template of<std::int64_t>({1, 2, 3, 4, 5});
    if (rest % factor != 0) factor = 1;
    shape.push_back(factor);
    rest /= factor;
  }
  shape.insert(static_cast<std::size_t>(d.dice().below(4)), d.dice().one_in(3) ? -1 : rest);
  return reshape(x, shape);
}

template <class M>
Tensor<M> permute(Drawing<M>& d) {
  const Tensor<M> x = d.any();
  if (d.dice().one_in(3)) return transpose(x);
  IntList order(static_cast<std::size_t>(x.ndim()), 0);
  std::iota(order.begin(), order.end(), 0);
  for (std::size_t i = order.size(); i > 1; --i) {
    std::swap(order[i - 1], order[static_cast<std::size_t>(d.dice().below(static_cast<std::int64_t>(i)))]);
  }
  return transpose(x, order);
}

template <class M>
Tensor<M> stretch(Drawing<M>& d) {
  Tensor<M> x = d.any();
  Shape shape = x.shape();
  for (std::int64_t& length : shape) {
    if (length == 1) length = d.dice().between(1, 4);
  }
  if (d.dice().one_in(2)) shape.insert(0, d.dice().between(1, 3));
  return element_count(shape) > most_elements ? squeeze(x) : broadcast_to(x, shape);
}

template <class M>
Index part_of(Drawing<M>& d, std::int64_t length) {
  switch (d.dice().below(5)) {
    case 0:
      return d.dice().one_in(2) && length > 0 ? Index(d.dice().below(length) - (d.dice().one_in(2) ? length : 0))
                                              : Index(all);
    case 1: return all;
    case 2: return slice({}, {}, d.dice().template of<std::int64_t>({-1, 2, -2, 3}));
    default: {
      const std::int64_t start = d.dice().below(length + 1);
      return slice(start, d.dice().between(start, length));
    }
  }
}

template <class M>
std::vector<Index> index_into(Drawing<M>& d, const Tensor<M>& x) {
  std::vector<Index> entries;
  for (int i = 0; i < x.ndim(); ++i) {
    if (d.dice().one_in(6)) entries.emplace_back(newaxis);
    if (d.dice().one_in(6)) {
      entries.emplace_back(ellipsis);
      break;
    }
    entries.push_back(part_of(d, x.shape()[static_cast<std::size_t>(i)]));
  }
  return entries;
}

template <class M>
Tensor<M> cut(Drawing<M>& d) {
  const Tensor<M> x = d.any();
  return x.get(index_into(d, x));
}

template <class M>
Tensor<M> replace_part(Drawing<M>& d) {
  const Tensor<M> x = d.any();
  const std::vector<Index> entries = index_into(d, x);
  if (d.dice().one_in(3)) return set(x, entries, Tensor<M>(1));
  return set(x, entries, d.shaped(x.get(entries).shape(), x.dtype()));
}

template <class M>
Tensor<M> reverse(Drawing<M>& d) {
  const Tensor<M> x = d.any();
  return flip(x, d.axes_of(x));
}

template <class M>
Tensor<M> lines(Drawing<M>& d) {
  const Tensor<M> x = d.ranked(2);
  return diagonal(x, d.dice().between(-1, 1), 0, x.ndim() - 1);
}

template <class M>
Tensor<M> triangle(Drawing<M>& d) {
  const std::int64_t k = d.dice().between(-1, 1);
  switch (d.dice().below(3)) {
    case 0: return tril(d.ranked(2), k);
    case 1: return triu(d.ranked(2), k);
    default: return diag(d.shaped({d.dice().between(1, 6)}, d.dtype()), k);
  }
}

// Parts of one type that fit along an axis, views of one another among them.
template <class M>
Tensor<M> join(Drawing<M>& d) {
  const Tensor<M> x = d.ranked(1);
  const std::int64_t axis = d.axis_of(x);
  std::vector<Tensor<M>> parts{x};
  const std::int64_t more = d.dice().between(0, 3);
  if (d.dice().one_in(2)) {
    for (std::int64_t i = 0; i < more; ++i) parts.push_back(d.shaped(x.shape(), x.dtype()));
    return stack(parts, axis);
  }
  for (std::int64_t i = 0; i < more; ++i) {
    Shape shape = x.shape();
    shape[static_cast<std::size_t>(axis < 0 ? axis + x.ndim() : axis)] = d.dice().between(0, 4);
    parts.push_back(d.dice().one_in(4) ? x : d.shaped(shape, x.dtype()));
  }
  return concat(parts, axis);
}

// A half of a concat is written over by what is computed of the part that lay there, and the part read again: a place
// with two contents, of which the first is wanted until the second is there or longer.
template <class M>
Tensor<M> replace_half(Drawing<M>& d) {
  const Tensor<M> x = d.ranked(2);
  const Shape& shape = x.shape();
  const std::int64_t length = shape[0], last = x.ndim() - 1;
  // Rolled, so that a kernel of its own computes it.
  const Tensor<M> part = roll(x, {1}, {last}), other = d.shaped(shape, x.dtype());
  const bool upper = d.dice().one_in(2);
  Tensor<M> value;
  switch (d.dice().below(4)) {
    case 0: value = flip(part, last); break;
    case 1: value = x.ndim() == 2 && length == shape[1] ? transpose(part) : flip(part, 0); break;
    case 2:
      value = x.ndim() == 2 && length == shape[1] && is_floating(x.dtype()) ? matmul(transpose(part), part) : part;
      break;
    default: value = d.shaped(shape, x.dtype());
  }
  const Tensor<M> whole = concat(upper ? std::vector<Tensor<M>>{other, part} : std::vector<Tensor<M>>{part, other}, 0);
  const Tensor<M> written = set(whole, {upper ? slice(length, 2 * length) : slice(0, length)}, value);
  return d.dice().one_in(2) ? written : concat(std::vector<Tensor<M>>{written, roll(part, {1}, {0})}, 0);
}

template <class M>
Tensor<M> divide_up(Drawing<M>& d) {
  const Tensor<M> x = d.ranked(1);
  const std::int64_t axis = d.dice().below(x.ndim());
  const std::int64_t length = x.shape()[static_cast<std::size_t>(axis)];
  const std::int64_t parts = length > 0 && length % 2 == 0 ? 2 : std::max<std::int64_t>(length, 1);
  const std::vector<Tensor<M>> made = split(x, parts, axis);
  return d.dice().one_in(2) ? concat(std::vector<Tensor<M>>{made.back(), made.front()}, axis) : d.dice().from(made);
}

template <class M>
Tensor<M> multiply_out(Drawing<M>& d) {
  const Tensor<M> x = d.ranked(1);
  switch (d.dice().below(3)) {
    case 0: return tile(x, {d.dice().between(1, 3)});
    case 1: return repeat(x, d.dice().between(1, 3), d.axis_of(x));
    default: return roll(x, {d.dice().between(-3, 3)}, {d.axis_of(x)});
  }
}

template <class M>
Tensor<M> pad_out(Drawing<M>& d) {
  const Tensor<M> x = d.any();
  IntList before;
  IntList after;
  for (const std::int64_t length : x.shape()) {
    const std::int64_t most = std::min<std::int64_t>(2, length - 1);
    before.push_back(d.dice().between(0, std::max<std::int64_t>(0, most)));
    after.push_back(d.dice().between(0, std::max<std::int64_t>(0, most)));
  }
  return pad(x, before, after, d.dice().of({PaddingMode::constant, PaddingMode::edge, PaddingMode::reflect}),
             d.dice().of({0, 1, 7}));
}

template <class M>
Tensor<M> like(Drawing<M>& d) {
  const Tensor<M> x = d.any();
  return d.dice().one_in(2) ? zeros_like(x) : ones_like(x);
}

}  // namespace

TYTO_FUZZ_MOVES(shaping_moves, {"change_type", 6, change_type<M>}, {"duplicate", 2, duplicate<M>},
                {"change_shape", 6, change_shape<M>}, {"permute", 6, permute<M>}, {"stretch", 5, stretch<M>},
                {"cut", 8, cut<M>}, {"replace_part", 4, replace_part<M>}, {"reverse", 2, reverse<M>},
                {"lines", 1, lines<M>}, {"triangle", 2, triangle<M>}, {"join", 3, join<M>},
                {"replace_half", 2, replace_half<M>}, {"divide_up", 3, divide_up<M>},
                {"multiply_out", 4, multiply_out<M>}, {"pad_out", 3, pad_out<M>}, {"like", 1, like<M>})

}  // namespace tyto::fuzz
