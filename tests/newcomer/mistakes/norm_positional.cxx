// The compiler must say: BatchNorm2d({.channels = 8})
// In lines, at most: 18
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

tyto::nn::BatchNorm2d f() { return tyto::nn::BatchNorm2d(8); }
