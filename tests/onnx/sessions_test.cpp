// SPDX-License-Identifier: MIT
// One model for many threads: sessions share what was read and compiled.
#include <doctest/doctest.h>
#include <tyto/sessions.hpp>
#include <tyto/tyto.hpp>

#include <string>

#include "tests/onnx/model_text.hpp"
#include "tests/support/both_modes.hpp"
#include "tests/support/clients.hpp"

namespace tyto::onnx_tests {
namespace {

using tyto_test::by_clients, tyto_test::calls_each, tyto_test::clients;

// y = x w of rows of four; w is the identity, all ones added.
std::string product() {
  return model({.nodes = {node("MatMul", {"x", "w"}, {"y"})},
                .inputs = {value("x", {"rows", "4"})},
                .outputs = {value("y", {"rows", "4"})},
                .initialisers = {raw_tensor<float>("w", {4, 4}, {2, 1, 1, 1, 1, 2, 1, 1, 1, 1, 2, 1, 1, 1, 1, 2})}});
}

// The places of what is not zero, doubled: how many there are depends on the elements, so the model is cut there.
std::string places() {
  return model({.nodes = {node("Add", {"x", "x"}, {"twice"}), node("NonZero", {"twice"}, {"at"}),
                          node("Add", {"at", "at"}, {"y"})},
                .inputs = {value("x", {"n"})},
                .outputs = {value("y", {"axes", "found"}, DType::i64)}});
}

template <class T>
T row_of(int client, int call, std::int64_t rows = 1) {
  return T::full({rows, 4}, static_cast<float>(client + 10 * call), DType::f32);
}

}  // namespace

BOTH_MODES("clients call sessions of one model at the same time, for several shapes") {
  using T = Tensor<Mode>;
  OnnxModel<T> f = read<T>(product());
  CHECK(by_clients([&](int client) {
          OnnxModel<T> mine = f.session();
          for (int call = 0; call < calls_each; ++call) {
            const std::int64_t rows = 1 + (client + call) % 3;
            const T y = mine({{"x", row_of<T>(client, call, rows)}})["y"];
            const auto wanted = static_cast<float>(5 * (client + 10 * call));
            if (y.template to_vector<float>() != std::vector<float>(static_cast<std::size_t>(rows) * 4, wanted))
              return false;
          }
          if constexpr (std::is_same_v<Mode, Lazy>) {
            for (const GraphReport& report : mine.reports()) {
              if (report.unplanned_allocations != 0) return false;
            }
          }
          return mine.inputs().size() == 1 && mine.outputs()[0].name == "y";
        }) == "");
  CHECK(f({{"x", row_of<T>(1, 0)}})["y"].template to_vector<float>() == std::vector<float>{5, 5, 5, 5});
}

BOTH_MODES("sessions run a model that is cut where a shape depends on elements") {
  using T = Tensor<Mode>;
  OnnxModel<T> f = read<T>(places());
  CHECK(by_clients([&](int client) {
          OnnxModel<T> mine = f.session();
          for (int call = 0; call < calls_each; ++call) {
            // As many ones as the client has number, at the end of nine.
            std::vector<float> x(9, 0.0F);
            std::vector<std::int64_t> wanted;
            for (int i = 9 - client; i < 9; ++i) {
              x[static_cast<std::size_t>(i)] = 1;
              wanted.push_back(2 * i);
            }
            if (mine({{"x", T::from(x, {9})}})["y"].template to_vector<std::int64_t>() != wanted) return false;
          }
          return true;
        }) == "");
}

BOTH_MODES("sessions of a model with limits take turns and count each call alone") {
  using T = Tensor<Mode>;
  OnnxModel<T> f = read<T>(product(), {.max_bytes = 1 << 20, .max_iterations = 10});
  CHECK(by_clients([&](int client) {
          OnnxModel<T> mine = f.session();
          for (int call = 0; call < calls_each; ++call) {
            if (mine({{"x", row_of<T>(client, call)}})["y"].template to_vector<float>()[3] !=
                static_cast<float>(5 * (client + 10 * call)))
              return false;
          }
          return true;
        }) == "");
}

BOTH_MODES("any thread calls a pool of a model's sessions, and waiting calls are put together") {
  using T = Tensor<Mode>;
  OnnxModel<T> f = read<T>(product());
  SessionPool pool(f, {.sessions = 2});
  SessionPool joining(f, {.sessions = 1, .batch = clients, .wait_us = std::int64_t{3600} * 1000000});
  CHECK(by_clients([&](int client) {
          for (int call = 0; call < calls_each; ++call) {
            const std::vector<float> wanted(4, static_cast<float>(5 * (client + 10 * call)));
            if (pool({{"x", row_of<T>(client, call)}})["y"].template to_vector<float>() != wanted) return false;
          }
          const NamedList<T> out = joining({{"x", row_of<T>(client, 0)}});
          return out.size() == 1 && out[0].name == "y" &&
                 out[0].value.template to_vector<float>() == std::vector<float>(4, static_cast<float>(5 * client));
        }) == "");
}

BOTH_MODES("a call of a pool that gives the wrong inputs fails alone") {
  using T = Tensor<Mode>;
  OnnxModel<T> f = read<T>(product());
  SessionPool pool(f, {.sessions = 1, .batch = 4});
  CHECK(by_clients([&](int client) {
          if (client % 2 == 0) return pool({{"x", row_of<T>(client, 0)}})["y"].shape() == Shape{1, 4};
          try {
            pool({{"z", row_of<T>(client, 0)}});
            return false;
          } catch (const IndexError& error) {
            return std::string(error.what()) == "m.onnx: there is no input 'z'; there are 'x'";
          }
        }) == "");
}

}  // namespace tyto::onnx_tests
