// Of a large value that ends early, truth values are kept: with their users it would be held until these run.
// RUN: gantry-opt %s --gantry-form-kernels -split-input-file | FileCheck %s --enable-var-scope

// CHECK-LABEL: func.func @early(
// CHECK: %[[M:.*]] = gantry.launch @kernels_cpu::@cumsum_compare_0(
// CHECK-NEXT: %[[P:.*]] = gantry.launch @kernels_cpu::@matmul_0(
// CHECK-NEXT: %[[T:.*]] = gantry.launch @kernels_cpu::@transpose_0(%[[P]])
// CHECK-NEXT: gantry.launch @kernels_cpu::@select_0(%[[M]], %[[T]])
func.func @early(%x: tensor<512x512xf32>, %a: tensor<512x512xf32>) -> tensor<512x512xf32> {
  %zero = gantry.constant dense<0.0> : tensor<f32>
  %y = gantry.cumsum %x {axis = 1 : i64} : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %m = gantry.compare le, %y, %zero : (tensor<512x512xf32>, tensor<f32>) -> tensor<512x512xi1>
  %p = gantry.matmul %a, %a : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %t = gantry.transpose %p {permutation = array<i64: 1, 0>} : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %s = gantry.select %m, %zero, %t : (tensor<512x512xi1>, tensor<f32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  return %s : tensor<512x512xf32>
}

// -----

// Right in front of its user, or where the value is read once more behind it, nothing is won.
// CHECK-LABEL: func.func @late(
// CHECK: %[[P:.*]] = gantry.launch @kernels_cpu::@matmul_0(
// CHECK-NEXT: %[[T:.*]] = gantry.launch @kernels_cpu::@transpose_0(%[[P]])
// CHECK-NEXT: gantry.launch @kernels_cpu::@compare_compare_select_select_0(%{{.*}}, %{{.*}}, %[[T]])
func.func @late(%x: tensor<512x512xf32>, %a: tensor<512x512xf32>) -> (tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>) {
  %zero = gantry.constant dense<0.0> : tensor<f32>
  %y = gantry.cumsum %x {axis = 1 : i64} : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %z = gantry.cumsum %y {axis = 1 : i64} : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %n = gantry.compare le, %z, %zero : (tensor<512x512xf32>, tensor<f32>) -> tensor<512x512xi1>
  %p = gantry.matmul %a, %a : (tensor<512x512xf32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %t = gantry.transpose %p {permutation = array<i64: 1, 0>} : (tensor<512x512xf32>) -> tensor<512x512xf32>
  %m = gantry.compare le, %y, %zero : (tensor<512x512xf32>, tensor<f32>) -> tensor<512x512xi1>
  %s = gantry.select %m, %zero, %t : (tensor<512x512xi1>, tensor<f32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %u = gantry.select %n, %zero, %t : (tensor<512x512xi1>, tensor<f32>, tensor<512x512xf32>) -> tensor<512x512xf32>
  %q = gantry.transpose %z {permutation = array<i64: 1, 0>} : (tensor<512x512xf32>) -> tensor<512x512xf32>
  return %s, %u, %q : tensor<512x512xf32>, tensor<512x512xf32>, tensor<512x512xf32>
}
