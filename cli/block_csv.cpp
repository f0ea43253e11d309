// SPDX-License-Identifier: MIT
// A strict CSV reader: what it does not understand it refuses, naming line and column.
#include "cli/block_csv.hpp"

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdint>
#include <istream>
#include <limits>
#include <optional>
#include <ostream>
#include <string_view>
#include <unordered_map>

#include "cli/arguments.hpp"

namespace tyto::cli {
namespace {

// Longer lines are no table of blocks.
constexpr std::size_t most_characters = 65536;

enum class Column { id, lower, upper, end, size, alignment, offset, spans, ignored };

struct Spelling {
  std::string_view name;
  Column column;
};
constexpr std::array spellings{
    Spelling{"id", Column::id},         Spelling{"buffer", Column::id},
    Spelling{"buffer_id", Column::id},  Spelling{"lower", Column::lower},
    Spelling{"start", Column::lower},   Spelling{"begin", Column::lower},
    Spelling{"upper", Column::upper},   Spelling{"end", Column::end},
    Spelling{"size", Column::size},     Spelling{"alignment", Column::alignment},
    Spelling{"offset", Column::offset}, Spelling{"spans", Column::spans},
    Spelling{"hint", Column::ignored},  Spelling{"gaps", Column::ignored},
};

std::string_view trimmed(std::string_view text) {
  const auto blank = [](char c) { return c == ' ' || c == '\t' || c == '\r'; };
  while (!text.empty() && blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && blank(text.back())) text.remove_suffix(1);
  return text;
}

std::string in_quotes(std::string_view text) {
  std::string shown = "'";
  for (const char c : text.substr(0, 40)) shown += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  return shown + (text.size() > 40 ? "...'" : "'");
}

class CsvParser {
 public:
  CsvParser(std::istream& in, const std::string& path) : in_(in), path_(path) {}

  BlockFile read() {
    if (!next_row()) fail("the file is empty; a header such as id,lower,upper,size is missing");
    read_header();
    std::unordered_map<std::string, std::size_t> line_of;
    while (next_row()) {
      if (fields_.size() != columns_.size()) {
        fail("has " + std::to_string(fields_.size()) + " fields where the header has " +
             std::to_string(columns_.size()));
      }
      read_block(line_of);
    }
    if (file_.blocks.empty()) fail("there is no row below the header");
    for (std::size_t i = 0; i < file_.blocks.size(); ++i) {
      file_.blocks[i].label = file_.names[i];
      file_.blocks[i].spans = file_.spans[i];
    }
    return std::move(file_);
  }

 private:
  [[noreturn]] void fail(const std::string& what, std::size_t column = 0) const {
    std::string place = path_;
    if (line_ > 0) place += ":" + std::to_string(line_);
    if (column > 0) place += ", column " + std::to_string(column);
    throw_error<IoError>(place, ": ", what);
  }

  // The next line that is not blank, split at commas.
  bool next_row() {
    for (;;) {
      row_.clear();
      int c = in_.get();
      if (c == std::istream::traits_type::eof()) return false;
      ++line_;
      for (; c != std::istream::traits_type::eof() && c != '\n'; c = in_.get()) {
        if (c == 0) fail("holds a zero byte; this is no text file");
        if (row_.size() == most_characters) fail("is longer than " + std::to_string(most_characters) + " characters");
        row_ += static_cast<char>(c);
      }
      if (line_ == 1 && row_.starts_with("\xef\xbb\xbf")) row_.erase(0, 3);
      if (!trimmed(row_).empty()) break;
    }
    fields_.clear();
    std::string_view rest = row_;
    for (;;) {
      const std::size_t comma = rest.find(',');
      fields_.push_back(trimmed(rest.substr(0, comma)));
      if (comma == std::string_view::npos) return true;
      rest.remove_prefix(comma + 1);
    }
  }

  void read_header() {
    for (std::size_t f = 0; f < fields_.size(); ++f) {
      std::string name(fields_[f]);
      std::transform(name.begin(), name.end(), name.begin(),
                     [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
      const auto* known =
          std::find_if(spellings.begin(), spellings.end(), [&](const Spelling& s) { return s.name == name; });
      if (known == spellings.end()) {
        fail("the header names an unknown column " + in_quotes(fields_[f]) +
                 "; known are id, lower, upper or end, size, alignment, offset, spans",
             f + 1);
      }
      const bool twice = known->column != Column::ignored &&
                         std::find(columns_.begin(), columns_.end(), known->column) != columns_.end();
      if (twice) fail("the header names the column " + in_quotes(fields_[f]) + " twice", f + 1);
      gaps_ = name == "gaps" ? f : gaps_;
      columns_.push_back(known->column);
    }
    const auto has = [&](Column c) { return std::find(columns_.begin(), columns_.end(), c) != columns_.end(); };
    for (const auto& [column, name] :
         {std::pair(Column::id, "id"), std::pair(Column::lower, "lower"), std::pair(Column::size, "size")}) {
      if (!has(column)) fail(std::string("the header lacks the column ") + name);
    }
    if (has(Column::upper) == has(Column::end)) {
      fail(has(Column::upper)
               ? "the header has both `upper` (exclusive) and `end` (inclusive); one of them says when a block dies"
               : "the header lacks the column upper (exclusive) or end (inclusive)");
    }
  }

  std::int64_t integer(std::size_t f) const { return integer(f, fields_[f]); }

  std::int64_t integer(std::size_t f, std::string_view text) const {
    std::int64_t value = 0;
    const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error == std::errc::result_out_of_range) fail(in_quotes(text) + " does not fit into 64 bits", f + 1);
    if (error != std::errc{} || stop != text.data() + text.size()) fail(in_quotes(text) + " is not an integer", f + 1);
    return value;
  }

  void read_block(std::unordered_map<std::string, std::size_t>& line_of) {
    Block block;
    block.id = static_cast<std::int64_t>(file_.blocks.size());
    std::size_t upper_field = 0;
    std::vector<Span> spans;
    std::size_t spans_field = 0;
    for (std::size_t f = 0; f < columns_.size(); ++f) {
      switch (columns_[f]) {
        case Column::id: read_id(f, block, line_of); break;
        case Column::lower: block.lower = not_negative(f, "the first step"); break;
        case Column::upper:
          block.upper = not_negative(f, "the step of death");
          upper_field = f;
          break;
        case Column::end:
          block.upper = integer(f);
          if (block.upper < -1) fail(in_quotes(fields_[f]) + " is negative", f + 1);
          if (block.upper == std::numeric_limits<std::int64_t>::max())
            fail(in_quotes(fields_[f]) + " does not fit into 64 bits", f + 1);
          ++block.upper;  // inclusive in the file
          upper_field = f;
          break;
        case Column::size: block.size = not_negative(f, "the size"); break;
        case Column::alignment:
          if (fields_[f].empty()) break;
          block.alignment = integer(f);
          if (block.alignment < 1) fail("the alignment " + in_quotes(fields_[f]) + " is below 1", f + 1);
          break;
        case Column::offset:
          if (!fields_[f].empty()) block.fixed_offset = not_negative(f, "the offset");
          break;
        case Column::spans:
          spans = read_spans(f);
          spans_field = f;
          break;
        case Column::ignored:
          if (gaps_ == f && !fields_[f].empty()) {
            fail("gaps are not read; a column spans says when a block is alive, such as 0-4;9-12", f + 1);
          }
          break;
      }
    }
    if (block.upper < block.lower) fail("the block dies before it is born", upper_field + 1);
    if (!spans.empty() && (spans.front().lower != block.lower || spans.back().upper != block.upper)) {
      fail("the spans " + in_quotes(fields_[spans_field]) + " do not reach from " + std::to_string(block.lower) +
               " to " + std::to_string(block.upper) + ", where the block is born and dies",
           spans_field + 1);
    }
    file_.blocks.push_back(block);
    file_.spans.push_back(std::move(spans));
  }

  // "0-4;9-12": first step and, exclusive, last step of each span.
  std::vector<Span> read_spans(std::size_t f) const {
    std::vector<Span> spans;
    std::string_view rest = fields_[f];
    while (!rest.empty()) {
      const std::size_t stop = rest.find(';');
      const std::string_view text = trimmed(rest.substr(0, stop));
      const std::size_t dash = text.find('-');
      if (dash == std::string_view::npos)
        fail("the span " + in_quotes(text) + " is not of the form lower-upper", f + 1);
      const Span span{integer(f, text.substr(0, dash)), integer(f, text.substr(dash + 1))};
      if (span.lower < 0 || span.upper <= span.lower) fail("the span " + in_quotes(text) + " holds no step", f + 1);
      if (!spans.empty() && span.lower < spans.back().upper) {
        fail("the span " + in_quotes(text) + " begins before the one in front of it ends", f + 1);
      }
      spans.push_back(span);
      if (stop == std::string_view::npos) break;
      rest.remove_prefix(stop + 1);
      if (trimmed(rest).empty()) fail("the spans " + in_quotes(fields_[f]) + " end with a semicolon", f + 1);
    }
    return spans;
  }

  void read_id(std::size_t f, Block& block, std::unordered_map<std::string, std::size_t>& line_of) {
    if (fields_[f].empty()) fail("the id is empty", f + 1);
    const std::string name(fields_[f]);
    const auto [it, fresh] = line_of.emplace(name, line_);
    if (!fresh) fail("the id " + in_quotes(name) + " stands in line " + std::to_string(it->second) + " already", f + 1);
    // A numeric id is the block's number in messages, too.
    std::int64_t number = 0;
    const auto [stop, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    if (error == std::errc{} && stop == name.data() + name.size()) block.id = number;
    file_.names.push_back(name);
  }

  std::int64_t not_negative(std::size_t f, const char* what) const {
    const std::int64_t value = integer(f);
    if (value < 0) fail(std::string(what) + " " + in_quotes(fields_[f]) + " is negative", f + 1);
    return value;
  }

  std::istream& in_;
  const std::string& path_;
  BlockFile file_;
  std::string row_;
  std::vector<std::string_view> fields_;
  std::vector<Column> columns_;
  std::optional<std::size_t> gaps_;
  std::size_t line_ = 0;
};

}  // namespace

BlockFile read_blocks(std::istream& in, const std::string& path) { return CsvParser(in, path).read(); }

void write_solution(std::ostream& out, const BlockFile& file, const MemoryPlan& plan) {
  const bool spans = std::any_of(file.spans.begin(), file.spans.end(), [](const auto& s) { return !s.empty(); });
  out << "id,lower,upper,size,offset" << (plan.arenas.empty() ? "" : ",arena") << (spans ? ",spans\n" : "\n");
  for (std::size_t i = 0; i < file.blocks.size(); ++i) {
    const Block& block = file.blocks[i];
    out << file.names[i] << ',' << block.lower << ',' << block.upper << ',' << block.size << ',' << plan.offsets[i];
    if (!plan.arenas.empty()) out << ',' << plan.arenas[i];
    if (spans) {
      const char* before = ",";
      if (file.spans[i].empty()) out << before;
      for (const Span& span : file.spans[i]) {
        out << before << span.lower << '-' << span.upper;
        before = ";";
      }
    }
    out << '\n';
  }
}

}  // namespace tyto::cli
