// SPDX-License-Identifier: MIT
// A network of two levels whose results are known: log(x), and sums of its rows.
#pragma once

#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

namespace tyto_test {

struct Encoder : tyto::nn::Layer {
  tyto::nn::Linear linear5{{.in = 2, .out = 2, .initial = tyto::nn::constant_weights(0)}};
  Encoder() { tyto::assign(linear5.weight, tyto::Tensor<tyto::Any>::eye(2)); }
  tyto::Tensor<tyto::Any> forward(const tyto::Tensor<tyto::Any>& x, tyto::nn::Phase) const override {
    return log(linear5(x));
  }
  tyto::nn::Members members() const override { return {{"linear5", linear5}}; }
};

struct Net : tyto::nn::Layer {
  Encoder encoder;
  tyto::nn::Linear head{{.in = 2, .out = 1}};
  tyto::Tensor<tyto::Any> forward(const tyto::Tensor<tyto::Any>& x, tyto::nn::Phase) const override {
    return head(encoder(x));
  }
  tyto::nn::Members members() const override { return {{"encoder", encoder}, {"head", head}}; }
};

}  // namespace tyto_test
