// SPDX-License-Identifier: MIT
// Emits calls of the interpreter's loops for one vector, for operators without code of their own.
#if defined(TYTO_HAVE_VIXL)

#include <algorithm>

#include "devices/cpu/loop/jit/aarch64_function.hpp"

namespace tyto::cpu::jit {

using namespace vixl::aarch64;

void AArch64Function::emit_call(Value value) {
  const Instruction& instruction = spec_.code[value];
  const Call& call = spec_.code.calls[instruction.immediate];
  std::array<int, 3> operands{};
  for (std::size_t k = 0; k < static_cast<std::size_t>(call.count); ++k) {
    operands[k] = in_register(root(call.operands[k]));
  }
  const bool always = instruction.op == Op::call;
  const int near = always ? -1 : in_register(operand(value, 0)), holds = always ? -1 : in_register(operand(value, 1));
  const int d = result_register(value, true);
  const std::uint32_t saved = vectors_.used() & ~(1u << d);
  if (always) {
    emit_call_sequence(call, operands, d, saved);
    return settle(value, d);
  }
  move(d, near);
  // The mask's lanes as parts of 64 bits. Those beyond the end of a row hold whatever the code makes of nothing: they
  // call for nothing.
  const int t = take_vector(), part = 64 / lanes();
  const bool wide = is_wide(spec_.code[instruction.operands[1]].lane);
  if (wide) Xtn(as(t, kFormat2S), as(holds, kFormat2D));
  else if (lanes() == 4) Xtn(as(t, kFormat4H), as(holds, kFormat4S));
  Umov(x9, as(wide || lanes() == 4 ? t : holds, kFormat2D), 0);
  if (single_) Orr(x9, x9, ~std::uint64_t{0} << part);
  if (partial_) {
    Mov(x10, ~std::uint64_t{0});
    Mov(x11, part);
    Mul(x11, x11, x21);
    Lsl(x10, x10, x11);
    Orr(x9, x9, x10);
  }
  Stub& stub = stubs_.emplace_back();
  stub.value = value;
  stub.result = d;
  stub.saved = saved;
  stub.operands = operands;
  Cmn(x9, 1);
  B(&stub.entry, ne);
  Bind(&stub.back);
  settle(value, d);
}

void AArch64Function::emit_call_sequence(const Call& call, const std::array<int, 3>& operands, int d,
                                         std::uint32_t saved) {
  constexpr int first_kept = 19;  // by calls
  const auto each_saved = [&](const auto& move) {
    for (int i = 0; i < registers; ++i) {
      if ((saved >> i & 1u) != 0) move(scalar(i, vector_bytes), on_stack(save_area + i * vector_bytes));
    }
    for (const int each : cursors_) {
      if (each >= 0 && each < first_kept) move(Register(each, kXRegSize), on_stack(cursor_area + 8 * each));
    }
  };
  const auto place = [](std::size_t k) { return static_cast<int>(k) * vector_bytes; };
  each_saved([&](const auto& which, const MemOperand& at) { Str(which, at); });
  // All live registers are saved, so packing may use any but the operands'.
  const auto end = operands.begin() + call.count;
  int spare = 0;
  while (std::find(operands.begin(), end, spare) != end) ++spare;
  for (std::size_t k = 0; k < static_cast<std::size_t>(call.count); ++k) {
    const bool packed = is_packed(call.types[k]);
    if (packed) pack(call.types[k], spare, operands[k]);
    Str(scalar(packed ? spare : operands[k], vector_bytes), on_stack(place(k)));
  }
  Add(x0, sp, result_area);
  Add(x1, sp, 0);
  Add(x2, sp, call.count > 1 ? place(1) : 0);
  Add(x3, sp, call.count > 2 ? place(2) : 0);
  Mov(x4, single_ ? 1 : lanes());
  Mov(x9, reinterpret_cast<std::uint64_t>(call.loop));
  Blr(x9);
  Ldr(scalar(d, vector_bytes), on_stack(result_area));
  unpack(call.result, d);
  each_saved([&](const auto& which, const MemOperand& at) { Ldr(which, at); });
}

}  // namespace tyto::cpu::jit

#endif
