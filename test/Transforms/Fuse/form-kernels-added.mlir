// RUN: gantry-opt %s --gantry-form-kernels | FileCheck %s --enable-var-scope

// What the parts of a batch give is added in a tree. In one kernel all of it would wait for the last
// part: a sum of many bytes that is part of another is a kernel of its own.
// CHECK-LABEL: func.func @sums(
// CHECK: %[[AB:.*]] = gantry.launch @kernels_cpu::@{{.*}}(%arg0, %arg1)
// CHECK: %[[CD:.*]] = gantry.launch @kernels_cpu::@{{.*}}(%arg2, %arg3)
// CHECK: gantry.launch @kernels_cpu::@{{.*}}(%[[AB]], %[[CD]])
// CHECK-NOT: gantry.launch @
// CHECK: return
func.func @sums(%a: tensor<8192xf32>, %b: tensor<8192xf32>, %c: tensor<8192xf32>, %d: tensor<8192xf32>) -> tensor<8192xf32> {
  %ab = gantry.add_n %a, %b : (tensor<8192xf32>, tensor<8192xf32>) -> tensor<8192xf32>
  %cd = gantry.add_n %c, %d : (tensor<8192xf32>, tensor<8192xf32>) -> tensor<8192xf32>
  %s = gantry.add_n %ab, %cd : (tensor<8192xf32>, tensor<8192xf32>) -> tensor<8192xf32>
  %y = gantry.exp %s : (tensor<8192xf32>) -> tensor<8192xf32>
  return %y : tensor<8192xf32>
}

// Of few bytes they are one kernel.
// CHECK-LABEL: func.func @small(
// CHECK: gantry.launch @kernels_cpu::@{{.*}}(%arg0, %arg1, %arg2, %arg3)
// CHECK-NOT: gantry.launch @
// CHECK: return
func.func @small(%a: tensor<64xf32>, %b: tensor<64xf32>, %c: tensor<64xf32>, %d: tensor<64xf32>) -> tensor<64xf32> {
  %ab = gantry.add_n %a, %b : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %cd = gantry.add_n %c, %d : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  %s = gantry.add_n %ab, %cd : (tensor<64xf32>, tensor<64xf32>) -> tensor<64xf32>
  return %s : tensor<64xf32>
}
