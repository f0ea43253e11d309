// SPDX-License-Identifier: MIT
// Picks operands and makes moves.
#include "tests/fuzz/drawing.hpp"

#include <algorithm>
#include <bit>

#include "core/graph/builder.hpp"
#include "core/graph/op_ids.hpp"
#include "core/graph/symbol.hpp"
#include "core/value/floating_format.hpp"
#include "core/value/shape.hpp"
#include "core/value/text.hpp"
#include "core/value/view.hpp"

namespace tyto::fuzz {

namespace {

template <class M>
const std::vector<Move<M>>& moves() {
  static const std::vector<Move<M>> list = [] {
    std::vector<Move<M>> all;
    for (const auto& family : {elementwise_moves<M>(), shaping_moves<M>(), indexing_moves<M>(), reduction_moves<M>(),
                               product_moves<M>(), linalg_moves<M>(), complex_moves<M>(), creation_moves<M>(),
                               gradient_moves<M>(), rule_moves<M>(), pattern_moves<M>(), region_moves<M>()}) {
      all.insert(all.end(), family.begin(), family.end());
    }
    return all;
  }();
  return list;
}

// A number from -1 to 1 for each element that depends on its value, so that equal ones have the same.
Tensor<Eager> chance_of_numbers(const Tensor<Eager>& x, const Key& key) {
  std::vector<double> numbers = cast(ravel(x), DType::f64).to_vector<double>();
  for (double& number : numbers) {
    number = static_cast<double>(key.split(std::bit_cast<std::uint64_t>(number)).seed >> 11) * 0x1p-52 - 1;
  }
  return Tensor<Eager>::from(numbers, x.shape());
}

}  // namespace

bool is_extreme(core::OpId op) {
  using enum core::OpId;
  switch (op) {
    case maximum:
    case minimum:
    case fmax:
    case fmin:
    case relu:
    case clip:
    case max:
    case min: return true;
    default: return false;
  }
}

template <class M>
Tensor<M> resized(const Tensor<M>& x, const Shape& shape) {
  const std::int64_t count = element_count(shape);
  if (count == 0) return Tensor<M>::zeros(shape, x.dtype());
  if (x.size() == 0) return Tensor<M>::ones(shape, x.dtype());
  Tensor<M> line = ravel(x);
  if (line.size() < count) line = tile(line, {(count + line.size() - 1) / line.size()});
  return reshape(line.get({slice(0, count)}), shape);
}
template Tensor<Eager> resized(const Tensor<Eager>&, const Shape&);
template Tensor<Lazy> resized(const Tensor<Lazy>&, const Shape&);

template <class M>
Drawing<M>::Drawing(std::uint64_t seed, std::vector<Tensor<M>> leaves, Noise noise, Nesting nesting)
    : dice_(seed), noise_(noise), nesting_(nesting), tensors_(std::move(leaves)) {}

template <class M>
void Drawing<M>::step(bool region) {
  const auto weight_of = [](std::span<const Move<M>> list) {
    std::int64_t sum = 0;
    for (const Move<M>& move : list) sum += move.weight;
    return sum;
  };
  static const std::int64_t weight_of_all = weight_of(moves<M>());
  const std::span<const Move<M>> list = region ? region_moves<M>() : std::span<const Move<M>>(moves<M>());
  std::int64_t ticket = dice_.below(region ? weight_of(list) : weight_of_all);
  std::size_t chosen = 0;
  while (ticket >= list[chosen].weight) ticket -= list[chosen++].weight;
  const Move<M>& move = list[chosen];
  try {
    Tensor<M> made = move.make(*this);
    // Values that grow without bounds become infinity, which hides all later faults.
    if (is_floating(made.dtype()) && dice_.one_in(4)) made = softsign(perturbed(made));
    if constexpr (std::is_same_v<M, Eager>) {
      if (finite_ && is_floating(made.dtype())) finite_ = all(isfinite(made)).template item<bool>();
    }
    transcript_.push_back(std::string(move.name) + " -> " + core::text(made.dtype(), " ", made.shape()));
    if (made.size() <= most_elements && made.ndim() <= 6) tensors_.push_back(std::move(made));
  } catch (const Error& error) {
    transcript_.push_back(std::string(move.name) + ": " + error.what());
  }
}

template <class M>
const Tensor<M>& Drawing<M>::pick() {
  const auto count = static_cast<std::int64_t>(tensors_.size());
  const std::int64_t back = dice_.one_in(4) ? dice_.below(count) : dice_.below(std::min<std::int64_t>(5, count));
  return tensors_[static_cast<std::size_t>(count - 1 - back)];
}

template <class M>
Tensor<M> Drawing<M>::perturbed(const Tensor<M>& x) {
  if constexpr (std::is_same_v<M, Eager>) {
    const bool noisy = noise_.places != 0 || noise_.open_signs;
    if (finite_ && !noisy && is_floating(x.dtype())) finite_ = all(isfinite(x)).template item<bool>();
    // A scalar stays as it is: moved, it would have a type of its own.
    const bool weak = x.value().node()->results()[x.value().output()].type.weak;
    if (!noisy || weak || !is_floating(x.dtype())) return x;
    const Key key{noise_.seed, ++perturbations_};
    const Tensor<M> chance =
        noise_.alike ? chance_of_numbers(x, key)
                     : Tensor<M>::uniform(x.shape(), {.low = -1, .high = 1, .dtype = DType::f64, .key = key});
    const double reach = noise_.places * core::format_of(x.dtype()).epsilon();
    const Tensor<M> moved = reach == 0 ? x : cast(cast(x, DType::f64) * (chance * reach + 1.0), x.dtype());
    if (!noise_.open_signs) return moved;
    const Tensor<M> open = is_extreme(x.value().node()->op()) ? isnan(x) || x == 0.0 : isnan(x);
    if (!tyto::any(open).template item<bool>()) return moved;
    return where(open, copysign(moved, cast(chance, x.dtype())), moved);
  }
  return x;
}

template <class M>
void Drawing<M>::note_border(const std::vector<Tensor<M>>& crossing) {
  if constexpr (std::is_same_v<M, Eager>) {
    for (const Tensor<M>& x : crossing) {
      dense_borders_ = dense_borders_ && core::is_dense(core::result_of(core::resolve(x.value())).array.view);
    }
  }
}

template <class M>
bool Drawing<M>::gives_open_gradients() {
  return std::is_same_v<M, Eager> && noise_.open_gradients && Dice(noise_.seed * 31 + ++perturbations_).one_in(2);
}

template <class M>
Tensor<M> Drawing<M>::floating() {
  const Tensor<M> x = any();
  return is_floating(x.dtype()) ? x : cast(x, dice_.of({DType::f32, DType::f64}));
}

template <class M>
Tensor<M> Drawing<M>::ranked(int axes) {
  Tensor<M> x = any();
  Shape shape = x.shape();
  while (shape.rank() < axes) shape.insert(static_cast<std::size_t>(dice_.below(shape.rank() + 1)), 1);
  return shape == x.shape() ? x : reshape(x, shape);
}

template <class M>
Tensor<M> Drawing<M>::beside(const Tensor<M>& x) {
  switch (dice_.below(6)) {
    case 0: return Tensor<M>(dice_.of({0.0, -0.0, 1.0, -1.0, 2.0, 0.5, 3.0, 1e-3}));
    case 1: return Tensor<M>(static_cast<int>(dice_.between(-2, 3)));
    case 2: return Tensor<M>::full(x.shape(), dice_.of({0.0, 1.0, 2.0, -0.5}), x.dtype());
    case 3: return shaped(x.shape(), x.dtype());
    default: break;
  }
  const Tensor<M> other = any();
  const bool fits = core::broadcastable(other.shape(), x.shape()) || core::broadcastable(x.shape(), other.shape());
  return fits ? other : shaped(x.shape(), other.dtype());
}

template <class M>
Tensor<M> Drawing<M>::shaped(const Shape& shape, DType dtype) {
  const Tensor<M> x = any();
  Tensor<M> typed = x;
  if (x.dtype() != dtype) {
    // A truth value tells a number from zero, which what is left of numbers that cancel may be or not.
    const bool is_told_from_zero = dtype == DType::boolean && is_floating(x.dtype());
    typed = cast(is_told_from_zero ? trunc(x * 4096) : x, dtype);
    // It may have rounded away what moved the number before.
    if (is_floating(x.dtype())) typed = perturbed(typed);
  }
  return typed.shape() == shape ? typed : resized(typed, shape);
}

template <class M>
Tensor<M> Drawing<M>::positions(const Shape& shape, std::int64_t limit) {
  if (dice_.one_in(2)) {
    const Tensor<M> whole = cast(shaped(shape, DType::f32), DType::i64);
    return remainder(whole, Tensor<M>(static_cast<std::int64_t>(std::max<std::int64_t>(1, limit))));
  }
  std::vector<std::int64_t> list(static_cast<std::size_t>(element_count(shape)));
  for (std::int64_t& position : list) position = dice_.below(limit);
  return Tensor<M>::from(list, shape);
}

template <class M>
Axes Drawing<M>::axes_of(const Tensor<M>& x) {
  IntList axes;
  for (int i = 0; i < x.ndim(); ++i) {
    if (dice_.one_in(2)) axes.push_back(dice_.one_in(3) ? i - x.ndim() : i);
  }
  return axes.empty() ? Axes{} : Axes(axes);
}

template <class M>
DType Drawing<M>::dtype() {
  if (dice_.one_in(2)) return dice_.of({DType::f32, DType::f32, DType::f64});
  return dice_.of({DType::boolean, DType::u8, DType::u16, DType::u32, DType::u64, DType::i8, DType::i16, DType::i32,
                   DType::i64, DType::f16, DType::bf16, DType::f32, DType::f64});
}

template class Drawing<Eager>;
template class Drawing<Lazy>;

}  // namespace tyto::fuzz
