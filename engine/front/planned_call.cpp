// SPDX-License-Identifier: MIT
// Caches plans of functions made of operators, thread by thread: an executable for each function, numbers and operand
// types, compiled once the calls have processed enough elements to pay for it.
#include "core/graph/planned_call.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <memory>
#include <vector>

#include "core/graph/builder.hpp"
#include "core/graph/op_ids.hpp"
#include "core/graph/view_now.hpp"
#include "core/value/hash.hpp"
#include "engine/front/eager_substitute.hpp"
#include "engine/graph/state.hpp"
#include "engine/graph/trace.hpp"
#include "engine/prepare/graph_passes.hpp"
#include "engine/run/devices.hpp"
#include "engine/run/eager_watch.hpp"
#include "engine/run/session.hpp"

namespace tyto::run {

namespace {

/// Elements that calls must have processed before a plan is made, which takes as long as operators on so many.
constexpr std::int64_t paying_elements = 1 << 19;
/// Applying an operator to one element takes as long as to this many.
constexpr std::int64_t elements_of_call = 4096;
/// Arenas that are larger are given back after each run.
constexpr std::size_t kept_arena_bytes = 1 << 16;
constexpr std::size_t plan_limit = 64;

/// The key of a plan: all that it depends on, as 64-bit words.
class PlanKey {
 public:
  void add(std::uint64_t word) {
    if (size_ < words_.size()) words_[size_] = word;
    ++size_;
    hash_ = core::mixed_hash(hash_, word);
  }
  bool holds_all() const { return size_ <= words_.size(); }
  std::uint64_t hash() const { return hash_; }
  friend bool operator==(const PlanKey& a, const PlanKey& b) {
    return a.hash_ == b.hash_ && a.size_ == b.size_ &&
           std::equal(a.words_.begin(), a.words_.begin() + static_cast<std::ptrdiff_t>(a.size_), b.words_.begin());
  }

 private:
  std::array<std::uint64_t, 40> words_;
  std::size_t size_ = 0;
  std::uint64_t hash_ = 0;
};

void add_number(PlanKey& key, const Scalar& number) {
  key.add(static_cast<std::uint64_t>(number.kind()) | (number.is_large() ? 8 : 0));
  const bool fraction = number.is_floating() || number.is_complex();
  key.add(fraction ? std::bit_cast<std::uint64_t>(number.as_double()) : number.as_unsigned());
  key.add(std::bit_cast<std::uint64_t>(number.imaginary()));
}

struct KeptPlan {
  PlanKey key;
  std::uint64_t used = 0;     // when it was last
  std::int64_t elements = 0;  // that calls have worked through
  bool refused = false;       // its graph is none that a plan serves
  std::shared_ptr<const Executable> executable;
  std::unique_ptr<Session> idle;
};

struct Plans {
  std::vector<std::uint64_t> hashes;  // of the plans: few cache lines to look through
  std::vector<std::unique_ptr<KeptPlan>> list;
  std::uint64_t now = 0;
  core::PlannedCallCount count;

  KeptPlan& find(const PlanKey& key) {
    ++now;
    for (std::size_t i = 0; i < hashes.size(); ++i) {
      if (hashes[i] != key.hash() || !(list[i]->key == key)) continue;
      list[i]->used = now;
      return *list[i];
    }
    auto oldest = list.end();
    if (list.size() == plan_limit) {
      oldest = std::ranges::min_element(list, {}, [](const auto& plan) { return plan->used; });
    } else {
      hashes.emplace_back();
      oldest = list.emplace(list.end());
    }
    hashes[static_cast<std::size_t>(oldest - list.begin())] = key.hash();
    *oldest = std::make_unique<KeptPlan>();
    (*oldest)->key = key;
    (*oldest)->used = now;
    return **oldest;
  }
};

Plans& own_plans() {
  thread_local const auto plans = std::make_unique<Plans>();
  return *plans;
}

bool is_number(const Value& value) {
  return core::result_of(value).type.weak && value.node()->op() == core::OpId::fill;
}

/// The operands' contents, empty for numbers; false where operators are to be applied one by one.
bool read_operands(const core::PlannedCall& call, std::span<Value> operands, PlanKey& key, std::int64_t& elements) {
  key.add(call.function);
  key.add(kernel_epoch());
  key.add(call.numbers.size());
  for (const std::uint64_t number : call.numbers) key.add(number);
  for (std::size_t i = 0; i < operands.size(); ++i) {
    operands[i] =
        call.operands[i].node()->op() == core::OpId::state ? core::resolve(call.operands[i]) : call.operands[i];
    const core::Array* array = core::contents_now(operands[i]);
    if (array == nullptr) {
      if (!is_number(operands[i]) || operands[i].node()->tracked()) return false;
      add_number(key, std::get<core::RangeAttributes>(core::attributes_of(operands[i])).start);
      continue;
    }
    if (array->buffer->device() != &cpu_device() || core::repeats_elements(array->view)) return false;
    elements = std::max(elements, array->view.count());
    const std::uint64_t weak = core::result_of(operands[i]).type.weak ? 0x200 : 0x100;
    key.add(weak | static_cast<std::uint64_t>(array->dtype) | static_cast<std::uint64_t>(array->view.rank()) << 32);
    for (const std::int64_t length : array->view.shape) key.add(static_cast<std::uint64_t>(length));
  }
  return elements > 0 && key.holds_all();
}

std::shared_ptr<const Executable> made(const core::PlannedCall& call, std::span<const Value> operands) {
  const TraceInProgress recording;
  const std::uint64_t since = core::next_sequence();
  std::vector<Value> symbols(operands.begin(), operands.end());
  std::vector<std::shared_ptr<core::State>> states;
  for (Value& symbol : symbols) {
    if (is_number(symbol)) continue;
    const core::TensorType type = core::result_of(symbol).type;
    symbol = make_state(core::Mode::lazy, core::State::Kind::placeholder, "operand", type);
    states.push_back(state_behind(symbol, "planned"));
  }
  const Value result = call.record(call.context, symbols);
  Traced traced = trace({.outputs = {&result, 1},
                         .updates = {},
                         .inputs = states,
                         .capture_constants = true,
                         .bind_states = true,
                         .since = since});
  if (traced.graph.inputs().size() != states.size()) return nullptr;
  CompileOptions options;
  options.passes = bit_exact;
  return std::make_shared<const Executable>(std::move(traced.graph), cpu_device(), options);
}

Value run(KeptPlan& plan, std::span<const Value> operands) {
  std::unique_ptr<Session> session = std::move(plan.idle);
  if (session == nullptr) session = std::make_unique<Session>(plan.executable);
  std::uint32_t input = 0;
  for (const Value& operand : operands) {
    if (const core::Array* array = core::contents_now(operand)) session->bind(input++, *array);
  }
  session->run();
  Value result = core::constant(core::Mode::eager, session->take_output(0));
  session->release_inputs();
  if (plan.executable->arena_bytes() <= kept_arena_bytes) plan.idle = std::move(session);
  return result;
}

}  // namespace

}  // namespace tyto::run

namespace tyto::core {

PlannedCallCount planned_call_count() { return run::own_plans().count; }

Value planned_result(const PlannedCall& call) {
  constexpr std::size_t most_operands = 8;
  if (run::checks_eager_numbers()) return {};  // operators one by one have names
  if (call.operands.size() > most_operands) return {};
  bool eager = false;
  for (const Value& operand : call.operands) eager |= operand.node()->mode() == Mode::eager;
  if (!eager || has_eager_substitute() || run::trace_in_progress() || &run::current_device() != &run::cpu_device())
    return {};
  std::array<Value, most_operands> resolved;
  const std::span<Value> operands(resolved.data(), call.operands.size());
  run::PlanKey key;
  std::int64_t elements = 0;
  if (!run::read_operands(call, operands, key, elements)) return {};
  run::KeptPlan& plan = run::own_plans().find(key);
  if (plan.executable == nullptr) {
    if (plan.refused) return {};
    if (plan.elements < run::paying_elements) {
      plan.elements += elements + run::elements_of_call;
      return {};
    }
    plan.executable = run::made(call, operands);
    plan.refused = plan.executable == nullptr;
    if (plan.refused) return {};
    ++run::own_plans().count.plans;
  }
  ++run::own_plans().count.runs;
  return run::run(plan, operands);
}

}  // namespace tyto::core
