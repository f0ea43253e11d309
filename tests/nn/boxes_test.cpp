// SPDX-License-Identifier: MIT
// Boxes, masks and pyramids against torchvision's formulas and COCO's evaluation written out, in both modes.
#include <cmath>
#include <limits>
#include <tyto/nn.hpp>

#include "tests/nn/goldens_of.hpp"

namespace tyto::nn {
namespace boxes_test {

using goldens::check_near;
const std::string file = "tests/nn/goldens/boxes.npz";

Tensor<Eager> golden(const std::string& name) { return goldens::array<Eager>(file, name); }
template <class M>
Tensor<M> given(const std::string& name) {
  return goldens::array<M>(file, name);
}

template <class T>
std::vector<double> numbers(const T& x) {
  return x.astype(DType::f64).template to_vector<double>();
}

template <class F>
std::string message(const F& f) {
  try {
    f();
  } catch (const Error& error) {
    return error.what();
  }
  return "";
}

using List = std::vector<double>;

}  // namespace boxes_test
using namespace boxes_test;

TEST_CASE_TEMPLATE("box_iou, box coding and pasted masks are torchvision's", M, Eager, Lazy) {
  check_near(box_iou(given<M>("iou/a"), given<M>("iou/b")), golden("iou/out"), "iou");
  for (const std::string name : {"coding_plain", "coding_weighted"}) {
    const BoxCoding coding{.weights = name == "coding_plain" ? std::array<double, 4>{1, 1, 1, 1}
                                                             : std::array<double, 4>{10, 10, 5, 4}};
    const Tensor<M> from = given<M>(name + "/from");
    check_near(encode_boxes(given<M>(name + "/boxes"), from, coding), golden(name + "/encoded"), "encoded");
    check_near(decode_boxes(given<M>(name + "/offsets"), from, coding), golden(name + "/decoded"), "decoded");
    // Where nothing is cut off, one is the inverse of the other.
    const Tensor<M> there = decode_boxes(encode_boxes(given<M>(name + "/boxes"), from, coding), from, coding);
    CHECK(allclose(there, given<M>(name + "/boxes"), 1e-12, 1e-12));
  }
  check_near(paste_masks(given<M>("paste/masks"), given<M>("paste/boxes"), 12, 14), golden("paste/out"), "pasted");
}

TEST_CASE_TEMPLATE("detections are matched and averaged as COCO does it", M, Eager, Lazy) {
  check_near(match_detections(given<M>("match/iou"), {0.25, 0.5, 0.75}), golden("match/out"), "matches");
  const Tensor<M> scores = given<M>("average_precision/scores"), right = given<M>("average_precision/right");
  check_near(average_precision(scores, right, 50), golden("average_precision/out"), "average precision");
  check_near(average_precision(scores, right != 0, Tensor<M>{50, 50, 50}), golden("average_precision/out"), "of each");
}

TEST_CASE_TEMPLATE("a feature pyramid computes what PyTorch's layers do, at odd sizes too", M, Eager, Lazy) {
  const FeaturePyramid pyramid({.in = {3, 4, 2}, .out = 3, .coarser = 1, .dtype = DType::f64});
  load(pyramid, file,
       {.rename =
            [](const std::string& key) {
              const bool own = key.find("pyramid/") == 0 && key.find("_blocks") != std::string::npos;
              return own ? key.substr(8) : std::string();
            },
        .layout = WeightLayout::pytorch});
  std::vector<Tensor<M>> maps;
  for (const char* name : {"pyramid/map0", "pyramid/map1", "pyramid/map2"}) maps.push_back(given<M>(name));
  const std::vector<Tensor<M>> levels = pyramid(maps);
  REQUIRE(levels.size() == 4);
  for (std::size_t i = 0; i < 4; ++i) check_near(levels[i], golden("pyramid/level" + std::to_string(i)), "level");
  check_near(pyramid_levels(given<M>("levels/boxes")), golden("levels/out"), "levels");
}

TEST_CASE_TEMPLATE("average precision of lists that can be worked out by hand", M, Eager, Lazy) {
  using T = Tensor<M>;
  const T scores{0.9, 0.8, 0.7, 0.6};
  const auto ap = [&](const T& right, std::int64_t objects) {
    return average_precision(scores, right, objects).template item<double>();
  };
  CHECK(ap(T{1, 1, 1, 1}, 4) == doctest::Approx(1));
  CHECK(ap(T{0, 0, 0, 0}, 4) == 0);
  // All four found are right and four more are not found: 51 of the 101 recalls.
  CHECK(ap(T{1, 1, 1, 1}, 8) == doctest::Approx(51.0 / 101));
  // Recalls to 0.5 at precision 1, those to 1 at 2 / 4.
  CHECK(ap(T{1, 0, 0, 1}, 2) == doctest::Approx((51 + 50 * 0.5) / 101));
  // The better precision of a higher recall counts: 2 / 3 everywhere.
  CHECK(ap(T{0, 1, 1, 0}, 2) == doctest::Approx(2.0 / 3));
  CHECK(std::isnan(ap(T{1, 0, 0, 0}, 0)));
  const T padded{0.9, -std::numeric_limits<double>::infinity(), 0.7, 0.6};
  CHECK(average_precision(padded, T{1, 1, 1, 0}, 2).template item<double>() == doctest::Approx(1));
  CHECK(average_precision(T::zeros({0}), T::zeros({2, 0}), 3).template to_vector<float>() == std::vector<float>{0, 0});
}

TEST_CASE_TEMPLATE("a detection takes the best object that no better detection has", M, Eager, Lazy) {
  using T = Tensor<M>;
  // The second overlaps object 0 most, which the first has; object 1 is left to it at 0.5, and not at 0.65.
  const T iou{{0.9, 0.1}, {0.8, 0.6}, {0.7, 0.7}};
  CHECK(numbers(match_detections(iou, {0.5, 0.65, 0.95})) == List{1, 1, 0, 1, 0, 1, 0, 0, 0});
  CHECK(match_detections(T::ones({3, 0}), {0.5}).template to_vector<bool>() == std::vector<bool>(3));
  CHECK(to_string(match_detections(T::ones({2, 0, 4}), {0.5, 0.7}).shape()) == "(2,2,0)");
}

// Results of pycocotools' evaluateImg at these ties, worked out by hand.
TEST_CASE_TEMPLATE("in ties a detection takes the last object, and at threshold 0 one without overlap", M, Eager,
                   Lazy) {
  using T = Tensor<M>;
  // The first takes object 2 of 0 and 2; the second is left 0 at 0.5, with which it overlaps less than with 2.
  const T iou{{0.6, 0.2, 0.6}, {0.5, 0.1, 0.9}, {0.0, 0.0, 0.0}, {0.0, 0.0, 0.0}};
  CHECK(numbers(match_detections(iou, {0, 0.5, 0.55})) == List{1, 1, 1, 0, 1, 1, 0, 0, 1, 0, 0, 0});
  // Had the first taken object 0, the second would be wrong and the third right.
  const T three{{0.7, 0.7}, {0.8, 0.1}, {0.2, 0.9}};
  CHECK(numbers(match_detections(three, {0.5})) == List{1, 1, 0});
  CHECK(numbers(match_detections(T{{{0.7, 0.7}, {0.1, 0.8}}, {{0.7, 0.7}, {0.8, 0.1}}}, {0.5})) == List{1, 0, 1, 1});
  CHECK(numbers(match_detections(T::from(std::vector<double>{1 - 1e-11, 1}, {2, 1}), {1})) == List{1, 0});
}

TEST_CASE_TEMPLATE("a box overlaps itself wholly at any size, and boxes as their parts say", M, Eager, Lazy) {
  using T = Tensor<M>;
  for (const double size : {3e38, 3e20, 1.0, 1e-20, 1e-37}) {
    CAPTURE(size);
    // Itself, its half, its quarter, a third of what two cover, none of it, and a box without area.
    const T unit{{0.0, 0.0, 1.0, 1.0},  {0.0, 0.0, 1.0, 0.5},  {0.5, 0.5, 1.0, 1.0},
                 {-0.5, 0.0, 0.5, 1.0}, {-1.0, 0.0, 0.0, 1.0}, {0.5, 0.5, 0.5, 0.5}};
    const T boxes = unit * size;
    CHECK(allclose(box_iou(boxes(slice(0, 1)), boxes), T{{1.0, 0.5, 0.25, 1.0 / 3, 0.0, 0.0}}, 1e-6, 0));
  }
  const float infinity = std::numeric_limits<float>::infinity();
  const T flat{{0.0F, 0.0F, 1e30F, 1e-30F}}, whole{{-infinity, -infinity, infinity, infinity}};
  CHECK(numbers(box_iou(flat, flat)) == List{1});
  CHECK(numbers(box_iou(T{{0.0F, 0.0F, 1.0F, 1.0F}}, whole)) == List{0});
  const T wide = T::from(std::vector<double>{0, 0, 1e200, 1e200}, {1, 4});
  CHECK(numbers(box_iou(wide, wide)) == List{1});
}

TEST_CASE_TEMPLATE("anchors stand on a grid, one of each ratio at each place", M, Eager, Lazy) {
  using T = Tensor<M>;
  const T all = anchors<T>(8, 5, {.strides = {4, 8}, .sizes = {4, 16}, .ratios = {1, 4}});
  // Level 0: 2 rows of 2 (5 / 4 rounded up); level 1: one place.
  REQUIRE(to_string(all.shape()) == "(10,4)");
  CHECK(numbers(all(0)) == List{0, 0, 4, 4});
  CHECK(numbers(all(1)) == List{1, -2, 3, 6});  // twice as high and half as wide
  CHECK(numbers(all(2)) == List{4, 0, 8, 4});
  CHECK(numbers(all(4)) == List{0, 4, 4, 8});
  CHECK(numbers(all(8)) == List{-4, -4, 12, 12});
  CHECK(numbers(all(9)) == List{0, -12, 8, 20});
  CHECK(numbers(anchors<T>(4, 4, {.strides = {4}, .sizes = {4}, .ratios = {1}, .offset = 0})) == List{-2, -2, 2, 2});
}

TEST_CASE_TEMPLATE("boxes are assigned by thresholds, and the best of each object all the same", M, Eager, Lazy) {
  using T = Tensor<M>;
  // The last object is padding, which nothing overlaps.
  const T iou{{0.8, 0.0, 0.0}, {0.4, 0.3, 0.0}, {0.1, 0.3, 0.0}, {0.5, 0.2, 0.0}, {0.0, 0.0, 0.0}};
  const auto plain = assign_boxes(iou, {.positive = 0.5, .negative = 0.3});
  CHECK(numbers(plain.indices) == List{0, 0, 1, 0, 0});
  CHECK(numbers(plain.positive) == List{1, 0, 0, 1, 0});
  CHECK(numbers(plain.negative) == List{0, 0, 0, 0, 1});
  const auto best = assign_boxes(iou, {.positive = 0.5, .negative = 0.3, .best = true});
  CHECK(numbers(best.positive) == List{1, 1, 1, 1, 0});  // two share the best overlap with object 1
  CHECK(numbers(best.negative) == List{0, 0, 0, 0, 1});
}

TEST_CASE_TEMPLATE("masks have boxes and overlap", M, Eager, Lazy) {
  using T = Tensor<M>;
  T masks = T::zeros({3, 4, 5}, DType::boolean);
  masks(0, slice(1, 3), slice(2, 5)) = true;
  masks(1, 3, 0) = true;
  masks(1, 0, 1) = true;
  CHECK(numbers(mask_boxes(masks)) == List{2, 1, 5, 3, 0, 0, 2, 4, 0, 0, 0, 0});
  CHECK(numbers(mask_boxes(T::zeros({0, 2, 2}))) == List{});
  T other = T::zeros({2, 4, 5}, DType::boolean);
  other(0, slice(1, 3), slice(1, 4)) = true;  // four of the six pixels of mask 0, and two more
  CHECK(allclose(mask_iou(masks, other), T{{0.5, 0.0}, {0.0, 0.0}, {0.0, 0.0}}));
  // A mask of ones fills its box; from the centres of its outer elements on it fades over an element, here two pixels.
  const T pasted = paste_masks(T::ones({2, 2}), T{2.0, 1.0, 6.0, 5.0}, 6, 8);
  CHECK(numbers(pasted(2)) == List{0, 0.25, 0.75, 1, 1, 0.75, 0.25, 0});
  CHECK(numbers(sum(paste_masks(T::ones({2, 2}), T{3.0, 3.0, 3.0, 3.0}, 6, 6))) == List{0});
  CHECK(numbers(clip_boxes(T{{-1.0, 2.0, 9.0, 11.0}}, 10, 8)) == List{0, 2, 8, 10});
}

TEST_CASE_TEMPLATE("masks of integers are inside where they are not 0, floating-point ones hold fractions", M, Eager,
                   Lazy) {
  using T = Tensor<M>;
  const T a{{{0, 255}, {255, 255}}}, b{{{255, 255}, {0, 7}}};
  for (const DType type : {DType::u8, DType::i32, DType::i64}) {
    CHECK(allclose(mask_iou(cast(a, type), cast(b, type)), T{{2.0 / 4}}));
  }
  // Intersection over union of masks, pixel by pixel.
  CHECK(allclose(mask_iou(T{{{0.5, 1.0}}}, T{{{1.0, 0.25}}}), T{{0.75 / (2.75 - 0.75)}}));
  const auto told = [](const T& x, const T& y) {
    try {
      mask_iou(x, y).to_string();
    } catch (const ValueError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const auto refused = [](int count) {
    return "mask_iou: " + std::to_string(count) +
           " elements of the masks are not fractions from 0 to 1; masks != 0 makes truths of them";
  };
  const T truths = T::ones({1, 2, 2});
  for (const DType type : {DType::f16, DType::f32, DType::f64}) {
    CHECK(told(cast(a, type), truths) == refused(3));
    CHECK(told(truths, cast(b, type)) == refused(3));
    CHECK(told(cast(T{{{-0.25, 0.0}, {1.0, std::nan("")}}}, type), truths) == refused(2));
    CHECK(told(cast(T{{{0.0, 1.0}, {0.5, 1.0}}}, type), truths).empty());
  }
}

TEST_CASE_TEMPLATE("overlaps and scores that are NaN are refused in the name of who is given them", M, Eager, Lazy) {
  using T = Tensor<M>;
  const auto told = [](const auto& call) {
    try {
      call().to_string();
    } catch (const ValueError& error) {
      return std::string(error.what());
    }
    return std::string();
  };
  const double nan = std::nan("");
  for (const DType type : {DType::f16, DType::f32, DType::f64}) {
    const T iou = cast(T{{{0.9, nan}, {0.2, 0.1}}, {{nan, 0.3}, {0.1, 0.2}}}, type);
    CHECK(told([&] { return match_detections(iou, {0.5}); }) == "match_detections: 2 elements of iou are NaN");
    for (const bool best : {false, true}) {
      CHECK(told([&] { return assign_boxes(iou, {.best = best}).indices; }) ==
            "assign_boxes: 2 elements of iou are NaN");
      CHECK(told([&] { return assign_boxes(iou, {.best = best}).positive; }) ==
            "assign_boxes: 2 elements of iou are NaN");
      CHECK(told([&] { return assign_boxes(iou, {.best = best}).negative; }) ==
            "assign_boxes: 2 elements of iou are NaN");
    }
    const T scores = cast(T{0.9, nan, 0.7}, type);
    CHECK(told([&] {
            return average_precision(scores, T{1, 0, 1}, 2);
          }) == "average_precision: 1 elements of scores are NaN");
  }
  // Of boxes that are NaN the overlap is.
  const T boxes{{0.0, 0.0, 1.0, 1.0}, {nan, 0.0, 1.0, 1.0}, {0.0, 0.0, 1.0, nan}};
  CHECK(told([&] { return assign_boxes(box_iou(boxes, boxes(slice(0, 1)))).positive; }) ==
        "assign_boxes: 2 elements of iou are NaN");
  // A compiled function learns it when it runs.
  auto matched = compile([](T iou) { return match_detections(iou, {0.5}); });
  CHECK(numbers(matched(T{{0.9, 0.1}})) == List{1});
  CHECK(told([&] { return matched(T{{nan, 0.1}}); }) == "match_detections: 1 elements of iou are NaN");
}

TEST_CASE("an OpenCL device refuses NaN and masks beyond 1 in the words of the CPU") {
  using T = Tensor<Lazy>;
  if (devices().size() < 2) {
    MESSAGE("skipped: there is no OpenCL device");
    return;
  }
  const DeviceScope device("opencl");
  const T iou{{0.9, std::nan("")}};
  CHECK_THROWS_WITH_AS(match_detections(iou, {0.5}).to_string(), "match_detections: 1 elements of iou are NaN",
                       ValueError);
  const T mask{{{0.0, 255.0}}};
  CHECK_THROWS_WITH_AS(
      mask_iou(mask, mask).to_string(),
      "mask_iou: 1 elements of the masks are not fractions from 0 to 1; masks != 0 makes truths of them", ValueError);
  CHECK(numbers(mask_iou(mask != 0, mask != 0)) == List{1});
}

TEST_CASE_TEMPLATE("regions of a pyramid are those of the level that each box names", M, Eager, Lazy) {
  using T = Tensor<M>;
  const auto drawn = [](const Shape& shape, double phase) {
    return sin(reshape(T::arange(0, shape[0] * shape[1] * shape[2] * shape[3], 1, DType::f64), shape) * 0.37 + phase);
  };
  const std::vector<T> pyramid{drawn({2, 8, 6, 3}, 0), drawn({2, 4, 3, 3}, 1), drawn({2, 2, 2, 3}, 2)};
  const T boxes{{0.0, 0.0, 9.0, 7.0}, {-3.0, 2.0, 25.0, 31.0}, {5.5, 1.0, 6.0, 20.0}, {4.0, 4.0, 4.0, 4.0}};
  const T images{1, 0, 1, 0}, levels{0, 2, 1, 1};
  const RoiAlignOptions options{.size = {2, 3}, .samples = 2, .scales = {0.25, 0.125, 0.0625}};
  const auto in_one = [&](const std::vector<T>& maps) {
    std::vector<T> rows;
    for (std::int64_t i = 0; i < 4; ++i) {
      const std::size_t level = std::vector<std::size_t>{0, 2, 1, 1}[static_cast<std::size_t>(i)];
      rows.push_back(roi_align(maps[level], boxes(slice(i, i + 1)), images(slice(i, i + 1)),
                               {.size = {2, 3}, .scale = options.scales[level], .samples = 2}));
    }
    return concat(rows, 0);
  };
  const auto in_all = [&](const std::vector<T>& maps) { return roi_align(maps, boxes, images, levels, options); };
  CHECK(array_equal(in_all(pyramid), in_one(pyramid)));
  const T gradient = drawn({4, 2, 3, 3}, 3);
  const auto expected = vjp(in_one, pyramid, gradient).second, found = vjp(in_all, pyramid, gradient).second;
  for (std::size_t i = 0; i < 3; ++i) CHECK(allclose(found[i], expected[i], 1e-12, 1e-12));
  CHECK(message([&] {
          roi_align(pyramid, boxes, images, levels, {.size = {2, 3}, .scale = 0.5, .scales = {0.25, 0.125, 0.0625}});
        }) == "roi_align: scale = 0.5 is that of a single image; a pyramid has scales alone");
  CHECK(message([&] {
          roi_align(pyramid, boxes, images, T{0, 3, 1, 1}, options).template to_vector<double>();
        }) == "roi_align: level 3 is out of range; the levels are 0 to 2");
  CHECK(message([&] {
          roi_align(pyramid, boxes, images, levels, {.size = {1, 1}, .scales = {1.0}});
        }) == "roi_align: 1 scales for 3 levels");
  CHECK(message([&] {
          roi_align(std::vector{pyramid[0], T::ones({2, 2, 2, 4})}, boxes, images, levels, options);
        }) == "roi_align: levels of one batch and as many channels are needed, not (2,8,6,3) and (2,2,2,4)");
}

TEST_CASE_TEMPLATE("regions of images without channels, or of no boxes, are empty", M, Eager, Lazy) {
  using T = Tensor<M>;
  const auto shape = [](const T& x) { return to_string((x * 2.0).shape()) + std::to_string(numbers(x).size()); };
  for (const bool maximum : {false, true}) {
    const RoiAlignOptions options{.size = {2, 3}, .maximum = maximum};
    CHECK(shape(roi_align(T::ones({1, 4, 4, 0}), T{{0.0, 0.0, 2.0, 2.0}}, T{0}, options)) == "(1,2,3,0)0");
    CHECK(shape(roi_align(T::ones({1, 4, 4, 2}), T::zeros({0, 4}), T::zeros({0}, DType::i64), options)) ==
          "(0,2,3,2)0");
  }
  const std::vector<T> pyramid{T::ones({2, 4, 4, 0}), T::ones({2, 2, 2, 0})};
  CHECK(shape(roi_align(pyramid, T{{0.0, 0.0, 2.0, 2.0}}, T{1}, T{1}, {.size = {2, 2}, .scales = {1, 0.5}})) ==
        "(1,2,2,0)0");
}

TEST_CASE_TEMPLATE("nms of a batch keeps in each set what it keeps alone", M, Eager, Lazy) {
  using T = Tensor<M>;
  const T boxes{{{0, 0, 10, 10}, {1, 0, 11, 10}, {20, 20, 30, 30}}, {{0, 0, 10, 10}, {5, 5, 15, 15}, {0, 0, 10, 10}}};
  const T scores{{0.5, 0.9, 0.1}, {0.3, 0.2, 0.4}};
  const auto kept = nms(boxes, scores, {.count = 3, .overlap = 0.5});
  CHECK(numbers(kept.indices) == List{1, 2, -1, 2, 1, -1});
  CHECK(numbers(kept.count) == List{2, 2});
  CHECK(to_string(nms(reshape(boxes, {1, 2, 3, 4}), reshape(scores, {1, 2, 3})).indices.shape()) == "(1,2,3)");
  const auto none = nms(T::zeros({0, 3, 4}), T::zeros({0, 3}));
  CHECK((none.indices.shape() == Shape{0, 3} && none.count.shape() == Shape{0}));
  CHECK((none.indices.dtype() == kept.indices.dtype() && none.count.dtype() == kept.count.dtype()));
  CHECK(numbers(none.indices).empty());
  CHECK(nms(T::zeros({2, 0, 3, 4}), T::zeros({2, 0, 3}), {.count = 2}).indices.shape() == Shape{2, 0, 2});
  CHECK(message([&] {
          nms(T::zeros({0, 3, 5}), T::zeros({0, 3}));
        }) == "nms: boxes (..., count, 4) are needed, not (0,3,5)");
  CHECK(message([&] {
          nms(boxes, T{0.1, 0.2, 0.3});
        }) == "nms: a score for each of the boxes (2,3,4) is needed, not shape (3,)");
}

TEST_CASE_TEMPLATE("errors of box functions state the shapes and types expected", M, Eager, Lazy) {
  using T = Tensor<M>;
  CHECK(message([] {
          box_iou(T::ones({4}), T::ones({2, 4}));
        }) == "box_iou: boxes (..., count, 4) are needed, not (4,)");
  CHECK(message([] {
          encode_boxes(T::ones({2, 3}), T::ones({2, 4}));
        }) == "encode_boxes: boxes (..., 4) are needed, not (2,3)");
  CHECK(message([] {
          clip_boxes(T::ones({2, 4}, DType::i64), 2, 2);
        }) == "clip_boxes: boxes are i64; a floating type is expected");
  CHECK(message([] { anchors<T>(4, 4, {.strides = {4, 8}, .sizes = {4}}); }) == "anchors: 1 sizes for 2 strides");
  const double infinity = std::numeric_limits<double>::infinity();
  const std::pair<double, const char*> refused[] = {{0, "0"}, {-1, "-1"}, {infinity, "inf"}, {std::nan(""), "nan"}};
  for (const auto& [wrong_number, text] : refused) {
    const double wrong = wrong_number;
    const std::string said = text + std::string(" is not a finite number above 0");
    CHECK(message([&] {
            anchors<T>(4, 4, {.strides = {4}, .sizes = {4}, .ratios = {1, wrong}});
          }) == "anchors: the ratio " + said);
    CHECK(message([&] { anchors<T>(4, 4, {.strides = {4}, .sizes = {wrong}}); }) == "anchors: the size " + said);
  }
  CHECK(message([&] { anchors<T>(4, 4, {.strides = {4}, .sizes = {4}, .offset = infinity}); }) ==
        "anchors: the offset inf is not finite");
  CHECK(message([] {
          assign_boxes(T::ones({3, 0}));
        }) == "assign_boxes: the overlap (..., boxes, objects) of at least one object is needed, not (3,0)");
  CHECK(message([] {
          mask_iou(T::ones({2, 2}), T::ones({1, 2, 2}));
        }) == "mask_iou: masks (..., count, height, width) are needed, not (2,2)");
  CHECK(message([] { average_precision(T::ones({3}), T::ones({2}), 1); }) ==
        "average_precision: scores (detections,) and right (..., detections) are needed, not (3,) and (2,)");
  const FeaturePyramid pyramid({.in = {2, 2}, .out = 2});
  CHECK(message([&] {
          pyramid(std::vector{T::ones({1, 4, 4, 2})});
        }) == "FeaturePyramid: 1 maps are given; it has 2 levels");
  CHECK(message([&] {
          pyramid(std::vector{T::ones({1, 4, 4, 2}), T::ones({1, 4, 4, 2})});
        }) == "FeaturePyramid: maps (1,4,4,2) and (1,4,4,2) are not each half as high and wide as the one before");
}

}  // namespace tyto::nn
