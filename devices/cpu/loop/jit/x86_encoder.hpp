// SPDX-License-Identifier: MIT
// Encodes operations as AVX2 or AVX-512 instructions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#define XBYAK_NO_OP_NAMES
#include <xbyak/xbyak.h>
#if defined(_WIN32)  // macros of windows.h, which it includes
#undef far
#undef max
#undef min
#undef near
#undef small
#endif

#include "devices/cpu/loop/jit/code.hpp"
#include "devices/cpu/loop/jit/x86_emitter.hpp"

namespace tyto::cpu::jit {

class X86Encoder : public Xbyak::CodeGenerator {
 public:
  using Address = Xbyak::Address;
  using Operand = Xbyak::Operand;
  using Opmask = Xbyak::Opmask;
  using Reg64 = Xbyak::Reg64;
  using Xmm = Xbyak::Xmm;
  using Ymm = Xbyak::Ymm;

  /// The mask of the elements that are left at the end of a row (AVX-512).
  static constexpr int tail_mask = 7;

  /// Vectors hold as many lanes as fit of the widest. `single`: only the first lane counts.
  X86Encoder(std::span<std::byte> buffer, VectorSet set, const Code& code, bool single)
      : CodeGenerator(buffer.size(), buffer.data()),
        has_masks(set == VectorSet::avx512 && !single),
        vector_bytes(single      ? 16
                     : has_masks ? 64
                                 : 32),
        lanes(vector_bytes / (code.wide ? 8 : 4)),
        registers(has_masks ? 32 : 16) {}

  const bool has_masks;
  const int vector_bytes, lanes, registers;

 protected:
  /// A vector register of so many bytes, at least 16.
  static Xmm sized(int which, int bytes) {
    return bytes > 32 ? Xmm(Operand::ZMM, which) : bytes > 16 ? Xmm(Operand::YMM, which) : Xmm(which);
  }
  Xmm vector(int which, Lane lane) const { return sized(which, lanes * (is_wide(lane) ? 8 : 4)); }
  Xmm whole(int which) const { return sized(which, vector_bytes); }

  void move(const Xmm& to, const Xmm& from) {
    if (from.getIdx() != to.getIdx()) vmovaps(to, from);
  }

  void unary(Op op, Lane lane, const Xmm& d, const Xmm& a);
  void binary(Op op, Lane lane, const Xmm& d, const Xmm& a, const Operand& b);
  void shift(Op op, Lane lane, const Xmm& d, const Xmm& a, std::uint8_t count);
  /// Compares lanes into a mask register or, with `spare`, into a vector.
  void compare_masked(Op op, Lane lane, const Opmask& d, const Xmm& a, const Operand& b);
  void compare(Op op, Lane lane, const Xmm& d, const Xmm& a, const Operand& b, int spare);
  void mask_binary(Op op, const Opmask& d, const Opmask& a, const Opmask& b);
  /// x = x y + z in the order that the form's digits say.
  void fused(Op op, Lane lane, int form, const Xmm& x, const Xmm& y, const Operand& z);
  void convert(Lane from, Lane to, int d, int a, int spare);
  void convert(Lane from, Lane to, const Xmm& y, const Xmm& x);
  void zero(int which) {
    if (has_masks) vpxord(Xmm(which), Xmm(which), Xmm(which));
    else vpxor(Xmm(which), Xmm(which), Xmm(which));
  }

  /// From elements as stored, side by side, to lanes; booleans become integers other than 0. With `some`, those that
  /// this mask names.
  void unpack(DType stored, const Xmm& to, const Operand& from, int some = -1);
  /// From lanes to elements as stored, side by side, in `t`, which is no operand's register; AVX2 needs a spare one
  /// besides.
  void pack(DType stored, int t, int from, int spare);
  static bool is_packed(DType stored) { return size_of(stored) < 4; }

  /// The bytes that an element of 32 bits is made of from and to memory, and registers.
  void insert(const Xmm& x, const Address& from, int width, int lane);
  void extract(const Address& to, const Xmm& x, int width, int lane);
  /// The 16 bytes of that number.
  void insert_quarter(int d, int t, int quarter) {
    const auto which = static_cast<std::uint8_t>(quarter);
    if (has_masks) vinserti32x4(Xbyak::Zmm(d), Xbyak::Zmm(d), Xmm(t), which);
    else vinserti128(Ymm(d), Ymm(d), Xmm(t), which);
  }
  void extract_quarter(int t, int from, int quarter) {
    const auto which = static_cast<std::uint8_t>(quarter);
    if (has_masks) vextracti32x4(Xmm(t), Xbyak::Zmm(from), which);
    else vextracti128(Xmm(t), Ymm(from), which);
  }
};

}  // namespace tyto::cpu::jit
