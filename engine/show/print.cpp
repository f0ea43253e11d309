// SPDX-License-Identifier: MIT
// Printing as NumPy prints: common width, shortest digits, the middle of long axes left out, lines of 75 columns.
#include <algorithm>
#include <charconv>
#include <cmath>
#include <ostream>
#include <string>
#include <string_view>
#include <vector>

#include "core/system/number_text.hpp"
#include "core/value/text.hpp"
#include "tyto/complex.hpp"
#include "tyto/indexing.hpp"
#include "tyto/shaping.hpp"
#include "tyto/tensor.hpp"

namespace tyto TYTO_API {

namespace {

constexpr std::int64_t summarised_above = 1000;  // elements
constexpr std::int64_t shown_at_edges = 3;
constexpr std::size_t line_width = 75;
constexpr int most_decimals = 8;

/// A floating-point number in decimal: 0.d1d2d3... * 10^point.
struct Decimal {
  bool negative = false;
  std::string digits;  // without zeros at the end; "0" for zero
  int point = 0;
};

// A number as the element type would hold it, so that the fewest digits that still name the element can be found.
bool names_same(double candidate, double value, DType dtype) {
  const auto single = static_cast<float>(candidate);
  switch (dtype) {
    case DType::f16: return Half(single) == Half(static_cast<float>(value));
    case DType::bf16: return BFloat16(single) == BFloat16(static_cast<float>(value));
    case DType::f32: return single == static_cast<float>(value);
    default: return candidate == value;
  }
}

Decimal read_scientific(const char* first, const char* last) {
  Decimal out;
  if (*first == '-') {
    out.negative = true;
    ++first;
  }
  const char* mark = std::find(first, last, 'e');
  for (const char* c = first; c != mark; ++c) {
    if (*c != '.') out.digits.push_back(*c);
  }
  while (out.digits.size() > 1 && out.digits.back() == '0') out.digits.pop_back();
  const char* exponent = mark + (mark[1] == '+' ? 2 : 1);
  std::from_chars(exponent, last, out.point);
  out.point += 1;
  if (out.digits == "0") out.point = 1;
  return out;
}

Decimal shortest(double value, DType dtype) {
  char text[40];
  if (dtype == DType::f64)
    return read_scientific(text, std::to_chars(text, text + 40, value, std::chars_format::scientific).ptr);
  for (int decimals = 0;; ++decimals) {
    const char* last = std::to_chars(text, text + 40, value, std::chars_format::scientific, decimals).ptr;
    double candidate = 0;
    (void)core::number_from({text, last}, candidate);
    if (names_same(candidate, value, dtype) || decimals == 17) return read_scientific(text, last);
  }
}

// Rounded to `decimals` places after the point of fixed notation (or of scientific notation, for `scientific`).
Decimal rounded(double value, int decimals, bool scientific) {
  char text[400];
  if (scientific) {
    return read_scientific(text, std::to_chars(text, text + 400, value, std::chars_format::scientific, decimals).ptr);
  }
  const char* last = std::to_chars(text, text + 400, value, std::chars_format::fixed, decimals).ptr;
  Decimal out;
  const char* c = text;
  if (*c == '-') {
    out.negative = true;
    ++c;
  }
  const char* dot = std::find(c, last, '.');
  out.point = static_cast<int>(dot - c);
  for (; c != last; ++c) {
    if (*c != '.') out.digits.push_back(*c);
  }
  while (out.digits.size() > 1 && out.digits.back() == '0') out.digits.pop_back();
  while (out.digits.size() > 1 && out.digits.front() == '0') {
    out.digits.erase(0, 1);
    --out.point;
  }
  if (out.digits == "0") out.point = 1;
  return out;
}

/// A number's text before and after the point, the exponent included in neither.
struct Parts {
  std::string whole;
  std::string fraction;
};

Parts fixed_parts(const Decimal& number) {
  Parts out;
  const auto length = static_cast<int>(number.digits.size());
  for (int i = 0; i < number.point; ++i)
    out.whole.push_back(i < length ? number.digits[static_cast<std::size_t>(i)] : '0');
  if (number.point <= 0) out.whole = "0";
  for (int i = number.point; i < length; ++i)
    out.fraction.push_back(i < 0 ? '0' : number.digits[static_cast<std::size_t>(i)]);
  if (number.negative) out.whole.insert(0, 1, '-');
  return out;
}

std::string exponent_text(int exponent, std::size_t width) {
  std::string digits = std::to_string(std::abs(exponent));
  if (digits.size() < width) digits.insert(0, width - digits.size(), '0');
  return (exponent < 0 ? "e-" : "e+") + digits;
}

std::string special_text(double value) { return std::isnan(value) ? "nan" : value < 0 ? "-inf" : "inf"; }

std::string padded(const std::string& text, std::size_t width) {
  return text.size() < width ? std::string(width - text.size(), ' ') + text : text;
}

/// The least number written with an exponent, as NumPy 2.4 does: where not all digits before the point count.
double plain_below(DType dtype) { return dtype == DType::f64 ? 1e8 : dtype == DType::f16 ? 1e3 : 1e6; }

/// Whether numbers that are not negative have a sign too, as imaginary parts do.
enum class Sign : std::uint8_t { of_negative, always };

// All elements of an array of floating-point numbers get the same places before and after the point.
std::vector<std::string> floating_texts(const std::vector<double>& values, DType dtype, Sign sign) {
  const std::string plus = sign == Sign::always ? "+" : "";
  const auto special = [&](double value) { return (value < 0 ? "" : plus) + special_text(value); };
  double largest = 0;
  double smallest = HUGE_VAL;
  bool all_finite = true;
  for (const double value : values) {
    if (!std::isfinite(value)) {
      all_finite = false;
    } else if (value != 0) {
      largest = std::max(largest, std::abs(value));
      smallest = std::min(smallest, std::abs(value));
    }
  }
  const bool scientific =
      largest != 0 && (largest >= plain_below(dtype) || smallest < 0.0001 || largest / smallest > 1000);
  const auto decimal = [&](double value) {
    const Decimal exact = shortest(value, dtype);
    const auto decimals = static_cast<int>(exact.digits.size()) - (scientific ? 1 : exact.point);
    return decimals > most_decimals ? rounded(value, most_decimals, scientific) : exact;
  };
  std::size_t whole = 0;
  std::size_t fraction = 0;
  std::size_t exponent = 2;
  std::vector<Decimal> decimals;
  for (const double value : values) {
    decimals.push_back(std::isfinite(value) ? decimal(value) : Decimal());
    if (!std::isfinite(value)) continue;
    const Decimal& number = decimals.back();
    if (scientific) {
      whole = std::max(whole, number.negative ? std::size_t{2} : 1 + plus.size());
      fraction = std::max(fraction, number.digits.size() - 1);
      exponent = std::max(exponent, std::to_string(std::abs(number.point - 1)).size());
    } else {
      const Parts parts = fixed_parts(number);
      whole = std::max(whole, parts.whole.size() + (number.negative ? 0 : plus.size()));
      fraction = std::max(fraction, parts.fraction.size());
    }
  }
  std::size_t width = whole + 1 + fraction + (scientific ? exponent + 2 : 0);
  if (!all_finite) {
    std::size_t widest = 0;
    for (const double value : values) {
      if (!std::isfinite(value)) widest = std::max(widest, special(value).size());
    }
    // NumPy counts the places behind the point to the right of "nan", so the text ends where the numbers end.
    width = std::max(width, widest);
  }
  std::vector<std::string> out;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (!std::isfinite(values[i])) {
      out.push_back(padded(special(values[i]), width));
      continue;
    }
    std::string text;
    if (scientific) {
      // All get the same number of digits; those past the shortest are the element's own, not zeros.
      const Decimal number = rounded(values[i], static_cast<int>(fraction), true);
      text = number.negative ? "-" : plus;
      text += number.digits[0];
      text += '.';
      text += number.digits.substr(1) + std::string(fraction - (number.digits.size() - 1), '0');
      text += exponent_text(number.digits == "0" ? 0 : number.point - 1, exponent);
    } else {
      const Parts parts = fixed_parts(decimals[i]);
      text = (decimals[i].negative ? "" : plus) + parts.whole + "." + parts.fraction +
             std::string(fraction - parts.fraction.size(), ' ');
    }
    out.push_back(padded(text, width));
  }
  return out;
}

std::string number_text(double value, DType dtype) {
  if (!std::isfinite(value)) return special_text(value);
  const Decimal number = shortest(value, dtype);
  const double magnitude = std::abs(value);
  if (magnitude != 0 && (magnitude < 1e-4 || magnitude >= (dtype == DType::f64 ? 1e16 : plain_below(dtype)))) {
    std::string text = number.negative ? "-" : "";
    text += number.digits[0];
    if (number.digits.size() > 1) text += "." + number.digits.substr(1);
    return text + exponent_text(number.point - 1, 2);
  }
  const Parts parts = fixed_parts(number);
  return parts.whole + "." + (parts.fraction.empty() ? "0" : parts.fraction);
}

/// One complex number as Python writes it: integers without a point, no real part where it is plus zero.
std::string complex_text(double real, double imaginary, DType part) {
  const auto text = [&](double value) {
    std::string digits = number_text(value, part);
    if (digits.ends_with(".0")) digits.resize(digits.size() - 2);
    return digits;
  };
  if (real == 0 && !std::signbit(real)) return text(imaginary) + "j";
  const bool minus = std::signbit(imaginary) && !std::isnan(imaginary);
  return "(" + text(real) + (minus ? "" : "+") + text(imaginary) + "j)";
}

std::vector<std::string> complex_texts(const Tensor<Any>& x) {
  const DType part = real_type(x.dtype());
  const std::vector<double> real = tyto::real(x).astype(DType::f64).to_vector<double>();
  const std::vector<double> imaginary = imag(x).astype(DType::f64).to_vector<double>();
  if (x.ndim() == 0) return {complex_text(real[0], imaginary[0], part)};
  std::vector<std::string> out = floating_texts(real, part, Sign::of_negative);
  const std::vector<std::string> second = floating_texts(imaginary, part, Sign::always);
  for (std::size_t i = 0; i < out.size(); ++i) {
    const std::size_t end = second[i].find_last_not_of(' ') + 1;
    out[i] += second[i].substr(0, end) + "j" + second[i].substr(end);
  }
  return out;
}

/// The elements' texts, in row-major order, as wide as one another.
std::vector<std::string> texts(const Tensor<Any>& x) {
  if (is_complex(x.dtype())) return complex_texts(x);
  if (is_floating(x.dtype())) {
    const std::vector<double> values = x.astype(DType::f64).to_vector<double>();
    if (x.ndim() == 0) return {number_text(values[0], x.dtype())};
    return floating_texts(values, x.dtype(), Sign::of_negative);
  }
  std::vector<std::string> out;
  std::size_t width = 0;
  const bool is_truth = x.dtype() == DType::boolean, is_natural = x.dtype() == DType::u64;
  for (const std::int64_t value : x.astype(DType::i64).to_vector<std::int64_t>()) {
    out.push_back(is_truth     ? (value != 0 ? "True" : "False")
                  : is_natural ? std::to_string(static_cast<std::uint64_t>(value))
                               : std::to_string(value));
    width = std::max(width, out.back().size());
  }
  if (x.dtype() == DType::boolean && x.ndim() > 0) width = std::string_view("False").size();  // as NumPy, always
  for (std::string& text : out) text = padded(text, width);
  return out;
}

/// Lays the texts of the shown elements out in brackets and lines.
class Layout {
 public:
  Layout(const Shape& shape, const Shape& shown, std::vector<std::string> words)
      : shape_(shape), shown_(shown), words_(std::move(words)) {}

  std::string axis(std::size_t depth, std::size_t width) {
    if (depth == shape_.size()) return words_[next_++];
    return "[" + (depth + 1 == shape_.size() ? row(depth, width) : rows(depth, width)) + "]";
  }

 private:
  bool cut(std::size_t depth) const { return shown_[depth] < shape_[depth]; }

  std::string row(std::size_t depth, std::size_t width) {
    const std::string indent(depth + 1, ' ');
    std::string done;
    std::string line = indent;
    const auto put = [&](const std::string& word) {
      if (line.size() + word.size() > width - 1 && line.size() > indent.size()) {
        line.erase(line.find_last_not_of(' ') + 1);
        done += line + "\n";
        line = indent;
      }
      line += word;
    };
    for (std::int64_t i = 0; i < shown_[depth]; ++i) {
      if (i != 0) line += ' ';
      if (cut(depth) && i == shown_at_edges) {
        put("...");
        line += ' ';
      }
      put(axis(depth + 1, width - 1));
    }
    return (done + line).substr(indent.size());
  }

  std::string rows(std::size_t depth, std::size_t width) {
    const std::string indent(depth + 1, ' ');
    const std::string separator(shape_.size() - depth - 1, '\n');
    std::string out;
    for (std::int64_t i = 0; i < shown_[depth]; ++i) {
      if (i != 0) out += separator + indent;
      if (cut(depth) && i == shown_at_edges) out += "..." + separator + indent;
      out += axis(depth + 1, width - 1);
    }
    return out;
  }

  const Shape& shape_;
  const Shape& shown_;
  std::vector<std::string> words_;
  std::size_t next_ = 0;
};

/// The first and last elements of each axis that is cut short.
Tensor<Any> edges(Tensor<Any> x) {
  for (std::int64_t axis = 0; axis < x.ndim(); ++axis) {
    const std::int64_t length = x.shape()[static_cast<std::size_t>(axis)];
    if (length <= 2 * shown_at_edges) continue;
    const std::vector<Tensor<Any>> parts = split(x, {shown_at_edges, length - shown_at_edges}, axis);
    x = concat(std::vector<Tensor<Any>>{parts[0], parts[2]}, axis);
  }
  return x;
}

}  // namespace

std::ostream& print(std::ostream& out, const Value& value) {
  if (!value) return out << "(no tensor)";
  const Tensor<Any> x(value);
  const Shape& shape = x.shape();
  const bool summarised = x.size() > summarised_above;
  if (x.size() == 0) {
    out << "[]";
  } else {
    const Tensor<Any> shown = summarised ? edges(x) : x;
    out << Layout(shape, shown.shape(), texts(shown)).axis(0, line_width);
  }
  // Appends what the digits do not show: the shape of empty or shortened arrays, and a type other than the default for
  // such digits.
  if (summarised || (x.size() == 0 && shape != Shape{0})) out << " shape=" << core::text(shape);
  const DType dtype = x.dtype();
  const bool plain = dtype == DType::f32 || dtype == DType::i64 || dtype == DType::boolean || dtype == DType::c64;
  // A 0-d tensor is printed as a number, as NumPy does it.
  if (!plain && shape.rank() > 0) out << " dtype=" << name_of(dtype);
  return out;
}

std::ostream& print(std::ostream& out, const Scalar& x) {
  switch (x.kind()) {
    case Scalar::Kind::boolean: return out << (x.as_int() != 0 ? "True" : "False");
    case Scalar::Kind::integer: return x.is_large() ? out << x.as_unsigned() : out << x.as_int();
    case Scalar::Kind::floating: return out << x.as_double();
    case Scalar::Kind::complex:
      return out << x.as_double() << (std::signbit(x.imaginary()) ? '-' : '+') << std::abs(x.imaginary()) << 'j';
  }
  return out;
}

}  // namespace TYTO_API
