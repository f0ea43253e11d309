// SPDX-License-Identifier: MIT
// Branches and loops: operators whose bodies are closed graphs. Their rules for types check what a body takes against
// the operands, so that a graph read from a file cannot hold a region that does not fit.
#include "core/graph/graph.hpp"
#include "core/graph/op_ids.hpp"
#include "ops/define.hpp"

namespace tyto::core {

namespace {

void require_type(std::string_view what, const TensorType& type, DType dtype, const Shape& shape) {
  if (type.dtype == dtype && type.shape == shape) return;
  throw_error<TypeError>(what, " must be ", dtype, shape, ", not ", type.dtype, type.shape);
}

bool same_type(const TensorType& a, const TensorType& b) { return a.dtype == b.dtype && a.shape == b.shape; }

/// Throws where the region takes other tensors than those it is given.
void check_taken(std::string_view op, const Graph& region, std::span<const TensorType> given) {
  if (region.inputs().size() != given.size()) {
    throw_error<GraphError>(op, ": a region takes ", region.inputs().size(), " tensors and is given ", given.size());
  }
  for (std::size_t i = 0; i < given.size(); ++i) {
    const GraphInput& input = region.inputs()[i];
    if (input.state != nullptr || input.generator) {
      throw_error<GraphError>(op, ": a region reads the state '", input.name, "' otherwise than as an operand");
    }
    const TensorType& taken = region.type(input.port);
    if (same_type(taken, given[i])) continue;
    throw_error<TypeError>(op, ": input ", i, " of a region is ", taken.dtype, taken.shape, ", given ", given[i].dtype,
                           given[i].shape);
  }
}

const TensorType key_type{DType::i64, {2}, false};
const TensorType number_type{DType::i64, {}, false};

std::vector<TensorType> infer_branch(const Attributes& attributes, std::span<const TensorType> inputs) {
  const auto& branch = get<BranchAttributes>(attributes);
  if (branch.arms.empty()) throw GraphError("branch: there are no arms");
  require_type("branch: the number of the arm", inputs[0], DType::i64, {});
  if (branch.keyed) {
    if (inputs.size() < 2) throw GraphError("branch: the key is missing");
    require_type("branch: the key", inputs[1], DType::i64, {2});
  }
  std::vector<TensorType> results;
  for (std::size_t arm = 0; arm < branch.arms.size(); ++arm) {
    if (!branch.arms[arm]) throw_error<GraphError>("branch: arm ", arm, " is missing");
    const Graph& graph = branch.arms[arm].graph();
    check_taken("branch", graph, inputs.subspan(1));
    if (!graph.updates().empty()) throw GraphError("branch: an arm updates its inputs");
    if (arm == 0) {
      for (const Port output : graph.outputs())
        results.push_back({graph.type(output).dtype, graph.type(output).shape, false});
      continue;
    }
    if (graph.outputs().size() != results.size()) {
      throw_error<GraphError>("branch: the first arm has ", results.size(), " results and arm ", arm, " has ",
                              graph.outputs().size());
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      const TensorType& type = graph.type(graph.outputs()[i]);
      if (same_type(type, results[i])) continue;
      throw_error<TypeError>("branch: result ", i, " is ", results[i].dtype, results[i].shape, " in the first arm and ",
                             type.dtype, type.shape, " in arm ", arm);
    }
  }
  if (results.empty()) throw GraphError("branch: it has no results");
  return results;
}

/// The type of a stack of rows, and that of one of its rows.
TensorType stack_of(const TensorType& row, std::int64_t rows) {
  TensorType stack{row.dtype, {rows}, false};
  for (const std::int64_t length : row.shape) stack.shape.push_back(length);
  std::int64_t elements = 1;
  bool empty = false;
  for (const std::int64_t length : stack.shape) {
    empty = empty || length == 0;
    if (length != 0 && __builtin_mul_overflow(elements, length, &elements)) elements = INT64_MAX;
  }
  if (!empty && elements > INT64_MAX / 16) {
    throw_error<ShapeError>("loop: a stack of shape ", stack.shape, " is larger than memory can be");
  }
  return stack;
}

TensorType row_of(const TensorType& stack) {
  TensorType row{stack.dtype, {}, false};
  for (std::size_t axis = 1; axis < stack.shape.size(); ++axis) row.shape.push_back(stack.shape[axis]);
  return row;
}

std::vector<TensorType> infer_loop(const Attributes& attributes, std::span<const TensorType> inputs) {
  const auto& loop = get<IterationAttributes>(attributes);
  if (!loop.body) throw GraphError("loop: the body is missing");
  const Graph& body = loop.body.graph();
  const auto count = static_cast<std::int64_t>(inputs.size());
  const std::int64_t leading = std::int64_t{loop.counted} + loop.tested + loop.keyed;
  if (loop.carries < 0 || loop.rows < 0 || loop.stacked < 0 || loop.histories < 0 || loop.histories > loop.stacked ||
      loop.trips < -1 || loop.carries > count || loop.rows > count || leading + loop.carries + loop.rows > count) {
    throw_error<GraphError>("loop: ", loop.carries, " carries, ", loop.rows, " stacks of rows and ", loop.stacked,
                            " stacks of results do not go with ", count, " operands");
  }
  if (loop.trips < 0 && !loop.counted && !loop.tested) throw GraphError("loop: nothing ends it");
  if (loop.trips < 0 && (loop.rows != 0 || loop.stacked != 0)) {
    throw GraphError("loop: stacks need a bound of how often it runs");
  }
  std::size_t next = 0;
  if (loop.counted) require_type("loop: the count", inputs[next++], DType::i64, {});
  if (loop.tested) require_type("loop: the condition", inputs[next++], DType::boolean, {});
  if (loop.keyed) require_type("loop: the key", inputs[next++], DType::i64, {2});
  std::vector<TensorType> given;
  std::vector<TensorType> results;
  for (std::int64_t i = 0; i < loop.carries; ++i) {
    given.push_back(inputs[next++]);
    results.push_back({given.back().dtype, given.back().shape, false});
  }
  if (loop.numbered) given.push_back(number_type);
  if (loop.keyed) given.push_back(key_type);
  for (std::int64_t i = 0; i < loop.rows; ++i) {
    const TensorType& stack = inputs[next++];
    if (stack.shape.size() == 0 || stack.shape[0] != loop.trips) {
      throw_error<ShapeError>("loop: stack ", i, " is ", stack.dtype, stack.shape, ", but there are ", loop.trips,
                              " rows");
    }
    given.push_back(row_of(stack));
  }
  given.insert(given.end(), inputs.begin() + static_cast<std::ptrdiff_t>(next), inputs.end());
  check_taken("loop", body, given);
  if (static_cast<std::int64_t>(body.updates().size()) != loop.carries) {
    throw_error<GraphError>("loop: the body updates ", body.updates().size(), " of ", loop.carries, " carries");
  }
  for (std::int64_t i = 0; i < loop.carries; ++i) {
    const GraphUpdate& update = body.updates()[static_cast<std::size_t>(i)];
    const TensorType& next_type = body.type(update.port);
    const TensorType& carry = given[static_cast<std::size_t>(i)];
    if (static_cast<std::int64_t>(update.input) != i) throw GraphError("loop: carries are updated out of order");
    if (same_type(next_type, carry)) continue;
    throw_error<TypeError>("loop: carry ", i, " is ", carry.dtype, carry.shape, ", the body yields ", next_type.dtype,
                           next_type.shape);
  }
  if (static_cast<std::int64_t>(body.outputs().size()) - std::int64_t{loop.tested} != loop.stacked) {
    throw_error<GraphError>("loop: the body has ", body.outputs().size(), " outputs beside its carries for ",
                            loop.stacked, " stacks");
  }
  if (loop.tested) require_type("loop: whether to go on", body.type(body.outputs()[0]), DType::boolean, {});
  for (const Port row : body.outputs().subspan(loop.tested ? 1 : 0)) {
    results.push_back(stack_of(body.type(row), loop.trips));
  }
  if (loop.tested) results.push_back(number_type);
  if (results.empty()) throw GraphError("loop: it has no results");
  return results;
}

}  // namespace

std::span<const OpDef> region_operators() {
  static const OpDef rows[] = {
      {.id = OpId::branch,
       .doc = "One of several regions, chosen by a number.",
       .min_inputs = 1,
       .max_inputs = 1 << 20,
       .traits = traits().complex(),
       .in_place = InPlace::by_region,
       .infer = infer_branch,
       .gradient = branch_gradient},
      {.id = OpId::loop,
       .doc = "A region that runs again and again on its carries.",
       .min_inputs = 0,
       .max_inputs = 1 << 20,
       .traits = traits().complex(),
       .in_place = InPlace::by_region,
       .infer = infer_loop,
       .gradient = loop_gradient},
  };
  return rows;
}

}  // namespace tyto::core
