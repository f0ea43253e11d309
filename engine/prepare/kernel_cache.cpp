// SPDX-License-Identifier: MIT
// A set-associative cache: a key may stand in any slot of its set, where the one used longest ago is evicted. The last
// of each operator is tried first.
#include "engine/prepare/kernel_cache.hpp"

#include <algorithm>
#include <array>

#include "core/graph/op_ids.hpp"
#include "core/value/hash.hpp"
#include "engine/prepare/custom_kernel.hpp"
#include "engine/regions/run/region_kernel.hpp"
#include "engine/run/arrays.hpp"
#include "engine/run/devices.hpp"

namespace tyto::run {

using core::Array;
using core::Node;
using core::Operand;

namespace {

/// One slot a key would let two kernels that are used in turn evict each other for good.
constexpr std::size_t set_count = 128, set_size = 4;

struct Table {
  using Set = std::array<std::unique_ptr<PreparedOperator>, set_size>;  // the one used last is first
  std::array<Set, set_count> sets;
  std::array<const PreparedOperator*, core::op_count>
      latest{};  // of each operator: looked at before anything is hashed
};

// The pointer itself needs no destructor, so it can be asked for until the very end of the thread.
[[gnu::tls_model("initial-exec")]] thread_local constinit Table* table = nullptr;

struct TableOwner {
  ~TableOwner() { delete std::exchange(table, nullptr); }
};

Table& own_table() {
  if (table == nullptr) {
    table = new Table;
    thread_local const TableOwner owner;
    (void)owner;
  }
  return *table;
}

std::uint64_t with_list(std::uint64_t seed, const IntList& list) {
  seed = core::mixed_hash(seed, list.size());
  for (const std::int64_t value : list) seed = core::mixed_hash(seed, static_cast<std::uint64_t>(value));
  return seed;
}

// Eager code never makes one, but replays those that it recorded.
bool is_region(core::OpId op) { return op == core::OpId::loop || op == core::OpId::branch; }

// Element-wise kernels on the CPU take any address, so one of them serves every part of a tensor; regions ask for it.
bool takes_any_start(const Node& node, const core::Device& home) {
  if (is_region(node.op())) return true;
  return core::is_listed_elementwise(node.op()) && &home == &cpu_device();
}

bool serves(const PreparedOperator& entry, const Node& node, std::span<const Array* const> inputs,
            const core::Device& home) {
  if (entry.op != node.op() || entry.home != &home || entry.inputs.size() != inputs.size()) return false;
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    const PreparedOperator::Input& known = entry.inputs[i];
    const Array& given = *inputs[i];
    if (known.dtype != given.dtype || known.view.shape != given.view.shape ||
        known.view.strides != given.view.strides || known.device != given.buffer->device() ||
        (!entry.any_start && known.view.offset != given.view.offset)) {
      return false;
    }
  }
  const core::Attributes* attributes = node.has_attributes() ? &node.attributes() : nullptr;
  return entry.attributes.get() == attributes ||
         (entry.attributes != nullptr && attributes != nullptr && *entry.attributes == *attributes);
}

}  // namespace

PreparedOperator::PreparedOperator(const Node& node, std::span<const Array* const> arrays, core::Device& home_device)
    : op(node.op()),
      home(&home_device),
      device(&home_device),
      any_start(takes_any_start(node, home_device)),
      attributes(node.shared_attributes()) {
  const bool custom = op == core::OpId::custom;
  const bool region = is_region(op);
  std::vector<DType> input_types;
  std::vector<DType> output_types;
  for (const Array* array : arrays) {
    inputs.push_back({array->dtype, array->view, array->buffer->device()});
    input_types.push_back(array->dtype);
  }
  for (const core::Result& result : node.results()) output_types.push_back(result.type.dtype);
  const bool at_home = custom ? has_device_kernel(custom_operator(node.attributes()), *home, input_types, output_types)
                              : home->supports(op, input_types, output_types);
  if (!at_home) device = &cpu_device();

  // Operands that were transferred from another device, or made contiguous, are dense.
  std::vector<Operand> operands;
  for (const Input& input : inputs) {
    Operand operand{input.dtype, input.view};
    if (input.device != device) {
      direct = false;
      operand.view = core::View::dense(input.view.shape);
    }
    if (any_start) operand.view.offset = 0;
    if (core::definition(op).is(core::Traits::elementwise)) {
      operand.view = core::broadcast_to(operand.view, node.results()[0].type.shape);
    }
    operands.push_back(std::move(operand));
  }
  std::vector<Operand> outputs;
  for (const core::Result& result : node.results()) {
    const auto bytes = byte_count(result.type.dtype, result.type.shape);
    results.push_back({result.type.dtype, core::View::dense(result.type.shape), bytes});
    outputs.push_back({result.type.dtype, results.back().view});
  }
  const core::Step step{op, &node.attributes(), operands, outputs};
  const std::uint64_t wanted = custom || region ? ~std::uint64_t{0} : device->requires_dense(step);
  for (std::size_t i = 0; wanted != 0 && i < operands.size(); ++i) {
    const std::uint64_t bit = std::uint64_t{1} << std::min<std::size_t>(i, 63);
    if ((wanted & bit) == 0 || core::is_dense(operands[i].view)) continue;
    direct = false;
    const Operand dense{operands[i].dtype, core::View::dense(operands[i].view.shape)};
    copies.resize(operands.size());
    copies[i] = device->prepare({core::OpId::copy, &core::no_attributes, {&operands[i], 1}, {&dense, 1}});
    operands[i] = dense;
  }
  if (region) {
    kernel = region_kernel(step, *device, {});
  } else {
    kernel = custom && !at_home ? custom_kernel(step) : device->prepare(step);
  }
}

namespace {

std::uint64_t hash_of(const Node& node, std::span<const Array* const> inputs, bool any_start) {
  std::uint64_t hash = core::mixed_hash(static_cast<std::uint64_t>(node.op()), inputs.size());
  for (const Array* input : inputs) {
    hash = core::mixed_hash(hash, static_cast<std::uint64_t>(input->dtype));
    hash = with_list(hash, input->view.shape);
    hash = with_list(hash, input->view.strides);
    if (!any_start) hash = core::mixed_hash(hash, static_cast<std::uint64_t>(input->view.offset));
  }
  if (node.has_attributes()) hash = core::mixed_hash(hash, core::hash_of(node.attributes()));
  return hash;
}

}  // namespace

const PreparedOperator& prepared_operator(const Node& node, std::span<const Array* const> inputs, core::Device& home) {
  Table& own = own_table();
  const std::uint64_t now = kernel_epoch();
  const PreparedOperator*& latest = own.latest[static_cast<std::size_t>(node.op())];
  if (latest != nullptr && latest->epoch == now && serves(*latest, node, inputs, home)) return *latest;
  const std::uint64_t hash = hash_of(node, inputs, takes_any_start(node, home));
  Table::Set& set = own.sets[(hash ^ (hash >> 32)) % set_count];
  auto slot = std::ranges::find_if(set, [&](const std::unique_ptr<PreparedOperator>& kept) {
    return kept != nullptr && kept->epoch == now && serves(*kept, node, inputs, home);
  });
  if (slot == set.end()) {
    auto made = std::make_unique<PreparedOperator>(node, inputs, home);
    made->epoch = now;
    --slot;
    if (*slot != nullptr && own.latest[static_cast<std::size_t>((*slot)->op)] == slot->get()) {
      own.latest[static_cast<std::size_t>((*slot)->op)] = nullptr;
    }
    *slot = std::move(made);
  }
  std::rotate(set.begin(), slot, slot + 1);
  return *(latest = set.front().get());
}

}  // namespace tyto::run
