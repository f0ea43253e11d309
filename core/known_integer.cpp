// Each operator by the interval of its results and by their bits; each of the two then narrows the other.
#include "core/known_integer.hpp"

#include <algorithm>
#include <bit>

#include "core/op_ids.hpp"

namespace tyto::core {

namespace {

__extension__ using Wide = __int128;

constexpr std::uint64_t as_bits(std::int64_t number) { return static_cast<std::uint64_t>(number); }
constexpr std::int64_t as_number(std::uint64_t bits) { return static_cast<std::int64_t>(bits); }

/// The bits of the interval's numbers that all of them share: those before the first in which its ends differ.
void learn_bits(KnownInteger& known) {
  const std::uint64_t differ = as_bits(known.low) ^ as_bits(known.high);
  const std::uint64_t shared = differ == 0 ? ~std::uint64_t{0} : ~(~std::uint64_t{0} >> std::countl_zero(differ));
  known.ones |= as_bits(known.low) & shared;
  known.zeros |= ~as_bits(known.low) & shared;
}

/// The smallest and largest number with these bits: a sign that is not known is set in the one, clear in the other.
void learn_ends(KnownInteger& known) {
  constexpr std::uint64_t sign = std::uint64_t{1} << 63;
  const std::uint64_t open = ~(known.zeros | known.ones);
  known.low = std::max(known.low, as_number(known.ones | (open & sign)));
  known.high = std::min(known.high, as_number((known.ones | open) & ~(open & sign)));
}

KnownInteger narrowed(KnownInteger known) {
  learn_bits(known);
  learn_ends(known);
  learn_bits(known);
  return known;
}

/// Whether there is such a number, as far as its interval and its bits tell.
bool is_possible(const KnownInteger& known) { return known.low <= known.high && (known.zeros & known.ones) == 0; }

KnownInteger between(std::int64_t low, std::int64_t high) { return narrowed({low, high, 0, 0}); }
KnownInteger boolean(bool value) { return between(value ? 1 : 0, value ? 1 : 0); }

KnownInteger either(const KnownInteger& a, const KnownInteger& b) {
  return narrowed({std::min(a.low, b.low), std::max(a.high, b.high), a.zeros & b.zeros, a.ones & b.ones});
}

bool is_nonzero(const KnownInteger& x) { return x.ones != 0 || x.low > 0 || x.high < 0; }

/// What is known of the result's operator on operands that all have its type, or that compare to a boolean.
class Rules {
 public:
  Rules(OpId op, const KnownInteger& any) : op_(op), any_(any) {}

  std::optional<KnownInteger> unary(const KnownInteger& x) const {
    switch (op_) {
      case OpId::negate: return difference(between(0, 0), x);
      case OpId::abs: return with_lowest_bits(magnitude(x), x);
      case OpId::sign: return sign(x);
      case OpId::square: return product(x, x, true);
      case OpId::relu: return larger(x, between(0, 0));
      case OpId::floor:
      case OpId::ceil:
      case OpId::round:
      case OpId::trunc: return x;
      case OpId::bitwise_not: return complement(x);
      case OpId::popcount: return set_bits(x);
      case OpId::logical_not: return complement(x);
      default: return std::nullopt;
    }
  }

  std::optional<KnownInteger> binary(const KnownInteger& a, const KnownInteger& b) const {
    switch (op_) {
      case OpId::add:
        return with_lowest_bits(within(Wide(a.low) + b.low, Wide(a.high) + b.high), a, b, a.ones + b.ones);
      case OpId::subtract: return difference(a, b);
      case OpId::multiply: return product(a, b, false);
      case OpId::maximum:
      case OpId::fmax: return larger(a, b);
      case OpId::minimum:
      case OpId::fmin: return smaller(a, b);
      case OpId::bitwise_and:
      case OpId::logical_and: return common_bits(a, b);
      case OpId::bitwise_or:
      case OpId::logical_or: return bits_of_either(a, b);
      case OpId::bitwise_xor:
      case OpId::logical_xor:
        return bits((a.zeros & b.zeros) | (a.ones & b.ones), (a.zeros & b.ones) | (a.ones & b.zeros));
      default: break;
    }
    return b.is_one_number() ? by_number(a, b.low) : std::nullopt;
  }

 private:
  KnownInteger within(Wide low, Wide high) const {
    if (low < any_.low || high > any_.high) return any_;
    return between(static_cast<std::int64_t>(low), static_cast<std::int64_t>(high));
  }

  /// The bits that numbers of the type have of their own, without the signs above.
  std::uint64_t width() const {
    const std::uint64_t above_sign = any_.low < 0 ? as_bits(any_.low) << 1 : 0;
    return any_.low < 0 ? ~above_sign : as_bits(any_.high);
  }

  KnownInteger bits(std::uint64_t zeros, std::uint64_t ones) const {
    return narrowed({any_.low, any_.high, zeros, ones});
  }

  /// No more than an operand that is not negative.
  KnownInteger common_bits(const KnownInteger& a, const KnownInteger& b) const {
    KnownInteger known = bits(a.zeros | b.zeros, a.ones & b.ones);
    for (const KnownInteger& each : {a, b}) {
      if (each.low >= 0) known.high = std::min(known.high, each.high);
    }
    return narrowed(known);
  }

  /// No less than operands that are not negative.
  KnownInteger bits_of_either(const KnownInteger& a, const KnownInteger& b) const {
    KnownInteger known = bits(a.zeros & b.zeros, a.ones | b.ones);
    if (a.low >= 0 && b.low >= 0) known.low = std::max({known.low, a.low, b.low});
    return narrowed(known);
  }

  KnownInteger complement(const KnownInteger& x) const {
    return any_.low < 0 ? bits(x.ones, x.zeros) : bits(x.ones | ~width(), x.zeros & width());
  }

  KnownInteger difference(const KnownInteger& a, const KnownInteger& b) const {
    return with_lowest_bits(within(Wide(a.low) - b.high, Wide(a.high) - b.low), a, b, a.ones - b.ones);
  }

  /// The lowest bits of sums and products depend on those of their operands alone, even where they wrap round:
  /// `result` has them right where all bits of the operands up to there are known.
  KnownInteger with_lowest_bits(KnownInteger known, const KnownInteger& a, const KnownInteger& b,
                                std::uint64_t result) const {
    const int fixed = std::countr_one((a.zeros | a.ones) & (b.zeros | b.ones));
    const std::uint64_t lowest = fixed >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << fixed) - 1;
    known.ones |= result & lowest & width(), known.zeros |= ~result & lowest & width();
    return narrowed(known);
  }

  /// Changing the sign leaves zeros at the end, and the one before them.
  static KnownInteger with_lowest_bits(KnownInteger known, const KnownInteger& x) {
    const int zeros = std::min(std::countr_one(x.zeros), 63);
    const std::uint64_t next = std::uint64_t{1} << zeros;
    known.zeros |= next - 1, known.ones |= x.ones & next;
    return narrowed(known);
  }

  KnownInteger magnitude(const KnownInteger& x) const {
    if (x.low >= 0) return x;
    if (x.high < 0) return within(-Wide(x.high), -Wide(x.low));
    return within(0, std::max(-Wide(x.low), Wide(x.high)));
  }

  /// Of negative numbers those of their magnitude are counted.
  KnownInteger set_bits(const KnownInteger& x) const {
    if (x.low < 0) return between(0, std::popcount(width()));
    return between(std::popcount(x.ones), std::popcount(~x.zeros));
  }

  static KnownInteger sign(const KnownInteger& x) {
    KnownInteger known = between(x.low < 0 ? -1 : x.low > 0 ? 1 : 0, x.high > 0 ? 1 : x.high < 0 ? -1 : 0);
    if (is_nonzero(x)) known.ones |= 1;
    return narrowed(known);
  }

  KnownInteger product(const KnownInteger& a, const KnownInteger& b, bool squared) const {
    const Wide ends[] = {Wide(a.low) * b.low, Wide(a.low) * b.high, Wide(a.high) * b.low, Wide(a.high) * b.high};
    const auto [low, high] = std::ranges::minmax(ends);
    // Both factors of a square have the same sign.
    KnownInteger known = within(squared && a.low < 0 && a.high > 0 ? 0 : low, high);
    const int even = std::min(std::countr_one(a.zeros) + std::countr_one(b.zeros), 63);
    known.zeros |= (std::uint64_t{1} << even) - 1;
    return with_lowest_bits(known, a, b, a.ones * b.ones);
  }

  static KnownInteger larger(const KnownInteger& a, const KnownInteger& b) {
    return narrowed({std::max(a.low, b.low), std::max(a.high, b.high), a.zeros & b.zeros, a.ones & b.ones});
  }
  static KnownInteger smaller(const KnownInteger& a, const KnownInteger& b) {
    return narrowed({std::min(a.low, b.low), std::min(a.high, b.high), a.zeros & b.zeros, a.ones & b.ones});
  }

  std::optional<KnownInteger> by_number(const KnownInteger& a, std::int64_t b) const {
    switch (op_) {
      case OpId::left_shift: {
        if (b < 0 || b >= std::popcount(width())) return std::nullopt;
        KnownInteger known = within(Wide(a.low) * (Wide(1) << b), Wide(a.high) * (Wide(1) << b));
        known.zeros |= (std::uint64_t{1} << b) - 1;
        return narrowed(known);
      }
      case OpId::right_shift:
        if (b < 0 || b >= std::popcount(width())) return std::nullopt;
        return narrowed({a.low >> b, a.high >> b, as_bits(as_number(a.zeros) >> b), as_bits(as_number(a.ones) >> b)});
      case OpId::floor_divide:
        if (b <= 0) return std::nullopt;
        return between(floored(a.low, b), floored(a.high, b));
      case OpId::remainder:
        if (b <= 0) return std::nullopt;
        if (floored(a.low, b) != floored(a.high, b)) return between(0, b - 1);
        return between(left_over(a.low, b), left_over(a.high, b));
      default: return std::nullopt;
    }
  }

  static std::int64_t floored(std::int64_t a, std::int64_t b) { return a / b - (a % b < 0 ? 1 : 0); }

  static std::int64_t left_over(std::int64_t a, std::int64_t b) { return a % b < 0 ? a % b + b : a % b; }

  OpId op_;
  KnownInteger any_;
};

bool is_logical(OpId op) {
  switch (op) {
    case OpId::logical_not:
    case OpId::logical_and:
    case OpId::logical_or:
    case OpId::logical_xor:
    case OpId::bitwise_not:
    case OpId::bitwise_and:
    case OpId::bitwise_or:
    case OpId::bitwise_xor: return true;
    default: return false;
  }
}

/// The booleans of a comparison that the operands decide.
std::optional<bool> compared(OpId op, const KnownInteger& a, const KnownInteger& b) {
  const bool below = a.high < b.low;
  const bool above = a.low > b.high;
  const bool apart = below || above || ((a.ones & b.zeros) | (a.zeros & b.ones)) != 0;
  const bool same = a.is_one_number() && a == b;
  switch (op) {
    case OpId::equal: return apart ? std::optional(false) : same ? std::optional(true) : std::nullopt;
    case OpId::not_equal: return apart ? std::optional(true) : same ? std::optional(false) : std::nullopt;
    case OpId::less: return below ? std::optional(true) : a.low >= b.high ? std::optional(false) : std::nullopt;
    case OpId::greater: return above ? std::optional(true) : a.high <= b.low ? std::optional(false) : std::nullopt;
    case OpId::less_equal: return a.high <= b.low ? std::optional(true) : above ? std::optional(false) : std::nullopt;
    case OpId::greater_equal:
      return a.low >= b.high ? std::optional(true) : below ? std::optional(false) : std::nullopt;
    default: return std::nullopt;
  }
}

std::optional<KnownInteger> converted(DType to, DType from, const KnownInteger& x) {
  const std::optional<KnownInteger> any = any_of(to);
  if (!any) return std::nullopt;
  if (to == DType::boolean && from != DType::boolean)
    return is_nonzero(x) ? boolean(true) : x.high == 0 && x.low == 0 ? boolean(false) : *any;
  return x.low >= any->low && x.high <= any->high ? x : *any;
}

OpId opposite(OpId comparison) {
  switch (comparison) {
    case OpId::equal: return OpId::not_equal;
    case OpId::not_equal: return OpId::equal;
    case OpId::less: return OpId::greater_equal;
    case OpId::less_equal: return OpId::greater;
    case OpId::greater: return OpId::less_equal;
    default: return OpId::less;
  }
}

}  // namespace

OpId mirrored(OpId comparison) {
  switch (comparison) {
    case OpId::less: return OpId::greater;
    case OpId::less_equal: return OpId::greater_equal;
    case OpId::greater: return OpId::less;
    case OpId::greater_equal: return OpId::less_equal;
    default: return comparison;
  }
}

std::optional<KnownInteger> known_where(OpId comparison, bool holds, const KnownInteger& a, const KnownInteger& b) {
  KnownInteger known = a;
  const auto at_most = [&](Wide most) { known.high = static_cast<std::int64_t>(std::min<Wide>(known.high, most)); };
  const auto at_least = [&](Wide least) { known.low = static_cast<std::int64_t>(std::max<Wide>(known.low, least)); };
  if (const std::optional<bool> decided = compared(comparison, a, b); decided && *decided != holds) return std::nullopt;
  switch (holds ? comparison : opposite(comparison)) {
    case OpId::equal:
      at_most(b.high), at_least(b.low);
      known.zeros |= b.zeros, known.ones |= b.ones;
      break;
    case OpId::not_equal:
      if (b.is_one_number() && a.low == b.low) at_least(Wide(a.low) + 1);
      if (b.is_one_number() && a.high == b.low) at_most(Wide(a.high) - 1);
      break;
    case OpId::less: at_most(Wide(b.high) - 1); break;
    case OpId::less_equal: at_most(b.high); break;
    case OpId::greater: at_least(Wide(b.low) + 1); break;
    case OpId::greater_equal: at_least(b.low); break;
    default: return a;
  }
  if (!is_possible(known)) return std::nullopt;
  known = narrowed(known);
  return is_possible(known) ? std::optional(known) : std::nullopt;
}

std::optional<KnownInteger> any_of(DType type) {
  if (type == DType::boolean) return between(0, 1);
  if (!is_integer(type) || type == DType::u64) return std::nullopt;
  const auto bits = static_cast<int>(8 * size_of(type));
  if (is_unsigned(type)) return between(0, as_number((std::uint64_t{1} << bits) - 1));
  const std::int64_t low = as_number(~std::uint64_t{0} << (bits - 1));
  return between(low, ~low);
}

std::optional<KnownInteger> only(DType type, std::int64_t number) {
  const std::optional<KnownInteger> any = any_of(type);
  if (!any || number < any->low || number > any->high) return any;
  return between(number, number);
}

std::optional<KnownInteger> known_result(OpId op, DType result, std::span<const DType> types,
                                         std::span<const std::optional<KnownInteger>> operands) {
  const std::optional<KnownInteger> any = any_of(result);
  if (!any) return std::nullopt;
  if (std::ranges::any_of(operands, [](const auto& known) { return !known; })) return any;
  const auto are = [&](DType type, std::size_t first) {
    return std::ranges::all_of(types.subspan(first), [&](DType each) { return each == type; });
  };
  if (op == OpId::cast) return converted(result, types[0], *operands[0]);
  if (op == OpId::where) {
    if (types[0] != DType::boolean || !are(result, 1)) return any;
    if (operands[0]->is_one_number()) return operands[0]->low != 0 ? operands[1] : operands[2];
    return either(*operands[1], *operands[2]);
  }
  if (operands.size() == 2 && result == DType::boolean && types[0] == types[1]) {
    if (const std::optional<bool> known = compared(op, *operands[0], *operands[1])) return boolean(*known);
  }
  // Arithmetic of booleans is that of truth.
  if (!are(result, 0) || (result == DType::boolean && !is_logical(op))) return any;
  const Rules rules(op, *any);
  const auto two = [&](OpId each, const KnownInteger& a, const KnownInteger& b) {
    return *Rules(each, *any).binary(a, b);
  };
  if (op == OpId::clip) return two(OpId::minimum, two(OpId::maximum, *operands[0], *operands[1]), *operands[2]);
  if (op == OpId::fma) return two(OpId::add, two(OpId::multiply, *operands[0], *operands[1]), *operands[2]);
  std::optional<KnownInteger> known;
  if (operands.size() == 1) known = rules.unary(*operands[0]);
  if (operands.size() == 2) known = rules.binary(*operands[0], *operands[1]);
  return known ? known : any;
}

}  // namespace tyto::core
