// SPDX-License-Identifier: MIT
// Networks of drawn layers, in both layouts, at drawn sizes, with weights assigned in between: compiled, they give the
// numbers of the graph as it was written.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "tyto/tyto.hpp"

namespace random_networks_test {

using namespace tyto;
using L = Tensor<Lazy>;

namespace {

class Network {
 public:
  explicit Network(unsigned seed) : seed_(seed), draw_(seed), nchw_(below(3) == 0) {
    channels_ = first_channels_ = 3 + below(20);
    const std::int64_t count = 3 + below(5);
    for (std::int64_t i = 0; i < count; ++i) add_layer();
  }

  std::int64_t below(std::int64_t count) { return static_cast<std::int64_t>(draw_() % static_cast<unsigned>(count)); }

  L operator()(L x) const {
    for (const auto& layer : layers_) x = layer(x);
    return x;
  }

  L picture() {
    const std::int64_t batch = 1 + below(3), side = 1 + below(9);
    const Shape shape = nchw_ ? Shape{batch, first_channels_, side, side} : Shape{batch, side, side, first_channels_};
    return L::normal(shape, {.key = Key{draw_()}});
  }

  /// Gives one of the weights other contents.
  void change() {
    L& weight = weights_[static_cast<std::size_t>(below(static_cast<std::int64_t>(weights_.size())))];
    assign(weight, weight * 0.5);
  }

 private:
  L weight(const Shape& shape) {
    const Key key{seed_ * 1000 + weights_.size()};
    weights_.push_back(L::variable(L::normal(shape, {.stddev = 0.2, .key = key})));
    return weights_.back();
  }
  L by_channel(std::int64_t channels) { return weight(nchw_ ? Shape{channels, 1, 1} : Shape{channels}); }

  void add_layer() {
    const std::int64_t kind = below(6);
    const std::int64_t width = kind == 1 ? channels_ : 4 + below(40), window = below(2) == 0 ? 1 : 3;
    const bool has_bias = below(4) != 0, has_relu = below(2) == 0;
    if (kind == 4) {
      const L scale = by_channel(channels_);
      layers_.push_back([=](const L& x) { return tanh(x * scale); });
      return;
    }
    const bool plain = kind == 5 && !nchw_;
    const L bias = by_channel(width);
    const L kernel = plain   ? weight({channels_, width})
                     : nchw_ ? weight({width, channels_, window, window})
                             : weight({window, window, channels_, width});
    const ConvolutionOptions options{.padding = same, .layout = nchw_ ? Layout::nchw : Layout::nhwc};
    const std::int64_t axis = nchw_ ? 1 : 3;
    layers_.push_back([=](const L& x) {
      L y = plain ? matmul(x, kernel) : conv2d(x, kernel, options);
      if (has_bias) y = y + bias;
      if (kind == 1) y = y + x;  // a residual
      if (has_relu) y = relu(y);
      return kind == 3 ? concat<Lazy>({x, y}, axis) : y;
    });
    channels_ = kind == 3 ? channels_ + width : width;
  }

  std::uint64_t seed_;
  std::mt19937 draw_;
  bool nchw_;
  std::int64_t first_channels_ = 0, channels_ = 0;
  std::vector<L> weights_;
  std::vector<std::function<L(L)>> layers_;
};

}  // namespace

TEST_CASE("drawn networks give the numbers of the graph as written, at any size and after assignments") {
  for (unsigned seed = 0; seed < 25; ++seed) {
    CAPTURE(seed);
    Network network(seed);
    CompileOptions checked, plain;
    checked.check_plan = true;
    checked.poison = seed % 2 == 0;
    plain.passes = "none";
    auto compiled = compile([&](L x) { return network(x); }, checked);
    auto written = compile([&](L x) { return network(x); }, plain);
    for (int run = 0; run < 4; ++run) {
      const L x = network.picture();
      const std::vector<float> got = compiled(x).to_vector<float>(), want = written(x).to_vector<float>();
      REQUIRE(got.size() == want.size());
      float size = 1e-3F, error = 0;
      std::size_t strange = 0;
      for (std::size_t i = 0; i < got.size(); ++i) {
        size = std::max(size, std::abs(want[i]));
        error = std::max(error, std::abs(got[i] - want[i]));
        strange += got[i] != got[i] ? 1 : 0;
      }
      CHECK(strange == 0);
      CHECK(error <= 1e-5F * size);
      if (network.below(2) == 0) network.change();
    }
  }
}

}  // namespace random_networks_test
