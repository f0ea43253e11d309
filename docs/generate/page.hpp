// SPDX-License-Identifier: MIT
// A page of the documentation: its file, and the text that the sources say it should hold.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tyto::docs {

struct Page {
  std::string file;
  std::string text;
};

/// `folder` holds the documentation, and below it the program that opens the page.
Page numpy_page(const std::string& folder);
Page pytorch_page(const std::string& folder);
/// Without a file where there is no OpenCL device to ask.
Page operators_page();
Page owl_page();
Page rules_page();
Page onnx_page();
Page environment_page();

/// One row of a Markdown table; bars inside the cells are escaped.
std::string table_row(const std::vector<std::string>& cells);

/// `text` as Markdown code; empty text stays empty.
std::string code(std::string_view text);

}  // namespace tyto::docs
