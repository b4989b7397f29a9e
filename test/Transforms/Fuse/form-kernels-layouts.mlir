// Constants are read in the layout that the target wants.
// RUN: gantry-opt %s --gantry-form-kernels --gantry-verify-kernels | FileCheck %s
// RUN: gantry-opt %s --gantry-form-kernels --gantry-lower-kernels --gantry-lower-to-plan | FileCheck %s --check-prefix=PLAN
// RUN: gantry-opt %s --gantry-form-kernels="keep-once=true" --gantry-verify-kernels | FileCheck %s --check-prefix=ONCE

#cpu = #gantry.device<"/job:localhost/replica:0/task:0/device:CPU:0">
#gpu = #gantry.device<"/job:localhost/replica:0/task:0/device:GPU:0">
module attributes {gantry.topology = #gantry.topology<[#cpu, #gpu], {
    physical = [{driver = "host", name = "/physical_device:CPU:0"}, {driver = "cuda", name = "/physical_device:GPU:0"}],
    logical = [{physical = 0}, {physical = 1}]}>} {

// The products of a constant and of a given matrix are two kernels, those of two constants one. A
// GPU reads the constant as it is, and so does an op that is no product.
// CHECK-LABEL: func.func @main(
// CHECK: gantry.launch @kernels_cpu::@matmul_0(
// CHECK: gantry.launch @kernels_cpu::@matmul_0(
// CHECK: gantry.launch @kernels_cpu::@matmul_1(
// CHECK: gantry.launch @kernels_cuda::@matmul_1(
// CHECK: gantry.launch @kernels_cpu::@relu_0(
// CHECK: module @kernels_cpu
// CHECK: gantry.kernel @matmul_0 attributes {gantry.layouts = [unit, {columns = array<i64: 20, 1>, matrices = array<i64>, rows = array<i64: 8, 20>, width = 32 : i64}]}
// CHECK: gantry.kernel @matmul_1 {
// CHECK: gantry.kernel @relu_0
// CHECK: module @kernels_cuda
// CHECK: gantry.kernel @matmul_1 {

// A constant that is wanted in two forms is there in both: 8 rows of 32 columns, and 8 of 20.
// PLAN-DAG: plan.constant @{{.*}} "w" on @d0 offset -1 size 1024 : tensor<8x20xf32> = {{.*}} {gantry.layout = {columns = array<i64: 20, 1>, matrices = array<i64>, rows = array<i64: 8, 20>, width = 32 : i64}}
// PLAN-DAG: plan.constant @{{.*}} "v" on @d0 offset -1 size 1024 : tensor<8x20xf32> = {{.*}} {gantry.layout
// PLAN-DAG: plan.constant @{{.*}} "w" on @d0 offset -1 size 640 : tensor<8x20xf32> = {{[^{]*$}}
// PLAN-DAG: plan.constant @{{.*}} "w" on @d1 {{.*}}offset -1 size 640 : tensor<8x20xf32> = {{[^{]*$}}

// With keep-once, one that somebody reads as it is, is read so by products, too; the other one is not.
// ONCE: gantry.launch @kernels_cpu::@matmul_0(
// ONCE: gantry.launch @kernels_cpu::@matmul_1(
// ONCE: gantry.launch @kernels_cpu::@matmul_0(
// ONCE: gantry.kernel @matmul_0 {
// ONCE: gantry.kernel @matmul_1 attributes {gantry.layouts = [unit, {columns
func.func @main(%x: tensor<4x8xf32>, %y: tensor<8x20xf32>)
    -> (tensor<4x20xf32>, tensor<4x20xf32>, tensor<4x20xf32>, tensor<4x20xf32>, tensor<8x20xf32>) {
  %w = gantry.constant {gantry.name = "w"} dense<1.0> : tensor<8x20xf32>
  %v = gantry.constant {gantry.name = "v"} dense<2.0> : tensor<8x20xf32>
  %0 = gantry.matmul %x, %w {gantry.device = #cpu} : (tensor<4x8xf32>, tensor<8x20xf32>) -> tensor<4x20xf32>
  %1 = gantry.matmul %x, %v {gantry.device = #cpu} : (tensor<4x8xf32>, tensor<8x20xf32>) -> tensor<4x20xf32>
  %2 = gantry.matmul %x, %y {gantry.device = #cpu} : (tensor<4x8xf32>, tensor<8x20xf32>) -> tensor<4x20xf32>
  %z = gantry.copy %x to "/job:localhost/replica:0/task:0/device:GPU:0" : tensor<4x8xf32>
  %3 = gantry.matmul %z, %w {gantry.device = #gpu} : (tensor<4x8xf32>, tensor<8x20xf32>) -> tensor<4x20xf32>
  %4 = gantry.relu %w {gantry.device = #cpu} : (tensor<8x20xf32>) -> tensor<8x20xf32>
  return %0, %1, %2, %3, %4 : tensor<4x20xf32>, tensor<4x20xf32>, tensor<4x20xf32>, tensor<4x20xf32>, tensor<8x20xf32>
}
}
