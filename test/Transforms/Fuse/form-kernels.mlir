// RUN: gantry-opt %s --gantry-form-kernels -split-input-file | FileCheck %s
// RUN: gantry-opt %s --gantry-form-kernels="fuse=false" -split-input-file | FileCheck %s --check-prefix=APART
// RUN: gantry-opt %s --gantry-set-targets="machines=cpu=sapphirerapids,cpu=x86-64-v3,cuda=sm_75" --gantry-form-kernels -split-input-file | FileCheck %s --check-prefix=MACHINES

// What a target makes code for stands on its module.
// MACHINES: module @kernels_cpu attributes {gantry.target = #gantry.target<"cpu", machines = ["sapphirerapids", "x86-64-v3"]>}

// A chain of elementwise ops is one kernel, named after its ops.
// CHECK-LABEL: @chain(
// CHECK-SAME: %[[X:.*]]: tensor<4xf32>, %[[Y:.*]]: tensor<4xf32>
// CHECK: %[[R:.*]] = gantry.launch @kernels_cpu::@add_relu_exp_0(%[[X]], %[[Y]])
// CHECK-NOT: gantry.launch @
// CHECK: return %[[R]]
// CHECK: module @kernels_cpu attributes {gantry.target = #gantry.target<"cpu">}
// CHECK: gantry.kernel @add_relu_exp_0 attributes {gantry.work = #gantry.work<in_place = [0, 1]>} {
// CHECK-NEXT: ^bb0(%[[A:.*]]: tensor<4xf32>, %[[B:.*]]: tensor<4xf32>):
// CHECK-NEXT:   %[[S:.*]] = gantry.add %[[A]], %[[B]]
// CHECK-NEXT:   %[[P:.*]] = gantry.relu %[[S]]
// CHECK-NEXT:   %[[E:.*]] = gantry.exp %[[P]]
// CHECK-NEXT:   gantry.yield %[[E]]

// Without fusion each op is a kernel.
// APART-LABEL: @chain(
// APART: gantry.launch @kernels_cpu::@add_0
// APART: gantry.launch @kernels_cpu::@relu_0
// APART: gantry.launch @kernels_cpu::@exp_0
func.func @chain(%x: tensor<4xf32>, %y: tensor<4xf32>) -> tensor<4xf32> {
  %0 = gantry.add %x, %y : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  %1 = gantry.relu %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = gantry.exp %1 : (tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// Elementwise ops follow a contraction into its kernel; the launch keeps device, name and the ops'
// descriptions for the placement log.
// CHECK-LABEL: @epilogue(
// CHECK: gantry.launch @kernels_cpu::@matmul_add_relu_0({{[^)]*}})
// CHECK-SAME: ops [#gantry.launched<"MatMul", name = "fc", location = "{{.*}}", flops = 256, bytes = {{[0-9]+}}, decision = <"assigned", "">, kind = "contraction">, #gantry.launched<"AddV2", location = {{.*}}, #gantry.launched<"Relu", name = "act", {{[^]]*}}]
// CHECK-SAME: gantry.device = #gantry.device<"CPU:0">, {{.*}}gantry.name = "act"
// CHECK-NOT: gantry.launch @
// CHECK: gantry.kernel @matmul_add_relu_0
// CHECK: gantry.matmul %{{.*}}, %{{.*}} :
func.func @epilogue(%x: tensor<4x8xf32>, %w: tensor<8x4xf32>, %b: tensor<4xf32>) -> tensor<4x4xf32> {
  %0 = gantry.matmul %x, %w {gantry.device = #gantry.device<"CPU:0">, gantry.name = "fc"} : (tensor<4x8xf32>, tensor<8x4xf32>) -> tensor<4x4xf32>
  %1 = gantry.add %0, %b {gantry.device = #gantry.device<"CPU:0">} : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  %2 = gantry.relu %1 {gantry.device = #gantry.device<"CPU:0">, gantry.name = "act"} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

// -----

// One contraction or reduction to a kernel.
// CHECK-LABEL: @two_contractions(
// CHECK: %[[A:.*]] = gantry.launch @kernels_cpu::@matmul_0(
// CHECK: gantry.launch @kernels_cpu::@matmul_add_0(%{{.*}}, %[[A]])
func.func @two_contractions(%x: tensor<4x4xf32>) -> tensor<4x4xf32> {
  %0 = gantry.matmul %x, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %1 = gantry.matmul %x, %x {transpose_a} : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = gantry.add %0, %1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  return %2 : tensor<4x4xf32>
}

// -----

// A value with users in two groups is made once, by itself.
// CHECK-LABEL: @shared(
// CHECK: %[[E:.*]] = gantry.launch @kernels_cpu::@exp_0(
// CHECK: gantry.launch @kernels_cpu::@add_0(%[[E]], %arg1)
// CHECK: gantry.launch @kernels_cpu::@reduce_sum_0(%[[E]])
func.func @shared(%x: tensor<4xf32>, %y: tensor<2x4xf32>) -> (tensor<2x4xf32>, tensor<f32>) {
  %0 = gantry.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = gantry.add %0, %y : (tensor<4xf32>, tensor<2x4xf32>) -> tensor<2x4xf32>
  %2 = gantry.reduce_sum %0 {axes = array<i64: 0>} : (tensor<4xf32>) -> tensor<f32>
  return %1, %2 : tensor<2x4xf32>, tensor<f32>
}

// -----

// A value with two users in one group joins it.
// CHECK-LABEL: @diamond(
// CHECK: gantry.launch @kernels_cpu::@exp_relu_neg_add_0(
// CHECK-NOT: gantry.launch @
// CHECK: return
func.func @diamond(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = gantry.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = gantry.relu %0 : (tensor<4xf32>) -> tensor<4xf32>
  %2 = gantry.neg %0 : (tensor<4xf32>) -> tensor<4xf32>
  %3 = gantry.add %1, %2 : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %3 : tensor<4xf32>
}

// -----

// A value that the function gives back is a result of the kernel that reads it.
// CHECK-LABEL: @returned(
// CHECK: %[[R:.*]]:2 = gantry.launch @kernels_cpu::@exp_relu_0(
// CHECK: return %[[R]]#0, %[[R]]#1
func.func @returned(%x: tensor<4xf32>) -> (tensor<4xf32>, tensor<4xf32>) {
  %0 = gantry.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = gantry.relu %0 : (tensor<4xf32>) -> tensor<4xf32>
  return %0, %1 : tensor<4xf32>, tensor<4xf32>
}

// -----

// Devices keep ops apart.
// CHECK-LABEL: @p1_devices_keep_apart(
// CHECK: gantry.launch @kernels_cpu::@exp_0({{.*}}gantry.device = #gantry.device<"CPU:0">
// CHECK: gantry.launch @kernels_cpu::@relu_0({{.*}}gantry.device = #gantry.device<"GPU:0">
func.func @p1_devices_keep_apart(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = gantry.exp %x {gantry.device = #gantry.device<"CPU:0">} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = gantry.relu %0 {gantry.device = #gantry.device<"GPU:0">} : (tensor<4xf32>) -> tensor<4xf32>
  return %1 : tensor<4xf32>
}

// -----

// Another index space would compute elements several times.
// CHECK-LABEL: @index_spaces_keep_apart(
// CHECK: gantry.launch @kernels_cpu::@exp_0(
// CHECK: gantry.launch @kernels_cpu::@add_0(
func.func @index_spaces_keep_apart(%x: tensor<4xf32>, %y: tensor<8x4xf32>) -> tensor<8x4xf32> {
  %0 = gantry.exp %x : (tensor<4xf32>) -> tensor<4xf32>
  %1 = gantry.add %0, %y : (tensor<4xf32>, tensor<8x4xf32>) -> tensor<8x4xf32>
  return %1 : tensor<8x4xf32>
}

// -----

// Equal groups share a kernel, whatever their names and locations.
// CHECK-LABEL: @equal_groups(
// CHECK: gantry.launch @kernels_cpu::@relu_0({{.*}}gantry.name = "a"
// CHECK: gantry.launch @kernels_cpu::@relu_0({{.*}}gantry.name = "b"
// CHECK: gantry.launch @kernels_cpu::@relu_1(
// CHECK-COUNT-2: gantry.kernel @relu
// CHECK-NOT: gantry.kernel
func.func @equal_groups(%x: tensor<4xf32>, %y: tensor<4xf32>, %z: tensor<5xf32>) -> (tensor<4xf32>, tensor<4xf32>, tensor<5xf32>) {
  %0 = gantry.relu %x {gantry.name = "a"} : (tensor<4xf32>) -> tensor<4xf32>
  %1 = gantry.relu %y {gantry.name = "b"} : (tensor<4xf32>) -> tensor<4xf32>
  %2 = gantry.relu %z : (tensor<5xf32>) -> tensor<5xf32>
  return %0, %1, %2 : tensor<4xf32>, tensor<4xf32>, tensor<5xf32>
}

// -----

// Views stay outside, and so do constants, but for those of one element.
// CHECK-LABEL: @views_and_constants(
// CHECK: %[[W:.*]] = gantry.constant dense<[1.000000e+00, 2.000000e+00, 3.000000e+00, 4.000000e+00]>
// CHECK: %[[V:.*]] = gantry.reshape
// CHECK: gantry.launch @kernels_cpu::@mul_add_0(%[[V]], %[[W]])
// CHECK: gantry.kernel @mul_add_0
// CHECK: gantry.constant dense<2.000000e+00> : tensor<f32>
// CHECK: gantry.mul
// CHECK: gantry.add
func.func @views_and_constants(%x: tensor<2x2xf32>) -> tensor<4xf32> {
  %two = gantry.constant dense<2.0> : tensor<f32>
  %w = gantry.constant dense<[1.0, 2.0, 3.0, 4.0]> : tensor<4xf32>
  %0 = gantry.reshape %x : (tensor<2x2xf32>) -> tensor<4xf32>
  %1 = gantry.mul %0, %two : (tensor<4xf32>, tensor<f32>) -> tensor<4xf32>
  %2 = gantry.add %1, %w : (tensor<4xf32>, tensor<4xf32>) -> tensor<4xf32>
  return %2 : tensor<4xf32>
}

// -----

// Ops with several results are kernels of their own; bodies of control flow have their own kernels.
// CHECK-LABEL: @bodies(
// CHECK: %{{.*}}:2 = gantry.launch @kernels_cpu::@top_k_0(
// CHECK: gantry.if
// CHECK: gantry.launch @kernels_cpu::@relu_0(
// CHECK: } else {
// CHECK: gantry.launch @kernels_cpu::@neg_0(
func.func @bodies(%c: tensor<i1>, %x: tensor<4xf32>) -> (tensor<2xf32>, tensor<2xi64>) {
  %v, %i = gantry.top_k %x {axis = 0 : i64, k = 2 : i64} : (tensor<4xf32>) -> (tensor<2xf32>, tensor<2xi64>)
  %0 = gantry.if %c -> (tensor<2xf32>) {
    %1 = gantry.relu %v : (tensor<2xf32>) -> tensor<2xf32>
    gantry.yield %1 : tensor<2xf32>
  } else {
    %2 = gantry.neg %v : (tensor<2xf32>) -> tensor<2xf32>
    gantry.yield %2 : tensor<2xf32>
  } : tensor<i1>
  return %0, %i : tensor<2xf32>, tensor<2xi64>
}

// -----

// A kernel does not take the name of a function: a plan has both side by side.
// CHECK-LABEL: func.func @relu_0(
// CHECK: gantry.launch @kernels_cpu::@relu_1(
// CHECK: gantry.kernel @relu_1
func.func @relu_0(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = gantry.relu %x : (tensor<4xf32>) -> tensor<4xf32>
  return %0 : tensor<4xf32>
}

// -----

// What may be overwritten is proven on the code; here, what has the type of a result, by result, the last one being -1.
// CHECK-LABEL: @overwrites(
// CHECK: gantry.kernel @add_compare_select_0 attributes {gantry.work = #gantry.work<in_place = [-2, 0, -1, 0]>} {
// CHECK: gantry.kernel @slice_0 attributes {gantry.work = #gantry.work<in_place = [0]>} {
// CHECK: gantry.kernel @matmul_add_0 attributes {gantry.work = #gantry.work<in_place = [0, 1]>} {
// CHECK: gantry.kernel @softmax_0 attributes {gantry.work = #gantry.work<in_place = [0]>} {
// CHECK: gantry.kernel @cast_0 {
func.func @overwrites(%x: tensor<4x4xf32>, %row: tensor<4xf32>, %n: tensor<4x4xi32>)
    -> (tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>) {
  %0 = gantry.add %x, %row : (tensor<4x4xf32>, tensor<4xf32>) -> tensor<4x4xf32>
  %p = gantry.compare gt, %x, %0 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xi1>
  %1 = gantry.select %p, %x, %0 : (tensor<4x4xi1>, tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %2 = gantry.slice %x {starts = array<i64: 3, 0>, sizes = array<i64: 4, 4>, steps = array<i64: -1, 1>} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %m = gantry.matmul %x, %1 : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %3 = gantry.add %m, %x : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %4 = gantry.softmax %x {axis = 1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %5 = gantry.cast %n : (tensor<4x4xi32>) -> tensor<4x4xf32>
  return %0, %1, %2, %3, %4, %5 : tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>, tensor<4x4xf32>
}
