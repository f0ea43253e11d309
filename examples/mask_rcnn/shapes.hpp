// SPDX-License-Identifier: MIT
// Pictures of circles, squares and triangles that overlap, with the outline of what is to be seen of each.
#pragma once

#include <cstdint>
#include <tyto/nn/samples.hpp>

inline constexpr std::int64_t shapes_side = 96, shapes_most = 4, shapes_classes = 3;

/// One to four shapes a picture, all drawn anew from the sample's key: pictures (batch, 96, 96, 3) of u8, and for each
/// pixel (batch, 96, 96) of u8 0 or 1 + 3 * object + kind of the object that is seen there.
class Shapes final : public tyto::nn::Samples {
 public:
  explicit Shapes(std::int64_t count) : count_(count) {}
  std::int64_t count() const override { return count_; }
  tyto::nn::HostBatch read(std::span<const std::int64_t> samples, const tyto::Key& key) const override;

 private:
  std::int64_t count_;
};
