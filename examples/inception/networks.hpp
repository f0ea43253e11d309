// SPDX-License-Identifier: MIT
// Networks for ImageNet whose states have the names that torchvision gives them.
#pragma once

#include <tyto/nn/containers.hpp>

/// He et al. (2015), strides in the 3x3 convolutions as in torchvision: 224 x 224 pixels to 1,000 scores.
tyto::nn::Sequential make_resnet50();
/// Szegedy et al. (2015) without the auxiliary classifier: 299 x 299 pixels to 1,000 scores.
tyto::nn::Sequential make_inception_v3();
