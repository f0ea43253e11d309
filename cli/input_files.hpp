// SPDX-License-Identifier: MIT
// Values of inputs and expected outputs from files: arrays of NumPy, tensors of ONNX, pictures, recordings; or made up.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tyto/named.hpp>
#include <tyto/onnx.hpp>
#include <tyto/tensor.hpp>

#include "cli/media_inputs.hpp"

namespace tyto::cli {

/// Whether a value is a picture's file.
bool is_picture(const std::string& value);

/// The value of one input: a file, "random", "zeros" or a number; made up in `shape`, which is given where `is_given`
/// and else what the file says. `number` keeps inputs of random numbers apart.
Tensor<Lazy> input_value(const ModelTensor& input, const std::string& how, const Shape& shape, bool is_given,
                         const ColourScale& scale, std::uint64_t number);

/// All values of an archive by their names, or the files KIND_0.pb, KIND_1.pb, ... of a folder in the order of
/// `tensors`, which they must be among; those of a sequence under names such as "s[0]". `kind` is input or output.
NamedList<Tensor<Lazy>> values_in(const std::string& path, const std::vector<ModelTensor>& tensors, const char* kind);

/// The one array in a file, FILE.npy, .npz or .pb: in an archive that of the tensor's name, or the only one.
Tensor<Lazy> array_in(const std::string& path, const ModelTensor& tensor);

/// Whether array_in reads such a file.
bool is_array_file(const std::string& path);

}  // namespace tyto::cli
