// Neural networks: layers, losses, initial values, gradient descent, batches, the training loop and files.
#pragma once

#include "tyto/nn/averages.hpp"
#include "tyto/nn/batches.hpp"
#include "tyto/nn/checkpoint.hpp"
#include "tyto/nn/class_losses.hpp"
#include "tyto/nn/clipping.hpp"
#include "tyto/nn/descent.hpp"
#include "tyto/nn/initial.hpp"
#include "tyto/nn/layer.hpp"
#include "tyto/nn/layers.hpp"
#include "tyto/nn/loading.hpp"
#include "tyto/nn/losses.hpp"
#include "tyto/nn/module.hpp"
#include "tyto/nn/rates.hpp"
#include "tyto/nn/rules.hpp"
#include "tyto/nn/summary.hpp"
#include "tyto/nn/training.hpp"
