// Whose an op is: by the driver of its device, and by those that may run the device in its place.
#include "gantry/Target/TargetMap.h"
#include "gantry/Target/CPU/CPUTarget.h"
#include "gantry/Target/CUDA/CUDATarget.h"

#include "mlir/Parser/Parser.h"

#include <gtest/gtest.h>

using namespace mlir;

namespace gantry {
namespace {

class TargetMapTest : public testing::Test {
protected:
  TargetMapTest() {
    registerCPUTarget();
    registerCUDATarget();
    context.loadDialect<GantryDialect>();
  }

  /// A CPU, a GPU of NVIDIA and a simulated one; an op on each, and one on none.
  TargetMap parse(const std::string &targets) {
    module = parseSourceString<ModuleOp>(
        R"(
        module attributes {)" +
            targets +
            R"(gantry.topology = #gantry.topology<[<"/device:CPU:0">, <"/device:GPU:0">, <"/device:GPU:1">], {
            physical = [{driver = "host", name = "/physical_device:CPU:0"}, {driver = "cuda", name = "/physical_device:GPU:0"},
                        {driver = "sim", name = "/physical_device:GPU:1"}],
            logical = [{physical = 0}, {physical = 1}, {physical = 2}]}>} {
          "gantry.constant"() {value = dense<0.0> : tensor<f32>, gantry.device = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">} : () -> tensor<f32>
          "gantry.constant"() {value = dense<1.0> : tensor<f32>, gantry.device = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">} : () -> tensor<f32>
          "gantry.constant"() {value = dense<2.0> : tensor<f32>, gantry.device = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:1">} : () -> tensor<f32>
          "gantry.constant"() {value = dense<3.0> : tensor<f32>} : () -> tensor<f32>
        })",
        &context);
    auto ops = module->getOps<ConstantOp>();
    EXPECT_EQ(std::distance(ops.begin(), ops.end()), 4);
    auto op = ops.begin();
    for (Operation **each : {&onCPU, &onGPU, &onSim, &nowhere})
      *each = *op++;
    return TargetMap(*module);
  }

  static std::vector<std::string> namesOf(ArrayRef<const Target *> targets) {
    std::vector<std::string> names;
    for (const Target *target : targets)
      names.push_back(target->getName().str());
    return names;
  }

  using Names = std::vector<std::string>;
  MLIRContext context;
  OwningOpRef<ModuleOp> module;
  Operation *onCPU, *onGPU, *onSim, *nowhere;
};

TEST_F(TargetMapTest, anOpIsItsDriversTargets) {
  const TargetMap targets = parse("");
  EXPECT_EQ(namesOf(targets.targetsOf(onCPU)), Names{"cpu"});
  EXPECT_EQ(namesOf(targets.targetsOf(onGPU)), Names{"cuda"});
  EXPECT_EQ(namesOf(targets.targetsOf(onSim)), Names{"cpu"});
  EXPECT_EQ(namesOf(targets.targetsOf(nowhere)), Names{"cpu"});
  EXPECT_TRUE(targets.isOnlyOf(onCPU, kCPUTarget, DeviceType::CPU));
  EXPECT_TRUE(targets.isOnlyOf(nowhere, kCPUTarget, DeviceType::CPU));
  // A simulated GPU runs kernels of the CPU's target, and is no CPU.
  EXPECT_FALSE(targets.isOnlyOf(onSim, kCPUTarget, DeviceType::CPU));
  EXPECT_TRUE(targets.isOnlyOf(onGPU, kCUDATarget, DeviceType::GPU));
  EXPECT_FALSE(targets.mayBeOf(onSim, kCUDATarget));
  EXPECT_EQ(targets.deviceNumberOf(onSim), 2u);
  EXPECT_TRUE(targets.asked.saysNothing());
  EXPECT_FALSE(targets.configOf(kCUDATarget).getMachines());
}

TEST_F(TargetMapTest, driversStandInForOthersOfTheirKind) {
  const TargetMap sim = parse("gantry.targets = #gantry.targets<drivers = [\"sim\"]>, ");
  EXPECT_EQ(namesOf(sim.targetsOf(onGPU)), (Names{"cuda", "cpu"}));
  EXPECT_EQ(namesOf(sim.targetsOf(onSim)), Names{"cpu"});
  EXPECT_EQ(namesOf(sim.targetsOf(onCPU)), Names{"cpu"});
  EXPECT_FALSE(sim.isOnlyOf(onGPU, kCUDATarget, DeviceType::GPU));
  EXPECT_TRUE(sim.isOnlyOf(onCPU, kCPUTarget, DeviceType::CPU));
  EXPECT_EQ(sim.standInsFor(Driver::cuda).size(), 1u);
  EXPECT_TRUE(sim.standInsFor(Driver::host).empty());

  const TargetMap cuda = parse("gantry.targets = #gantry.targets<drivers = [\"cuda\"]>, ");
  EXPECT_EQ(namesOf(cuda.targetsOf(onSim)), (Names{"cpu", "cuda"}));
  EXPECT_TRUE(cuda.mayBeOf(onSim, kCUDATarget));
  EXPECT_FALSE(cuda.mayBeOf(onCPU, kCUDATarget));
}

TEST_F(TargetMapTest, kernelsAreForWhatIsAsked) {
  const TargetMap targets = parse(
      "gantry.targets = #gantry.targets<machines = {cuda = [\"sm_90\", \"sm_75\"]}, math = tf32, "
      "libraries = [\"nccl\"], stages = 3>, ");
  EXPECT_EQ(oldestGPUArch(targets.configOf(kCUDATarget)), 75);
  EXPECT_TRUE(mayRoundToTF32(targets.configOf(kCUDATarget)));
  EXPECT_FALSE(targets.configOf(kCPUTarget).getMachines());
  EXPECT_FALSE(targets.asked.getFactorType());
  EXPECT_TRUE(targets.asked.asksForLibrary("nccl"));
  EXPECT_FALSE(targets.asked.asksForLibrary("auto"));
  EXPECT_EQ(targets.asked.getStages(), 3);
  EXPECT_EQ(parse("gantry.targets = #gantry.targets<math = bf16>, ").asked.getFactorType(),
            BFloat16Type::get(&context));
}

} // namespace
} // namespace gantry
