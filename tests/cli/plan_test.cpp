// SPDX-License-Identifier: MIT
// `tyto plan` as a user runs it: the real program, real files, what it prints and how it exits.
#include <doctest/doctest.h>

#include <algorithm>
#include <nlohmann/json.hpp>
#include <string>

#include "tests/cli/program.hpp"

namespace {

using namespace tyto::cli_tests;

const char* const small = "id,lower,upper,size\n0,0,3,4\n1,3,9,6\n2,0,9,3\n";

// The program's message for a file with this text; checks its exit status, 2.
std::string complaint(const std::string& text) {
  const Workplace place;
  const std::string path = place.write("blocks.csv", text);
  const Ran ran = run("plan " + path);
  CHECK(ran.status == 2);
  const std::string lead = "tyto: " + path;
  CHECK(ran.output.starts_with(lead));
  return ran.output.size() > lead.size() ? ran.output.substr(lead.size()) : ran.output;
}

}  // namespace

TEST_CASE("plan prints the peak, the bound and the largest blocks by name") {
  const Workplace place;
  const Ran ran = run("plan " + place.write("blocks.csv", small));
  CHECK(ran.status == 0);
  CHECK(ran.output.starts_with("memory plan: 9 bytes (9 B), by best ("));
  CHECK(ran.output.find("lower bound 9 bytes, ratio 1.000, proven optimal\n") != std::string::npos);
  CHECK(ran.output.find("without reuse 13 bytes") != std::string::npos);
  CHECK(ran.output.find("    6 B  1\n    3 B  2\n") != std::string::npos);
}

TEST_CASE("--json prints exactly one object with the six figures") {
  const Workplace place;
  const Ran ran = run("plan " + place.write("blocks.csv", small) + " --strategy bump --json");
  CHECK(ran.status == 0);
  const nlohmann::json json = nlohmann::json::parse(ran.output);
  CHECK(json.size() == 6);
  CHECK(json["strategy"] == "bump");
  CHECK(json["height"] == 13);
  CHECK(json["bound"] == 9);
  CHECK(json["ratio"].get<double>() == doctest::Approx(13.0 / 9));
  CHECK(json["proven_optimal"] == false);
  CHECK(json["milliseconds"].get<double>() >= 0);
}

TEST_CASE("--out writes a solution with the ids of the file, --svg a picture") {
  const Workplace place;
  const std::string blocks = place.write("blocks.csv", "size,upper,id,lower\n4,3,first,0\n6,9,second,3\n");
  const Ran ran =
      run("plan " + blocks + " --strategy bump --out " + place.path("out.csv") + " --svg=" + place.path("map.svg"));
  CHECK(ran.status == 0);
  CHECK(place.read("out.csv") == "id,lower,upper,size,offset\nfirst,0,3,4,0\nsecond,3,9,6,4\n");
  CHECK(place.read("map.svg").find("<title>second: 6 bytes at 4, steps 3 to 9</title>") != std::string::npos);
}

TEST_CASE("several arenas have a column of their own") {
  const Workplace place;
  const Ran ran = run("plan " + place.write("blocks.csv", small) + " --arena-limit 6 --out " + place.path("out.csv"));
  CHECK(ran.status == 0);
  CHECK(place.read("out.csv") == "id,lower,upper,size,offset,arena\n0,0,3,4,0,0\n1,3,9,6,0,0\n2,0,9,3,0,1\n");
}

TEST_CASE("`end` is inclusive where `upper` is exclusive") {
  const Workplace place;
  const std::string apart = place.write("apart.csv", "id,start,end,size\na,0,2,8\nb,3,5,8\n");
  const std::string meet = place.write("meet.csv", "id,start,end,size\na,0,3,8\nb,3,5,8\n");
  CHECK(nlohmann::json::parse(run("plan --json " + apart).output)["height"] == 8);
  CHECK(nlohmann::json::parse(run("plan --json " + meet).output)["height"] == 16);
}

TEST_CASE("alignments and fixed offsets of the file are kept") {
  const Workplace place;
  const std::string blocks = place.write(
      "blocks.csv", "\xef\xbb\xbfID, Lower ,upper,size,alignment,offset\r\na,0,2,10,16,\r\nb,0,2,5,,100\r\n\r\n");
  const Ran ran = run("plan " + blocks + " --json --out " + place.path("out.csv"));
  CHECK(ran.status == 0);
  CHECK(place.read("out.csv") == "id,lower,upper,size,offset\na,0,2,10,0\nb,0,2,5,100\n");
}

TEST_CASE("spans say when a block is alive and are written beside the offsets") {
  const Workplace place;
  const std::string blocks =
      place.write("blocks.csv", "id,lower,upper,size,spans\na,0,10,8,0-3; 6-10\nb,3,6,8,\nc,0,1,4,0-1\n");
  const Ran ran = run("plan " + blocks + " --json --out " + place.path("out.csv"));
  CHECK(ran.status == 0);
  CHECK(nlohmann::json::parse(ran.output)["height"] == 12);
  const std::string written = place.read("out.csv");
  CHECK(written.starts_with("id,lower,upper,size,offset,spans\na,0,10,8,"));
  CHECK(written.find(",0-3;6-10\nb,3,6,8,") != std::string::npos);
  CHECK(written.ends_with(",0-1\n"));
}

TEST_CASE("spans that make no sense are refused with line and column") {
  const std::string head = "id,spans,lower,upper,size\n";
  CHECK(complaint(head + "a,0-3;6,0,10,8\n") == ":2, column 2: the span '6' is not of the form lower-upper\n");
  CHECK(complaint(head + "a,0-x,0,10,8\n") == ":2, column 2: 'x' is not an integer\n");
  CHECK(complaint(head + "a,-3-5,0,10,8\n") == ":2, column 2: '' is not an integer\n");
  CHECK(complaint(head + "a,0-3;5-5,0,10,8\n") == ":2, column 2: the span '5-5' holds no step\n");
  CHECK(complaint(head + "a,0-3;2-10,0,10,8\n") ==
        ":2, column 2: the span '2-10' begins before the one in front of it ends\n");
  CHECK(complaint(head + "a,0-3;,0,10,8\n") == ":2, column 2: the spans '0-3;' end with a semicolon\n");
  CHECK(complaint(head + "a,0-3;4-9,0,10,8\n") ==
        ":2, column 2: the spans '0-3;4-9' do not reach from 0 to 10, where the block is born and dies\n");
  CHECK(complaint(head + "a,2-3;4-10,0,10,8\n") ==
        ":2, column 2: the spans '2-3;4-10' do not reach from 0 to 10, where the block is born and dies\n");
  CHECK(complaint("id,lower,upper,size,gaps\na,0,10,8,3-6\n") ==
        ":2, column 5: gaps are not read; a column spans says when a block is alive, such as 0-4;9-12\n");
}

TEST_CASE("--strategy all plans with each of them, as a table or one object a line") {
  const Workplace place;
  const std::string blocks = place.write("blocks.csv", small);
  const Ran table = run("plan --strategy all " + blocks);
  CHECK(table.status == 0);
  for (const char* name : {"bump", "owl", "linear_scan", "greedy_by_size", "greedy_by_breadth", "shared_objects",
                           "mincost_flow", "gergov", "nnc", "nnc2018", "exact", "anneal", "best"}) {
    CHECK_MESSAGE(table.output.find("\n" + std::string(name) + " ") != std::string::npos, name);
  }
  std::istringstream lines(run("plan --strategy all --json " + blocks).output);
  int objects = 0;
  for (std::string line; std::getline(lines, line); ++objects) CHECK(nlohmann::json::parse(line)["bound"] == 9);
  CHECK(objects >= 18);
}

TEST_CASE("malformed files are refused with line and column") {
  CHECK(complaint("") == ": the file is empty; a header such as id,lower,upper,size is missing\n");
  CHECK(complaint("\n \n") == ":2: the file is empty; a header such as id,lower,upper,size is missing\n");
  CHECK(complaint("id,lower,upper,size\n") == ":1: there is no row below the header\n");
  CHECK(complaint("id,lower,size\na,0,1\n") ==
        ":1: the header lacks the column upper (exclusive) or end (inclusive)\n");
  CHECK(complaint("lower,upper,size\n0,1,1\n") == ":1: the header lacks the column id\n");
  CHECK(complaint("id,lower,upper,end,size\n").find("has both `upper` (exclusive) and `end` (inclusive)") !=
        std::string::npos);
  CHECK(complaint("id,lower,upper,size,colour\n").find(":1, column 5: the header names an unknown column 'colour'") ==
        0);
  CHECK(complaint("id,lower,upper,size,size\n").find(":1, column 5: the header names the column 'size' twice") == 0);
  CHECK(complaint("id,lower,upper,size\n0,0,1\n") == ":2: has 3 fields where the header has 4\n");
  CHECK(complaint("id,lower,upper,size\n0,0,1,2,3\n") == ":2: has 5 fields where the header has 4\n");
  CHECK(complaint("id,lower,upper,size\n0,0,1,2\n\n0,3,4,2\n") ==
        ":4, column 1: the id '0' stands in line 2 already\n");
  CHECK(complaint("id,lower,upper,size\n,0,1,2\n") == ":2, column 1: the id is empty\n");
}

TEST_CASE("numbers that are none, negative, too large or contrary are refused with line and column") {
  const std::string head = "id,lower,upper,size,alignment,offset\n";
  CHECK(complaint(head + "0,0,1,x,1,\n") == ":2, column 4: 'x' is not an integer\n");
  CHECK(complaint(head + "0,0,1,1.5,1,\n") == ":2, column 4: '1.5' is not an integer\n");
  CHECK(complaint(head + "0,0,1,0x10,1,\n") == ":2, column 4: '0x10' is not an integer\n");
  CHECK(complaint(head + "0,0,1,,1,\n") == ":2, column 4: '' is not an integer\n");
  CHECK(complaint(head + "0,0,1,-5,1,\n") == ":2, column 4: the size '-5' is negative\n");
  CHECK(complaint(head + "0,-2,1,5,1,\n") == ":2, column 2: the first step '-2' is negative\n");
  CHECK(complaint(head + "0,0,1,99999999999999999999,1,\n") ==
        ":2, column 4: '99999999999999999999' does not fit into 64 bits\n");
  CHECK(complaint(head + "0,5,4,1,1,\n") == ":2, column 3: the block dies before it is born\n");
  CHECK(complaint(head + "0,0,1,1,0,\n") == ":2, column 5: the alignment '0' is below 1\n");
  CHECK(complaint(head + "0,0,1,1,1,-8\n") == ":2, column 6: the offset '-8' is negative\n");
  CHECK(complaint("id,lower,end,size\n0,0,9223372036854775807,1\n") ==
        ":2, column 3: '9223372036854775807' does not fit into 64 bits\n");
}

TEST_CASE("binary rubbish and endless lines are refused, not believed") {
  CHECK(complaint(std::string("id,lower,upper,size\n0,0,1,\0\n", 28)).find(":2: holds a zero byte") == 0);
  CHECK(complaint("id,lower,upper,size\n" + std::string(100'000, '7')).find(":2: is longer than 65536 characters") ==
        0);
  CHECK(complaint(std::string(5000, '\xff')).find(":1, column 1: the header names an unknown column") == 0);
}

TEST_CASE("sizes whose sum overflows are an error, not a plan") {
  const Workplace place;
  const std::string two_to_62 = "4611686018427387904";
  const Ran ran = run(
      "plan " + place.write("blocks.csv", "id,lower,upper,size\n0,0,1," + two_to_62 + "\n1,0,1," + two_to_62 + "\n"));
  CHECK(ran.status == 2);
  CHECK(ran.output.find("overflow") != std::string::npos);
}

TEST_CASE("a capacity that cannot be met exits with status 1 and says why") {
  const Workplace place;
  const Ran ran = run("plan --capacity 8 " + place.write("blocks.csv", small));
  CHECK(ran.status == 1);
  CHECK(ran.output == "tyto: plan_memory: the capacity of 8 bytes is too small: every plan needs at least 9 bytes\n");
  CHECK(run("plan --capacity 9 " + place.write("blocks.csv", small)).status == 0);
}

TEST_CASE("mistakes on the command line exit with status 2") {
  const Workplace place;
  const std::string blocks = place.write("blocks.csv", small);
  const auto says = [&](const std::string& arguments, const std::string& what) {
    const Ran ran = run(arguments);
    CAPTURE(arguments);
    CHECK(ran.status == 2);
    CHECK_MESSAGE(ran.output.find(what) != std::string::npos, ran.output);
  };
  says("", "usage: tyto COMMAND");
  says("plot", "unknown command 'plot'");
  says("plan", "plan takes one file, not 0");
  says("plan a b", "plan takes one file, not 2");
  says("plan --colour " + blocks, "unknown option --colour");
  says("plan --json --json " + blocks, "option --json is given twice");
  says("plan --json=1 " + blocks, "option --json takes no value");
  says("plan " + blocks + " --budget-ms", "option --budget-ms needs a value: N");
  says("plan --budget-ms soon " + blocks, "option --budget-ms takes an integer of at least 1, not 'soon'");
  says("plan --capacity -1 " + blocks, "option --capacity takes an integer of at least 0, not '-1'");
  says("plan --budget-ms 3x " + blocks, "option --budget-ms takes an integer of at least 1, not '3x'");
  says("plan --threads 3x " + blocks, "option --threads takes an integer from 1 to 1024, not '3x'");
  says("plan --threads 99999999 " + blocks, "option --threads takes an integer from 1 to 1024, not '99999999'");
  says("plan --threads 0 " + blocks, "option --threads takes an integer from 1 to 1024, not '0'");
  says("plan --strategy magic " + blocks, "no strategy `magic`; there are bump, owl");
  says("plan " + place.path("none.csv"), "none.csv: cannot be opened for reading");
  says("plan " + blocks + " --out " + place.path("no/such/folder.csv"), "folder.csv: cannot be opened for writing");
}

TEST_CASE("help, version and the list of strategies are there") {
  CHECK(run("--help").output.find("  plan         plans the memory") != std::string::npos);
  CHECK(run("plan --help").output.find("--budget-ms N") != std::string::npos);
  CHECK(run("--version").output.starts_with("tyto "));
  CHECK(run("plan --list").output.find("nnc2018") != std::string::npos);
  for (const char* arguments : {"--help", "help", "plan --help", "--version", "plan --list"}) {
    CHECK(run(arguments).status == 0);
  }
}
