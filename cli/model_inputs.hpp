// What the command line says of a model's inputs and outputs: shapes, values and files by name.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include <tyto/named.hpp>
#include <tyto/onnx.hpp>
#include <tyto/tensor.hpp>

#include "cli/arguments.hpp"

namespace tyto::cli {

inline constexpr OptionRow shape_option = {
    "--shape", "NAME=N,N,...", "an input's shape where the file leaves it open (1 for each length otherwise)", true};
inline constexpr OptionRow input_option = {
    "--input", "NAME=WHAT", "an input's value: FILE.npy, .png, .jpg or .wav, random (the default), zeros, or a number",
    true};
inline constexpr OptionRow mean_option = {
    "--mean", "R[,R,...]", "taken from the colours of pictures, which go from 0 to 1; one for all or each"};
inline constexpr OptionRow deviation_option = {"--deviation", "R[,R,...]", "... which are then divided by this"};

inline constexpr OptionRow bind_option = {
    "--bind", "NAME=WHAT",
    "an input that is known beforehand, so that shapes and branches may depend on it: a number or FILE.npy", true};

/// Values of all bind options.
NamedList<Tensor<Any>> bound_values(const Arguments& arguments);

/// "x=1,3,48,320" of all shape options.
NamedList<Shape> shapes_given(const Arguments& arguments);

/// The inputs that the options name or that need no naming: tensors s[0], s[1], ... of a sequence and optional inputs
/// are given only where they are named.
std::vector<ModelTensor> given_inputs(const std::vector<ModelTensor>& inputs, const Arguments& arguments);

/// Outputs that are to be written, and their files. Throws UsageError before the model runs where it has no such
/// output.
NamedList<std::string> wanted_outputs(const std::vector<ModelTensor>& outputs, const Arguments& arguments);

/// A shape for every input: as given, as the file says, else 1 for each length that it leaves open.
NamedList<Shape> settled_shapes(const std::vector<ModelTensor>& inputs, const NamedList<Shape>& given);

/// Values for all inputs, made up where none is given: random numbers of a fixed seed, of inputs of integers zeros.
NamedList<Tensor<Lazy>> input_values(const std::vector<ModelTensor>& inputs, const Arguments& arguments);

}  // namespace tyto::cli
