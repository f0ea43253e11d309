// The compiler must say: of model.named_states()
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

tyto::nn::AveragedWeights f(tyto::nn::Sequential model) { return tyto::nn::AveragedWeights(model, {.decay = 0.9}); }
