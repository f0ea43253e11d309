// SPDX-License-Identifier: MIT
// All layers, one header for each kind.
#pragma once

#include "tyto/nn/activations.hpp"
#include "tyto/nn/attention.hpp"
#include "tyto/nn/containers.hpp"
#include "tyto/nn/convolution.hpp"
#include "tyto/nn/copies.hpp"
#include "tyto/nn/embedding.hpp"
#include "tyto/nn/linear.hpp"
#include "tyto/nn/noise.hpp"
#include "tyto/nn/normalisation.hpp"
#include "tyto/nn/patches.hpp"
#include "tyto/nn/pooling.hpp"
#include "tyto/nn/recurrent.hpp"
#include "tyto/nn/reparametrised.hpp"
#include "tyto/nn/transformer.hpp"
