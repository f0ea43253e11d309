// The compiler must say: LinearOptions
// In lines, at most: 17
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

namespace nn = tyto::nn;

nn::Linear f() { return nn::Linear({.inputs = 3, .out = 4}); }
