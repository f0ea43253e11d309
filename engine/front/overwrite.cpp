// SPDX-License-Identifier: MIT
// Copy-on-write without the copy: allowed only while one handle holds the node and one node holds the buffer.
#include "engine/front/overwrite.hpp"

#include <atomic>
#include <vector>

#include "core/graph/op_ids.hpp"
#include "engine/graph/evaluate.hpp"
#include "engine/run/arrays.hpp"

namespace tyto::run {

namespace {

// Views, spans that were read, states and constants of graphs each hold a reference to the buffer or the node.
bool is_exclusive(core::Node& node) {
  return node.references() == 1 && node.results().size() == 1 && node.evaluated() && !node.tracked() &&
         !node.symbolic() && node.inputs().empty() && node.op() != core::OpId::state && node.op() != core::OpId::read &&
         node.result(0).array.buffer.use_count() == 1 && !node.result(0).array.buffer->read_only();
}

}  // namespace

bool overwrite(const Value& first, core::OpId op, const core::Attributes& attributes, std::span<const Value> others) {
  core::Node& node = *first.node();
  if (core::definition(op).in_place != core::InPlace::update_first_input || !is_exclusive(node)) return false;
  std::atomic_thread_fence(std::memory_order_acquire);  // after the reads of threads that released it
  const core::Array& target = node.result(0).array;
  core::Device& device = *target.buffer->device();
  if (!core::is_dense(target.view) || target.view.offset != 0) return false;

  // A tracked operand asks for a gradient through the result, which needs a node of its own.
  std::vector<core::TensorType> types{node.result(0).type};
  std::vector<core::Array> arrays{target};
  for (const Value& other : others) {
    if (other.node()->tracked()) return false;
    types.push_back(core::result_of(other).type);
    arrays.push_back(contents(other));
    if (arrays.back().buffer->device() != &device) return false;
  }
  const std::vector<core::TensorType> results = core::infer_types(core::definition(op), attributes, types);
  if (results.size() != 1 || results[0].dtype != target.dtype || results[0].shape != target.view.shape) return false;

  std::vector<DType> dtypes;
  for (const core::Array& array : arrays) dtypes.push_back(array.dtype);
  if (!device.supports(op, dtypes, {&target.dtype, 1})) return false;
  std::vector<core::Operand> operands;
  for (const core::Array& array : arrays) operands.push_back({array.dtype, array.view});
  const core::Operand result = operands[0];
  core::Step step{op, &attributes, operands, {&result, 1}};
  const std::uint64_t wanted = device.requires_dense(step);
  for (std::size_t i = 1; i < arrays.size(); ++i) {
    if ((wanted >> std::min<std::size_t>(i, 63) & 1) == 0) continue;
    arrays[i] = contiguous(arrays[i]);
    operands[i].view = arrays[i].view;
  }
  const std::shared_ptr<const core::Kernel> kernel = device.prepare(step);
  core::BufferRef workspace;
  if (kernel->workspace() != 0) workspace = device.allocate(kernel->workspace());
  std::vector<core::Address> from;
  for (const core::Array& array : arrays) from.push_back(address_of(array));
  kernel->launch(from, {from.data(), 1}, {workspace ? workspace->memory() : nullptr, 0});
  return true;
}

}  // namespace tyto::run
