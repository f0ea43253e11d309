// SPDX-License-Identifier: MIT
// Text in models: numbers for words are compared, moved and looked up; arithmetic with them is refused.
#include <doctest/doctest.h>
#include <tyto/tyto.hpp>

#include <cmath>
#include <limits>
#include <sstream>

#include "onnx/file/element_types.hpp"
#include "tests/onnx/model_text.hpp"
#include "tests/support/both_modes.hpp"

namespace tyto::onnx_tests::text_test {
namespace {

using Words = std::vector<std::string>;
using Integers = std::vector<std::int64_t>;

Message text(std::string_view name, const std::vector<std::string>& lengths) {
  Message shape, tensor, type;
  for (const std::string& length : lengths) {
    Message dimension;
    if (length.find_first_not_of("0123456789") == std::string::npos) dimension.integer(1, std::stoll(length));
    else dimension.text(2, length);
    shape.message(1, dimension);
  }
  tensor.integer(1, onnx::text_type);
  tensor.message(2, shape);
  type.message(1, tensor);
  return typed(name, type);
}

Message words(std::string_view name, const Integers& lengths, const Words& list) {
  Message m;
  for (const std::int64_t length : lengths) m.integer(1, length);
  m.integer(2, onnx::text_type);
  for (const std::string& word : list) m.text(6, word);
  m.text(8, name);
  return m;
}

std::string with_labels(const GraphParts& parts, std::int64_t version = 4) {
  Message labels;
  labels.message(8, operator_set("ai.onnx.ml", version));
  return model(parts, 19) + labels.bytes();
}

std::string encoder(const std::vector<Message>& attributes, const Message& x, const Message& y,
                    std::int64_t version = 4) {
  return with_labels(
      {.nodes = {node("LabelEncoder", {"x"}, {"y"}, attributes, "ai.onnx.ml")}, .inputs = {x}, .outputs = {y}},
      version);
}

}  // namespace

// The values of test_equal_string and test_equal_string_broadcast of ONNX.
BOTH_MODES("words are equal where their letters are, in whichever tensor they stand") {
  using T = Tensor<Mode>;
  OnnxModel<T> f = read<T>(model({.nodes = {node("Equal", {"x", "y"}, {"z"})},
                                  .inputs = {text("x", {"n"}), text("y", {"m"})},
                                  .outputs = {value("z", {"n"}, DType::boolean)}},
                                 19));
  std::ostringstream described;
  described << f.inputs()[0];
  CHECK(described.str() == "x string (n)");
  const T x = f.encode_text({"string1", "string2"}, {2});
  const auto same = [&](const Words& list) {
    return cast(f({{"x", x}, {"y", f.encode_text(list, {std::ssize(list)})}})["z"], DType::i64)
        .template to_vector<std::int64_t>();
  };
  CHECK(same({"string1", "string3"}) == Integers{1, 0});
  CHECK(same({"string1"}) == Integers{1, 0});
  CHECK(same({"string2", "string2"}) == Integers{0, 1});
  CHECK(f.decode_text(x) == Words{"string1", "string2"});
  CHECK_THROWS_WITH_AS(f.decode_text(T{7}),
                       "no word has the number 7; there are 3, each made by encode_text() or by the model", IndexError);
}

BOTH_MODES("text is moved as other elements are, and given out as words") {
  using T = Tensor<Mode>;
  Message constant = node("Constant", {}, {"c"}, {texts("value_strings", {"e", "a"})});
  OnnxModel<T> f = read<T>(model(
      {.nodes = {constant, node("Concat", {"w", "c"}, {"j"}, {attribute("axis", std::int64_t{0})}),
                 node("Gather", {"j", "i"}, {"g"}), node("Reshape", {"g", "s"}, {"r"}), node("Transpose", {"r"}, {"t"}),
                 node("Equal", {"x", "g"}, {"e"}), node("Where", {"e", "x", "g"}, {"y"}), node("Shape", {"t"}, {"k"}),
                 node("Identity", {"t"}, {"z"}), node("Add", {"k", "k"}, {"twice"})},
       .inputs = {text("x", {})},
       .outputs = {text("y", {"6"}), text("z", {"3", "2"}), value("twice", {"2"}, DType::i64)},
       .initialisers = {words("w", {4}, {"a", "", "c \xc3\xa9", "a"}),
                        raw_tensor<std::int64_t>("i", {6}, {5, 4, 3, 2, 1, 0}),
                        raw_tensor<std::int64_t>("s", {2}, {2, 3})}},
      19));
  for (const char* word : {"e", "new"}) {
    const NamedList<T> out = f({{"x", f.encode_text({word}, {})}});
    CHECK(f.decode_text(out["z"]) == Words{"a", "c \xc3\xa9", "e", "", "a", "a"});
    CHECK(f.decode_text(out["y"]) == Words{"a", "e", "a", "c \xc3\xa9", "", "a"});
    CHECK(out["twice"].template to_vector<std::int64_t>() == Integers{6, 4});
  }
}

// The values are ONNX Runtime's.
BOTH_MODES("labels are looked up from words, integers and numbers to each of them") {
  using T = Tensor<Mode>;
  const Message any_words = text("x", {"n"}), any_integers = value("x", {"n"}, DType::i64),
                words_out = text("y", {"n"}), integers_out = value("y", {"n"}, DType::i64);
  const auto of_words = [](const std::string& bytes, const Words& x) {
    OnnxModel<T> f = read<T>(bytes);
    return f({{"x", f.encode_text(x, {std::ssize(x)})}})["y"].template to_vector<std::int64_t>();
  };
  const auto to_words = [](const std::string& bytes, const Integers& x) {
    OnnxModel<T> f = read<T>(bytes);
    return f.decode_text(f({{"x", T::from(x, {std::ssize(x)})}})["y"]);
  };
  const Message abc = texts("keys_strings", {"a", "b", "c"}), counts = attribute("values_int64s", Integers{0, 1, 2});
  // test_ai_onnx_ml_label_encoder_string_int and _no_default of ONNX.
  CHECK(of_words(encoder({abc, counts, attribute("default_int64", std::int64_t{42})}, any_words, integers_out),
                 {"a", "b", "d", "c", "g"}) == Integers{0, 1, 42, 2, 42});
  CHECK(of_words(encoder({abc, counts}, any_words, integers_out), {"a", "b", "d", "c", "g"}) ==
        Integers{0, 1, -1, 2, -1});
  // Of keys that stand twice the first counts, of classes the last.
  CHECK(of_words(encoder({texts("keys_strings", {"a", "a"}), attribute("values_int64s", Integers{1, 2})}, any_words,
                         integers_out),
                 {"a", "b", "a"}) == Integers{1, -1, 1});
  const Message classes = texts("classes_strings", {"b", "a", "b"});
  CHECK(of_words(encoder({classes}, any_words, integers_out, 1), {"a", "b", "c"}) == Integers{1, 2, -1});
  CHECK(to_words(encoder({classes}, any_integers, words_out, 1), {0, 1, 2, 5}) == Words{"b", "a", "b", "_Unused"});
  CHECK(to_words(encoder({attribute("keys_int64s", Integers{3, 1, 2}), texts("values_strings", {"x", "y", "z"}),
                          text_attribute("default_string", "none")},
                         any_integers, words_out),
                 {1, 2, 3, 0, -7}) == Words{"y", "z", "x", "none", "none"});
  OnnxModel<T> by_number = read<T>(encoder({numbers("keys_floats", {1.5F, std::numeric_limits<float>::quiet_NaN(), 0}),
                                            attribute("values_int64s", Integers{4, 5, 3})},
                                           value("x", {"n"}), integers_out));
  CHECK(by_number({{"x", T{1.5, 0.0, -0.0, std::nan(""), 2.0}}})["y"].template to_vector<std::int64_t>() ==
        Integers{4, 3, 3, 5, -1});
  // test_ai_onnx_ml_label_encoder_tensor_mapping and _value_only_mapping of ONNX.
  for (const bool keys_as_tensor : {true, false}) {
    const Message keys = keys_as_tensor ? tensor_attribute("keys_tensor", words("", {3}, {"a", "b", "c"})) : abc;
    OnnxModel<T> f =
        read<T>(encoder({keys, tensor_attribute("values_tensor", raw_tensor<std::int16_t>("", {3}, {0, 1, 2})),
                         tensor_attribute("default_tensor", raw_tensor<std::int16_t>("", {1}, {42}))},
                        any_words, value("y", {"n"}, DType::i16)));
    const T y = f({{"x", f.encode_text({"a", "b", "d", "c", "g"}, {5})}})["y"];
    CHECK(y.dtype() == DType::i16);
    CHECK(y.template to_vector<std::int16_t>() == std::vector<std::int16_t>{0, 1, 42, 2, 42});
  }
}

TEST_CASE("a model with text can be saved as a graph of its numbers") {
  using L = Tensor<Lazy>;
  OnnxModel<L> f = read<L>(encoder({texts("keys_strings", {"b", "a"}), attribute("values_int64s", Integers{7, 8})},
                                   text("x", {"3"}), value("y", {"3"}, DType::i64)));
  Graph again = Graph::from_bytes(f.graph().to_bytes());
  again.set(again.inputs()[0], f.encode_text({"a", "new", "b"}, {3}));
  again.run();
  CHECK(again.output(0).to_vector<std::int64_t>() == Integers{8, -1, 7});
}

TEST_CASE("operators that would compute with words are refused by name") {
  using E = Tensor<Eager>;
  const auto refused = [](const Message& one) {
    OnnxModel<E> f = read<E>(model({.nodes = {one}, .inputs = {text("x", {"n"})}, .outputs = {text("y", {"n"})}}, 19));
    try {
      f({{"x", f.encode_text({"a", "b"}, {2})}});
    } catch (const IoError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  CHECK(refused(node("Add", {"x", "x"}, {"y"})) ==
        "m.onnx: node 'y' (Add): computes with elements of type string (input 1), which are only moved and compared");
  CHECK(refused(node("Less", {"x", "x"}, {"y"})).find("(Less): computes with") != std::string::npos);
  CHECK(refused(node("Cast", {"x"}, {"y"}, {attribute("to", std::int64_t{1})})).find("(Cast): ") != std::string::npos);
  CHECK(refused(node("Identity", {"x"}, {"y"})).empty());
  CHECK_THROWS_WITH_AS(read<E>(model({.nodes = {node("Identity", {"w"}, {"y"})},
                                      .outputs = {text("y", {"n"})},
                                      .initialisers = {words("w", {3}, {"a"})}})),
                       "m.onnx: 'w': has 1 texts for shape (3,)", IoError);
}

}  // namespace tyto::onnx_tests::text_test
