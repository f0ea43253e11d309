// SPDX-License-Identifier: MIT
// A parser for the subset of Python that .npy headers use: one dictionary of strings, booleans and a tuple.
#include "io/npy_header.hpp"

#include <array>
#include <charconv>

#include "io/refuse.hpp"

namespace tyto::io {

namespace {

struct TypeName {
  std::string_view code;  // kind and width, what follows the character for the byte order
  DType dtype;
};
// NumPy has no bfloat16 of its own: ml_dtypes stores its elements as two opaque bytes.
constexpr std::array<TypeName, dtype_count> npy_names = {{{"b1", DType::boolean},
                                                          {"u1", DType::u8},
                                                          {"i1", DType::i8},
                                                          {"i2", DType::i16},
                                                          {"i4", DType::i32},
                                                          {"i8", DType::i64},
                                                          {"f2", DType::f16},
                                                          {"V2", DType::bf16},
                                                          {"f4", DType::f32},
                                                          {"f8", DType::f64},
                                                          {"c8", DType::c64},
                                                          {"c16", DType::c128},
                                                          {"u2", DType::u16},
                                                          {"u4", DType::u32},
                                                          {"u8", DType::u64}}};

// NumPy's limit.
constexpr std::size_t most_axes = 64;

class Parser {
 public:
  Parser(std::string_view text, const std::string& file) : text_(text), file_(file) {}

  NpyHeader parse() {
    expect('{');
    while (!accept('}')) {
      const std::string_view key = string("a key");
      expect(':');
      if (key == "descr" && !seen_type_) {
        type();
        seen_type_ = true;
      } else if (key == "fortran_order" && !seen_order_) {
        header_.column_major = boolean();
        seen_order_ = true;
      } else if (key == "shape" && !seen_shape_) {
        shape();
        seen_shape_ = true;
      } else {
        fail("the key '", key, "', expected each of 'descr', 'fortran_order' and 'shape' once");
      }
      if (!accept(',') && peek() != '}') fail("no comma between entries");
    }
    skip_blanks();
    if (at_ != text_.size()) fail("text behind the dictionary");
    if (!seen_type_ || !seen_order_ || !seen_shape_) {
      fail("a dictionary without ", !seen_type_ ? "'descr'" : !seen_order_ ? "'fortran_order'" : "'shape'");
    }
    return header_;
  }

 private:
  template <class... Parts>
  [[noreturn]] void fail(const Parts&... parts) const {
    refuse(file_, "the npy header holds ", parts..., " (at its byte ", at_, ")");
  }

  void skip_blanks() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t')) ++at_;
  }
  char peek() {
    skip_blanks();
    return at_ < text_.size() ? text_[at_] : '\0';
  }
  bool accept(char wanted) {
    if (peek() != wanted) return false;
    ++at_;
    return true;
  }
  void expect(char wanted) {
    if (!accept(wanted)) fail("no '", wanted, "' where one is expected");
  }

  std::string_view string(const char* what) {
    const char quote = peek();
    if (quote != '\'' && quote != '"') fail("no string where ", what, " is expected");
    const std::size_t end = text_.find(quote, at_ + 1);
    if (end == std::string_view::npos) fail("a string without an end");
    const std::string_view content = text_.substr(at_ + 1, end - at_ - 1);
    at_ = end + 1;
    return content;
  }

  bool boolean() {
    skip_blanks();
    for (const bool value : {true, false}) {
      const std::string_view name = value ? "True" : "False";
      if (text_.substr(at_).starts_with(name)) {
        at_ += name.size();
        return value;
      }
    }
    fail("neither True nor False for 'fortran_order'");
  }

  void type() {
    if (peek() == '[') fail("a structured element type, which tensors do not have");
    const std::string_view descriptor = string("the element type");
    const char order = descriptor.empty() ? '\0' : descriptor.front();
    if (order == '<' || order == '>' || order == '|' || order == '=') {
      for (const TypeName& name : npy_names) {
        if (descriptor.substr(1) != name.code) continue;
        header_.dtype = name.dtype;
        header_.big_endian = order == '>' && size_of(name.dtype) > 1;
        return;
      }
    }
    fail("the element type '", descriptor,
         "', expected one of b1 u1 i1 i2 i4 i8 f2 f4 f8 c8 c16 V2 (bf16) behind '<', '>' or '|'");
  }

  void shape() {
    expect('(');
    while (!accept(')')) {
      skip_blanks();
      std::int64_t length = 0;
      const char* begin = text_.data() + at_;
      const auto [next, error] = std::from_chars(begin, text_.data() + text_.size(), length);
      if (error == std::errc::result_out_of_range) fail("a length that does not fit 63 bits");
      if (error != std::errc()) fail("something other than an integer in 'shape'");
      if (length < 0) fail("the negative length ", length);
      at_ += static_cast<std::size_t>(next - begin);
      if (peek() == 'L') ++at_;  // long integers of Python 2
      if (header_.shape.size() == most_axes) fail("a shape of more than ", most_axes, " axes");
      header_.shape.push_back(length);
      if (!accept(',') && peek() != ')') fail("no comma between lengths");
    }
  }

  std::string_view text_;
  const std::string& file_;
  std::size_t at_ = 0;
  NpyHeader header_;
  bool seen_type_ = false;
  bool seen_order_ = false;
  bool seen_shape_ = false;
};

}  // namespace

NpyHeader parse_npy_header(std::string_view text, const std::string& file) { return Parser(text, file).parse(); }

std::string npy_dictionary(DType dtype, const Shape& shape) {
  std::string out = "{'descr': '";
  out += size_of(dtype) == 1 ? '|' : '<';
  for (const TypeName& name : npy_names) {
    if (name.dtype == dtype) out += name.code;
  }
  out += "', 'fortran_order': False, 'shape': (";
  for (std::size_t axis = 0; axis < shape.size(); ++axis) {
    out += std::to_string(shape[axis]);
    if (axis + 1 < shape.size()) out += ", ";
    if (shape.size() == 1) out += ',';
  }
  return out + "), }";
}

}  // namespace tyto::io
