// SPDX-License-Identifier: MIT
// Lanes that record: types on which the functions of the vector mathematics, included afterwards, record their code
// instead of computing.
#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>

#include "devices/cpu/loop/jit/code.hpp"

#define TYTO_RECORDED_LANES 1
#define TYTO_VECTOR_INLINE [[maybe_unused]] static inline
#define TYTO_FUSED_MULTIPLY_ADD 1
#define TYTO_ROUNDING_INSTRUCTIONS 1
#define TYTO_SCALING_INSTRUCTION 1

namespace tyto::cpu::TYTO_ISA {

using std::int32_t;
using std::int64_t;
using std::size_t;
using std::uint32_t;
using std::uint64_t;

/// The recording of the current operator.
struct Recording {
  jit::CodeBuilder& code;
  jit::Value in_range = jit::no_value;  // a mask of the lanes in the range of the recorded code
  bool recordable = true;
};

/// The recording that lanes write to on this thread.
inline thread_local Recording* recording = nullptr;

/// A value, or a constant that nobody has put into the code yet.
template <class Number, jit::Lane lane>
struct Recorded {
  jit::Value node = jit::no_value;
  Number number = 0;

  constexpr Recorded() = default;
  template <class N>
  requires std::is_arithmetic_v<N>
  constexpr explicit(std::is_floating_point_v<N> && !std::same_as<N, Number>) Recorded(N value)
      : number(static_cast<Number>(value)) {}
  template <class Other, jit::Lane from>
  explicit Recorded(const Recorded<Other, from>& other);
  static Recorded of(jit::Value value) {
    Recorded out;
    out.node = value;
    return out;
  }

  jit::Value value() const {
    if (node != jit::no_value) return node;
    if constexpr (sizeof(Number) == 4) {
      return recording->code.constant(lane, __builtin_bit_cast(std::uint32_t, number));
    } else {
      return recording->code.constant(lane, __builtin_bit_cast(std::uint64_t, number));
    }
  }
  static Recorded apply(jit::Op op, const Recorded& a, const Recorded& b, std::uint64_t immediate = 0) {
    return of(recording->code.apply(op, lane, a.value(), b.value(), jit::no_value, immediate));
  }
  static Recorded apply(jit::Op op, const Recorded& a, std::uint64_t immediate = 0) {
    return of(recording->code.apply(op, lane, a.value(), jit::no_value, jit::no_value, immediate));
  }

  Recorded& operator+=(const Recorded& b) { return *this = *this + b; }
  Recorded& operator-=(const Recorded& b) { return *this = *this - b; }
  Recorded& operator*=(const Recorded& b) { return *this = *this * b; }

  friend Recorded operator+(const Recorded& a, const Recorded& b) { return apply(jit::Op::add, a, b); }
  friend Recorded operator-(const Recorded& a, const Recorded& b) { return apply(jit::Op::subtract, a, b); }
  friend Recorded operator*(const Recorded& a, const Recorded& b) { return apply(jit::Op::multiply, a, b); }
  friend Recorded operator/(const Recorded& a, const Recorded& b) requires std::is_floating_point_v<Number> {
    return apply(jit::Op::divide, a, b);
  }
  friend constexpr Recorded operator-(const Recorded& a) {
    if (a.node == jit::no_value) return Recorded(static_cast<Number>(-a.number));
    if constexpr (std::is_floating_point_v<Number>) {
      return apply(jit::Op::bit_xor, a, Recorded(Number(-0.0)));
    } else {
      return Recorded(Number(0)) - a;
    }
  }
};

using f32 = Recorded<float, jit::Lane::f32>;
using f64 = Recorded<double, jit::Lane::f64>;
using i32 = Recorded<std::int32_t, jit::Lane::i32>;
using i64 = Recorded<std::int64_t, jit::Lane::i64>;

/// A mask; true or false in all lanes while it has no node.
struct mask {
  jit::Value node = jit::no_value;
  bool known = false;

  mask(bool value) : known(value) {}
  static mask of(jit::Value value) {
    mask out(false);
    out.node = value;
    return out;
  }
  /// The mask for lanes of 64 bits (`wide`) or 32.
  jit::Value value(bool wide) const {
    jit::CodeBuilder& code = recording->code;
    if (node != jit::no_value) return code.mask(node, wide);
    return code.constant(wide ? jit::Lane::mask64 : jit::Lane::mask32, known ? ~std::uint64_t{0} : 0);
  }
};

inline mask combine(jit::Op op, const mask& a, const mask& b) {
  const jit::Value any = a.node != jit::no_value ? a.node : b.node;
  const bool wide = any != jit::no_value && jit::is_wide(recording->code.code()[any].lane);
  const jit::Lane lane = wide ? jit::Lane::mask64 : jit::Lane::mask32;
  return mask::of(recording->code.apply(op, lane, a.value(wide), b.value(wide)));
}
inline mask operator&&(const mask& a, const mask& b) { return combine(jit::Op::bit_and, a, b); }
inline mask operator||(const mask& a, const mask& b) { return combine(jit::Op::bit_or, a, b); }
inline mask operator&(const mask& a, const mask& b) { return combine(jit::Op::bit_and, a, b); }
inline mask operator|(const mask& a, const mask& b) { return combine(jit::Op::bit_or, a, b); }
inline mask operator^(const mask& a, const mask& b) { return combine(jit::Op::bit_xor, a, b); }
inline mask operator!=(const mask& a, const mask& b) { return combine(jit::Op::bit_xor, a, b); }
inline mask operator!(const mask& a) { return combine(jit::Op::bit_xor, a, mask(true)); }

template <class Number, jit::Lane lane>
mask compare(jit::Op op, const Recorded<Number, lane>& a, const Recorded<Number, lane>& b) {
  const jit::Lane result = jit::is_wide(lane) ? jit::Lane::mask64 : jit::Lane::mask32;
  return mask::of(recording->code.apply(op, result, a.value(), b.value()));
}

#define TYTO_RECORDED_COMPARISONS(T)                                                                       \
  inline mask operator==(const T& a, const T& b) { return compare(jit::Op::equal, a, b); }                 \
  inline mask operator!=(const T& a, const T& b) { return compare(jit::Op::not_equal, a, b); }             \
  inline mask operator<(const T& a, const T& b) { return compare(jit::Op::less, a, b); }                   \
  inline mask operator<=(const T& a, const T& b) { return compare(jit::Op::less_equal, a, b); }            \
  inline mask operator>(const T& a, const T& b) { return compare(jit::Op::less, b, a); }                   \
  inline mask operator>=(const T& a, const T& b) { return compare(jit::Op::less_equal, b, a); }            \
  inline T select(const mask& condition, const T& yes, const T& no) {                                      \
    const jit::Value a = yes.value(), b = no.value();                                                      \
    const jit::Lane lane = recording->code.code()[a].lane;                                                 \
    return T::of(recording->code.apply(jit::Op::select, lane, condition.value(jit::is_wide(lane)), a, b)); \
  }
TYTO_RECORDED_COMPARISONS(f32)
TYTO_RECORDED_COMPARISONS(f64)
TYTO_RECORDED_COMPARISONS(i32)
TYTO_RECORDED_COMPARISONS(i64)
#undef TYTO_RECORDED_COMPARISONS

inline mask select(const mask& condition, const mask& yes, const mask& no) {
  return (condition && yes) || (!condition && no);
}

/// Bits without a sign: the same lanes as the signed ones, shifted without their sign.
struct u32 : i32 {
  using i32::i32;
  u32(const i32& other) : i32(other) {}
};
struct u64 : i64 {
  using i64::i64;
  u64(const i64& other) : i64(other) {}
};

#define TYTO_RECORDED_BITS(T, S, right)                                                      \
  inline T operator&(const T& a, const T& b) { return T(S::apply(jit::Op::bit_and, a, b)); } \
  inline T operator|(const T& a, const T& b) { return T(S::apply(jit::Op::bit_or, a, b)); }  \
  inline T operator^(const T& a, const T& b) { return T(S::apply(jit::Op::bit_xor, a, b)); } \
  inline T operator~(const T& a) { return T(S::apply(jit::Op::bit_xor, a, S(-1))); }         \
  inline T operator<<(const T& a, int count) {                                               \
    return T(S::apply(jit::Op::shift_left, a, static_cast<std::uint64_t>(count)));           \
  }                                                                                          \
  inline T operator>>(const T& a, int count) {                                               \
    return T(S::apply(jit::Op::right, a, static_cast<std::uint64_t>(count)));                \
  }
TYTO_RECORDED_BITS(i32, i32, shift_right_signed)
TYTO_RECORDED_BITS(i64, i64, shift_right_signed)
TYTO_RECORDED_BITS(u32, i32, shift_right)
TYTO_RECORDED_BITS(u64, i64, shift_right)
#undef TYTO_RECORDED_BITS

#define TYTO_RECORDED_WRAPPING(T, S)                                                          \
  inline T operator+(const T& a, const T& b) { return T(S::apply(jit::Op::add, a, b)); }      \
  inline T operator-(const T& a, const T& b) { return T(S::apply(jit::Op::subtract, a, b)); } \
  inline T operator*(const T& a, const T& b) { return T(S::apply(jit::Op::multiply, a, b)); }
TYTO_RECORDED_WRAPPING(u32, i32)
TYTO_RECORDED_WRAPPING(u64, i64)
#undef TYTO_RECORDED_WRAPPING

inline u32 bits_of(const f32& x) {
  return u32(i32::of(recording->code.apply(jit::Op::reinterpret, jit::Lane::i32, x.value())));
}
inline u64 bits_of(const f64& x) {
  return u64(i64::of(recording->code.apply(jit::Op::reinterpret, jit::Lane::i64, x.value())));
}
inline f32 from_bits(const u32& x) {
  return f32::of(recording->code.apply(jit::Op::reinterpret, jit::Lane::f32, x.value()));
}
inline f64 from_bits(const u64& x) {
  return f64::of(recording->code.apply(jit::Op::reinterpret, jit::Lane::f64, x.value()));
}

template <class Number, jit::Lane lane>
template <class Other, jit::Lane from>
Recorded<Number, lane>::Recorded(const Recorded<Other, from>& other)
    : node(recording->code.apply(jit::Op::convert, lane, other.value())) {}

inline f32 sqrt(const f32& x) { return f32::apply(jit::Op::square_root, x); }
inline f64 sqrt(const f64& x) { return f64::apply(jit::Op::square_root, x); }

template <class T>
T recorded_mul_add(jit::Lane lane, const T& a, const T& b, const T& c) {
  return T::of(recording->code.apply(jit::Op::multiply_add, lane, a.value(), b.value(), c.value()));
}
inline f32 mul_add(const f32& a, const f32& b, const f32& c) { return recorded_mul_add(jit::Lane::f32, a, b, c); }
inline f64 mul_add(const f64& a, const f64& b, const f64& c) { return recorded_mul_add(jit::Lane::f64, a, b, c); }
inline i32 mul_add(const i32& a, const i32& b, const i32& c) { return a * b + c; }
inline i64 mul_add(const i64& a, const i64& b, const i64& c) { return a * b + c; }

/// x * 2^n for an integral |n| < 2 * bias.
inline f32 scale(const f32& x, const f32& n) { return f32::apply(jit::Op::scale, x, n); }
inline f64 scale(const f64& x, const f64& n) { return f64::apply(jit::Op::scale, x, n); }

// The processor's extremes return the second operand where operands are equal or NaN; see arithmetic.hpp for the
// functions wanted.
#define TYTO_RECORDED_ROUNDING(T)                                                                          \
  inline T rint(const T& x) { return T::apply(jit::Op::round, x); }                                        \
  inline T floor(const T& x) { return T::apply(jit::Op::floor, x); }                                       \
  inline T ceil(const T& x) { return T::apply(jit::Op::ceil, x); }                                         \
  inline T trunc(const T& x) { return T::apply(jit::Op::trunc, x); }                                       \
  inline T maximum(const T& a, const T& b) { return select(b != b, b, T::apply(jit::Op::maximum, b, a)); } \
  inline T minimum(const T& a, const T& b) { return select(b != b, b, T::apply(jit::Op::minimum, b, a)); } \
  inline T fmax(const T& a, const T& b) { return select(a != a, b, T::apply(jit::Op::maximum, b, a)); }    \
  inline T fmin(const T& a, const T& b) { return select(a != a, b, T::apply(jit::Op::minimum, b, a)); }
TYTO_RECORDED_ROUNDING(f32)
TYTO_RECORDED_ROUNDING(f64)
#undef TYTO_RECORDED_ROUNDING

/// Restricts the recorded code to lanes where the condition holds; elsewhere the operator's loop is called.
inline void require(const mask& condition) {
  const mask all = recording->in_range == jit::no_value ? condition : mask::of(recording->in_range) && condition;
  if (all.node == jit::no_value && all.known) return;
  recording->in_range = all.value(all.node != jit::no_value && jit::is_wide(recording->code.code()[all.node].lane));
}

/// Marks the operator as one without code of lanes: its loop is called.
template <class T>
T unrecordable(const T& x) {
  recording->recordable = false;
  return x;
}

}  // namespace tyto::cpu::TYTO_ISA
