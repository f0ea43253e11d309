// SPDX-License-Identifier: MIT
// Reads numbers in text files: lines split into fields, fields parsed in the elements' own type.
#include <array>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string_view>

#include "core/system/number_text.hpp"
#include "core/value/element_types.hpp"
#include "core/value/text.hpp"
#include "io/atomic_file.hpp"
#include "io/byte_source.hpp"
#include "io/npy.hpp"
#include "io/refuse.hpp"

namespace tyto::io {

namespace {

std::string_view trimmed(std::string_view text) {
  constexpr std::string_view blanks = " \t\r";
  const std::size_t begin = text.find_first_not_of(blanks);
  return begin == text.npos ? std::string_view() : text.substr(begin, text.find_last_not_of(blanks) - begin + 1);
}

/// Parses the fields of one file, line by line.
class TextReader {
 public:
  TextReader(const std::string& file, const TextOptions& options) : file_(file), options_(options) {}

  HostArray read(std::string_view text) {
    std::int64_t line = 0;
    while (!text.empty() && (!options_.rows || rows_ < *options_.rows)) {
      const std::size_t end = text.find('\n');
      const std::string_view whole = text.substr(0, end);
      text.remove_prefix(end == text.npos ? text.size() : end + 1);
      if (++line <= options_.skip_lines) continue;
      const std::string_view content = trimmed(whole.substr(0, whole.find(options_.comment)));
      if (!content.empty()) read_line(content, line);
    }
    HostArray array{options_.dtype, {rows_, columns_}, std::move(bytes_)};
    if (rows_ == 0) array.shape = {0};
    // As NumPy: axes of length one are dropped, and put before a vector that was asked to be a matrix.
    for (std::size_t axis = array.shape.size(); axis-- > 0 && array.shape.rank() > options_.min_axes;) {
      if (array.shape[axis] == 1) array.shape.erase(axis);
    }
    while (array.shape.rank() < options_.min_axes) array.shape.push_back(1);
    return array;
  }

 private:
  void read_line(std::string_view content, std::int64_t line) {
    fields_.clear();
    const bool blanks = options_.delimiter == ' ';
    while (true) {
      const std::size_t end = blanks ? content.find_first_of(" \t") : content.find(options_.delimiter);
      fields_.push_back(trimmed(content.substr(0, end)));
      if (end == content.npos) break;
      content = blanks ? trimmed(content.substr(end)) : content.substr(end + 1);
    }
    const auto count = static_cast<std::int64_t>(options_.columns.empty() ? fields_.size() : options_.columns.size());
    if (rows_ == 0) {
      columns_ = count;
      first_line_ = line;
    }
    if (count != columns_) {
      refuse(file_, "line ", line, " has ", count, " columns, line ", first_line_, " has ", columns_);
    }
    for (std::int64_t i = 0; i < count; ++i) {
      const std::int64_t asked = options_.columns.empty() ? i : options_.columns[static_cast<std::size_t>(i)];
      const auto fields = static_cast<std::int64_t>(fields_.size());
      if (asked < -fields || asked >= fields) {
        refuse(file_, "line ", line, " has ", fields, " columns, so there is no column ", asked);
      }
      put(fields_[static_cast<std::size_t>(asked < 0 ? asked + fields : asked)], line, asked);
    }
    ++rows_;
  }

  template <class E>
  void append(E element) {
    const auto* begin = reinterpret_cast<const std::byte*>(&element);
    bytes_.insert(bytes_.end(), begin, begin + sizeof element);
  }

  template <class E>
  void put_integer(std::string_view field, std::int64_t line, std::int64_t column) {
    E element{};
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), element);
    if (error == std::errc() && end == field.data() + field.size()) return append(element);
    const double stand_in = options_.missing.value_or(0.5);
    if (!options_.missing || stand_in != std::trunc(stand_in)) refuse_field(field, line, column);
    append(static_cast<E>(stand_in));
  }

  double number_in(std::string_view field, std::int64_t line, std::int64_t column) {
    double number = 0;
    const auto [end, error] = core::number_from(field, number);
    const bool whole = end == field.data() + field.size() && !field.empty();
    if (whole && error == std::errc()) return number;
    // Beyond double's range; what is nearer to zero than its smallest number is zero.
    if (whole && error == std::errc::result_out_of_range) return std::strtod(std::string(field).c_str(), nullptr);
    if (!options_.missing) refuse_field(field, line, column);
    return *options_.missing;
  }

  void put(std::string_view field, std::int64_t line, std::int64_t column) {
    if (field.size() > 1 && field[0] == '+') field.remove_prefix(1);
    core::with_element_type(options_.dtype, [&]<class E>() {
      if constexpr (std::is_integral_v<E> && !std::is_same_v<E, bool>) put_integer<E>(field, line, column);
      else append(core::element_from<E>(number_in(field, line, column)));
    });
  }

  [[noreturn]] void refuse_field(std::string_view field, std::int64_t line, std::int64_t column) const {
    constexpr std::size_t shown = 40;
    const std::string text(field.substr(0, shown));
    refuse(file_, "line ", line, ", column ", column, ": ", field.empty() ? "nothing stands there" : "'" + text + "'",
           field.empty()                ? ""
           : text.size() < field.size() ? "... is no "
                                        : " is no ",
           field.empty() ? "" : name_of(options_.dtype),
           "; name what stands for it in .missing, or the delimiter in .delimiter");
  }

  const std::string& file_;
  const TextOptions& options_;
  std::vector<std::string_view> fields_;
  std::vector<std::byte> bytes_;
  std::int64_t rows_ = 0;
  std::int64_t columns_ = 0;
  std::int64_t first_line_ = 0;
};

void refuse_complex(const char* function, DType dtype) {
  if (!is_complex(dtype)) return;
  core::throw_error<TypeError>(function, ": ", name_of(dtype),
                               " has no form in text; write its real and its imaginary parts (view_as_real)");
}

/// The shortest text that gives the element back.
class TextWriter {
 public:
  explicit TextWriter(const HostArrayView& array) : array_(array) {}

  void add(std::string& out, std::int64_t index) const {
    core::with_element_type(array_.dtype, [&]<class E>() {
      if constexpr (std::is_same_v<E, bool>) add_number(out, at<std::uint8_t>(index));
      else if constexpr (std::is_arithmetic_v<E>) add_number(out, at<E>(index));
      else add_number(out, core::number_from<float>(at<E>(index)));
    });
  }

 private:
  template <class E>
  E at(std::int64_t index) const {
    E element;
    std::memcpy(&element, array_.bytes.data() + static_cast<std::size_t>(index) * sizeof element, sizeof element);
    return element;
  }
  template <class E>
  static void add_number(std::string& out, E number) {
    std::array<char, 64> text;
    out.append(text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr);
  }

  const HostArrayView& array_;
};

}  // namespace

}  // namespace tyto::io

namespace tyto TYTO_API {
namespace detail {

HostArray read_text_file(const std::string& path, const TextOptions& options) {
  const io::FileSource file(path);
  std::string text;
  io::within_memory(path, "the text", file.size(), [&] { text.resize(static_cast<std::size_t>(file.size())); });
  file.read(0, std::as_writable_bytes(std::span(text)), "the text");
  io::refuse_complex("read_text", options.dtype);
  return io::TextReader(path, options).read(text);
}

void write_text_file(const std::string& path, const HostArrayView& array, const TextLayout& layout) {
  io::refuse_complex("write_text", array.dtype);
  if (array.shape.rank() > 2) {
    core::throw_error<ShapeError>("write_text: a number, a vector or a matrix is needed, not shape ",
                                  to_string(array.shape));
  }
  const std::int64_t rows = array.shape.empty() ? 1 : array.shape[0];
  const std::int64_t columns = array.shape.rank() < 2 ? 1 : array.shape[1];
  const io::TextWriter writer(array);
  io::AtomicFile file(path);
  std::string text = layout.header.empty() ? std::string() : "# " + layout.header + '\n';
  const auto flush = [&] {
    file.write(std::as_bytes(std::span(text)));
    text.clear();
  };
  constexpr std::size_t enough = 1 << 16;
  for (std::int64_t row = 0; row < rows; ++row) {
    for (std::int64_t column = 0; column < columns; ++column) {
      if (column > 0) text += layout.delimiter;
      writer.add(text, row * columns + column);
    }
    text += '\n';
    if (text.size() > enough) flush();
  }
  flush();
  file.commit();
}

}  // namespace detail
}  // namespace TYTO_API
