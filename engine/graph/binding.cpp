// SPDX-License-Identifier: MIT
// Binds states before a run and updates them after it: in place when nobody else holds their contents, else on a copy.
#include "engine/graph/binding.hpp"

#include <atomic>
#include <cstring>
#include <mutex>

#include "core/graph/builder.hpp"
#include "core/graph/op_ids.hpp"
#include "core/graph/released_versions.hpp"
#include "core/value/text.hpp"
#include "engine/graph/random.hpp"
#include "engine/run/arrays.hpp"
#include "engine/run/devices.hpp"

namespace tyto::run {

BoundSession::BoundSession(std::shared_ptr<const Executable> executable, core::BufferRef arena)
    : session_(std::move(executable), std::move(arena)) {
  const Executable& made = session_.executable();
  const std::span<const core::GraphInput> inputs = made.graph().inputs();
  auto packed = made.packed_inputs().begin();
  for (std::uint32_t i = 0; i < inputs.size(); ++i) {
    core::State* const state = inputs[i].state.get();
    if (packed != made.packed_inputs().end() && packed->input == i) ++packed;
    else if (inputs[i].generator) generators_.push_back(i);
    else if (state == nullptr || state->kind() == core::State::Kind::placeholder) required_.push_back(i);
    else if (made.needs(i)) states_.push_back({state, i, made.is_written(i)});
  }
}

// The key's memory never leaves the session: outputs are copies.
const core::Array& BoundSession::key_of(const Generator& generator) {
  if (!key_) key_ = new_array(cpu_device(), DType::i64, {2});
  const std::uint64_t words[2] = {generator.seed, generator.draws};
  std::memcpy(key_.buffer->memory(), words, sizeof words);
  return key_;
}

namespace {

// A value that is still to be computed may be read by several sessions at once: one of them computes it and gives the
// state a version that holds it, while the version that all of them see stays as it is.
core::Array computed_version(const Value& current) {
  static std::recursive_mutex one_at_a_time;  // what is computed may call a session
  const std::lock_guard lock(one_at_a_time);
  const core::Node& node = *current.node();
  if (node.op() != core::OpId::read || node.inputs().empty() || node.tracked()) return contents(current);
  const core::Array array = contiguous(contents(node.inputs()[0]));
  const auto state = std::get<core::VersionAttributes>(node.attributes()).state.lock();
  if (state != nullptr && state->current().node() == &node)
    state->set_current(core::version(node.mode(), state, array));
  return array;
}

}  // namespace

void BoundSession::bind_state(BoundState& each) {
  const Executable& executable = session_.executable();
  core::State& state = *each.state;
  session_.unbind(each.input);
  each.bound = false;
  std::uint64_t count = each.count_now();
  const bool used = each.count != never && each.count != count;
  each.shared = used || (each.shared && !each.written);
  each.count = never;
  if (each.written) ++count;  // the call of current()
  const Value current = state.current();
  if (!current) {
    core::throw_error<GraphError>("input '", state.name(), "' of shape ", state.type().shape, " was given no value");
  }
  core::Node& node = *current.node();
  core::Array array = node.is_version() ? core::contents_of(current) : read_(current);
  if (each.written) {
    // Held by the version's node and by `array` here; the node held by the state and by `current`.
    const bool alone =
        node.is_version() && node.references() == 2 && array.buffer.use_count() == 2 && !array.buffer->read_only();
    // Reads by threads that released it happen before it is written.
    std::atomic_thread_fence(std::memory_order_acquire);
    if (!alone || !core::is_dense(array.view) || array.buffer->device() != &executable.device()) {
      // Copied on the device: what arrives there may be the host's memory, shared.
      const core::Array there = to_device(array, executable.device());
      array = new_array(executable.device(), there.dtype, there.view.shape);
      copy_elements(there, array);
      state.set_current(core::version(node.mode(), state.shared_from_this(), array));
      ++count;
    }
  }
  session_.bind(each.input, array);
  // What depends on a placeholder is computed anew for each run, and a stand-in is this thread's alone.
  const bool stays = each.written || node.is_version();
  each.bound = stays && !core::State::any_stand_in();
  if (each.bound) each.count = count;
}

void BoundSession::release_inputs() {
  session_.release_inputs();
  for (BoundState& each : states_) each.bound = false;
}

void BoundSession::read_beside_others() { read_ = computed_version; }

void BoundSession::release_packed() {
  for (const PackedInput& each : session_.executable().packed_inputs()) each.weights->release(this);
}

void BoundSession::run() {
  const Executable& executable = session_.executable();
  const core::Graph& graph = executable.graph();
  // A run that lacks an input leaves states and the random sequence as they were.
  for (const std::uint32_t input : required_) session_.require(input);
  const Generator sequence = advance_generator(graph.draws());
  for (const std::uint32_t input : generators_) session_.bind(input, key_of(sequence));
  const bool anew = core::State::any_stand_in();
  for (BoundState& each : states_) {
    if (anew || !each.bound || each.count != each.count_now()) bind_state(each);
  }
  // After the states, so that who reads one of them in plain too keeps that.
  for (const PackedInput& each : executable.packed_inputs())
    session_.bind(each.input, each.weights->current(read_, this));
  // Written in place: values computed from these states must be invalidated, also after a run that threw, which may
  // have written some.
  const auto note_writes = [&] {
    for (const core::GraphUpdate& update : graph.updates()) graph.inputs()[update.input].state->count_write();
  };
  try {
    session_.run();
  } catch (...) {
    note_writes();
    throw;
  }
  for (BoundState& each : states_) {
    if (!each.shared) continue;
    session_.unbind(each.input);
    each.bound = false;
  }
  // Other sessions may pack them anew before the next run.
  for (const PackedInput& each : executable.packed_inputs()) session_.unbind(each.input);
  note_writes();
}

}  // namespace tyto::run
