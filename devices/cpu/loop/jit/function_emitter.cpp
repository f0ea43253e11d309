// SPDX-License-Identifier: MIT
// Allocates registers, and spills values to the stack.
#include "devices/cpu/loop/jit/function_emitter.hpp"

#include <algorithm>
#include <stdexcept>

#include "devices/cpu/reduce/fold_order.hpp"

namespace tyto::cpu::jit {

FunctionEmitter::FunctionEmitter(const KernelSpec& spec, const VectorShape& shape)
    : spec_(spec),
      shape_(shape),
      single_(spec.variant == Variant::single),
      body_(spec, shape.mask_registers != 0),
      vectors_(body_, 0, shape.registers),
      masks_(body_, 1, shape.mask_registers),
      slots_of_(spec.code.instructions.size(), -1),
      folded_(spec.code.instructions.size(), false) {}

void FunctionEmitter::load_late(Value, int) { throw std::logic_error("jit: a value is read before it is made"); }

int FunctionEmitter::take(RegisterFile& bank) {
  int which = bank.find_free();
  if (which < 0) {
    which = bank.farthest(position_);
    if (which < 0) throw NotEmitted();
    const Value value = bank.owner(which);
    if (slot_of(value) < 0 && !body_.is_constant(value)) {
      slot_of(value) = new_slot();
      store_slot(value, which);
    }
    bank.release(which);
  }
  bank.lock(which);
  return which;
}

int FunctionEmitter::in_register(Value value) {
  RegisterFile& bank = file(value);
  const int there = bank.find(value);
  if (there >= 0) {
    bank.lock(there);
    return there;
  }
  const int which = take(bank);
  if (body_.is_constant(value)) load_constant(value, which);
  else if (slot_of(value) >= 0) load_slot(value, which);
  else load_late(value, which);
  bank.assign(value, which);
  return which;
}

bool FunctionEmitter::dies(Value value) {
  RegisterFile& bank = file(value);
  const int which = bank.find(value);
  return which >= 0 && !bank.is_pinned(which) && !body_.same_in_row[static_cast<std::size_t>(value)] &&
         bank.next_use(value, position_ + 1) == RegisterFile::never;
}

void FunctionEmitter::free_register(Value value) {
  RegisterFile& bank = file(value);
  const int which = bank.find(value);
  if (which < 0 || bank.is_pinned(which) || !in_element_) return;
  bank.pass(value, position_ + 1);
  if (bank.next_use(value, position_ + 1) == RegisterFile::never) bank.release(which);
}

int FunctionEmitter::result_register(Value value, bool apart) {
  if (const int pinned = pinned_at(value); pinned >= 0) return pinned;
  RegisterFile& bank = file(value);
  int found = -1;
  if (!apart) {
    body_.operands(value, [&](Value read) {
      if (&file(read) == &bank && dies(read)) found = bank.find(read);
    });
  }
  return found >= 0 ? found : take(bank);
}

void FunctionEmitter::settle(Value value, int which) {
  if (pinned_at(value) >= 0) return;
  RegisterFile& bank = file(value);
  if (bank.owner(which) == value) return;
  bank.release(which);
  bank.assign(value, which);
}

void FunctionEmitter::choose_pins() {
  std::vector<std::pair<std::size_t, Value>> wanted;
  for (std::size_t i = 0; i < spec_.code.instructions.size(); ++i) {
    const auto value = static_cast<Value>(i);
    if (body_.root[i] != value || !body_.same_in_row[i] || is_in_mask(value)) continue;
    if (!body_.uses(value).empty()) wanted.emplace_back(body_.uses(value).size(), value);
  }
  std::stable_sort(wanted.begin(), wanted.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
  constexpr int temporaries = 3;
  const int free = shape_.registers - accumulator_count_;
  int left = free - std::min(body_.pressure, free / 2) - temporaries;
  for (const auto& [uses, value] : wanted) {
    if (left-- <= 0) break;
    const int which = free - 1 - static_cast<int>(pins_.size());
    pins_.emplace(value, which);
    vectors_.pin(value, which);
  }
}

int FunctionEmitter::unroll() const {
  if (!accumulators_.empty()) return copies_;
  const std::size_t work = body_.element.size() + spec_.code.stores.size();
  return work <= 8 ? 4 : work <= 24 ? 2 : 1;
}

void FunctionEmitter::emit_row_values() {
  in_element_ = false;
  position_ = -1;
  vectors_.begin();
  masks_.begin();
  for (const Value value : body_.row) {
    unlock_all();
    emit(value);
    if (pinned_at(value) < 0) {
      if (slot_of(value) < 0) slot_of(value) = new_slot();
      store_slot(value, file(value).find(value));
    }
    forget_all();
  }
}

void FunctionEmitter::begin_body(bool partial) {
  in_element_ = true;
  partial_ = partial;
  vectors_.begin();
  masks_.begin();
  row_slots_ = next_slot_;
}

void FunctionEmitter::emit_values() {
  for (position_ = 0; position_ < static_cast<int>(body_.element.size()); ++position_) {
    unlock_all();
    const Value value = body_.element[static_cast<std::size_t>(position_)];
    emit(value);
    body_.operands(value, [&](Value read) { free_register(read); });
  }
  for (std::size_t i = 0; i < accumulators_.size(); ++i) {
    unlock_all();
    accumulate(i);
    free_register(root(reduction(i).value));
    ++position_;
  }
}

void FunctionEmitter::end_body() {
  forget_all();
  for (const Value value : body_.element) slot_of(value) = -1;
  next_slot_ = row_slots_;
  partial_ = false;
}

std::uint64_t FunctionEmitter::identity(std::size_t i) const {
  const Lane lane = lane_of_reduction(i);
  const bool wide = is_wide(lane);
  switch (reduction(i).fold) {
    case Fold::sum: return 0;
    case Fold::product: return lane == Lane::f64 ? 0x3ff0000000000000u : 1u;
    case Fold::minimum:
      if (is_float(lane)) return wide ? 0x7ff0000000000000u : 0x7f800000u;
      return wide ? 0x7fffffffffffffffu : 0x7fffffffu;
    default:
      if (is_float(lane)) return wide ? 0xfff0000000000000u : 0xff800000u;
      return wide ? 0x8000000000000000u : 0x80000000u;
  }
}

void FunctionEmitter::place_accumulators() {
  constexpr int most_masks = 3;
  // What an operation takes at least. A long body that spills its values takes longer than folds of stored ones.
  const int left_for_body = std::clamp(body_.pressure, 4, shape_.registers / 2);
  for (std::size_t i = 0; i < spec_.code.reductions.size(); ++i) {
    Accumulator made;
    const int vectors = std::max(1, fold_lanes(is_wide(lane_of_reduction(i)) ? 8 : 4) / shape_.lanes);
    const auto reserve = [&] {
      const int which = shape_.registers - 1 - accumulator_count_++;
      if (which < left_for_body) throw NotEmitted();
      vectors_.reserve(which);
      return which;
    };
    for (int k = 0; k < vectors; ++k) made.vectors.push_back(reserve());
    if (is_extreme(i) && is_float(lane_of_reduction(i))) {
      if (shape_.mask_registers != 0) {
        made.unordered = shape_.mask_registers - mask_count_++;
        if (mask_count_ > most_masks) throw NotEmitted();
        masks_.reserve(made.unordered);
      } else {
        made.unordered = reserve();
      }
    }
    copies_ = std::max(copies_, vectors);
    accumulators_.push_back(made);
  }
}

void FunctionEmitter::start_accumulators() {
  for (std::size_t i = 0; i < accumulators_.size(); ++i) {
    for (const int which : accumulators_[i].vectors) repeat(identity(i), lane_of_reduction(i), which);
  }
}

void FunctionEmitter::turn_accumulators() {
  for (std::size_t i = 0; i < accumulators_.size(); ++i) turn(i);
}

void FunctionEmitter::turn(std::size_t i) {
  const std::vector<int>& vectors = accumulators_[i].vectors;
  if (vectors.size() == 1) return;
  const int t = vectors_.find_free();
  move(t, vectors[0]);
  for (std::size_t k = 0; k + 1 < vectors.size(); ++k) move(vectors[k], vectors[k + 1]);
  move(vectors.back(), t);
}

void FunctionEmitter::fold_accumulators() {
  for (std::size_t i = 0; i < accumulators_.size(); ++i) {
    unlock_all();
    const std::vector<int>& vectors = accumulators_[i].vectors;
    if (is_extreme(i) && vectors.size() != 1) turn_back(i);
    for (std::size_t half = vectors.size() / 2; half > 0; half /= 2) {
      for (std::size_t k = 0; k < half; ++k) {
        unlock_all();
        fold(i, shape_.lanes, vectors[k], vectors[k + half]);
      }
    }
    unlock_all();
    const int first = vectors[0], t = take_vector();
    for (int left = shape_.lanes; left > 1; left /= 2) {
      move_half(lane_of_reduction(i), left, t, first);
      fold(i, left / 2, first, t);
    }
    add_to_total(i, first, t);
  }
}

}  // namespace tyto::cpu::jit
