// SPDX-License-Identifier: MIT
// Packs the numbers of all elements, and finds by them where each element of the packed layout belongs.
#include "engine/run/unpacking.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "core/graph/builder.hpp"
#include "core/graph/held_constant.hpp"
#include "core/graph/op_ids.hpp"
#include "core/value/text.hpp"
#include "engine/run/arrays.hpp"
#include "engine/run/devices.hpp"

namespace tyto::run {

using core::OpId;

namespace {

constexpr std::int64_t base = std::int64_t{1} << 23;  // numbers from 1 to this are exact in f32

/// Applies the path to the numbers of all elements, one digit of them at a time, counted from 1: 0 is padding.
template <class T>
core::Array packed_digits(const PackingPath& path, std::int64_t weight) {
  core::Array numbers = new_array(cpu_device(), path.type.dtype, path.type.shape);
  const std::int64_t count = numbers.view.count();
  auto* const out = reinterpret_cast<T*>(address_of(numbers).pointer());
  for (std::int64_t i = 0; i < count; ++i) out[i] = static_cast<T>(i / weight % base + 1);
  const core::BufferRef plain = numbers.buffer;
  Value value = core::constant(core::Mode::eager, std::move(numbers));
  for (const auto& [op, attributes] : path.operators) {
    value = core::emit(core::Mode::eager, op, attributes ? *attributes : core::Attributes(), {value});
  }
  cpu_device().discard(*plain);  // its pages serve nobody else
  return core::result_of(value).array;
}

template <class T>
core::Array unpack(const PackingPath& path, const core::Array& packed) {
  const std::byte* const from = address_of(packed).pointer();
  core::Array result = new_array(cpu_device(), path.type.dtype, path.type.shape);
  const std::int64_t count = result.view.count();
  const core::Array low = packed_digits<T>(path, 1);
  const core::Array high = count > base ? packed_digits<T>(path, base) : core::Array();
  const std::byte* const lows = address_of(low).pointer();
  const std::byte* const highs = high ? address_of(high).pointer() : nullptr;
  std::byte* const out = address_of(result).pointer();
  const std::size_t bytes = static_cast<std::size_t>(low.view.count()) * size_of(low.dtype);
  std::int64_t found = 0;
  for (std::size_t at = 0; at + sizeof(T) <= bytes; at += sizeof(T)) {
    const auto digit = [at](const std::byte* digits) {
      T value;
      std::memcpy(&value, digits + at, sizeof value);
      return static_cast<std::int64_t>(value) - 1;
    };
    std::int64_t number = digit(lows);
    if (number < 0) continue;
    if (highs != nullptr) number += digit(highs) * base;
    std::memcpy(out + static_cast<std::size_t>(number) * sizeof(T), from + at, sizeof(T));
    ++found;
  }
  cpu_device().discard(*low.buffer);
  if (high) cpu_device().discard(*high.buffer);
  if (found < count) {
    core::throw_error<GraphError>("packed weights of shape ", path.type.shape, " hold ", found, " of ", count,
                                  " elements: the packing is not reversible");
  }
  return result;
}

}  // namespace

std::optional<PackingPath> packing_path(const core::Graph& graph, std::uint32_t packing_node) {
  PackingPath path;
  path.reversible = true;
  std::uint32_t index = packing_node;
  while (graph.nodes()[index].input_count != 0) {
    const core::GraphNode& node = graph.nodes()[index];
    if (index != packing_node) {
      if (!core::definition(node.op).is(core::Traits::view)) return std::nullopt;
      path.reversible = path.reversible && core::rearranges(node.op, graph.type(graph.inputs_of(node)[0]).shape,
                                                            graph.type(node.first_result).shape);
    }
    path.operators.emplace_back(node.op, node.attributes);
    index = graph.producer(graph.inputs_of(node)[0]);
  }
  if (graph.nodes()[index].op != OpId::read && graph.nodes()[index].op != OpId::constant) return std::nullopt;
  path.type = graph.type(graph.nodes()[index].first_result);
  path.reversible = path.reversible && (path.type.dtype == DType::f32 || path.type.dtype == DType::f64);
  std::ranges::reverse(path.operators);
  return path;
}

core::Array unpacked(const PackingPath& path, const core::Array& packed) {
  return path.type.dtype == DType::f64 ? unpack<double>(path, packed) : unpack<float>(path, packed);
}

}  // namespace tyto::run
