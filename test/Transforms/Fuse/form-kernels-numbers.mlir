// Kernels that differ in numbers alone are one, which has these as arguments, where there are four of them or more.

// RUN: gantry-opt %s --gantry-form-kernels | FileCheck %s

// What is the same in all of them stays inside: the 7.0.
// CHECK-LABEL: func.func @four(
// CHECK-DAG: %[[C1:.*]] = gantry.constant dense<1.000000e+00> : tensor<f32>
// CHECK-DAG: %[[C4:.*]] = gantry.constant dense<4.000000e+00> : tensor<f32>
// CHECK: gantry.launch @kernels_cpu::@[[KERNEL:mul_add_relu_0]](%arg0, %[[C1]])
// CHECK: gantry.launch @kernels_cpu::@[[KERNEL]](%arg1,
// CHECK: gantry.launch @kernels_cpu::@[[KERNEL]](
// CHECK: gantry.launch @kernels_cpu::@[[KERNEL]]({{.*}}, %[[C4]])
func.func @four(%x: tensor<8xf32>, %y: tensor<8xf32>, %z: tensor<8xf32>, %w: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %c1 = gantry.constant dense<1.0> : tensor<f32>
  %c2 = gantry.constant dense<2.0> : tensor<f32>
  %c3 = gantry.constant dense<3.0> : tensor<f32>
  %c4 = gantry.constant dense<4.0> : tensor<f32>
  %all = gantry.constant dense<7.0> : tensor<f32>
  %0 = gantry.mul %x, %c1 : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %1 = gantry.add %0, %all : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %2 = gantry.relu %1 : (tensor<8xf32>) -> tensor<8xf32>
  %3 = gantry.mul %y, %c2 : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %4 = gantry.add %3, %all : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %5 = gantry.relu %4 : (tensor<8xf32>) -> tensor<8xf32>
  %6 = gantry.mul %z, %c3 : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %7 = gantry.add %6, %all : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %8 = gantry.relu %7 : (tensor<8xf32>) -> tensor<8xf32>
  %9 = gantry.mul %w, %c4 : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %10 = gantry.add %9, %all : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %11 = gantry.relu %10 : (tensor<8xf32>) -> tensor<8xf32>
  return %2, %5, %8, %11 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}

// Of three each has its own, and what a number decides more than elements of, such as how wide a border is filled, is
// inside of any kernel.
// CHECK-LABEL: func.func @three(
// CHECK-DAG: gantry.launch @kernels_cpu::@neg_mul_0(%arg0)
// CHECK-DAG: gantry.launch @kernels_cpu::@neg_mul_1(%arg1)
// CHECK-DAG: gantry.launch @kernels_cpu::@neg_mul_2(%arg2)
func.func @three(%x: tensor<8xf32>, %y: tensor<8xf32>, %z: tensor<8xf32>) -> (tensor<8xf32>, tensor<8xf32>, tensor<8xf32>) {
  %c1 = gantry.constant dense<1.0> : tensor<f32>
  %c2 = gantry.constant dense<2.0> : tensor<f32>
  %c3 = gantry.constant dense<3.0> : tensor<f32>
  %0 = gantry.neg %x : (tensor<8xf32>) -> tensor<8xf32>
  %1 = gantry.mul %0, %c1 : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %2 = gantry.neg %y : (tensor<8xf32>) -> tensor<8xf32>
  %3 = gantry.mul %y, %c2 : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  %4 = gantry.neg %z : (tensor<8xf32>) -> tensor<8xf32>
  %5 = gantry.mul %4, %c3 : (tensor<8xf32>, tensor<f32>) -> tensor<8xf32>
  return %1, %3, %5 : tensor<8xf32>, tensor<8xf32>, tensor<8xf32>
}
