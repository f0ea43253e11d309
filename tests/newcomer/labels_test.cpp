// SPDX-License-Identifier: MIT
// Layers have names everywhere: in errors, summaries, profiles, plans and pictures, forward and backward.
#include <doctest/doctest.h>

#include <algorithm>
#include <exception>
#include <functional>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <string>
#include <typeinfo>

#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

#include "tests/newcomer/model.hpp"
#include "tests/support/both_modes.hpp"
#include "tests/support/message.hpp"
#include "tests/support/numbers.hpp"

using namespace tyto;
using tyto_test::contains;
using tyto_test::message_of;
using tyto_test::Net;
using AnyTensor = Tensor<Any>;

namespace {

struct Own : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// Calls a function, within scopes of its own.
struct Calling : nn::Layer {
  std::function<AnyTensor(const AnyTensor&)> function;
  nn::ReLU relu;
  AnyTensor forward(const AnyTensor& x, nn::Phase) const override { return function(x); }
  nn::Members members() const override { return {{"relu", relu}}; }
};
struct Around : nn::Layer {
  Calling inner;
  AnyTensor forward(const AnyTensor& x, nn::Phase) const override { return inner(x); }
  nn::Members members() const override { return {{"inner", inner}}; }
};

bool has_label(const GraphProfile& profile, const std::string& label) {
  return std::ranges::any_of(profile.steps, [&](const StepProfile& step) { return step.label == label; });
}

}  // namespace

BOTH_MODES("shape errors end with the layer's path") {
  using T = Tensor<Mode>;
  const Net net;
  CHECK(message_of<ShapeError>([&] {
          net(T::ones({4, 7}));
        }) == "Linear: the last axis of x (4,7) must be 2 (in encoder.linear5)");
  const nn::Sequential deep{nn::Linear({.in = 2, .out = 3}), nn::Residual(nn::Linear({.in = 4, .out = 4}))};
  CHECK(contains(message_of<ShapeError>([&] { deep(T::ones({1, 2})); }), "(in 1.body)"));
  const nn::TransformerEncoderLayer block({.features = 8, .heads = 2, .hidden = 16});
  CHECK(contains(message_of<ShapeError>([&] { block(T::ones({1, 3, 7})); }), "(in self_attn)"));
}

BOTH_MODES("a layer assigned to a member after the first call is named by that member") {
  using T = Tensor<Mode>;
  struct Pair : nn::Layer {
    std::shared_ptr<nn::Layer> first = std::make_shared<nn::Linear>(nn::LinearOptions{.in = 2, .out = 3});
    std::shared_ptr<nn::Layer> second = std::make_shared<nn::Linear>(nn::LinearOptions{.in = 3, .out = 2});
    AnyTensor forward(const AnyTensor& x, nn::Phase) const override { return (*second)((*first)(x)); }
    nn::Members members() const override { return {{"first", *first}, {"second", *second}}; }
  };
  Pair net;
  net(T::ones({1, 2}));
  const auto fails = [&] { return message_of<ShapeError>([&] { net(T::ones({1, 2})); }); };
  net.second = std::make_shared<nn::Linear>(nn::LinearOptions{.in = 5, .out = 2});
  CHECK(contains(fails(), "(in second)"));
  std::swap(net.first, net.second);
  CHECK(contains(fails(), "(in first)"));
}

BOTH_MODES("errors keep their type, and an operator's own says in which layer and NameScope it was") {
  using T = Tensor<Mode>;
  Around net;
  net.inner.function = [](const AnyTensor& x) { return reshape(x, {7}); };
  CHECK(contains(message_of<ShapeError>([&] { net(T::ones({4})); }), " (in inner)"));
  net.inner.function = [](const AnyTensor& x) {
    const NameScope scope("mine");
    return x + AnyTensor::ones({3});
  };
  CHECK(contains(message_of<ShapeError>([&] { net(T::ones({4})); }), " (in inner/mine)"));
  net.inner.function = [](const AnyTensor&) -> AnyTensor { throw Own("mine"); };
  CHECK_THROWS_WITH_AS(net(T::ones({4})), "mine", Own);
  net.inner.function = [](const AnyTensor&) -> AnyTensor { throw TypeError("wrong"); };
  CHECK_THROWS_WITH_AS(net(T::ones({4})), "wrong (in inner)", TypeError);
  // An error that was caught inside does not change later messages.
  net.inner.function = [](const AnyTensor& x) { return x; };
  CHECK_NOTHROW(net(T::ones({4})));
  CHECK(!contains(message_of([&] { T::ones({4}) + T::ones({3}); }), "(in"));
}

namespace {

/// A model that looks up rows of a table, twice.
struct Text : nn::Layer {
  nn::Sequential encoder{nn::Embedding({.count = 10, .features = 2}), relu};
  nn::Embedding other{{.count = 10, .features = 2}};
  nn::Linear head{{.in = 2, .out = 3}};
  AnyTensor forward(const AnyTensor& x, nn::Phase) const override { return head(mean(encoder(x), -2)); }
  nn::Members members() const override { return {{"encoder", encoder}, {"other", other}, {"head", head}}; }
};

/// The message with which numbers are refused that are looked at when they are there.
template <class F>
std::string refusal(const F& function) {
  return message_of<IndexError>([&] { eval({function()}); });
}

}  // namespace

BOTH_MODES("a number that is refused when it is looked at is refused with the layer's path") {
  using T = Tensor<Mode>;
  const std::string row = "Embedding: index 12 is out of range; the rows of the weight are -10 to 9";
  const Text net;
  const T right{{1, 2, 9}}, wrong{{1, 2, 12}};
  CHECK(refusal([&] { return T(net(wrong)); }) == row + " (in encoder.0)");
  auto f = compile([&](const T& x) { return net(x); });
  eval({f(right)});
  CHECK(refusal([&] { return f(wrong); }) == row + " (in encoder.0)");
  auto step = compile(
      [&](const T& x) { return value_and_grad([&](const T& y) { return sum(net(y)); }, net.parameters())(x).first; });
  CHECK(refusal([&] { return step(wrong); }) == row + " (in encoder.0)");
  // It names itself where it is called alone.
  CHECK(refusal([&] { return net.other(wrong); }) == row);
}

BOTH_MODES("tensors of the same operators are refused under the names that each was recorded with") {
  using T = Tensor<Mode>;
  const std::string index = "take: index 12 is outside an axis of length 5; it must lie in [-5, 4]";
  const T x = T::arange(5), wrong{1, 12};
  for (const std::string name : {"first", "second"}) {
    CHECK(refusal([&] {
            const NameScope scope(name);
            return take(x, wrong);
          }) == index + " (in " + name + ")");
  }
  CHECK(refusal([&] { return take(x, wrong); }) == index);
  const auto looped = [&](const char* name, const T& places) {
    const NameScope scope(name);
    return fori_loop(0, 3, T::zeros({2}, DType::i64), [&](const T& i, const T& sums) {
      const NameScope body("body");
      return sums + take(x, places) + take(x, places + 0 * i);
    });
  };
  CHECK(refusal([&] { return looped("first", wrong); }) == index + " (in first/body)");
  CHECK(refusal([&] { return looped("second", wrong); }) == index + " (in second/body)");
  auto f = compile([&](const T& places) { return looped("compiled", places); });
  CHECK(refusal([&] { return f(wrong); }) == index + " (in compiled/body)");
}

BOTH_MODES("an error has its label once, whatever its message and the label look like") {
  using T = Tensor<Mode>;
  const T x = T::arange(5), wrong{1, 12};
  const std::string index = "take: index 12 is outside an axis of length 5; it must lie in [-5, 4]";
  for (const std::string name : {"take", "step 1)", "(in", "a/b"}) {
    const auto taken = [&] {
      const NameScope scope(name);
      return take(x, wrong);
    };
    CHECK(refusal(taken) == index + " (in " + name + ")");
    CHECK(message_of<ShapeError>([&] {
            const NameScope scope(name);
            return x + T::ones({3});
          }).ends_with(" (in " + name + ")"));
  }
}

TEST_CASE("an error of a compiled function does not name who called it first") {
  using T = Tensor<Lazy>;
  const T x = T::arange(5);
  auto f = compile([&](const T& places) { return take(x, places); });
  {
    const NameScope scope("first");
    eval({f(T{1, 2})});
  }
  CHECK(refusal([&] {
          return f(T{1, 12});
        }) == "take: index 12 is outside an axis of length 5; it must lie in [-5, 4]");
  auto folded = compile([&](const T& p) {
    const NameScope scope("folded");
    return take(T{1.0, 2.0, 3.0}, T{1, 12}) + sum(p);
  });
  CHECK(contains(message_of<IndexError>([&] { folded(x); }), "(in folded)"));
}

TEST_CASE("a graph and its sessions name the layer whose numbers are refused") {
  using T = Tensor<Lazy>;
  const Text net;
  const T x = T::placeholder({1, 3}, DType::i64, "x");
  Graph graph({.inputs = {x}, .outputs = {net(x)}});
  graph.set(x, T{{1, 2, 12}});
  CHECK(contains(message_of<IndexError>([&] { graph.run(); }), " (in encoder.0)"));
  Graph session = graph.session();
  session.set(x, T{{1, 2, 12}});
  CHECK(contains(message_of<IndexError>([&] { session.run(); }), " (in encoder.0)"));
}

TEST_CASE("an error that names its layer is of a public type, and copies of it outlive it") {
  const Net net;
  std::exception_ptr kept;
  try {
    net(Tensor<Eager>::ones({4, 7}));
  } catch (const Error& error) {
    CHECK(typeid(error) == typeid(ShapeError));
    kept = std::current_exception();
  }
  CHECK(contains(message_of<ShapeError>([&] { std::rethrow_exception(kept); }), " (in encoder.linear5)"));
}

BOTH_MODES("errors in gradients name the operator whose gradient fails") {
  using T = Tensor<Mode>;
  const auto f =
      custom_gradient<T>([](const std::vector<T>& x) { return x[0] * 2.0; },
                         [](const std::vector<T>&, const T&, const T& g) { return std::vector<T>{g + T::ones({3})}; });
  const auto loss = [&](const T& x) {
    const NameScope scope("part");
    return sum(f({x}));
  };
  const std::string message = message_of<ShapeError>([&] { value_and_grad(loss)(T::ones({2})); });
  CHECK(contains(message, "(in part/gradient of "));
}

BOTH_MODES("a call of a recurrent layer with states is labelled") {
  struct Reader : nn::Layer {
    nn::GRU gru{{.in = 2, .hidden = 3}};
    AnyTensor forward(const AnyTensor& x, nn::Phase) const override { return gru.run(x).output; }
    nn::Members members() const override { return {{"gru", gru}}; }
  };
  CHECK(message_of<ShapeError>([] {
          Reader()(Tensor<Mode>::ones({1, 4, 7}));
        }) == "GRU: x (1,4,7) must be (batch, time, 2) with at least one time step (in gru)");
}

TEST_CASE("a NameScope within a layer stays in the labels of all layers inside of it") {
  struct Reader : nn::Layer {
    nn::MultiheadAttention attention{{.features = 4, .heads = 2}};
    nn::Sequential rest{nn::Linear({.in = 4, .out = 1})};
    AnyTensor forward(const AnyTensor& x, nn::Phase) const override {
      const NameScope scope("scope");
      return rest(attention(x));
    }
    nn::Members members() const override { return {{"attention", attention}, {"rest", rest}}; }
  };
  const Reader reader;
  auto f = compile([&](const Tensor<Lazy>& x) { return reader(x); }, {.passes = "none"});
  const GraphProfile profile = f.profile(Tensor<Lazy>::ones({1, 3, 4}));
  CHECK(has_label(profile, "scope/attention"));
  CHECK(has_label(profile, "scope/attention.out_proj"));
  CHECK(has_label(profile, "scope/rest.0"));
}

TEST_CASE("summary shows the calls up to the layer that fails") {
  const std::string message = message_of<ShapeError>([] { nn::summary(Net(), {4, 7}); });
  CHECK(message ==
        "summary: Linear: the last axis of x (4,7) must be 2 (in encoder.linear5)\n"
        "layer               input  output\n"
        "Net                 (4,7)        \n"
        "  encoder Encoder   (4,7)        \n"
        "    linear5 Linear  (4,7)   fails\n");
}

TEST_CASE("profiles, plans, pages and traces speak of layers, forward and backward") {
  using T = Tensor<Lazy>;
  const Net net;
  auto f =
      compile([&](const T& x) { return value_and_grad([&](const T& y) { return sum(net(y)); }, net.parameters())(x); });
  const T x = T::ones({64, 2});
  const GraphProfile profile = f.profile(x);
  CHECK(has_label(profile, "encoder.linear5"));
  CHECK(has_label(profile, "head"));
  CHECK(std::ranges::any_of(
      profile.steps, [](const StepProfile& step) { return step.label.starts_with("encoder.linear5/gradient of "); }));
  std::ostringstream table;
  table << profile;
  CHECK(contains(table.str(), "forward  gradient  layer"));
  CHECK(contains(table.str(), "  encoder.linear5\n"));
  std::ostringstream plan;
  plan << f.plan();
  CHECK(contains(plan.str(), "encoder"));
  CHECK(contains(f.html(), "encoder.linear5"));
  CHECK(contains(f.dot(), "encoder.linear5"));
  CHECK(contains(f.memory_map(), "encoder"));
  CHECK(contains(f.chrome_trace(), "encoder.linear5"));
}

TEST_CASE("labels survive fusion, and fused steps name their members") {
  using T = Tensor<Lazy>;
  const nn::Conv2d conv({.in = 2, .out = 4, .window = {3, 3}});
  auto f = compile([&](const T& x) {
    T y = T(AnyTensor(conv(x)).value());
    return exp(relu(y) * 2.0 + 1.0);
  });
  const GraphProfile profile = f.profile(T::ones({1, 8, 8, 2}));
  for (const StepProfile& step : profile.steps) {
    if (step.name.starts_with("convolution")) CHECK(step.label == "Conv2d");
    if (step.name == "fused") CHECK(contains(step.members, "exp"));
    else CHECK(step.members.empty());
  }
  CHECK(std::ranges::any_of(profile.steps, [](const StepProfile& step) { return step.name == "fused"; }));
}

TEST_CASE("dot names states by their paths, packed or not, and arguments by their names") {
  using T = Tensor<Lazy>;
  const Net net;
  auto f = compile([&](const T& x) { return net(x); });
  f(T::ones({64, 2})).to_vector<float>();
  CHECK(contains(f.dot(), "encoder.linear5.weight"));
  CHECK(contains(f.dot(), "read\\nf32(2,)\\nencoder.linear5.bias\""));
  CHECK(contains(f.dot(), "read\\nf32(64,2)\\nargument 1\""));
  const nn::Linear wide({.in = 64, .out = 64});
  auto packed = compile([&](const T& x) { return wide(x); });
  packed(T::ones({32, 64})).to_vector<float>();
  CHECK(contains(packed.dot(), "Linear.weight"));
  CHECK(!contains(packed.html(), "\"weight"));
}

TEST_CASE("a state first read in a loop or branch has the path of the layer that reads it there") {
  using T = Tensor<Lazy>;
  const Net net;
  auto repeated = compile([&](const T& x) {
    const NameScope scope("outer");
    return fori_loop(0, 3, x, [&](const T&, const T& carried) {
      return cond(
          sum(carried) > 0.0, [&] { return net.encoder(carried); }, [&] { return carried; });
    });
  });
  repeated(T::ones({4, 2})).to_vector<float>();
  CHECK(contains(repeated.dot(), "\\nouter/linear5.weight"));
  CHECK(contains(repeated.html(), "\"outer/linear5.bias\""));
  auto chosen = compile([&](const T& x) {
    return cond(
        sum(x) > 0.0, [&] { return x * 2.0; }, [&] { return net.encoder(x); });
  });
  chosen(T::ones({4, 2})).to_vector<float>();
  CHECK(contains(chosen.dot(), "\\nlinear5.weight"));
}

TEST_CASE("a NameScope around a call stands before the layer's path") {
  using T = Tensor<Lazy>;
  const Net net;
  auto f = compile([&](const T& x) {
    const NameScope scope("student");
    return net(x);
  });
  CHECK(has_label(f.profile(T::ones({2, 2})), "student/encoder.linear5"));
}

TEST_CASE("paths in pictures hold scopes with spaces, signs and digits as they were given, states of rules none") {
  using T = Tensor<Lazy>;
  const Net net;
  const T w = T::variable(T::ones({2}), "own rate");
  nn::Descent descent = nn::adam({.rate = 0.1});
  auto f = compile([&](const T& x) {
    const NameScope scope("my block/a-b/2");
    auto [loss, gradients] = value_and_grad([&](const T& y) { return sum(net(y)) + sum(y * w); }, net.parameters())(x);
    descent.update(net.parameters(), gradients);
    return loss;
  });
  f(T::ones({4, 2})).to_vector<float>();
  for (const std::string& picture : {f.dot(), f.html()}) {
    CHECK(contains(picture, "my block/a-b/2/encoder.linear5.weight"));
    CHECK(contains(picture, "my block/a-b/2.own rate"));
    CHECK(contains(picture, "adam mean"));
    CHECK(!contains(picture, ".adam mean"));
  }
}

TEST_CASE("two states that one region captures have the paths of the layers that read them first") {
  using T = Tensor<Lazy>;
  const nn::Linear first({.in = 2, .out = 2}), second({.in = 2, .out = 2});
  auto f = compile([&](const T& x) {
    return fori_loop(0, 2, x, [&](const T&, const T& carried) {
      const auto in = [](const char* name, const nn::Linear& layer, const T& y) {
        const NameScope scope(name);
        return T(layer(y));
      };
      const T y = in("one", first, carried);
      return in("again", first, in("two", second, y));
    });
  });
  f(T::ones({4, 2})).to_vector<float>();
  const std::string picture = f.dot();
  for (const char* name : {"one/Linear.weight", "one/Linear.bias", "two/Linear.weight", "two/Linear.bias"}) {
    CHECK(contains(picture, name));
  }
  CHECK(!contains(picture, "again/Linear."));
}

TEST_CASE("a compiled function has the pictures that a graph has") {
  using T = Tensor<Lazy>;
  auto f = compile([](const T& x) { return sum(exp(x)); });
  CHECK_THROWS_AS(f.html(), GraphError);  // not called yet
  f(T::ones({4}));
  CHECK_THROWS_WITH_AS(f.chrome_trace(), "chrome_trace: there is no profile; call profile() first", GraphError);
  const T x = T::placeholder({4}, DType::f32, "argument 1");
  Graph graph({.inputs = {x}, .outputs = {sum(exp(x))}});
  CHECK(f.dot() == graph.dot());
  CHECK_THROWS_AS(graph.chrome_trace(), GraphError);
  CHECK(contains(f.memory_map(), "<svg"));
  CHECK(contains(f.html(), "<html"));
  f.profile(T::ones({4}));
  CHECK(contains(f.chrome_trace(), "traceEvents"));
}
