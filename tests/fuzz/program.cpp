// SPDX-License-Identifier: MIT
// Draws a trial's program and its data from the seed.
#include "tests/fuzz/program.hpp"

#include <cmath>
#include <limits>

namespace tyto::fuzz {

namespace {

Data data_of(Dice& dice, DType dtype, const Shape& shape) {
  std::vector<double> numbers(static_cast<std::size_t>(element_count(shape)));
  const bool round = dice.one_in(3);
  const bool special = dice.one_in(5);
  for (double& number : numbers) {
    number = is_floating(dtype) ? dice.real(-2, 2) : static_cast<double>(dice.between(is_unsigned(dtype) ? 0 : -4, 9));
    if (dtype == DType::boolean) number = static_cast<double>(dice.below(2));
    // Halves and zeros make equal values, which choices and orders have to break.
    if (is_floating(dtype) && round) number = std::round(number * 2) / 2;
    if (is_floating(dtype) && dice.one_in(special ? 20 : 1000)) {
      number = dice.of({std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity(), -0.0});
    }
  }
  return Data::of(cast(Tensor<Eager>::from(numbers, shape), dtype));
}

Shape shape_of(Dice& dice, const std::vector<std::int64_t>& lengths) {
  Shape shape;
  const std::int64_t rank = dice.below(4);
  for (std::int64_t i = 0; i < rank; ++i) shape.push_back(dice.one_in(4) ? 1 : dice.from(lengths));
  return element_count(shape) > most_elements ? Shape{lengths[0]} : shape;
}

DType type_of(Dice& dice) {
  return dice.of({DType::f32, DType::f32, DType::f32, DType::f64, DType::f64, DType::i32, DType::i64, DType::boolean,
                  DType::f16, DType::bf16, DType::u8, DType::u16, DType::u32, DType::u64});
}

// What was computed from leaves, even where a move gave a leaf back: a state that is read later has changed by then.
template <class M>
Tensor<M> computed(const Tensor<M>& x, const std::vector<Tensor<M>>& leaves) {
  for (const Tensor<M>& leaf : leaves) {
    if (same_value(x.value(), leaf.value())) return copy(x);
  }
  return x;
}

// A value for a state: something computed of its type and shape, or else made so.
template <class M>
Tensor<M> update_of(Drawing<M>& drawing, const Tensor<M>& state, const std::vector<Tensor<M>>& leaves) {
  std::vector<Tensor<M>> candidates;
  for (const Tensor<M>& x : drawing.tensors()) {
    if (x.dtype() == state.dtype() && x.shape() == state.shape()) candidates.push_back(x);
  }
  if (!candidates.empty() && drawing.dice().one_in(3)) return computed(drawing.dice().from(candidates), leaves);
  const Tensor<M> gradient = drawing.shaped(state.shape(), state.dtype());
  if (!is_floating(state.dtype())) return cast(maximum(state, gradient), state.dtype());
  return drawing.dice().one_in(2) ? drawing.perturbed(state) * 0.75 - drawing.perturbed(tanh(gradient)) * 0.125
                                  : tanh(gradient);
}

}  // namespace

double Data::at(std::size_t i) const {
  const std::byte* element = bytes.data() + i * size_of(dtype);
  return cast(Tensor<Eager>::from_bytes(element, 1, {}, dtype), DType::f64).template item<double>();
}

Material material_of(const Trial& trial) {
  Dice dice(trial.seed * 2 + 1);
  std::vector<std::int64_t> lengths;
  for (int i = 0; i < 3; ++i) {
    if (trial.regions) {
      lengths.push_back(dice.between(1, 5));
      continue;
    }
    lengths.push_back(dice.one_in(25) ? dice.of<std::int64_t>({0, 260, 300})
                                      : dice.of<std::int64_t>({1, 2, 3, 4, 5, 7, 8, 16, 17}));
  }
  Material material;
  const std::int64_t inputs = dice.between(1, 4);
  const std::int64_t states = dice.below(4);
  for (std::int64_t i = 0; i < inputs; ++i)
    material.inputs.push_back(data_of(dice, type_of(dice), shape_of(dice, lengths)));
  for (std::int64_t i = 0; i < states; ++i)
    material.states.push_back(data_of(dice, type_of(dice), shape_of(dice, lengths)));
  for (int run = 0; run < (trial.regions ? 3 : 10); ++run) {
    std::vector<Material::Change> changes;
    for (std::size_t i = 0; i < material.inputs.size(); ++i) {
      const Data& input = material.inputs[i];
      if (dice.one_in(2)) changes.push_back({i, data_of(dice, input.dtype, input.shape)});
    }
    material.changes.push_back(std::move(changes));
  }
  return material;
}

template <class M>
Program<M> program_of(const Trial& trial, const std::vector<Tensor<M>>& inputs, const std::vector<Tensor<M>>& states,
                      const Noise& noise) {
  std::vector<Tensor<M>> leaves = inputs;
  leaves.insert(leaves.end(), states.begin(), states.end());
  const std::size_t first = leaves.size();
  Drawing<M> drawing(trial.seed, leaves, noise);
  for (std::int64_t i = 0; i < trial.moves; ++i) drawing.step(trial.regions && drawing.dice().one_in(2));
  Program<M> program;
  const auto made = static_cast<std::int64_t>(drawing.tensors().size() - first);
  const std::int64_t outputs = made == 0 ? 0 : drawing.dice().between(1, 4);
  for (std::int64_t i = 0; i < outputs; ++i) {
    // The last one is among them, so that what was drawn last is needed.
    const std::int64_t back = i == 0 ? 0 : drawing.dice().below(made);
    const std::size_t chosen = drawing.tensors().size() - 1 - static_cast<std::size_t>(back);
    program.outputs.push_back(computed(drawing.tensors()[chosen], leaves));
  }
  program.outputs.insert(program.outputs.end(), drawing.draws().begin(), drawing.draws().end());
  for (const Tensor<M>& state : states) program.updates.push_back(update_of(drawing, state, leaves));
  program.transcript = drawing.transcript();
  program.finite = drawing.finite();
  program.dense_borders = drawing.dense_borders();
  return program;
}

template Program<Eager> program_of(const Trial&, const std::vector<Tensor<Eager>>&, const std::vector<Tensor<Eager>>&,
                                   const Noise&);
template Program<Lazy> program_of(const Trial&, const std::vector<Tensor<Lazy>>&, const std::vector<Tensor<Lazy>>&,
                                  const Noise&);

}  // namespace tyto::fuzz
