// Why no output lies in what callers may give away.
// RUN: gantry compile %s --stop-after=schedule -o %t 2>&1 | FileCheck %s
// RUN: not grep gantry.over %t

// CHECK: the array of 'w' is given away, and no output can lie in it: no output of its type is computed on its device
func.func @other_type(%w: tensor<16xf32> {gantry.donate, gantry.name = "w"}) -> tensor<f32> {
  %sum = gantry.reduce_sum %w {axes = array<i64: 0>} : (tensor<16xf32>) -> tensor<f32>
  return %sum : tensor<f32>
}

// CHECK: the array of 'm' is given away, and no output can lie in it: 'Cast/output1' reads it when output 'output0' is written
func.func @read_later(%m: tensor<4x4xf32> {gantry.donate, gantry.name = "m"}) -> (tensor<4x4xf32>, tensor<4x4xi32>) {
  %a = gantry.cumsum %m {axis = 1 : i64} : (tensor<4x4xf32>) -> tensor<4x4xf32>
  %b = gantry.matmul %m, %a : (tensor<4x4xf32>, tensor<4x4xf32>) -> tensor<4x4xf32>
  %c = gantry.cast %b : (tensor<4x4xf32>) -> tensor<4x4xi32>
  return %a, %c : tensor<4x4xf32>, tensor<4x4xi32>
}

// CHECK: the array of 'v' is given away, and no output can lie in it: it is returned more than once
func.func @twice(%v: tensor<8xf32> {gantry.donate, gantry.name = "v"}) -> (tensor<8xf32>, tensor<8xf32>) {
  return %v, %v : tensor<8xf32>, tensor<8xf32>
}
