// Ops of all kinds go through the rows of a batch, for a piece of it as for the whole, with the same bits.
// RUN: gantry compile %s --devices=CPU:0,GPU:0@700KiB --simulate --over-limit=fix -o %t.gantry 2>&1 | FileCheck %s
// CHECK: over the limit: GPU:0: 18 ops from '{{.*}}' to '{{.*}}' run once for each of 2 pieces of the batch
// RUN: gantry run %s --devices=CPU:0,GPU:0 --simulate --fill ramp --output y=%t.1.npy --output z=%t.1z.npy
// RUN: gantry run %t.gantry --fill ramp --output y=%t.2.npy --output z=%t.2z.npy
// RUN: cmp %t.1.npy %t.2.npy
// RUN: cmp %t.1z.npy %t.2z.npy
func.func @main(%x: tensor<8x2x16x16xf32> {gantry.name = "x"})
    -> (tensor<8x48xf32> {gantry.name = "y"}, tensor<8x48x4xf32> {gantry.name = "z"}) {
  %w = gantry.constant dense<0.01> : tensor<32x2x3x3xf32>
  %one = gantry.constant dense<1.0> : tensor<32xf32>
  %small = gantry.constant dense<0.1> : tensor<32xf32>
  %scale = gantry.constant dense<0.5> : tensor<48xf32>
  %zero = gantry.constant dense<0.0> : tensor<f32>
  %table = gantry.constant dense<0.25> : tensor<256x4xf32>
  %c = gantry.conv %x, %w {strides = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<8x2x16x16xf32>, tensor<32x2x3x3xf32>) -> tensor<8x32x16x16xf32>
  %b = gantry.batch_norm %c, %one, %small, %small, %one {epsilon = 1.0e-5 : f64} : (tensor<8x32x16x16xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>, tensor<32xf32>) -> tensor<8x32x16x16xf32>
  %g = gantry.group_norm %b, %one, %small {groups = 4 : i64, epsilon = 1.0e-5 : f64} : (tensor<8x32x16x16xf32>, tensor<32xf32>, tensor<32xf32>) -> tensor<8x32x16x16xf32>
  %l = gantry.lrn %g {size = 3 : i64, alpha = 1.0e-4 : f64, beta = 0.75 : f64, bias = 1.0 : f64} : (tensor<8x32x16x16xf32>) -> tensor<8x32x16x16xf32>
  %p = gantry.pad %l, %zero {low = array<i64: 0, 0, 1, 1>, high = array<i64: 0, 0, 1, 1>, mode = #gantry<pad_mode reflect>} : (tensor<8x32x16x16xf32>, tensor<f32>) -> tensor<8x32x18x18xf32>
  %m = gantry.max_pool %p {window = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>} : (tensor<8x32x18x18xf32>) -> tensor<8x32x16x16xf32>
  %a = gantry.avg_pool %p {window = array<i64: 3, 3>, strides = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>} : (tensor<8x32x18x18xf32>) -> tensor<8x32x16x16xf32>
  %k = gantry.concat %m, %a {axis = 1 : i64} : (tensor<8x32x16x16xf32>, tensor<8x32x16x16xf32>) -> tensor<8x64x16x16xf32>
  %s = gantry.slice %k {starts = array<i64: 0, 8, 0, 0>, sizes = array<i64: 8, 48, 16, 16>, steps = array<i64: 1, 1, 1, 1>} : (tensor<8x64x16x16xf32>) -> tensor<8x48x16x16xf32>
  %t = gantry.transpose %s {permutation = array<i64: 0, 2, 3, 1>} : (tensor<8x48x16x16xf32>) -> tensor<8x16x16x48xf32>
  %r = gantry.reshape %t : (tensor<8x16x16x48xf32>) -> tensor<8x256x48xf32>
  %q = gantry.attention %r, %r, %r {scale = 0.125 : f64} : (tensor<8x256x48xf32>, tensor<8x256x48xf32>, tensor<8x256x48xf32>) -> tensor<8x256x48xf32>
  %n = gantry.layer_norm %q, %scale, %scale {axis = 2 : i64, epsilon = 1.0e-5 : f64} : (tensor<8x256x48xf32>, tensor<48xf32>, tensor<48xf32>) -> tensor<8x256x48xf32>
  %f = gantry.softmax %n {axis = 2 : i64} : (tensor<8x256x48xf32>) -> tensor<8x256x48xf32>
  %u = gantry.cumsum %f {axis = 1 : i64} : (tensor<8x256x48xf32>) -> tensor<8x256x48xf32>
  %y = gantry.reduce_sum %u {axes = array<i64: 1>} : (tensor<8x256x48xf32>) -> tensor<8x48xf32>
  %i = gantry.argmax %f {axis = 1 : i64} : (tensor<8x256x48xf32>) -> tensor<8x48xi64>
  %z = gantry.gather %table, %i {axis = 0 : i64} : (tensor<256x4xf32>, tensor<8x48xi64>) -> tensor<8x48x4xf32>
  return %y, %z : tensor<8x48xf32>, tensor<8x48x4xf32>
}
