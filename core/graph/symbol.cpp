// SPDX-License-Identifier: MIT
// Creates and counts nodes, and releases chains of them without recursion.
#include "core/graph/symbol.hpp"

#include <unordered_map>
#include <utility>

#include "core/graph/builder.hpp"
#include "core/graph/op_ids.hpp"
#include "core/graph/released_versions.hpp"

namespace tyto TYTO_API {

void Value::retain(core::Node* node) { node->retain(); }
void Value::release(core::Node* node) { node->release(); }
DType Value::dtype() const {
  if (node_ == nullptr) throw GraphError("an undefined tensor is asked for its element type");
  return core::result_of(*this).type.dtype;
}
const Shape& Value::shape() const {
  if (node_ == nullptr) throw GraphError("an undefined tensor is asked for its shape");
  return core::result_of(*this).type.shape;
}

}  // namespace TYTO_API

namespace tyto::core {

namespace {

std::atomic<std::uint64_t> sequence_counter{1};

// Nodes whose count fell to zero while another node is being destroyed on this thread. A chain of a million nodes is
// taken down link by link instead of call by call.
struct Dying {
  Node* first = nullptr;
  bool in_progress = false;
};
[[gnu::tls_model("initial-exec")]] thread_local constinit Dying dying;

}  // namespace

std::uint64_t next_sequence() { return sequence_counter.load(std::memory_order_relaxed); }

Node::Node(OpId op, Mode mode, std::shared_ptr<const Attributes> attributes, std::span<Value> inputs,
           std::span<const TensorType> results)
    : op_(op),
      mode_(mode),
      input_count_(static_cast<std::uint32_t>(inputs.size())),
      result_count_(static_cast<std::uint32_t>(results.size())),
      sequence_(sequence_counter.fetch_add(1, std::memory_order_relaxed)),
      attributes_(std::move(attributes)),
      inputs_(inputs.size() <= inline_inputs ? local_inputs_ : new Value[inputs.size()]),
      results_(results.size() == 1 ? &local_result_ : new Result[results.size()]) {
  for (std::size_t i = 0; i < inputs.size(); ++i) {
    symbolic_ |= inputs[i].node()->symbolic();
    inputs_[i] = std::move(inputs[i]);
  }
  for (std::size_t i = 0; i < results.size(); ++i) results_[i].type = results[i];
}

Node::~Node() {
  if (op_ == OpId::read) end_release(*this, {});
  if (inputs_ != local_inputs_) delete[] inputs_;
  if (results_ != &local_result_) delete[] results_;
}

const Attributes& Node::attributes() const { return attributes_ ? *attributes_ : no_attributes; }

bool Node::evaluated() const {
  if (symbolic_) return false;
  if (op_ == OpId::constant || is_version()) return true;  // also one whose contents a state holds or has released
  for (const Result& result : results()) {
    if (!result.array) return false;
  }
  return true;
}

bool Node::is_version() const { return op_ == OpId::read && input_count_ == 0 && !symbolic_; }

void Node::drop_inputs() {
  if (inputs_ != local_inputs_) {
    delete[] inputs_;
    inputs_ = local_inputs_;
  } else {
    for (std::uint32_t i = 0; i < input_count_; ++i) local_inputs_[i] = Value();
  }
  input_count_ = 0;
}

void Node::release() {
  // A sole owner needs no atomic read-modify-write.
  if (references_.load(std::memory_order_acquire) != 1 && references_.fetch_sub(1, std::memory_order_acq_rel) != 1) {
    return;
  }
  if (dying.in_progress) {
    next_dying_ = std::exchange(dying.first, this);
    return;
  }
  dying.in_progress = true;
  delete this;
  while (dying.first != nullptr) {
    Node* next = dying.first;
    dying.first = next->next_dying_;
    delete next;
  }
  dying.in_progress = false;
}

namespace {

// Replacements of states on this thread; allocated at their first use.
using StandIns = std::unordered_map<const State*, Value>;
[[gnu::tls_model("initial-exec")]] thread_local constinit StandIns* stand_ins = nullptr;

Value* stand_in_of(const State& state) {
  if (stand_ins == nullptr) return nullptr;
  const auto found = stand_ins->find(&state);
  return found == stand_ins->end() ? nullptr : &found->second;
}

}  // namespace

Value State::current() {
  if (const Value* stand_in = stand_in_of(*this)) return *stand_in;
  const std::lock_guard lock(mutex_);
  reads_.fetch_add(1, std::memory_order_relaxed);
  if (held_.deferred != nullptr) {
    Array array = held_.deferred->make();
    Value made = version(held_.deferred->mode, shared_from_this(), std::move(array));
    made.node()->set_sequence(held_.deferred->sequence);
    held_ = {std::move(made), nullptr};
  }
  return held_.version;
}

Array State::contents_of(Node& version) const {
  const std::lock_guard lock(mutex_);
  return restored_contents(version);
}

void State::set_current(Value version) {
  if (Value* stand_in = stand_in_of(*this)) {
    *stand_in = std::move(version);
  } else {
    hold({std::move(version), nullptr});
  }
}

Value State::stand_in(Value version) {
  if (stand_ins == nullptr) stand_ins = new StandIns;
  return std::exchange((*stand_ins)[this], std::move(version));
}

void State::end_stand_in(Value before) {
  if (before) {
    (*stand_ins)[this] = std::move(before);
    return;
  }
  stand_ins->erase(this);
  if (stand_ins->empty()) delete std::exchange(stand_ins, nullptr);
}

bool State::any_stand_in() { return stand_ins != nullptr; }

void State::defer(DeferredContents contents) {
  contents.sequence = sequence_counter.fetch_add(1, std::memory_order_relaxed);  // as no other node has
  hold({Value(), std::make_shared<const DeferredContents>(std::move(contents))});
}

Array State::release(DeferredContents contents) {
  const std::lock_guard lock(mutex_);
  if (writes_ != 0 || !held_.version) return {};
  Node& node = *held_.version.node();
  const bool alone = node.references() == 1;
  const bool unread =
      node.is_version() && node.result(0).array.buffer.use_count() == 1 && node.result(0).host == nullptr;
  // Eager mode reads contents without the lock, so a node that others refer to keeps its contents.
  if (!unread || (!alone && (node.tracked() || node.mode() == Mode::eager))) return {};
  std::atomic_thread_fence(std::memory_order_acquire);  // after the reads of threads that released it
  contents.sequence = node.sequence();
  auto deferred = std::make_shared<const DeferredContents>(std::move(contents));
  if (!alone) return release_contents(node, std::move(deferred));  // recorded expressions read it
  Array released = std::move(node.result(0).array);
  held_ = {Value(), std::move(deferred)};
  return released;
}

State::Held State::held() const {
  if (const Value* stand_in = stand_in_of(*this)) return {*stand_in, nullptr};
  const std::lock_guard lock(mutex_);
  reads_.fetch_add(1, std::memory_order_relaxed);
  return held_;
}

void State::hold(Held held) {
  const std::lock_guard lock(mutex_);
  std::swap(held_, held);  // its old contents are freed after the lock
  ++assignments_;
}

}  // namespace tyto::core
