// SPDX-License-Identifier: MIT
// Moves that gather, scatter and sort.
#include "tests/fuzz/drawing.hpp"

namespace tyto::fuzz {

namespace {

template <class M>
std::int64_t length_of(const Tensor<M>& x, std::int64_t axis) {
  return x.shape()[static_cast<std::size_t>(axis < 0 ? axis + x.ndim() : axis)];
}

template <class M>
Tensor<M> pick_slices(Drawing<M>& d) {
  const Tensor<M> x = d.ranked(1);
  const std::int64_t axis = d.axis_of(x);
  if (length_of(x, axis) == 0) return x;
  const Shape shape = d.dice().one_in(2) ? Shape{d.dice().between(0, 5)} : Shape{2, d.dice().between(1, 3)};
  return take(x, d.positions(shape, length_of(x, axis)), axis);
}

template <class M>
Tensor<M> pick_along(Drawing<M>& d) {
  const Tensor<M> x = d.ranked(1);
  const std::int64_t axis = d.axis_of(x);
  if (length_of(x, axis) == 0) return x;
  Shape shape = x.shape();
  shape[static_cast<std::size_t>(axis < 0 ? axis + x.ndim() : axis)] = d.dice().between(1, 4);
  return take_along_axis(x, d.positions(shape, length_of(x, axis)), axis);
}

template <class M>
Tensor<M> pick_points(Drawing<M>& d) {
  const Tensor<M> x = d.ranked(2);
  if (x.size() == 0) return x;
  const Shape shape{d.dice().between(1, 6)};
  return gather(x, std::vector<Tensor<M>>{d.positions(shape, x.shape()[0]), d.positions(shape, x.shape()[1])});
}

// Places written to once each: which of several values stays is nobody's promise.
template <class M>
Tensor<M> put_points(Drawing<M>& d) {
  const Tensor<M> x = d.ranked(1);
  const std::int64_t length = x.shape()[0];
  if (x.size() == 0) return x;
  std::vector<std::int64_t> places;
  for (std::int64_t i = d.dice().below(length); i < length; i += d.dice().between(1, 3)) places.push_back(i);
  Shape shape = x.shape();
  shape[0] = static_cast<std::int64_t>(places.size());
  return scatter(x, std::vector<Tensor<M>>{Tensor<M>::from(places, {shape[0]})}, d.shaped(shape, x.dtype()));
}

template <class M>
Tensor<M> add_points(Drawing<M>& d) {
  const Tensor<M> x = d.ranked(1);
  if (x.size() == 0) return x;
  Shape shape = x.shape();
  shape[0] = d.dice().between(1, 5);
  return scatter_add(x, std::vector<Tensor<M>>{d.positions({shape[0]}, x.shape()[0])}, d.shaped(shape, x.dtype()));
}

template <class M>
Tensor<M> combine_points(Drawing<M>& d) {
  const Tensor<M> x = d.ranked(1);
  if (x.size() == 0) return x;
  Shape shape = x.shape();
  shape[0] = d.dice().between(1, 5);
  const std::vector<Tensor<M>> places{d.positions({shape[0]}, x.shape()[0])};
  const Tensor<M> values = d.shaped(shape, x.dtype());
  switch (d.dice().below(3)) {
    case 0: return scatter_multiply(x, places, values);
    case 1: return scatter_min(x, places, values);
    default: return scatter_max(x, places, values);
  }
}

template <class M>
Tensor<M> classes(Drawing<M>& d) {
  const Tensor<M> numbers = d.positions({d.dice().between(0, 4), 2}, 5);
  return one_hot(check_bounds(numbers, {.low = -5, .high = 4}), d.dice().between(3, 6), d.dtype());
}

template <class M>
Tensor<M> order(Drawing<M>& d) {
  const Tensor<M> x = d.ranked(1);
  const std::int64_t axis = d.axis_of(x);
  const bool falling = d.dice().one_in(2);
  const std::int64_t length = length_of(x, axis);
  switch (d.dice().below(length == 0 ? 4 : 7)) {
    case 0: return sort(x, axis, falling);
    case 1: return argsort(x, axis, falling);
    case 4: return partition(x, d.dice().between(0, length - 1), axis);
    case 5: return argpartition(x, d.dice().between(0, length - 1), axis);
    case 6: return median(x, axis);
    default: {
      const TopK<M> top = topk(x, d.dice().between(0, length), axis, falling);
      return d.dice().one_in(2) ? top.values : top.indices;
    }
  }
}

// Boxes of any numbers, even those that end before they begin, and scores with ties.
template <class M>
Tensor<M> choose_boxes(Drawing<M>& d) {
  const std::int64_t count = d.dice().between(0, 9);
  const Kept<M> kept = nms(d.shaped({count, 4}, DType::f32), d.shaped({count}, DType::f32),
                           {.count = d.dice().between(0, 6), .overlap = 0.3});
  return d.dice().one_in(3) ? kept.count : kept.indices;
}

template <class M>
Tensor<M> count_up(Drawing<M>& d) {
  const Tensor<M> edges = sort(d.shaped({d.dice().between(2, 5)}, DType::f32));
  return d.dice().one_in(2) ? searchsorted(edges, cast(d.any(), DType::f32), d.dice().one_in(2))
                            : histogram(cast(d.any(), DType::f32), edges);
}

}  // namespace

TYTO_FUZZ_MOVES(indexing_moves, {"pick_slices", 3, pick_slices<M>}, {"pick_along", 3, pick_along<M>},
                {"pick_points", 2, pick_points<M>}, {"put_points", 2, put_points<M>}, {"add_points", 2, add_points<M>},
                {"combine_points", 2, combine_points<M>}, {"classes", 1, classes<M>}, {"order", 3, order<M>},
                {"count_up", 2, count_up<M>}, {"choose_boxes", 1, choose_boxes<M>})

}  // namespace tyto::fuzz
