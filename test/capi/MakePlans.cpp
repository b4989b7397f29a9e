// Writes the plans that the C API's tests and the examples run: hello.gantry, custom.gantry,
// counter.gantry, training.gantry, gpu.gantry, given.gantry into the folder given.
#include "Runtime/PlanBuilder.h"
#include "conformance/TestPTX.h"

#include <cstdio>

using namespace gantry;
using namespace gantry::runtime::test;
namespace fb = gantry::plan::fb;

namespace {

/// y = 2 * (x + 5..8)
void hello(PlanBuilder &b) {
  uint32_t code = b.addCode(testKernels());
  uint32_t add = b.addKernel("add_f32", code), twice = b.addKernel("double_f32", code);
  uint32_t constants = b.addArena(fb::ArenaKind::constants, 64);
  uint32_t transient = b.addArena(fb::ArenaKind::transient, 64);
  b.addConstant(constants, 0, std::vector<float>{5, 6, 7, 8});
  b.addFunction("main");
  b.addInput("x", {4});
  b.addOutput("y", {4});
  b.launch(add, {input(0, 16), memory(constants, 0, 16)}, {memory(transient, 0, 16)}, 4).name =
      "sum";
  b.launch(twice, {memory(transient, 0, 16)}, {output(0, 16)}, 4).name = "twice";
}

/// y = example.softsign(x)
void custom(PlanBuilder &b) {
  uint32_t kernel = b.addCustomKernel("example.softsign");
  b.addFunction("main");
  b.addInput("x", {4});
  b.addOutput("y", {4});
  b.launch(kernel, {input(0, 16)}, {output(0, 16)}, 4);
}

/// step: v = v + x; get: y = v
void counter(PlanBuilder &b) {
  uint32_t add = b.addKernel("add_f32", b.addCode(testKernels()));
  uint32_t variables = b.addArena(fb::ArenaKind::variables, 64);
  b.addVariable("v", variables, 0, {4});
  b.addFunction("step", /*writesVariables=*/true);
  b.addInput("x", {4});
  b.launch(add, {memory(variables, 0, 16), input(0, 16)}, {memory(variables, 0, 16)}, 4);
  b.addFunction("get");
  b.addOutput("y", {4});
  b.copy(memory(variables, 0, 16), output(0, 16));
}

/// step: v = v + x on two replicas, then w = w + v
void training(PlanBuilder &b) {
  uint32_t add = b.addKernel("add_f32", b.addCode(testKernels()));
  uint32_t variables = b.addArena(fb::ArenaKind::variables, 192);
  b.addVariable("v", variables, 0, {4});
  b.addVariable("v/replica_1", variables, 64, {4});
  b.plan.variables.back()->mirror_of = "v";
  b.addVariable("w", variables, 128, {2, 2});
  b.setInitialValue("w", {1, 1, 1, 1});
  b.addFunction("step", /*writesVariables=*/true);
  b.addInput("x", {4});
  for (uint64_t v : {0, 64})
    b.launch(add, {memory(variables, v, 16), input(0, 16)}, {memory(variables, v, 16)}, 4);
  b.launch(add, {memory(variables, 128, 16), memory(variables, 0, 16)},
           {memory(variables, 128, 16)}, 4);
}

/// next = w + g, where next may be w's array
void given(PlanBuilder &b) {
  const uint32_t add = b.addKernel("add_f32", b.addCode(testKernels()));
  b.addFunction("main");
  b.addInput("w", {4});
  b.addInput("g", {4});
  b.addOutput("next", {4});
  b.addOutput("same", {4});
  b.function().outputs[0]->over = 0;
  b.copy(input(0, 16), output(0, 16));
  b.launch(add, {output(0, 16), input(1, 16)}, {output(0, 16)}, 4);
  b.copy(input(1, 16), output(1, 16));
}

/// y = x + x on GPU:0, where x and y are
void onGPU(PlanBuilder &b) {
  const uint32_t gpu = b.addDevice("/job:localhost/replica:0/task:0/device:GPU:0", "cuda");
  b.plan.devices[gpu]->physical = 0;
  const uint32_t code = b.addCode({testPTX.begin(), testPTX.end()});
  b.plan.code[code]->kind = fb::CodeKind::ptx;
  b.plan.code[code]->target = "sm_75";
  const uint32_t add = b.addKernel("add_f32", code);
  auto variant = std::make_unique<fb::VariantT>();
  variant->driver = "cuda";
  variant->code = code;
  variant->grid = std::make_unique<fb::Extent>(4, 1, 1);
  variant->block = std::make_unique<fb::Extent>(1, 1, 1);
  b.plan.kernels[add]->variants.push_back(std::move(variant));
  b.addFunction("main");
  b.addInput("x", {4});
  b.addOutput("y", {4});
  b.function().inputs[0]->device = b.function().outputs[0]->device = gpu;
  b.launch(add, {input(0, 16), input(0, 16)}, {output(0, 16)}, 4).device = gpu;
}

bool write(void (*build)(PlanBuilder &), const std::string &path) {
  PlanBuilder builder;
  build(builder);
  Status status = builder.writer.writeFile(builder.plan, path);
  if (!status.ok())
    std::fprintf(stderr, "error: %s: %s\n", path.c_str(), status.message().c_str());
  return status.ok();
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2)
    return 2;
  std::string folder = argv[1];
  return write(hello, folder + "/hello.gantry") && write(custom, folder + "/custom.gantry") &&
                 write(counter, folder + "/counter.gantry") &&
                 write(training, folder + "/training.gantry") &&
                 write(onGPU, folder + "/gpu.gantry") && write(given, folder + "/given.gantry")
             ? 0
             : 1;
}
