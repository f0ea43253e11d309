// SPDX-License-Identifier: MIT
// Options for the inputs of a model: shapes, values and files by name.
#pragma once

#include <string>
#include <vector>

#include <tyto/named.hpp>
#include <tyto/onnx.hpp>
#include <tyto/tensor.hpp>

#include "cli/arguments.hpp"

namespace tyto::cli {

inline constexpr OptionRow shape_option = {
    "--shape", "NAME=N,N,...", "an input's shape where the file leaves it open (1 for each length otherwise)", true};
inline constexpr OptionRow input_option = {
    "--input", "NAME=WHAT",
    "an input's value: FILE.npy, .npz, .pb, .png, .jpg or .wav, random (the default), zeros, or a number", true};
inline constexpr OptionRow inputs_option = {
    "--inputs", "FILE.npz|FOLDER", "values by name, or input_0.pb, input_1.pb, ... of a folder of ONNX's test data"};
inline constexpr OptionRow mean_option = {
    "--mean", "R[,R,...]", "taken from the colours of pictures, which go from 0 to 1; one for all or each"};
inline constexpr OptionRow deviation_option = {"--deviation", "R[,R,...]", "... which are then divided by this"};

inline constexpr OptionRow bind_option = {
    "--bind", "NAME=WHAT",
    "an input that is known beforehand, so that shapes and branches may depend on it: a number or FILE.npy", true};

inline constexpr OptionRow max_memory_option = {"--max-memory", "BYTES",
                                                "refuse a model that takes more memory, such as 512M or 2G"};
inline constexpr OptionRow max_iterations_option = {"--max-iterations", "N",
                                                    "refuse a model whose loops turn more often in one run"};

/// The model in a file, read as the options of the command say; with these values inside of it as outputs.
OnnxModel<Tensor<Lazy>> read_model(const std::string& path, const Arguments& arguments,
                                   const std::vector<std::string>& outputs = {});

/// "x=1,3,48,320" of all shape options.
NamedList<Shape> shapes_given(const Arguments& arguments);

/// The inputs that the options name or that need no naming: tensors s[0], s[1], ... of a sequence and optional inputs
/// are given only where they, or values of `together`, are named.
std::vector<ModelTensor> given_inputs(const std::vector<ModelTensor>& inputs, const Arguments& arguments,
                                      const NamedList<Tensor<Lazy>>& together = {});

/// A shape for every input: as given, as the file says, else 1 for each length that it leaves open.
NamedList<Shape> settled_shapes(const std::vector<ModelTensor>& inputs, const NamedList<Shape>& given);

/// Values for all inputs, made up where none is given: random numbers of a fixed seed, of inputs of integers zeros.
NamedList<Tensor<Lazy>> input_values(const OnnxModel<Tensor<Lazy>>& model, const Arguments& arguments);

/// Advice about lengths that the file leaves open and that counted as 1; empty where there are none.
std::string hint_at_open_lengths(const std::vector<ModelTensor>& inputs, const Arguments& arguments);

/// The names of a model's inputs or outputs.
std::vector<std::string> names_of(const std::vector<ModelTensor>& tensors);

/// Throws UsageError: there is no such input or output; which there are, and which may be meant.
[[noreturn]] void refuse_name(const char* kind, const std::string& name, const std::vector<ModelTensor>& tensors);

}  // namespace tyto::cli
