// A folder with plans in it and the driver to run on them, from outside as a user has it.
#pragma once

#include "Runtime/PlanBuilder.h"
#include "TemporaryFolder.h"
#include "gantry/Device/Topology.h"
#include "gantry/Formats/Archive.h"
#include "gantry/Formats/Values.h"

#include <cstdlib>
#include <cstring>
#include <fstream>
#include <gtest/gtest.h>
#include <regex>
#include <sstream>
#include <sys/wait.h>

namespace gantry::tool::test {

using namespace gantry::arrays;
using gantry::runtime::test::PlanBuilder;

inline std::string contentOf(const std::string &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

inline void write(const std::string &path, const std::string &content) {
  std::ofstream(path, std::ios::binary) << content;
}

struct Result {
  int status;
  std::string out, err;
};

/// A folder with a plan `p.gantry` in it: y = 2 * (a + b), f32[2,2], through a transient buffer.
class GantryTool : public testing::Test {
protected:
  void SetUp() override {
    PlanBuilder builder;
    const std::string object = contentOf(GANTRY_TEST_KERNELS);
    const uint32_t code = builder.addCode({object.begin(), object.end()});
    const uint32_t add = builder.addKernel("add_f32", code);
    const uint32_t twice = builder.addKernel("double_f32", code);
    const uint32_t arena = builder.addArena(plan::fb::ArenaKind::transient, 64);
    builder.plan.arenas[arena]->lower_bound = 16;
    builder.addFunction("main");
    builder.addInput("a", {2, 2});
    builder.addInput("b", {2, 2});
    builder.addOutput("y", {2, 2});
    using namespace gantry::runtime::test;
    auto &first = builder.launch(add, {input(0, 16), input(1, 16)}, {memory(arena, 0, 16)}, 4);
    first.name = "sum", first.location = "model.onnx:7:1", first.log_names = {"AddV2"};
    auto &second = builder.launch(twice, {memory(arena, 0, 16)}, {output(0, 16)}, 4);
    second.name = "twice", second.log_names = {"Mul"};
    describe(builder);
    const plan::PlanFile file = builder.file();
    write(folder / "p.gantry",
          {reinterpret_cast<const char *>(file.bytes().data()), file.bytes().size()});
    saveRamp("ramp.npy", ElementType::f32, {2, 2});
  }

  virtual void describe(PlanBuilder &builder) {
    for (const char *name : {"AddV2", "Mul"}) {
      auto op = std::make_unique<plan::fb::PlacedOpT>();
      op->log_name = name;
      op->name = std::string("node_") + name;
      op->location = "model.onnx:7:1";
      op->rule = "default";
      builder.function().placed_ops.push_back(std::move(op));
    }
    auto value = std::make_unique<plan::fb::ValueT>();
    value->name = "s";
    value->buffer = std::make_unique<plan::fb::BufferRef>(plan::fb::Space::arena, 0, 0, 16);
    value->first = 0, value->last = 1;
    builder.function().values.push_back(std::move(value));
  }

  void saveRamp(const std::string &name, ElementType element, std::vector<int64_t> shape) {
    auto array = Array::make(element, std::move(shape));
    fill(*array, {Fill::Kind::ramp}, 0, "");
    ASSERT_TRUE(writeNpy(folder / name, array->view()).ok());
  }

  Result gantry(const std::string &arguments, const std::string &before = "") {
    const std::string command = "cd " + folder.path() + " && " + before +
                                " GANTRY_COMPILER=" + compiler + " " GANTRY_TOOL " " + arguments +
                                " >out 2>err";
    const int status = std::system(command.c_str());
    EXPECT_TRUE(WIFEXITED(status)) << arguments;
    return {WEXITSTATUS(status), contentOf(folder / "out"), contentOf(folder / "err")};
  }

  TemporaryFolder folder;
  std::string compiler = "/nonexistent"; ///< running a plan must not need one
  const std::string fake = GANTRY_FAKE_COMPILER;
};

#define EXPECT_HAS(text, part) EXPECT_NE((text).find(part), std::string::npos) << (text)

} // namespace gantry::tool::test
