// SPDX-License-Identifier: MIT
// Printing, held against what NumPy 2.4 prints for the same arrays (its `str`, with shape and type where they do not
// show).
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <sstream>
#include <string>
#include <tyto/tyto.hpp>

using tyto::DType;

TEST_CASE_TEMPLATE("tensors print as NumPy prints them", Mode, tyto::Eager, tyto::Lazy) {
  using Tensor = tyto::Tensor<Mode>;
  CHECK(Tensor{{1.0, 2.0}, {3.0, 4.5}}.to_string() ==
        "[[1.  2. ]\n"
        " [3.  4.5]]");
  CHECK(Tensor{0.1, 0.25, 1.0 / 3.0}.to_string() == "[0.1        0.25       0.33333334]");
  CHECK(Tensor{1e-5, 0.33333334}.to_string() == "[9.9999997e-06 3.3333334e-01]");
  CHECK(Tensor{1e-5, 1.0}.to_string() == "[1.e-05 1.e+00]");
  CHECK(Tensor{123456789.0, 1.0}.to_string() == "[1.2345679e+08 1.0000000e+00]");
  CHECK(Tensor{0.001, 100.0}.to_string() == "[1.e-03 1.e+02]");
  CHECK(Tensor{NAN, 1.5, -INFINITY}.to_string() == "[ nan  1.5 -inf]");
  CHECK(Tensor{NAN, 1.0}.to_string() == "[nan  1.]");
  CHECK(Tensor{-0.0, 0.0}.to_string() == "[-0.  0.]");
  CHECK(Tensor{-1.5, 22.25}.to_string() == "[-1.5  22.25]");
  CHECK(Tensor{{1, -20}, {300, 4}}.to_string() ==
        "[[  1 -20]\n"
        " [300   4]]");
  CHECK(Tensor{true, true}.to_string() == "[ True  True]");
  CHECK(Tensor(true).to_string() == "True");
  CHECK(Tensor{1234567.0, 2345678.0}.to_string() == "[1.234567e+06 2.345678e+06]");
  CHECK(Tensor{999999.0, 1000.0}.to_string() == "[999999.   1000.]");
  CHECK(Tensor{1234567.0, 2345678.0}.astype(DType::f64).to_string() == "[1234567. 2345678.] dtype=f64");
  CHECK(Tensor{100.0, 1000.0}.astype(DType::f16).to_string() == "[1.e+02 1.e+03] dtype=f16");
  CHECK(Tensor::full({}, 1234567.0).to_string() == "1.234567e+06");
  CHECK(Tensor{true, false}.to_string() == "[ True False]");
  CHECK(Tensor::arange(30).to_string() ==
        "[ 0  1  2  3  4  5  6  7  8  9 10 11 12 13 14 15 16 17 18 19 20 21 22 23\n"
        " 24 25 26 27 28 29]");
  CHECK(Tensor::arange(1200).to_string() == "[   0    1    2 ... 1197 1198 1199] shape=(1200,)");
  CHECK(Tensor::arange(24).reshape({2, 3, 4}).to_string() ==
        "[[[ 0  1  2  3]\n"
        "  [ 4  5  6  7]\n"
        "  [ 8  9 10 11]]\n"
        "\n"
        " [[12 13 14 15]\n"
        "  [16 17 18 19]\n"
        "  [20 21 22 23]]]");
  CHECK(Tensor::arange(10000).reshape({100, 100}).to_string() ==
        "[[   0    1    2 ...   97   98   99]\n"
        " [ 100  101  102 ...  197  198  199]\n"
        " [ 200  201  202 ...  297  298  299]\n"
        " ...\n"
        " [9700 9701 9702 ... 9797 9798 9799]\n"
        " [9800 9801 9802 ... 9897 9898 9899]\n"
        " [9900 9901 9902 ... 9997 9998 9999]] shape=(100,100)");
  CHECK(Tensor::arange(2000).reshape({2, 10, 100}).to_string() ==
        "[[[   0    1    2 ...   97   98   99]\n"
        "  [ 100  101  102 ...  197  198  199]\n"
        "  [ 200  201  202 ...  297  298  299]\n"
        "  ...\n"
        "  [ 700  701  702 ...  797  798  799]\n"
        "  [ 800  801  802 ...  897  898  899]\n"
        "  [ 900  901  902 ...  997  998  999]]\n"
        "\n"
        " [[1000 1001 1002 ... 1097 1098 1099]\n"
        "  [1100 1101 1102 ... 1197 1198 1199]\n"
        "  [1200 1201 1202 ... 1297 1298 1299]\n"
        "  ...\n"
        "  [1700 1701 1702 ... 1797 1798 1799]\n"
        "  [1800 1801 1802 ... 1897 1898 1899]\n"
        "  [1900 1901 1902 ... 1997 1998 1999]]] shape=(2,10,100)");
  CHECK(Tensor::linspace(0, 1, 20).to_string() ==
        "[0.         0.05263158 0.10526316 0.15789473 0.21052632 0.2631579\n"
        " 0.31578946 0.36842105 0.42105263 0.47368422 0.5263158  0.57894737\n"
        " 0.6315789  0.68421054 0.7368421  0.7894737  0.84210527 0.8947368\n"
        " 0.94736844 1.        ]");
  CHECK(Tensor::linspace(0, 1, 7, DType::f64).to_string() ==
        "[0.         0.16666667 0.33333333 0.5        0.66666667 0.83333333\n"
        " 1.        ] dtype=f64");
  CHECK((Tensor::linspace(-3, 1000, 5, DType::f64) * 1000.0).to_string() ==
        "[  -3000.  247750.  498500.  749250. 1000000.] dtype=f64");
  CHECK(Tensor::linspace(0, 1, 5, DType::f16).to_string() == "[0.   0.25 0.5  0.75 1.  ] dtype=f16");
  CHECK(Tensor{0.1, 0.2, 0.3}.astype(DType::f16).to_string() == "[0.1 0.2 0.3] dtype=f16");
  CHECK(Tensor::full({}, 3.5, DType::f32).to_string() == "3.5");
  CHECK(Tensor::full({}, 0.1, DType::f32).to_string() == "0.1");
  CHECK(Tensor::full({}, 1e-5, DType::f32).to_string() == "1e-05");
  CHECK(Tensor::full({}, 1e20, DType::f32).to_string() == "1e+20");
  CHECK(Tensor::full({}, 100, DType::f32).to_string() == "100.0");
  CHECK(Tensor::full({}, 7, DType::i64).to_string() == "7");
  CHECK(Tensor::zeros({0, 3}).to_string() == "[] shape=(0,3)");
  CHECK(Tensor::zeros({2, 1, 2}).to_string() ==
        "[[[0. 0.]]\n"
        "\n"
        " [[0. 0.]]]");
  CHECK(Tensor{3.4028235e38, 1e-45}.to_string() == "[3.4028235e+38 1.4012985e-45]");
  CHECK(Tensor{1e8, 1.0}.to_string() == "[1.e+08 1.e+00]");
  CHECK(Tensor{99999999.0, 1.0}.to_string() == "[1.e+08 1.e+00]");
}

TEST_CASE("a tensor without anything in it has no text") {
  CHECK_THROWS_WITH_AS(tyto::Tensor<tyto::Eager>().to_string(),
                       doctest::Contains("to_string: an operand is an undefined tensor"), tyto::GraphError);
}

TEST_CASE("printing a four-dimensional tensor leaves the middle of every long axis out") {
  const std::string text = tyto::Tensor<tyto::Eager>::arange(4000).reshape({10, 10, 10, 4}).to_string();
  // Lines of numbers: 6 x 6 x 6 rows are shown of 10 x 10 x 10.
  CHECK(std::count(text.begin(), text.end(), '\n') == 306);
  CHECK(text.starts_with(
      "[[[[   0    1    2    3]\n   [   4    5    6    7]\n   [   8    9   10   11]\n   ...\n   [  28"));
  CHECK(text.ends_with("   [3996 3997 3998 3999]]]] shape=(10,10,10,4)"));
}

TEST_CASE("shapes and element types print as errors name them") {
  const tyto::Tensor<tyto::Eager> x = tyto::Tensor<tyto::Eager>::zeros({2, 3});
  std::ostringstream out;
  out << x.shape() << ' ' << tyto::Shape{4} << ' ' << tyto::Shape{} << ' ' << x.dtype();
  CHECK(out.str() == "(2,3) (4,) () f32");
}
