// SPDX-License-Identifier: MIT
// The networks whose plans ./dev papers tells are torchvision's: as many parameters, and results of the same shapes.
#include <doctest/doctest.h>

#include <cstdint>
#include <string>

#include "bench/papers/networks.hpp"

using namespace tyto;

namespace {

struct Known {
  const char* name;
  std::int64_t parameters;  ///< sum of numel() in torchvision 0.28, without auxiliary classifiers; PyTorch's DCGAN
  Shape result;             ///< of a picture of 128 x 128
};

const Known torchvision[] = {
    {"resnet18", 11689512, {1, 1000}},
    {"resnet50", 25557032, {1, 1000}},
    {"wide_resnet50_2", 68883240, {1, 1000}},
    {"resnext101_32x8d", 88791336, {1, 1000}},
    {"googlenet", 6624904, {1, 1000}},
    {"inception_v3", 23834568, {1, 1000}},
    {"squeezenet1_0", 1248424, {1, 1000}},
    {"vgg16", 138357544, {1, 1000}},
    {"mnasnet0_75", 3170208, {1, 1000}},
    {"efficientnet_b4", 19341616, {1, 1000}},
    {"regnet_x_8gf", 39572648, {1, 1000}},
    {"fcn_resnet50", 32957013, {1, 128, 128, 21}},
    {"deeplabv3_resnet50", 39638869, {1, 128, 128, 21}},
    {"dcgan", 3576704, {1, 64, 64, 3}},
};

}  // namespace

TEST_CASE("the networks of bench/papers have the parameters and results of torchvision's") {
  REQUIRE(papers::network_names().size() == std::size(torchvision));
  for (std::size_t i = 0; i < std::size(torchvision); ++i) {
    const Known& each = torchvision[i];
    INFO(std::string(each.name));
    CHECK(papers::network_names()[i] == each.name);
    const nn::Sequential network = papers::make_network(each.name, nn::constant_weights(0));
    std::int64_t count = 0;
    for (const auto& parameter : network.parameters()) count += parameter.size();
    CHECK(count == each.parameters);
    CHECK(network(Tensor<Lazy>::placeholder(papers::input_shape(each.name, 128))).shape() == each.result);
  }
}

TEST_CASE("a network that bench/papers does not have is a ValueError that names it") {
  CHECK_THROWS_WITH_AS(papers::make_network("alexnet", nn::he_normal),
                       doctest::Contains("there is no network 'alexnet' in bench/papers"), ValueError);
}
