// SPDX-License-Identifier: MIT
// Neural networks: layers, losses, initial values, gradient descent, batches, the training loop and files.
#pragma once

// What others include comes first: compilers tell the chain of includes with each error.
#include "tyto/shape.hpp"

#include "tyto/index.hpp"
#include "tyto/tensor.hpp"

#include "tyto/nn/module.hpp"

#include "tyto/graph.hpp"
#include "tyto/nn/layer.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"
#include "tyto/windows.hpp"

#include "tyto/nn/linear.hpp"
#include "tyto/nn/rates.hpp"
#include "tyto/nn/samples.hpp"

#include "tyto/nn/batches.hpp"
#include "tyto/nn/descent.hpp"
#include "tyto/nn/layers.hpp"

#include "tyto/nn/averages.hpp"
#include "tyto/nn/batch_means.hpp"
#include "tyto/nn/boxes.hpp"
#include "tyto/nn/calls.hpp"
#include "tyto/nn/checkpoint.hpp"
#include "tyto/nn/class_losses.hpp"
#include "tyto/nn/clipping.hpp"
#include "tyto/nn/find_nan.hpp"
#include "tyto/nn/history.hpp"
#include "tyto/nn/initial.hpp"
#include "tyto/nn/loading.hpp"
#include "tyto/nn/losses.hpp"
#include "tyto/nn/pictures.hpp"
#include "tyto/nn/precision.hpp"
#include "tyto/nn/pyramid.hpp"
#include "tyto/nn/random_split.hpp"
#include "tyto/nn/rules.hpp"
#include "tyto/nn/summary.hpp"
#include "tyto/nn/training.hpp"
#include "tyto/nn/transforms.hpp"
