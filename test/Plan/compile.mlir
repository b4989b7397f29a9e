// A graph becomes a plan file: what it holds, in words.

// RUN: gantry compile %s -o %t.gantry
// RUN: gantry plan-text %t.gantry | FileCheck %s
// RUN: gantry compile %s --no-fuse -o %t.apart.gantry
// RUN: gantry plan-text %t.apart.gantry | FileCheck %s --check-prefix=APART

// The words are of a dialect: they can be read again.
// RUN: gantry plan-text %t.gantry | gantry-opt | FileCheck %s
// RUN: gantry compile %s --stop-after=memory -o - | gantry-opt | FileCheck %s --check-prefix=MEMORY

// CHECK: plan.device @d0 "/job:localhost/replica:0/task:0/device:CPU:0" on "host"
// CHECK: plan.arena @constants_d0 constants on @d0 size 64 lower_bound 64
// CHECK: plan.arena @transient_d0 transient on @d0 size [[PEAK:[0-9]+]] lower_bound [[PEAK]]
// CHECK: plan.constant @c0 "bias" on @d0 in @constants_d0 offset 0 size 16
// CHECK: plan.code @code0 elf for "{{.*}}" needs [{{.*}}] size {{[0-9]+}}
// CHECK: plan.kernel @matmul_add_0 items 1 grain {{[0-9]+}} scratch 0 variants [#plan.variant<"host", code = @code0>]
// CHECK: plan.func @main
// CHECK-SAME: inputs [#plan.binding<"x" : tensor<2x3xf32> on @d0>, #plan.binding<"w" : tensor<3x4xf32> on @d0>]
// CHECK-SAME: outputs [#plan.binding<"y" : tensor<2x4xf32> on @d0>, #plan.binding<"total" : tensor<f32> on @d0>]
// CHECK-DAG: %[[X:.*]] = plan.input 0 size 24
// CHECK-DAG: %[[W:.*]] = plan.input 1 size 48
// CHECK-DAG: %[[B:.*]] = plan.use @c0 size 16
// CHECK-DAG: %[[Y:.*]] = plan.output 0 size 32
// CHECK-DAG: %[[T:.*]] = plan.output 1 size 4
// CHECK: plan.launch @matmul_add_0(%[[X]], %[[W]], %[[B]]) -> (%[[H:.*]]) items 1 grain {{[0-9]+}} flops 56 bytes 120 on @d0 "fc" ["MatMul", "AddV2"] at "{{.*}}compile.mlir:{{[0-9]+}}:8"
// CHECK: plan.launch @relu_0(%[[H]]) -> (%[[Y]])
// CHECK: plan.launch @reduce_sum_0(%[[H]]) -> (%[[T]])

// APART: plan.launch @matmul_0
// APART: plan.launch @add_0
// APART: plan.launch @relu_0
// APART: plan.launch @reduce_sum_0

// MEMORY: plan.kernel @matmul_add_0 items
// MEMORY: module @kernels_cpu attributes {gantry.target = #gantry.target<"cpu">}
// MEMORY: plan.func @main
// MEMORY-SAME: placed [#plan.placed<"MatMul" on @d0 in @matmul_add_0,

func.func @main(%x: tensor<2x3xf32> {gantry.name = "x"}, %w: tensor<3x4xf32> {gantry.name = "w"})
    -> (tensor<2x4xf32> {gantry.name = "y"}, tensor<f32> {gantry.name = "total"}) {
  %b = gantry.constant {gantry.name = "bias"} dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %0 = gantry.matmul %x, %w : (tensor<2x3xf32>, tensor<3x4xf32>) -> tensor<2x4xf32>
  %1 = gantry.add %0, %b {gantry.name = "fc"} : (tensor<2x4xf32>, tensor<4xf32>) -> tensor<2x4xf32>
  %2 = gantry.relu %1 : (tensor<2x4xf32>) -> tensor<2x4xf32>
  %3 = gantry.reduce_sum %1 {axes = array<i64: 0, 1>} : (tensor<2x4xf32>) -> tensor<f32>
  return %2, %3 : tensor<2x4xf32>, tensor<f32>
}
