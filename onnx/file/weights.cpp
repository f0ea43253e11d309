// SPDX-License-Identifier: MIT
// Bytes of weights: checked against type and shape in 128 bits before anything is allocated, found in the model's
// folder and nowhere else.
#include "onnx/file/weights.hpp"

#include <algorithm>
#include <bit>
#include <charconv>
#include <cstring>
#include <filesystem>

#include "core/value/element_types.hpp"
#include "onnx/file/element_types.hpp"
#include "onnx/file/message.hpp"
#include "onnx/file/small_floats.hpp"
#include "tyto/device.hpp"
#include "tyto/indexing.hpp"
#include "tyto/shaping.hpp"

namespace tyto::onnx {

namespace {

static_assert(std::endian::native == std::endian::little, "weights are read as little-endian memory");

// A tensor that is smaller is copied rather than keep the whole file mapped for it.
constexpr std::uint64_t least_borrowed = 4096;

__extension__ using Wide = unsigned __int128;

Shape shape_of(const std::string& where, const TensorMessage& message) {
  for (const std::int64_t length : message.lengths) {
    if (length < 0) refuse(where, "has the length ", length, "; lengths must not be negative");
  }
  return Shape(std::span(message.lengths));
}

std::uint64_t bytes_of(const std::string& where, const Shape& shape, DType dtype) {
  Wide bytes = size_of(dtype);
  bool empty = false;
  for (const std::int64_t length : shape) {
    if (length == 0) empty = true;
    // No factor is 0 and the product stays below 2^63 before each step, so it never passes 2^126.
    else if ((bytes *= static_cast<Wide>(length)) >> 63 != 0)
      refuse(where, "has shape ", shape, ", too large for memory");
  }
  return empty ? 0 : static_cast<std::uint64_t>(bytes);
}

// Elements of `bits` bits each, those of a byte from its lowest bits on, as bytes.
Tensor<Any> unpacked(std::span<const std::byte> packed, int bits, const Shape& shape, DType dtype) {
  const std::int64_t count = element_count(shape);
  const int in_byte = 8 / bits, unused = 8 - bits;
  std::vector<std::uint8_t> elements(static_cast<std::size_t>(count));
  for (std::int64_t i = 0; i < count; ++i) {
    const int byte = std::to_integer<int>(packed[static_cast<std::size_t>(i / in_byte)]);
    const int raised = (byte << (unused - static_cast<int>(i % in_byte) * bits)) & 0xff;
    const int element = dtype == DType::i8 ? static_cast<std::int8_t>(raised) >> unused : raised >> unused;
    elements[static_cast<std::size_t>(i)] = static_cast<std::uint8_t>(element);
  }
  return Tensor<Any>::from_bytes(elements.data(), count, shape, dtype);
}

// Patterns of bits as the numbers that they stand for.
Tensor<Any> unpacked_floats(std::span<const std::byte> packed, const SmallFloat& format, const Shape& shape,
                            DType dtype) {
  const Tensor<Any> numbers = Tensor<Any>::from(numbers_of(format), {1 << format.bits()});
  const Tensor<Any> patterns = format.bits() == 8
                                   ? Tensor<Any>::from_bytes(packed.data(), std::ssize(packed), shape, DType::u8)
                                   : unpacked(packed, format.bits(), shape, DType::u8);
  return cast(take(numbers, reshape(cast(patterns, DType::i64), shape), 0), dtype);
}

// Numbers in a list of their own wire type, each brought to the element's width.
template <class E, class N>
std::vector<E> narrowed(const std::vector<N>& numbers) {
  std::vector<E> out(numbers.size());
  for (std::size_t i = 0; i < numbers.size(); ++i) out[i] = static_cast<E>(numbers[i]);
  return out;
}

template <class E, class N>
Tensor<Any> listed(const std::string& where, const std::vector<N>& numbers, const Shape& shape, DType dtype) {
  if (numbers.size() * size_of(dtype) != bytes_of(where, shape, dtype)) {
    refuse(where, "has ", numbers.size(), " numbers for shape ", shape);
  }
  const std::vector<E> elements = narrowed<E>(numbers);
  return Tensor<Any>::from_bytes(elements.data(), static_cast<std::int64_t>(elements.size()), shape, dtype);
}

Tensor<Any> from_list(const std::string& where, const TensorMessage& message, const Shape& shape, DType dtype) {
  return core::with_element_type(dtype, [&]<class E>() -> Tensor<Any> {
    if constexpr (ComplexNumber<E>) {
      refuse(where, "lists elements of ", dtype, ", which models do not have");
    } else if constexpr (std::is_same_v<E, float>) {
      return listed<E>(where, message.floats, shape, dtype);
    } else if constexpr (std::is_same_v<E, double>) {
      return listed<E>(where, message.doubles, shape, dtype);
    } else if constexpr (std::is_same_v<E, bool>) {
      std::vector<std::int64_t> truth = message.integers;
      for (std::int64_t& value : truth) value = value != 0 ? 1 : 0;
      return listed<std::uint8_t>(where, truth, shape, dtype);
    } else {
      // Halves are listed as the integers that their bits make; the format lists u32 and u64 with 64 bits.
      using Integer = std::conditional_t<std::is_integral_v<E>, E, std::uint16_t>;
      return listed<Integer>(where, message.integers, shape, dtype);
    }
  });
}

std::uint64_t number_in(const std::string& where, std::string_view text) {
  std::uint64_t number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc() || end != text.data() + text.size()) {
    refuse(where, "says ", quoted(text), " of its external data, expected an integer from 0 on");
  }
  return number;
}

// Whether a path without links, `.` and `..` lies in a folder or below it, wherever links lead that the folder's name
// goes through.
bool lies_below(const std::filesystem::path& path, const std::filesystem::path& folder) {
  std::error_code error;
  const std::filesystem::path real = std::filesystem::canonical(folder, error);
  if (error) return false;
  const auto [part, rest] = std::mismatch(real.begin(), real.end(), path.begin(), path.end());
  return part == real.end() && rest != path.end();
}

}  // namespace

bool has_subnormals(std::span<const std::byte> numbers) {
  typedef std::int32_t Vector __attribute__((vector_size(16), aligned(1), may_alias));
  constexpr std::int32_t least_normal = 0x0080'0000;
  Vector any{};
  std::size_t at = 0;
  for (; at + sizeof(Vector) <= numbers.size(); at += sizeof(Vector)) {
    const Vector size = *reinterpret_cast<const Vector*>(numbers.data() + at) & 0x7fff'ffff;
    any |= (size > 0) & (size < least_normal);
  }
  bool found = (any[0] | any[1] | any[2] | any[3]) != 0;
  for (; at + sizeof(std::int32_t) <= numbers.size(); at += sizeof(std::int32_t)) {
    std::int32_t bits = 0;
    std::memcpy(&bits, numbers.data() + at, sizeof bits);
    bits &= 0x7fff'ffff;
    found = found || (bits > 0 && bits < least_normal);
  }
  return found;
}

std::string Weights::unsupported(const TensorMessage& message) {
  if (!dtype_from(message.element_type))
    return core::text("elements of type ", element_type_name(message.element_type));
  return "";
}

// Names in a file must not lead outside of the model's folder, by no path and by no link. Caches of models consist of
// links, the model's file one of them: then the files beside the one that it links to are the model's, too.
std::shared_ptr<const core::MappedFile> Weights::opened(const std::string& where, std::string_view location) const {
  namespace fs = std::filesystem;
  if (folder_.empty()) refuse(where, "is in the file ", quoted(location), ", and a model in memory has no folder");
  if (location.find('\0') != std::string_view::npos) refuse(where, "is in a file whose name holds a zero byte");
  const fs::path relative(location);
  if (relative.has_root_path() || std::find(relative.begin(), relative.end(), "..") != relative.end()) {
    refuse(where, "is in ", quoted(location), "; only paths below the model's folder are read");
  }
  std::error_code error;
  const fs::path path = fs::canonical(folder_ / relative, error);
  if (error) refuse(where, "is in ", quoted(location), ", which cannot be opened: ", error.message());
  if (!lies_below(path, folder_) && !lies_below(path, fs::canonical(file_, error).parent_path())) {
    refuse(where, "is in ", quoted(location), ", which a link leads to ", onnx::quoted(path.string()),
           ", outside of the model's folder");
  }
  return std::make_shared<const core::MappedFile>(path.string(), false);
}

Weights::Bytes Weights::external(const TensorMessage& message, std::uint64_t needed) {
  const std::string where = file_ + ": " + quoted(message.name);
  std::string_view location;
  std::uint64_t offset = 0, length = needed;
  for (const auto& [key, value] : message.external_data) {
    if (key == "location") location = value;
    if (key == "offset") offset = number_in(where, value);
    if (key == "length") length = number_in(where, value);
  }
  if (location.empty()) refuse(where, "is in another file, which it does not name");
  auto known = others_.find(location);
  if (known == others_.end()) known = others_.emplace(location, opened(where, location)).first;
  const std::shared_ptr<const core::MappedFile>& file = known->second;
  const std::span<const std::byte> all = file->bytes();
  if (length != needed) refuse(where, "has ", length, " bytes of external data, its shape needs ", needed);
  if (static_cast<Wide>(offset) + length > all.size()) {
    refuse(where, "needs bytes ", offset, " to ", offset, " + ", length, " of ", quoted(location), ", which has ",
           all.size());
  }
  return {all.subspan(static_cast<std::size_t>(offset), static_cast<std::size_t>(length)), file};
}

std::size_t Weights::byte_count(const TensorMessage& message) const {
  const std::string where = file_ + ": " + quoted(message.name);
  const std::optional<DType> dtype = dtype_from(message.element_type);
  return dtype ? bytes_of(where, shape_of(where, message), *dtype) : 0;
}

Tensor<Any> Weights::tensor(const TensorMessage& message) {
  const std::string where = file_ + ": " + quoted(message.name);
  const std::optional<DType> dtype = dtype_from(message.element_type);
  if (!dtype) refuse(where, "has ", unsupported(message), ", which Tyto has not");
  const Shape shape = shape_of(where, message);
  const int bits = packed_bits(message.element_type);
  const bool is_storage = is_storage_type(message.element_type);  // of a byte or less in the file
  const std::uint64_t whole = bytes_of(where, shape, *dtype), bytes_each = is_storage ? size_of(*dtype) : 1;
  const auto in_byte = static_cast<std::uint64_t>(bits == 0 ? 1 : 8 / bits) * bytes_each;
  const std::uint64_t needed = whole / in_byte + (whole % in_byte != 0 ? 1 : 0);
  const SmallFloat* const format = small_float(message.element_type);
  if (message.element_type == text_type) {
    if (message.texts.size() != whole / size_of(*dtype)) {
      refuse(where, "has ", message.texts.size(), " texts for shape ", shape);
    }
    std::vector<std::int64_t> codes;
    for (const std::string_view word : message.texts) codes.push_back(vocabulary_.code_of(word));
    return Tensor<Any>::from(codes, shape);
  }
  if (!message.has_raw && !message.external) {
    if (bits == 0 && format == nullptr) return from_list(where, message, shape, *dtype);
    if (message.integers.size() != needed) {
      refuse(where, "has ", message.integers.size(), " bytes for shape ", shape, " of ",
             element_type_name(message.element_type), ", which needs ", needed);
    }
    const std::vector<std::uint8_t> bytes = narrowed<std::uint8_t>(message.integers);
    if (format != nullptr) return unpacked_floats(std::as_bytes(std::span(bytes)), *format, shape, *dtype);
    return unpacked(std::as_bytes(std::span(bytes)), bits, shape, *dtype);
  }
  const Bytes stored = message.external ? external(message, needed) : Bytes{message.raw, mapping_};
  if (stored.bytes.size() != needed) {
    refuse(where, "has ", stored.bytes.size(), " bytes, its shape ", shape, " of ",
           is_storage ? element_type_name(message.element_type) : name_of(*dtype), " needs ", needed);
  }
  if (format != nullptr) return unpacked_floats(stored.bytes, *format, shape, *dtype);
  if (bits != 0) return unpacked(stored.bytes, bits, shape, *dtype);
  const auto address = reinterpret_cast<std::uintptr_t>(stored.bytes.data());
  const std::int64_t count = element_count(shape);
  if (*dtype == DType::boolean) {
    std::vector<std::byte> truth(stored.bytes.begin(), stored.bytes.end());
    for (std::byte& byte : truth) byte = std::byte{byte != std::byte{0}};
    return Tensor<Any>::from_bytes(truth.data(), count, shape, *dtype);
  }
  if (needed < least_borrowed || address % size_of(*dtype) != 0 || !stored.owner) {
    const Tensor<Any> copy = Tensor<Any>::from_bytes(stored.bytes.data(), count, shape, *dtype);
    if (stored.owner) stored.owner->discard(stored.bytes);
    return copy;
  }
  return Tensor<Any>::borrow_bytes(stored.bytes.data(), shape, *dtype, [owner = stored.owner] {});
}

Operand Weights::operand(const TensorMessage& message) {
  Operand operand(tensor(message), true);
  if (is_storage_type(message.element_type)) operand.element_type = message.element_type;
  return operand;
}

Operand Weights::stored_operand(const TensorMessage& message) {
  constexpr std::size_t least_stored = std::size_t{64} << 10;
  const std::optional<DType> dtype = dtype_from(message.element_type);
  const bool whole_bytes = dtype && *dtype != DType::boolean && !is_storage_type(message.element_type);
  const bool lies_well = dtype && reinterpret_cast<std::uintptr_t>(message.raw.data()) % size_of(*dtype) == 0;
  if (!lazy_ || !whole_bytes || !message.has_raw || message.external || message.raw.size() < least_stored ||
      (lies_well && mapping_)) {
    return operand(message);
  }
  const std::string where = file_ + ": " + quoted(message.name);
  if (bytes_of(where, shape_of(where, message), *dtype) != message.raw.size()) return operand(message);  // throws
  Operand later;
  later.known = true;
  later.stored = &message;
  return later;
}

Operand Weights::loaded(const Operand& operand, bool kept) {
  if (operand.stored == nullptr) return operand;
  std::weak_ptr<const Tensor<Any>>& known = copies_[operand.stored];
  std::shared_ptr<const Tensor<Any>> copy = known.lock();
  if (!copy) {
    const DeviceScope host("cpu");  // where it is recorded from; a device takes it in when it compiles
    copy = std::make_shared<const Tensor<Any>>(tensor(*operand.stored));
    known = copy;
    if (kept) kept_.push_back(copy);
  }
  return {Tensor<Any>::borrow_bytes(copy->bytes().data(), copy->shape(), copy->dtype(), [copy] {}), true};
}

std::span<const std::byte> Weights::external_bytes(const TensorMessage& message) {
  const std::string where = file_ + ": " + quoted(message.name);
  const std::optional<DType> dtype = dtype_from(message.element_type);
  if (!message.external || !dtype || is_storage_type(message.element_type)) return {};
  try {
    return external(message, bytes_of(where, shape_of(where, message), *dtype)).bytes;  // others_ keeps the file
  } catch (const IoError&) {
    return {};
  }
}

void Weights::discard_pages() const {
  if (mapping_) mapping_->discard(mapping_->bytes());
  for (const auto& [path, file] : others_) file->discard(file->bytes());
}

void Weights::discard_pages(std::span<const std::byte> part) const {
  if (mapping_ && mapping_->holds(part)) mapping_->discard(part);
  for (const auto& [path, file] : others_) {
    if (file->holds(part)) file->discard(part);
  }
}

}  // namespace tyto::onnx
