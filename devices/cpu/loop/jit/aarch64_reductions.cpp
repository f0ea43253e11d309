// SPDX-License-Identifier: MIT
// Emits reductions of rows, in an order that the length of vectors does not change.
#if defined(TYTO_HAVE_VIXL)

#include "devices/cpu/loop/jit/aarch64_function.hpp"

namespace tyto::cpu::jit {

using namespace vixl::aarch64;

void AArch64Function::start_totals() {
  for (std::size_t i = 0; i < accumulators_.size(); ++i) {
    Mov(x9, identity(i));
    Str(x9, total(i));
    if (accumulators_[i].unordered >= 0) repeat(0, Lane::i64, accumulators_[i].unordered);
  }
}

void AArch64Function::fold(std::size_t i, int, int to, int from) {
  const Lane lane = lane_of_reduction(i);
  const VRegister x = vector(to, lane), y = vector(from, lane);
  switch (reduction(i).fold) {
    case Fold::sum: is_float(lane) ? Fadd(x, x, y) : Add(x, x, y); return;
    case Fold::product:
      if (lane == Lane::i64) emit_wide_product(to, to, from);
      else is_float(lane) ? Fmul(x, x, y) : Mul(x, x, y);
      return;
    default: break;
  }
  // The accumulator stays where the value is equal or NaN.
  const bool largest = reduction(i).fold == Fold::maximum;
  const int better = take_vector();
  const VRegister mask = vector(better, lane), more = largest ? y : x, less = largest ? x : y;
  is_float(lane) ? Fcmgt(mask, more, less) : Cmgt(mask, more, less);
  Bit(bits(to), bits(from), bits(better));
}

void AArch64Function::tail_mask(Lane lane, int which) {
  const int number = take_vector();
  const VRegister count = vector(which, lane);
  if (is_wide(lane)) {
    Dup(count, x21);
    Ldr(scalar(number, vector_bytes), 1, 0);
  } else {
    Dup(count, w21);
    Ldr(scalar(number, vector_bytes), 0x0000000300000002, 0x0000000100000000);
  }
  Cmhi(count, count, vector(number, lane));
}

void AArch64Function::accumulate(std::size_t i) {
  const Accumulator& accumulator = accumulators_[i];
  const Lane lane = lane_of_reduction(i);
  const int which = accumulator.vectors[static_cast<std::size_t>(step_) % accumulator.vectors.size()];
  int x = in_register(root(reduction(i).value));
  if (partial_) {
    const int blended = take_vector(), mask = take_vector();
    tail_mask(lane, mask);
    repeat(identity(i), lane, blended);
    Bit(bits(blended), bits(x), bits(mask));
    x = blended;
  }
  fold(i, lanes(), which, x);
  if (accumulator.unordered < 0) return;
  const int ordered = take_vector();
  Fcmeq(vector(ordered, lane), vector(x, lane), vector(x, lane));
  Orn(bits(accumulator.unordered), bits(accumulator.unordered), bits(ordered));
}

void AArch64Function::turn_back(std::size_t i) {
  Label next, done;
  Mov(x9, x23);
  Bind(&next);
  Tst(x9, accumulators_[i].vectors.size() - 1);
  B(&done, eq);
  turn(i);
  Add(x9, x9, 1);
  B(&next);
  Bind(&done);
}

void AArch64Function::move_half(Lane lane, int count, int to, int from) {
  is_wide(lane) || count == 4 ? Dup(as(to, kFormat2D), as(from, kFormat2D), 1)
                              : Dup(as(to, kFormat4S), as(from, kFormat4S), 1);
}

void AArch64Function::add_to_total(std::size_t i, int first, int t) {
  Ldr(scalar(t, 8), total(i));
  if (adds_wider(reduction(i).fold, lane_of_reduction(i))) {
    Fcvt(scalar(first, 8), scalar(first, 4));
    Fadd(scalar(t, 8), scalar(t, 8), scalar(first, 8));
  } else {
    fold(i, 1, t, first);
  }
  Str(scalar(t, 8), total(i));
}

void AArch64Function::store_totals() {
  for (std::size_t i = 0; i < accumulators_.size(); ++i) {
    const Lane lane = lane_of_reduction(i);
    const bool wide = is_wide(lane) || adds_wider(reduction(i).fold, lane);
    Ldr(x9, total(i));
    if (const int unordered = accumulators_[i].unordered; unordered >= 0) {
      Label numbers;
      Umov(x10, as(unordered, kFormat2D), 0);
      if (lanes() * (is_wide(lane) ? 8 : 4) == vector_bytes) {
        Umov(x11, as(unordered, kFormat2D), 1);
        Orr(x10, x10, x11);
      }
      Cbz(x10, &numbers);
      Mov(x9, wide ? 0x7ff8000000000000u : 0x7fc00000u);
      Bind(&numbers);
    }
    Ldr(x10, start_of(inputs() + reduction(i).operand));
    Str(wide ? x9 : w9, MemOperand(x10));
  }
}

}  // namespace tyto::cpu::jit

#endif
