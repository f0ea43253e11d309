// SPDX-License-Identifier: MIT
// Mask R-CNN finds, names and outlines shapes that it was trained on; or runs in full size, for time and memory.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <functional>
#include <limits>
#include <string>
#include <tyto/images.hpp>
#include <tyto/io.hpp>
#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>

#include "examples/command_line.hpp"
#include "examples/run_in_mode.hpp"
#include "examples/training_run.hpp"
#include "network.hpp"
#include "shapes.hpp"

namespace nn = tyto::nn;
using tyto::all, tyto::DType, tyto::slice;

namespace {

struct Options {
  std::string mode = "lazy";
  std::string device = "cpu";
  std::string size = "small";
  std::string checkpoint;
  std::string csv;
  std::string page;
  std::string picture;
  std::string arrays;
  std::int64_t steps = 1500;
  std::int64_t steps_now = std::numeric_limits<std::int64_t>::max();
  std::int64_t batch = 8;
  std::int64_t test = 200;
  std::int64_t every = 250;
  std::int64_t runs = 3;
  std::uint64_t seed = 42;
  double rate = 0.002;
};

CommandLine command_line(Options& options) {
  CommandLine line("mask_rcnn", "Trains Mask R-CNN to find circles, squares and triangles and to outline them.");
  line.choice("--mode", options.mode, {"eager", "lazy"}, "compute each line at once, or record and compile the step")
      .text("--device", options.device, "NAME", "cpu, opencl, opencl:1 ...")
      .choice("--size", options.size, {"small", "full"},
              "full: ResNet-101 with random weights on 768 x 768 pixels, to measure time and memory")
      .number("--runs", options.runs, 1, "timed runs of the full-size network")
      .text("--arrays", options.arrays, "FILE.npz", "write weights, picture and detections of the full-size network")
      .number("--steps", options.steps, 1, "steps in all; the learning-rate schedule spans them")
      .number("--steps-now", options.steps_now, 0, "stop after this many steps")
      .number("--batch", options.batch, 1, "pictures in a batch")
      .number("--test", options.test, 1, "test pictures, of another seed")
      .number("--rate", options.rate, 0, "largest learning rate")
      .number("--seed", options.seed, 0, "random seed of weights, pictures and anchors")
      .number("--every", options.every, 1, "steps between tests")
      .text("--checkpoint", options.checkpoint, "FILE", "resume from FILE if it exists; save there at each test")
      .text("--csv", options.csv, "FILE", "write the metrics")
      .text("--page", options.page, "FILE", "write a page with curves of the metrics")
      .text("--picture", options.picture, "FILE.png", "draw the detections in eight pictures at the end");
  return line;
}

template <class Tensor, class Compiled>
void print_memory(const Compiled& compiled) {
  print_plan<Tensor>(compiled);
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  std::printf("process: %.0f MiB at most\n", static_cast<double>(usage.ru_maxrss) / 1024);
}

/// As the network takes it, which is written once for both modes.
template <class Tensor>
MaskRcnn::Tensor given(const Tensor& x) {
  return MaskRcnn::Tensor(x.value());
}
template <class Tensor>
Tensor scaled(const Tensor& pictures) {
  return pictures.astype(DType::f32) / 127.5 - 1.0;
}
/// Masks of a picture's objects, (batch, 4, side, side), from the numbers in its pixels.
template <class Tensor>
Tensor masks_of(const Tensor& seen) {
  const Tensor object = floor_divide(seen.astype(DType::i64) + (shapes_classes - 1), shapes_classes);  // from 1 on
  return expand_dims(object, 1) == reshape(Tensor::arange(1, shapes_most + 1), {1, -1, 1, 1});
}
/// (batch, 4); 0 where there is no object.
template <class Tensor>
Tensor labels_of(const Tensor& seen) {
  const Tensor kind = remainder(seen.astype(DType::i64) + (shapes_classes - 1), shapes_classes) + 1;
  return max(where(masks_of(seen), expand_dims(kind, 1), 0), {2, 3});
}

/// Average precision of masks as COCO takes it: the mean over classes, and over the overlaps 0.5, 0.55, ... 0.95.
template <class Tensor>
class Test {
 public:
  Test(const MaskRcnn& model, const Options& o)
      : batches_(Shapes(o.test),
                 {.size = std::min<std::int64_t>(o.test, 20), .shuffle = false, .seed = o.seed ^ 0x7465737400000000}),
        find_(tyto::compile([this, &model](Tensor pictures, Tensor seen) {
          const MaskRcnn::Detections d = model.detect(given(scaled(pictures)));
          const Tensor labels(d.labels), masks(d.masks), objects = labels_of(seen);
          const Tensor found = nn::paste_masks(masks, Tensor(d.boxes), shapes_side, shapes_side) > 0.5;
          const Tensor same = expand_dims(labels, 2) == expand_dims(objects, 1);
          const Tensor right = nn::match_detections(where(same, nn::mask_iou(found, masks_of(seen)), 0.0), overlaps_);
          const Tensor classes = reshape(Tensor::arange(1, shapes_classes + 1), {-1, 1, 1});
          const Tensor there = sum((expand_dims(objects, 0) == classes).astype(DType::i64), {1, 2});
          return std::tuple{Tensor(d.scores), labels, right, there};
        })) {}

  nn::Figures run() {
    std::vector<Tensor> scores, labels, right, of_classes;
    Tensor objects = Tensor::zeros({shapes_classes}, DType::i64);
    batches_.seek({0, 0});
    for (const auto& [pictures, seen] : batches_) {
      const auto [s, l, r, o] = find_(pictures, seen);
      scores.push_back(reshape(s, {-1}));
      labels.push_back(reshape(l, {-1}));
      right.push_back(reshape(r, {static_cast<std::int64_t>(overlaps_.size()), -1}));
      objects = objects + o;
    }
    const Tensor score = concat(scores), label = concat(labels), hits = concat(right, 1);
    for (std::int64_t c = 0; c < shapes_classes; ++c) {
      const Tensor own = where(label == c + 1, score, -std::numeric_limits<double>::infinity());
      of_classes.push_back(nn::average_precision(own, hits, Tensor(objects(c))));
    }
    const Tensor precision = nanmean(stack(of_classes), 0);  // of the classes that have objects
    const auto each = precision.template to_vector<float>();
    return {{"AP", mean(precision).template item<float>()}, {"AP50", each[0]}, {"AP75", each[5]}};
  }

 private:
  nn::Batches<Tensor> batches_;
  const std::vector<double> overlaps_ = {0.5, 0.55, 0.6, 0.65, 0.7, 0.75, 0.8, 0.85, 0.9, 0.95};
  std::function<std::tuple<Tensor, Tensor, Tensor, Tensor>(const Tensor&, const Tensor&)> find_;
};

/// Eight pictures, three times as large, under the masks and boxes of what is found with a score of at least a half.
template <class Tensor>
Tensor drawn(const MaskRcnn& model, const Tensor& pictures) {
  constexpr std::int64_t scale = 3, side = scale * shapes_side;
  const MaskRcnn::Detections d = model.detect(given(scaled(pictures)));
  const Tensor boxes = Tensor(d.boxes) * static_cast<double>(scale), labels(d.labels);
  const Tensor there = expand_dims(Tensor(d.scores) >= 0.5, {2, 3});
  const auto corner = [&](int i) { return expand_dims(boxes(tyto::ellipsis, i), {2, 3}); };
  const Tensor x = Tensor::arange(side).astype(DType::f32) + 0.5, y = expand_dims(x, 1);
  const auto within = [&](double margin) {
    return x > corner(0) + margin && x < corner(2) - margin && y > corner(1) + margin && y < corner(3) - margin;
  };
  const Tensor filled = there && nn::paste_masks(Tensor(d.masks), boxes, side, side) > 0.5;
  const Tensor edges = there && within(-1.0) && !within(1.0);
  Tensor image = upsample(pictures.astype(DType::f32), scale);
  for (std::int64_t c = 1; c <= shapes_classes; ++c) {
    const Tensor own = expand_dims(labels == c, {2, 3}), ink = Tensor::eye(shapes_classes)(c - 1) * 255.0;
    image = where(expand_dims(any(filled && own, 1), 3), image * 0.4 + ink * 0.6, image);
    image = where(expand_dims(any(edges && own, 1), 3), ink, image);
  }
  const Tensor grid = transpose(reshape(image, {2, -1, side, side, 3}), {0, 2, 1, 3, 4});
  return reshape(grid, {2 * side, -1, 3}).astype(DType::u8);
}

template <class Tensor>
int train(const Options& options) {
  tyto::seed(options.seed);
  const MaskRcnn model{MaskRcnnOptions()};
  nn::Batches<Tensor> batches(Shapes(options.steps * options.batch),
                              {.size = options.batch, .shuffle = false, .seed = options.seed, .ahead = 2});
  nn::Descent descent = nn::adamw({.rate = nn::one_cycle(options.rate, options.steps)});
  auto objective = [&](Tensor pictures, Tensor seen) -> Tensor {
    const Tensor noise = Tensor::uniform({pictures.shape()[0], model.anchor_count()});
    const auto l = model.losses(given(scaled(pictures)), given(masks_of(seen)), given(labels_of(seen)), given(noise));
    return Tensor(l.proposals + l.classes + l.boxes + l.masks);
  };
  auto step = tyto::compile([&](Tensor pictures, Tensor seen) {
    auto [loss, gradients] = tyto::value_and_grad(objective, model.parameters())(pictures, seen);
    descent.update(model.parameters(), nn::clip_by_global_norm(gradients, 5));
    return loss;
  });
  Test<Tensor> test(model, options);

  nn::TrainingHistory history(
      {.every = options.every, .csv = options.csv, .page = options.page, .title = "Mask R-CNN"});
  nn::Checkpoint checkpoint;
  checkpoint.add("model", model.named_states())
      .add("descent", descent.state(model.named_parameters()))
      .add("batches", batches)
      .add("history", history);
  resume(checkpoint, options.checkpoint, descent);
  std::printf("drawn shapes: %lld parameters, %lld anchors; %s on %s\n",
              static_cast<long long>(nn::parameter_count(model)), static_cast<long long>(model.anchor_count()),
              options.mode.c_str(), options.device.c_str());
  std::fflush(stdout);

  const nn::TrainingReport report = nn::train(step, batches,
                                              {.steps = options.steps_now,
                                               .validate = [&] { return test.run(); },
                                               .history = &history,
                                               .save = {&checkpoint, options.checkpoint, options.every}});
  if (const int code = report_end(report, options.checkpoint); code != 0) return code;
  if (report.steps > 0) print_memory<Tensor>(step);
  if (!options.picture.empty()) {
    nn::Batches<Tensor> eight(Shapes(8), {.size = 8, .shuffle = false, .seed = options.seed + 1});
    tyto::write_png(options.picture, drawn(model, eight.next()->first));
  }
  return 0;
}

template <class Tensor>
int run_full_size(const Options& options) {
  tyto::seed(options.seed);
  const MaskRcnnOptions network = full_size();
  const MaskRcnn model(network);
  const Tensor picture = Tensor::uniform({1, network.side, network.side, 3}, {.low = -1});
  auto find = tyto::compile([&](Tensor x) {
    const MaskRcnn::Detections d = model.detect(given(x));
    return std::tuple{Tensor(d.boxes), Tensor(d.scores), Tensor(d.labels), Tensor(d.masks)};
  });
  std::printf("%lld parameters, %lld anchors; %s on %s\n", static_cast<long long>(nn::parameter_count(model)),
              static_cast<long long>(model.anchor_count()), options.mode.c_str(), options.device.c_str());
  for (std::int64_t i = 0; i <= options.runs; ++i) {
    const auto start = std::chrono::steady_clock::now();
    const auto [boxes, scores, labels, masks] = find(picture);
    const double best = max(scores).template item<double>(), fill = mean(masks).template item<double>();
    const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    std::printf("run %d: %.2f s; best score %.6f, masks %.6f\n", static_cast<int>(i), seconds, best, fill);
  }
  print_memory<Tensor>(find);
  if (!options.arrays.empty()) {
    const auto [boxes, scores, labels, masks] = find(picture);
    auto arrays = model.named_states();
    arrays.insert(arrays.end(), {{"picture", given(picture)},
                                 {"boxes", given(boxes)},
                                 {"scores", given(scores)},
                                 {"labels", given(labels)},
                                 {"masks", given(masks)}});
    tyto::write_npz(options.arrays, arrays);
  }
  return 0;
}

}  // namespace

int main(int count, char** words) {
  Options options;
  return run_in_mode("mask_rcnn", command_line(options), count, words, options.mode, [&]<class Tensor>() {
    const tyto::DeviceScope device(options.device);
    return options.size == "full" ? run_full_size<Tensor>(options) : train<Tensor>(options);
  });
}
