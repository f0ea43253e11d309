// SPDX-License-Identifier: MIT
// Numbers in text files and arrays mapped into memory.
#include <doctest/doctest.h>

#include <cmath>
#include <fstream>
#include <limits>

#include "tests/support/temporary_folder.hpp"
#include "tyto/io.hpp"
#include "tyto/reduce.hpp"

using namespace tyto;
using doctest::Contains;
using T = Tensor<Eager>;

namespace {

struct Folder {
  testing::TemporaryFolder folder;
  std::string with(const std::string& name, const std::string& text) const {
    const std::string path = (folder.path() / name).string();
    std::ofstream(path, std::ios::binary) << text;
    return path;
  }
};

}  // namespace

TEST_CASE("text is read as rows of numbers") {
  const Folder in;
  const std::string table = in.with("t.txt", "# two columns\n1 2.5\n-3\t 4e2  # and so on\r\n\n+5 inf\n");
  const T x = read_text<T>(table);
  CHECK(x.shape() == Shape{3, 2});
  CHECK(x.dtype() == DType::f32);
  CHECK(x.to_vector<double>() == std::vector<double>{1, 2.5, -3, 400, 5, INFINITY});
  CHECK(read_text<T>(table, {.rows = 2}).shape() == Shape{2, 2});
  CHECK(read_text<T>(table, {.columns = {-1}}).to_vector<double>() == std::vector<double>{2.5, 400, INFINITY});
  const std::string csv = in.with("t.csv", "a,b\n1, 2\n3,4");
  const T integers = read_text<T>(csv, {.delimiter = ',', .skip_lines = 1, .dtype = DType::i64});
  CHECK(integers.to_vector<std::int64_t>() == std::vector<std::int64_t>{1, 2, 3, 4});
  CHECK(read_text<T>(in.with("row", "1 2 3\n")).shape() == Shape{3});
  CHECK(read_text<T>(in.with("row", "1 2 3\n"), {.min_axes = 2}).shape() == Shape{1, 3});
  CHECK(read_text<T>(in.with("one", "7")).shape() == Shape{});
  CHECK(read_text<T>(in.with("none", "# nothing\n")).shape() == Shape{0});
}

TEST_CASE("text that is no number is replaced where `missing` is given, else an error with its place") {
  const Folder in;
  const std::string gaps = in.with("g.csv", "1,,3\n4,x,6\n");
  const std::vector<double> read = read_text<T>(gaps, {.delimiter = ',', .missing = -1}).to_vector<double>();
  CHECK(read == std::vector<double>{1, -1, 3, 4, -1, 6});
  CHECK_THROWS_WITH_AS(read_text<T>(gaps, {.delimiter = ','}), Contains("line 1, column 1: nothing stands there"),
                       IoError);
  CHECK_THROWS_WITH_AS(read_text<T>(gaps, {.delimiter = ',', .skip_lines = 1}),
                       Contains("line 2, column 1: 'x' is no f32"), IoError);
  CHECK_THROWS_WITH_AS(read_text<T>(gaps), Contains("line 1, column 0: '1,,3' is no f32"), IoError);
  CHECK_THROWS_WITH_AS(read_text<T>(in.with("r", "1 2\n3\n")), Contains("line 2 has 1 columns, line 1 has 2"), IoError);
  CHECK_THROWS_WITH_AS(read_text<T>(in.with("c", "1 2\n"), {.columns = {2}}), Contains("so there is no column 2"),
                       IoError);
  CHECK_THROWS_WITH_AS(read_text<T>(in.with("i", "300\n"), {.dtype = DType::u8}), Contains("'300' is no u8"), IoError);
  CHECK_THROWS_WITH_AS(read_text<T>(in.with("n", "-1\n"), {.dtype = DType::u32}), Contains("'-1' is no u32"), IoError);
  CHECK_THROWS_WITH_AS(read_text<T>(in.with("f", "1.5\n"), {.dtype = DType::i32}), Contains("'1.5' is no i32"),
                       IoError);
  CHECK_THROWS_AS(read_text<T>("/nowhere/at/all"), IoError);
}

TEST_CASE("what is written as text is read back to the last bit") {
  const Folder in;
  const std::string path = (in.folder.path() / "x.txt").string();
  const T x = T::normal({5, 3}, {.dtype = DType::f64, .key = Key{1, 2}}) * 1e100;
  write_text(path, x, {.delimiter = ",", .header = "three columns"});
  CHECK(array_equal(read_text<T>(path, {.delimiter = ',', .dtype = DType::f64}), x));
  write_text(path, x, {.delimiter = ','});
  CHECK(array_equal(read_text<T>(path, {.delimiter = ',', .dtype = DType::f64}), x));
  const T single = T{0.1, -1e-30, std::numeric_limits<double>::quiet_NaN()};
  write_text(path, single);
  const T read = read_text<T>(path);
  CHECK(read.bytes()[0] == single.bytes()[0]);
  CHECK(std::isnan(read_text<T>(path).to_vector<double>()[2]));
  write_text(path, T{{1, -2}, {3, 4}});
  CHECK(array_equal(read_text<T>(path, {.dtype = DType::i64}), T{{1, -2}, {3, 4}}));
  for (const DType type : {DType::u16, DType::u32, DType::u64}) {
    const T ends = T{-1, 0}.astype(type);
    write_text(path, ends);
    CHECK(array_equal(read_text<T>(path, {.dtype = type}), ends));
  }
  CHECK_THROWS_WITH_AS(write_text(path, T::zeros({1, 2, 3})), Contains("not shape (1,2,3)"), ShapeError);
}

TEST_CASE("an npy file is mapped into memory without being read") {
  const Folder in;
  const std::string path = (in.folder.path() / "x.npy").string();
  const T x = T::arange(6).reshape({2, 3});
  write_npy(path, x);
  T mapped = map_npy<T>(path);
  CHECK(mapped.shape() == Shape{2, 3});
  CHECK(array_equal(mapped, x));
  CHECK(array_equal(mapped + 1, x + 1));
  mapped(0, 0) = 9;  // a copy: the file stays
  CHECK(array_equal(map_npy<T>(path), x));
  write_npy(path, T::zeros({0, 4}));
  CHECK(map_npy<T>(path).shape() == Shape{0, 4});
  write_npy(path, T{true, false});
  CHECK(array_equal(map_npy<T>(path), T{true, false}));
  CHECK(array_equal(map_npy<Tensor<Lazy>>(path), Tensor<Lazy>{true, false}));
  std::ofstream(path, std::ios::app) << "x";
  CHECK_THROWS_WITH_AS(map_npy<T>(path), Contains("holds 3 bytes of elements, 2 are needed for shape (2,)"), IoError);
  CHECK_THROWS_AS(map_npy<T>(in.with("short.npy", "\x93NUMPY")), IoError);
}
