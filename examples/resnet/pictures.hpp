// SPDX-License-Identifier: MIT
// Training and test pictures: CIFAR-10 from a folder, or drawn ones.
#pragma once

#include <cstdint>
#include <string>
#include <tyto/io.hpp>
#include <tyto/nn.hpp>

using HostPictures = tyto::LabelledImages<tyto::Tensor<tyto::Eager>>;

struct PictureSets {
  HostPictures training;
  HostPictures test;
  std::string origin;
};

/// The files data_batch_1.bin to data_batch_5.bin, as many as the folder has, and test_batch*.bin, plain or .gz.
PictureSets read_cifar_folder(const std::string& folder);
PictureSets draw_picture_sets(std::int64_t count, std::uint64_t seed);
/// The last `count` training pictures become those to test with. Throws std::invalid_argument where none would be left.
void hold_out(PictureSets& pictures, std::int64_t count);

/// Padded with so many zeros at each side, cropped and flipped at random, and normalised: what is trained with.
tyto::nn::Pictures varied(const HostPictures& pictures, std::int64_t padding);
/// As they are, normalised: what is tested with.
tyto::nn::Pictures normalised(const HostPictures& pictures);
