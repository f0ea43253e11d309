// SPDX-License-Identifier: MIT
// Emits loads and stores: whole vectors, masked parts of them, and strided elements.
#if defined(TYTO_HAVE_XBYAK)

#include "devices/cpu/loop/jit/x86_function.hpp"

namespace tyto::cpu::jit {

void X86Function::settle_unpacked(Value value, DType stored, int which) {
  if (stored != DType::boolean) return settle(value, which);
  const Xmm x = vector(which, Lane::i32);
  const int d = has_masks ? result_register(value) : which;
  to_mask(x, d);
  if (has_masks || pinned_at(value) < 0) return settle(value, d);
  move(vector_of(value, pinned_at(value)), x);
}

void X86Function::emit_broadcast(Value value) {
  const Instruction& instruction = spec_.code[value];
  const int from = operand_of(value);
  const DType stored = spec_of(from).stored;
  const int d = stored == DType::boolean ? take_vector() : result_register(value);
  mov(rax, start_of(from));
  const Xmm to = vector(d, stored == DType::boolean ? Lane::i32 : instruction.lane);
  switch (size_of(stored)) {
    case 1:
      vpbroadcastb(Xmm(d), byte[rax]);
      unpack(stored, to, Xmm(d));
      break;
    case 2:
      vpbroadcastw(sized(d, vector_bytes / 2), word[rax]);
      unpack(stored, to, whole(d));
      break;
    case 4: vbroadcastss(to, dword[rax]); break;
    default: has_masks ? vbroadcastsd(Xbyak::Zmm(d), qword[rax]) : vbroadcastsd(Ymm(d), qword[rax]); break;
  }
  settle_unpacked(value, stored, d);
}

void X86Function::emit_load(Value value) {
  const int from = operand_of(value);
  const OperandSpec& spec = spec_of(from);
  const std::span<const int> uses = body_.uses(value);
  folded_[static_cast<std::size_t>(value)] = false;
  const bool packed = is_packed(spec.stored);
  const bool plain = spec.access == Access::contiguous && !packed && !partial_ && !single_;
  if (plain && uses.size() == 1 && uses[0] < static_cast<int>(body_.element.size())) {
    folded_[static_cast<std::size_t>(value)] = true;  // where it is read
    return;
  }
  const int d = take_vector();
  const Xmm to = vector(d, lane_of(spec.stored) == Lane::mask32 ? Lane::i32 : lane_of(spec.stored));
  if (single_) {
    if (packed) zero(d);
    if (packed) insert(Xmm(d), at(from), width_of(from), 0);
    else size_of(spec.stored) == 8 ? vmovsd(Xmm(d), at(from)) : vmovss(Xmm(d), at(from));
    if (packed) unpack(spec.stored, to, whole(d));
  } else if (spec.access == Access::strided) {
    is_every_second(from) ? load_every_second(from, d) : gather(from, d);
    if (packed) unpack(spec.stored, to, whole(d));
  } else if (!partial_) {
    unpack(spec.stored, to, at(from));
  } else if (has_masks) {
    load_masked(from, to);
  } else if (packed) {
    load_part(from, d);
    unpack(spec.stored, to, whole(d));
  } else if (size_of(spec.stored) == 4) {
    vmovups(to, ptr[rsp + tail_mask_32()]);
    vmaskmovps(to, to, at(from));
  } else {
    vmovups(to, ptr[rsp + tail_mask_64()]);
    vmaskmovpd(to, to, at(from));
  }
  settle_unpacked(value, spec.stored, d);
}

// Processors do not learn from masked loads what to prefetch, and rows apart from one another have one each. So the
// whole vector is read where it ends in the same page, which cannot fault, and what lies behind the row is cleared.
void X86Function::load_masked(int from, Xmm to) {
  constexpr int page = 4096;
  const DType stored = spec_of(from).stored;
  Label apart, loaded;
  lea(rax, at(from));
  and_(eax, page - 1);
  cmp(eax, page - lanes * width_of(from));
  ja(apart, T_NEAR);
  unpack(stored, to, at(from));
  size_of(stored) == 8 ? vmovupd(to | Opmask(tail_mask) | T_z, to) : vmovups(to | Opmask(tail_mask) | T_z, to);
  jmp(loaded, T_NEAR);
  L(apart);
  unpack(stored, to, at(from), tail_mask);
  L(loaded);
}

void X86Function::load_part(int from, int d) {
  const int width = width_of(from);
  const Xmm x(d);
  address_of_rest(from);
  vpxor(x, x, x);
  for (int piece = width; piece < lanes * width; piece *= 2) {
    Label skip;
    mov(eax, dword[rsp + tail_count()]);
    test(eax, piece / width);
    jz(skip, T_NEAR);
    vpslldq(x, x, static_cast<std::uint8_t>(piece));
    shl(eax, std::countr_zero(static_cast<unsigned>(width)));
    and_(eax, ~(2 * piece - 1));
    insert(x, ptr[rcx + rax], piece, 0);
    L(skip);
  }
}

void X86Function::store_part(int to, int source) {
  const int width = width_of(to);
  const Xmm x(source);
  address_of_rest(to);
  for (int piece = lanes * width / 2; piece >= width; piece /= 2) {
    Label skip;
    test(dword[rsp + tail_count()], piece / width);
    jz(skip, T_NEAR);
    if (piece == 16) {
      vmovups(ptr[rcx], x);
      extract_quarter(source, source, 1);
    } else {
      extract(ptr[rcx], x, piece, 0);
      vpsrldq(x, x, static_cast<std::uint8_t>(piece));
    }
    if (piece > width) add(rcx, piece);
    L(skip);
  }
}

void X86Function::gather(int from, int d) {
  std::array<int, 4> parts{d};
  zero(d);
  for (int i = 1; i < quarters(from); ++i) zero(parts[static_cast<std::size_t>(i)] = take_vector());
  each_strided(from, [&](int quarter, int lane) {
    insert(Xmm(parts[static_cast<std::size_t>(quarter)]), ptr[rax], width_of(from), lane);
  });
  for (int i = 1; i < quarters(from); ++i) insert_quarter(d, parts[static_cast<std::size_t>(i)], i);
}

void X86Function::scatter(int to, int source) {
  std::array<int, 4> parts{source};
  for (int i = 1; i < quarters(to); ++i) {
    extract_quarter(parts[static_cast<std::size_t>(i)] = take_vector(), source, i);
  }
  each_strided(to, [&](int quarter, int lane) {
    extract(ptr[rax], Xmm(parts[static_cast<std::size_t>(quarter)]), width_of(to), lane);
  });
}

bool X86Function::takes_parts_alone() const {
  if (single_ || !spec_.code.reductions.empty()) return false;
  int width = 0;
  for (int each = 0; each < operand_count(); ++each) {
    const OperandSpec& spec = spec_of(each);
    if (each < inputs() && spec.access == Access::broadcast) continue;
    if (spec.access != Access::strided || !spec.every_second || (width != 0 && width_of(each) != width)) return false;
    width = width_of(each);
    if (each >= inputs() && imaginary_of(each) < 0 && !is_stored_with_real(each)) return false;
  }
  return true;
}

// Two vectors that hold the elements are read. Of complex numbers both parts may be, in the same two vectors; of
// anything else the second one only up to the last element: what lies beyond it need not be there. Halves of 128 bits
// that the shuffle leaves apart are brought together.
void X86Function::load_every_second(int from, int d) {
  const int width = width_of(from), bytes = lanes * width, other = take_vector();
  const Part part = spec_of(from).part;
  const Xmm low = sized(d, bytes), high = sized(other, bytes);
  const Xbyak::RegExp start = strided_at(from) - (part == Part::imaginary ? width : 0);
  vmovups(low, ptr[start]);
  vmovups(high, ptr[start + (part == Part::whole ? bytes - width : bytes)]);
  const auto shuffle = [&](std::uint8_t of_words, std::uint8_t of_pairs) {
    if (width == 4) vshufps(low, low, high, of_words);
    else vshufpd(low, low, high, of_pairs);
  };
  if (part == Part::real) shuffle(0x88, 0);
  else if (part == Part::imaginary) shuffle(0xdd, 0xff);
  else shuffle(0xd8, 0xaa);
  if (parts_stay_apart_) return;
  if (bytes == 32) vpermq(Ymm(d), Ymm(d), 0xd8);
  if (bytes == 64) {
    vpermq(Xbyak::Zmm(d), Xbyak::Zmm(d), 0xd8);
    vshufi64x2(Xbyak::Zmm(d), Xbyak::Zmm(d), Xbyak::Zmm(d), 0xd8);
  }
}

// Parts alternate within 128 bits first; then those of the first half of the elements come before those of the second.
void X86Function::store_parts(int to, int real, int imaginary) {
  const int width = width_of(to), bytes = lanes * width;
  const int first = take_vector(), second = take_vector();
  const Xmm low = sized(first, bytes), high = sized(second, bytes);
  const Xmm a = sized(real, bytes), b = sized(imaginary, bytes);
  width == 4 ? vunpcklps(low, a, b) : vunpcklpd(low, a, b);
  width == 4 ? vunpckhps(high, a, b) : vunpckhpd(high, a, b);
  int start = first;
  if (parts_stay_apart_) {
    // Loads left them so that all is in place now.
  } else if (bytes == 32) {
    start = take_vector();
    // Registers beyond the sixteenth are reached by the newer of two encodings alone.
    if (has_masks) {
      vshufi64x2(Ymm(start), Ymm(first), Ymm(second), 0);
      vshufi64x2(Ymm(second), Ymm(first), Ymm(second), 3);
    } else {
      vperm2f128(Ymm(start), Ymm(first), Ymm(second), 0x20);
      vperm2f128(Ymm(second), Ymm(first), Ymm(second), 0x31);
    }
  } else if (bytes == 64) {
    using Xbyak::Zmm;
    start = take_vector();
    vshufi64x2(Zmm(start), Zmm(first), Zmm(second), 0x44);
    vshufi64x2(Zmm(start), Zmm(start), Zmm(start), 0xd8);
    vshufi64x2(Zmm(second), Zmm(first), Zmm(second), 0xee);
    vshufi64x2(Zmm(second), Zmm(second), Zmm(second), 0xd8);
  }
  const Xbyak::RegExp place = strided_at(to);
  vmovups(ptr[place], sized(start, bytes));
  vmovups(ptr[place + bytes], high);
}

int X86Function::packed_of(DType stored, int from) {
  if (!is_packed(stored)) return from;
  const int t = take_vector();
  if (stored == DType::boolean && has_masks) {
    vpmovm2b(Xmm(t), Opmask(from));
    vpabsb(Xmm(t), Xmm(t));
  } else {
    pack(stored, t, from, has_masks || stored == DType::f16 ? -1 : take_vector());
  }
  return t;
}

void X86Function::emit_store(Value value, int to) {
  const OperandSpec& spec = spec_of(to);
  const int from = in_register(value);
  const bool packed = is_packed(spec.stored);
  const int source = packed_of(spec.stored, from);
  if (spec.access == Access::strided) return scatter(to, source);
  if (single_) return extract(at(to), Xmm(source), width_of(to), 0);
  const int bytes = lanes * width_of(to);
  const Address place = at(to);
  if (!partial_) {
    if (bytes == 4) vmovd(place, Xmm(source));
    else if (bytes == 8) vmovq(place, Xmm(source));
    else if (spec_.variant == Variant::non_temporal && !packed) vmovntps(place, sized(source, bytes));
    else vmovups(place, sized(source, bytes));
    return;
  }
  if (has_masks) {
    const Address some = place | Opmask(tail_mask);
    switch (width_of(to)) {
      case 1: vmovdqu8(some, sized(source, bytes)); return;
      case 2: vmovdqu16(some, sized(source, bytes)); return;
      case 4: vmovups(some, sized(source, bytes)); return;
      default: vmovupd(some, sized(source, bytes)); return;
    }
  }
  const int t = packed ? source : take_vector();
  move(sized(t, bytes), sized(source, bytes));
  store_part(to, t);
}

}  // namespace tyto::cpu::jit

#endif
