// A depthwise convolution and the 1x1 convolutions around it are one loop over rows: of what is
// between them there are as many rows as the window has, and one, for each of four items.

// RUN: gantry-opt %s --gantry-kernel-pipeline | FileCheck %s

// 3 rows of 58 pixels and a row of 56, of 144 channels, are more than an item has on its stack.
// The four rings are 400896 bytes; the four rows, 129024 bytes more, fit the stack of the kernel.
// CHECK-LABEL: func.func private @block(
// CHECK-SAME: gantry.work = #gantry.work<items = 4, scratch = 400896>
// CHECK-NOT: 1x56x56x144
// CHECK: return
gantry.kernel @block {
^bb0(%x: tensor<1x56x56x24xf32>, %we: tensor<3x1x1x24x48xf32>, %be: tensor<1x1x1x144xf32>, %wd: tensor<1x3x3x1x144xf32>, %bd: tensor<1x1x1x144xf32>, %wp: tensor<1x1x1x144x24xf32>, %bp: tensor<1x1x1x24xf32>):
  %0 = gantry.conv %x, %we {layout = #gantry<image_layout NHWC>, strides = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x56x56x24xf32>, tensor<3x1x1x24x48xf32>) -> tensor<1x56x56x144xf32>
  %1 = gantry.add %0, %be : (tensor<1x56x56x144xf32>, tensor<1x1x1x144xf32>) -> tensor<1x56x56x144xf32>
  %2 = gantry.relu %1 : (tensor<1x56x56x144xf32>) -> tensor<1x56x56x144xf32>
  %3 = gantry.conv %2, %wd {layout = #gantry<image_layout NHWC>, strides = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 144 : i64} : (tensor<1x56x56x144xf32>, tensor<1x3x3x1x144xf32>) -> tensor<1x56x56x144xf32>
  %4 = gantry.add %3, %bd : (tensor<1x56x56x144xf32>, tensor<1x1x1x144xf32>) -> tensor<1x56x56x144xf32>
  %5 = gantry.relu %4 : (tensor<1x56x56x144xf32>) -> tensor<1x56x56x144xf32>
  %6 = gantry.conv %5, %wp {layout = #gantry<image_layout NHWC>, strides = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x56x56x144xf32>, tensor<1x1x1x144x24xf32>) -> tensor<1x56x56x24xf32>
  %7 = gantry.add %6, %bp : (tensor<1x56x56x24xf32>, tensor<1x1x1x24xf32>) -> tensor<1x56x56x24xf32>
  %8 = gantry.add %7, %x : (tensor<1x56x56x24xf32>, tensor<1x56x56x24xf32>) -> tensor<1x56x56x24xf32>
  gantry.yield %8 : tensor<1x56x56x24xf32>
}

// With strides and without a last convolution: rows of the ring are used again modulo three, rows
// outside of the image are cleared, and all of it is on the stack.
// CHECK-LABEL: func.func private @front(
// CHECK-SAME: gantry.work = #gantry.work<items = 4, grain = 12>
// CHECK-DAG: memref.alloca() {alignment = 64 : i64} : memref<1x3x17x16xf32>
// CHECK: arith.remui
// CHECK: scf.if
// CHECK: vector.fma
// CHECK: } else {
// CHECK: vector.store
// CHECK: return
gantry.kernel @front {
^bb0(%x: tensor<1x16x16x8xf32>, %we: tensor<1x1x1x8x16xf32>, %wd: tensor<1x3x3x1x16xf32>):
  %0 = gantry.conv %x, %we {layout = #gantry<image_layout NHWC>, strides = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x16x16x8xf32>, tensor<1x1x1x8x16xf32>) -> tensor<1x16x16x16xf32>
  %1 = gantry.conv %0, %wd {layout = #gantry<image_layout NHWC>, strides = array<i64: 2, 2>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 16 : i64} : (tensor<1x16x16x16xf32>, tensor<1x3x3x1x16xf32>) -> tensor<1x8x8x16xf32>
  gantry.yield %1 : tensor<1x8x8x16xf32>
}

// Nothing is expanded: the image is read where it is, and only a row is between the two.
// CHECK-LABEL: func.func private @back(
// CHECK-SAME: gantry.work = #gantry.work<items = 8, grain = 15>
// CHECK-DAG: memref.alloca() {alignment = 64 : i64} : memref<1x1x16x16xf32>
// CHECK-NOT: scratch
// CHECK: return
gantry.kernel @back {
^bb0(%x: tensor<1x16x16x16xf32>, %wd: tensor<1x3x3x1x16xf32>, %wp: tensor<1x1x1x16x8xf32>):
  %0 = gantry.conv %x, %wd {layout = #gantry<image_layout NHWC>, strides = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 16 : i64} : (tensor<1x16x16x16xf32>, tensor<1x3x3x1x16xf32>) -> tensor<1x16x16x16xf32>
  %1 = gantry.conv %0, %wp {layout = #gantry<image_layout NHWC>, strides = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x16x16x16xf32>, tensor<1x1x1x16x8xf32>) -> tensor<1x16x16x8xf32>
  gantry.yield %1 : tensor<1x16x16x8xf32>
}

// What is expanded is read once more: no chain, but a loop for each over buffers that are whole.
// CHECK-LABEL: func.func private @twice(
// CHECK-SAME: gantry.work = #gantry.work<items = 1
// CHECK: return
gantry.kernel @twice {
^bb0(%x: tensor<1x16x16x8xf32>, %we: tensor<1x1x1x8x16xf32>, %wd: tensor<1x3x3x1x16xf32>):
  %0 = gantry.conv %x, %we {layout = #gantry<image_layout NHWC>, strides = array<i64: 1, 1>, pads_low = array<i64: 0, 0>, pads_high = array<i64: 0, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x16x16x8xf32>, tensor<1x1x1x8x16xf32>) -> tensor<1x16x16x16xf32>
  %1 = gantry.conv %0, %wd {layout = #gantry<image_layout NHWC>, strides = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 16 : i64} : (tensor<1x16x16x16xf32>, tensor<1x3x3x1x16xf32>) -> tensor<1x16x16x16xf32>
  %2 = gantry.add %1, %0 : (tensor<1x16x16x16xf32>, tensor<1x16x16x16xf32>) -> tensor<1x16x16x16xf32>
  gantry.yield %2 : tensor<1x16x16x16xf32>
}
