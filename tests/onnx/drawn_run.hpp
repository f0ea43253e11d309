// SPDX-License-Identifier: MIT
// Runs a model that may be damaged with small random inputs of its declared types, in every way in which models run.
#pragma once

#include <map>
#include <optional>
#include <random>
#include <string>

#include <tyto/onnx.hpp>

#include "tests/onnx/model_text.hpp"

namespace tyto::onnx_tests {

enum class ModelRun { eager, lazy, compiled, bound };

/// Elements that inputs have in all; models that declare larger ones are not run.
inline constexpr std::int64_t most_drawn = 65'536;

/// Values for all inputs: open lengths are 1 or 2, the same for the same name. None where they are too large.
inline std::optional<NamedList<Tensor<Eager>>> drawn_inputs(const std::vector<ModelTensor>& inputs,
                                                            std::mt19937_64& draw) {
  const auto below = [&](std::size_t end) { return static_cast<std::int64_t>(draw() % end); };
  std::map<std::string, std::int64_t> symbols;
  NamedList<Tensor<Eager>> drawn;
  std::int64_t elements = 0;
  for (const ModelTensor& input : inputs) {
    if (input.optional && below(4) == 0) continue;
    const std::int64_t tensors = input.sequence ? below(4) : 1;
    for (std::int64_t k = 0; k < tensors; ++k) {
      Shape shape;
      std::int64_t count = 1;
      const auto add = [&](std::int64_t length) {
        shape.push_back(length);
        count = length > most_drawn / count ? most_drawn + 1 : count * length;
        return count <= most_drawn;
      };
      if (!input.shape) {
        for (std::int64_t axes = below(5); axes-- > 0;) add(1 + below(3));
      } else {
        for (const ModelLength& length : *input.shape) {
          const std::int64_t open =
              length.symbol.empty() ? 1 + below(2) : symbols.try_emplace(length.symbol, 1 + below(2)).first->second;
          if (!add(length.length.value_or(open))) return std::nullopt;
        }
      }
      if ((elements += count) > most_drawn) return std::nullopt;
      const bool integers = !is_floating(*input.dtype), extreme = below(8) == 0;
      std::vector<std::int64_t> whole;
      std::vector<double> real;
      constexpr std::int64_t edges[] = {-1, 0, 1, 1LL << 31, INT64_MAX, INT64_MIN, 255, -129};
      constexpr double real_edges[] = {0, -0.0, 1e-40, 3e38, -1e300, HUGE_VAL, -HUGE_VAL, 1e10};
      for (std::int64_t i = 0; i < count; ++i) {
        if (integers) whole.push_back(extreme ? edges[below(8)] : below(6) - 1);
        else real.push_back(extreme ? real_edges[below(8)] : static_cast<double>(below(2001)) / 500 - 2);
      }
      const Tensor<Eager> wide = integers ? Tensor<Eager>::from(whole, shape) : Tensor<Eager>::from(real, shape);
      const std::string name = input.sequence ? input.name + "[" + std::to_string(k) + "]" : input.name;
      drawn.push_back({name, wide.astype(*input.dtype)});
    }
  }
  return drawn;
}

/// Limits of memory and time for damaged models, which may ask for any amount.
inline OnnxOptions drawn_options() { return {.max_bytes = std::size_t{256} << 20, .max_iterations = 2'000}; }

/// The results of a model for drawn inputs; throws errors of reading and running. None where it is not run, since
/// its inputs would be too large.
inline std::optional<NamedList<Tensor<Any>>> run_drawn(const std::string& bytes, ModelRun way, std::mt19937_64& draw) {
  const std::optional<NamedList<Tensor<Eager>>> inputs = drawn_inputs(read<Tensor<Eager>>(bytes).inputs(), draw);
  if (!inputs) return std::nullopt;
  const auto copied = [](const auto& x, const auto& to) {
    return std::remove_cvref_t<decltype(to)>::from_bytes(x.bytes().data(), x.size(), x.shape(), x.dtype());
  };
  NamedList<Tensor<Any>> outputs;
  const auto call = [&](auto model, const auto& given) {
    for (int round = 0; round < 2; ++round) {
      outputs = {};
      for (const auto& output : model(given)) outputs.push_back({output.name, copied(output.value, Tensor<Any>())});
    }
  };
  if (way == ModelRun::eager) {
    call(read<Tensor<Eager>>(bytes, drawn_options()), *inputs);
    return outputs;
  }
  OnnxOptions options = drawn_options();
  NamedList<Shape> shapes;
  NamedList<Tensor<Lazy>> given;
  for (const auto& [name, value] : *inputs) {
    if (way == ModelRun::bound && !given.empty()) {
      options.bind.push_back({name, copied(value, Tensor<Any>())});
      continue;
    }
    shapes.push_back({name, value.shape()});
    given.push_back({name, copied(value, Tensor<Lazy>())});
  }
  if (way != ModelRun::compiled) {
    call(read<Tensor<Lazy>>(bytes, options), given);
    return outputs;
  }
  OnnxModel<Tensor<Lazy>> model = read<Tensor<Lazy>>(bytes, options);
  Graph graph = model.graph(shapes);
  for (std::size_t i = 0; i < given.size() && i < graph.inputs().size(); ++i) {
    graph.set(graph.inputs()[i], given[i].value);
  }
  graph.run();
  for (std::size_t i = 0; i < graph.output_count(); ++i) {
    outputs.push_back({std::to_string(i), copied(graph.output(i), Tensor<Any>())});
  }
  return outputs;
}

}  // namespace tyto::onnx_tests
