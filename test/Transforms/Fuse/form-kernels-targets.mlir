// Kernels belong to targets: the policy and the module are those of the device's target.
// RUN: gantry-opt %s --test-target --gantry-form-kernels --gantry-verify-kernels | FileCheck %s
// RUN: gantry-opt %s --test-target --gantry-set-targets=drivers=cuda --gantry-form-kernels --gantry-verify-kernels | FileCheck %s --check-prefix=ALSO

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu0 = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">
#gpu1 = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:1">

// The CPU's target joins the two ops, the other one does not; a simulated GPU runs the CPU's kernels.
// What two targets compute alike has one name.
// CHECK-LABEL: func.func @main(
// CHECK: gantry.launch @kernels_cpu::@relu_exp_0(
// CHECK: gantry.launch @kernels_test::@relu_0(
// CHECK: gantry.launch @kernels_test::@exp_0(
// CHECK: gantry.launch @kernels_cpu::@relu_exp_0(
// CHECK: gantry.launch @kernels_cpu::@relu_0(
// CHECK: module @kernels_cpu attributes {gantry.target = #gantry.target<"cpu">}
// CHECK-NEXT: gantry.kernel @relu_exp_0 attributes {gantry.work = #gantry.work<in_place = [0]>}
// CHECK: gantry.kernel @relu_0 attributes {gantry.work = #gantry.work<in_place = [0]>}
// CHECK: module @kernels_test attributes {gantry.target = #gantry.target<"test">}
// CHECK-NEXT: gantry.kernel @relu_0 {
// CHECK: gantry.kernel @exp_0 {
// CHECK-NOT: gantry.kernel

// With a driver that may stand in at the simulated GPU, its target has a say there, and the kernels,
// too. At the CPU it cannot.
// ALSO-LABEL: func.func @main(
// ALSO: gantry.launch @kernels_cpu::@relu_exp_0(
// ALSO-NOT: also
// ALSO: gantry.launch @kernels_test::@relu_0(
// ALSO-NOT: also
// ALSO: gantry.launch @kernels_test::@exp_0(
// ALSO-NOT: also
// ALSO: gantry.launch @kernels_cpu::@relu_0(%{{.*}}) also [@kernels_test::@relu_0]
// ALSO: gantry.launch @kernels_cpu::@exp_0(%{{.*}}) also [@kernels_test::@exp_0]
// ALSO: gantry.launch @kernels_cpu::@relu_0(
module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu0, #gpu1], {
    physical = [{driver = "host", name = "/physical_device:CPU:0"}, {driver = "cuda", name = "/physical_device:GPU:0"}, {driver = "sim", name = "/physical_device:GPU:1"}],
    logical = [{physical = 0}, {physical = 1}, {physical = 2}]}>} {
  func.func @main(%x: tensor<4xf32>, %y: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>) {
    %0 = gantry.relu %x {gantry.device = #cpu} : (tensor<4xf32>) -> tensor<4xf32>
    %1 = gantry.exp %0 {gantry.device = #cpu} : (tensor<4xf32>) -> tensor<4xf32>
    %2 = gantry.relu %x {gantry.device = #gpu0} : (tensor<4xf32>) -> tensor<4xf32>
    %3 = gantry.exp %2 {gantry.device = #gpu0} : (tensor<4xf32>) -> tensor<4xf32>
    %4 = gantry.relu %x {gantry.device = #gpu1} : (tensor<4xf32>) -> tensor<4xf32>
    %5 = gantry.exp %4 {gantry.device = #gpu1} : (tensor<4xf32>) -> tensor<4xf32>
    %6 = gantry.relu %y {gantry.device = #cpu} : (tensor<4xf32>) -> tensor<4xf32>
    return %3, %5, %6, %1 : tensor<4xf32>, tensor<4xf32>, tensor<4xf32>, tensor<4xf32>
  }
}
