// The way back of a convolution gives the same bytes on a CPU, which makes convolutions of it, and on a simulated GPU.

// RUN: rm -rf %t && mkdir %t
// RUN: gantry run %s --devices CPU:0 --output dx=%t/dx.npy --output dw=%t/dw.npy
// RUN: gantry run %s --devices CPU:0,GPU:0 --simulate --expect dx=%t/dx.npy --expect dw=%t/dw.npy --rtol 0 --atol 0
// RUN: gantry run %s --devices CPU:0 --no-fuse --threads 2 --expect dx=%t/dx.npy --expect dw=%t/dw.npy --rtol 0 --atol 0
func.func @main(%x: tensor<4x16x12x12xf32> {gantry.name = "x"}, %w: tensor<32x16x3x3xf32> {gantry.name = "w"}) -> (tensor<4x16x12x12xf32> {gantry.name = "dx"}, tensor<32x16x3x3xf32> {gantry.name = "dw"}) {
  %0:3 = gantry.gradient (%x, %w) : (tensor<4x16x12x12xf32>, tensor<32x16x3x3xf32>) -> (tensor<f32>, tensor<4x16x12x12xf32>, tensor<32x16x3x3xf32>) {
  ^bb0(%a: tensor<4x16x12x12xf32>, %b: tensor<32x16x3x3xf32>):
    %c = gantry.conv %a, %b {strides = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<4x16x12x12xf32>, tensor<32x16x3x3xf32>) -> tensor<4x32x12x12xf32>
    %d = gantry.mul %c, %c : (tensor<4x32x12x12xf32>, tensor<4x32x12x12xf32>) -> tensor<4x32x12x12xf32>
    %l = gantry.reduce_sum %d {axes = array<i64: 0, 1, 2, 3>} : (tensor<4x32x12x12xf32>) -> tensor<f32>
    gantry.yield %l : tensor<f32>
  }
  return %0#1, %0#2 : tensor<4x16x12x12xf32>, tensor<32x16x3x3xf32>
}
