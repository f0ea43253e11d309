// SPDX-License-Identifier: MIT
// The parts of Mask R-CNN: backbone and pyramid, proposals, the heads of boxes and of masks, targets and losses.
#include "network.hpp"

#include <limits>

namespace nn = tyto::nn;
using Tensor = MaskRcnn::Tensor;
using tyto::all, tyto::DType, tyto::ellipsis, tyto::slice, tyto::stop_gradient;

namespace {

constexpr nn::BoxCoding of_boxes{.weights = {10, 10, 5, 5}};
constexpr std::int64_t region = 7, mask_region = 14, mask_side = 28;

// Of layers whose results begin near 0: scores, offsets, and what deep networks add to their shortcuts.
nn::Initialiser small_weights() { return nn::normal_weights(0.01); }
nn::Conv2d convolution(std::int64_t in, std::int64_t out, int window, int stride,
                       const nn::Initialiser& initial = nn::he_normal) {
  return nn::Conv2d({.in = in,
                     .out = out,
                     .window = window,
                     .stride = stride,
                     .padding = window / 2,
                     .bias = false,
                     .initial = initial});
}
nn::Conv2d biased(std::int64_t in, std::int64_t out, int window, const nn::Initialiser& initial) {
  return nn::Conv2d({.in = in, .out = out, .window = window, .padding = window / 2, .initial = initial});
}

nn::Sequential block(std::int64_t in, std::int64_t width, int stride, bool full) {
  const std::int64_t out = full ? 4 * width : width;
  nn::Sequential body =
      full ? nn::Sequential{convolution(in, width, 1, 1),
                            nn::BatchNorm2d({.channels = width}),
                            tyto::relu,
                            convolution(width, width, 3, stride),
                            nn::BatchNorm2d({.channels = width}),
                            tyto::relu,
                            convolution(width, out, 1, 1, small_weights()),
                            nn::BatchNorm2d({.channels = out})}
           : nn::Sequential{convolution(in, width, 3, stride), nn::BatchNorm2d({.channels = width}), tyto::relu,
                            convolution(width, out, 3, 1), nn::BatchNorm2d({.channels = out})};
  if (stride == 1 && in == out) return {nn::Residual(std::move(body)), tyto::relu};
  nn::Sequential shortcut{convolution(in, out, 1, stride), nn::BatchNorm2d({.channels = out})};
  return {nn::Residual(std::move(body), std::move(shortcut)), tyto::relu};
}

nn::Sequential make_stem(const MaskRcnnOptions& o) {
  if (!o.full) return {convolution(3, o.stem, 3, 2), nn::BatchNorm2d({.channels = o.stem}), tyto::relu};
  return {convolution(3, o.stem, 7, 2), nn::BatchNorm2d({.channels = o.stem}), tyto::relu,
          nn::MaxPool(3, {.stride = 2, .padding = 1})};
}

std::vector<nn::Sequential> make_stages(const MaskRcnnOptions& o) {
  std::vector<nn::Sequential> stages;
  std::int64_t channels = o.stem;
  for (std::size_t i = 0; i < o.widths.size(); ++i) {
    std::vector<nn::Step> blocks;
    for (std::int64_t k = 0; k < o.blocks[i]; ++k) {
      blocks.emplace_back(block(channels, o.widths[i], k > 0 || (o.full && i == 0) ? 1 : 2, o.full));
      channels = o.full ? 4 * o.widths[i] : o.widths[i];
    }
    stages.emplace_back(std::move(blocks));
  }
  return stages;
}

std::vector<std::int64_t> stage_channels(const MaskRcnnOptions& o) {
  std::vector<std::int64_t> channels = o.widths;
  for (std::int64_t& each : channels) each *= o.full ? 4 : 1;
  return channels;
}

nn::Sequential make_mask_layers(const MaskRcnnOptions& o) {
  std::vector<nn::Step> layers;
  for (std::int64_t i = 0; i < o.mask_layers; ++i) {
    layers.emplace_back(biased(o.channels, o.channels, 3, nn::he_normal));
    layers.emplace_back(nn::ReLU());
  }
  layers.emplace_back(
      nn::ConvTranspose2d({.in = o.channels, .out = o.channels, .window = 2, .stride = 2, .initial = nn::he_normal}));
  layers.emplace_back(nn::ReLU());
  return nn::Sequential(std::move(layers));
}

Tensor make_anchors(const MaskRcnnOptions& o) {
  nn::AnchorOptions anchors{.strides = {}, .sizes = o.anchor_sizes};
  for (std::size_t i = 0; i < o.anchor_sizes.size(); ++i) anchors.strides.push_back(4 << i);
  return nn::anchors<Tensor>(o.side, o.side, anchors);
}

/// Of x (batch, n, 4) the rows that `indices` (batch, k) number.
Tensor rows_of(const Tensor& x, const Tensor& indices) {
  return take_along_axis(
      x, broadcast_to(expand_dims(indices, -1), {indices.shape()[0], indices.shape()[1], x.shape()[2]}), 1);
}
/// The same of x (batch, n); -1 numbers none, which becomes `none`.
Tensor kept_of(const Tensor& x, const Tensor& kept, const Tensor& none) {
  const Tensor at = maximum(kept, 0);
  if (x.ndim() == 2) return where(kept >= 0, take_along_axis(x, at, 1), none);
  return where(expand_dims(kept >= 0, -1), rows_of(x, at), none);
}
/// The sum of what counts over how many do, or over how many `among` names.
Tensor mean_of(const Tensor& x, const Tensor& counts, const Tensor& among) {
  return sum(x * counts.astype(DType::f32)) / maximum(sum(among.astype(DType::f32)), 1.0);
}
Tensor mean_of(const Tensor& x, const Tensor& counts) { return mean_of(x, counts, counts); }
Tensor box_distance(const Tensor& offsets, const Tensor& wanted) {
  return sum(nn::smooth_l1(offsets, wanted, 1.0, nn::Reduction::none), -1);
}
Tensor flat(const Tensor& x) { return reshape(x, {-1}); }

}  // namespace

MaskRcnnOptions full_size() {
  return {.side = 768,
          .classes = 80,
          .stem = 64,
          .widths = {64, 128, 256, 512},
          .blocks = {3, 4, 23, 3},
          .full = true,
          .channels = 256,
          .coarser = 1,
          .hidden = 1024,
          .mask_layers = 4,
          .anchor_sizes = {32, 64, 128, 256, 512},
          .canonical_size = 224,
          .canonical_level = 2,
          .candidates = 6000,
          .proposals = 1000,
          .detections = 100,
          .detection_overlap = 0.3,
          .detection_score = 0};
}

MaskRcnn::MaskRcnn(const MaskRcnnOptions& o)
    : o_(o),
      anchors_(make_anchors(o)),
      stem_(make_stem(o)),
      stages_(make_stages(o)),
      pyramid_({.in = stage_channels(o), .out = o.channels, .coarser = o.coarser}),
      proposal_(biased(o.channels, o.channels, 3, nn::he_normal)),
      proposal_score_(biased(o.channels, 3, 1, small_weights())),
      proposal_offsets_(biased(o.channels, 12, 1, small_weights())),
      hidden1_({.in = region * region * o.channels, .out = o.hidden, .initial = nn::he_normal}),
      hidden2_({.in = o.hidden, .out = o.hidden, .initial = nn::he_normal}),
      class_({.in = o.hidden, .out = o.classes + 1, .initial = small_weights()}),
      offsets_({.in = o.hidden, .out = 4 * (o.classes + 1), .initial = small_weights()}),
      mask_layers_(make_mask_layers(o)),
      mask_(biased(o.channels, o.classes + 1, 1, small_weights())) {}

nn::Members MaskRcnn::members() const {
  return {{"stem", stem_},
          {"stages", stages_},
          {"pyramid", pyramid_},
          {"proposal", proposal_},
          {"proposal_score", proposal_score_},
          {"proposal_offsets", proposal_offsets_},
          {"hidden1", hidden1_},
          {"hidden2", hidden2_},
          {"class", class_},
          {"offsets", offsets_},
          {"mask_layers", mask_layers_},
          {"mask", mask_}};
}

MaskRcnn::Features MaskRcnn::features(const Tensor& pictures, nn::Phase phase) const {
  Tensor x = stem_(pictures, phase);
  std::vector<Tensor> maps, scores, offsets;
  for (const nn::Sequential& stage : stages_) maps.push_back(x = stage(x, phase));
  Features found{pyramid_(maps), {}, {}};
  const std::int64_t batch = pictures.shape()[0];
  for (const Tensor& level : found.levels) {
    const Tensor hidden = relu(proposal_(level));
    scores.push_back(reshape(proposal_score_(hidden), {batch, -1}));
    offsets.push_back(reshape(proposal_offsets_(hidden), {batch, -1, 4}));
  }
  found.levels.resize(maps.size());
  found.scores = concat(scores, 1);
  found.offsets = concat(offsets, 1);
  return found;
}

// The boxes (batch, proposals, 4) to look at; zeros behind the last one.
Tensor MaskRcnn::propose(const Features& f) const {
  const auto best = topk(stop_gradient(f.scores), std::min(o_.candidates, anchor_count()), 1);
  const Tensor from = rows_of(broadcast_to(expand_dims(anchors_, 0), f.offsets.shape()), best.indices);
  const Tensor boxes =
      nn::clip_boxes(nn::decode_boxes(rows_of(stop_gradient(f.offsets), best.indices), from), o_.side, o_.side);
  const auto kept = nms(boxes, best.values, {.count = o_.proposals, .overlap = o_.proposal_overlap});
  return kept_of(boxes, kept.indices, 0);
}

// (batch, boxes, 4) to (batch * boxes, size, size, channels), each from the level for its size.
Tensor MaskRcnn::regions(const Features& f, const Tensor& boxes, std::int64_t size) const {
  std::vector<double> scales;
  for (std::size_t i = 0; i < f.levels.size(); ++i) scales.push_back(0.25 / static_cast<double>(1 << i));
  const Tensor rows = reshape(boxes, {-1, 4});
  const Tensor levels = nn::pyramid_levels(rows, {.levels = static_cast<std::int64_t>(f.levels.size()),
                                                  .canonical_size = o_.canonical_size,
                                                  .canonical_level = o_.canonical_level});
  const Tensor pictures = repeat(Tensor::arange(boxes.shape()[0]), boxes.shape()[1], 0);
  return roi_align(f.levels, rows, pictures, levels, {.size = {size, size}, .samples = 2, .scales = scales});
}

std::pair<Tensor, Tensor> MaskRcnn::classify(const Tensor& regions) const {
  const Tensor hidden = relu(hidden2_(relu(hidden1_(reshape(regions, {regions.shape()[0], -1})))));
  return {class_(hidden), reshape(offsets_(hidden), {-1, o_.classes + 1, 4})};
}

// Logits of the masks (regions, 28, 28) of these classes.
Tensor MaskRcnn::draw_masks(const Tensor& regions, const Tensor& labels) const {
  const Tensor of_classes = mask_(mask_layers_(regions));
  const Tensor own = broadcast_to(reshape(labels, {-1, 1, 1, 1}), {regions.shape()[0], mask_side, mask_side, 1});
  return take_along_axis(of_classes, own, -1)(ellipsis, 0);
}

MaskRcnn::Losses MaskRcnn::losses(const Tensor& pictures, const Tensor& masks, const Tensor& labels,
                                  const Tensor& noise) const {
  constexpr std::int64_t compared = 64, drawn = 12;
  const std::int64_t batch = pictures.shape()[0], objects = labels.shape()[1];
  const Features f = features(pictures, nn::training);
  const Tensor truth = nn::mask_boxes(masks);

  // Some of the anchors: those of objects, and others drawn by lot.
  const auto anchors = nn::assign_boxes(nn::box_iou(anchors_, truth), {.positive = 0.5, .negative = 0.3, .best = true});
  const Tensor lot = where(anchors.positive, noise + 1.0, where(anchors.negative, noise, -1.0));
  const Tensor chosen = lot >= maximum(topk(lot, compared, 1).values(all, slice(compared - 1, {})), 0.0);
  const Tensor objectness = nn::binary_cross_entropy_with_logits(f.scores, anchors.positive.astype(DType::f32),
                                                                 {.reduction = nn::Reduction::none});
  const Tensor wanted_offsets = nn::encode_boxes(rows_of(truth, anchors.indices), anchors_);
  Losses losses;
  losses.proposals =
      mean_of(objectness, chosen) + mean_of(box_distance(f.offsets, wanted_offsets), anchors.positive, chosen);

  // Proposals, and the true boxes themselves.
  const Tensor boxes = stop_gradient(tyto::concat({propose(f), truth}, 1));
  const Tensor iou = nn::box_iou(boxes, truth);
  const auto found = nn::assign_boxes(iou);
  const Tensor target = flat(where(found.positive, take_along_axis(labels, found.indices, 1), 0));
  const auto [scores, offsets] = classify(regions(f, boxes, region));
  const Tensor real = flat(boxes(ellipsis, 2) > boxes(ellipsis, 0));
  losses.classes = mean_of(nn::cross_entropy(scores, target, {.reduction = nn::Reduction::none}), real);
  const Tensor own = sum(offsets * expand_dims(one_hot(target, o_.classes + 1), -1), 1);
  const Tensor wanted = reshape(nn::encode_boxes(rows_of(truth, found.indices), boxes, of_boxes), {-1, 4});
  losses.boxes = mean_of(box_distance(own, wanted), flat(found.positive), real);

  // Masks of the boxes that overlap their objects most.
  const Tensor best = topk(max(iou, -1), drawn, 1).indices;
  const Tensor mask_boxes = rows_of(boxes, best), object = take_along_axis(found.indices, best, 1);
  const Tensor label = take_along_axis(reshape(target, {batch, -1}), best, 1);
  const Tensor logits = draw_masks(regions(f, mask_boxes, mask_region), label);
  const Tensor layers = reshape(masks.astype(DType::f32), {batch * objects, o_.side, o_.side, 1});
  const Tensor numbers = flat(object + expand_dims(Tensor::arange(batch) * objects, 1));
  const Tensor parts =
      roi_align(layers, reshape(mask_boxes, {-1, 4}), numbers, {.size = {mask_side, mask_side}})(ellipsis, 0);
  const Tensor pixels = nn::binary_cross_entropy_with_logits(logits, (parts >= 0.5).astype(DType::f32),
                                                             {.reduction = nn::Reduction::none});
  losses.masks = mean_of(mean(pixels, {1, 2}), flat(label > 0));
  return losses;
}

MaskRcnn::Detections MaskRcnn::detect(const Tensor& pictures) const {
  const std::int64_t batch = pictures.shape()[0];
  const Features f = features(pictures, nn::inference);
  const Tensor proposals = propose(f);
  const auto [logits, offsets] = classify(regions(f, proposals, region));
  const Tensor chances = softmax(logits, -1)(all, slice(1, {}));
  const Tensor label = argmax(chances, -1) + 1;
  const Tensor own =
      take_along_axis(offsets, broadcast_to(reshape(label, {-1, 1, 1}), {label.shape()[0], 1, 4}), 1)(all, 0);
  const Tensor boxes =
      nn::clip_boxes(nn::decode_boxes(reshape(own, proposals.shape()), proposals, of_boxes), o_.side, o_.side);
  const Tensor labels = reshape(label, {batch, -1});
  const Tensor real = proposals(ellipsis, 2) > proposals(ellipsis, 0);
  const Tensor scores = where(real, reshape(max(chances, -1), {batch, -1}), 0.0);
  // One suppression for all classes: each has a place of its own.
  const Tensor apart = boxes + expand_dims(labels.astype(DType::f32), -1) * (2.0 * static_cast<double>(o_.side));
  const Tensor kept =
      nms(apart, scores, {.count = o_.detections, .overlap = o_.detection_overlap, .score = o_.detection_score})
          .indices;
  Detections found;
  found.boxes = kept_of(boxes, kept, 0);
  found.scores = kept_of(scores, kept, -std::numeric_limits<double>::infinity());
  found.labels = kept_of(labels, kept, 1);
  const Tensor masks = sigmoid(draw_masks(regions(f, found.boxes, mask_region), flat(found.labels)));
  found.masks = reshape(masks, {batch, o_.detections, mask_side, mask_side});
  return found;
}
