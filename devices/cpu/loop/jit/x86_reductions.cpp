// SPDX-License-Identifier: MIT
// Emits reductions of rows, in an order that the length of vectors does not change.
#if defined(TYTO_HAVE_XBYAK)

#include "devices/cpu/loop/jit/x86_function.hpp"

namespace tyto::cpu::jit {

void X86Function::require_folds() const {
  for (std::size_t i = 0; i < spec_.code.reductions.size(); ++i) {
    if (!has_masks && lane_of_reduction(i) == Lane::i64 && reduction(i).fold != Fold::sum) throw NotEmitted();
  }
}

void X86Function::start_totals() {
  for (std::size_t i = 0; i < accumulators_.size(); ++i) {
    mov(rax, identity(i));
    mov(qword[rsp + totals_area() + static_cast<int>(i) * 16], rax);
    const int unordered = accumulators_[i].unordered;
    if (unordered >= 0) has_masks ? kxorw(Opmask(unordered), Opmask(unordered), Opmask(unordered)) : zero(unordered);
  }
}

void X86Function::repeat(std::uint64_t bits, Lane lane, int which) {
  if (bits == 0) return zero(which);
  mov(rax, bits);
  vmovq(Xmm(which), rax);
  if (!is_wide(lane)) vbroadcastss(vector(which, lane), Xmm(which));
  else if (has_masks) vbroadcastsd(Xbyak::Zmm(which), Xmm(which));
  else vbroadcastsd(Ymm(which), Xmm(which));
}

void X86Function::fold_into(std::size_t i, const Xmm& to, const Xmm& a, const Operand& b) {
  const Lane lane = lane_of_reduction(i);
  switch (reduction(i).fold) {
    case Fold::sum: binary(Op::add, lane, to, a, b); return;
    case Fold::product: binary(Op::multiply, lane, to, a, b); return;
    // The current value first: of equal ones the accumulator stays, as it does where the value is NaN.
    case Fold::minimum: extreme(lane, false, to, static_cast<const Xmm&>(b), a); return;
    default: extreme(lane, true, to, static_cast<const Xmm&>(b), a); return;
  }
}

void X86Function::extreme(Lane lane, bool largest, const Xmm& to, const Xmm& a, const Xmm& b) {
  switch (lane) {
    case Lane::f32: largest ? vmaxps(to, a, b) : vminps(to, a, b); return;
    case Lane::f64: largest ? vmaxpd(to, a, b) : vminpd(to, a, b); return;
    case Lane::i64: largest ? vpmaxsq(to, a, b) : vpminsq(to, a, b); return;
    default: largest ? vpmaxsd(to, a, b) : vpminsd(to, a, b); return;
  }
}

void X86Function::accumulate(std::size_t i) {
  const Accumulator& accumulator = accumulators_[i];
  const Lane lane = lane_of_reduction(i);
  const int which = accumulator.vectors[static_cast<std::size_t>(step_) % accumulator.vectors.size()];
  const int from = in_register(body_.root[static_cast<std::size_t>(reduction(i).value)]);
  const Xmm sum = vector(which, lane);
  Xmm x = vector(from, lane);
  if (partial_ && !has_masks) {
    const int t = take_vector();
    repeat(identity(i), lane, t);
    const Xmm blended = vector(t, lane);
    const int at = is_wide(lane) ? tail_mask_64() : tail_mask_32();
    const int m = take_vector();
    vmovups(vector(m, lane), ptr[rsp + at]);
    is_wide(lane) ? vblendvpd(blended, blended, x, vector(m, lane)) : vblendvps(blended, blended, x, vector(m, lane));
    x = blended;
  }
  const Xmm some = partial_ && has_masks ? sum | Opmask(tail_mask) : sum;
  fold_into(i, some, sum, x);
  if (accumulator.unordered < 0) return;
  constexpr std::uint8_t unordered = 3;
  if (has_masks) {
    const Opmask seen(accumulator.unordered), now(take(masks_));
    const Opmask made = partial_ ? now | Opmask(tail_mask) : now;
    is_wide(lane) ? vcmppd(made, x, x, unordered) : vcmpps(made, x, x, unordered);
    korw(seen, seen, now);
  } else {
    const Xmm now = vector(take_vector(), lane), seen = vector(accumulator.unordered, lane);
    is_wide(lane) ? vcmppd(now, x, x, unordered) : vcmpps(now, x, x, unordered);
    vorps(seen, seen, now);
  }
}

void X86Function::move(int to, int from) { vmovaps(whole(to), whole(from)); }

void X86Function::turn_back(std::size_t i) {
  Label next, done;
  mov(rax, r12);
  sub(rax, qword[rsp + rest_from()]);
  shr(rax, std::countr_zero(static_cast<unsigned>(lanes)));
  L(next);
  test(eax, static_cast<std::uint32_t>(accumulators_[i].vectors.size() - 1));
  jz(done, T_NEAR);
  turn(i);
  inc(rax);
  jmp(next, T_NEAR);
  L(done);
}

void X86Function::move_half(Lane lane, int count, int to, int from) {
  const int bytes = count / 2 * (is_wide(lane) ? 8 : 4);
  if (bytes == 32) vextracti64x4(Ymm(to), Xbyak::Zmm(from), 1);
  else if (bytes == 16) has_masks ? vextracti32x4(Xmm(to), Ymm(from), 1) : vextracti128(Xmm(to), Ymm(from), 1);
  else vpshufd(Xmm(to), Xmm(from), bytes == 8 ? 0x0e : 0x01);
}

void X86Function::fold(std::size_t i, int count, int to, int from) {
  const int bytes = count * (is_wide(lane_of_reduction(i)) ? 8 : 4);
  fold_into(i, sized(to, bytes), sized(to, bytes), sized(from, bytes));
}

void X86Function::add_to_total(std::size_t i, int first, int t) {
  const Xmm sum(first), before(t);
  vmovq(before, total(i));
  if (adds_wider(reduction(i).fold, lane_of_reduction(i))) {
    vcvtss2sd(sum, sum, sum);
    vaddsd(before, before, sum);
  } else {
    fold(i, 1, t, first);
  }
  vmovq(total(i), before);
}

void X86Function::store_totals() {
  for (std::size_t i = 0; i < accumulators_.size(); ++i) {
    const int to = inputs() + reduction(i).operand;
    const Lane lane = lane_of_reduction(i);
    const bool wide = is_wide(lane) || adds_wider(reduction(i).fold, lane);
    mov(rax, qword[rsp + totals_area() + static_cast<int>(i) * 16]);
    if (const int unordered = accumulators_[i].unordered; unordered >= 0) {
      Label numbers;
      if (has_masks) kortestw(Opmask(unordered), Opmask(unordered));
      else vtestps(vector(unordered, lane), vector(unordered, lane));
      jz(numbers);
      mov(rax, wide ? 0x7ff8000000000000u : 0x7fc00000u);
      L(numbers);
    }
    mov(rcx, start_of(to));
    wide ? mov(qword[rcx], rax) : mov(dword[rcx], eax);
  }
}

void X86Function::emit_constants() {
  align(vector_bytes);
  for (std::size_t i = 0; i < constants_.size(); ++i) {
    if (constants_[i] == nullptr) continue;
    const Instruction& instruction = spec_.code.instructions[i];
    L(*constants_[i]);
    // One a lane for AVX2; otherwise the processor repeats it.
    for (int lane = 0; lane < (has_masks ? 1 : lanes); ++lane) {
      if (is_wide(instruction.lane) || has_masks) dq(instruction.immediate);
      else dd(static_cast<std::uint32_t>(instruction.immediate));
    }
  }
  if (has_masks) return;
  align(vector_bytes);
  L(tail_masks_);
  for (int i = 0; i < 8; ++i) dq(~std::uint64_t{0});
  for (int i = 0; i < 8; ++i) dq(0);
}

}  // namespace tyto::cpu::jit

#endif
