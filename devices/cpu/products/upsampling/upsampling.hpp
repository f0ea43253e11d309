// SPDX-License-Identifier: MIT
// Nearest and bilinear up-sampling of images and their gradients: prepared once, run without allocating.
#pragma once

#include <cstddef>
#include <cstdint>

#include <tyto/dtype.hpp>

#include "devices/cpu/device/kernel_choice.hpp"
#include "devices/cpu/products/routine.hpp"

namespace tyto::cpu {

enum class UpsamplingKind { nearest, bilinear };

/// Tensors (batch, height, width, channels), dense but for what the pitches say. The output may also be smaller than
/// the input.
///
/// Nearest copies the input pixel floor(out * in_extent / out_extent), for every type. Bilinear mixes the pixels round
/// (out + 1/2) * in_extent / out_extent - 1/2, held within the image; it and gradients take floating-point types.
struct UpsamplingProblem {
  UpsamplingKind kind = UpsamplingKind::nearest;
  bool backward = false;
  DType dtype = DType::f32;
  std::int64_t batch = 1;
  std::int64_t channels = 1;
  std::int64_t in_height = 1, in_width = 1;
  std::int64_t out_height = 1, out_width = 1;
  // Elements from pixel to pixel of what is read and of what is written, not where 16-bit numbers are added up; 0: as
  // many as channels.
  std::int64_t source_pitch = 0;
  std::int64_t result_pitch = 0;
};

/// Forward reads the input image; backward reads the output's gradient and writes the input's.
struct UpsamplingArguments {
  const void* source = nullptr;
  void* result = nullptr;
  void* workspace = nullptr;  ///< workspace_bytes(), 64-byte aligned
};

using Upsampling = Prepared<UpsamplingArguments>;

/// Throws ValueError for malformed extents and TypeError for a type that the kind does not take.
Upsampling prepare_upsampling(const UpsamplingProblem& problem, const KernelChoice& choice = {});

}  // namespace tyto::cpu
