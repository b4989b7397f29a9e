// Convolutions that leave their border out: blocks are parts of rows, and each knows which places
// of the window lie in the image.

// RUN: gantry-opt %s --gantry-kernel-pipeline | FileCheck %s

// Rows of 7 are one block of two registers. The first row of the window is left out above the
// image, the last one below it. At the window's first place are the pixels but the first one, at
// its last one those but the last one: 12 multiply-adds, 14, 12 in a step.
// CHECK-LABEL: func.func private @narrow(
// CHECK-NOT: memref.alloca
// CHECK: %[[FIRST:.*]] = arith.minui
// CHECK: %[[END:.*]] = arith.minui
// CHECK: scf.for %{{.*}} = %[[FIRST]] to %[[END]] {{.*}} iter_args(
// CHECK: scf.for
// CHECK-COUNT-48: vector.fma
// CHECK-NOT: vector.fma
// CHECK: scf.for
// CHECK-COUNT-56: vector.fma
// CHECK-NOT: vector.fma
// CHECK: scf.for
// CHECK-COUNT-48: vector.fma
// CHECK-NOT: vector.fma
// CHECK: return
gantry.kernel @narrow {
^bb0(%x: tensor<1x7x7x64xf32>, %w: tensor<1x3x3x64x64xf32>):
  %0 = gantry.conv %x, %w {border = #gantry<border unseen>, layout = #gantry<image_layout NHWC>, strides = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x7x7x64xf32>, tensor<1x3x3x64x64xf32>) -> tensor<1x7x7x64xf32>
  gantry.yield %0 : tensor<1x7x7x64xf32>
}

// Of longer rows blocks in the middle go along rows of the window; those at both ends have code of
// their own.
// CHECK-LABEL: func.func private @wide(
// CHECK: %[[ROW:.*]] = arith.remui %{{.*}}, %c8
// CHECK: arith.cmpi ult
// CHECK: scf.if
// CHECK: scf.for {{.*}} to %c32{{(_[0-9]+)?}} step
// CHECK: scf.for {{.*}} to %c64{{(_[0-9]+)?}} step
// CHECK: arith.cmpi ult
// CHECK: scf.if
// CHECK: scf.for {{.*}} to %c96{{(_[0-9]+)?}} step
// CHECK: arith.cmpi ult
// CHECK: scf.if
// CHECK: scf.for {{.*}} to %c64{{(_[0-9]+)?}} step
// CHECK: scf.for {{.*}} to %c32{{(_[0-9]+)?}} step
// CHECK: return
gantry.kernel @wide {
^bb0(%x: tensor<1x8x48x32xf32>, %w: tensor<1x3x3x32x64xf32>):
  %0 = gantry.conv %x, %w {border = #gantry<border unseen>, layout = #gantry<image_layout NHWC>, strides = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x8x48x32xf32>, tensor<1x3x3x32x64xf32>) -> tensor<1x8x48x64xf32>
  gantry.yield %0 : tensor<1x8x48x64xf32>
}

// Rows of two pixels would fill no registers: blocks go on from row to row, zeros are multiplied.
// CHECK-LABEL: func.func private @in_line(
// CHECK: memref.alloca
// CHECK: return
gantry.kernel @in_line {
^bb0(%x: tensor<1x64x2x64xf32>, %w: tensor<1x3x1x64x64xf32>):
  %0 = gantry.conv %x, %w {border = #gantry<border unseen>, layout = #gantry<image_layout NHWC>, strides = array<i64: 1, 1>, pads_low = array<i64: 1, 0>, pads_high = array<i64: 1, 0>, dilations = array<i64: 1, 1>, groups = 1 : i64} : (tensor<1x64x2x64xf32>, tensor<1x3x1x64x64xf32>) -> tensor<1x64x2x64xf32>
  gantry.yield %0 : tensor<1x64x2x64xf32>
}

// Each channel by itself: where the whole window lies in the image but for the ends of rows, there
// is no loop over it; elsewhere its rows are those in the image. 5 and 4 pixels are a row.
// CHECK-LABEL: func.func private @depthwise(
// CHECK-NOT: memref.alloca
// CHECK: scf.if
// CHECK-COUNT-75: vector.fma
// CHECK-NOT: vector.fma
// CHECK: } else {
// CHECK: arith.minui
// CHECK: scf.for {{.*}} iter_args(
// CHECK-COUNT-14: vector.fma
// CHECK-NOT: vector.fma
// CHECK: scf.for {{.*}} iter_args(
// CHECK-COUNT-11: vector.fma
// CHECK-NOT: vector.fma
// CHECK: return
gantry.kernel @depthwise {
^bb0(%x: tensor<1x9x9x16xf32>, %w: tensor<1x3x3x1x16xf32>):
  %0 = gantry.conv %x, %w {border = #gantry<border unseen>, layout = #gantry<image_layout NHWC>, strides = array<i64: 1, 1>, pads_low = array<i64: 1, 1>, pads_high = array<i64: 1, 1>, dilations = array<i64: 1, 1>, groups = 16 : i64} : (tensor<1x9x9x16xf32>, tensor<1x3x3x1x16xf32>) -> tensor<1x9x9x16xf32>
  gantry.yield %0 : tensor<1x9x9x16xf32>
}
