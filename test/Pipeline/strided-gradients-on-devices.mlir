// The way back of convolutions with strides, whose windows are no multiple of these, gives the same bytes on a CPU, where its kernel goes
// by phases of pixels, and on a simulated GPU: a window of 3x3, one of a single place, which leaves pixels that no window reaches, and one
// of 5x2 over an image with an uneven number of rows.

// RUN: rm -rf %t && mkdir %t
// RUN: gantry compile %s --devices CPU:0 -o %t/plan.gantry
// RUN: gantry run %t/plan.gantry --output dx=%t/dx.npy --output dy=%t/dy.npy --output dz=%t/dz.npy
// RUN: gantry run %s --devices CPU:0,GPU:0 --simulate --expect dx=%t/dx.npy --expect dy=%t/dy.npy --expect dz=%t/dz.npy --rtol 0 --atol 0
// RUN: gantry run %s --devices CPU:0 --no-fuse --threads 2 --expect dx=%t/dx.npy --expect dy=%t/dy.npy --expect dz=%t/dz.npy --rtol 0 --atol 0
// RUN: gantry plan-text %t/plan.gantry | FileCheck %s

// CHECK-DAG: plan.launch @conv_transpose_{{.*}} "Conv2DBackpropInput/dx"
// CHECK-DAG: plan.launch @transpose_{{.*}} "Conv2DBackpropInput/dx/channels_first"
// CHECK-DAG: plan.launch @conv_transpose_{{.*}} "Conv2DBackpropInput/dy"
// CHECK-DAG: plan.launch @transpose_{{.*}} "Conv2DBackpropInput/dy/channels_first"
// CHECK-DAG: plan.launch @conv_transpose_{{.*}} "Conv2DBackpropInput/dz"
// CHECK-DAG: plan.launch @transpose_{{.*}} "Conv2DBackpropInput/dz/channels_first"
func.func @main(%x: tensor<4x32x16x16xf32> {gantry.name = "x"}, %v: tensor<64x32x3x3xf32> {gantry.name = "v"},
                %y: tensor<2x64x28x28xf32> {gantry.name = "y"}, %w: tensor<128x64x1x1xf32> {gantry.name = "w"},
                %z: tensor<3x48x13x20xf32> {gantry.name = "z"}, %u: tensor<32x48x5x2xf32> {gantry.name = "u"})
    -> (tensor<4x32x16x16xf32> {gantry.name = "dx"}, tensor<2x64x28x28xf32> {gantry.name = "dy"}, tensor<3x48x13x20xf32> {gantry.name = "dz"}) {
  %0:2 = gantry.gradient (%x) : (tensor<4x32x16x16xf32>) -> (tensor<f32>, tensor<4x32x16x16xf32>) {
  ^bb0(%a: tensor<4x32x16x16xf32>):
    %c = gantry.conv %a, %v {strides = array<i64: 2, 2>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<4x32x16x16xf32>, tensor<64x32x3x3xf32>) -> tensor<4x64x8x8xf32>
    %d = gantry.mul %c, %c : (tensor<4x64x8x8xf32>, tensor<4x64x8x8xf32>) -> tensor<4x64x8x8xf32>
    %l = gantry.reduce_sum %d {axes = array<i64: 0, 1, 2, 3>} : (tensor<4x64x8x8xf32>) -> tensor<f32>
    gantry.yield %l : tensor<f32>
  }
  %1:2 = gantry.gradient (%y) : (tensor<2x64x28x28xf32>) -> (tensor<f32>, tensor<2x64x28x28xf32>) {
  ^bb0(%a: tensor<2x64x28x28xf32>):
    %c = gantry.conv %a, %w {strides = array<i64: 2, 2>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<2x64x28x28xf32>, tensor<128x64x1x1xf32>) -> tensor<2x128x14x14xf32>
    %d = gantry.mul %c, %c : (tensor<2x128x14x14xf32>, tensor<2x128x14x14xf32>) -> tensor<2x128x14x14xf32>
    %l = gantry.reduce_sum %d {axes = array<i64: 0, 1, 2, 3>} : (tensor<2x128x14x14xf32>) -> tensor<f32>
    gantry.yield %l : tensor<f32>
  }
  %2:2 = gantry.gradient (%z) : (tensor<3x48x13x20xf32>) -> (tensor<f32>, tensor<3x48x13x20xf32>) {
  ^bb0(%a: tensor<3x48x13x20xf32>):
    %c = gantry.conv %a, %u {strides = array<i64: 3, 2>, pads_low = array<i64: 2, 0>, pads_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<3x48x13x20xf32>, tensor<32x48x5x2xf32>) -> tensor<3x32x4x10xf32>
    %d = gantry.mul %c, %c : (tensor<3x32x4x10xf32>, tensor<3x32x4x10xf32>) -> tensor<3x32x4x10xf32>
    %l = gantry.reduce_sum %d {axes = array<i64: 0, 1, 2, 3>} : (tensor<3x32x4x10xf32>) -> tensor<f32>
    gantry.yield %l : tensor<f32>
  }
  return %0#1, %1#1, %2#1 : tensor<4x32x16x16xf32>, tensor<2x64x28x28xf32>, tensor<3x48x13x20xf32>
}
