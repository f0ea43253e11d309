// SPDX-License-Identifier: MIT
// Mask R-CNN (He et al. 2017) with shapes known beforehand: what is no object, no box or no detection is a row of its
// tensor that does not count. So it is one graph, training included.
#pragma once

#include <tyto/nn.hpp>
#include <tyto/tyto.hpp>
#include <vector>

struct MaskRcnnOptions {
  std::int64_t side = 96;                                                ///< of pictures
  std::int64_t classes = 3;                                              ///< besides the background, which is class 0
  std::int64_t stem = 16;                                                ///< channels of the first convolution
  std::vector<std::int64_t> widths = {32, 64, 128}, blocks = {1, 1, 1};  ///< of the stages
  bool full = false;  ///< a stem that quarters the picture and blocks of three convolutions, as in ResNet-50 and -101
  std::int64_t channels = 64;    ///< of the pyramid
  std::int64_t coarser = 0;      ///< levels of the pyramid behind the last stage, for proposals alone
  std::int64_t hidden = 128;     ///< of the classifier of boxes
  std::int64_t mask_layers = 2;  ///< convolutions before the mask is enlarged
  std::vector<double> anchor_sizes = {16, 32, 48};  ///< one a level
  double canonical_size = 48;                       ///< boxes with this side are cut out of level
  double canonical_level = 1;                       ///< from 0, the finest, on
  std::int64_t candidates = 256;                    ///< boxes of the best scores, of which
  std::int64_t proposals = 24;                      ///< so many that overlap little are looked at
  double proposal_overlap = 0.7;
  std::int64_t detections = 10;    ///< at most, a picture
  double detection_overlap = 0.4;  ///< of boxes of one class
  double detection_score = 0.05;
};

/// The network of the paper for the 80 classes of COCO: ResNet-101, 768 x 768 pixels.
MaskRcnnOptions full_size();

struct MaskRcnn : tyto::nn::Module {
  using Tensor = tyto::Tensor<tyto::Any>;

  /// The feature maps of the backbone, and its predictions for all anchors.
  struct Features {
    std::vector<Tensor> levels;  ///< that regions are cut out of
    Tensor scores;               ///< (batch, anchors), a logit
    Tensor offsets;              ///< (batch, anchors, 4)
  };
  /// Of the proposals (objects or not, and where), of the boxes (which class, and where), and of the masks.
  struct Losses {
    Tensor proposals, classes, boxes, masks;
  };
  /// Best first; a score of -infinity is no detection.
  struct Detections {
    Tensor boxes;   ///< (batch, detections, 4)
    Tensor scores;  ///< (batch, detections)
    Tensor labels;  ///< (batch, detections), from 1 on
    Tensor masks;   ///< (batch, detections, 28, 28), probabilities over the box
  };

  explicit MaskRcnn(const MaskRcnnOptions& options);
  tyto::nn::Members members() const override;

  /// Pictures (batch, side, side, 3), numbers from -1 to 1; masks of truths (batch, objects, side, side), empty where
  /// there is no object; labels (batch, objects); `noise` (batch, anchors) decides which anchors are compared.
  Losses losses(const Tensor& pictures, const Tensor& masks, const Tensor& labels, const Tensor& noise) const;
  Detections detect(const Tensor& pictures) const;
  std::int64_t anchor_count() const { return anchors_.shape()[0]; }

 private:
  Features features(const Tensor& pictures, tyto::nn::Phase phase) const;
  Tensor propose(const Features& features) const;
  Tensor regions(const Features& features, const Tensor& boxes, std::int64_t size) const;
  std::pair<Tensor, Tensor> classify(const Tensor& regions) const;
  Tensor draw_masks(const Tensor& regions, const Tensor& labels) const;

  MaskRcnnOptions o_;
  Tensor anchors_;
  tyto::nn::Sequential stem_;
  std::vector<tyto::nn::Sequential> stages_;
  tyto::nn::FeaturePyramid pyramid_;
  tyto::nn::Conv2d proposal_, proposal_score_, proposal_offsets_;
  tyto::nn::Linear hidden1_, hidden2_, class_, offsets_;
  tyto::nn::Sequential mask_layers_;
  tyto::nn::Conv2d mask_;
};
