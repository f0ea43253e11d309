// SPDX-License-Identifier: MIT
// Common sub-expressions: of nodes that do the same to the same inputs, the first does it for all.
#include <algorithm>
#include <cstring>

#include "core/device/device.hpp"
#include "core/graph/op_ids.hpp"
#include "core/value/hash.hpp"
#include "optimiser/passes/pass.hpp"

namespace tyto::optimiser {

namespace {

using Index = GraphEditor::Index;

// Bytes up to which contents are compared; larger constants are the same when they share their memory.
constexpr std::int64_t comparable_bytes = 64;

/// The bytes of a small dense constant in host memory.
std::span<const std::byte> small_contents(const core::Array& array) {
  const std::int64_t bytes = array.view.count() * static_cast<std::int64_t>(size_of(array.dtype));
  if (bytes > comparable_bytes || !core::is_dense(array.view) || !array.buffer->device()->properties().host_memory) {
    return {};
  }
  const auto* first = static_cast<const std::byte*>(array.buffer->memory()) +
                      array.view.offset * static_cast<std::int64_t>(size_of(array.dtype));
  return {first, static_cast<std::size_t>(bytes)};
}

std::size_t hash_of_contents(const core::Array& array) {
  const std::span<const std::byte> bytes = small_contents(array);
  if (bytes.data() == nullptr) return std::hash<const void*>()(array.buffer.get());
  std::size_t seed = bytes.size();
  for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
    std::uint64_t word = 0;
    std::memcpy(&word, bytes.data() + at, std::min(sizeof word, bytes.size() - at));
    seed = core::mixed_hash(seed, word);
  }
  return seed;
}

class Merger {
 public:
  explicit Merger(PassContext& context) : context_(context), editor_(context.editor) {
    std::size_t size = 16;
    while (size < 2 * editor_.size()) size *= 2;
    table_.assign(size, {0, empty});
  }

  void run() {
    std::size_t merged = 0;
    for (const Index index : editor_.order()) {
      if (!editor_.is_alive(index) || !depends_on_operands_only(editor_.node(index))) continue;
      const Index first = find_or_add(index);
      if (first == index) continue;
      const GraphNode& kept = editor_.node(first);
      const GraphNode& gone = editor_.node(index);
      for (std::uint32_t i = 0; i < gone.result_count; ++i) {
        editor_.replace(gone.first_result + i, kept.first_result + i);
      }
      editor_.remove(
          index);  // when none of the results had a consumer, nothing was replaced by which it would have gone
      ++merged;
    }
    if (merged != 0) context_.fired("equal_nodes", merged);
  }

 private:
  static constexpr Index empty = UINT32_MAX;

  struct Entry {
    std::uint32_t tag;  // of the hash, so that most that are not equal are not compared
    Index node;
  };

  struct Operands {
    Port first = 0, second = 0;
  };

  // Operands of a commutative operator in a fixed order, so that a + b is b + a.
  Operands sorted(const core::OpDef& def, std::span<const Port> inputs) const {
    if (inputs.size() != 2) return {};
    if (def.is(Traits::is_commutative)) return {std::min(inputs[0], inputs[1]), std::max(inputs[0], inputs[1])};
    return {inputs[0], inputs[1]};
  }

  std::size_t hash_of(Index index) {
    const GraphNode& node = editor_.node(index);
    const core::OpDef& def = editor_.definition(index);
    const std::span<const Port> inputs = editor_.inputs(index);
    std::size_t seed = static_cast<std::size_t>(node.op);
    if (inputs.size() == 2) {
      const Operands pair = sorted(def, inputs);
      seed = core::mixed_hash(core::mixed_hash(seed, pair.first), pair.second);
    } else {
      for (const Port input : inputs) seed = core::mixed_hash(seed, input);
    }
    if (const core::Array* array = array_of(index)) {
      seed = core::mixed_hash(seed, hash_of_contents(*array));
    } else if (node.attributes) {
      seed = core::mixed_hash(seed, core::hash_of(*node.attributes));
    }
    return seed;
  }

  // The array of a constant that no state holds.
  const core::Array* array_of(Index index) const {
    const auto* const given = std::get_if<core::ConstantAttributes>(&editor_.attributes(index));
    return given == nullptr ? nullptr : &given->array;
  }

  bool same_constant(Index a, Index b) {
    const core::Array* const x = array_of(a);
    const core::Array* const y = array_of(b);
    const auto first = x != nullptr ? small_contents(*x) : std::span<const std::byte>();
    const auto second = y != nullptr ? small_contents(*y) : std::span<const std::byte>();
    if (first.data() == nullptr || second.data() == nullptr) return editor_.attributes(a) == editor_.attributes(b);
    return x->dtype == y->dtype && x->view.shape == y->view.shape && std::ranges::equal(first, second);
  }

  bool same(Index a, Index b) {
    const GraphNode& x = editor_.node(a);
    const GraphNode& y = editor_.node(b);
    if (x.op != y.op || x.input_count != y.input_count) return false;
    if (x.op == OpId::constant) return same_constant(a, b);
    const std::span<const Port> left = editor_.inputs(a);
    const std::span<const Port> right = editor_.inputs(b);
    if (left.size() == 2) {
      const core::OpDef& def = editor_.definition(a);
      const Operands p = sorted(def, left);
      const Operands q = sorted(def, right);
      if (p.first != q.first || p.second != q.second) return false;
    } else if (!std::ranges::equal(left, right)) {
      return false;
    }
    return x.attributes == y.attributes || editor_.attributes(a) == editor_.attributes(b);
  }

  Index find_or_add(Index index) {
    const std::size_t mask = table_.size() - 1;
    const std::size_t hash = hash_of(index);
    const auto tag = static_cast<std::uint32_t>(hash);
    std::size_t slot = (hash >> 32) & mask;
    for (; table_[slot].node != empty; slot = (slot + 1) & mask) {
      if (table_[slot].tag == tag && same(table_[slot].node, index)) return table_[slot].node;
    }
    table_[slot] = {tag, index};
    return index;
  }

  PassContext& context_;
  GraphEditor& editor_;
  std::vector<Entry> table_;
};

}  // namespace

void merge_common_subexpressions(PassContext& context) { Merger(context).run(); }

}  // namespace tyto::optimiser
