// Cutting a program where a shape depends on elements, found out by recording it.
#include "onnx/segments.hpp"

namespace tyto::onnx {

namespace {

/// The step at which a recording could not go on.
struct Cut {
  std::size_t step;
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
  auto segment = std::make_unique<Segment>(Segment{detail::CompiledCore(options_), {}, {}});
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
  std::vector<Value> values;
  for (const std::int32_t slot : segment->arguments)
    values.push_back(slots[static_cast<std::size_t>(slot)].tensor.value());
  detail::Results& computed = segment->function.call(values, [&](const std::vector<Value>& inputs) {
    Slots recorded = slots;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
      recorded[static_cast<std::size_t>(segment->arguments[i])] = {Array(inputs[i]), false};
    }
    for (std::size_t i = begin; i < end; ++i) {
      try {
        program_.run(recorded, i, i + 1, true);
      } catch (const DataDependence&) {
        throw Cut{i};
      }
    }
    detail::Results traced;
    for (const std::int32_t slot : segment->results) {
      traced.values.push_back(recorded[static_cast<std::size_t>(slot)].tensor.value());
    }
    return traced;
  });
  for (std::size_t i = 0; i < segment->results.size(); ++i) {
    slots[static_cast<std::size_t>(segment->results[i])] = {Array(std::move(computed.values[i])), false};
  }
}

void Segments::run_at_once(Slots& slots, std::size_t step) {
  Slots own = slots;
  for (const std::int32_t slot : program_.read_by(step, step + 1)) {
    Operand& operand = own[static_cast<std::size_t>(slot)];
    if (operand.known || !operand.tensor.defined()) continue;
    const Tensor<Lazy> computed(operand.tensor.value());
    operand = {Array::from_bytes(computed.bytes().data(), computed.size(), computed.shape(), computed.dtype()), true};
  }
  program_.run(own, step, step + 1, false);
  for (const std::int32_t slot : program_.steps()[step].outputs) {
    if (slot == Program::none) continue;
    Array& made = own[static_cast<std::size_t>(slot)].tensor;
    // What comes next is recorded for the shape, not for these elements. Arguments of what is compiled are lazy ones.
    if (made.defined())
      slots[static_cast<std::size_t>(slot)] = {
          Array(Tensor<Lazy>::from_bytes(made.bytes().data(), made.size(), made.shape(), made.dtype()).value()), false};
  }
}

const MemoryPlan& Segments::plan() const {
  const MemoryPlan* largest = nullptr;
  for (const auto& [begin, segment] : segments_) {
    const MemoryPlan& plan = segment->function.plan();
    if (largest == nullptr || plan.height > largest->height) largest = &plan;
  }
  if (largest == nullptr) throw GraphError("the model was not called yet in lazy mode, so it has no plan");
  return *largest;
}

std::vector<GraphReport> Segments::reports() const {
  std::vector<GraphReport> list;
  for (const auto& [begin, segment] : segments_) list.push_back(segment->function.report());
  return list;
}

}  // namespace tyto::onnx
