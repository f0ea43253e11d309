// The compiler must say: {.in = 3, .out = 8, .window = 3}
// In lines, at most: 16
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

tyto::nn::Conv2d f() { return tyto::nn::Conv2d(3, 8, 3); }
