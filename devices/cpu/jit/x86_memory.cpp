// Loads and stores: whole vectors, parts of them, and elements apart from one another.
#if defined(TYTO_HAVE_XBYAK)

#include "devices/cpu/jit/x86_function.hpp"

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
  const std::vector<int>& uses = body_.uses[static_cast<std::size_t>(value)];
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
    gather(from, d);
    if (packed) unpack(spec.stored, to, whole(d));
  } else if (!partial_ || has_masks) {
    unpack(spec.stored, to, at(from), partial_);
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
  if (!partial_) {
    if (bytes == 4) vmovd(at(to), Xmm(source));
    else if (bytes == 8) vmovq(at(to), Xmm(source));
    else if (spec_.variant == Variant::non_temporal && !packed) vmovntps(at(to), sized(source, bytes));
    else vmovups(at(to), sized(source, bytes));
    return;
  }
  if (has_masks) {
    const Address some = at(to) | Opmask(tail_mask);
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
