// Softmax takes exponentials of what is at most 0 by a shorter way; they have the bits of exp.

// RUN: gantry run %s --fill normal --seed 7 | FileCheck %s
// RUN: gantry run %s --fill normal --seed 8 --devices=CPU:0,GPU:0 --emulate | FileCheck %s

// CHECK: output0: i64[]
// CHECK-NEXT: {{^}}0{{$}}
func.func @main(%drawn: tensor<3000x2xf32>) -> tensor<i64> {
  %scale = gantry.constant dense<[[-40.0, 0.0]]> : tensor<1x2xf32>
  %size = gantry.abs %drawn : (tensor<3000x2xf32>) -> tensor<3000x2xf32>
  %x = gantry.mul %size, %scale : (tensor<3000x2xf32>, tensor<1x2xf32>) -> tensor<3000x2xf32>
  %short = gantry.softmax %x {axis = 1 : i64} : (tensor<3000x2xf32>) -> tensor<3000x2xf32>
  %e = gantry.exp %x : (tensor<3000x2xf32>) -> tensor<3000x2xf32>
  %sum = gantry.reduce_sum %e {axes = array<i64: 1>, keep_dims} : (tensor<3000x2xf32>) -> tensor<3000x1xf32>
  %one = gantry.constant dense<1.0> : tensor<f32>
  %reciprocal = gantry.div %one, %sum : (tensor<f32>, tensor<3000x1xf32>) -> tensor<3000x1xf32>
  %long = gantry.mul %e, %reciprocal : (tensor<3000x2xf32>, tensor<3000x1xf32>) -> tensor<3000x2xf32>
  %differs = gantry.compare ne, %short, %long : (tensor<3000x2xf32>, tensor<3000x2xf32>) -> tensor<3000x2xi1>
  %counted = gantry.cast %differs : (tensor<3000x2xi1>) -> tensor<3000x2xi64>
  %count = gantry.reduce_sum %counted {axes = array<i64: 0, 1>} : (tensor<3000x2xi64>) -> tensor<i64>
  return %count : tensor<i64>
}
