// SPDX-License-Identifier: MIT
// Tables of AVX2 and AVX-512 instructions by operation and lane type.
#if defined(TYTO_HAVE_XBYAK)

#include <stdexcept>

#include "devices/cpu/loop/jit/x86_encoder.hpp"

namespace tyto::cpu::jit {

void X86Encoder::unary(Op op, Lane lane, const Xmm& d, const Xmm& a) {
  const bool wide = is_wide(lane);
  const auto round = [&](int mode) {
    const auto quiet = static_cast<std::uint8_t>(mode | 8);
    if (has_masks) wide ? vrndscalepd(d, a, quiet) : vrndscaleps(d, a, quiet);
    else wide ? vroundpd(d, a, quiet) : vroundps(d, a, quiet);
  };
  switch (op) {
    case Op::square_root: wide ? vsqrtpd(d, a) : vsqrtps(d, a); return;
    case Op::absolute: vpabsd(d, a); return;
    case Op::round: round(0); return;
    case Op::floor: round(1); return;
    case Op::ceil: round(2); return;
    case Op::trunc: round(3); return;
    default: throw std::logic_error("jit: an operation has no instruction");
  }
}

void X86Encoder::binary(Op op, Lane lane, const Xmm& d, const Xmm& a, const Operand& b) {
  const bool wide = is_wide(lane);
  const auto by_lane = [&](auto f32, auto f64, auto i32, auto i64) {
    switch (lane) {
      case Lane::f32: (this->*f32)(d, a, b); return;
      case Lane::f64: (this->*f64)(d, a, b); return;
      case Lane::i64: (this->*i64)(d, a, b); return;
      default: (this->*i32)(d, a, b); return;
    }
  };
  using G = Xbyak::CodeGenerator;
  switch (op) {
    case Op::add: by_lane(&G::vaddps, &G::vaddpd, &G::vpaddd, &G::vpaddq); return;
    case Op::subtract: by_lane(&G::vsubps, &G::vsubpd, &G::vpsubd, &G::vpsubq); return;
    case Op::multiply: by_lane(&G::vmulps, &G::vmulpd, &G::vpmulld, &G::vpmullq); return;
    case Op::divide: wide ? vdivpd(d, a, b) : vdivps(d, a, b); return;
    case Op::scale: wide ? vscalefpd(d, a, b) : vscalefps(d, a, b); return;
    case Op::minimum: by_lane(&G::vminps, &G::vminpd, &G::vpminsd, &G::vpminsq); return;
    case Op::maximum: by_lane(&G::vmaxps, &G::vmaxpd, &G::vpmaxsd, &G::vpmaxsq); return;
    case Op::bit_and:
      if (is_float(lane)) wide ? vandpd(d, a, b) : vandps(d, a, b);
      else if (has_masks) wide ? vpandq(d, a, b) : vpandd(d, a, b);
      else vpand(d, a, b);
      return;
    case Op::bit_or:
      if (is_float(lane)) wide ? vorpd(d, a, b) : vorps(d, a, b);
      else if (has_masks) wide ? vporq(d, a, b) : vpord(d, a, b);
      else vpor(d, a, b);
      return;
    case Op::bit_xor:
      if (is_float(lane)) wide ? vxorpd(d, a, b) : vxorps(d, a, b);
      else if (has_masks) wide ? vpxorq(d, a, b) : vpxord(d, a, b);
      else vpxor(d, a, b);
      return;
    case Op::shift_left_by: wide ? vpsllvq(d, a, b) : vpsllvd(d, a, b); return;
    case Op::shift_right_signed_by: wide ? vpsravq(d, a, b) : vpsravd(d, a, b); return;
    default: throw std::logic_error("jit: an operation has no instruction");
  }
}

void X86Encoder::shift(Op op, Lane lane, const Xmm& d, const Xmm& a, std::uint8_t count) {
  const bool wide = is_wide(lane);
  if (op == Op::shift_left) wide ? vpsllq(d, a, count) : vpslld(d, a, count);
  else if (op == Op::shift_right) wide ? vpsrlq(d, a, count) : vpsrld(d, a, count);
  else if (!wide) vpsrad(d, a, count);
  else if (has_masks) vpsraq(d, a, count);
  else throw std::logic_error("jit: AVX2 does not shift 64-bit numbers with their sign");
}

namespace {

std::uint8_t predicate(Op op) {
  switch (op) {
    case Op::equal: return 0;
    case Op::not_equal: return 4;
    case Op::less: return 17;
    default: return 18;
  }
}

}  // namespace

void X86Encoder::compare_masked(Op op, Lane lane, const Opmask& d, const Xmm& a, const Operand& b) {
  const bool wide = is_wide(lane);
  if (is_float(lane)) {
    wide ? vcmppd(d, a, b, predicate(op)) : vcmpps(d, a, b, predicate(op));
    return;
  }
  const auto which = static_cast<std::uint8_t>(predicate(op) & 7);
  wide ? vpcmpq(d, a, b, which) : vpcmpd(d, a, b, which);
}

void X86Encoder::compare(Op op, Lane lane, const Xmm& d, const Xmm& a, const Operand& b, int spare) {
  const bool wide = is_wide(lane);
  if (is_float(lane)) {
    wide ? vcmppd(d, a, b, predicate(op)) : vcmpps(d, a, b, predicate(op));
    return;
  }
  // There is only equal and greater: the caller passes a < b as b > a, and a <= b as not a > b.
  if (op == Op::equal || op == Op::not_equal) wide ? vpcmpeqq(d, a, b) : vpcmpeqd(d, a, b);
  else wide ? vpcmpgtq(d, a, b) : vpcmpgtd(d, a, b);
  if (op == Op::equal || op == Op::less) return;
  const Xmm ones = sized(spare, d.getBit() / 8);
  vpcmpeqd(ones, ones, ones);
  vpxor(d, d, ones);
}

void X86Encoder::mask_binary(Op op, const Opmask& d, const Opmask& a, const Opmask& b) {
  switch (op) {
    case Op::bit_and: kandw(d, a, b); return;
    case Op::bit_or: korw(d, a, b); return;
    case Op::bit_xor: kxorw(d, a, b); return;
    default: throw std::logic_error("jit: an operation on masks has no instruction");
  }
}

void X86Encoder::fused(Op op, Lane lane, int form, const Xmm& x, const Xmm& y, const Operand& z) {
  const bool wide = is_wide(lane);
  using G = Xbyak::CodeGenerator;
  const auto by_form = [&](auto f132, auto f213, auto f231) {
    (this->*(form == 231 ? f231 : form == 213 ? f213 : f132))(x, y, z);
  };
  switch (op) {
    case Op::multiply_add:
      return wide ? by_form(&G::vfmadd132pd, &G::vfmadd213pd, &G::vfmadd231pd)
                  : by_form(&G::vfmadd132ps, &G::vfmadd213ps, &G::vfmadd231ps);
    case Op::multiply_subtract:
      return wide ? by_form(&G::vfmsub132pd, &G::vfmsub213pd, &G::vfmsub231pd)
                  : by_form(&G::vfmsub132ps, &G::vfmsub213ps, &G::vfmsub231ps);
    default:
      return wide ? by_form(&G::vfnmadd132pd, &G::vfnmadd213pd, &G::vfnmadd231pd)
                  : by_form(&G::vfnmadd132ps, &G::vfnmadd213ps, &G::vfnmadd231ps);
  }
}

void X86Encoder::convert(Lane from, Lane to, int d, int a, int spare) {
  if (has_masks || is_float(from) || is_float(to) || !is_wide(from))
    return convert(from, to, vector(d, to), vector(a, from));
  vextracti128(Xmm(spare), Ymm(a), 1);
  vshufps(Xmm(d), Xmm(a), Xmm(spare), 0x88);
}

void X86Encoder::convert(Lane from, Lane to, const Xmm& y, const Xmm& x) {
  const bool integers = !is_float(from) && !is_float(to);
  if (integers) return is_wide(from) ? vpmovqd(y, x) : vpmovsxdq(y, x);
  if (from == Lane::f32 && to == Lane::f64) return vcvtps2pd(y, x);
  if (from == Lane::f64 && to == Lane::f32) return vcvtpd2ps(y, x);
  if (from == Lane::i32 && to == Lane::f32) return vcvtdq2ps(y, x);
  if (from == Lane::i32 && to == Lane::f64) return vcvtdq2pd(y, x);
  if (from == Lane::f32 && to == Lane::i32) return vcvttps2dq(y, x);
  if (from == Lane::f64 && to == Lane::i32) return vcvttpd2dq(y, x);
  throw std::logic_error("jit: a conversion has no instruction");
}

void X86Encoder::unpack(DType stored, const Xmm& to, const Operand& from, int some) {
  const Xmm d = some >= 0 ? to | Opmask(some) | Xbyak::util::T_z : to;
  const int bytes = static_cast<int>(to.getBit()) / 8;
  using G = Xbyak::CodeGenerator;
  /// Widens from memory, or from the first half or quarter of a register.
  const auto widen = [&](void (G::*instruction)(const Xmm&, const Operand&), int times) {
    if (from.isMEM()) return (this->*instruction)(d, from);
    (this->*instruction)(d, sized(from.getIdx(), bytes / times));
  };
  switch (stored) {
    case DType::f16: return widen(&G::vcvtph2ps, 2);
    case DType::bf16: widen(&G::vpmovzxwd, 2); return vpslld(to, to, 16);
    case DType::boolean:
    case DType::u8: return widen(&G::vpmovzxbd, 4);
    case DType::u16: return widen(&G::vpmovzxwd, 2);
    case DType::i8: return widen(&G::vpmovsxbd, 4);
    case DType::i16: return widen(&G::vpmovsxwd, 2);
    default:
      if (!from.isMEM()) return move(to, sized(from.getIdx(), bytes));
      size_of(stored) == 8 ? vmovupd(d, from) : vmovups(d, from);
  }
}

void X86Encoder::pack(DType stored, int t, int from, int spare) {
  const Lane lane = lane_of(stored);
  const Xmm x = vector(from, lane);
  const int bytes = static_cast<int>(x.getBit()) / 8;
  if (has_masks && stored != DType::f16 && is_packed(stored)) {
    switch (stored) {
      case DType::bf16:
        vpsrld(sized(t, bytes), x, 16);
        vpmovdw(sized(t, bytes / 2), sized(t, bytes));
        return;
      case DType::u16:
      case DType::i16: vpmovdw(sized(t, bytes / 2), x); return;
      default: vpmovdb(Xmm(t), x); return;
    }
  }
  const auto to_words = [&](int source, bool without_sign) {
    if (lanes == 8) vextracti128(Xmm(spare), Ymm(source), 1);
    const Xmm other(lanes == 8 ? spare : source);
    without_sign ? vpackusdw(Xmm(t), Xmm(source), other) : vpackssdw(Xmm(t), Xmm(source), other);
  };
  switch (stored) {
    case DType::f16: vcvtps2ph(sized(t, bytes / 2), x, 0); return;
    case DType::bf16:
      vpsrld(vector(t, lane), x, 16);
      to_words(t, true);
      return;
    case DType::boolean:
      vpsrld(vector(t, lane), x, 31);
      to_words(t, false);
      vpackuswb(Xmm(t), Xmm(t), Xmm(t));
      return;
    case DType::u8:
      to_words(from, false);
      vpackuswb(Xmm(t), Xmm(t), Xmm(t));
      return;
    case DType::i8:
      to_words(from, false);
      vpacksswb(Xmm(t), Xmm(t), Xmm(t));
      return;
    case DType::u16: to_words(from, true); return;
    case DType::i16: to_words(from, false); return;
    default: move(vector(t, lane), x); return;
  }
}

void X86Encoder::insert(const Xmm& x, const Address& from, int width, int lane) {
  const auto index = static_cast<std::uint8_t>(lane);
  switch (width) {
    case 1: vpinsrb(x, x, from, index); return;
    case 2: vpinsrw(x, x, from, index); return;
    case 4: vpinsrd(x, x, from, index); return;
    default: vpinsrq(x, x, from, index); return;
  }
}

void X86Encoder::extract(const Address& to, const Xmm& x, int width, int lane) {
  const auto index = static_cast<std::uint8_t>(lane);
  switch (width) {
    case 1: vpextrb(to, x, index); return;
    case 2: vpextrw(to, x, index); return;
    case 4: vpextrd(to, x, index); return;
    default: vpextrq(to, x, index); return;
  }
}

}  // namespace tyto::cpu::jit

#endif
