// SPDX-License-Identifier: MIT
// Every function and layer of the public headers is held to one rounding, or is named here with the reason why not.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <regex>
#include <set>
#include <sstream>

#include "tests/half_precision/composed_case.hpp"

namespace half_precision {

namespace {

struct Excuse {
  const char* reason;
  const char* names;
};

const Excuse excuses[] = {
    {"one operator, which rounds once",
     "leaky_relu sum mean min max l1_norm cumsum softmax log_softmax ptp nansum nanprod nanmin nanmax nancumsum "
     "nancumprod cumulative_sum cumulative_prod deg2rad rad2deg pow float_power divmod angle polyadd polysub matmul "
     "matvec vecmat dot outer kron tensordot vecdot trace vander convolution conv1d conv2d conv3d "
     "transposed_convolution average_pool global_average_pool upsample scaled_dot_product_attention relu6 hard_tanh "
     "softmin clip_by_value quantise dequantise quantised_matmul"},
    {"elements are moved, chosen or taken apart without rounding",
     "permute_dims choose select put_along_axis put partition real imag view_as_real view_as_complex "
     "scatter scatter_min scatter_max sort topk cummin cummax diagonal max_pool at_labels "
     "atleast_1d atleast_2d atleast_3d vstack hstack dstack column_stack block unstack array_split broadcast_arrays "
     "rot90 fliplr flipud insert remove append fill_diagonal resize_to ix_ unique_all unique unique_values union1d "
     "intersect1d setdiff1d setxor1d extract compress trim_zeros reshape transpose matrix_transpose swapaxes moveaxis "
     "squeeze expand_dims ravel flatten broadcast_to cast flip copy concat stack narrow split tile repeat roll pad "
     "diag tril triu meshgrid zeros_like ones_like full_like modf frexp nextafter nan_to_num heaviside hard_shrink "
     "threshold max_pool_with_indices max_unpool fftshift ifftshift set assign stop_gradient random_split"},
    {"the result is integers or truths",
     "unique_counts unique_inverse packbits unpackbits lexsort argpartition unravel_index ravel_multi_index one_hot "
     "argsort searchsorted histogram categorical argmin argmax any array_equal allclose nms isin nonzero flatnonzero "
     "isclose isposinf isneginf signbit check_bounds bitwise_count bitwise_left_shift bitwise_right_shift "
     "bitwise_invert nanargmin "
     "nanargmax count_nonzero digitize histogram2d histogramdd matrix_rank assign_boxes match_detections "
     "pyramid_levels mask_boxes"},
    {"the result is complex, and computed in f32",
     "complex fft ifft rfft irfft hfft ihfft fft2 ifft2 rfft2 irfft2 fftn ifftn rfftn irfftn stft istft"},
    {"what several processes have, summed in f32 or moved: tests/distributed/operators_test.cpp",
     "all_reduce all_gather reduce_scatter broadcast barrier send recv weighted"},
    {"factorisations refuse half precision",
     "solve inv tensorsolve tensorinv det slogdet triangular_solve solve_ex inv_ex cholesky_ex lu lu_factor lu_solve "
     "cholesky cholesky_solve qr svd svdvals eigh eigvalsh eig eigvals pinv lstsq expm cond "
     "schur ordschur hess qz ordqz qzvals ldl gsvd gsvdvals null_space sqrtm logm funm sinm cosm tanm sinhm coshm "
     "tanhm "
     "sylvester lyapunov discrete_lyapunov care dare"},
    {"drawn at random, or made of no tensor",
     "choice dropout_mask fftfreq rfftfreq Dropout ChannelDropout AlphaDropout GaussianNoise GaussianDropout RReLU"},
    {"the layer of a function that is held to it",
     "Activation ReLU ReLU6 SELU SiLU Mish Sigmoid LogSigmoid Tanh Softsign Hardsigmoid Hardswish Tanhshrink LeakyReLU "
     "ELU CELU GELU Softplus Hardtanh Hardshrink Softshrink Threshold Softmax LogSoftmax Softmin GLU PReLU BatchNorm "
     "MaxPool AveragePool AdaptiveMaxPool GlobalAveragePool GlobalMaxPool Upsample Pad PixelShuffle PixelUnshuffle "
     "Unfold Fold Sequential Residual Parallel Concatenate Sum Identity Flatten Reshape"},
    {"layers of several products, each of which rounds",
     "Convolution Conv1d Conv2d Conv3d TransposedConvolution ConvTranspose1d ConvTranspose2d ConvTranspose3d "
     "DepthwiseConv2d SeparableConv2d Linear Bilinear MultiheadAttention Recurrent RNN LSTM GRU "
     "TransformerEncoderLayer TransformerDecoderLayer FeaturePyramid"},
    {"no arithmetic",
     "in_any_mode loss_of to_dlpack to_versioned_dlpack restore kind_of_mode KindOfArgument as_lazy lay_out as_value "
     "known delay find_nan metric_value Delimiter Batches IsNamedList NamedTensor view_of "
     "views_of to_read write_npy write_npz write_text write_safetensors write_png write_jpeg write_wav modeless "
     "clipped "
     "with_mode call eval result_type "
     "scan fold"},
};

void add_words(const std::string& text, std::set<std::string>& words) {
  std::istringstream in(text);
  for (std::string word; in >> word;) words.insert(word);
}

/// The names that a header declares as templates of a mode, and those of layers and distributions.
void add_declared(const std::filesystem::path& header, std::set<std::string>& names) {
  static const std::regex function("^[^(;{=]*?(\\w+)\\(");
  static const std::regex layer("^struct (?:TYTO_API )?(\\w+) : (?:public )?\\w+");
  static const std::regex distribution("^struct (\\w+) \\{");
  std::ifstream in(header);
  std::string line;
  for (std::string waiting; std::getline(in, line);) {
    std::smatch found;
    if (!waiting.empty()) {
      waiting += ' ' + line;
      if (std::regex_search(waiting, found, function)) names.insert(found[1]);
      if (line.find_first_of("(;{=") != line.npos) waiting.clear();
    } else if (line.starts_with("template <class M>")) {
      waiting = " ";
    } else if (std::regex_search(line, found, layer)) {
      names.insert(found[1]);
    } else if (header.filename() == "distributions.hpp" && std::regex_search(line, found, distribution)) {
      names.insert(found[1]);
    }
  }
}

}  // namespace

TEST_CASE("each function of the public headers rounds to half precision once, or is excused") {
  std::set<std::string> held, excused, declared;
  for (const auto& family : {cases_of_functions(), cases_of_networks(), cases_of_distributions()}) {
    for (const Case& each : family) held.insert(each.name);
  }
  for (const Excuse& excuse : excuses) add_words(excuse.names, excused);
  for (const char* folder : {"include/tyto", "include/tyto/nn"}) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() == ".hpp") add_declared(entry.path(), declared);
    }
  }
  CHECK(declared.size() > 400);
  for (const std::string& name : declared) {
    CAPTURE(name);
    CHECK_MESSAGE(held.contains(name) + excused.contains(name) == 1,
                  "give it a case in tests/half_precision, or name it in `excuses` of declared_test.cpp, not both");
  }
  for (const std::string& name : excused) {
    CAPTURE(name);
    CHECK_MESSAGE(declared.contains(name), "no header declares what is excused");
  }
}

}  // namespace half_precision
