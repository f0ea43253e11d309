// SPDX-License-Identifier: MIT
// Flattens nested braces.
#include "engine/front/literal.hpp"

#include <algorithm>
#include <cstring>

#include "core/value/text.hpp"

namespace tyto::run {

namespace {

void write_number(const Scalar& number, DType dtype, std::byte* target) {
  const auto put = [&](auto value) { std::memcpy(target, &value, sizeof value); };
  switch (dtype) {
    case DType::boolean: return put(static_cast<std::uint8_t>(number.as_double() != 0));
    case DType::i64: return put(number.as_int());
    case DType::u64: return put(number.as_unsigned());
    case DType::f64: return put(number.as_double());
    case DType::c64:
      put(static_cast<float>(number.as_double()));
      target += sizeof(float);
      return put(static_cast<float>(number.imaginary()));
    default: return put(static_cast<float>(number.as_double()));
  }
}

// Reads the braces for the shape, the type and the numbers at once.
class NestedListParser {
 public:
  void read(std::span<const NestedList> rows, std::size_t depth) {
    if (depth == shape_.size()) shape_.push_back(static_cast<std::int64_t>(rows.size()));
    if (shape_[depth] != static_cast<std::int64_t>(rows.size())) {
      core::throw_error<ShapeError>("Tensor{...}: ragged rows: axis ", depth, " has rows of ", shape_[depth],
                                    " and of ", rows.size(), " elements");
    }
    for (const NestedList& row : rows) {
      const bool deepest = shape_.size() == depth + 1 && closed_;
      if (row.is_scalar()) {
        if (shape_.size() != depth + 1) throw ShapeError("Tensor{...}: ragged rows: a number stands beside a row");
        closed_ = true;
        dtype_ = promote(dtype_, row.scalar().default_dtype());
        numbers_.push_back(row.scalar());
      } else {
        if (deepest) throw ShapeError("Tensor{...}: ragged rows: a row stands beside a number");
        read(row.rows(), depth + 1);
      }
    }
  }

  Literal literal() const {
    // Natural numbers of which one is large meet in u64 rather than f64.
    const auto is_natural = [](const Scalar& each) {
      return !each.is_floating() && !each.is_complex() && each.as_int() >= 0;
    };
    const bool large = std::ranges::any_of(numbers_, &Scalar::is_large) && std::ranges::all_of(numbers_, is_natural);
    Literal out{shape_, numbers_.empty() ? DType::f32 : large ? DType::u64 : dtype_, {}};
    const std::size_t width = size_of(out.dtype);
    out.bytes.resize(numbers_.size() * width);
    for (std::size_t i = 0; i < numbers_.size(); ++i)
      write_number(numbers_[i], out.dtype, out.bytes.data() + i * width);
    return out;
  }

 private:
  Shape shape_;
  DType dtype_ = DType::boolean;
  std::vector<Scalar> numbers_;
  bool closed_ = false;  // the innermost axis is known
};

}  // namespace

Literal read_literal(std::span<const NestedList> rows) {
  NestedListParser parser;
  parser.read(rows, 0);
  return parser.literal();
}

}  // namespace tyto::run
