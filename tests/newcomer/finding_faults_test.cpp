// SPDX-License-Identifier: MIT
// NaN is found where it is made: operator, layer and element, in both modes, in gradients and in loops.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <sstream>
#include <thread>

#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

#include "tests/newcomer/model.hpp"
#include "tests/support/both_modes.hpp"
#include "tests/support/environment_setting.hpp"
#include "tests/support/message.hpp"
#include "tests/support/numbers.hpp"

using namespace tyto;
using tyto_test::contains;
using tyto_test::message_of;
using tyto_test::Net;
using tyto_test::numbers;
using tyto_test::Numbers;

namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

}  // namespace

BOTH_MODES("check_nan names the operator, the layer and the first element") {
  using T = Tensor<Mode>;
  const Net net;
  auto checked = compile([&](const T& x) { return sum(net(x)); }, {.check_nan = true});
  auto plain = compile([&](const T& x) { return sum(net(x)); });
  const T right = T::from(Numbers{1, 2, 3, 4, 5, 6}, {3, 2}).astype(DType::f32);
  const T wrong = T::from(Numbers{1, 2, 3, -4, -5, 6}, {3, 2}).astype(DType::f32);
  CHECK(std::isfinite(checked(right).template item<float>()));
  CHECK(message_of<ValueError>([&] { checked(wrong); }) ==
        "log: the result f32(3,2) is NaN first at (1,1); all operands are finite (in encoder)");
  // The function still works, and without the option nothing is looked at.
  CHECK(checked(right).template item<float>() == plain(right).template item<float>());
  CHECK(std::isnan(plain(wrong).template item<float>()));
}

BOTH_MODES("a NaN that was there before is told as that of an operand") {
  using T = Tensor<Mode>;
  auto f = compile([](const T& x, const T& y) { return matmul(x, y); }, {.check_nan = true});
  const T x = T::from(Numbers{1, 2, 3, 4}, {2, 2}), y = T::from(Numbers{1, not_a_number, 3, 4}, {2, 2});
  const std::string message = message_of<ValueError>([&] { f(x, y); });
  CHECK(contains(message, "matmul: the result f64(2,2) is NaN first at (0,1); operand 2"));
  CHECK(contains(message, "is NaN already, first at (0,1)"));
  CHECK(contains(message, "'argument 2'") == std::is_same_v<Mode, Lazy>);
}

BOTH_MODES("NaN and infinity in gradients name the operator whose gradient it is") {
  using T = Tensor<Mode>;
  const auto loss = [](const T& x) { return sum(sqrt(x * 0.0)); };
  auto by_nan = compile([&](const T& x) { return value_and_grad(loss)(x).second[0]; }, {.check_nan = true});
  auto by_infinity = compile([&](const T& x) { return value_and_grad(loss)(x).second[0]; }, {.check_infinity = true});
  const T x = T::from(Numbers{1, 2}, {2});
  // The slope of sqrt at 0 is infinite, and zero times that is NaN.
  CHECK(contains(message_of<ValueError>([&] { by_nan(x); }), "(in gradient of "));
  const std::string message = message_of<ValueError>([&] { by_infinity(x); });
  CHECK(contains(message, "is infinite first at (0,); all operands are finite (in gradient of sqrt)"));
}

BOTH_MODES("an infinity that an operand holds is no fault, one of finite operands is") {
  using T = Tensor<Mode>;
  auto masked =
      compile([](const T& x) { return softmax(where(x > 2.0, x, T::full(x.shape(), -infinity, x.dtype())), -1); },
              {.check_infinity = true});
  CHECK(numbers(masked(T::from(Numbers{1, 3}, {2}))) == Numbers{0, 1});
  auto grows = compile([](const T& x) { return exp(x); }, {.check_infinity = true});
  CHECK(message_of<ValueError>([&] {
          grows(T::from(Numbers{1, 1000}, {2}));
        }) == "exp: the result f64(2,) is infinite first at (1,); all operands are finite");
  // Only NaN is asked for.
  auto lenient = compile([](const T& x) { return exp(x); }, {.check_nan = true});
  CHECK(numbers(lenient(T::from(Numbers{0, 1000}, {2}))) == Numbers{1, infinity});
}

BOTH_MODES("NaN of every floating type is found, also in what is no whole vector and in no element at all") {
  using T = Tensor<Mode>;
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64}) {
    auto f = compile([](const T& x) { return log(x); }, {.check_nan = true});
    Numbers elements(37, 1.0);
    CHECK(numbers(f(T::from(elements, {37}).astype(dtype))) == Numbers(37, 0.0));
    elements[36] = -1;
    CHECK(contains(message_of<ValueError>([&] { f(T::from(elements, {37}).astype(dtype)); }), "first at (36,)"));
    CHECK(f(T::zeros({0, 3}, dtype)).size() == 0);
    CHECK(contains(message_of<ValueError>([&] { f(T(-1.0).astype(dtype)); }), "first at ()"));
  }
  auto f = compile([](const T& z) { return z * z; }, {.check_nan = true});
  const T one = T::ones({2}, DType::f64), wrong = T::from(Numbers{1, not_a_number}, {2});
  CHECK(contains(message_of<ValueError>([&] { f(tyto::complex(one, wrong)); }), "c128(2,) is NaN first at (1,)"));
  CHECK(message_of([&] { f(tyto::complex(one, one)); }).empty());
}

BOTH_MODES("NaN within a loop names the operator of the body") {
  using T = Tensor<Mode>;
  auto f = compile(
      [](const T& x) {
        return fori_loop(0, 3, x, [](const T&, const T& carry) {
          const NameScope scope("body");
          return log(carry);
        });
      },
      {.check_nan = true});
  CHECK(message_of<ValueError>([&] {
          f(T::from(Numbers{2, 3}, {2}));
        }) == "log: the result f64(2,) is NaN first at (0,); all operands are finite (in body)");
}

BOTH_MODES("an explicit option ends with the call") {
  using T = Tensor<Mode>;
  auto f = compile([](const T& x) { return log(x); }, {.check_nan = true});
  CHECK(!message_of([&] { f(T(-1.0)); }).empty());
  CHECK(std::isnan(log(T(-1.0)).template item<double>()));
}

BOTH_MODES("TYTO_NAN=1 finds NaN outside of compiled functions") {
  using T = Tensor<Mode>;
  const testing::EnvironmentSetting setting("TYTO_NAN", "1");
  std::string message;
  // A thread asks the environment once.
  std::thread([&] { message = message_of<ValueError>([] { eval({log(T::from(Numbers{1, -5}, {2}))}); }); }).join();
  CHECK(message == "log: the result f64(2,) is NaN first at (1,); all operands are finite");
}

BOTH_MODES("find_nan tells the first NaN of a tensor, of states, and of the layers of a call") {
  using T = Tensor<Mode>;
  const auto told = [](const std::optional<nn::FoundNan>& found) {
    std::ostringstream out;
    out << found;
    return out.str();
  };
  CHECK(told(nn::find_nan(T::from(Numbers{1, 2, not_a_number, 4}, {2, 2}))) ==
        "the tensor, of shape (2,2), is NaN first at (1,0)");
  CHECK(!nn::find_nan(T::from(Numbers{1, infinity}, {2})));
  CHECK(!nn::find_nan(T::zeros({0})));
  CHECK(told(nn::find_nan(T::arange(3))) == "no NaN");

  Net net;
  const T right = T::ones({2, 2}), wrong = T::from(Numbers{1, 1, -1, 1}, {2, 2}).astype(DType::f32);
  CHECK(!nn::find_nan(net));
  CHECK(!nn::find_nan(net, right));
  CHECK(told(nn::find_nan(net, wrong)) == "the output of Encoder 'encoder', of shape (2,2), is NaN first at (1,0)");
  CHECK(told(nn::find_nan(net, T::full({1, 2}, not_a_number))) == "the input, of shape (1,2), is NaN first at (0,0)");
  assign(net.head.bias, Tensor<Any>::full({1}, not_a_number));
  CHECK(told(nn::find_nan(net)) == "parameter 'head.bias', of shape (1,), is NaN first at (0,)");
  CHECK(told(nn::find_nan(net, right)) == told(nn::find_nan(net)));
  CHECK(told(nn::find_nan(net.named_parameters())) == "'head.bias', of shape (1,), is NaN first at (0,)");
}

BOTH_MODES("find_nan names the layer under TYTO_NAN=1, and ends no check but its own") {
  using T = Tensor<Mode>;
  const testing::EnvironmentSetting setting("TYTO_NAN", "1");
  std::ostringstream found;
  std::string message;
  std::thread([&] {
    const Net net;
    found << nn::find_nan(net, T::from(Numbers{1, 1, -1, 1}, {2, 2}).astype(DType::f32));
    message = message_of<ValueError>([] { eval({log(T::from(Numbers{1, -5}, {2}))}); });
  }).join();
  CHECK(found.str() == "the output of Encoder 'encoder', of shape (2,2), is NaN first at (1,0)");
  CHECK(message == "log: the result f64(2,) is NaN first at (1,); all operands are finite");
}

BOTH_MODES("train stops at a NaN loss, saves nothing, and puts back what it was told to keep") {
  using T = Tensor<Mode>;
  // The loss is (w - 1) / t: the second target is 0, the numerator as well after one step of rate 1.
  const auto run = [](const nn::TrainingOptions& given, T& w) {
    nn::Batches<T> batches(Tensor<Eager>::from(Numbers{1, 0, 1}, {3, 1}), Tensor<Eager>::from(Numbers{1, 0, 1}, {3, 1}),
                           {.size = 1, .shuffle = false});
    auto step = compile([&](T x, T t) {
      const T loss = sum((w - 1.0) * x / t);
      assign(w, w + loss + 1.0);
      return loss;
    });
    return nn::train(step, batches, given);
  };
  int told = 0;
  nn::TrainingOptions options{.progress = false, .after_step = [&](const nn::StepReport&) { return ++told, true; }};

  T w = T::variable(T(1.0), "w");
  const std::string message = message_of<ValueError>([&] { run(options, w); });
  CHECK(contains(message, "train: the loss is NaN in step 2 of this call, in epoch 1"));
  CHECK(contains(message, "unless options.keep lists those of model and descent"));
  CHECK(told == 1);
  CHECK(std::isnan(w.template item<double>()));

  T kept = T::variable(T(1.0), "w");
  NamedList<Tensor<Any>> states;
  states.push_back({"w", Tensor<Any>(kept.value())});
  options.keep = {states};
  CHECK(contains(message_of<ValueError>([&] { run(options, kept); }), "options.keep"));
  CHECK(kept.template item<double>() == 2.0);

  T on = T::variable(T(1.0), "w");
  options.keep = {};
  options.stop_on_nan = false;
  CHECK(run(options, on).steps == 3);
}
