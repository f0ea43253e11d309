// SPDX-License-Identifier: MIT
// The fourteen networks of the MemoMalloc thesis as torchvision builds them, channels last.
#pragma once

#include <string>
#include <vector>

#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

namespace tyto::papers {

/// Their names, those of torchvision, and "dcgan".
const std::vector<std::string>& network_names();
/// One of them. Throws ValueError for another name.
nn::Sequential make_network(const std::string& name, const nn::Initialiser& initial);
/// The input of a network of this name: a picture of this side, or the noise that the generator begins with.
Shape input_shape(const std::string& name, std::int64_t side);

}  // namespace tyto::papers
