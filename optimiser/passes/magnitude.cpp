// SPDX-License-Identifier: MIT
// Finds the largest and the smallest absolute value of a constant's elements.
#include "optimiser/passes/magnitude.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

#include "core/device/device.hpp"
#include "core/graph/held_constant.hpp"
#include "core/graph/op_ids.hpp"
#include "core/value/stored_scalar.hpp"
#include "core/value/view.hpp"

namespace tyto::optimiser {
namespace {

class Bounds {
 public:
  Bounds() { bounds_.least = std::numeric_limits<double>::infinity(); }
  void add(double element) {
    const double size = std::abs(element);
    if (!(size <= std::numeric_limits<double>::max())) {
      bounds_.finite = false;
    } else if (size == 0) {
      bounds_.has_zero = true;
    } else {
      bounds_.most = std::max(bounds_.most, size);
      bounds_.least = std::min(bounds_.least, size);
    }
  }
  const Magnitude& found() const { return bounds_; }

 private:
  Magnitude bounds_;
};

template <class T, class Wide>
Magnitude scan(const std::byte* start, std::int64_t count) {
  Bounds bounds;
  const T* elements = reinterpret_cast<const T*>(start);
  for (std::int64_t i = 0; i < count; ++i) bounds.add(static_cast<double>(static_cast<Wide>(elements[i])));
  return bounds.found();
}

std::optional<Magnitude> magnitude_in(const core::Array& array) {
  const core::ElementRange range = core::touched(array.view);
  const std::size_t width = size_of(array.dtype);
  const std::size_t offset = static_cast<std::size_t>(range.first) * width;
  const std::int64_t count = range.past - range.first;
  core::Device& device = *array.buffer->device();
  std::vector<std::byte> copy;
  const std::byte* start = nullptr;
  if (device.properties().host_memory) {
    start = static_cast<const std::byte*>(array.buffer->memory()) + offset;
  } else if (count != 0) {
    copy.resize(static_cast<std::size_t>(count) * width);
    device.copy_out(copy.data(), array.buffer->at(offset), copy.size());
    start = copy.data();
  }
  switch (array.dtype) {
    case DType::f16: return scan<Half, float>(start, count);
    case DType::bf16: return scan<BFloat16, float>(start, count);
    case DType::f32: return scan<float, float>(start, count);
    case DType::f64: return scan<double, double>(start, count);
    default: return {};
  }
}

}  // namespace

std::optional<Magnitude> magnitude_of(GraphEditor& editor, core::Port port) {
  const GraphEditor::Index producer = editor.source(port);
  const OpId op = editor.node(producer).op;
  if (op == OpId::constant) return magnitude_in(core::contents_of_constant(editor.attributes(producer)));
  if (op != OpId::fill) return {};
  const auto& fill = editor.attributes_as<core::RangeAttributes>(producer);
  if (!is_floating(fill.dtype)) return {};
  Bounds bounds;
  bounds.add(core::as_stored(fill.start, fill.dtype).as_double());
  return bounds.found();
}

}  // namespace tyto::optimiser
