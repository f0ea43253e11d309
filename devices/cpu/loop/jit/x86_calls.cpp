// SPDX-License-Identifier: MIT
// Emits calls of the interpreter's loops for one vector, for operators without code of their own.
#if defined(TYTO_HAVE_XBYAK)

#include "devices/cpu/loop/jit/x86_function.hpp"

namespace tyto::cpu::jit {

void X86Function::emit_call(Value value) {
  const Instruction& instruction = spec_.code[value];
  const Call& call = spec_.code.calls[instruction.immediate];
  std::array<int, 3> operands{};
  for (std::size_t k = 0; k < static_cast<std::size_t>(call.count); ++k) {
    operands[k] = in_register(body_.root[static_cast<std::size_t>(call.operands[k])]);
  }
  const int pinned = pinned_at(value);
  if (instruction.op == Op::call) {
    const int d = pinned >= 0 ? pinned : take(file(value));
    emit_call_sequence(call, operands, d, saved_but(value, d));
    return settle(value, d);
  }
  const int near = in_register(operand(value, 0)), holds = in_register(operand(value, 1));
  const int d = pinned >= 0 ? pinned : take(file(value));
  const Lane lane = spec_.code[instruction.operands[1]].lane;
  if (is_in_mask(value)) kmovw(Opmask(d), Opmask(near));
  else move(vector_of(value, d), vector_of(value, near));
  // Lanes beyond the end of a row hold whatever the code makes of nothing: they call for nothing.
  if (has_masks) {
    const Opmask beyond(partial_ ? 0 : holds);  // register 0 holds no value
    if (partial_) knotw(beyond, Opmask(tail_mask));
    lanes == 16 ? kortestw(Opmask(holds), beyond) : kortestb(Opmask(holds), beyond);
  } else {
    is_wide(lane) ? vmovmskpd(eax, vector(holds, lane)) : vmovmskps(eax, vector(holds, lane));
    xor_(eax, (1 << lanes) - 1);
    if (single_) and_(eax, 1);
    if (partial_) {
      mov(ecx, dword[rsp + tail_count()]);
      bzhi(eax, eax, ecx);
    }
  }
  Stub& stub = stubs_.emplace_back();
  stub.value = value;
  stub.result = d;
  stub.saved = saved_but(value, d);
  stub.operands = operands;
  has_masks ? jnc(stub.entry, T_NEAR) : jne(stub.entry, T_NEAR);
  L(stub.back);
  settle(value, d);
}

void X86Function::emit_call_sequence(const Call& call, const std::array<int, 3>& operands, int d, Saved saved) {
  for (int i = 0; i < registers; ++i) {
    if ((saved.vectors >> i & 1u) != 0) vmovups(ptr[rsp + save_area() + i * vector_bytes], whole(i));
  }
  for (int i = 0; i <= tail_mask; ++i) {
    if ((saved.masks >> i & 1u) != 0) kmovw(ptr[rsp + mask_area() + i * 8], Opmask(i));
  }
  for (int i = 0; i < most_pointers - 1; ++i) mov(qword[rsp + pointer_area() + 8 * i], pointer_register(i));
  // All live registers are saved, so packing may use any but the operands'.
  std::array<int, 2> spare{};
  const auto end = operands.begin() + call.count;
  for (int i = 0, found = 0; found < 2; ++i) {
    if (std::find(operands.begin(), end, i) == end) spare[static_cast<std::size_t>(found++)] = i;
  }
  for (std::size_t k = 0; k < static_cast<std::size_t>(call.count); ++k) {
    const Address to = ptr[rsp + static_cast<int>(k) * vector_bytes];
    const DType stored = call.types[k];
    if (!is_packed(stored)) {
      vmovups(to, vector(operands[k], lane_of(stored)));
      continue;
    }
    if (stored == DType::boolean && has_masks) {
      vpmovm2b(Xmm(spare[0]), Opmask(operands[k]));
      vpabsb(Xmm(spare[0]), Xmm(spare[0]));
    } else {
      pack(stored, spare[0], operands[k], spare[1]);
    }
    vmovups(to, Ymm(spare[0]));
  }
  const int result = 3 * vector_bytes;
#if defined(_WIN32)
  const Reg64 arguments[] = {rcx, rdx, r8, r9};
#else
  const Reg64 arguments[] = {rdi, rsi, rdx, rcx};
#endif
  lea(arguments[0], ptr[rsp + result]);
  lea(arguments[1], ptr[rsp]);
  lea(arguments[2], ptr[rsp + (call.count > 1 ? vector_bytes : 0)]);
  lea(arguments[3], ptr[rsp + (call.count > 2 ? 2 * vector_bytes : 0)]);
  mov(rax, reinterpret_cast<std::uint64_t>(call.loop));
  vzeroupper();
#if defined(_WIN32)
  // The fifth argument lies above room for the first four.
  constexpr int room = 64;
  sub(rsp, room);
  mov(qword[rsp + 32], single_ ? 1 : lanes);
  this->call(rax);
  add(rsp, room);
#else
  mov(r8d, single_ ? 1 : lanes);
  this->call(rax);
#endif
  for (int i = 0; i < most_pointers - 1; ++i) mov(pointer_register(i), qword[rsp + pointer_area() + 8 * i]);
  if (call.result != DType::boolean) {
    unpack(call.result, vector(d, lane_of(call.result)), ptr[rsp + result]);
  } else {
    const int t = has_masks ? 0 : d;
    unpack(call.result, vector(t, Lane::i32), ptr[rsp + result]);
    spare_ = d == 0 ? 1 : 0;
    to_mask(vector(t, Lane::i32), d);
    spare_ = -1;
  }
  for (int i = 0; i < registers; ++i) {
    if ((saved.vectors >> i & 1u) != 0) vmovups(whole(i), ptr[rsp + save_area() + i * vector_bytes]);
  }
  for (int i = 0; i <= tail_mask; ++i) {
    if ((saved.masks >> i & 1u) != 0) kmovw(Opmask(i), ptr[rsp + mask_area() + i * 8]);
  }
}

}  // namespace tyto::cpu::jit

#endif
