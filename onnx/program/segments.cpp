// SPDX-License-Identifier: MIT
// Cutting a program where a shape depends on elements, found out by recording it.
#include "onnx/program/segments.hpp"

namespace tyto::onnx {

namespace {

/// The step at which a recording could not go on.
struct Cut {
  std::size_t step;
};

/// What is kept of a recording: how its results are made up, and the iterations that its loops do in each call.
struct Recorded {
  Layout layout;
  std::int64_t iterations;
};

}  // namespace

void Segments::run(Slots& slots) {
  const std::size_t count = program_.steps().size();
  for (std::size_t at = 0; at < count || (count == 0 && at == 0);) {
    if (at_once_.count(at) != 0) {
      run_at_once(slots, at++);
      continue;
    }
    const auto next = at_once_.lower_bound(at);
    const std::size_t end = next == at_once_.end() ? count : *next;
    try {
      run_segment(slots, at, end);
    } catch (const Cut& cut) {
      // The segments that began here or later were made for other ends.
      at_once_.insert(cut.step);
      segments_.erase(segments_.lower_bound(at), segments_.end());
      continue;
    }
    at = end;
    if (count == 0) break;
  }
}

std::unique_ptr<Segments::Segment> Segments::segment_of(std::size_t begin, std::size_t end) const {
  auto segment = std::make_unique<Segment>(Segment{{}, nullptr, {}, {}});
  for (const std::int32_t slot : program_.read_by(begin, end)) {
    if (!program_.start()[static_cast<std::size_t>(slot)].known) segment->arguments.push_back(slot);
  }
  std::vector<bool> made(program_.start().size(), false);
  for (std::size_t i = begin; i < end; ++i) {
    for (const std::int32_t slot : program_.steps()[i].outputs) {
      if (slot != Program::none) made[static_cast<std::size_t>(slot)] = true;
    }
  }
  for (const std::int32_t slot : program_.read_by(end, program_.steps().size())) {
    if (made[static_cast<std::size_t>(slot)]) segment->results.push_back(slot);
  }
  return segment;
}

void Segments::run_segment(Slots& slots, std::size_t begin, std::size_t end) {
  std::unique_ptr<Segment>& segment = segments_[begin];
  if (!segment) segment = segment_of(begin, end);
  std::vector<Operand> arguments;
  for (const std::int32_t slot : segment->arguments) arguments.push_back(slots[static_cast<std::size_t>(slot)]);
  const Layout layout = layout_of(arguments);
  segment->last = &segment->functions.try_emplace(layout, options_).first->second;
  const std::int64_t iterations = limits_.iterations();
  detail::Results& computed = segment->last->call(values_of(arguments), {}, [&](const std::vector<Value>& inputs) {
    ++recordings_;
    Slots recorded = slots;
    const std::vector<Operand> placeholders = operands_from(layout, inputs, false);
    for (std::size_t i = 0; i < placeholders.size(); ++i) {
      recorded[static_cast<std::size_t>(segment->arguments[i])] = placeholders[i];
    }
    for (std::size_t i = begin; i < end; ++i) {
      try {
        program_.run(recorded, i, i + 1, true);
      } catch (const DataDependence&) {
        limits_.set_iterations(iterations);
        throw Cut{i};
      }
    }
    std::vector<Operand> results;
    for (const std::int32_t slot : segment->results) results.push_back(recorded[static_cast<std::size_t>(slot)]);
    return detail::Results{values_of(results),
                           std::make_shared<Recorded>(layout_of(results), limits_.iterations() - iterations)};
  });
  const Recorded& known = *std::static_pointer_cast<const Recorded>(computed.structure);
  limits_.set_iterations(iterations + known.iterations);
  std::vector<Operand> results = operands_from(known.layout, computed.values, false);
  computed.values.clear();
  for (std::size_t i = 0; i < results.size(); ++i) {
    slots[static_cast<std::size_t>(segment->results[i])] = std::move(results[i]);
  }
}

void Segments::run_at_once(Slots& slots, std::size_t step) {
  Slots own = slots;
  for (const std::int32_t slot : program_.read_by(step, step + 1)) {
    Operand& operand = own[static_cast<std::size_t>(slot)];
    operand = with_tensors(operand, [](const Operand& element) {
      if (element.known) return element;
      const Tensor<Lazy> computed(element.tensor.value());
      return element.with_tensor(
          Array::from_bytes(computed.bytes().data(), computed.size(), computed.shape(), computed.dtype()), true);
    });
  }
  program_.run(own, step, step + 1, false);
  for (const std::int32_t slot : program_.steps()[step].outputs) {
    if (slot == Program::none) continue;
    // What comes next is recorded for the shape, not for these elements. Arguments of what is compiled are lazy ones.
    slots[static_cast<std::size_t>(slot)] = with_tensors(own[static_cast<std::size_t>(slot)], [](const Operand& made) {
      const Array& x = made.tensor;
      return made.with_tensor(Array(Tensor<Lazy>::from_bytes(x.bytes().data(), x.size(), x.shape(), x.dtype()).value()),
                              false);
    });
  }
}

const MemoryPlan& Segments::plan() const {
  const MemoryPlan* largest = nullptr;
  for (const auto& [begin, segment] : segments_) {
    const MemoryPlan& plan = segment->last->plan();
    if (largest == nullptr || plan.height > largest->height) largest = &plan;
  }
  if (largest == nullptr) throw GraphError("the model was not called yet in lazy mode, so it has no plan");
  return *largest;
}

std::vector<GraphReport> Segments::reports() const {
  std::vector<GraphReport> list;
  for (const auto& [begin, segment] : segments_) list.push_back(segment->last->report());
  return list;
}

}  // namespace tyto::onnx
