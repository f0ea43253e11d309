// SPDX-License-Identifier: MIT
// The rows and columns of a panel product are divided among the members of a team.
#include "devices/cpu/products/tile/panel_product.hpp"

#include <doctest/doctest.h>

#include <vector>

#include "tests/devices/cpu/kernel_testing.hpp"

namespace tyto::cpu {

namespace {

PanelProduct<float> product_of(std::int64_t rows, std::int64_t columns) {
  return plan_panel_product<float>(widest_instruction_set(), rows, columns, 1, 64, 1, 256, true, 2);
}

}  // namespace

TEST_CASE("the members of a team compute every element of a product once") {
  testing::Draw draw(11);
  for (int number = 0; number < 200; ++number) {
    const PanelProduct<float> product = product_of(draw.below(300) + 1, draw.below(400) + 1);
    const int size = static_cast<int>(draw.below(8)) + 1;
    const std::int64_t panels = product.layout.count();
    std::vector<int> seen(static_cast<std::size_t>(product.rows * panels), 0);
    for (int member = 0; member < size; ++member) {
      const MemberShare mine = member_share(product, {member, size});
      for (std::int64_t row = mine.rows.begin; row < mine.rows.end; ++row) {
        for (std::int64_t panel = mine.panels.begin; panel < mine.panels.end; ++panel) {
          ++seen[static_cast<std::size_t>(row * panels + panel)];
        }
      }
    }
    CHECK(seen == std::vector<int>(seen.size(), 1));
  }
}

TEST_CASE("members share rows where a last narrow panel would be all that one of them has") {
  const std::int64_t width = tiles<float>(widest_instruction_set()).width();
  const PanelProduct<float> product = product_of(12'544, width + width / 2);
  for (const int member : {0, 1}) {
    const MemberShare mine = member_share(product, {member, 2});
    CHECK(mine.panels.size() == 2);
    CHECK(mine.rows.size() > 6'200);
  }
}

TEST_CASE("members share panels where rows are few") {
  const std::int64_t width = tiles<float>(widest_instruction_set()).width();
  const PanelProduct<float> product = product_of(49, 32 * width);
  for (const int member : {0, 1}) {
    const MemberShare mine = member_share(product, {member, 2});
    CHECK(mine.rows.size() == 49);
    CHECK(mine.panels.size() == 16);
  }
}

}  // namespace tyto::cpu
