// Plans by hand, for tests of the runtime: one host device, buffers where the test says.
#pragma once

#include "gantry/Drivers/BuiltIn.h"
#include "gantry/Plan/PlanFile.h"
#include "gantry/Plan/PlanWriter.h"
#include "gantry/Runtime/LoadedPlan.h"

#include <cstdint>
#include <fstream>
#include <gtest/gtest.h>
#include <iterator>
#include <memory>
#include <string>
#include <vector>

namespace gantry::runtime::test {

namespace fb = plan::fb;
using Shape = std::vector<int64_t>;

#define ASSERT_OK(expr)                                                                            \
  do {                                                                                             \
    ::gantry::Status testStatus = (expr);                                                          \
    ASSERT_TRUE(testStatus.ok()) << testStatus.message();                                          \
  } while (false)
#define EXPECT_OK(expr)                                                                            \
  do {                                                                                             \
    ::gantry::Status testStatus = (expr);                                                          \
    EXPECT_TRUE(testStatus.ok()) << testStatus.message();                                          \
  } while (false)

inline fb::BufferRef input(uint32_t index, uint64_t size, uint64_t offset = 0) {
  return {fb::Space::input, index, offset, size};
}
inline fb::BufferRef output(uint32_t index, uint64_t size, uint64_t offset = 0) {
  return {fb::Space::output, index, offset, size};
}
inline fb::BufferRef memory(uint32_t arena, uint64_t offset, uint64_t size) {
  return {fb::Space::arena, arena, offset, size};
}

class PlanBuilder {
public:
  fb::PlanT plan;
  plan::PlanWriter writer;

  PlanBuilder() {
    plan.source_hash = 1;
    addDevice("/job:localhost/replica:0/task:0/device:CPU:0", "host");
  }

  uint32_t addDevice(const std::string &name, const std::string &driver) {
    auto device = std::make_unique<fb::DeviceT>();
    device->name = name;
    device->driver = driver;
    device->physical = static_cast<uint32_t>(plan.devices.size());
    if (driver != "host")
      device->type = fb::DeviceType::gpu;
    plan.devices.push_back(std::move(device));
    return static_cast<uint32_t>(plan.devices.size() - 1);
  }

  uint32_t addArena(fb::ArenaKind kind, uint64_t size, uint32_t device = 0) {
    auto arena = std::make_unique<fb::ArenaT>();
    arena->device = device;
    arena->kind = kind;
    arena->size = size;
    plan.arenas.push_back(std::move(arena));
    return static_cast<uint32_t>(plan.arenas.size() - 1);
  }

  /// A constant at `offset` of the arena; its bytes go to the next place in the constants segment.
  template <typename T>
  void addConstant(uint32_t arena, uint64_t offset, const std::vector<T> &values) {
    if (constantsSegment == none)
      constantsSegment = writer.addSegment(plan::SegmentKind::constants);
    auto *bytes = reinterpret_cast<const uint8_t *>(values.data());
    plan::BlobRef blob = writer.addBlob(
        constantsSegment, std::vector<uint8_t>(bytes, bytes + values.size() * sizeof(T)));
    auto constant = std::make_unique<fb::ConstantT>();
    constant->arena = arena;
    constant->offset = offset;
    constant->size = blob.size;
    constant->segment = blob.segment;
    constant->segment_offset = blob.offset;
    constant->content_hash = blob.hash;
    plan.constants.push_back(std::move(constant));
  }

  void addVariable(const std::string &name, uint32_t arena, uint64_t offset, Shape shape) {
    auto variable = std::make_unique<fb::VariableT>();
    variable->name = name;
    variable->type = typeOf(fb::ElementType::f32, std::move(shape));
    variable->arena = arena;
    variable->offset = offset;
    variable->size = 4;
    for (int64_t dim : variable->type->shape)
      variable->size *= static_cast<uint64_t>(dim);
    plan.variables.push_back(std::move(variable));
  }

  /// What new states hold of a variable.
  void setInitialValue(const std::string &name, const std::vector<float> &values) {
    if (constantsSegment == none)
      constantsSegment = writer.addSegment(plan::SegmentKind::constants);
    auto *bytes = reinterpret_cast<const uint8_t *>(values.data());
    plan::BlobRef blob = writer.addBlob(
        constantsSegment, std::vector<uint8_t>(bytes, bytes + values.size() * sizeof(float)));
    for (auto &variable : plan.variables)
      if (variable->name == name) {
        variable->initial_segment = blob.segment;
        variable->initial_offset = blob.offset;
      }
  }

  /// A kernel of the program (KernelRegistry).
  uint32_t addCustomKernel(const std::string &name) {
    auto kernel = std::make_unique<fb::KernelT>();
    kernel->symbol = name;
    kernel->custom = true;
    plan.kernels.push_back(std::move(kernel));
    return static_cast<uint32_t>(plan.kernels.size() - 1);
  }

  uint32_t addCode(const std::vector<uint8_t> &bytes, std::vector<std::string> features = {}) {
    plan::BlobRef blob = writer.addBlob(writer.addSegment(plan::SegmentKind::code), bytes);
    auto code = std::make_unique<fb::CodeT>();
    code->segment = blob.segment;
    code->segment_offset = blob.offset;
    code->size = blob.size;
    code->features = std::move(features);
    plan.code.push_back(std::move(code));
    return static_cast<uint32_t>(plan.code.size() - 1);
  }

  /// A kernel of the test's shared object (TestKernels.c).
  uint32_t addKernel(const std::string &symbol, uint32_t code) {
    auto kernel = std::make_unique<fb::KernelT>();
    kernel->symbol = symbol;
    kernel->code = code;
    plan.kernels.push_back(std::move(kernel));
    return static_cast<uint32_t>(plan.kernels.size() - 1);
  }

  /// A new function with an empty body; the builder's other calls apply to the last one.
  void addFunction(const std::string &name, bool writesVariables = false) {
    auto made = std::make_unique<fb::FunctionT>();
    made->name = name;
    made->writes_variables = writesVariables;
    plan.functions.push_back(std::move(made));
    addBlock();
  }
  fb::FunctionT &function() { return *plan.functions.back(); }

  uint32_t addBlock() {
    function().blocks.push_back(std::make_unique<fb::BlockT>());
    return static_cast<uint32_t>(function().blocks.size() - 1);
  }

  void addInput(const std::string &name, Shape shape,
                fb::ElementType element = fb::ElementType::f32) {
    function().inputs.push_back(binding(name, element, std::move(shape)));
  }
  void addOutput(const std::string &name, Shape shape,
                 fb::ElementType element = fb::ElementType::f32) {
    function().outputs.push_back(binding(name, element, std::move(shape)));
  }

  fb::CommandT &addCommand(fb::Opcode opcode, uint32_t block = 0) {
    auto command = std::make_unique<fb::CommandT>();
    command->opcode = opcode;
    auto &commands = function().blocks[block]->commands;
    commands.push_back(std::move(command));
    return *commands.back();
  }

  fb::CommandT &launch(uint32_t kernel, std::vector<fb::BufferRef> operands,
                       std::vector<fb::BufferRef> results, uint64_t items, uint64_t grain = 1,
                       uint32_t block = 0) {
    fb::CommandT &command = addCommand(fb::Opcode::launch, block);
    command.kernel = kernel;
    command.num_results = static_cast<uint32_t>(results.size());
    command.buffers = std::move(operands);
    command.buffers.insert(command.buffers.end(), results.begin(), results.end());
    command.items = items;
    command.grain = grain;
    return command;
  }

  fb::CommandT &copy(fb::BufferRef from, fb::BufferRef to, uint32_t block = 0) {
    fb::CommandT &command = addCommand(fb::Opcode::copy, block);
    command.buffers = {from, to};
    return command;
  }

  plan::PlanFile file() {
    Expected<AlignedBuffer> bytes = writer.toBytes(plan);
    EXPECT_TRUE(bytes.ok()) << bytes.status().message();
    auto kept = std::make_shared<AlignedBuffer>(bytes.take());
    Expected<plan::PlanFile> file = plan::PlanFile::fromBytes(kept->bytes(), kept);
    EXPECT_TRUE(file.ok()) << file.status().message();
    return file.take();
  }

  Expected<std::shared_ptr<const LoadedPlan>> load(const std::shared_ptr<Runtime> &runtime) {
    return LoadedPlan::load(runtime, file(), "test.gantry");
  }

private:
  static constexpr uint32_t none = ~0u;
  uint32_t constantsSegment = none;

  static std::unique_ptr<fb::TensorTypeT> typeOf(fb::ElementType element, Shape shape) {
    auto type = std::make_unique<fb::TensorTypeT>();
    type->element = element;
    type->shape = std::move(shape);
    return type;
  }
  static std::unique_ptr<fb::BindingT> binding(const std::string &name, fb::ElementType element,
                                               Shape shape) {
    auto made = std::make_unique<fb::BindingT>();
    made->name = name;
    made->type = typeOf(element, std::move(shape));
    return made;
  }
};

/// The shared object that the build made of TestKernels.c.
inline std::vector<uint8_t> testKernels(const char *path = GANTRY_TEST_KERNELS) {
  std::ifstream file(path, std::ios::binary);
  EXPECT_TRUE(file.good()) << path;
  return {std::istreambuf_iterator<char>(file), {}};
}

} // namespace gantry::runtime::test
