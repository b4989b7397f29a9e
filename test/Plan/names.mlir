// Functions and variables are called what they like: the names of devices, arenas, constants, code and kernels give way.
// RUN: gantry compile %s --devices=CPU:0,GPU:0 --simulate -o %t.gantry
// RUN: gantry plan-text %t.gantry | FileCheck %s
// RUN: gantry plan-text %t.gantry | gantry-opt | FileCheck %s
// RUN: gantry compile %s --devices=CPU:0,GPU:0 --simulate --stop-after=memory -o - | gantry-opt | FileCheck %s --check-prefix=MEMORY
// RUN: gantry run %t.gantry --function d0 --fill ramp 2>/dev/null | FileCheck %s --check-prefix=RESULT
// RUN: gantry run %t.gantry --function kernels_cpu --fill ramp 2>/dev/null | FileCheck %s --check-prefix=RESULT
// RUN: gantry explain %t.gantry --function matmul_0 | FileCheck %s --check-prefix=EXPLAIN

// CHECK-DAG: plan.device @d0_0 "/job:localhost/replica:0/task:0/device:CPU:0"
// CHECK-DAG: plan.arena @constants_d0_0 constants on @d0_0
// CHECK-DAG: plan.arena @transient_d1_0 transient on @d1
// CHECK-DAG: plan.constant @c0 "{{.*}}" on @d
// CHECK-DAG: plan.variable @[[V:v0_0]] "c0" on @d
// CHECK-DAG: plan.code @code0_0 elf
// CHECK-DAG: plan.kernel @matmul_1
// CHECK-DAG: plan.func @d0 inputs
// CHECK-DAG: plan.func @variables_d0_0 inputs
// CHECK-DAG: plan.func @once0 inputs
// CHECK-DAG: plan.func @at_load_0 at_load
// MEMORY-DAG: plan.func @code0 inputs
// MEMORY-DAG: plan.constant @c0_0
// MEMORY-DAG: plan.func @v0 inputs
// RESULT: {{^}}output0
// RESULT-NEXT: 13. 16.
// EXPLAIN: function matmul_0

gantry.variable @c0 = dense<[1.0, 2.0, 3.0]> : tensor<3xf32>
gantry.variable @kernels = dense<1.0> : tensor<3xf32>
func.func @d0(%x: tensor<3x3xf32>) -> tensor<3x2xf32> {
  %w = gantry.constant dense<[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]> : tensor<3x2xf32>
  %0 = gantry.matmul %x, %w : (tensor<3x3xf32>, tensor<3x2xf32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}
func.func @kernels_cpu(%x: tensor<3x3xf32>) -> tensor<3x2xf32> {
  %0 = func.call @d0(%x) : (tensor<3x3xf32>) -> tensor<3x2xf32>
  return %0 : tensor<3x2xf32>
}
func.func @matmul_0(%x: tensor<3xf32>) -> tensor<3xf32> {
  %v = gantry.read @c0 : tensor<3xf32>
  %0 = gantry.add %x, %v : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
  gantry.assign @c0, %0 : tensor<3xf32>
  return %0 : tensor<3xf32>
}
func.func @v0(%x: tensor<3xf32>) -> tensor<3xf32> {
  return %x : tensor<3xf32>
}
func.func @code0(%x: tensor<3xf32>) -> tensor<3xf32> {
  return %x : tensor<3xf32>
}
func.func @constants_d0(%x: tensor<3xf32>) -> tensor<3xf32> {
  return %x : tensor<3xf32>
}
func.func @variables_d0_0(%x: tensor<3xf32>) -> tensor<3xf32> {
  return %x : tensor<3xf32>
}
func.func @transient_d1(%x: tensor<3xf32>) -> tensor<3xf32> {
  return %x : tensor<3xf32>
}
func.func @at_load(%x: tensor<64x64xf32>) -> tensor<64x64xf32> {
  %w = gantry.constant dense<2.0> : tensor<64x64xf32>
  %0 = gantry.matmul %w, %w : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  %1 = gantry.matmul %x, %0 : (tensor<64x64xf32>, tensor<64x64xf32>) -> tensor<64x64xf32>
  return %1 : tensor<64x64xf32>
}
func.func @once0(%x: tensor<3xf32>) -> tensor<3xf32> {
  return %x : tensor<3xf32>
}
