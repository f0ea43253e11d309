// The compiler must say: save(const Module& model, const std::string& path)
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

namespace nn = tyto::nn;

void f(nn::Sequential model) { nn::save("model.safetensors", model); }
