// SPDX-License-Identifier: MIT
// An operator of the user's own that no device but the host runs, and that says nothing about its gradient.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tyto/custom.hpp"

/// f32 numbers times a factor.
inline tyto::CustomOp scaled_on_host(std::string name, float factor) {
  return tyto::custom_op({.name = std::move(name),
                          .results = [](tyto::ArrayTypes in) { return std::vector{in[0]}; },
                          .host =
                              [factor](tyto::HostInputs in, tyto::HostResults out) {
                                const auto from = in[0].data<float>();
                                const auto to = out[0].data<float>();
                                for (std::size_t i = 0; i < from.size(); ++i) to[i] = factor * from[i];
                              }});
}
