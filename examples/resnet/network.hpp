// SPDX-License-Identifier: MIT
// The residual networks of He et al. (2015): the narrow ones for CIFAR-10, and ResNet-18 with its stem for small
// pictures.
#pragma once

#include <cstdint>
#include <tyto/nn/containers.hpp>

/// ResNet-8, -14, -20, ... -110 (6n + 2 layers): three stages of n blocks, `width`, 2 and 4 times `width` channels
/// wide. ResNet-18: four stages of two blocks, up to 8 times as wide. Throws std::invalid_argument for other depths.
tyto::nn::Sequential make_resnet(std::int64_t depth, std::int64_t width, std::int64_t classes);

/// 16 for the narrow networks, 64 for ResNet-18, as in the paper.
std::int64_t usual_width(std::int64_t depth);
