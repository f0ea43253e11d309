// SPDX-License-Identifier: MIT
// Fourteen networks as tables of their blocks.
#include "bench/papers/networks.hpp"

#include <functional>
#include <map>
#include <utility>

#include "examples/inception/networks.hpp"

namespace tyto::papers {

namespace {

using nn::Sequential;
using nn::Step;
using Any = Tensor<tyto::Any>;
using Steps = std::vector<Step>;

struct UnitOptions {
  std::int64_t in = 0, out = 0;
  int window = 1, stride = 1, dilation = 1;
  std::int64_t groups = 1;
  Step activation = nn::ReLU();
};

Step max_pool(int window, int stride, int padding = 0, bool ceil = false) {
  return nn::MaxPool(window, {.stride = stride, .padding = padding, .ceil_mode = ceil});
}

void add(Steps& to, Sequential part) {
  for (Step& step : part.steps) to.push_back(std::move(step));
}

/// Layers whose weights begin as one is told.
struct Parts {
  nn::Initialiser initial;

  nn::Conv2d convolution(const UnitOptions& o, bool bias, int padding) const {
    return nn::Conv2d({.in = o.in,
                       .out = o.out,
                       .window = o.window,
                       .stride = o.stride,
                       .padding = padding,
                       .dilation = o.dilation,
                       .groups = o.groups,
                       .bias = bias,
                       .initial = initial});
  }
  nn::Conv2d convolution(const UnitOptions& o, bool bias = true) const {
    return convolution(o, bias, o.dilation * (o.window / 2));
  }
  /// Convolution, batch norm, activation.
  Sequential unit(const UnitOptions& o) const {
    return {convolution(o, false), nn::BatchNorm2d({.channels = o.out}), o.activation};
  }
  nn::Linear linear(std::int64_t in, std::int64_t out) const {
    return nn::Linear({.in = in, .out = out, .initial = initial});
  }
  void add_head(Steps& to, std::int64_t channels) const {
    to.insert(to.end(), {nn::GlobalAveragePool(), linear(channels, 1000)});
  }

  /// A body round a shortcut, which is a convolution where the shape changes.
  Step residual(const UnitOptions& o, Sequential body) const {
    const bool same_shape = o.in == o.out && o.stride == 1;
    Step shortcut = same_shape
                        ? Step(nn::Identity())
                        : Step(unit({.in = o.in, .out = o.out, .stride = o.stride, .activation = nn::Identity()}));
    return Sequential{nn::Residual(std::move(body), std::move(shortcut)), nn::ReLU()};
  }
  /// 1x1, 3x3 with groups and 1x1; `width` channels between.
  Step bottleneck(const UnitOptions& o, std::int64_t width) const {
    return residual(
        o,
        {unit({.in = o.in, .out = width}),
         unit({.in = width, .out = width, .window = 3, .stride = o.stride, .dilation = o.dilation, .groups = o.groups}),
         unit({.in = width, .out = o.out, .activation = nn::Identity()})});
  }
  Step basic(const UnitOptions& o) const {
    return residual(o, {unit({.in = o.in, .out = o.out, .window = 3, .stride = o.stride}),
                        unit({.in = o.out, .out = o.out, .window = 3, .activation = nn::Identity()})});
  }

  struct ResNet {
    std::vector<int> blocks;
    std::int64_t group_width = 64, groups = 1;
    bool basic = false, dilated = false;  ///< dilated: the last two stages keep their size
  };
  Steps resnet(const ResNet& r) const {
    Steps steps{unit({.in = 3, .out = 64, .window = 7, .stride = 2}), max_pool(3, 2, 1)};
    std::int64_t in = 64;
    int dilation = 1;
    for (std::size_t stage = 0; stage < r.blocks.size(); ++stage) {
      const std::int64_t plane = 64 << stage;
      for (int block = 0; block < r.blocks[stage]; ++block) {
        UnitOptions o{.in = in, .out = r.basic ? plane : 4 * plane, .dilation = dilation, .groups = r.groups};
        if (block == 0 && stage > 0) {
          if (r.dilated && stage > 1) dilation *= 2;  // from the next block on
          else o.stride = 2;
        }
        steps.push_back(r.basic ? basic(o) : bottleneck(o, plane * r.group_width / 64 * r.groups));
        in = o.out;
      }
    }
    return steps;
  }
  Sequential resnet_classifier(const ResNet& r) const {
    Steps steps = resnet(r);
    add_head(steps, r.basic ? 512 : 2048);
    return Sequential(std::move(steps));
  }

  Sequential regnet_x_8gf() const {
    Steps steps{unit({.in = 3, .out = 32, .window = 3, .stride = 2})};
    std::int64_t in = 32;
    for (const auto& [width, depth] :
         std::vector<std::pair<std::int64_t, int>>{{80, 2}, {240, 5}, {720, 15}, {1920, 1}}) {
      for (int block = 0; block < depth; ++block) {
        steps.push_back(bottleneck(
            {.in = in, .out = width, .stride = block == 0 ? 2 : 1, .groups = std::max<std::int64_t>(width / 120, 1)},
            width));
        in = width;
      }
    }
    add_head(steps, in);
    return Sequential(std::move(steps));
  }

  /// Dilated ResNet-50, a head, and scores of 21 classes at the picture's size.
  Sequential segmentation(Steps head, std::int64_t channels) const {
    Steps steps = resnet({.blocks = {3, 4, 6, 3}, .dilated = true});
    for (Step& step : head) steps.push_back(std::move(step));
    steps.insert(steps.end(), {convolution({.in = channels, .out = 21}), nn::Upsample(8, Resampling::bilinear)});
    return Sequential(std::move(steps));
  }
  Step pyramid_pooling() const {
    Steps branches{unit({.in = 2048, .out = 256})};
    for (const int rate : {12, 24, 36}) {
      branches.push_back(unit({.in = 2048, .out = 256, .window = 3, .dilation = rate}));
    }
    // The mean of the picture stands at each of its places.
    branches.push_back(nn::Parallel(
        {nn::Identity(), Sequential{nn::AdaptiveAveragePool(1), unit({.in = 2048, .out = 256})}},
        [](const std::vector<Any>& parts) {
          return broadcast_to(parts[1], {parts[0].shape()[0], parts[0].shape()[1], parts[0].shape()[2], 256});
        }));
    return nn::Concatenate(std::move(branches));
  }

  /// A mixed block: 1x1; 1x1 and 3x3; 1x1 and 3x3; pooling and 1x1.
  Step inception(std::int64_t in, std::int64_t one, std::int64_t reduced, std::int64_t three,
                 std::int64_t small_reduced, std::int64_t small, std::int64_t pooled) const {
    return nn::Concatenate(
        {unit({.in = in, .out = one}),
         Sequential{unit({.in = in, .out = reduced}), unit({.in = reduced, .out = three, .window = 3})},
         Sequential{unit({.in = in, .out = small_reduced}), unit({.in = small_reduced, .out = small, .window = 3})},
         Sequential{max_pool(3, 1, 1), unit({.in = in, .out = pooled})}});
  }
  Sequential googlenet() const {
    return {unit({.in = 3, .out = 64, .window = 7, .stride = 2}),
            max_pool(3, 2, 0, true),
            unit({.in = 64, .out = 64}),
            unit({.in = 64, .out = 192, .window = 3}),
            max_pool(3, 2, 0, true),
            inception(192, 64, 96, 128, 16, 32, 32),
            inception(256, 128, 128, 192, 32, 96, 64),
            max_pool(3, 2, 0, true),
            inception(480, 192, 96, 208, 16, 48, 64),
            inception(512, 160, 112, 224, 24, 64, 64),
            inception(512, 128, 128, 256, 24, 64, 64),
            inception(512, 112, 144, 288, 32, 64, 64),
            inception(528, 256, 160, 320, 32, 128, 128),
            max_pool(2, 2, 0, true),
            inception(832, 256, 160, 320, 32, 128, 128),
            inception(832, 384, 192, 384, 48, 128, 128),
            nn::GlobalAveragePool(),
            linear(1024, 1000)};
  }

  Step fire(std::int64_t in, std::int64_t squeezed, std::int64_t out) const {
    return Sequential{
        convolution({.in = in, .out = squeezed}), nn::ReLU(),
        nn::Concatenate({Sequential{convolution({.in = squeezed, .out = out}), nn::ReLU()},
                         Sequential{convolution({.in = squeezed, .out = out, .window = 3}), nn::ReLU()}})};
  }
  Sequential squeezenet() const {
    return {convolution({.in = 3, .out = 96, .window = 7, .stride = 2}, true, 0),
            nn::ReLU(),
            max_pool(3, 2, 0, true),
            fire(96, 16, 64),
            fire(128, 16, 64),
            fire(128, 32, 128),
            max_pool(3, 2, 0, true),
            fire(256, 32, 128),
            fire(256, 48, 192),
            fire(384, 48, 192),
            fire(384, 64, 256),
            max_pool(3, 2, 0, true),
            fire(512, 64, 256),
            convolution({.in = 512, .out = 1000}),
            nn::ReLU(),
            nn::GlobalAveragePool()};
  }

  Sequential vgg16() const {
    Steps steps;
    std::int64_t in = 3;
    for (const auto& [width, depth] :
         std::vector<std::pair<std::int64_t, int>>{{64, 2}, {128, 2}, {256, 3}, {512, 3}, {512, 3}}) {
      for (int i = 0; i < depth; ++i, in = width) {
        add(steps, {convolution({.in = in, .out = width, .window = 3}), nn::ReLU()});
      }
      steps.push_back(max_pool(2, 2));
    }
    add(steps, {nn::AdaptiveAveragePool(7), nn::Flatten(), linear(512 * 49, 4096), nn::ReLU(), linear(4096, 4096),
                nn::ReLU(), linear(4096, 1000)});
    return Sequential(std::move(steps));
  }

  struct Inverted {
    std::int64_t expanded;
    int window, stride;
    std::int64_t in, out;
    int repeats;
  };
  /// 1x1 that widens, a depthwise convolution, squeeze and excitation or none, 1x1 that narrows.
  void add_inverted(Steps& to, Inverted o, const Step& activation, bool excited) const {
    for (int i = 0; i < o.repeats; ++i, o.in = o.out, o.stride = 1) {
      const std::int64_t wide = o.expanded * o.in;
      Steps body;
      if (wide != o.in) body.push_back(unit({.in = o.in, .out = wide, .activation = activation}));
      body.push_back(unit(
          {.in = wide, .out = wide, .window = o.window, .stride = o.stride, .groups = wide, .activation = activation}));
      if (excited) {
        const std::int64_t squeezed = std::max<std::int64_t>(o.in / 4, 1);
        body.push_back(nn::Parallel(
            {nn::Identity(), Sequential{nn::AdaptiveAveragePool(1), convolution({.in = wide, .out = squeezed}),
                                        nn::SiLU(), convolution({.in = squeezed, .out = wide}), nn::Sigmoid()}},
            [](const std::vector<Any>& parts) { return parts[0] * parts[1]; }));
      }
      body.push_back(unit({.in = wide, .out = o.out, .activation = nn::Identity()}));
      const bool round = o.stride == 1 && o.in == o.out;
      to.push_back(round ? Step(nn::Residual(Sequential(std::move(body)))) : Step(Sequential(std::move(body))));
    }
  }
  Sequential mnasnet0_75() const {
    Steps steps{unit({.in = 3, .out = 24, .window = 3, .stride = 2}),
                unit({.in = 24, .out = 24, .window = 3, .groups = 24}),
                unit({.in = 24, .out = 16, .activation = nn::Identity()})};
    for (const Inverted& each : {Inverted{3, 3, 2, 16, 24, 3},
                                 {3, 5, 2, 24, 32, 3},
                                 {6, 5, 2, 32, 64, 3},
                                 {6, 3, 1, 64, 72, 2},
                                 {6, 5, 2, 72, 144, 4},
                                 {6, 3, 1, 144, 240, 1}}) {
      add_inverted(steps, each, nn::ReLU(), false);
    }
    steps.push_back(unit({.in = 240, .out = 1280}));
    add_head(steps, 1280);
    return Sequential(std::move(steps));
  }
  Sequential efficientnet_b4() const {
    const Step silu = nn::SiLU();
    Steps steps{unit({.in = 3, .out = 48, .window = 3, .stride = 2, .activation = silu})};
    for (const Inverted& each : {Inverted{1, 3, 1, 48, 24, 2},
                                 {6, 3, 2, 24, 32, 4},
                                 {6, 5, 2, 32, 56, 4},
                                 {6, 3, 2, 56, 112, 6},
                                 {6, 5, 1, 112, 160, 6},
                                 {6, 5, 2, 160, 272, 8},
                                 {6, 3, 1, 272, 448, 2}}) {
      add_inverted(steps, each, silu, true);
    }
    steps.push_back(unit({.in = 448, .out = 1792, .activation = silu}));
    add_head(steps, 1792);
    return Sequential(std::move(steps));
  }

  /// The generator of PyTorch's example, which draws pictures of 64 x 64.
  Sequential dcgan() const {
    Steps steps;
    std::int64_t in = 100;
    for (const std::int64_t out : {512, 256, 128, 64, 3}) {
      steps.push_back(nn::ConvTranspose2d({.in = in,
                                           .out = out,
                                           .window = 4,
                                           .stride = in == 100 ? 1 : 2,
                                           .padding = in == 100 ? 0 : 1,
                                           .bias = false,
                                           .initial = initial}));
      if (out == 3) steps.push_back(nn::Tanh());
      else add(steps, {nn::BatchNorm2d({.channels = out}), nn::ReLU()});
      in = out;
    }
    return Sequential(std::move(steps));
  }
};

using Maker = std::function<Sequential(const Parts&)>;

const std::vector<std::pair<std::string, Maker>>& makers() {
  static const std::vector<std::pair<std::string, Maker>> all{
      {"resnet18",
       [](const Parts& p) {
         return p.resnet_classifier({.blocks = {2, 2, 2, 2}, .basic = true});
       }},
      {"resnet50",
       [](const Parts& p) {
         return p.resnet_classifier({.blocks = {3, 4, 6, 3}});
       }},
      {"wide_resnet50_2",
       [](const Parts& p) {
         return p.resnet_classifier({.blocks = {3, 4, 6, 3}, .group_width = 128});
       }},
      {"resnext101_32x8d",
       [](const Parts& p) {
         return p.resnet_classifier({.blocks = {3, 4, 23, 3}, .group_width = 8, .groups = 32});
       }},
      {"googlenet", &Parts::googlenet},
      {"inception_v3", [](const Parts&) { return make_inception_v3(); }},
      {"squeezenet1_0", &Parts::squeezenet},
      {"vgg16", &Parts::vgg16},
      {"mnasnet0_75", &Parts::mnasnet0_75},
      {"efficientnet_b4", &Parts::efficientnet_b4},
      {"regnet_x_8gf", &Parts::regnet_x_8gf},
      {"fcn_resnet50",
       [](const Parts& p) { return p.segmentation({p.unit({.in = 2048, .out = 512, .window = 3})}, 512); }},
      {"deeplabv3_resnet50",
       [](const Parts& p) {
         return p.segmentation(
             {p.pyramid_pooling(), p.unit({.in = 1280, .out = 256}), p.unit({.in = 256, .out = 256, .window = 3})},
             256);
       }},
      {"dcgan", &Parts::dcgan},
  };
  return all;
}

}  // namespace

const std::vector<std::string>& network_names() {
  static const std::vector<std::string> names = [] {
    std::vector<std::string> list;
    for (const auto& [name, maker] : makers()) list.push_back(name);
    return list;
  }();
  return names;
}

Sequential make_network(const std::string& name, const nn::Initialiser& initial) {
  for (const auto& [known, maker] : makers()) {
    if (known == name) return maker({initial});
  }
  throw ValueError("there is no network '" + name + "' in bench/papers");
}

Shape input_shape(const std::string& name, std::int64_t side) {
  return name == "dcgan" ? Shape{1, 1, 1, 100} : Shape{1, side, side, 3};
}

}  // namespace tyto::papers
