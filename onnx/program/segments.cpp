// SPDX-License-Identifier: MIT
// Cuts a program where a shape depends on elements, which recording it finds out.
#include "onnx/program/segments.hpp"

namespace tyto::onnx {

namespace {

/// The step at which a recording could not go on.
struct Cut {
  std::size_t step;
};

/// A recording: the structure of its results, and the iterations that its loops do in each call.
struct Recorded {
  Layout layout;
  std::int64_t iterations;
};

}  // namespace

bool Segments::runs_at_once(std::size_t step) {
  const std::lock_guard lock(mutex_);
  return at_once_.contains(step);
}

std::shared_ptr<Segments::Segment> Segments::segment_at(std::size_t begin) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<Segment>& segment = segments_[begin];
  if (!segment) {
    const auto next = at_once_.lower_bound(begin);
    segment = made_segment(begin, next == at_once_.end() ? program_.steps().size() : *next);
  }
  return segment;
}

std::shared_ptr<const detail::CompiledCore> Segments::function_of(Segment& segment, const Layout& layout) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const detail::CompiledCore>& function = segment.functions[layout];
  if (!function) function = std::make_shared<const detail::CompiledCore>(options_);
  return function;
}

void Segments::cut(std::size_t begin, std::size_t step) {
  const std::lock_guard lock(mutex_);
  at_once_.insert(step);
  // The segments that began here or later were made for other ends.
  segments_.erase(segments_.lower_bound(begin), segments_.end());
}

std::shared_ptr<Segments::Segment> Segments::made_segment(std::size_t begin, std::size_t end) const {
  auto segment = std::make_shared<Segment>(Segment{.end = end, .arguments = {}, .results = {}});
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

void SegmentSession::run(const std::function<Slots(Slots)>& start, const std::function<void(const Slots&)>& finish) {
  if (running_.exchange(true, std::memory_order_acquire)) {
    throw GraphError("onnx: the model is called while it runs, by another thread; take a session() for each");
  }
  const struct Running {
    ~Running() {
      session.slots_.clear();
      session.operands_.clear();
      session.values_.clear();
      session.running_.store(false, std::memory_order_release);
    }
    SegmentSession& session;
  } running{*this};
  slots_ = shared_.program_.start();
  slots_ = start(std::move(slots_));
  const std::size_t count = shared_.program_.steps().size();
  for (std::size_t at = 0; at < count || (count == 0 && at == 0);) {
    if (shared_.runs_at_once(at)) {
      run_at_once(at++);
      continue;
    }
    const std::shared_ptr<Segments::Segment> segment = shared_.segment_at(at);
    try {
      run_segment(at, *segment);
    } catch (const Cut& cut) {
      shared_.cut(at, cut.step);
      last_.erase(last_.lower_bound(at), last_.end());
      continue;
    }
    at = segment->end;
    if (count == 0) break;
  }
  finish(slots_);
}

void SegmentSession::run_segment(std::size_t begin, Segments::Segment& segment) {
  operands_.clear();
  for (const std::int32_t slot : segment.arguments) operands_.push_back(slots_[static_cast<std::size_t>(slot)]);
  layout_ = layout_of(operands_, std::move(layout_));
  values_ = values_of(operands_, std::move(values_));
  const std::shared_ptr<const detail::CompiledCore> function = shared_.function_of(segment, layout_);
  auto own = functions_.find(function);
  if (own == functions_.end()) own = functions_.emplace(function, function->session()).first;
  last_[begin] = &own->second;
  Limits& limits = shared_.limits_;
  const std::int64_t iterations = limits.counts() ? limits.iterations() : 0;
  const auto record = [&](const std::vector<Value>& inputs) {
    const std::lock_guard lock(shared_.recording_);
    ++recordings_;
    Slots recorded = slots_;
    const std::vector<Operand> placeholders = operands_from(layout_, inputs, false);
    for (std::size_t i = 0; i < placeholders.size(); ++i) {
      recorded[static_cast<std::size_t>(segment.arguments[i])] = placeholders[i];
    }
    const std::int64_t before = limits.iterations();
    for (std::size_t i = begin; i < segment.end; ++i) {
      try {
        shared_.program_.run(recorded, i, i + 1, true);
      } catch (const DataDependence&) {
        limits.set_iterations(before);
        throw Cut{i};
      }
    }
    std::vector<Operand> results;
    for (const std::int32_t slot : segment.results) results.push_back(recorded[static_cast<std::size_t>(slot)]);
    return detail::Results{values_of(results),
                           std::make_shared<Recorded>(layout_of(results), limits.iterations() - before)};
  };
  const auto take = [&](detail::Results& computed) {
    const Recorded& known = *std::static_pointer_cast<const Recorded>(computed.structure);
    if (limits.counts()) limits.set_iterations(iterations + known.iterations);
    operands_ = operands_from(known.layout, computed.values, false, std::move(operands_));
    computed.values.clear();
    for (std::size_t i = 0; i < operands_.size(); ++i) {
      slots_[static_cast<std::size_t>(segment.results[i])] = std::move(operands_[i]);
    }
  };
  own->second.call(values_, {}, std::cref(record), std::cref(take));  // references are not allocated
}

void SegmentSession::run_at_once(std::size_t step) {
  const std::lock_guard lock(shared_.recording_);
  const Program& program = shared_.program_;
  // While the step runs, what it reads has elements; then the slots hold again what later segments are compiled for.
  struct Exchanged {
    ~Exchanged() {
      for (auto& [operand, computed] : operands) *operand = std::move(computed);
    }
    std::vector<std::pair<Operand*, Operand>> operands = {};
  } exchanged;
  const std::vector<std::int32_t> read = program.slots_read(program.steps()[step]);
  exchanged.operands.reserve(read.size());
  for (const std::int32_t slot : read) {
    Operand& operand = slots_[static_cast<std::size_t>(slot)];
    if (operand.known) continue;
    Operand with_elements = with_tensors(operand, [](const Operand& element) {
      if (element.known) return element;
      const Tensor<Lazy> x(element.tensor.value());
      return element.with_tensor(Array::borrow_bytes(x.bytes().data(), x.shape(), x.dtype(), [x] {}), true);
    });
    exchanged.operands.emplace_back(&operand, std::exchange(operand, std::move(with_elements)));
  }
  program.run(slots_, step, step + 1, false);
  for (const std::int32_t slot : program.steps()[step].outputs) {
    if (slot == Program::none) continue;
    // The next segment is recorded for the shape, not for these elements. Arguments of compiled segments are lazy.
    Operand& output = slots_[static_cast<std::size_t>(slot)];
    output = with_tensors(output, [](const Operand& made) {
      const Array& x = made.tensor;
      return made.with_tensor(Array(Tensor<Lazy>::from_bytes(x.bytes().data(), x.size(), x.shape(), x.dtype()).value()),
                              false);
    });
  }
}

const MemoryPlan& SegmentSession::plan() const {
  const MemoryPlan* largest = nullptr;
  for (const auto& [begin, function] : last_) {
    const MemoryPlan& plan = function->plan();
    if (largest == nullptr || plan.height > largest->height) largest = &plan;
  }
  if (largest == nullptr) throw GraphError("the model was not called yet in lazy mode, so it has no plan");
  return *largest;
}

std::vector<GraphReport> SegmentSession::reports() const {
  std::vector<GraphReport> list;
  for (const auto& [begin, function] : last_) list.push_back(function->report());
  return list;
}

}  // namespace tyto::onnx
