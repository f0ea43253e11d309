// SPDX-License-Identifier: MIT
// Arrays in NumPy's files, read and written.
#include <doctest/doctest.h>

#include "io/npy.hpp"
#include "io/npz.hpp"
#include "tests/io/bytes.hpp"

namespace tyto::io_tests {
namespace {

HostArray parse(const Bytes& bytes) {
  const io::MemorySource source("x.npy", bytes);
  io::RangeStream stream(source);
  HostArray array = io::read_npy(stream);
  stream.expect_end("the array");
  return array;
}

/// A version 1 file with this header and these elements.
Bytes npy(const std::string& header, std::string_view elements = "") {
  std::string text = "\x93NUMPY";
  text += '\1';
  text += '\0';
  text += static_cast<char>(header.size() & 0xff);
  text += static_cast<char>(header.size() >> 8);
  return bytes_of(text + header + std::string(elements));
}

void check_types(const NamedList<HostArray>& arrays) {
  REQUIRE(arrays.size() == 13);
  const auto find = [&](const std::string& name) {
    for (const Named<HostArray>& array : arrays) {
      if (array.name == name) return array.value;
    }
    throw IoError("no array " + name);
  };
  for (const Named<HostArray>& array : arrays) {
    CHECK(name_of(array.value.dtype) == array.name);
    CHECK(array.value.shape == Shape{3});
  }
  CHECK(elements<std::uint8_t>(find("bool")) == std::vector<std::uint8_t>{1, 0, 1});
  CHECK(elements<std::uint8_t>(find("u8")) == std::vector<std::uint8_t>{0, 1, 255});
  CHECK(elements<std::int8_t>(find("i8")) == std::vector<std::int8_t>{-128, 0, 127});
  CHECK(elements<std::uint16_t>(find("u16")) == std::vector<std::uint16_t>{0, 1, UINT16_MAX});
  CHECK(elements<std::uint32_t>(find("u32")) == std::vector<std::uint32_t>{0, 1, UINT32_MAX});
  CHECK(elements<std::uint64_t>(find("u64")) == std::vector<std::uint64_t>{0, 1, UINT64_MAX});
  CHECK(elements<std::int16_t>(find("i16")) == std::vector<std::int16_t>{-32768, 0, 32767});
  CHECK(elements<std::int32_t>(find("i32")) == std::vector<std::int32_t>{INT32_MIN, 0, INT32_MAX});
  CHECK(elements<std::int64_t>(find("i64")) == std::vector<std::int64_t>{INT64_MIN, 0, INT64_MAX});
  CHECK(elements<std::uint16_t>(find("f16")) == std::vector<std::uint16_t>{0xbe00, 0, 0x7bff});
  CHECK(elements<std::uint16_t>(find("bf16")) == std::vector<std::uint16_t>{0xbfc0, 0, 0x4040});
  CHECK(elements<float>(find("f32")) == std::vector<float>{-1.5f, 0, 3.25f});
  CHECK(elements<double>(find("f64")) == std::vector<double>{-1.5, 0, 0.1});
}

}  // namespace

TEST_CASE("arrays of every type are read from NumPy's archives, stored and deflated") {
  check_types(detail::read_npz_file(data("types.npz")));
  check_types(detail::read_npz_file(data("types_deflated.npz")));
}

TEST_CASE("tensors of every type are read from a safetensors file") {
  check_types(detail::read_safetensors_file(data("types.safetensors")));
}

TEST_CASE("an archive whose directory speaks zip64 is read") {
  const NamedList<HostArray> arrays = detail::read_npz_file(data("zip64.npz"));
  REQUIRE(arrays.size() == 1);
  CHECK(arrays[0].name == "grid");
  CHECK(elements<float>(arrays[0].value) == std::vector<float>{0, 1, 2, 3, 4, 5});
}

TEST_CASE("versions 1 to 3, both orders of axes and both orders of bytes give the same array") {
  for (const char* name :
       {"grid.npy", "grid_version2.npy", "grid_version3.npy", "grid_fortran.npy", "grid_big_endian.npy"}) {
    CAPTURE(name);
    const HostArray array = detail::read_npy_file(data(name));
    CHECK(array.dtype == DType::f32);
    CHECK(array.shape == Shape{2, 3});
    CHECK(elements<float>(array) == std::vector<float>{0, 1, 2, 3, 4, 5});
  }
}

TEST_CASE("three axes in Fortran's order are turned round") {
  const HostArray array = detail::read_npy_file(data("cube_fortran.npy"));
  CHECK(array.shape == Shape{2, 3, 4});
  std::vector<std::int16_t> expected(24);
  for (std::int16_t i = 0; i < 24; ++i) expected[static_cast<std::size_t>(i)] = i;
  CHECK(elements<std::int16_t>(array) == expected);
}

TEST_CASE("a single number and an empty array keep their shapes") {
  const HostArray number = detail::read_npy_file(data("number.npy"));
  CHECK(number.shape == Shape{});
  CHECK(elements<double>(number) == std::vector<double>{2.5});
  const HostArray empty = detail::read_npy_file(data("empty.npy"));
  CHECK(empty.shape == Shape{0, 3});
  CHECK(empty.dtype == DType::i32);
  CHECK(empty.bytes.empty());
}

TEST_CASE("what is written is, byte for byte, what NumPy writes") {
  const Folder folder;
  for (const char* name : {"grid.npy", "number.npy", "empty.npy", "bf16.npy"}) {
    CAPTURE(name);
    const HostArray array = detail::read_npy_file(data(name));
    detail::write_npy_file(folder / name, {array.dtype, array.shape, array.bytes});
    CHECK(text_of_file(folder / name) == text_of_file(data(name)));
  }
}

TEST_CASE("archives read back as they were written, stored and deflated") {
  const Folder folder;
  const NamedList<HostArray> arrays = detail::read_npz_file(data("types.npz"));
  NamedList<HostArrayView> views;
  for (const auto& [name, array] : arrays) views.push_back({name, {array.dtype, array.shape, array.bytes}});
  for (const Compression compression : {Compression::stored, Compression::deflated}) {
    detail::write_npz_file(folder / "types.npz", views, compression);
    check_types(detail::read_npz_file(folder / "types.npz"));
  }
  detail::write_safetensors_file(folder / "types.safetensors", views);
  check_types(detail::read_safetensors_file(folder / "types.safetensors"));
}

TEST_CASE("an archive of no arrays is an archive") {
  const Folder folder;
  detail::write_npz_file(folder / "none.npz", {}, Compression::stored);
  CHECK(detail::read_npz_file(folder / "none.npz").empty());
}

TEST_CASE("an array without elements is read from an archive and written into one with its checksum") {
  const NamedList<HostArray> read = detail::read_npz_file(data("empty.npz"));
  REQUIRE(read.size() == 2);
  CHECK(read[0].value.shape == Shape{0, 3});
  CHECK(elements<float>(read[1].value) == std::vector<float>{1});
  const Folder folder;
  detail::write_npz_file(folder / "empty.npz", {{"empty", {DType::i32, {0, 3}, {}}}}, Compression::stored);
  const std::string bytes = text_of_file(folder / "empty.npz");
  std::uint32_t checksum = 0;
  std::memcpy(&checksum, bytes.data() + 14, sizeof checksum);
  CHECK(checksum == 0xcc6eb555);  // zlib.crc32 of empty.npy in Python
  CHECK(detail::read_npz_file(folder / "empty.npz")[0].value.shape == Shape{0, 3});
}

TEST_CASE("deflating makes an array of zeros small") {
  const Folder folder;
  const Bytes zeros(1 << 20);
  detail::write_npz_file(folder / "zeros.npz", {{"zeros", {DType::u8, {1 << 20}, zeros}}}, Compression::deflated);
  CHECK(std::filesystem::file_size(folder / "zeros.npz") < 4096);
  CHECK(detail::read_npz_file(folder / "zeros.npz")[0].value.bytes == zeros);
}

TEST_CASE("any byte but zero in a file of bool is true") {
  const HostArray array = parse(npy("{'descr': '|b1', 'fortran_order': False, 'shape': (3,), }", {"\0\1\7", 3}));
  CHECK(elements<std::uint8_t>(array) == std::vector<std::uint8_t>{0, 1, 1});
}

TEST_CASE("a header is read however its dictionary is laid out") {
  const HostArray array = parse(npy("  {\"shape\":(2L,1),'fortran_order':True ,'descr':'|u1'}\n", "ab"));
  CHECK(array.shape == Shape{2, 1});
  CHECK(elements<char>(array) == std::vector<char>{'a', 'b'});
}

TEST_CASE("complex numbers are read and written, each part in its byte order") {
  const HostArray array = detail::read_npy_file(data("complex.npy"));
  CHECK(array.dtype == DType::c128);
  CHECK(elements<double>(array) == std::vector<double>{0, 1});
  const std::string swapped("\x3f\x80\0\0\x40\0\0\0", 8);
  const HostArray big = parse(npy("{'descr': '>c8', 'fortran_order': False, 'shape': (1,), }", swapped));
  CHECK(big.dtype == DType::c64);
  CHECK(elements<float>(big) == std::vector<float>{1, 2});
  const std::vector<std::byte> header = io::npy_header({array.dtype, array.shape, array.bytes});
  CHECK(std::string(reinterpret_cast<const char*>(header.data()), header.size()).find("'<c16'") != std::string::npos);
}

TEST_CASE("element types that tensors do not have are refused by name") {
  CHECK_THROWS_WITH_AS(parse(npy("{'descr': '<c32', 'fortran_order': False, 'shape': (1,), }", std::string(32, ' '))),
                       doctest::Contains("the element type '<c32', expected one of"), IoError);
  CHECK_THROWS_WITH_AS(detail::read_npy_file(data("structured.npy")),
                       doctest::Contains("a structured element type, which tensors do not have"), IoError);
}

TEST_CASE("each way a header can be wrong is told") {
  const std::string rest = "'fortran_order': False, 'shape': (1,), }";
  const auto refused = [](const Bytes& bytes, const char* message) {
    CHECK_THROWS_WITH_AS(parse(bytes), doctest::Contains(message), IoError);
  };
  refused(bytes_of(""), "x.npy: ends too early: the npy preamble needs 8 bytes, there are 0");
  refused(bytes_of({"\x93NUMPX\1\0\0\0", 10}), "is no npy file: it lacks the magic");
  refused(bytes_of({"\x93NUMPY\4\0\0\0", 10}), "is npy of version 4; versions 1 to 3 are read");
  refused(bytes_of({"\x93NUMPY\1\0\xff\xff", 10}), "the npy header needs 65535 bytes, there are no more than 0");
  refused(bytes_of({"\x93NUMPY\2\0\xff\xff\xff\xff", 12}), "an npy header of 4294967295 bytes; 65536 are allowed");
  refused(npy("{}"), "a dictionary without 'descr'");
  refused(npy("{'descr': '<f4', 'shape': (1,)}"), "a dictionary without 'fortran_order'");
  refused(npy("{'descr': '<f4', " + rest + " x"), "text behind the dictionary");
  refused(npy("{'descr': '<f4', 'descr': '<f4', " + rest), "the key 'descr', expected each of");
  refused(npy("{'descr': '<f4' " + rest), "no comma between entries");
  refused(npy("{'descr': '<f4"), "a string without an end");
  refused(npy("{'descr': '<f4', 'fortran_order': 0, 'shape': (1,)}"), "neither True nor False");
  refused(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (-1,)}"), "the negative length -1");
  refused(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1.5,)}"), "no comma between lengths");
  refused(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (9223372036854775808,)}"), "does not fit 63 bits");
  refused(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (4294967296, 4294967296)}"),
          "states shape (4294967296,4294967296) of f32, more than memory can hold");
  refused(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 9223372036854775807)}"),
          "more than memory can hold");
  refused(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (1000000000,)}", "abcd"),
          "the array of shape (1000000000,) needs 4000000000 bytes, there are no more than 4");
  refused(npy("{'descr': '<f4', " + rest, "abcde"), "has bytes left over after the array");
  std::string axes;
  for (int i = 0; i < 65; ++i) axes += "1,";
  refused(npy("{'descr': '<f4', 'fortran_order': False, 'shape': (" + axes + ")}"), "a shape of more than 64 axes");
}

TEST_CASE("a file that is not there, is a folder, or is no file is refused by name") {
  const Folder folder;
  CHECK_THROWS_WITH_AS(detail::read_npy_file(folder / "none.npy"),
                       doctest::Contains("none.npy: cannot be opened: No such"), IoError);
  std::filesystem::create_directory(folder / "folder.npy");
  CHECK_THROWS_WITH_AS(detail::read_npy_file(folder / "folder.npy"), doctest::Contains("is no regular file"), IoError);
  CHECK_THROWS_WITH_AS(detail::read_npy_file("/dev/null"), doctest::Contains("is no regular file"), IoError);
}

TEST_CASE("an array with other than the bytes that its shape needs is not written") {
  const Folder folder;
  const Bytes three(3);
  CHECK_THROWS_WITH_AS(detail::write_npy_file(folder / "x.npy", {DType::f32, {1}, three}),
                       doctest::Contains("3 bytes do not fill shape (1,) of f32"), ShapeError);
  CHECK_THROWS_WITH_AS(
      detail::write_npz_file(folder / "x.npz", {{"a", {DType::u8, {3}, three}}, {"a", {DType::u8, {3}, three}}},
                             Compression::stored),
      doctest::Contains("two arrays are named 'a'"), IoError);
  CHECK(!std::filesystem::exists(folder / "x.npy"));
  CHECK(!std::filesystem::exists(folder / "x.npz"));
}

}  // namespace tyto::io_tests
