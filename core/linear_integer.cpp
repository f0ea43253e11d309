// Bits above the type's width are cleared after each step, and with them terms that come to nothing.
#include "core/linear_integer.hpp"

#include "core/op_ids.hpp"

namespace tyto::core {

namespace {

constexpr int width_of(DType type) { return static_cast<int>(8 * size_of(type)); }
constexpr std::uint64_t minus_one = ~std::uint64_t{0};

class Linear {
 public:
  explicit Linear(DType type) : bits_(all_bits(type)), width_(width_of(type)) {}

  LinearInteger scaled(const LinearInteger& x, std::uint64_t factor) const {
    LinearInteger product{{}, 0, x.added * factor & bits_};
    for (const LinearInteger::Term& each : x.terms()) {
      if (const std::uint64_t scaled = each.factor * factor & bits_; scaled != 0)
        product.all[product.count++] = {each.base, scaled};
    }
    return product;
  }

  std::optional<LinearInteger> sum(const LinearInteger& a, const LinearInteger& b) const {
    LinearInteger sum{{}, 0, (a.added + b.added) & bits_};
    std::span<const LinearInteger::Term> left = a.terms(), right = b.terms();
    while (!left.empty() || !right.empty()) {
      const bool from_left = right.empty() || (!left.empty() && left[0].base <= right[0].base);
      const bool from_right = left.empty() || (!right.empty() && right[0].base <= left[0].base);
      const LoopValue base = from_left ? left[0].base : right[0].base;
      const std::uint64_t factor = ((from_left ? left[0].factor : 0) + (from_right ? right[0].factor : 0)) & bits_;
      left = left.subspan(from_left ? 1 : 0), right = right.subspan(from_right ? 1 : 0);
      if (factor == 0) continue;
      if (sum.count == LinearInteger::most_terms) return std::nullopt;
      sum.all[sum.count++] = {base, factor};
    }
    return sum;
  }

  std::optional<LinearInteger> product(const LinearInteger& a, const LinearInteger& b) const {
    if (a.is_number()) return scaled(b, a.added);
    if (b.is_number()) return scaled(a, b.added);
    return std::nullopt;
  }

  std::optional<LinearInteger> shifted(const LinearInteger& x, const LinearInteger& count) const {
    if (!count.is_number() || count.added >= static_cast<std::uint64_t>(width_)) return std::nullopt;
    return scaled(x, std::uint64_t{1} << count.added);
  }

 private:
  std::uint64_t bits_;
  int width_;
};

}  // namespace

LinearInteger LinearInteger::of_number(DType type, std::int64_t number) {
  return {{}, 0, static_cast<std::uint64_t>(number) & all_bits(type)};
}

std::optional<LinearInteger> linear_result(OpId op, DType type, std::span<const LinearInteger> operands) {
  const Linear linear(type);
  switch (op) {
    case OpId::negate: return linear.scaled(operands[0], minus_one);
    case OpId::add: return linear.sum(operands[0], operands[1]);
    case OpId::subtract: return linear.sum(operands[0], linear.scaled(operands[1], minus_one));
    case OpId::multiply: return linear.product(operands[0], operands[1]);
    case OpId::left_shift: return linear.shifted(operands[0], operands[1]);
    case OpId::fma: {
      const std::optional<LinearInteger> product = linear.product(operands[0], operands[1]);
      return product ? linear.sum(*product, operands[2]) : std::nullopt;
    }
    default: return std::nullopt;
  }
}

std::uint64_t all_bits(DType type) { return ~std::uint64_t{0} >> (64 - width_of(type)); }

std::int64_t number_of(DType type, std::uint64_t bits) {
  if (is_unsigned(type)) return static_cast<std::int64_t>(bits & all_bits(type));
  const int above = 64 - width_of(type);
  return static_cast<std::int64_t>(bits << above) >> above;
}

}  // namespace tyto::core
