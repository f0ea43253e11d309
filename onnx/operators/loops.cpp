// SPDX-License-Identifier: MIT
// Loop and Scan: loops of the graph where shapes are known before they run, else run where their data is known.
#include <algorithm>

#include "onnx/program/operators.hpp"
#include "onnx/program/regions.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/shaping.hpp"

namespace tyto::onnx {

namespace {

using detail::LoopCall;
using detail::LoopResults;
using detail::RegionMode;

bool all_known(const OperatorCall& call, const Body& body) {
  bool known = body.known;
  for (std::size_t i = 0; i < call.input_count(); ++i) known = known && (!call.has(i) || call.known(i));
  return known;
}

Outputs operands_of(const std::vector<Value>& values, bool known) {
  Outputs outputs;
  for (const Value& value : values) outputs.emplace_back(Array(value), known);
  return outputs;
}

Operand truth() { return {Array::full({}, true, DType::boolean), true}; }

/// The number of iterations of a Loop, as far as it is known before the loop runs.
struct TripCount {
  std::int64_t most = INT64_MAX;
  bool exact = true;   // as often as `most` says, but for what its body tests
  bool tested = true;  // the body decides whether to go on
};

TripCount trips_of(const OperatorCall& call, const Body& body, std::size_t carries) {
  TripCount trips;
  if (call.has(std::size_t{0})) {
    if (call.known(0)) trips.most = std::max<std::int64_t>(call.integer_in(0), 0);
    else trips.exact = false;
  }
  if (call.has(1)) {
    if (!call.known(1)) trips.exact = false;
    else if (call.integer_in(1) == 0) trips.most = 0;
  }
  std::vector<Operand> unknown(carries + 2);
  unknown[1] = truth();
  const Operand goes_on = body.settled(0, std::move(unknown));
  if (goes_on.known) {
    trips.tested = false;
    if (cast(goes_on.tensor, DType::i64).item<std::int64_t>() == 0) trips.most = std::min<std::int64_t>(trips.most, 1);
    if (trips.exact && trips.most == INT64_MAX) call.refuse("nothing ends it");
  }
  if (trips.most == 0) trips.exact = true;
  return trips;
}

/// The count as a tensor, for a loop whose count is known when it runs.
Count counted(const OperatorCall& call, const TripCount& trips) {
  Array count = Array::full({}, trips.most, DType::i64);
  if (call.has(std::size_t{0}) && !call.known(0)) count = minimum(count, cast(reshape(call[0], {}), DType::i64));
  if (call.has(1) && !call.known(1)) count = where(reshape(call[1], {}), count, Array::full({}, 0, DType::i64));
  return count;
}

/// Whether it carries sequences or optionals, or reads them: what the graph's loops do not hold.
bool works_on_sequences(const OperatorCall& call, const Body& body, std::size_t carries) {
  if (body.reads_sequences) return true;
  for (std::size_t i = 2; i < carries + 2; ++i) {
    if (!call.has(i) || call.operand(i).sequence != nullptr) return true;
  }
  return false;
}

/// Iteration after iteration, each recorded by itself in lazy mode: as a sequence may have another length in each. How
/// many there are must be known.
Outputs unrolled(const OperatorCall& call, const Body& body, std::size_t carries) {
  const bool lazy = call.lazy() && !all_known(call, body);
  const std::int64_t most = trips_of(call, body, carries).most;
  if (call.has(std::size_t{0})) call.require_known(0);
  if (call.has(1)) call.require_known(1);
  Outputs values;
  for (std::size_t i = 2; i < carries + 2; ++i) values.push_back(call.has(i) ? call.operand(i) : Operand::of_nothing());
  std::vector<std::vector<Array>> rows(body.outputs - carries - 1);
  const auto iterate = [&](std::int64_t number) {
    std::vector<Operand> inputs{{Array::full({}, number, DType::i64), true}, truth()};
    inputs.insert(inputs.end(), values.begin(), values.end());
    call.add_iterations(1);
    return body.run(std::move(inputs), lazy);
  };
  bool goes_on = true;
  for (std::int64_t i = 0; i < most && goes_on; ++i) {
    Outputs results = iterate(i);
    if (!results[0].known) {
      throw DataDependence(core::text(call.where(),
                                      ": data decides how often it runs, and so how long the sequences are ",
                                      "that it works on; work in eager mode"));
    }
    goes_on = cast(results[0].tensor, DType::i64).item<std::int64_t>() != 0;
    const auto first_row = results.begin() + 1 + static_cast<std::ptrdiff_t>(carries);
    values.assign(results.begin() + 1, first_row);
    for (std::size_t k = 0; k < rows.size(); ++k) rows[k].push_back(first_row[static_cast<std::ptrdiff_t>(k)].tensor);
  }
  if (most > 0 || rows.empty()) {
    for (const std::vector<Array>& each : rows) values.emplace_back(stack(each, 0), !lazy);
    return values;
  }
  // No iteration: one that is thrown away tells the types of the rows.
  const Outputs results = iterate(0);
  for (std::size_t k = 0; k < rows.size(); ++k) {
    const Array& row = results[carries + 1 + k].tensor;
    Shape shape{0};
    for (const std::int64_t length : row.shape()) shape.push_back(length);
    values.emplace_back(Array::full(shape, 0, row.dtype()), true);
  }
  return values;
}

// Inputs: the most iterations, whether to begin, carries. The body takes the iteration's number, true and the carries,
// and yields whether to go on, carries and rows.
Outputs loop(const OperatorCall& call) {
  const Body body = call.body("body");
  const std::size_t carries = call.input_count() < 2 ? 0 : call.input_count() - 2;
  if (body.inputs != carries + 2 || body.outputs < carries + 1) {
    call.refuse("its body takes ", body.inputs, " tensors and yields ", body.outputs, "; with ", carries,
                " carries it must take ", carries + 2, " and yield ", carries + 1, " or more");
  }
  if (works_on_sequences(call, body, carries)) return unrolled(call, body, carries);
  const bool lazy = call.lazy() && !all_known(call, body);
  const TripCount trips = trips_of(call, body, carries);
  const bool exact = trips.exact && !trips.tested;
  if (lazy && !exact && body.outputs > carries + 1) {
    throw DataDependence(core::text(call.where(), ": data decides how often it runs, and so how many rows its output ",
                                    carries + 1, " has; work in eager mode"));
  }
  if (lazy && !exact && call.bounds_iterations()) {
    throw DataDependence(
        core::text(call.where(), ": data decides how often it runs, and max_iterations counts; work in eager mode"));
  }
  if (lazy) call.add_iterations(trips.most);
  const Limits::Body repeated = call.repeated(lazy ? trips.most : 1);
  LoopCall given{.name = "Loop", .mode = lazy ? RegionMode::lazy : RegionMode::eager};
  for (std::size_t i = 0; i < carries; ++i) given.carries.push_back(call[i + 2].value());
  given.range.emplace(0, !lazy || trips.exact ? Count(trips.most) : counted(call, trips));
  if (lazy && trips.exact && trips.most == INT64_MAX) given.range->second = counted(call, trips);
  if (lazy && trips.most != INT64_MAX) given.options.most = trips.most;
  given.stops = trips.tested;
  given.flexible = true;
  // A loop that does not run is recorded in eager mode, too, for the types of its rows.
  const bool known = !lazy && trips.most > 0;
  given.body = [&](const std::vector<Value>& inside) {
    if (known) call.add_iterations(1);
    std::vector<Operand> inputs{{Array(inside[carries]), known}, truth()};
    for (std::size_t i = 0; i < carries; ++i) inputs.emplace_back(Array(inside[i]), known);
    std::vector<Value> values = values_of(body.run(std::move(inputs), !known));
    // The engine takes carries, whether to stop, rows.
    std::rotate(values.begin(), values.begin() + 1, values.begin() + static_cast<std::ptrdiff_t>(carries + 1));
    const auto test = values.begin() + static_cast<std::ptrdiff_t>(carries);
    if (trips.tested) *test = logical_not(Array(*test)).value();
    else values.erase(test);
    return values;
  };
  const auto run = [&] {
    const LoopResults results = detail::run_loop(given);
    std::vector<Value> values = results.carries;
    values.insert(values.end(), results.stacks.begin(), results.stacks.end());
    return operands_of(values, !lazy);
  };
  return lazy ? recorded(call, run) : run();
}

/// A Scan's body, and which rows it runs over in which direction. With `reverse` the loop begins with the last row.
struct Rows {
  const OperatorCall& call;
  const Body& body;
  std::size_t states;
  bool known;
  bool lazy;
  bool reverse = false;
};

LoopResults scanned(const Rows& rows, std::vector<Value> states, std::vector<Value> stacks) {
  LoopCall given{.name = "Scan",
                 .mode = rows.lazy ? RegionMode::lazy : RegionMode::eager,
                 .carries = std::move(states),
                 .stacks = std::move(stacks)};
  given.options.reverse = rows.reverse;
  const std::int64_t count = axis_length(Array(given.stacks.at(0)), 0);
  rows.call.add_iterations(count);
  const Limits::Body repeated = rows.call.repeated(rows.known ? 1 : count);
  given.body = [&](const std::vector<Value>& inside) {
    return values_of(rows.body.run(operands_of(inside, rows.known), !rows.known));
  };
  return detail::run_loop(given);
}

std::vector<std::int64_t> one_each(const OperatorCall& call, const char* attribute, std::size_t count) {
  std::vector<std::int64_t> list = call.integers(attribute, std::vector<std::int64_t>(count, 0));
  if (list.size() != count) call.refuse("attribute '", attribute, "' has ", list.size(), " numbers, expected ", count);
  return list;
}

/// A Scan's inputs from number `first` on: the states, then the stacks of rows.
struct ScanOperands {
  std::size_t states = 0;
  std::size_t stacks = 0;
};

ScanOperands operands_of_scan(const OperatorCall& call, const Body& body, std::size_t first) {
  const std::int64_t stacks = call.integer("num_scan_inputs");
  const auto given = static_cast<std::int64_t>(call.input_count()) - static_cast<std::int64_t>(first);
  if (stacks < 1 || stacks > given) call.refuse(stacks, " of its ", given, " inputs are to be read row by row");
  const auto states = static_cast<std::size_t>(given - stacks);
  if (static_cast<std::int64_t>(body.inputs) != given || body.outputs < states) {
    call.refuse("its body takes ", body.inputs, " tensors and yields ", body.outputs, "; with ", states, " states and ",
                stacks, " rows it must take ", given, " and yield ", states, " or more");
  }
  return {states, static_cast<std::size_t>(stacks)};
}

Outputs scan_along_axes(const OperatorCall& call) {
  const Body body = call.body("body");
  const ScanOperands operands = operands_of_scan(call, body, 0);
  const std::size_t results = body.outputs - operands.states;
  const std::vector<std::int64_t> axes = one_each(call, "scan_input_axes", operands.stacks),
                                  directions = one_each(call, "scan_input_directions", operands.stacks),
                                  result_axes = one_each(call, "scan_output_axes", results),
                                  result_directions = one_each(call, "scan_output_directions", results);
  const bool known = all_known(call, body), lazy = call.lazy() && !known;
  const std::int64_t reverse = directions[0];
  std::vector<Value> states, stacks;
  for (std::size_t i = 0; i < operands.states; ++i) states.push_back(call[i].value());
  bool empty = false;
  for (std::size_t i = 0; i < operands.stacks; ++i) {
    Array stack = moveaxis(call[operands.states + i], axes[i], 0);
    if (directions[i] != reverse) stack = flip(stack, 0);
    empty = empty || axis_length(stack, 0) == 0;
    stacks.push_back(stack.value());
  }
  const auto run = [&] {
    const LoopResults done =
        scanned({call, body, operands.states, !lazy && !empty, lazy, reverse != 0}, states, stacks);
    std::vector<Value> values = done.carries;
    for (std::size_t i = 0; i < done.stacks.size(); ++i) {
      Array stack(done.stacks[i]);
      // Rows lie in the order of those that were read.
      if (result_directions.at(i) != reverse) stack = flip(stack, 0);
      values.push_back(moveaxis(stack, 0, result_axes[i]).value());
    }
    return operands_of(values, !lazy);
  };
  return lazy ? recorded(call, run) : run();
}

// In version 8 all operands have an axis for examples, which are scanned one after the other.
Outputs scan_of_examples(const OperatorCall& call) {
  const Body body = call.body("body");
  if (call.has(std::size_t{0})) call.refuse("sequence_lens is not supported");
  const ScanOperands operands = operands_of_scan(call, body, 1);
  const std::vector<std::int64_t> directions = one_each(call, "directions", operands.stacks);
  const bool known = all_known(call, body), lazy = call.lazy() && !known;
  std::vector<Value> all;
  bool empty = false;
  for (std::size_t i = 0; i < operands.states + operands.stacks; ++i) {
    Array operand = call[i + 1];
    const std::size_t axes = i < operands.states ? 1 : 2;
    if (operand.shape().size() < axes) call.refuse("input ", i + 2, " of shape ", operand.shape(), " has too few axes");
    if (axes == 2 && directions[i - operands.states] != 0) operand = flip(operand, 1);
    for (std::size_t axis = 0; axis < axes; ++axis) empty = empty || axis_length(operand, axis) == 0;
    all.push_back(operand.value());
  }
  const auto run = [&] {
    const Limits::Body repeated = call.repeated(lazy || empty ? axis_length(Array(all.at(0)), 0) : 1);
    LoopCall examples{.name = "Scan", .mode = lazy ? RegionMode::lazy : RegionMode::eager, .stacks = all};
    examples.body = [&](const std::vector<Value>& inside) {
      const auto middle = inside.begin() + static_cast<std::ptrdiff_t>(operands.states);
      const bool recording = lazy || empty;
      LoopResults done = scanned({call, body, operands.states, !recording, recording}, {inside.begin(), middle},
                                 {middle, inside.end()});
      done.carries.insert(done.carries.end(), done.stacks.begin(), done.stacks.end());
      return done.carries;
    };
    return operands_of(detail::run_loop(examples).stacks, !lazy);
  };
  return lazy ? recorded(call, run) : run();
}

constexpr OperatorRow loop_table[] = {
    {"Loop", 1, loop},
    {"Scan", 8, scan_of_examples},
    {"Scan", 9, scan_along_axes},
};

}  // namespace

std::span<const OperatorRow> loop_rows() { return loop_table; }

}  // namespace tyto::onnx
