// The numerical API in one include; layers and training are in tyto/nn.hpp, files in tyto/io.hpp.
#pragma once

#include "tyto/activations.hpp"
#include "tyto/autodiff.hpp"
#include "tyto/custom.hpp"
#include "tyto/device.hpp"
#include "tyto/elementwise.hpp"
#include "tyto/graph.hpp"
#include "tyto/indexing.hpp"
#include "tyto/memory.hpp"
#include "tyto/named.hpp"
#include "tyto/passes.hpp"
#include "tyto/products.hpp"
#include "tyto/reduce.hpp"
#include "tyto/shaping.hpp"
#include "tyto/tensor.hpp"
#include "tyto/version.hpp"
#include "tyto/windows.hpp"
