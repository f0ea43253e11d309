// SPDX-License-Identifier: MIT
// InceptionV3 as a table: each mixed block lists its branches, each branch its convolutions.
#include <optional>
#include <tyto/elementwise.hpp>
#include <tyto/nn/convolution.hpp>
#include <tyto/nn/linear.hpp>
#include <tyto/nn/noise.hpp>
#include <tyto/nn/normalisation.hpp>
#include <tyto/nn/pooling.hpp>
#include <tyto/shaping.hpp>

#include "networks.hpp"

namespace nn = tyto::nn;

namespace {

using Tensor = tyto::Tensor<tyto::Any>;

struct ConvolutionSpec {
  const char* name;
  std::int64_t out;
  tyto::PerAxis window;
  int stride = 1;
};

/// Convolution, batch norm, relu; as many results as pixels unless it strides.
struct ConvolutionAndNorm : nn::Layer {
  nn::Conv2d conv;
  nn::BatchNorm2d bn;

  ConvolutionAndNorm(std::int64_t in, std::int64_t out, const tyto::PerAxis& window, int stride, bool padded)
      : conv({.in = in,
              .out = out,
              .window = window,
              .stride = stride,
              .padding = padded ? tyto::same : tyto::valid,
              .bias = false,
              .initial = nn::he_normal}),
        bn({.channels = out, .epsilon = 1e-3}) {}
  ConvolutionAndNorm(std::int64_t in, const ConvolutionSpec& spec)
      : ConvolutionAndNorm(in, spec.out, spec.window, spec.stride, spec.stride == 1) {}
  Tensor forward(const Tensor& x, nn::Phase phase) const override { return relu(bn(conv(x, phase), phase)); }
  nn::Members members() const override { return {{"conv", conv}, {"bn", bn}}; }
};

/// One after the other, behind a pooling or none; `fork` lists what reads the last of them side by side.
struct BranchSpec {
  std::vector<ConvolutionSpec> path;
  std::vector<ConvolutionSpec> fork = {};
  std::optional<nn::Step> pool = {};
};

nn::Step average() { return nn::AveragePool(3, {.stride = 1, .padding = 1, .count_padding = true}); }
nn::Step halving() { return nn::MaxPool(3, {.stride = 2}); }

/// Branches side by side, their results joined; its states lie flat under the names of the table.
class Mixed : public nn::Layer {
 public:
  Mixed(std::int64_t in, const std::vector<BranchSpec>& table) {
    for (const BranchSpec& spec : table) {
      Branch& branch = branches_.emplace_back();
      branch.pool = spec.pool;
      std::int64_t channels = in;
      for (const ConvolutionSpec& each : spec.path) {
        branch.path.push_back({each.name, {channels, each}});
        channels = each.out;
      }
      for (const ConvolutionSpec& each : spec.fork) branch.fork.push_back({each.name, {channels, each}});
    }
  }
  Tensor forward(const Tensor& x, nn::Phase phase) const override {
    std::vector<Tensor> results;
    for (const Branch& branch : branches_) {
      Tensor y = branch.pool ? branch.pool->layer()(x, phase) : x;
      for (const auto& [name, layer] : branch.path) y = layer(y, phase);
      for (const auto& [name, layer] : branch.fork) results.push_back(layer(y, phase));
      if (branch.fork.empty()) results.push_back(y);
    }
    return concat(results, -1);
  }
  nn::Members members() const override {
    nn::Members list;
    for (const Branch& branch : branches_) {
      for (const auto& [name, layer] : branch.path) list.emplace_back(name, layer);
      for (const auto& [name, layer] : branch.fork) list.emplace_back(name, layer);
    }
    return list;
  }

 private:
  using NamedLayer = tyto::Named<ConvolutionAndNorm>;
  struct Branch {
    std::optional<nn::Step> pool;
    std::vector<NamedLayer> path, fork;
  };
  std::vector<Branch> branches_;
};

Mixed wide(std::int64_t in, std::int64_t pooled) {
  return {in,
          {{{{"branch1x1", 64, 1}}},
           {{{"branch5x5_1", 48, 1}, {"branch5x5_2", 64, 5}}},
           {{{"branch3x3dbl_1", 64, 1}, {"branch3x3dbl_2", 96, 3}, {"branch3x3dbl_3", 96, 3}}},
           {{{"branch_pool", pooled, 1}}, {}, average()}}};
}

Mixed first_reduction(std::int64_t in) {
  return {in,
          {{{{"branch3x3", 384, 3, 2}}},
           {{{"branch3x3dbl_1", 64, 1}, {"branch3x3dbl_2", 96, 3}, {"branch3x3dbl_3", 96, 3, 2}}},
           {{}, {}, halving()}}};
}

Mixed factored(std::int64_t between) {
  return {768,
          {{{{"branch1x1", 192, 1}}},
           {{{"branch7x7_1", between, 1}, {"branch7x7_2", between, {1, 7}}, {"branch7x7_3", 192, {7, 1}}}},
           {{{"branch7x7dbl_1", between, 1},
             {"branch7x7dbl_2", between, {7, 1}},
             {"branch7x7dbl_3", between, {1, 7}},
             {"branch7x7dbl_4", between, {7, 1}},
             {"branch7x7dbl_5", 192, {1, 7}}}},
           {{{"branch_pool", 192, 1}}, {}, average()}}};
}

Mixed second_reduction(std::int64_t in) {
  return {in,
          {{{{"branch3x3_1", 192, 1}, {"branch3x3_2", 320, 3, 2}}},
           {{{"branch7x7x3_1", 192, 1},
             {"branch7x7x3_2", 192, {1, 7}},
             {"branch7x7x3_3", 192, {7, 1}},
             {"branch7x7x3_4", 192, 3, 2}}},
           {{}, {}, halving()}}};
}

Mixed forked(std::int64_t in) {
  return {in,
          {{{{"branch1x1", 320, 1}}},
           {{{"branch3x3_1", 384, 1}}, {{"branch3x3_2a", 384, {1, 3}}, {"branch3x3_2b", 384, {3, 1}}}},
           {{{"branch3x3dbl_1", 448, 1}, {"branch3x3dbl_2", 384, 3}},
            {{"branch3x3dbl_3a", 384, {1, 3}}, {"branch3x3dbl_3b", 384, {3, 1}}}},
           {{{"branch_pool", 192, 1}}, {}, average()}}};
}

}  // namespace

nn::Sequential make_inception_v3() {
  return {{"Conv2d_1a_3x3", ConvolutionAndNorm(3, 32, 3, 2, false)},
          {"Conv2d_2a_3x3", ConvolutionAndNorm(32, 32, 3, 1, false)},
          {"Conv2d_2b_3x3", ConvolutionAndNorm(32, 64, 3, 1, true)},
          halving(),
          {"Conv2d_3b_1x1", ConvolutionAndNorm(64, 80, 1, 1, false)},
          {"Conv2d_4a_3x3", ConvolutionAndNorm(80, 192, 3, 1, false)},
          halving(),
          {"Mixed_5b", wide(192, 32)},
          {"Mixed_5c", wide(256, 64)},
          {"Mixed_5d", wide(288, 64)},
          {"Mixed_6a", first_reduction(288)},
          {"Mixed_6b", factored(128)},
          {"Mixed_6c", factored(160)},
          {"Mixed_6d", factored(160)},
          {"Mixed_6e", factored(192)},
          {"Mixed_7a", second_reduction(768)},
          {"Mixed_7b", forked(1280)},
          {"Mixed_7c", forked(2048)},
          nn::GlobalAveragePool(),
          nn::Dropout(0.5),
          {"fc", nn::Linear({.in = 2048, .out = 1000})}};
}
