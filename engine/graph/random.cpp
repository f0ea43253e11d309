// SPDX-License-Identifier: MIT
// Seeds, keys and draws.
#include "engine/graph/random.hpp"

#include <cstring>
#include <mutex>
#include <utility>

#include "core/graph/builder.hpp"
#include "core/value/hash.hpp"
#include "core/value/text.hpp"
#include "engine/graph/trace.hpp"
#include "engine/run/devices.hpp"
#include "tyto/tensor.hpp"

namespace tyto::run {

namespace {

std::mutex generator_mutex;
Generator sequence;
thread_local constinit Generator* own_sequence = nullptr;

core::Array key_array(std::uint64_t seed, std::uint64_t stream) {
  const std::uint64_t words[2] = {seed, stream};
  core::Array array{cpu_device().allocate(sizeof words), DType::i64, core::View::dense({2})};
  std::memcpy(array.buffer->memory(), words, sizeof words);
  return array;
}

}  // namespace

OwnGenerator::OwnGenerator() : start_(generator()), outer_(std::exchange(own_sequence, &now_)) {}
OwnGenerator::~OwnGenerator() { own_sequence = outer_; }

Generator generator() {
  if (own_sequence != nullptr) return *own_sequence;
  const std::lock_guard lock(generator_mutex);
  return sequence;
}

void set_generator(Generator next) {
  const std::lock_guard lock(generator_mutex);
  sequence = next;
}

Generator advance_generator(std::uint64_t count) {
  std::unique_lock lock(generator_mutex, std::defer_lock);
  if (own_sequence == nullptr) lock.lock();
  Generator& taken = own_sequence != nullptr ? *own_sequence : sequence;
  const Generator before = taken;
  taken.draws += count;
  return before;
}

const std::shared_ptr<core::State>& generator_state() {
  static const auto state = std::make_shared<core::State>(core::State::Kind::persistent, "random sequence",
                                                          core::TensorType{DType::i64, {2}, false});
  return state;
}

Value next_draw_key(core::Mode mode) {
  const Generator now = advance_generator(1);
  return core::version(mode, generator_state(), key_array(now.seed, now.draws));
}

Value draw_key(core::Mode mode, std::uint64_t seed, std::uint64_t stream) {
  return core::constant(mode, key_array(seed, stream));
}

namespace {

thread_local constinit DrawScope* innermost_draws = nullptr;

[[noreturn]] void refuse_draw(const char* what) {
  core::throw_error<GraphError>(what, ": the condition draws random numbers; draw them in the body and carry them");
}

}  // namespace

DrawScope::DrawScope(const Key& key) : key_(key), outer_(innermost_draws) { innermost_draws = this; }
DrawScope::DrawScope(Value key) : parameter_(std::move(key)), outer_(innermost_draws) { innermost_draws = this; }
DrawScope::DrawScope(const char* what) : refusing_(what), outer_(innermost_draws) { innermost_draws = this; }
DrawScope::~DrawScope() { innermost_draws = outer_; }

// An eager draw while a region is recorded belongs to the recording code, not to an iteration of the region.
DrawScope* DrawScope::innermost(core::Mode mode) {
  DrawScope* scope = innermost_draws;
  while (scope != nullptr && scope->parameter_ && mode == core::Mode::eager) scope = scope->outer_;
  if (scope != nullptr && scope->refusing_ != nullptr) refuse_draw(scope->refusing_);
  return scope;
}

Draw next_draw(core::Mode mode) {
  DrawScope* const scope = DrawScope::innermost(mode);
  if (scope == nullptr) return {next_draw_key(mode), 0};
  const std::int64_t number = scope->draws_++;
  if (scope->parameter_) return {scope->parameter_, number};
  return {draw_key(mode, scope->key_.seed, scope->key_.stream + static_cast<std::uint64_t>(number)), 0};
}

Key next_region_key() {
  DrawScope* const scope = DrawScope::innermost(core::Mode::eager);
  if (scope == nullptr) {
    const Generator now = advance_generator(1);
    return {now.seed, now.draws};
  }
  return {scope->key_.seed, scope->key_.stream + static_cast<std::uint64_t>(scope->draws_++)};
}

std::uint64_t draw_of_key(const core::Array& key) { return static_cast<const std::uint64_t*>(key.buffer->memory())[1]; }

}  // namespace tyto::run

namespace tyto::core {

Value draw(Mode mode, OpId op, RandomAttributes attributes, const std::optional<Key>& key) {
  if (key) return emit(mode, op, std::move(attributes), {run::draw_key(mode, key->seed, key->stream)});
  const run::Draw next = run::next_draw(mode);
  attributes.draw = next.number;
  return emit(mode, op, std::move(attributes), {next.key});
}

void skip_draws(Mode mode, std::int64_t count) {
  for (std::int64_t i = 0; i < count; ++i) run::next_draw(mode);
}

}  // namespace tyto::core

namespace tyto TYTO_API {

namespace {

// A trace is made once and run often: it cannot keep "begin anew at each call" in mind.
void refuse_in_trace(const char* function) {
  if (!run::trace_in_progress()) return;
  core::throw_error<GraphError>(
      function,
      ": a compiled function cannot move the random sequence; do it before the call, or give the draws a key");
}

}  // namespace

void seed(std::uint64_t value) {
  refuse_in_trace("seed");
  run::set_generator({value, 0});
}

RandomState random_state() {
  const run::Generator now = run::generator();
  return {now.seed, now.draws};
}

void random_state(const RandomState& state) {
  refuse_in_trace("random_state");
  run::set_generator({state.seed, state.draws});
}

// A bijective mixer of seed and index keeps derived keys apart from their parents.
Key Key::split(std::uint64_t index) const {
  return {core::splitmix64(core::splitmix64(seed) ^ stream) ^ core::splitmix64(index + 1), 0};
}

}  // namespace TYTO_API
