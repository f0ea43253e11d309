// SPDX-License-Identifier: MIT
// take, gather and scatter against element-by-element indexing, and the errors of bad indices.
#include <doctest/doctest.h>

#include <string>

#include <tyto/error.hpp>

#include "core/graph/op_ids.hpp"
#include "tests/support/placed_tensor.hpp"

namespace index_test {

using namespace tyto;
using namespace tyto::placed;
using core::AxisAttributes;
using core::NoAttributes;
using core::OpId;
using placed::Tensor;

namespace {

Tensor index_tensor(OpId op, const core::Attributes& attributes, const std::vector<Tensor>& inputs, const Shape& shape,
                    bool over_first = false) {
  const bool reads = op == OpId::take || op == OpId::take_along_axis || op == OpId::gather;
  return run(reads ? cpu::gather_kernels() : cpu::scatter_kernels(), op, attributes, inputs,
             {{inputs[0].dtype(), shape}}, over_first)[0];
}

Tensor random_indices(Dice& dice, const Shape& shape, std::int64_t length) {
  const DType dtype = dice.below(2) == 0 ? DType::i32 : DType::i64;
  Tensor tensor = place(dice, dtype, shape, every_layout[dice.below(6)]);
  each_index(shape,
             [&](const IntList& index) { tensor.set(index, static_cast<double>(dice.between(-length, length - 1))); });
  return tensor;
}

std::int64_t position(const Tensor& indices, const IntList& at, std::int64_t length) {
  const auto index = static_cast<std::int64_t>(indices.at(at));
  return index < 0 ? index + length : index;
}

std::string message(OpId op, const core::Attributes& attributes, const std::vector<Tensor>& inputs,
                    const Shape& shape) {
  try {
    index_tensor(op, attributes, inputs, shape);
  } catch (const IndexError& error) {
    return error.what();
  }
  return "";
}

Shape with_one_more(Shape shape) {
  shape.push_back(1);
  return shape;
}

}  // namespace

TEST_CASE("take reads rows, columns and single elements, counting negative indices from the end") {
  const Tensor x = tensor(DType::f32, {3, 2}, {1, 2, 3, 4, 5, 6});
  const Tensor indices = tensor(DType::i64, {2}, {-1, 0});
  CHECK(index_tensor(OpId::take, AxisAttributes{0}, {x, indices}, {2, 2}).values() == std::vector<double>{5, 6, 1, 2});
  CHECK(index_tensor(OpId::take, AxisAttributes{1}, {x, indices}, {3, 2}).values() ==
        std::vector<double>{2, 1, 4, 3, 6, 5});
  CHECK(index_tensor(OpId::take, AxisAttributes{0}, {x, tensor(DType::i32, {}, {1})}, {2}).values() ==
        std::vector<double>{3, 4});
}

TEST_CASE("gather reads by one index tensor an axis") {
  const Tensor x = tensor(DType::f32, {2, 2, 2}, {0, 1, 2, 3, 4, 5, 6, 7});
  const Tensor i = tensor(DType::i32, {3}, {0, 1, 1}), j = tensor(DType::i64, {3}, {1, 0, -1});
  CHECK(index_tensor(OpId::gather, NoAttributes{}, {x, i, j}, {3, 2}).values() ==
        std::vector<double>{2, 3, 4, 5, 6, 7});
}

TEST_CASE("scatter keeps the last value, scatter_add adds them all") {
  const Tensor x = tensor(DType::f32, {3}, {10, 20, 30}), v = tensor(DType::f32, {3}, {1, 2, 3});
  const Tensor indices = tensor(DType::i64, {3}, {0, -1, 0});
  CHECK(index_tensor(OpId::scatter, NoAttributes{}, {x, v, indices}, {3}).values() == std::vector<double>{3, 20, 2});
  CHECK(index_tensor(OpId::scatter_add, NoAttributes{}, {x, v, indices}, {3}).values() ==
        std::vector<double>{14, 20, 32});
  CHECK(index_tensor(OpId::scatter_add, NoAttributes{}, {x, v, indices}, {3}, true).values() ==
        std::vector<double>{14, 20, 32});
}

TEST_CASE("an index outside its axis is an error that names the operator, the index and the length") {
  const Tensor x = tensor(DType::f32, {3, 2}, {1, 2, 3, 4, 5, 6});
  CHECK(message(OpId::take, AxisAttributes{0}, {x, tensor(DType::i64, {2}, {0, 3})}, {2, 2}) ==
        "take: index 3 is outside an axis of length 3; it must lie in [-3, 2]");
  CHECK(message(OpId::take, AxisAttributes{1}, {x, tensor(DType::i32, {1}, {-3})}, {3, 1}) ==
        "take: index -3 is outside an axis of length 2; it must lie in [-2, 1]");
  CHECK(message(OpId::take_along_axis, AxisAttributes{1}, {x, tensor(DType::i32, {3, 1}, {0, 0, 2})}, {3, 1}) ==
        "take_along_axis: index 2 is outside an axis of length 2; it must lie in [-2, 1]");
  CHECK(message(OpId::gather, NoAttributes{}, {x, tensor(DType::i32, {1}, {0}), tensor(DType::i32, {1}, {5})}, {1}) ==
        "gather or x(indices): index 5 is outside an axis of length 2; it must lie in [-2, 1]");
  CHECK(message(OpId::scatter, NoAttributes{}, {x, dense(DType::f32, {1, 2}), tensor(DType::i32, {1}, {7})}, {3, 2}) ==
        "scatter or x(indices) = v: index 7 is outside an axis of length 3; it must lie in [-3, 2]");
  CHECK(message(OpId::scatter_add, NoAttributes{}, {x, dense(DType::f32, {1, 2}), tensor(DType::i32, {1}, {-4})},
                {3, 2}) == "scatter_add: index -4 is outside an axis of length 3; it must lie in [-3, 2]");
  CHECK(message(OpId::take, AxisAttributes{0}, {dense(DType::f32, {0}), tensor(DType::i64, {1}, {0})}, {1}) ==
        "take: index 0 is outside an axis of length 0, which holds nothing");
}

TEST_CASE("take agrees with plain indexing for every type, layout and axis") {
  Dice dice(60);
  for (const DType dtype : every_dtype) {
    for (const Layout layout : every_layout) {
      for (int rank = 1; rank <= 4; ++rank) {
        const Tensor x = random(dice, dtype, random_shape(dice, rank, 6, false), layout, -50, 50);
        const std::int64_t axis = dice.below(rank);
        const auto along = static_cast<std::size_t>(axis);
        const Shape chosen = random_shape(dice, static_cast<int>(dice.below(3)), 6);
        const Tensor indices = random_indices(dice, chosen, x.shape()[along]);
        Shape shape;
        for (std::size_t i = 0; i < along; ++i) shape.push_back(x.shape()[i]);
        for (const std::int64_t length : chosen) shape.push_back(length);
        for (std::size_t i = along + 1; i < x.shape().size(); ++i) shape.push_back(x.shape()[i]);
        const Tensor got = index_tensor(OpId::take, AxisAttributes{axis}, {x, indices}, shape);
        each_index(shape, [&](const IntList& index) {
          IntList from, at;
          for (std::size_t i = 0; i < along; ++i) from.push_back(index[i]);
          for (std::size_t i = 0; i < chosen.size(); ++i) at.push_back(index[along + i]);
          from.push_back(position(indices, at, x.shape()[along]));
          for (std::size_t i = along + chosen.size(); i < index.size(); ++i) from.push_back(index[i]);
          CHECK(got.at(index) == x.at(from));
        });
      }
    }
  }
}

TEST_CASE("take and gather copy rows of any number of bytes, and nothing beside them") {
  for (std::int64_t bytes = 1; bytes <= 150; ++bytes) {
    CAPTURE(bytes);
    Tensor x = dense(DType::u8, {2, 3, bytes});
    each_index(x.shape(),
               [&](const IntList& at) { x.set(at, static_cast<double>(((at[0] * 3 + at[1]) * 41 + at[2]) % 256)); });
    const Tensor indices = tensor(DType::i64, {4}, {2, 0, -1, 1}), first = tensor(DType::i64, {4}, {1, 0, 1, 0});
    const std::int64_t row[] = {2, 0, 2, 1}, outer[] = {1, 0, 1, 0};
    const Tensor taken = index_tensor(OpId::take, AxisAttributes{1}, {x, indices}, {2, 4, bytes});
    each_index(taken.shape(), [&](const IntList& at) {
      CHECK(taken.at(at) == static_cast<double>(((at[0] * 3 + row[at[1]]) * 41 + at[2]) % 256));
    });
    const Tensor gathered = index_tensor(OpId::gather, NoAttributes{}, {x, first, indices}, {4, bytes});
    each_index(gathered.shape(), [&](const IntList& at) {
      CHECK(gathered.at(at) == static_cast<double>(((outer[at[0]] * 3 + row[at[0]]) * 41 + at[1]) % 256));
    });
  }
}

TEST_CASE("take_along_axis agrees with plain indexing, with axes of length one stretched") {
  Dice dice(61);
  for (const DType dtype : every_dtype) {
    for (const Layout layout : every_layout) {
      const Shape base = random_shape(dice, 3, 6, false);
      const std::int64_t axis = dice.below(3);
      const auto along = static_cast<std::size_t>(axis);
      Shape x_shape = base, index_shape = base, shape = base;
      index_shape[along] = shape[along] = dice.below(7);
      for (std::size_t i = 0; i < 3; ++i) {
        if (i == along) continue;
        if (dice.below(4) == 0) x_shape[i] = 1;
        else if (dice.below(4) == 0) index_shape[i] = 1;
      }
      const Tensor x = random(dice, dtype, x_shape, layout, -50, 50);
      const Tensor indices = random_indices(dice, index_shape, x_shape[along]);
      const Tensor got = index_tensor(OpId::take_along_axis, AxisAttributes{axis}, {x, indices}, shape);
      each_index(shape, [&](const IntList& index) {
        IntList from = index, at = index;
        for (std::size_t i = 0; i < 3; ++i) {
          if (x_shape[i] == 1) from[i] = 0;
          if (index_shape[i] == 1) at[i] = 0;
        }
        from[along] = position(indices, at, x_shape[along]);
        CHECK(got.at(index) == x.at(from));
      });
    }
  }
}

TEST_CASE("gather, scatter and scatter_add agree with plain loops") {
  Dice dice(62);
  for (const DType dtype : every_dtype) {
    const bool is_half = dtype == DType::f16 || dtype == DType::bf16;
    for (const Layout layout : every_layout) {
      for (int rank = 1; rank <= 4; ++rank) {
        const Tensor x = random(dice, dtype, random_shape(dice, rank, 5, false), layout, -3, 3);
        const std::size_t axes = static_cast<std::size_t>(dice.between(1, rank));
        const Shape chosen = random_shape(dice, static_cast<int>(dice.below(3)), 6);
        Shape inner, block = chosen;
        for (std::size_t i = axes; i < x.shape().size(); ++i) inner.push_back(x.shape()[i]);
        for (const std::int64_t length : inner) block.push_back(length);
        std::vector<Tensor> indices;
        for (std::size_t i = 0; i < axes; ++i) indices.push_back(random_indices(dice, chosen, x.shape()[i]));
        const auto source = [&](const IntList& index) {
          IntList at, from;
          for (std::size_t i = 0; i < chosen.size(); ++i) at.push_back(index[i]);
          for (std::size_t i = 0; i < axes; ++i) from.push_back(position(indices[i], at, x.shape()[i]));
          for (std::size_t i = chosen.size(); i < index.size(); ++i) from.push_back(index[i]);
          return from;
        };
        std::vector<Tensor> inputs{x};
        inputs.insert(inputs.end(), indices.begin(), indices.end());
        const Tensor gathered = index_tensor(OpId::gather, NoAttributes{}, inputs, block);
        each_index(block, [&](const IntList& index) { CHECK(gathered.at(index) == x.at(source(index))); });

        const Tensor v = random(dice, dtype, block, every_layout[dice.below(6)], -3, 3);
        inputs.insert(inputs.begin() + 1, v);
        for (const OpId op : {OpId::scatter, OpId::scatter_add}) {
          // Of half precision in f32, rounded in the end.
          Tensor want = tensor(is_half ? DType::f32 : dtype, x.shape(), x.values());
          each_index(block, [&](const IntList& index) {
            const IntList to = source(index);
            const double sum = want.at(to) + v.at(index);
            const double wrapped =
                is_unsigned(dtype) ? std::fmod(sum, std::ldexp(1.0, 8 * static_cast<int>(size_of(dtype)))) : sum;
            want.set(to, op == OpId::scatter ? v.at(index) : wrapped);
          });
          const std::vector<double> expected = tensor(dtype, x.shape(), want.values()).values();
          CHECK(index_tensor(op, NoAttributes{}, inputs, x.shape()).values() == expected);
        }
      }
    }
  }
}

TEST_CASE("scatter_multiply multiplies up, integers by wrapping round in their own type") {
  const Tensor indices = tensor(DType::i64, {4}, {0, -1, 0, 1});
  const auto product = [&](DType dtype, const std::vector<double>& x, const std::vector<double>& v) {
    return index_tensor(OpId::scatter_multiply, NoAttributes{}, {tensor(dtype, {2}, x), tensor(dtype, {4}, v), indices},
                        {2})
        .values();
  };
  using Values = std::vector<double>;
  CHECK(product(DType::i8, {3, 5}, {100, 60, 2, 1}) == Values{88, 44});
  CHECK(product(DType::i16, {-3, 5}, {20000, -60, 2, 200}) == Values{11072, 5536});
  CHECK(product(DType::u16, {65535, 1}, {65535, 65535, 2, 3}) == Values{2, 65533});
  CHECK(product(DType::i32, {65536, -1}, {65535, 7, -1, -2}) == Values{65536, 14});
  CHECK(product(DType::i64, {0x1p62, 3}, {2, -5, 2, 7}) == Values{0, -105});
  CHECK(product(DType::boolean, {1, 1}, {1, 0, 1, 1}) == Values{1, 0});
  CHECK(product(DType::f32, {1.5, -2}, {2, 0.5, 4, 3}) == Values{12, -3});
  CHECK(product(DType::f64, {1.5, -2}, {2, 0.5, 4, 3}) == Values{12, -3});
}

TEST_CASE("many positions along tensors of indices of any layout are read and written in order") {
  // More than are brought to offsets at a time, by indices that are repeated, backwards, transposed or with gaps.
  Dice dice(64);
  const Shape chosen{37, 31};
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::i64, DType::u8}) {
    for (const Layout layout : every_layout) {
      for (const std::int64_t width : {1, 3}) {
        const Tensor x = random(dice, dtype, {4, 5, width}, layout, -9, 9);
        Tensor v = random(dice, dtype, {37, 31, width}, every_layout[dice.below(6)], -9, 9);
        Tensor i = place(dice, DType::i64, chosen, layout), j = place(dice, DType::i32, chosen, Layout::mixed);
        each_index(chosen, [&](const IntList& at) {
          i.set(at, static_cast<double>(dice.between(-4, 3)));
          j.set(at, static_cast<double>(dice.between(-5, 4)));
        });
        if (is_floating(dtype)) v.set({7, 7, width - 1}, not_a_number);
        const auto place_of = [&](const IntList& at) {
          return IntList{position(i, {at[0], at[1]}, 4), position(j, {at[0], at[1]}, 5), at[2]};
        };
        const Tensor gathered = index_tensor(OpId::gather, NoAttributes{}, {x, i, j}, v.shape());
        std::int64_t wrong = 0;
        each_index(v.shape(), [&](const IntList& at) { wrong += gathered.at(at) != x.at(place_of(at)); });
        for (const OpId op : {OpId::scatter, OpId::scatter_min, OpId::scatter_max}) {
          Tensor want = tensor(dtype, x.shape(), x.values());
          each_index(v.shape(), [&](const IntList& at) {
            const double held = want.at(place_of(at)), given = v.at(at);
            const bool is_nan = std::isnan(held) || std::isnan(given);
            const double extreme = op == OpId::scatter_min ? std::min(held, given) : std::max(held, given);
            want.set(place_of(at), op == OpId::scatter ? given : is_nan ? not_a_number : extreme);
          });
          const Tensor got = index_tensor(op, NoAttributes{}, {x, v, i, j}, x.shape());
          each_index(x.shape(), [&](const IntList& at) {
            wrong += got.at(at) != want.at(at) && !(std::isnan(got.at(at)) && std::isnan(want.at(at)));
          });
        }
        CHECK(wrong == 0);
      }
    }
  }
}

TEST_CASE("single elements named by one dense tensor of indices are read and written in order") {
  Dice dice(65);
  for (const DType dtype : {DType::f32, DType::f64, DType::f16, DType::i64, DType::i16, DType::u8}) {
    for (const DType index_type : {DType::i32, DType::i64}) {
      for (const Layout layout : every_layout) {
        for (const Shape& chosen : {Shape{0}, Shape{1}, Shape{1100}, Shape{7, 41}}) {
          const Shape one_more = with_one_more(chosen);
          const Tensor x = random(dice, dtype, {5, 1}, layout, -9, 9), v = random(dice, dtype, one_more, layout, -9, 9);
          Tensor i = place(dice, index_type, chosen, Layout::dense);
          each_index(chosen, [&](const IntList& at) { i.set(at, static_cast<double>(dice.between(-5, 4))); });
          const auto place_of = [&](IntList at) {
            at.pop_back();
            return IntList{position(i, at, 5), 0};
          };
          std::int64_t wrong = 0;
          for (const Tensor& read : {index_tensor(OpId::gather, NoAttributes{}, {x, i}, one_more),
                                     index_tensor(OpId::take, AxisAttributes{0}, {x, i}, one_more)}) {
            each_index(one_more, [&](const IntList& at) { wrong += read.at(at) != x.at(place_of(at)); });
          }
          for (const OpId op : {OpId::scatter, OpId::scatter_min, OpId::scatter_max}) {
            Tensor want = tensor(dtype, x.shape(), x.values());
            each_index(one_more, [&](const IntList& at) {
              const double held = want.at(place_of(at)), given = v.at(at);
              const double extreme = op == OpId::scatter_min ? std::min(held, given) : std::max(held, given);
              want.set(place_of(at), op == OpId::scatter ? given : extreme);
            });
            const Tensor got = index_tensor(op, NoAttributes{}, {x, v, i}, x.shape());
            each_index(x.shape(), [&](const IntList& at) { wrong += got.at(at) != want.at(at); });
          }
          CHECK(wrong == 0);
        }
      }
    }
  }
}

TEST_CASE("the largest indices of either type are compared without wrapping round") {
  const Tensor x = tensor(DType::f32, {3}, {1, 2, 3});
  for (const double index : {-0x1p63, -0x1p31, -4.0, 3.0, 0x1p31, 0x1p62}) {
    const Tensor indices = tensor(DType::i64, {1}, {index});
    CHECK(message(OpId::gather, NoAttributes{}, {x, indices}, {1}).find("outside an axis of length 3") !=
          std::string::npos);
  }
  for (const double index : {-0x1p31, 0x1p31 - 1}) {
    const Tensor indices = tensor(DType::i32, {1}, {index});
    CHECK(message(OpId::gather, NoAttributes{}, {x, indices}, {1}).find("outside an axis of length 3") !=
          std::string::npos);
  }
}

TEST_CASE("an index outside is found in tensors that repeat it, and nothing is read for those without elements") {
  Dice dice(66);
  const Tensor x = tensor(DType::f32, {3}, {1, 2, 3});
  for (const DType type : {DType::i32, DType::i64}) {
    for (const Layout layout : {Layout::broadcast, Layout::mixed, Layout::gaps}) {
      Tensor indices = place(dice, type, {4, 5}, layout);
      each_index({4, 5}, [&](const IntList& at) { indices.set(at, 7); });
      CHECK(
          message(OpId::gather, NoAttributes{}, {x, indices}, {4, 5}).find("index 7 is outside an axis of length 3") !=
          std::string::npos);
      CHECK(
          index_tensor(OpId::gather, NoAttributes{}, {x, place(dice, type, {0, 5}, layout)}, {0, 5}).values().empty());
    }
  }
}

TEST_CASE("the first index out of range is named at any position") {
  Dice dice(67);
  for (const DType type : {DType::i32, DType::i64}) {
    for (const DType dtype : {DType::f32, DType::f64, DType::i64, DType::u8, DType::f16}) {
      for (const std::int64_t wrong : {0, 1023, 1024, 2999}) {
        Tensor indices = place(dice, type, {3000}, Layout::dense);
        each_index({3000}, [&](const IntList& at) { indices.set(at, static_cast<double>(dice.between(-5, 4))); });
        indices.set({2999}, 8);
        indices.set({wrong}, -6);
        for (const std::int64_t width : {1, 3}) {
          const Tensor x = random(dice, dtype, {5, width}, Layout::dense, 1, 9);
          const Tensor v = random(dice, dtype, {3000, width}, Layout::dense, 1, 9);
          const auto reads = [&](OpId op, const core::Attributes& attributes) {
            return message(op, attributes, {x, indices}, {3000, width});
          };
          const std::string words = ": index -6 is outside an axis of length 5; it must lie in [-5, 4]";
          CHECK(reads(OpId::take, AxisAttributes{0}) == "take" + words);
          CHECK(reads(OpId::gather, NoAttributes{}) == "gather or x(indices)" + words);
          for (const OpId op : {OpId::scatter_add, OpId::scatter_max}) {
            const std::string named = std::string(core::definition(op).name) + words;
            CHECK(message(op, NoAttributes{}, {x, v, indices}, x.shape()) == named);
            CHECK_THROWS_WITH_AS(index_tensor(op, NoAttributes{}, {x, v, indices}, x.shape(), true), named.c_str(),
                                 IndexError);
          }
        }
      }
    }
  }
}

TEST_CASE("an index out of range is refused even where rows or operands are empty") {
  const Tensor indices = tensor(DType::i64, {2}, {0, 7}), none = dense(DType::f32, {3, 0});
  CHECK(message(OpId::take, AxisAttributes{0}, {none, indices}, {2, 0}) ==
        "take: index 7 is outside an axis of length 3; it must lie in [-3, 2]");
  CHECK(message(OpId::take, AxisAttributes{1}, {dense(DType::f32, {0, 3}), indices}, {0, 2}) ==
        "take: index 7 is outside an axis of length 3; it must lie in [-3, 2]");
  CHECK(message(OpId::gather, NoAttributes{}, {none, indices}, {2, 0}) ==
        "gather or x(indices): index 7 is outside an axis of length 3; it must lie in [-3, 2]");
  CHECK(message(OpId::scatter_add, NoAttributes{}, {none, dense(DType::f32, {2, 0}), indices}, {3, 0}) ==
        "scatter_add: index 7 is outside an axis of length 3; it must lie in [-3, 2]");
}

TEST_CASE("large scatters shared among threads add in one order") {
  Dice dice(63);
  const Tensor x = random(dice, DType::f32, {50, 600}, Layout::dense, -1, 1);
  const Tensor v = random(dice, DType::f32, {400, 600}, Layout::dense, -1, 1);
  const Tensor rows = random_indices(dice, {400}, 50);
  Tensor want = x;
  each_index({400, 600}, [&](const IntList& index) {
    const IntList to{position(rows, {index[0]}, 50), index[1]};
    want.set(to, static_cast<double>(static_cast<float>(want.at(to)) + static_cast<float>(v.at(index))));
  });
  CHECK(index_tensor(OpId::scatter_add, NoAttributes{}, {x, v, rows}, {50, 600}).values() == want.values());
}

}  // namespace index_test
