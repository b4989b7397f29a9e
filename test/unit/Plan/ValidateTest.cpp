// Each rule of the validator: the sample plan with one thing wrong, and the full text of the
// answer.
#include "SamplePlan.h"

#include "gantry/Plan/Validate.h"

#include <gtest/gtest.h>

#include <cmath>
#include <functional>

namespace {
using namespace gantry;
using namespace gantry::plan;
using namespace gantry::plan::test;

/// The validator's words on the sample after `change`, without the common beginning.
std::string refusal(const std::function<void(Sample &)> &change) {
  Sample sample = makeSample();
  change(sample);
  Status status = sample.writer.toBytes(sample.plan).status();
  std::string message = status.message();
  std::string head = "the compiler made an invalid plan: plan metadata: ";
  return message.rfind(head, 0) == 0 ? message.substr(head.size()) : message;
}

fb::LinkT &addLink(Sample &sample, uint32_t from, uint32_t to) {
  auto link = std::make_unique<fb::LinkT>();
  link->from = from;
  link->to = to;
  sample.plan.links.push_back(std::move(link));
  return *sample.plan.links.back();
}

/// Constant 1 is computed at load: a copy of constant 0.
fb::FunctionT &addLoad(Sample &sample) {
  sample.plan.constants[1]->made = 0;
  sample.plan.constants[1]->segment = UINT32_MAX;
  sample.plan.arenas[2]->load_size = 64;
  sample.plan.load = std::make_unique<fb::FunctionT>();
  fb::FunctionT &load = *sample.plan.load;
  load.name = "at_load";
  load.num_queues = 1;
  load.outputs.push_back(binding("b", {25}));
  load.blocks.push_back(std::make_unique<fb::BlockT>());
  load.blocks[0]->commands.push_back(
      copy(inArena(0, 0, 100), inOutput(0, 0, 100), fb::CopyKind::sameDevice, 0));
  return load;
}

fb::KernelT &kernelOf(Sample &sample) { return *sample.plan.kernels[0]; }

fb::VariantT &libraryVariant(Sample &sample, const char *driver) {
  fb::VariantT &variant = addVariant(kernelOf(sample), driver);
  variant.source = fb::KernelSource::library;
  variant.library = "blas";
  return variant;
}

/// Adds a sound check to the end of the body; a variable is held back.
fb::CommandT &addCheck(Sample &sample) {
  auto check = command(fb::Opcode::check, {inArena(2, 256, 16), inArena(1, 0, 32)});
  check->name = "pick";
  check->index_check = std::make_unique<fb::IndexCheckT>();
  check->index_check->shape = {2, 3};
  check->index_check->sizes = {9};
  sample.block(0).commands.push_back(std::move(check));
  return *sample.block(0).commands.back();
}

TEST(Validate, AcceptsChecks) {
  EXPECT_EQ(refusal([](Sample &s) { addCheck(s); }), "");
  EXPECT_EQ(refusal([](Sample &s) {
              fb::CommandT &check = addCheck(s);
              check.buffers.resize(1);
              check.index_check->shape = {}, check.index_check->sizes = {0, 5};
            }),
            "");
}

TEST(Validate, AcceptsVariantsOfEverySource) {
  EXPECT_EQ(refusal([](Sample &s) {
              s.plan.devices[0]->also = {"sim"};
              fb::VariantT &fast = addVariant(kernelOf(s), "host");
              fast.features = {"avx512f"}, fast.symbol = "add_0_avx512", fast.items = 4;
              addVariant(kernelOf(s), "host").source = fb::KernelSource::registered;
              addVariant(kernelOf(s), "sim");
              libraryVariant(s, "cuda").library_version = "12.4.1";
              libraryVariant(s, "cuda").block = std::make_unique<fb::Extent>(256, 1, 1);
              addVariant(kernelOf(s), "host").scratch = 32;
              for (auto &block : s.function().blocks)
                for (auto &command : block->commands)
                  command->has_scratch = command->opcode == fb::Opcode::launch;
            }),
            "");
}

TEST(Validate, AcceptsRatesAndLinks) {
  EXPECT_EQ(refusal([](Sample &s) {
              s.plan.devices[1]->peak_flops = 1e13;
              addLink(s, 0, 1).bandwidth = 1e10;
              addLink(s, 1, 0).latency = 1e-5;
            }),
            "");
}

TEST(Validate, AcceptsWhatIsComputedAtLoad) {
  EXPECT_EQ(refusal([](Sample &s) { addLoad(s); }), "");
}

/// The output may be the input's array: that is copied first, and nothing else has it.
void layOver(Sample &sample) {
  sample.function().outputs[0]->over = 0;
  sample.command(0, 0).buffers[0] = inOutput(0, 0, 32);
  auto &body = sample.block(0).commands;
  body.insert(body.begin(),
              copy(inInput(0, 0, 32), inOutput(0, 0, 32), fb::CopyKind::sameDevice, 0));
}

TEST(Validate, AcceptsAnOutputOverAnInput) {
  EXPECT_EQ(refusal([](Sample &s) { layOver(s); }), "");
  // Among other values of a transfer.
  EXPECT_EQ(refusal([](Sample &s) {
              layOver(s);
              addToCopy(s.command(0, 0), inArena(2, 0, 16), inArena(2, 256, 16));
            }),
            "");
}

TEST(Validate, AcceptsTheSample) {
  EXPECT_EQ(refusal([](Sample &) {}), "");
}

struct Rule {
  const char *name;
  std::function<void(Sample &)> change;
  const char *message;
};

const Rule rules[] = {
    {"NoDevice", [](Sample &s) { s.plan.devices.clear(); }, "devices: there is none"},
    {"DeviceNameUnreadable", [](Sample &s) { s.plan.devices[1]->name = "GPU:x"; },
     "devices[1]: device name 'GPU:x', column 5: expected a number (0, 1, ...) or '*'"},
    {"DeviceNamePartial", [](Sample &s) { s.plan.devices[1]->name = "GPU:0"; },
     "devices[1]: 'GPU:0' is not a full device name"},
    {"DeviceTypeDiffers", [](Sample &s) { s.plan.devices[1]->type = fb::DeviceType::cpu; },
     "devices[1]: '/job:localhost/replica:0/task:0/device:GPU:0' is given as of another type"},
    {"DeviceTwice",
     [](Sample &s) {
       s.plan.devices[1]->name = s.plan.devices[0]->name;
       s.plan.devices[1]->type = fb::DeviceType::cpu;
     },
     "devices[1]: '/job:localhost/replica:0/task:0/device:CPU:0' is there twice"},
    {"DriverUnknown", [](Sample &s) { s.plan.devices[1]->driver = "tpu"; },
     "devices[1]: unknown driver 'tpu'; the drivers are host, sim and cuda"},
    {"DeviceLimit", [](Sample &s) { s.plan.devices[1]->memory_limit = UINT64_MAX; },
     "devices[1]: a memory limit of 18446744073709551615 bytes"},
    {"DeviceFlops", [](Sample &s) { s.plan.devices[1]->peak_flops = -1; },
     "devices[1]: peak_flops is -1.000000 a second, expected at least 1, or 0 for unknown"},
    {"DeviceBandwidth", [](Sample &s) { s.plan.devices[1]->bandwidth = std::nan(""); },
     "devices[1]: bandwidth is nan a second, expected at least 1, or 0 for unknown"},
    {"LinkDevice", [](Sample &s) { addLink(s, 0, 2); }, "links[0]: device 2 of 2"},
    {"LinkToItself", [](Sample &s) { addLink(s, 1, 1); },
     "links[0]: it goes from device 1 to itself"},
    {"LinkTwice", [](Sample &s) { addLink(s, 0, 1), addLink(s, 1, 0), addLink(s, 0, 1); },
     "links[2]: the link from device 0 to 1 is there twice"},
    {"LinkBandwidth", [](Sample &s) { addLink(s, 0, 1).bandwidth = 0.5; },
     "links[0]: bandwidth is 0.500000 a second, expected at least 1, or 0 for unknown"},
    {"LinkLatency", [](Sample &s) { addLink(s, 0, 1).latency = 3601; },
     "links[0]: a latency of 3601.000000 seconds, expected 0 to 3600"},
    {"ArenaDevice", [](Sample &s) { s.plan.arenas[3]->device = 2; }, "arenas[3]: device 2 of 2"},
    {"ArenaKind", [](Sample &s) { s.plan.arenas[3]->kind = fb::ArenaKind(3); },
     "arenas[3]: unknown kind 3"},
    {"ArenaTooBig", [](Sample &s) { s.plan.arenas[3]->size = UINT64_MAX; },
     "arenas[3]: a size of 18446744073709551615 bytes"},
    {"ArenaUnderItsBound", [](Sample &s) { s.plan.arenas[3]->lower_bound = 257; },
     "arenas[3]: the lower bound 257 is over the size 256"},
    {"ConstantArena", [](Sample &s) { s.plan.constants[0]->arena = 9; },
     "constants[0]: arena 9 of 4"},
    {"ConstantArenaKind", [](Sample &s) { s.plan.constants[0]->arena = 1; },
     "constants[0]: arena 1 is of another kind"},
    {"ConstantUnaligned", [](Sample &s) { s.plan.constants[0]->offset = 32; },
     "constants[0]: offset 32 is not a multiple of 64"},
    {"ConstantOutside", [](Sample &s) { s.plan.constants[0]->offset = 192; },
     "constants[0]: 100 bytes at 192 of arena 0, which has 256"},
    {"ConstantOverflow", [](Sample &s) { s.plan.constants[0]->offset = UINT64_MAX - 63; },
     "constants[0]: 100 bytes at 18446744073709551552 of arena 0, which has 256"},
    {"ConstantSegment", [](Sample &s) { s.plan.constants[0]->segment = 2; },
     "constants[0]: segment 2 of 2"},
    {"ConstantInCode", [](Sample &s) { s.plan.constants[0]->segment = 1; },
     "constants[0]: segment 1 is of another kind"},
    {"ConstantOutsideSegment", [](Sample &s) { s.plan.constants[0]->segment_offset = 192; },
     "constants[0]: 100 bytes at 192 of segment 0, which has 256"},
    {"ConstantHome", [](Sample &s) { s.plan.constants[0]->home = 9; }, "constants[0]: home 9 of 2"},
    {"ConstantCause", [](Sample &s) { s.plan.constants[0]->cause = 9; },
     "constants[0]: cause 9 of 1"},
    {"LoadSize", [](Sample &s) { s.plan.arenas[0]->load_size = 64; },
     "arenas[0]: 64 bytes for what runs at load"},
    {"MadeByNothing", [](Sample &s) { s.plan.constants[1]->made = 0; },
     "constants[1]: output at load 0 of 0"},
    {"MadeTwice", [](Sample &s) { addLoad(s), s.plan.constants[0]->made = 0; },
     "constants[1]: output 0 at load is another constant"},
    {"MadeOfAnotherSize", [](Sample &s) { addLoad(s), s.plan.constants[1]->size = 96; },
     "constants[1]: it is not what output 0 at load is"},
    {"MadeElsewhere", [](Sample &s) { addLoad(s), s.plan.load->outputs[0]->device = 1; },
     "constants[1]: it is not what output 0 at load is"},
    {"OutputAtLoadUnused", [](Sample &s) { addLoad(s), s.plan.constants[1]->made = UINT32_MAX; },
     "constants[1]: segment 4294967295 of 2"},
    {"OutputAtLoadNoConstant",
     [](Sample &s) { addLoad(s).outputs.push_back(binding("other", {8})); },
     "the function at load: an output is no constant"},
    {"FileBehindMade",
     [](Sample &s) {
       addLoad(s), std::swap(s.plan.constants[0]->offset, s.plan.constants[1]->offset);
     },
     "constants[0]: it lies behind one that is computed at load"},
    {"LoadHasInputs", [](Sample &s) { addLoad(s).inputs.push_back(binding("x", {8})); },
     "the function at load: it has no name, or inputs, or variables"},
    {"LoadReadsMade",
     [](Sample &s) { addLoad(s).blocks[0]->commands[0]->buffers[0] = inArena(0, 128, 100); },
     "the function at load, block 0, command 0 (copy): 100 bytes at 128 of arena 0, which has 128"},
    {"LoadUsesTransient",
     [](Sample &s) { addLoad(s).blocks[0]->commands[0]->buffers[0] = inArena(2, 0, 100); },
     "the function at load, block 0, command 0 (copy): 100 bytes at 0 of arena 2, which has 64"},
    {"LoadUsesVariables",
     [](Sample &s) { addLoad(s).blocks[0]->commands[0]->buffers[0] = inArena(1, 0, 100); },
     "the function at load, block 0, command 0 (copy): 100 bytes at 0 of arena 1, which has 0"},
    {"ConstantsOverlap", [](Sample &s) { s.plan.constants[0]->offset = 64; },
     "constants[1]: it overlaps constants[0] in arena 0"},
    {"VariableUnnamed", [](Sample &s) { s.plan.variables[0]->name = ""; },
     "variables[0]: it has no name"},
    {"VariableSize", [](Sample &s) { s.plan.variables[0]->size = 16; },
     "variables[0]: its type has 32 bytes, its place 16"},
    {"VariableShape", [](Sample &s) { s.plan.variables[0]->type->shape = {-1}; },
     "variables[0]: a dimension is negative, or the tensor has over 2^63 bytes"},
    {"VariableShapeOverflow",
     [](Sample &s) { s.plan.variables[0]->type->shape = {INT64_MAX, INT64_MAX}; },
     "variables[0]: a dimension is negative, or the tensor has over 2^63 bytes"},
    {"VariableElement", [](Sample &s) { s.plan.variables[0]->type->element = fb::ElementType(13); },
     "variables[0]: unknown element type 13"},
    {"VariableTwice",
     [](Sample &s) {
       s.plan.variables.push_back(std::make_unique<fb::VariableT>(*s.plan.variables[0]));
       s.plan.variables[1]->offset = 64;
     },
     "variables[1]: the name 'counter' is there twice"},
    {"VariablesOverlap",
     [](Sample &s) {
       s.plan.variables.push_back(std::make_unique<fb::VariableT>(*s.plan.variables[0]));
       s.plan.variables[1]->name = "other";
     },
     "variables[1]: it overlaps variables[0] in arena 1"},
    {"VariableInitialSegment", [](Sample &s) { s.plan.variables[0]->initial_segment = 9; },
     "variables[0]: segment 9 of 2"},
    {"VariableInitialKind", [](Sample &s) { s.plan.variables[0]->initial_segment = 1; },
     "variables[0]: segment 1 is of another kind"},
    {"VariableInitialAlignment",
     [](Sample &s) {
       s.plan.variables[0]->initial_segment = 0;
       s.plan.variables[0]->initial_offset = 8;
     },
     "variables[0]: offset 8 is not a multiple of 64"},
    {"VariableInitialOutside",
     [](Sample &s) {
       s.plan.variables[0]->initial_segment = 0;
       s.plan.variables[0]->initial_offset = 256;
     },
     "variables[0]: 32 bytes at 256 of segment 0, which has 256"},
    {"VariableMirrorUnknown", [](Sample &s) { s.plan.variables[0]->mirror_of = "w"; },
     "variables[0]: it mirrors 'w', which is no variable of 32 bytes"},
    {"VariableMirrorSize",
     [](Sample &s) {
       s.plan.variables.push_back(std::make_unique<fb::VariableT>(*s.plan.variables[0]));
       fb::VariableT &mirror = *s.plan.variables[1];
       mirror.name = "mirror";
       mirror.mirror_of = "counter";
       mirror.offset = 64;
       mirror.type->shape = {1};
       mirror.size = 4;
     },
     "variables[1]: it mirrors 'counter', which is no variable of 4 bytes"},
    {"CodeKind", [](Sample &s) { s.plan.code[0]->kind = fb::CodeKind(7); },
     "code[0]: unknown kind 7"},
    {"CodeOutside", [](Sample &s) { s.plan.code[0]->size = 2000; },
     "code[0]: 2000 bytes at 0 of segment 1, which has 1024"},
    {"KernelSymbol", [](Sample &s) { s.plan.kernels[0]->symbol = ""; },
     "kernels[0]: it has no symbol"},
    {"DeviceStandInUnknown", [](Sample &s) { s.plan.devices[1]->also = {"tpu"}; },
     "devices[1]: unknown driver 'tpu'; the drivers are host, sim and cuda"},
    {"DeviceStandInTwice", [](Sample &s) { s.plan.devices[1]->also = {"cuda", "sim"}; },
     "devices[1]: the driver 'sim' is there twice"},
    {"VariantAndCustom",
     [](Sample &s) { addVariant(kernelOf(s), "host"), kernelOf(s).custom = true; },
     "kernels[0]: it is custom and has variants; a registered kernel is a variant then"},
    {"VariantsTooMany",
     [](Sample &s) {
       for (int i = 0; i < 65; ++i)
         addVariant(kernelOf(s), "host");
     },
     "kernels[0]: 65 variants, at most 64"},
    {"VariantSource",
     [](Sample &s) { addVariant(kernelOf(s), "host").source = fb::KernelSource(3); },
     "kernels[0], variants[0]: unknown source 3"},
    {"VariantDriver", [](Sample &s) { addVariant(kernelOf(s), "tpu"); },
     "kernels[0], variants[0]: unknown driver 'tpu'; the drivers are host, sim and cuda"},
    {"VariantFeature", [](Sample &s) { addVariant(kernelOf(s), "host").features = {"avx2", ""}; },
     "kernels[0], variants[0]: a feature has no name"},
    {"VariantNoLibrary",
     [](Sample &s) { addVariant(kernelOf(s), "host").source = fb::KernelSource::library; },
     "kernels[0], variants[0]: it names no library"},
    {"VariantLibraryAndCode", [](Sample &s) { addVariant(kernelOf(s), "host").library = "blas"; },
     "kernels[0], variants[0]: it names the library 'blas', and its source is another"},
    {"VariantVersion", [](Sample &s) { libraryVariant(s, "host").library_version = "12.x"; },
     "kernels[0], variants[0]: the version '12.x' is not numbers and dots, like 12.4"},
    {"VariantCode", [](Sample &s) { addVariant(kernelOf(s), "host").code = 1; },
     "kernels[0], variants[0]: code 1 of 1"},
    {"VariantForeignCode", [](Sample &s) { addVariant(kernelOf(s), "cuda"); },
     "kernels[0], variants[0]: code 0 is elfSharedObject, which devices of driver 'cuda' do not "
     "run"},
    {"VariantArchitectures",
     [](Sample &s) {
       fb::VariantT &variant = libraryVariant(s, "cuda");
       variant.arch_min = 90, variant.arch_max = 75;
     },
     "kernels[0], variants[0]: architectures 90 to 75"},
    {"VariantItems", [](Sample &s) { addVariant(kernelOf(s), "host").items = UINT64_MAX; },
     "kernels[0], variants[0]: 18446744073709551615 work items in grains of 0"},
    {"VariantScratch", [](Sample &s) { addVariant(kernelOf(s), "host").scratch = UINT64_MAX; },
     "kernels[0], variants[0]: 18446744073709551615 bytes of scratch memory"},
    {"VariantHostGrid", [](Sample &s) { addVariant(kernelOf(s), "host").shared_memory = 4; },
     "kernels[0], variants[0]: it has a grid, a block or shared memory, which 'host' has not"},
    {"VariantNoGrid",
     [](Sample &s) {
       s.plan.code[0]->kind = fb::CodeKind::cubin;
       addVariant(kernelOf(s), "cuda");
     },
     "kernels[0], variants[0]: it has no grid or no block"},
    {"VariantSide",
     [](Sample &s) { libraryVariant(s, "cuda").grid = std::make_unique<fb::Extent>(1, 0, 1); },
     "kernels[0], variants[0]: a side of 0 in its grid or block"},
    {"VariantBlock",
     [](Sample &s) { libraryVariant(s, "cuda").block = std::make_unique<fb::Extent>(32, 33, 1); },
     "kernels[0], variants[0]: a block of 32 x 33 x 1 threads, at most 1024"},
    {"VariantProduct",
     [](Sample &s) {
       libraryVariant(s, "cuda").library = "cublasLt";
       kernelOf(s).variants.back()->symbol = "matmul";
     },
     "kernels[0], variants[0]: 'matmul' is not a product of matrices as the library cublasLt has "
     "them"},
    {"LaunchProductSize",
     [](Sample &s) {
       libraryVariant(s, "cuda").library = "cublasLt";
       kernelOf(s).variants.back()->symbol =
           "matmul f32 in f32 batch 1 rows 5 columns 2 terms 1 left 0 1 0 right 1 2 0 result 2 2 0";
     },
     "function 'main', block 0, command 0 (launch 'add'): its buffers are not those of the product "
     "'matmul f32 in f32 batch 1 rows 5 columns 2 terms 1 left 0 1 0 right 1 2 0 result 2 2 0'"},
    {"LaunchProductOperand",
     [](Sample &s) {
       libraryVariant(s, "cuda").library = "cublasLt";
       kernelOf(s).variants.back()->symbol =
           "matmul f32 in f32 batch 1 rows 4 columns 2 terms 1 left 0 1 0 right 2 2 0 result 2 2 0";
     },
     "function 'main', block 0, command 0 (launch 'add'): its buffers are not those of the product "
     "'matmul f32 in f32 batch 1 rows 4 columns 2 terms 1 left 0 1 0 right 2 2 0 result 2 2 0'"},
    {"LaunchProductBuffer",
     [](Sample &s) {
       libraryVariant(s, "cuda").library = "cublasLt";
       kernelOf(s).variants.back()->symbol =
           "matmul f32 in f32 batch 1 rows 4 columns 2 terms 1 left 0 1 0 right 3 2 0 result 2 2 0";
     },
     "function 'main', block 0, command 0 (launch 'add'): its buffers are not those of the product "
     "'matmul f32 in f32 batch 1 rows 4 columns 2 terms 1 left 0 1 0 right 3 2 0 result 2 2 0'"},
    {"LaunchWithoutVariant", [](Sample &s) { addVariant(kernelOf(s), "sim"); },
     "function 'main', block 0, command 0 (launch 'add'): kernel 'add_0' has no code for the "
     "driver 'host'"},
    {"LaunchWithoutVariantForAStandIn",
     [](Sample &s) {
       s.plan.devices[0]->also = {"sim"};
       addVariant(kernelOf(s), "host");
     },
     "function 'main', block 0, command 0 (launch 'add'): kernel 'add_0' has no code for the "
     "driver 'sim'"},
    {"LaunchCollective",
     [](Sample &s) {
       addVariant(kernelOf(s), "host");
       libraryVariant(s, "cuda").library = "nccl";
     },
     "function 'main', block 0, command 0 (launch 'add'): kernel 'add_0' is a part of a "
     "collective, outside of a block of the library 'nccl'"},
    {"LaunchScratch",
     [](Sample &s) {
       addVariant(kernelOf(s), "host").scratch = 64;
       s.command(0, 0).has_scratch = true;
     },
     "function 'main', block 0, command 0 (launch 'add'): kernel 'add_0' needs 64 bytes of scratch "
     "memory, the launch has 32"},
    {"LaunchNoScratch", [](Sample &s) { addVariant(kernelOf(s), "host").scratch = 64; },
     "function 'main', block 0, command 0 (launch 'add'): kernel 'add_0' needs 64 bytes of scratch "
     "memory, the launch has 0"},
    {"LaunchScratchUnwritten",
     [](Sample &s) { s.command(0, 0).has_scratch = true, s.command(0, 0).num_results = 0; },
     "function 'main', block 0, command 0 (launch 'add'): it has scratch memory, and writes no "
     "buffer"},
    {"KernelCode", [](Sample &s) { s.plan.kernels[0]->code = 1; }, "kernels[0]: code 1 of 1"},
    {"Math", [](Sample &s) { s.plan.math = "f8"; },
     "plan: unknown math 'f8'; known are f32, tf32, bf16 and f16"},
    {"NoFunction", [](Sample &s) { s.plan.functions.clear(); }, "functions: there is none"},
    {"FunctionTwice",
     [](Sample &s) {
       s.plan.functions.push_back(std::make_unique<fb::FunctionT>(*s.plan.functions[0]));
     },
     "functions[1]: the name 'main' is there twice"},
    {"InputTwice", [](Sample &s) { s.function().inputs.push_back(binding("x", {1})); },
     "function 'main', input 1: the name 'x' is there twice"},
    {"OutputDevice", [](Sample &s) { s.function().outputs[0]->device = 2; },
     "function 'main', output 0: device 2 of 2"},
    {"Semaphores", [](Sample &s) { s.function().num_semaphores = 1000; },
     "function 'main': 1000 semaphores for 12 commands"},
    {"Queues", [](Sample &s) { s.function().num_queues = 0; },
     "function 'main': 0 queues for 12 commands"},
    {"NoBlocks",
     [](Sample &s) {
       s.function().blocks.clear();
       s.function().num_semaphores = 0;
     },
     "function 'main': it has no blocks"},
    {"BlockUnused",
     [](Sample &s) { s.function().blocks.push_back(std::make_unique<fb::BlockT>()); },
     "function 'main', block 5: no branch or loop uses it"},
    {"BlockTwice", [](Sample &s) { s.command(0, 6).blocks = {1, 4}; },
     "function 'main', block 0, command 6 (loop): block 1 is used twice"},
    {"BlockCycle", [](Sample &s) { s.command(0, 5).blocks = {0, 2}; },
     "function 'main', block 0, command 5 (branch): block 0 is used twice"},
    {"BlockIndex", [](Sample &s) { s.command(0, 5).blocks = {1, 7}; },
     "function 'main', block 1, command 0 (launch 'add'): block 7 of 5"},
    {"Opcode", [](Sample &s) { s.command(0, 0).opcode = fb::Opcode(11); },
     "function 'main', block 0, command 0: unknown opcode 11"},
    {"CommandDevice", [](Sample &s) { s.command(0, 0).device = 2; },
     "function 'main', block 0, command 0 (launch 'add'): device 2 of 2"},
    {"CommandQueue", [](Sample &s) { s.command(0, 0).queue = 2; },
     "function 'main', block 0, command 0 (launch 'add'): queue 2 of 2"},
    {"LaunchKernel", [](Sample &s) { s.command(0, 0).kernel = 1; },
     "function 'main', block 0, command 0 (launch 'add'): kernel 1 of 1"},
    {"LaunchResults", [](Sample &s) { s.command(0, 0).num_results = 4; },
     "function 'main', block 0, command 0 (launch 'add'): 4 results among 3 buffers"},
    {"LaunchGrain", [](Sample &s) { s.command(0, 0).grain = 0; },
     "function 'main', block 0, command 0 (launch 'add'): 8 work items in grains of 0"},
    {"LaunchUnaligned", [](Sample &s) { s.command(0, 0).buffers[2] = inArena(2, 68, 32); },
     "function 'main', block 0, command 0 (launch 'add'): offset 68 is not a multiple of 64"},
    {"LaunchOutside", [](Sample &s) { s.command(0, 0).buffers[2] = inArena(2, 448, 65); },
     "function 'main', block 0, command 0 (launch 'add'): 65 bytes at 448 of arena 2, which has "
     "512"},
    {"LaunchOtherDevice", [](Sample &s) { s.command(0, 0).buffers[1] = inArena(3, 0, 32); },
     "function 'main', block 0, command 0 (launch 'add'): a buffer is on device 1, the command on "
     "device 0"},
    {"LaunchWritesConstant", [](Sample &s) { s.command(0, 0).buffers[2] = inArena(0, 0, 32); },
     "function 'main', block 0, command 0 (launch 'add'): it writes the constants in arena 0"},
    {"LaunchWritesInput", [](Sample &s) { s.command(0, 0).buffers[2] = inInput(0, 0, 32); },
     "function 'main', block 0, command 0 (launch 'add'): it writes input 0"},
    {"LaunchWritesVariable", [](Sample &s) { s.function().writes_variables = false; },
     "function 'main', block 1, command 0 (launch 'add'): it writes the variables in arena 1, but "
     "the function has no writes_variables"},
    {"LaunchCodeForAnotherDriver", [](Sample &s) { s.plan.code[0]->kind = fb::CodeKind::ptx; },
     "function 'main', block 0, command 0 (launch 'add'): kernel 'add_0' has no code for the "
     "driver "
     "'host'"},
    {"LaunchNests", [](Sample &s) { s.command(0, 0).blocks = {1}; },
     "function 'main', block 0, command 0 (launch 'add'): 1 blocks, expected 0"},
    {"LaunchCondition",
     [](Sample &s) {
       s.command(0, 0).condition = std::make_unique<fb::BufferRef>(inArena(2, 0, 1));
     },
     "function 'main', block 0, command 0 (launch 'add'): it has a condition"},
    {"InputIndex", [](Sample &s) { s.command(0, 0).buffers[0] = inInput(1, 0, 32); },
     "function 'main', block 0, command 0 (launch 'add'): input 1 of 1"},
    {"InputRange", [](Sample &s) { s.command(0, 0).buffers[0] = inInput(0, 0, 33); },
     "function 'main', block 0, command 0 (launch 'add'): 33 bytes at 0 of input 0, which has 32"},
    {"Space", [](Sample &s) { s.command(0, 0).buffers[0] = fb::BufferRef(fb::Space(3), 0, 0, 1); },
     "function 'main', block 0, command 0 (launch 'add'): unknown space 3"},
    {"CopyBuffers", [](Sample &s) { s.command(0, 1).buffers.pop_back(); },
     "function 'main', block 0, command 1 (copy): 1 buffers, expected 2"},
    {"CopySizes", [](Sample &s) { s.command(0, 1).buffers[1] = inArena(3, 0, 31); },
     "function 'main', block 0, command 1 (copy): from 32 to 31 bytes"},
    {"CopyKind", [](Sample &s) { s.command(0, 1).copy_kind = fb::CopyKind::deviceToHost; },
     "function 'main', block 0, command 1 (copy): the copy kind is not that of devices 0 and 1"},
    {"CopyDevice", [](Sample &s) { s.command(0, 7).device = 1; },
     "function 'main', block 0, command 7 (copy): device 1 has neither of the buffers"},
    {"CopyOverlap",
     [](Sample &s) { s.command(0, 7).buffers = {inArena(2, 128, 32), inArena(2, 144, 32)}; },
     "function 'main', block 0, command 7 (copy): source and destination overlap"},
    {"CopyNames",
     [](Sample &s) {
       addToCopy(s.command(0, 1), inInput(0, 0, 16), inArena(3, 32, 16));
       s.command(0, 1).also.clear();
     },
     "function 'main', block 0, command 1 (copy): 4 buffers, expected 2"},
    {"CopySecondSizes",
     [](Sample &s) { addToCopy(s.command(0, 1), inInput(0, 0, 16), inArena(3, 32, 15)); },
     "function 'main', block 0, command 1 (copy): from 16 to 15 bytes"},
    {"CopySecondCause",
     [](Sample &s) {
       addToCopy(s.command(0, 1), inInput(0, 0, 16), inArena(3, 32, 16));
       s.command(0, 1).also[0]->cause = 1;
     },
     "function 'main', block 0, command 1 (copy): cause 1 of 1"},
    {"CopySecondRange",
     [](Sample &s) { addToCopy(s.command(0, 1), inInput(0, 0, 16), inArena(3, 248, 16)); },
     "function 'main', block 0, command 1 (copy): 16 bytes at 248 of arena 3, which has 256"},
    {"CopyTwoWays",
     [](Sample &s) { addToCopy(s.command(0, 1), inArena(3, 64, 16), inArena(2, 256, 16)); },
     "function 'main', block 0, command 1 (copy): its values do not all go from device 0 to device "
     "1"},
    {"CopyTwiceThere",
     [](Sample &s) { addToCopy(s.command(0, 1), inInput(0, 0, 16), inArena(3, 16, 16)); },
     "function 'main', block 0, command 1 (copy): buffers that it writes overlap others that it "
     "uses"},
    {"CopyReadsWhatItWrites",
     [](Sample &s) {
       addToCopy(s.command(0, 7), inArena(2, 320, 16), inArena(2, 256, 16));
       addToCopy(s.command(0, 7), inArena(2, 264, 16), inArena(2, 400, 16));
     },
     "function 'main', block 0, command 7 (copy): buffers that it writes overlap others that it "
     "uses"},
    {"LaunchOfFurtherValues",
     [](Sample &s) { s.command(0, 0).also.push_back(std::make_unique<fb::CopiedValueT>()); },
     "function 'main', block 0, command 0 (launch 'add'): it names 1 further values, and is not a "
     "copy"},
    {"CopyCause", [](Sample &s) { s.command(0, 1).cause = 1; },
     "function 'main', block 0, command 1 (copy): cause 1 of 1"},
    {"CopyIntoConstant", [](Sample &s) { s.command(0, 7).buffers[1] = inArena(0, 0, 32); },
     "function 'main', block 0, command 7 (copy): it writes the constants in arena 0"},
    {"ConditionMissing", [](Sample &s) { s.command(0, 5).condition.reset(); },
     "function 'main', block 0, command 5 (branch): it has no condition"},
    {"ConditionSize", [](Sample &s) { *s.command(0, 5).condition = inArena(2, 0, 4); },
     "function 'main', block 0, command 5 (branch): the condition has 4 bytes, expected 1"},
    {"ConditionOnDevice", [](Sample &s) { *s.command(0, 6).condition = inArena(3, 0, 1); },
     "function 'main', block 0, command 6 (loop): the condition is not on the host"},
    {"BranchBlocks", [](Sample &s) { s.command(0, 5).blocks = {1}; },
     "function 'main', block 0, command 5 (branch): 1 blocks, expected 2"},
    {"CheckOfNothing", [](Sample &s) { addCheck(s).index_check.reset(); },
     "function 'main', block 0, command 8 (check 'pick'): it does not say what it checks"},
    {"CheckWithoutBuffers", [](Sample &s) { addCheck(s).buffers.clear(); },
     "function 'main', block 0, command 8 (check 'pick'): 0 buffers, expected 1"},
    {"CheckWithoutSizes", [](Sample &s) { addCheck(s).index_check->sizes.clear(); },
     "function 'main', block 0, command 8 (check 'pick'): it has no size for indices to be in"},
    {"CheckOfNoIndex", [](Sample &s) { addCheck(s).index_check->shape = {2, 0}; },
     "function 'main', block 0, command 8 (check 'pick'): a dimension is 0"},
    {"CheckSize", [](Sample &s) { addCheck(s).index_check->sizes = {-1}; },
     "function 'main', block 0, command 8 (check 'pick'): a dimension is -1"},
    {"CheckReadsTooLittle", [](Sample &s) { addCheck(s).buffers[0] = inArena(2, 256, 8); },
     "function 'main', block 0, command 8 (check 'pick'): it reads 8 bytes, expected 16"},
    {"CheckReadsOutside", [](Sample &s) { addCheck(s).buffers[0] = inArena(2, 504, 16); },
     "function 'main', block 0, command 8 (check 'pick'): 16 bytes at 504 of arena 2, which has "
     "512"},
    {"CheckOnDevice",
     [](Sample &s) {
       addCheck(s).buffers[0] = inArena(3, 0, 16);
       s.command(0, 8).device = 1;
     },
     "function 'main', block 0, command 8 (check 'pick'): what it reads is not on the host"},
    {"CheckElsewhere", [](Sample &s) { addCheck(s).device = 1; },
     "function 'main', block 0, command 8 (check 'pick'): what it reads is not on the host"},
    {"CheckHoldsNoBuffer", [](Sample &s) { addCheck(s).buffers[1] = inArena(9, 0, 16); },
     "function 'main', block 0, command 8 (check 'pick'): arena 9 of 4"},
    {"CopyThatChecks",
     [](Sample &s) { s.command(0, 1).index_check = std::make_unique<fb::IndexCheckT>(); },
     "function 'main', block 0, command 1 (copy): it says what indices it checks, and is not a "
     "check"},
    {"OverInputIndex",
     [](Sample &s) {
       layOver(s);
       s.function().outputs[0]->over = 1;
     },
     "function 'main', output 0: input 1 of 1"},
    {"OverInputType",
     [](Sample &s) {
       layOver(s);
       s.function().inputs[0]->type->element = fb::ElementType::i32;
     },
     "function 'main', output 0: it lies over input 0, which has another type or is on another "
     "device"},
    {"OverInputTwice",
     [](Sample &s) {
       layOver(s);
       s.function().outputs.push_back(binding("z", {8}));
       s.function().outputs[1]->over = 0;
     },
     "function 'main', output 1: it lies over input 0, as another output does"},
    {"OverInputReadLater",
     [](Sample &s) {
       layOver(s);
       s.command(0, 1).buffers[0] = inInput(0, 0, 32);
     },
     "function 'main', output 0: it lies over input 0, which command 'add' has besides the copy to "
     "it"},
    {"OverInputReadInALoop",
     [](Sample &s) {
       layOver(s);
       s.command(4, 0).buffers[0] = inInput(0, 0, 32);
     },
     "function 'main', output 0: it lies over input 0, which command 'add' has besides the copy to "
     "it"},
    {"OverInputCopiedLate",
     [](Sample &s) {
       layOver(s);
       std::swap(s.block(0).commands[0], s.block(0).commands[1]);
     },
     "function 'main', output 0: it lies over input 0, and command 'add' has it before that is "
     "copied to it"},
    {"OverInputCopiedInPart",
     [](Sample &s) {
       layOver(s);
       s.command(0, 0).buffers = {inInput(0, 0, 16), inOutput(0, 0, 16)};
     },
     "function 'main', output 0: it lies over input 0, which command '' has besides the copy to "
     "it"},
    {"SignalIndex", [](Sample &s) { s.command(0, 2).signal = 1; },
     "function 'main', block 0, command 2 (signal): semaphore 1 of 1"},
    {"SignalTwice",
     [](Sample &s) { s.block(0).commands.push_back(order(fb::Opcode::signal, 0, 0)); },
     "function 'main', block 0, command 8 (signal): semaphore 0 is signalled twice"},
    {"WaitBeforeSignal",
     [](Sample &s) { std::swap(s.block(0).commands[2], s.block(0).commands[3]); },
     "function 'main', block 0, command 2 (wait): nothing signals semaphore 0 before this wait"},
    {"WaitOnASignalThatMayNotHappen",
     [](Sample &s) {
       s.block(1).commands.push_back(order(fb::Opcode::signal, 1, 0));
       s.block(0).commands.push_back(order(fb::Opcode::wait, 1, 0));
       s.function().num_semaphores = 2;
     },
     "function 'main', block 0, command 8 (wait): nothing signals semaphore 1 before this wait"},
    {"ValueBuffer", [](Sample &s) { s.function().values[0]->buffer.reset(); },
     "function 'main', values[0]: it has no buffer"},
    {"ValueLife", [](Sample &s) { s.function().values[0]->first = 5; },
     "function 'main', values[0]: it lives in commands 5 to 4 of 12"},
    {"ValueSize", [](Sample &s) { s.function().values[0]->type->shape = {7}; },
     "function 'main', values[0]: its type has 28 bytes, its buffer 32"},
    {"PlacedOpDevice", [](Sample &s) { s.function().placed_ops[0]->device = 2; },
     "function 'main', placed_ops[0]: device 2 of 2"},
    {"PlacedOpName", [](Sample &s) { s.function().placed_ops[0]->log_name = ""; },
     "function 'main', placed_ops[0]: it has no log name"},
    {"PlacedOpOperand",
     [](Sample &s) {
       s.function().placed_ops[0]->operands.push_back(std::make_unique<fb::OperandT>());
     },
     "function 'main', placed_ops[0]: the tensor type is missing"},
    {"PlacedOpResult",
     [](Sample &s) {
       s.function().placed_ops[0]->results.push_back(std::make_unique<fb::TensorTypeT>());
       s.function().placed_ops[0]->results[0]->shape = {-1};
     },
     "function 'main', placed_ops[0]: a dimension is negative, or the tensor has over 2^63 bytes"},
};

class ValidateRule : public testing::TestWithParam<Rule> {};

TEST_P(ValidateRule, IsChecked) { EXPECT_EQ(refusal(GetParam().change), GetParam().message); }

INSTANTIATE_TEST_SUITE_P(Plan, ValidateRule, testing::ValuesIn(rules),
                         [](const auto &info) { return std::string(info.param.name); });

TEST(Validate, AWaitInsideABlockSeesSignalsBeforeTheBlock) {
  EXPECT_EQ(
      refusal([](Sample &s) { s.block(4).commands.push_back(order(fb::Opcode::wait, 0, 1)); }), "");
}

TEST(Validate, CapsNesting) {
  auto nest = [](unsigned depth) {
    return [depth](Sample &s) {
      auto &blocks = s.function().blocks;
      size_t at = 2; // the else block, then one deeper each time
      for (unsigned i = 1; i < depth; ++i) {
        blocks.push_back(std::make_unique<fb::BlockT>());
        blocks.push_back(std::make_unique<fb::BlockT>());
        uint32_t last = static_cast<uint32_t>(blocks.size() - 1);
        blocks[at]->commands.push_back(
            nested(fb::Opcode::branch, inArena(2, 0, 1), {last - 1, last}));
        at = last;
      }
    };
  };
  EXPECT_EQ(refusal(nest(maxBlockDepth)), "");
  EXPECT_NE(refusal(nest(maxBlockDepth + 1)).find("nested over 64 deep"), std::string::npos);
}

TEST(Validate, RefusesNumbersAtOddPlaces) {
  // FlatBuffers' own verifier lets a vector of 8-byte numbers begin anywhere.
  Bytes bytes = makeSample().bytes();
  FileHeader header;
  std::memcpy(&header, bytes.data(), sizeof header);
  std::span metadata = std::span(bytes).subspan(header.metadataOffset, header.metadataSize);
  AlignedBuffer aligned = AlignedBuffer::allocate(metadata.size() + 64);
  std::memcpy(aligned.data() + 4, metadata.data(), metadata.size());
  std::span<const uint8_t> shifted(aligned.data() + 4, metadata.size());
  Expected<const fb::Plan *> root = verifyMetadata(shifted);
  ASSERT_FALSE(root.ok());
  EXPECT_EQ(root.status().message(), "plan metadata: it does not start at a multiple of 8");
}

TEST(Validate, BoundsTheWalkOfSharedParts) {
  // 2000 commands that share one vector of 2000 buffers: small as a file, long as a walk.
  flatbuffers::FlatBufferBuilder builder;
  std::vector<fb::BufferRef> refs(2000, inArena(0, 0, 0));
  auto shared = builder.CreateVectorOfStructs(refs);
  std::vector<flatbuffers::Offset<fb::Command>> commands;
  for (int i = 0; i < 2000; ++i)
    commands.push_back(fb::CreateCommand(builder, fb::Opcode::launch, 0, 0, 0, shared));
  auto block = fb::CreateBlock(builder, builder.CreateVector(commands));
  auto function = fb::CreateFunction(builder, builder.CreateString("main"), 0, 0,
                                     builder.CreateVector(&block, 1));
  auto device = fb::CreateDevice(
      builder, builder.CreateString("/job:localhost/replica:0/task:0/device:CPU:0"));
  auto arena = fb::CreateArena(builder, 0, fb::ArenaKind::transient, 0);
  auto kernel = fb::CreateKernel(builder, builder.CreateString("k"), 0, true);
  auto kernels = builder.CreateVector(&kernel, 1);
  auto functions = builder.CreateVector(&function, 1);
  auto devices = builder.CreateVector(&device, 1);
  auto arenas = builder.CreateVector(&arena, 1);
  fb::PlanBuilder plan(builder);
  plan.add_devices(devices);
  plan.add_arenas(arenas);
  plan.add_kernels(kernels);
  plan.add_functions(functions);
  fb::FinishPlanBuffer(builder, plan.Finish());

  std::span<const uint8_t> bytes(builder.GetBufferPointer(), builder.GetSize());
  Expected<const fb::Plan *> root = verifyMetadata(bytes);
  ASSERT_TRUE(root.ok()) << root.status().message();
  Status status = validatePlan(**root, {}, bytes.size());
  EXPECT_NE(status.message().find("its parts are shared too often"), std::string::npos)
      << status.message();
}

} // namespace
