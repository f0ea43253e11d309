// SPDX-License-Identifier: MIT
// A program drawn at random. Every choice depends on the seed, on types and on shapes, never on data, so that the same
// seed draws the same program in both modes.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/graph/operator.hpp"
#include "tests/fuzz/dice.hpp"
#include "tyto/tyto.hpp"

namespace tyto::fuzz {

template <class M>
class Drawing;

/// One kind of step: makes a tensor of those drawn before.
template <class M>
struct Move {
  const char* name;
  int weight;
  Tensor<M> (*make)(Drawing<M>&);
};

/// Floating operands moved by chance: what a program makes of that tells how far rounding may take its results, and
/// which of them depend on what is left open: the sign of a NaN, or of a zero that is the larger or smaller of two
/// numbers, and gradients of zero.
struct Noise {
  double places = 0;  ///< how far, in last places of the type; 0: not at all
  /// Whether equal elements move together, as kernels round them. Where each moves by itself, the smallest of many
  /// equals lies below them all, which no rounding of theirs makes of it.
  bool alike = false;
  bool open_signs = false;  ///< whether each such NaN and zero gets a sign by chance
  /// Whether regions, by chance, give what they were given gradients of zero where eager mode gives none, as a graph's
  /// do (docs/semantics.md): zero times an infinite derivative is NaN.
  bool open_gradients = false;
  std::uint64_t seed = 0;
};

/// Where a drawing stands within others.
struct Nesting {
  int depth = 0;
  bool in_gradient = false;
  /// In a region in a gradient: a graph differentiates arms and iterations that eager mode does not come to, so that
  /// only what has a gradient is drawn.
  bool in_differentiated_region = false;
};

/// Whether an operator gives the larger or smaller of its operands, whose sign is open where that is zero.
bool is_extreme(core::OpId op);

/// No tensor grows beyond this.
inline constexpr std::int64_t most_elements = 3000;

/// `x` in another shape: its elements in order, cut off or repeated.
template <class M>
Tensor<M> resized(const Tensor<M>& x, const Shape& shape);

template <class M>
class Drawing {
 public:
  Drawing(std::uint64_t seed, std::vector<Tensor<M>> leaves, Noise noise = {}, Nesting nesting = {});

  /// Makes one move, or one that is a loop or branch. What it refuses, by an error of the library, is noted in the
  /// transcript.
  void step(bool region = false);

  Dice& dice() { return dice_; }
  int depth() const { return nesting_.depth; }
  const Nesting& nesting() const { return nesting_; }
  const Noise& noise() const { return noise_; }
  const std::vector<Tensor<M>>& tensors() const { return tensors_; }
  const std::vector<std::string>& transcript() const { return transcript_; }
  /// Draws from the random sequence, all of which have to be results: a graph draws only what it needs.
  std::vector<Tensor<M>>& draws() { return draws_; }
  /// Eager mode: whether all tensors were numbers so far.
  bool finite() const { return finite_; }
  /// Eager mode: whether regions were given and gave nothing but dense arrays, as they are in a graph.
  bool dense_borders() const { return dense_borders_; }
  void note_border(const std::vector<Tensor<M>>& crossing);
  /// Learns that `inner` was drawn as the body of one of its moves.
  void take_in(const Drawing& inner) {
    finite_ = finite_ && inner.finite_;
    dense_borders_ = dense_borders_ && inner.dense_borders_;
  }
  /// Learns what `inner` drew to be differentiated, which both modes draw once.
  void note_transcript_of(const Drawing& inner) {
    for (const std::string& line : inner.transcript_) transcript_.push_back("  " + line);
    dense_borders_ = dense_borders_ && inner.dense_borders_;
  }
  /// Eager mode: whether a region's missing gradients are to be zeros, by chance.
  bool gives_open_gradients();

  /// Some tensor, recent ones more often.
  Tensor<M> any() { return perturbed(pick()); }
  /// x on its way into an operator: noise may move it, and eager mode looks whether it is a number.
  Tensor<M> perturbed(const Tensor<M>& x);
  /// Some tensor of floating-point type; others are cast.
  Tensor<M> floating();
  /// Some tensor with at least so many axes; others get axes of length 1.
  Tensor<M> ranked(int axes);
  /// Some tensor or number that broadcasts against x.
  Tensor<M> beside(const Tensor<M>& x);
  /// Data of some tensor in this shape and type.
  Tensor<M> shaped(const Shape& shape, DType dtype);
  /// Positions below `limit`: given numbers, or computed from data.
  Tensor<M> positions(const Shape& shape, std::int64_t limit);
  std::int64_t axis_of(const Tensor<M>& x) { return dice_.below(x.ndim()) - (dice_.one_in(2) ? x.ndim() : 0); }
  /// None, some or all axes.
  Axes axes_of(const Tensor<M>& x);
  DType dtype();

 private:
  const Tensor<M>& pick();

  Dice dice_;
  Noise noise_;
  Nesting nesting_;
  std::uint64_t perturbations_ = 0;
  bool finite_ = true;
  bool dense_borders_ = true;
  std::vector<Tensor<M>> tensors_;
  std::vector<Tensor<M>> draws_;
  std::vector<std::string> transcript_;
};

// The moves by family.
template <class M>
std::span<const Move<M>> elementwise_moves();
template <class M>
std::span<const Move<M>> shaping_moves();
template <class M>
std::span<const Move<M>> indexing_moves();
template <class M>
std::span<const Move<M>> reduction_moves();
template <class M>
std::span<const Move<M>> product_moves();
template <class M>
std::span<const Move<M>> linalg_moves();
template <class M>
std::span<const Move<M>> complex_moves();
template <class M>
std::span<const Move<M>> creation_moves();
template <class M>
std::span<const Move<M>> gradient_moves();
template <class M>
std::span<const Move<M>> rule_moves();
template <class M>
std::span<const Move<M>> pattern_moves();
template <class M>
std::span<const Move<M>> region_moves();

extern template class Drawing<Eager>;
extern template class Drawing<Lazy>;

}  // namespace tyto::fuzz

/// Puts a family's table into its file for both modes.
#define TYTO_FUZZ_MOVES(family, ...)                     \
  template <class M>                                     \
  std::span<const Move<M>> family() {                    \
    static constexpr Move<M> list[] = {__VA_ARGS__};     \
    return list;                                         \
  }                                                      \
  template std::span<const Move<Eager>> family<Eager>(); \
  template std::span<const Move<Lazy>> family<Lazy>();
